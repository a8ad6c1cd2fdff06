"""A newcomer's questions are answered at most two pages from README: by links that stand there, under a heading."""

import re
from pathlib import Path

import pytest

from tests.docs.links import LINK, anchor

ROOT = Path(__file__).resolve().parents[2]
STEWARD = {  # question: pages from README on, the last with a heading; and words of the answer that stand under it
    "Does my file leave this computer?": ("#facsimile", "sends nothing anywhere"),
    "What do I get in the end?": ("docs/release.md#the-bundle", "packs everything that may leave into one zip"),
    "Can I try it without risk?": ("docs/tour.md#a-tour-in-two-minutes", "A simulated survey of a town"),
    "Why must somebody confirm each column?": ("docs/schema.md#drafting-one", "the largest income is one person's"),
    "What if a person has several rows?": ("docs/schema.md#rows-or-persons", "at most `max_rows` rows are kept"),
    "What becomes of names and patient numbers?": ("docs/schema.md#what-may-identify-persons", "`identifier`"),
    "Why does the dataset need a name?": ("docs/ledger.md#what-a-dataset-is", "share one name and budget"),
    "What does epsilon mean for one person?": ("docs/release.md#the-card", "epsilon as odds of a guess"),
    "Which epsilon is too large?": ("docs/app.md#the-steps", "above 10 it warns strongly"),
    "What does the cap do?": ("docs/ledger.md#policy", "Refused runs are recorded, cost nothing"),
    "Which method should I take?": ("docs/benchmarks.md#side-by-side", "the least error of pairs first"),
    "How far will the result be off?": ("docs/app.md#the-steps", "the share of rows that would have to change"),
    "Do I get the budget back?": ("docs/ledger.md#what-is-charged-and-when", "There are **no refunds**"),
    "May I keep the best of several tables?": (
        "docs/release.md#a-release-that-was-chosen",
        "the sum of all candidates",
    ),
    "May I show the comparison?": ("docs/release.md#the-stewards-report", "must never be handed over"),
    "What does an officer want to see?": ("docs/release.md#evidence-for-an-officer", "each claim and its evidence"),
    "What about patients and their stays?": ("docs/related-tables.md#what-is-protected", "one key of the root"),
    "How does an analyst get honest intervals?": (
        "docs/README.md",
        "docs/inference.md#intervals-that-count-the-noise",
        "free of charge",
    ),
    "What is not guaranteed?": ("KNOWN-LIMITS.md#critical-people-in-the-data", "a row is protected, not a person"),
    "How do I restore the ledger?": ("docs/ledger.md#the-mark-and-restoring-a-backup", "never lowers a sum"),
}
MAP, ADD = "CONTRIBUTING.md#ten-questions", "docs/extending.md#add-a-"
PROGRAMMER = {
    "Where is noise added?": (MAP, "`synth/privacy/curator.py`"),
    "How is the budget divided?": (MAP, "`synth/pipeline/budget.py`"),
    "How is a run charged?": (MAP, "`synth/pipeline/charge.py`"),
    "What does a run go through?": ("CONTRIBUTING.md#the-rooms", "**A run, step by step.**"),
    "How do I add a method?": (ADD + "method", "`GENERATORS`"),
    "How do I add a question and its mechanism?": (ADD + "kind-of-question", "`synth/mechanisms/`"),
    "How do I add a file format?": ("CONTRIBUTING.md", ADD + "source", "`place_of`"),
    "How do I add an engine?": ("CONTRIBUTING.md", "docs/extending.md#add-an-engine", "`SqlDialect`"),
    "How is a paper added?": ("CONTRIBUTING.md", ADD + "paper-or-a-language", "one Markdown file"),
    "How is a message translated?": ("CONTRIBUTING.md", ADD + "paper-or-a-language", "`make texts`"),
    "How are golden releases compared?": ("CONTRIBUTING.md#tests", "`python -m tests.conformance.golden`"),
    "How is a figure of the docs measured?": ("CONTRIBUTING.md#benchmarks", "`docs_figures.py`"),
    "What do the exit codes mean?": ("docs/cli.md#exit-codes", "refused by the dataset's budget"),
    "Where is the proof of a mechanism?": ("synth/mechanisms/counts.md", "step 4"),
    "Why was it built so?": ("CONTRIBUTING.md", "docs/decisions.md#decisions-that-shape-the-code", "what was chosen"),
}
PATHS = STEWARD | PROGRAMMER


def under(page: Path, heading: str) -> str:
    """The text under a heading and its own sub-headings, in one line."""
    levels, taken = 0, []
    for line in page.read_text().splitlines():
        if head := re.match(r"(#+) (.*)", line):
            if levels and len(head[1]) <= levels:
                break
            levels = levels or (len(head[1]) if anchor(head[2]) == heading else 0)
        taken += [line] * bool(levels)
    assert taken, f"{page.name} has no heading {heading}"
    return " ".join(" ".join(taken).split())


def leads(page: Path, to: Path) -> bool:
    """Whether one of the page's links leads to the other."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    return to in {(page.parent / target).resolve() for target, _ in LINK.findall(text) if target}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_newcomers_question_is_answered_within_two_pages(path):
    *steps, words = path
    assert len(steps) <= 2
    page = ROOT / "README.md"
    for step in steps:
        name, _, heading = step.partition("#")
        if name:
            assert leads(page, ROOT / name), f"{page.name} has no link to {name}"
            page = ROOT / name
    assert words in (under(page, heading) if heading else " ".join(page.read_text().split()))


def test_both_have_at_least_ten_questions():
    assert min(len(STEWARD), len(PROGRAMMER)) >= 10


READERS = r"steward|programmer|auditor|administrator|analyst|officer|engineer|student|everybody|every reader|whoever"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.stem)
def test_a_page_begins_with_who_reads_it(page):
    """Its first paragraph names the reader."""
    first = page.read_text().split("\n\n")[1]
    assert re.search(rf"\bFor\b.*\b(?:{READERS})", first, re.S), first
