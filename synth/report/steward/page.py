"""The steward's report as a page: compares with real rows, is marked everywhere, and never part of a bundle."""

from collections.abc import Collection
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.evaluate import column_numbers
from synth.evaluate.detection import QUANTILES
from synth.evaluate.examination import Examination, Figure
from synth.evaluate.fidelity import OneWay, Subgroup
from synth.evaluate.from_rows import of_column
from synth.evaluate.verdict import DISTANCES, advice, rate
from synth.languages import _, numerals, prose
from synth.report import area_pages, first_page, html, svg_charts, words
from synth.report.html import commas, figure, percent
from synth.report.steward import pairs, risks

MARK = "For the steward only, not for release"
SMALL_MARK = "steward only, not for release"
IN_NAME = "steward-only"
COLUMNS = 40  # drawn one by one, the worst first; of more the rest are listed


def marked(path: Path) -> Path:
    """The path with the mark in its name: ``report.html`` becomes ``report.steward-only.html``.

    >>> marked(Path("a/report.html")).name, marked(Path("my.steward-only.html")).name
    ('report.steward-only.html', 'my.steward-only.html')
    """
    if path.suffix != ".html":
        raise UsageError(f"`out={path}`: name a .html file")
    return path if IN_NAME in path.stem else path.with_name(f"{path.stem}.{IN_NAME}.html")


def render(examination: Examination, *, about: dict[str, Any]) -> str:
    """The page. ``about``: the release card."""
    ordered = examination.comparison.worst_first()
    c, fitted = examination.comparison, not examination.verdict.unsure
    columns = [
        _column(one, c.columns.index(one.column), of_column(c, one.column, fitted=fitted)) for one in ordered[:COLUMNS]
    ]
    together = pairs.pairs(examination)
    anchors = {c["anchor"] for c in columns} | {p["anchor"] for p in (together["worst"] if together else ())}
    return html.render(
        "steward.html",
        title=_("Steward's report"),
        mark=_(MARK),
        small=_(SMALL_MARK),
        result=examination,
        about=about,
        figures=[
            [prose(f.label), *(_value(f, v) for v in (f.value, f.floor, f.forecast)), prose(f.reading or "-")]
            for f in examination.figures
        ],
        stacks=_stacks(examination),
        columns=columns,
        first=first_page.answers(
            about, examination.verdict, tried=examination.risks.findings if examination.risks else ()
        ),
        verdict=_verdict(examination, anchors=anchors),
        more_columns=[
            [one.column, percent(one.distance), words.advice(of_column(c, one.column, fitted=fitted))]
            for one in ordered[COLUMNS:]
        ],
        pairs=together,
        correlations=pairs.correlations(examination),
        associations=pairs.associations(examination),
        scores=_scores(examination),
        own_scores=_own_scores(examination),
        weighting=_weighting(examination),
        shapes=_shapes(examination),
        areas=area_pages.sections(examination.areas, exact=True),
        **_groups(examination),
        **risks.data(examination, about),
    )


def _stacks(examination: Examination) -> list[tuple[str, str, str]]:
    """For each distance that can be taken apart: its title, its chart, and the chart in words."""
    known = [f for f in examination.figures if f.parts is not None]
    top = max((f.value or 0.0 for f in known), default=0.0)
    return [
        (
            f"{prose(f.label)}: {percent(f.value)}",
            svg_charts.stacked(f.parts or (0, 0, 0), top=top, words=_parts(f)),
            _parts(f),
        )
        for f in known
    ]


def _parts(f: Figure) -> str:
    sampling, noise, bias = f.parts or (0.0, 0.0, 0.0)
    return _("{sampling} sampling, {noise} noise, {bias} bias: {reading}").format(
        sampling=percent(sampling), noise=percent(noise), bias=percent(bias), reading=prose(f.reading or "-")
    )


def _value(f: Figure, value: float | None) -> str:
    return percent(value) if f.name.startswith(("one_way", "two_way", "worst_pair", "implausible")) else figure(value)


def _column(one: OneWay, place: int, use: str) -> dict[str, Any]:
    message = _("{column}: distance {distance} between the real and the synthetic table").format(
        column=one.column, distance=percent(one.distance)
    )
    shown, draw = one.chart(), svg_charts.paired_bars if one.edges is None else svg_charts.overlaid_bins
    rows = [
        (words.group(n), percent(r), percent(s)) for n, r, s in zip(one.labels, one.real, one.synthetic, strict=True)
    ]
    chart = draw(shown.labels, shown.real, shown.synthetic, words=message)
    return {
        "name": one.column,
        "anchor": column_anchor(place),
        "distance": one.distance,
        "advice": words.advice(use),
        "chart": chart,
        "rows": rows,
        "rest": rows[len(shown.labels) :],
        "numbers": [(prose(name), *map(words.days, values)) for name, *values in column_numbers.lines(one.numbers)],
    }


def _scores(examination: Examination) -> list[list[str]]:
    better = {True: _("higher"), False: _("lower")}
    return [
        [prose(s.label), *map(figure, (s.synthetic, s.real, s.floor)), better[s.higher_is_better]]
        for s in (examination.utility.scores if examination.utility else ())
    ]


def _own_scores(examination: Examination) -> list[list[str]]:
    """What packages of the installation say, a line for each figure; one that failed is told as failed."""
    return [
        [name if name == s.name else f"{s.name}: {name}", value, s.package]
        for s in examination.own_scores
        for name, value in (
            [(s.name, _("failed ({fault})").format(fault=s.fault))]
            if s.fault
            else [(n, figure(v)) for n, v in s.values.items()]
        )
    ]


def _weighting(examination: Examination) -> dict[str, Any] | None:
    """Weighted distances of the columns, the worst first; None where the schema names no weight."""
    reported, floor, c = examination.comparison.weighted, examination.weighted_floor, examination.comparison
    if reported is None or floor is None:
        return None
    once = dict(zip(c.columns, np.diag(c.pairs).tolist(), strict=True))  # in the same groups
    worst = sorted(reported.columns, key=lambda n: -reported.columns[n])
    lines = [[n, percent(reported.columns[n]), percent(once[n]), percent(floor.columns[n])] for n in worst]
    return {"by": reported.by, "means": reported.means, "lines": lines}


def _shapes(examination: Examination) -> list[tuple[str, str]]:
    """SDMetrics' score of each column, the worst first."""
    quality = examination.comparison.quality
    worst = sorted(quality.by_column.items(), key=lambda pair: pair[1]) if quality else []
    return [(name, percent(score)) for name, score in worst]


def _verdict(examination: Examination, *, anchors: Collection[str]) -> dict[str, Any]:
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
            place(words.both(p.names), p.distance, pairs.pair_anchor(*sorted(map(columns.index, p.names))))
            for p in worst["pair"]
        ],
        _("three columns"): [place(", ".join(p.names), p.distance) for p in worst["triple"]],
        _("groups of people"): [place(f"{p.names[0]} {words.group(p.names[1])}", p.distance) for p in worst["group"]],
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


def _groups(examination: Examination) -> dict[str, Any]:
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
