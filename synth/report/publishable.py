"""The publishable report: the released noisy tables, with confidence intervals, against the synthetic table.

Made from releases, public facts and the synthetic table alone, so it is free and as private as the release. Nothing
here can be handed a real row: there is no parameter for one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import log, pi, sqrt
from typing import Any

import numpy as np

from synth.evaluate.area_levels import AreaLevel
from synth.evaluate.read_sample import values
from synth.evaluate.verdict import DISTANCES, Measured, Verdict, advice, names, rate
from synth.languages import Texts, _, prose
from synth.mechanisms import linked
from synth.pipeline.uses import tables_of
from synth.questions.kinds import kinds_of
from synth.questions.linked import placed
from synth.release.folder import StoredRelease
from synth.report import area_pages, first_page, html, svg_charts, words
from synth.report.html import commas, figure, percent
from synth.report.noisy_tables import LEVEL, Agreement, NoisyTable, agreement, tables, total
from synth.report.related_picture import picture
from synth.report.statistics_section import section
from synth.schema import grouping
from synth.schema.dataset import ONE, Dataset
from synth.schema.table import Column, Schema
from synth.sources.rows.forest import Forest

VIEWS = {
    "siblings": "two of one parent",
    "steps": "from one event to the next",
    "far": "half a history later",
    "first": "first events",
    "last": "last events",
}
MOST_BINS = 24  # bars of one chart; finer tables are gathered
TINY = 1e-9  # ratio of variances: less is not told apart
SHOWN = 60  # columns drawn
SHOWN_CELLS = 30  # of a table of further statistics in sight at once
HEADLINES = Texts(
    {
        "one_way": "one-way tables",
        "two_way": "two-way tables",
        "larger": "larger tables",
    }
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedTable:
    """A released table beside the synthetic one's, in rows of the source."""

    table: NoisyTable
    synthetic: np.ndarray = field(repr=False)
    fit: Agreement

    def plain(self) -> dict[str, Any]:
        """How near it is, as JSON data."""
        return {**vars(self.fit), "sigma": self.table.sigma, "cells": int(self.table.values.size)}

    def counts(self) -> dict[str, Any]:
        """The same with the counts themselves."""
        return {**self.plain(), "released": self.table.values.tolist(), "synthetic": self.synthetic.tolist()}

    @property
    def ends(self) -> tuple[float, float]:
        """Between what the distance from the real table lies: what noise cannot explain, and what it may hide."""
        distance, noise = self.fit.distance, self.fit.from_noise
        return sqrt(max(0.0, distance**2 - noise**2)), max(distance, noise)

    def measured(self, rows: float | None) -> Measured:
        """How far it is off, as verdicts take it; a second sample of so many ``rows`` by the synthetic shares."""
        shares = self.synthetic / max(float(self.synthetic.sum()), 1e-9)
        second = min(1.0, 0.5 * sqrt(4 / pi / (rows or 1.0)) * float(np.sqrt(shares * (1 - shares)).sum()))
        return Measured(value=self.ends[1], second=second, low=self.ends[0])

    def advice(self, name: str, rows: float | None, *, fitted: bool = True) -> str:
        """What the table's figures mean for use, by the rule of every verdict. ``name``: a key of ``DISTANCES``."""
        if not rows:
            return _("not known")
        return words.advice(advice(rate(DISTANCES[name], **vars(self.measured(rows)), fitted=fitted)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Publishable:
    """The publishable report as data. ``named``: by use of the schema the tables of it that were released, and how many
    it needs. **Guarantee**: that of the release (post-processing)."""

    rows: float | None
    rows_public: bool
    one_way: Mapping[str, ComparedTable]
    two_way: Mapping[tuple[str, ...], ComparedTable]
    kinds: tuple[str, ...]
    larger: Mapping[tuple[str, ...], ComparedTable] = field(default_factory=dict)
    named: Mapping[str, tuple[tuple[ComparedTable, ...], int]] = field(default_factory=dict)
    areas: Mapping[str, tuple[AreaLevel, ...]] = field(default_factory=dict)
    averages: Mapping[str, "Average"] = field(default_factory=dict)

    @property
    def noise(self) -> list[float]:
        """Of counts of single columns, the standard deviations."""
        return [s.table.sigma for s in self.one_way.values()]


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishableTables:
    """The report of a tree of tables as data, in roots of the source. ``singles``: by table and column; ``pairs``: by
    what they are about. **Guarantee**: that of the release (post-processing)."""

    schema: Dataset
    card: Mapping[str, Any]
    roots: float
    singles: Mapping[str, Mapping[str, ComparedTable]] = field(repr=False)
    pairs: Mapping[str, Mapping[str, ComparedTable]] = field(repr=False)

    @property
    def noise(self) -> list[float]:
        """As of one table."""
        return [s.table.sigma for shown in self.singles.values() for s in shown.values()]


@dataclass(frozen=True, kw_only=True)
class Average:
    """A number's synthetic ``mean`` and spread beside what a released table tells of the real ones.

    ``off``, ``apart``: between what the mean, in standard deviations, and the logarithm of the spreads' ratio are off,
    by the bins' widths and the noise; ``tail``: kurtosis of the synthetic values.
    """

    mean: float
    off: tuple[float, float]
    apart: tuple[float, float]
    tail: float

    def measured(self, rows: float) -> tuple[Measured, Measured]:
        """How far mean and spread are off, as verdicts take it; a second sample of so many ``rows``."""
        second = sqrt(4 / pi / rows)
        return (
            Measured(value=self.off[1], second=second, low=self.off[0]),
            Measured(value=self.apart[1], second=second * sqrt(max(self.tail - 1, 0) / 4), low=self.apart[0]),
        )

    @classmethod
    def of(cls, table: NoisyTable, column: Column, positions: np.ndarray) -> "Average | None":
        """By a released table of one column; None where nothing of it is a number, or nothing varies."""
        (bins,) = table.bins
        inside = (bins.groups >= 0) & (bins.starts < column.size)
        ends = np.minimum(np.append(bins.starts[1:], column.cells), column.size) - 1
        groups, first, last = bins.groups[inside], np.full(bins.size, column.size), np.full(bins.size, -1)
        np.minimum.at(first, groups, bins.starts[inside])
        np.maximum.at(last, groups, ends[inside])
        known = last >= 0
        counts, made = table.values[known], values(column, positions[positions < column.size])
        rows = float(counts.sum())
        if rows <= 0 or not len(made) or not made.std():
            return None
        mean, spread = float(made.mean()), float(made.std())
        low, high = (values(column, p[known]) - mean for p in (first, last))
        outer = np.maximum(low**2, high**2)
        inner = np.where(low * high <= 0, 0.0, np.minimum(low**2, high**2))

        def between(least: np.ndarray, most: np.ndarray) -> tuple[float, float]:
            noise = table.deviation * float(np.sqrt((((least + most) / 2) ** 2).sum())) / rows
            return float(counts @ least) / rows - noise, float(counts @ most) / rows + noise

        (a, b), squares = between(low, high), between(inner, outer)
        c, d = (0.5 * log(max(s / spread**2, TINY)) for s in squares)
        return cls(
            mean=mean,
            off=(max(a, -b, 0.0) / spread, max(abs(a), abs(b)) / spread),
            apart=(max(c, -d, 0.0), max(abs(c), abs(d))),
            tail=float((((made - mean) / spread) ** 4).mean()),
        )


def interval() -> str:
    """What the whiskers of charts are."""
    return _("{level} % interval").format(level=f"{100 * LEVEL:.0f}")


def head(first: str) -> list[str]:
    """The head of a table of released tables; ``first``: what a line stands for."""
    return [first, _("cells"), _("noise of a cell"), _("distance"), _("from noise"), _("within"), _("for use")]


def gather(
    releases: Sequence[Any],
    synthetic: Mapping[str, np.ndarray],
    *,
    public_rows: int | None,
    kinds: Sequence[str] = (),
    schema: Schema | None = None,
) -> Publishable:
    """The report of these releases and of a synthetic table, given as positions by column.

    ``schema``: whose uses are judged; none without.
    """
    result = tables(releases)
    rows = total(result, public_rows)
    size = len(next(iter(synthetic.values())))
    one_way: dict[str, ComparedTable] = {}
    two_way: dict[tuple[str, ...], ComparedTable] = {}
    larger: dict[tuple[str, ...], ComparedTable] = {}
    for t in result:
        made = t.counted(synthetic) * ((rows or 1.0) / size)
        shown = ComparedTable(table=t, synthetic=made, fit=agreement(t, made, rows=rows or 1.0))
        if len(t.bins) == 1 and t.whole:
            one_way.setdefault(t.columns[0], shown)
        elif len(t.bins) == 2:
            two_way.setdefault(t.columns, shown)
        elif len(t.bins) > 2:
            larger.setdefault(t.columns, shown)
    reported = tuple(kinds or kinds_of(type(r) for r in releases))
    every = {frozenset(t): s for t, s in (*(((n,), s) for n, s in one_way.items()), *two_way.items(), *larger.items())}
    named = {
        use: (tuple(every[frozenset(t)] for t in needed if frozenset(t) in every), len(needed))
        for use, needed in (() if schema is None else tables_of(schema))
    }
    averages: dict[str, Average] = {}
    facts = {} if schema is None else schema.columns
    for t in (t for t in result if len(t.bins) == 1 and t.columns[0] in facts and facts[t.columns[0]].is_numeric):
        name = t.columns[0]
        found = Average.of(t, facts[name], synthetic[name])
        if found is not None and (name not in averages or found.off[1] < averages[name].off[1]):
            averages[name] = found
    return Publishable(
        averages=averages,
        named=named,
        areas={} if schema is None else area_pages.of_releases(releases, synthetic, schema.columns, rows),
        rows=rows,
        rows_public=public_rows is not None,
        one_way=one_way,
        two_way=two_way,
        larger=larger,
        kinds=reported,
    )


def render(
    publishable: Publishable,
    *,
    schema: Schema,
    about: Mapping[str, Any],
    said: Verdict,
    paid: Mapping[str, Any] | None = None,
    known: Mapping[str, Any] | None = None,
) -> str:
    """The page. ``about``: the release card. ``said``: the verdict. ``paid``: further statistics, paid for apart.

    ``known``: what priors said (prior_evidence.py).
    """
    ordered = sorted(publishable.one_way.items(), key=lambda item: -item[1].fit.distance)
    rows, fitted = publishable.rows, not said.unsure
    return html.render(
        "publishable.html",
        title=_("Publishable report"),
        mark=None,
        result=publishable,
        about=about,
        level=LEVEL,
        interval=interval(),
        head=head,
        source_rows=_source_rows(publishable),
        unit=words.unit(about),
        headline=_headline(publishable),
        first=first_page.answers(about, said),
        charts=[
            column_chart(name, shown, schema.columns[name], shown.advice("columns", rows, fitted=fitted))
            for name, shown in ordered[:SHOWN]
        ],
        columns=[[name, *fit_in_words(shown), shown.advice("columns", rows, fitted=fitted)] for name, shown in ordered],
        pairs=_several(publishable.two_way, "pairs", rows, fitted),
        larger=_several(publishable.larger, "triples", rows, fitted),
        uses=said.lines,
        unsure=prose(said.unsure),
        paid=None if paid is None else section(paid, about),
        shown_cells=SHOWN_CELLS,
        known=known,
        areas=area_pages.sections(publishable.areas, exact=False),
    )


def _source_rows(publishable: Publishable) -> str:
    if publishable.rows is None:
        return _("not known from this release")
    said = _("{n} (public)") if publishable.rows_public else _("{n} (estimated)")
    return said.format(n=commas(publishable.rows))


def _headline(publishable: Publishable) -> list[tuple[str, float, float, float]]:
    """For each kind of table the means of distance, of the part that noise alone would cause, and of cells within."""
    kinds = means(publishable).items()
    return [(HEADLINES[kind], m["distance"], m["from_noise"], m["covered"]) for kind, m in kinds if m is not None]


def fit_in_words(shown: ComparedTable) -> tuple[str, str, str]:
    return percent(shown.fit.distance), percent(shown.fit.from_noise), percent(shown.fit.covered)


def column_chart(name: str, shown: ComparedTable, column: Column, advice: str) -> dict[str, Any]:
    labels, noisy, half, synthetic = _few(shown, column)
    message = _("{name}: released and synthetic counts, {share} of cells within the {interval}").format(
        name=name, share=percent(shown.fit.covered), interval=interval()
    )
    rows = [
        (label, f"{commas(v)} ± {commas(h)}", commas(s))
        for label, v, h, s in zip(labels, noisy, half, synthetic, strict=True)
    ]
    retained = len(labels) - int(
        len(labels) > MOST_BINS and not column.is_numeric
    )  # the pooled rest would dwarf all else
    chart = svg_charts.intervals(
        labels[:retained], noisy[:retained], half[:retained], synthetic[:retained], words=message, level=interval()
    )
    return {"name": name, "fit": shown.fit, "advice": advice, "chart": chart, "rows": rows, "rest": rows[retained:]}


def _several(
    shown: Mapping[Any, ComparedTable], name: str, rows: float | None, fitted: bool = True
) -> list[tuple[str, ...]]:
    """A line for each table of several columns, that which is furthest above its noise first."""
    noise = _("{n} roots") if name == "across" else _("{n} rows")
    ordered = sorted(shown.items(), key=lambda item: item[1].fit.from_noise - item[1].fit.distance)
    return [
        (
            names(columns) if isinstance(columns, str) else words.both(columns),
            commas(s.table.values.size),
            noise.format(n=figure(s.table.sigma, 1)),
            *fit_in_words(s),
            s.advice(name, rows, fitted=fitted),
        )
        for columns, s in ordered
    ]


def _few(shown: ComparedTable, column: Column) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
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
    names = [words.group(_joined([labels[i] for i in m], column)) for m in members]
    half = shown.table.half * np.sqrt([len(m) for m in members])
    return names, np.bincount(gathered, noisy, size), half, np.bincount(gathered, synthetic, size)


def _joined(labels: list[str], column: Column) -> str:
    if len(labels) == 1:
        return labels[0]
    if column.is_numeric:
        return f"{labels[0].split(' to ')[0]} to {labels[-1].split(' to ')[-1]}"
    return _("all {n} others").format(n=len(labels))


def means(publishable: Publishable) -> dict[str, dict[str, float] | None]:
    """Means over one-way, two-way and larger tables of what ``Agreement`` tells; None where there is none."""
    names = [f.name for f in fields(Agreement)]
    kinds = {
        "one_way": publishable.one_way.values(),
        "two_way": publishable.two_way.values(),
        "larger": publishable.larger.values(),
    }
    return {
        kind: {n: float(np.mean([getattr(s.fit, n) for s in shown])) for n in names} if shown else None
        for kind, shown in kinds.items()
    }


def plain(publishable: Publishable) -> dict[str, Any]:
    """The report as JSON data; as private as the release."""
    return {
        "publishable": "made from releases only",
        "level": LEVEL,
        "rows": publishable.rows,
        "kinds": list(publishable.kinds),
        "means": means(publishable),
        "one_way": {n: s.counts() for n, s in publishable.one_way.items()},
        "two_way": [{"columns": list(pair), **s.plain()} for pair, s in publishable.two_way.items()],
        "areas": {n: [level.plain() for level in up] for n, up in publishable.areas.items()},
        "larger": [{"columns": list(columns), **s.plain()} for columns, s in publishable.larger.items()],
    }


def gather_trees(stored: StoredRelease, made: Forest, roots: float) -> PublishableTables:
    """The report of a release of a tree. ``made``: its synthetic rows, which stand for so many ``roots``.

    Privacy: released answers only.
    """
    schema = stored.schema
    scale = roots / max(len(made[schema.root].parent), 1)
    singles: dict[str, dict[str, ComparedTable]] = {t: {} for t in schema.downwards}
    pairs: dict[str, dict[str, ComparedTable]] = {}
    for answer in stored.releases:
        exact = linked.exact(answer.question, made)
        for marginal, noisy, cells in zip(answer.question.marginals, answer.values, exact, strict=True):
            table = NoisyTable(bins=marginal.bins, values=noisy.astype(float), sigma=marginal.sigma)
            here = cells.reshape(noisy.shape) / linked.UNIT * scale
            fit = agreement(table, here, rows=max(float(here.sum()), 1.0))
            shown = ComparedTable(table=table, synthetic=here, fit=fit)
            about, names = _about(answer.question, table)
            if len(names) == 1 and answer.question.view == "rows" and table.whole:
                singles[answer.question.table].setdefault(placed(table.columns[0])[1], shown)
            elif len(names) == 2 or answer.question.view == "first":
                pairs.setdefault(about, {})[" and ".join(names)] = shown
    return PublishableTables(schema=schema, card=stored.card, roots=roots, singles=singles, pairs=pairs)


def _about(question: Any, table: NoisyTable) -> tuple[str, list[str]]:
    """What a table is about, and its columns in words."""
    owners = [placed(c) for c in table.columns]
    names = [f"{t}.{c}" + (" (of the other)" if other else "") for t, c, other in owners]
    above = sorted({t for t, _, _ in owners} - {question.table})
    if question.view in VIEWS:
        return f"{question.table}: {VIEWS[question.view]}", names
    return f"{question.table} with {', '.join(above)}" if above else f"within {question.table}", names


def _titled(about: str) -> str:
    """As ``_about`` has it, in the language that is spoken."""
    table, between, view = about.partition(": ")
    if between:
        return f"{table}: {prose(view)}"
    if about.startswith("within "):
        return _("within {table}").format(table=about.removeprefix("within "))
    table, _with, others = about.partition(" with ")
    return _("{table} with {others}").format(table=table, others=others)


def render_trees(tables: PublishableTables, *, about: Mapping[str, Any], said: Verdict) -> str:
    """The page of a tree. ``about``: the release card; ``said``: the verdict."""
    singles = []
    for table, columns in tables.singles.items():
        facts = tables.schema.as_asked(table).columns
        ordered = sorted(columns.items(), key=lambda item: -item[1].fit.distance)
        advised = [(n, s, s.advice("columns", tables.roots)) for n, s in ordered]
        charts = [column_chart(n, s, facts[n], advice) for n, s, advice in advised[:SHOWN]]
        singles.append((table, charts, [[n, *fit_in_words(s), advice] for n, s, advice in advised]))
    return html.render(
        "related_publishable.html",
        title=_("Publishable report"),
        mark=None,
        about=about,
        interval=interval(),
        roots=commas(tables.roots),
        picture=picture(tables.schema),
        singles=singles,
        head=head,
        tables=[[t, commas(n)] for t, n in rows_of(about).items()],
        groups=[(_titled(name), _several(shown, "across", tables.roots)) for name, shown in tables.pairs.items()],
        uses=said.lines,
        first=first_page.answers(about, said),
    )


def rows_of(card: Mapping[str, Any]) -> dict[str, int]:
    """Synthetic rows by table that is written."""
    return dict(card["rows"].get("tables", {ONE: card["rows"]["synthetic"]}))


def plain_trees(tables: PublishableTables) -> dict[str, Any]:
    """The report of a tree as JSON data; as private as the release."""
    return {
        "publishable": "made from releases only",
        "roots": tables.roots,
        "one_way": {t: {n: s.counts() for n, s in shown.items()} for t, shown in tables.singles.items()},
        "two_way": {
            about: [{"columns": n, **s.plain()} for n, s in shown.items()] for about, shown in tables.pairs.items()
        },
    }
