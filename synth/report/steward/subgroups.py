"""The steward's report: how groups of people are served, and whether rows were copied."""

from itertools import groupby
from typing import Any

from synth.evaluate.detection import QUANTILES
from synth.evaluate.examination import Examination
from synth.evaluate.subgroups import Subgroup
from synth.evaluate.verdict import DISTANCES, advice, rate
from synth.languages import _, numerals, prose
from synth.report import words
from synth.report.html import commas, figure, percent


def data(examination: Examination) -> dict[str, Any]:
    """What the templates of groups and of copies show, by name."""
    return {
        "lost": [s for s in examination.subgroups if s.synthetic_share == 0],
        "groups": [(n, [_row(s) for s in m]) for n, m in groupby(examination.subgroups, key=lambda s: s.column)],
        "copies": _copies(examination),
        "quantiles": [_("{share} % below").format(share=numerals(f"{100 * q:g}")) for q in QUANTILES],
        "distances": [
            [prose(n), *(figure(v) for v in reported)] for n, reported in examination.nearness.distances.items()
        ],
    }


def _row(s: Subgroup) -> list[str]:
    shares = (s.real_share, s.synthetic_share, s.distance, s.by_chance)
    use = _("too few rows to tell")
    if s.distance is not None and s.by_chance is not None:
        use = words.advice(advice(rate(DISTANCES["subgroups"], s.distance, second=s.by_chance)))
    return [words.group(s.group), commas(s.real_rows), *(percent(share) for share in shares), use]


def _copies(examination: Examination) -> list[tuple[str, str]]:
    near = examination.nearness
    rows = [
        (_("synthetic rows equal to a real row"), percent(near.copies, 2)),
        (_("real rows equal to another real row"), percent(near.copies_floor, 2)),
    ]
    if near.nearer_train is None:
        return rows
    references = commas(near.references)
    return [
        *rows,
        (
            _("synthetic rows equal to one of {n} real rows").format(n=references),
            percent(near.copies_train, 2),
        ),
        (
            _("synthetic rows equal to one of {n} held-out rows").format(n=references),
            percent(near.copies_test, 2),
        ),
        (
            _(
                "synthetic rows nearer to a real row than to a held-out one (50 % by chance, give or take {error})"
            ).format(error=percent(near.nearer_error)),
            percent(near.nearer_train),
        ),
    ]
