"""The worked examples of docs/extending.md run, word for word; CONTRIBUTING.md has a map of the rooms."""

import importlib
import re
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synth.generators import GENERATORS

ROOT = Path(__file__).resolve().parents[2]
PAGE, MAP = (ROOT / "docs" / "extending.md").read_text(), (ROOT / "CONTRIBUTING.md").read_text()
EXAMPLES = re.findall(r"```python\n# ([\w./]+)([^\n]*)\n(.*?)```", PAGE, re.S)


@pytest.fixture
def as_it_was(monkeypatch):
    """The registry, and the modules that an example adds, are gone afterwards."""
    before = dict(GENERATORS)
    yield monkeypatch
    GENERATORS.clear()
    GENERATORS.update(before)


def add_module(monkeypatch, path: str, text: str) -> None:
    """The text as a module of the library, under the name that the path gives it."""
    name = path.removesuffix(".py").replace("/", ".")
    package, _, last = name.rpartition(".")
    made = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, made)  # dataclasses look their module up
    exec(compile(text, path, "exec"), made.__dict__)
    monkeypatch.setattr(importlib.import_module(package), last, made, raising=False)


def test_the_examples_run_in_order(as_it_was, tmp_path):
    names: dict = {"pd": pd, "np": np, "pytest": pytest, "tmp_path": tmp_path, "ledger": tmp_path / "ledger.sqlite"}
    for path, _, text in EXAMPLES:
        if path.startswith("synth/"):
            assert not (ROOT / path).exists(), f"{path} is there by now; choose another example"
            add_module(as_it_was, path, text)
        else:
            exec(compile(text, f"extending.md, {path}", "exec"), names)


def test_every_block_of_python_is_run():
    assert len(EXAMPLES) == PAGE.count("```python")
    assert {path.split("/")[0] for path, _, _ in EXAMPLES} == {"synth", "tests"}


def test_the_four_ways_to_add_something_are_shown():
    for thing in ("a method", "a check", "a kind of question", "a source"):
        part = PAGE.partition(f"## Add {thing}\n")[2].partition("\n## ")[0]
        assert "# synth/" in part, thing
        assert "# tests/" in part, thing


def test_the_map_names_every_room():
    rooms = {p.name for p in (ROOT / "synth").iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert {f"`{r}/`" for r in rooms} <= set(re.findall(r"`[a-z_]+/`", MAP))
