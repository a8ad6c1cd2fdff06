"""The page of the five sources: a row for each number of each text, and nothing is said of what is not there."""

import ast
import json
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "sources-coverage.md").read_text()
NUMBERS = json.loads((ROOT / "tests" / "data" / "source_numbers.json").read_text())
TEXTS = Path(os.environ.get("PUBLIC_TABLES", ROOT.parent / "shared")) / "sources"
VERDICTS = {"exact", "tighter", "changed", "left out", "not yet"}
KINDS = "Definition|Theorem|Lemma|Proposition|Corollary|Remark|Algorithm|Table|Figure"
PRINTED = re.compile(rf"^[\s*]*({KINDS})\s+((?:[A-Z]\.)?\d+(?:\.\d+)?)\b", re.M)
IN_PASSING = {"Figure 1": r"Figure 1a", "Figure 2": r"Figure 2a"}  # captions that the text lost


def rows(source: str) -> list[list[str]]:
    """The cells of a source's table."""
    section = PAGE.split(f"\n## {source}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def missing(numbers: list[str], reported: list[list[str]]) -> list[str]:
    """Numbers that do not have exactly one row."""
    first = [row[0].lstrip("| ") for row in reported]
    return [n for n in numbers if first.count(n) != 1] + [n for n in first if n not in numbers]


@pytest.mark.parametrize("source", NUMBERS)
def test_every_number_of_a_text_has_one_row_and_a_reason(source):
    reported = rows(source)
    assert not missing(NUMBERS[source]["numbers"], reported)
    for row in reported:
        assert len(row) == 5, row
        assert row[2] in VERDICTS, row
        assert row[2] == "not yet" or row[3], row


@pytest.fixture(scope="module")
def tests() -> set[str]:
    """All tests, as the page names them."""
    files = (ROOT / "tests").rglob("test_*.py")
    return {
        f"{f.name}::{n.name}"
        for f in files
        for n in ast.parse(f.read_text()).body
        if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")
    }


@pytest.mark.parametrize("source", NUMBERS)
def test_every_row_names_a_test_or_a_command_that_is_there(source, tests):
    for number, _, verdict, _, shown in rows(source):
        name = shown.strip("`")
        if name.startswith("python "):
            assert (ROOT / name.split()[1]).exists(), number
        else:
            assert name in tests or (name, verdict) == ("-", "left out"), (number, name)


def test_a_number_without_a_row_is_noticed():
    reported = rows("Slicing")
    assert missing(NUMBERS["Slicing"]["numbers"], reported[1:]) == ["Definition 1"]
    assert missing(NUMBERS["Slicing"]["numbers"][1:], reported) == ["Definition 1"]


def test_files_that_the_page_names_are_there():
    named = set(re.findall(r"`((?:synth|tests|benchmarks)/[\w/.]+)`", PAGE))
    assert len(named) > 10
    assert not [n for n in named if not (ROOT / n).exists()]
    every = {p.name for top in ("synth", "tests", "benchmarks") for p in (ROOT / top).rglob("*.py")}
    assert not set(re.findall(r"`(\w+\.py)`", PAGE)) - every


@pytest.mark.parametrize("source", NUMBERS)
def test_the_list_has_the_numbers_that_the_text_has(source):
    text = TEXTS / NUMBERS[source]["text"]
    if not text.exists():
        pytest.skip(f"the text of {source} is not beside this checkout")
    held = text.read_text()
    printed = {" ".join(item) for item in PRINTED.findall(held)}
    printed |= {n for n, mark in IN_PASSING.items() if re.search(mark, held)}
    assert printed == {n for n in NUMBERS[source]["numbers"] if re.fullmatch(rf"({KINDS}) .*\d", n)}


def test_the_survey_page_has_all_35_systems_and_names_methods_that_exist():
    from synth.generators import GENERATORS

    before, page = (ROOT / "docs" / "survey.md").read_text().split("## The 35 systems")
    assert re.findall(r"^\| (B\d) \|", before, re.M) == ["B1", "B2", "B3", "B4"]  # the pipeline of Figures 1 to 3
    systems = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(systems) == 35
    stages = [row[1].split(",")[0] for row in systems]
    networks = {row[2].split(", ")[-2] for row in systems}
    kinds = {"distribution matching", "diffusion", "GAN", "VAE", "AE", "flow", "energy-based model"}  # Figure 2
    assert networks == kinds
    assert {s: stages.count(s) for s in sorted(set(stages))} == {"B1": 8, "B2": 13, "B3": 4, "B4": 10}
    named = set(re.findall(r"\b(dp_\w+|pearl|\w+_evolution|gs_wgan|g_pate|datalens|pate_gan|private_set)\b", page))
    assert named <= {*GENERATORS, "dp_vae"}
    own = [(row[1], made[1]) for row in systems if (made := re.match(r"\[(\w+)\]", row[3]))]
    assert len(own) == 17
    assert page.count("](generators/embeddings.md#") == 4  # of B1's, as the row of Figure 4 says
    trained = (ROOT / "docs" / "generators" / "training.md").read_text()  # Figure 3: how each kind learns
    assert {n for stage, n in own if stage != "B1"} <= set(re.findall(r"^- \*\*(\w+)\*\*", trained, re.M))
    starts = {"B1": ("before the fit", "at the data"), "B2": "in the ", "B3": "between ", "B4": "at the generator"}
    assert not [name for stage, name in own if not GENERATORS[name].barrier.startswith(starts[stage])]
    assert [row[0] for row in systems if row[3].startswith("none")] == ["| Triastcyn and Faltings (2018)"]
    assert all(re.match(rf"\[?({'|'.join(GENERATORS)})\b|none: ", row[3]) for row in systems)
    text = TEXTS / NUMBERS["A unified view"]["text"] if "A unified view" in NUMBERS else None
    if text and text.exists():
        printed = re.findall(r"^(?!Approach)[^\t\n]+(?:\t[^\t\n]*){6}$", text.read_text(), re.M)
        assert len(printed) == 35
        short = {"replace-one": "R", "add-or-remove-one": "A", "global": "G", "local": "L", "smooth": "S", "_": "-"}
        short |= {"global/local": "G/L", "$vae, ae^+$": "vae, ae", "$ae^+$": "ae"}
        for line, row in zip(printed, systems, strict=True):
            stands = ", ".join(short.get(c.lower(), c.lower()) for c in line.split("\t")[2:6])
            assert row[2].lower() == stands.lower(), line
            assert row[1][1] in line.split("\t")[1]
            name, year = re.match(r"\| (.+) \((20\d\d)\)", row[0]).groups()
            plain = [re.sub(r"[^a-z0-9]|and |&", "", n.lower()) for n in (line, name)]
            assert plain[0].startswith(plain[1])
            assert year in line
