"""The steward's report as a page: compares with real rows, is marked everywhere, and never part of a bundle."""

from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.evaluate import column_numbers
from synth.evaluate.examination import Examination, Figure
from synth.evaluate.fidelity import OneWay
from synth.evaluate.from_rows import of_column
from synth.languages import _, prose
from synth.report import area_pages, first_page, html, svg_charts, words
from synth.report.html import figure, percent
from synth.report.steward import pairs, risks, subgroups, verdict

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
    anchors = {c["anchor"] for c in columns} | {p.anchor for p in (together.worst if together else ())}
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
        verdict=verdict.data(examination, anchors=anchors),
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
        **subgroups.data(examination),
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
        "anchor": verdict.column_anchor(place),
        "distance": one.distance,
        "advice": words.advice(use),
        "chart": chart,
        "rows": rows,
        "rest": rows[len(shown.labels) :],
        "numbers": [(prose(name), *map(words.days, values)) for name, *values in column_numbers.lines(one.numbers)],
    }


def _scores(examination: Examination) -> list[list[str]]:
    return [
        [
            prose(s.label),
            *map(figure, (s.synthetic, s.real, s.floor)),
            _("higher") if s.higher_is_better else _("lower"),
        ]
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
