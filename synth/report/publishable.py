"""The publishable report: the released noisy tables, with confidence intervals, against the synthetic table.

Made from releases, public facts and the synthetic table alone, so it is free and as private as the release. Nothing
here can be handed a real row: there is no parameter for one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synth.report import svg_charts
from synth.report.html import (
    card,
    details,
    facts,
    figure,
    flow,
    grid,
    legend,
    note,
    number,
    page,
    percent,
    section,
    table,
    text,
)  # fmt: skip
from synth.report.noisy_tables import LEVEL, Agreement, NoisyTable, agreement, tables, total
from synth.report.statistics_section import statistics_section, together
from synth.schema import grouping
from synth.schema.table import Column, Schema

MOST_BINS = 24  # bars of one chart; finer tables are gathered
SHOWN = 60  # columns drawn
LEVEL_WORDS = f"{100 * LEVEL:.0f} % interval"


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """A released table beside the synthetic one's, in rows of the source."""

    table: NoisyTable
    synthetic: np.ndarray = field(repr=False)
    fit: Agreement


@dataclass(frozen=True, kw_only=True, eq=False)
class Publishable:
    """The publishable report as data. **Guarantee**: that of the release (post-processing)."""

    rows: float | None
    rows_public: bool
    one_way: Mapping[str, Shown]
    two_way: Mapping[tuple[str, str], Shown]
    kinds: tuple[str, ...]


def gather(
    releases: Sequence[Any], synthetic: Mapping[str, np.ndarray], *, public_rows: int | None, kinds: Sequence[str] = ()
) -> Publishable:
    """The report of these releases and of a synthetic table, given as positions by column."""
    found = tables(releases)
    rows = total(found, public_rows)
    size = len(next(iter(synthetic.values())))
    one_way: dict[str, Shown] = {}
    two_way: dict[tuple[str, str], Shown] = {}
    for t in found:
        made = t.counted(synthetic) * ((rows or 1.0) / size)
        shown = Shown(table=t, synthetic=made, fit=agreement(t, made, rows=rows or 1.0))
        if len(t.bins) == 1 and t.whole:
            one_way.setdefault(t.columns[0], shown)
        elif len(t.bins) == 2:
            two_way.setdefault((t.columns[0], t.columns[1]), shown)
    told = tuple(kinds) or tuple(sorted({type(r).__name__.removesuffix("Release").lower() for r in releases}))
    return Publishable(rows=rows, rows_public=public_rows is not None, one_way=one_way, two_way=two_way, kinds=told)


def render(
    found: Publishable, *, schema: Schema, about: Mapping[str, Any], paid: Mapping[str, Any] | None = None
) -> str:
    """The page. ``about``: the release card. ``paid``: further statistics, of a spend of their own."""
    further = [] if paid is None else [statistics_section(paid)]
    costs = ("derives from the release, so it costs no further privacy and may be published with it."
             if paid is None else
             "derives from the release and from statistics that were paid for apart; together they are "
             f"{together(about, paid)}, and may be published.")  # fmt: skip
    return page(
        "Publishable report",
        text("What was released about the source table, with its noise, beside the synthetic table. Everything on this "
             f"page {costs}"),
        _facts(found, about),
        _headline(found),
        section("Columns", *_columns(found, schema)),
        section("Pairs of columns", *_pairs(found)),
        *further,
        section("How to read it", *_method()),
    )  # fmt: skip


def _facts(found: Publishable, about: Mapping[str, Any]) -> str:
    rows = "not known from this release" if found.rows is None else f"{found.rows:,.0f}"
    return facts([
        ("dataset", about.get("dataset") or "not named"),
        ("guarantee", f"epsilon {about['epsilon']:g}, delta {about['delta']:g}, {about['relation']}"),
        ("meaning", about["meaning"]),
        ("unit", about.get("unit")),
        ("method", about.get("method")),
        ("source rows", rows + (" (public)" if found.rows_public else " (estimated)" * bool(found.rows))),
        ("synthetic rows", f"{about['rows']['synthetic']:,}"),
    ])  # fmt: skip


def _headline(found: Publishable) -> str:
    if not found.one_way and not found.two_way:
        return text(f"This method released {', '.join(found.kinds) or 'nothing'}, not tables of counts. There is no "
                    "released count to set beside the synthetic table; the card states what was released and with how "
                    "much noise.")  # fmt: skip
    boxes = []
    for what, group in (("one-way", found.one_way), ("two-way", found.two_way)):
        if group:
            fits = [s.fit for s in group.values()]
            boxes.append(number(f"Distance, {what} tables", percent(float(np.mean([f.distance for f in fits]))),
                                f"released against synthetic; noise alone would bring "
                                f"{percent(float(np.mean([f.from_noise for f in fits])))}"))  # fmt: skip
            boxes.append(number(f"Within the interval, {what}", percent(float(np.mean([f.covered for f in fits]))),
                                f"of cells; {100 * LEVEL:.0f} % or more if noise is all that differs"))  # fmt: skip
    return grid(boxes)


def _columns(found: Publishable, schema: Schema) -> Iterable[str]:
    if not found.one_way:
        yield text("No table of a single column was released.")
        return
    yield legend(
        ("dot", f"released count and its {LEVEL_WORDS}"), ("synthetic", "synthetic table, in rows of the source")
    )
    ordered = sorted(found.one_way.items(), key=lambda item: -item[1].fit.distance)
    yield flow(_column(name, shown, schema.columns[name]) for name, shown in ordered[:SHOWN])
    head = ["column", "distance", "from noise", "within"]
    yield details("All columns as a table",
                  table(head, [[n, percent(s.fit.distance), percent(s.fit.from_noise), percent(s.fit.covered)]
                               for n, s in ordered]))  # fmt: skip


def _column(name: str, shown: Shown, column: Column) -> str:
    labels, noisy, half, synthetic = _few(shown, column)
    fit = shown.fit
    words = f"{name}: released and synthetic counts, {percent(fit.covered)} of cells within the {LEVEL_WORDS}"
    rows = [
        [label, f"{v:,.0f} ± {h:,.0f}", f"{s:,.0f}"]
        for label, v, h, s in zip(labels, noisy, half, synthetic, strict=True)
    ]
    told = f"distance {percent(fit.distance)}, from noise {percent(fit.from_noise)}, within {percent(fit.covered)}"
    kept = len(labels) - int(len(labels) > MOST_BINS and not column.is_numeric)  # the pooled rest would dwarf all else
    drawn = svg_charts.intervals(
        labels[:kept], noisy[:kept], half[:kept], synthetic[:kept], words=words, level=LEVEL_WORDS
    )
    rest = [note(f"{r[0]}: released {r[1]}, synthetic {r[2]}") for r in rows[kept:]]
    return card(name, note(told), drawn, *rest,
                details("as a table", table(["value", "released", "synthetic"], rows)))  # fmt: skip


def _few(shown: Shown, column: Column) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Labels, released counts, half intervals and synthetic counts of at most MOST_BINS bins."""
    bins, noisy, synthetic = shown.table.bins[0], shown.table.values, shown.synthetic
    labels = grouping.bin_labels(column, bins.starts, bins.groups)
    if column.is_numeric:
        inner = max(bins.size - len(column.missing_codes), 1)
        gathered = np.arange(bins.size) // -(-inner // MOST_BINS)
        gathered[inner:] = gathered[inner - 1] + 1 + np.arange(bins.size - inner)
    else:
        order = np.argsort(-synthetic, kind="stable")
        gathered = np.empty(bins.size, dtype=np.int64)
        gathered[order] = np.minimum(np.arange(bins.size), MOST_BINS)
    size = int(gathered.max()) + 1
    members = [np.flatnonzero(gathered == g) for g in range(size)]
    names = [_joined([labels[i] for i in m], column) for m in members]
    half = shown.table.half * np.sqrt([len(m) for m in members])
    return names, np.bincount(gathered, noisy, size), half, np.bincount(gathered, synthetic, size)


def _joined(labels: list[str], column: Column) -> str:
    if len(labels) == 1:
        return labels[0]
    if column.is_numeric:
        return f"{labels[0].split(' to ')[0]} to {labels[-1].split(' to ')[-1]}"
    return f"all {len(labels)} others"


def _pairs(found: Publishable) -> Iterable[str]:
    if not found.two_way:
        yield text("No table of two columns was released.")
        return
    yield text("For each pair that was measured: how far the released and the synthetic table are apart, and how far "
               "noise alone would put them. A pair far above its noise is one the model does not follow.")  # fmt: skip
    ordered = sorted(found.two_way.items(), key=lambda item: item[1].fit.from_noise - item[1].fit.distance)
    head = ["pair", "cells", "noise of a cell", "distance", "from noise", "within"]
    rows = [[" and ".join(pair), f"{s.table.values.size:,}", f"{figure(s.table.sigma, 1)} rows",
             percent(s.fit.distance),
             percent(s.fit.from_noise), percent(s.fit.covered)] for pair, s in ordered]  # fmt: skip
    yield table(head, rows[:20])
    if len(rows) > 20:
        yield details(f"{len(rows) - 20} more pairs", table(head, rows[20:]))


def _method() -> Iterable[str]:
    yield text(f"A released count is the true count plus Gaussian noise of the stated size, so the {LEVEL_WORDS} holds "
               "the true count in 95 of 100 cells. Intervals tell of the privacy noise only, each of one cell; they "
               "say nothing of errors in the source table.")  # fmt: skip
    yield text("The synthetic table was fitted to these very counts, so that it lies within the intervals does not by "
               "itself show that it is true to the source; where it lies outside, the model misses "
               "something.")  # fmt: skip


def plain(found: Publishable) -> dict[str, Any]:
    """The report as JSON data; as private as the release."""

    def one(s: Shown) -> dict[str, Any]:
        return {**vars(s.fit), "sigma": s.table.sigma, "cells": int(s.table.values.size)}

    return {
        "publishable": "made from releases only", "level": LEVEL, "rows": found.rows, "kinds": list(found.kinds),
        "one_way": {n: {**one(s), "released": s.table.values.tolist(), "synthetic": s.synthetic.tolist()}
                    for n, s in found.one_way.items()},
        "two_way": [{"columns": list(pair), **one(s)} for pair, s in found.two_way.items()],
    }  # fmt: skip
