"""The steward's report: the verdict with its figures, and the worst places, each with the card that shows it."""

from collections.abc import Collection
from typing import Any

from synth.evaluate.examination import Examination
from synth.languages import _, prose
from synth.report.words import both, group


def data(examination: Examination, *, anchors: Collection[str]) -> dict[str, Any]:
    """What the template shows of the verdict. ``anchors``: of the cards that are on the page."""
    said, worst = examination.verdict, examination.verdict.worst
    columns = examination.comparison.columns

    def place(name: str, distance: float, anchor: str = "") -> tuple[str, float, str]:
        return name, distance, anchor if anchor in anchors else ""

    listed = {
        _("columns"): [
            place(p.names[0], p.distance, column_anchor(columns.index(p.names[0]))) for p in worst["column"]
        ],
        _("pairs"): [
            place(both(p.names), p.distance, pair_anchor(*sorted(map(columns.index, p.names)))) for p in worst["pair"]
        ],
        _("three columns"): [place(", ".join(p.names), p.distance) for p in worst["triple"]],
        _("groups of people"): [place(f"{p.names[0]} {group(p.names[1])}", p.distance) for p in worst["group"]],
    }
    return {
        "uses": said.lines,
        "unsure": prose(said.unsure),
        "worst": [(what, places) for what, places in listed.items() if places],
        "looked_at": said.triples_looked_at,
        "reconciled": said.reconciled,
    }


def column_anchor(i: int) -> str:
    """The name of a column's card, by its place in the schema."""
    return f"column-{i}"


def pair_anchor(i: int, j: int) -> str:
    """The name of a pair's card."""
    return f"pair-{i}-{j}"
