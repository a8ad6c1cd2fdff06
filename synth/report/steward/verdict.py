"""The steward's report: the verdict with its figures, and the worst places, each with the card that shows it."""

from collections.abc import Collection
from typing import Any

from synth.evaluate.examination import Examination
from synth.languages import _, prose
from synth.report.words import both, group, lines


def data(examination: Examination, *, anchors: Collection[str]) -> dict[str, Any]:
    """What the template shows of the verdict. ``anchors``: of the cards that are on the page."""
    said, columns = examination.verdict, examination.comparison.columns

    def place(name: str, distance: float, anchor: str = "") -> tuple[str, float, str]:
        return name, distance, anchor if anchor in anchors else ""

    worst = {
        _("columns"): [place(n, d, column_anchor(columns.index(n))) for n, d in said.columns],
        _("pairs"): [
            place(both((a, b)), d, pair_anchor(*sorted(map(columns.index, (a, b))))) for a, b, d in said.pairs
        ],
        _("three columns"): [place(", ".join(names), d) for *names, d in said.triples],
        _("groups of people"): [place(f"{g.column} {group(g.group)}", g.distance or 0.0) for g in said.groups],
    }
    return {
        "uses": lines(said),
        "unsure": prose(said.unsure),
        "worst": [(what, places) for what, places in worst.items() if places],
        "looked_at": said.triples_looked_at,
        "reconciled": said.reconciled,
    }


def column_anchor(i: int) -> str:
    """The name of a column's card, by its place in the schema."""
    return f"column-{i}"


def pair_anchor(i: int, j: int) -> str:
    """The name of a pair's card."""
    return f"pair-{i}-{j}"
