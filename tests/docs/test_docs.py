"""The documentation tells what is there: README's commands run, every command and generator has its page."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from synth.cli import app
from synth.generators import GENERATORS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def blocks(text: str) -> list[str]:
    """Indented code blocks, as one command a line."""
    return [line.strip() for line in re.findall(r"^    (\S.*)$", text, re.M)]


def test_readme_commands_run_in_order(command, tmp_path, monkeypatch):
    """One after the other in one folder, since later ones use what earlier ones wrote."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    lines = [line for line in blocks(README) if line.startswith("synth ")]
    assert len(lines) >= 5
    for line in lines:
        code, _, stderr = command(*shlex.split(line)[1:])
        assert code == 0, (line, stderr)


def test_readme_python_example_runs(tmp_path, monkeypatch):
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", README, re.S).group(1)
    exec(compile(code, "README.md", "exec"), {})  # the README is ours
    assert (tmp_path / "release" / "synthetic.csv").exists()


def test_readmes_first_screen_has_what_a_newcomer_asks():
    """The two commands, a picture, what comes out, what it costs, whom to ask."""
    first = "\n".join(README.splitlines()[:25])
    asked = (
        "    make run",
        "    make test",
        "![The page",
        "**What comes out**",
        "**What it costs**",
        "**Whom to ask**",
    )
    assert not [words for words in asked if words not in first]


def commands() -> list[tuple[str, object]]:
    results = []
    for name, entry in typer.main.get_command(app).commands.items():
        if hasattr(entry, "commands"):
            results += [(f"{name} {n}", c) for n, c in entry.commands.items()]
        else:
            results.append((name, entry))
    return results


@pytest.mark.parametrize(("name", "entry"), commands(), ids=lambda v: v if isinstance(v, str) else "")
def test_every_command_has_help_and_stands_in_the_docs(name, entry):
    assert entry.help
    group, _, word = name.rpartition(" ")
    lines = re.findall(rf"^.*synth {group or name}\b.*$", (ROOT / "docs" / "cli.md").read_text(), re.M)
    assert any(re.search(rf"(?:synth {name}|`{word})\b", line) for line in lines)
    for option in entry.params:
        assert option.help, f"synth {name}: {option.name} has no help text"


@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator_has_its_place_on_the_page_of_its_family(name):
    """A page, a heading or a line of its own."""
    pages = {p.stem: p.read_text() for p in (ROOT / "docs" / "generators").glob("*.md")}
    places = [p for p, text in pages.items() if p == name or re.search(rf"^(## |- \*\*){name}\b", text, re.M)]
    assert len(places) == 1


def test_every_schema_fact_is_explained():
    from synth.schema.table import Column, Schema

    text = (ROOT / "docs" / "schema.md").read_text()
    for fact in [*Column.model_fields, *Schema.model_fields]:
        if fact != "columns":
            assert f"`{fact}`" in text, fact


def test_no_machine_path_or_host_stands_in_the_repository():
    """Text speaks of the project alone."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "synth").rglob("*.py")]:
        assert not re.search(r"/(work|root|home)/\w", page.read_text()), page
