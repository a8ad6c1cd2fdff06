"""The worked examples under docs/extending run; the page names each of them; CONTRIBUTING.md has a map of the rooms."""

import importlib
import inspect
import re
import sys
import types
from pathlib import Path

import pytest

from synth.generators import GENERATORS

ROOT = Path(__file__).resolve().parents[2]
PAGE, MAP = (ROOT / "docs" / "extending.md").read_text(), (ROOT / "CONTRIBUTING.md").read_text()
FOLDER = ROOT / "docs" / "extending"
EXAMPLES = list(dict.fromkeys(re.findall(r"\]\(extending/([\w/.]+\.py)\)", PAGE)))
MODULES = [e for e in EXAMPLES if e.startswith("synth/")]
TESTS = [e for e in EXAMPLES if e.startswith("tests/")]


@pytest.fixture
def as_it_was(monkeypatch):
    """The registry, and the modules that an example adds, are gone afterwards."""
    before = dict(GENERATORS)
    yield monkeypatch
    GENERATORS.clear()
    GENERATORS.update(before)


def add_module(monkeypatch, path: str) -> None:
    """The example as a module of the library, under the name that its path gives it."""
    assert not (ROOT / path).exists(), f"{path} is there by now; choose another example"
    name = path.removesuffix(".py").replace("/", ".")
    package, _, last = name.rpartition(".")
    made = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, made)  # dataclasses look their module up
    exec(compile((FOLDER / path).read_text(), path, "exec"), made.__dict__)
    monkeypatch.setattr(importlib.import_module(package), last, made, raising=False)


@pytest.mark.parametrize("path", TESTS)
def test_the_examples_run(as_it_was, tmp_path, path):
    for module in MODULES:
        add_module(as_it_was, module)
    names: dict = {}
    exec(compile((FOLDER / path).read_text(), path, "exec"), names)
    tests = [made for name, made in names.items() if name.startswith("test_")]
    assert tests
    for number, test in enumerate(tests):
        given = {"tmp_path": tmp_path, "ledger": tmp_path / f"{number}.sqlite"}
        test(**{n: given[n] for n in inspect.signature(test).parameters})


def test_the_page_names_every_example():
    assert sorted(EXAMPLES) == sorted(p.relative_to(FOLDER).as_posix() for p in FOLDER.rglob("*.py"))


def test_the_four_ways_to_add_something_are_shown():
    for thing in ("a method", "a check", "a kind of question", "a source"):
        part = PAGE.partition(f"## Add {thing}\n")[2].partition("\n## ")[0]
        assert "(extending/synth/" in part, thing
        assert "(extending/tests/" in part, thing


def test_the_map_names_every_room():
    rooms = {p.name for p in (ROOT / "synth").iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert {f"`{r}/`" for r in rooms} <= set(re.findall(r"`[a-z_]+/`", MAP))


def test_files_that_map_and_page_name_are_there():
    rooms = (*(ROOT / room for room in ("synth", "app", "tests", "benchmarks", "container")), FOLDER)
    known = {p.name for room in rooms for p in room.rglob("*.py")}
    named = set(re.findall(r"[\w/]+\.py\b", MAP + PAGE))
    assert len(named) > 20
    assert not [n for n in named if n.rpartition("/")[2] not in known]
    assert not [n for n in named if n.startswith(("synth/", "tests/")) and not ((ROOT / n).exists() or n in EXAMPLES)]


def test_the_walk_of_a_run_names_what_is_there():
    """``module.py:name``, or ``module.py`` and the names that follow it, of the library."""
    walk = MAP.partition("**A run")[2].partition("\n\n**")[0]
    named = re.findall(r"`([\w/]+\.py):([\w.]+)`", walk)
    assert len(named) >= 8
    for file, name in named:
        text = (ROOT / "synth" / file).read_text()
        for part in name.split("."):
            assert re.search(rf"^ *(?:def|class) {part}\b", text, re.M), f"{file}:{name}"
