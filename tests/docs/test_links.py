"""Pages: every link and anchor leads somewhere, every page stands in the index, lines are short."""

import re
from pathlib import Path

import pytest

from tests.docs.links import LINK, anchors

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "data").glob("*.md"),
    *(p for p in (ROOT / "synth").rglob("*.md") if p.parent.name not in ("documents", "templates")),  # forms
]
LONGEST = 120


def prose(page: Path) -> list[tuple[int, str]]:
    """Numbered lines outside of tables, code and lines that are one picture or end in a link."""
    retained, fenced = [], False
    for number, line in enumerate(page.read_text().splitlines(), start=1):
        fenced ^= line.startswith("```")
        if not (fenced or line.startswith(("|", "    ", "```", "!["))):
            retained.append((number, line))
    return retained


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_and_anchor_leads_somewhere(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.S)
    for target, anchor in LINK.findall(text):
        place = (page.parent / target).resolve() if target else page
        assert place.exists(), f"{page.name}: {target}"
        assert place.is_relative_to(ROOT), f"{page.name}: {target} leads out of the repository"
        if anchor:
            assert anchor in anchors(place), f"{page.name}: {target}#{anchor}"


def test_lines_are_at_most_120_characters():
    shown = [(page, n, re.sub(r"\]\([^)]*\)", "]", line)) for page in PAGES for n, line in prose(page)]
    assert not [f"{page.relative_to(ROOT)}:{n}" for page, n, line in shown if len(line) > LONGEST]


def test_every_page_stands_in_the_index():
    """By itself, or by its folder's first page; the site's navigation is made from this index."""
    index = (ROOT / "docs" / "README.md").read_text()
    named = {(ROOT / "docs" / t).resolve() for t, _ in LINK.findall(index) if t}
    folders = {p.parent for p in named} - {ROOT, ROOT / "docs"}
    missing = [p for p in PAGES if p not in named and p.parent not in folders]
    assert {str(p.relative_to(ROOT)) for p in missing} == {"README.md", "docs/README.md"}


def test_the_index_speaks_to_each_reader():
    heads = re.findall(r"^## (.*)$", (ROOT / "docs" / "README.md").read_text(), re.M)
    assert heads == ["Steward", "Programmer", "Auditor", "Administrator"]


def test_files_that_the_code_points_to_exist():
    """Docstrings and proof notes name other files; one that was moved or renamed leads nobody on."""
    known = {p.name for folder in ("synth", "app", "docs", "tests", "benchmarks") for p in (ROOT / folder).rglob("*.*")}
    written = {"reproduce.py", "card.md"}  # by a release
    named = [
        (path, name)
        for kind in ("*.py", "*.md")
        for path in (ROOT / "synth").rglob(kind)
        for name in re.findall(r"\b[a-z][a-z_0-9-]*\.(?:py|md)\b", path.read_text())
    ]
    files = known | written | {p.name for p in ROOT.glob("*.md")}
    assert not [(str(path.relative_to(ROOT)), name) for path, name in named if name not in files]
