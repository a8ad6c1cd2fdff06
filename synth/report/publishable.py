"""The publishable report: the released noisy tables, with confidence intervals, against the synthetic table.

Made from releases, public facts and the synthetic table alone, so it is free and as private as the release. Nothing
here can be handed a real row: there is no parameter for one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log, pi, sqrt
from typing import Any

import numpy as np

from synth.evaluate.area_levels import AreaLevel
from synth.evaluate.read_sample import values
from synth.evaluate.verdict import (
    CARE,
    NOT,
    USES,
    Measured,
    Use,
    Verdict,
    mean,
    rate_average,
    use_by_parts,
    use_of,
)
from synth.generators.core.problem import misfit_in_words
from synth.languages import Said, Texts, _, joined, numerals, prose
from synth.mechanisms import linked
from synth.pipeline import retention
from synth.pipeline.uses import tables_of
from synth.questions.kinds import kinds_of
from synth.questions.linked import placed
from synth.release.card.card import Card
from synth.release.folder import StoredRelease
from synth.report import area_pages, first_page, html, svg_charts, words
from synth.report.html import commas, figure, number, percent
from synth.report.noisy_tables import FIT, LEVEL, ComparedTable, NoisyTable, tables, total
from synth.report.related_picture import picture
from synth.schema import grouping, uses
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
HEADINGS = Texts(
    {
        "one_way": "tables of one column",
        "two_way": "two-way tables",
        "larger": "larger tables",
    }
)


NO_COUNTS = "no noisy counts of them were released to compare with"
INDEPENDENT = "the method makes columns independent of each other"
NONE_LEFT = "the method was measured to keep no relations between columns at such an epsilon"
FILLED_IN = "no counts of them were released, the model fills them in"
MORE = "relations of three and more columns"
JOINT = ("pairs", "triples")  # which a method that keeps no relations is not for


@dataclass(frozen=True, kw_only=True, eq=False)
class Publishable:
    """The publishable report as data, of one table or of a tree, whose counts are in roots: ``rows`` of the source.

    ``singles``: by table and column; ``pairs``: by what they are about and by columns, of one table under "".
    **Guarantee**: that of the release (post-processing).
    """

    schema: Schema | Dataset
    rows: float | None
    rows_public: bool = False
    singles: Mapping[str, Mapping[str, ComparedTable]] = field(repr=False)
    pairs: Mapping[str, Mapping[Any, ComparedTable]] = field(repr=False)
    larger: Mapping[tuple[str, ...], ComparedTable] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    areas: Mapping[str, tuple[AreaLevel, ...]] = field(default_factory=dict)
    averages: Mapping[str, "Average"] = field(default_factory=dict)

    @property
    def noise(self) -> list[float]:
        """Of counts of single columns, the standard deviations."""
        return [s.table.sigma for own in self.singles.values() for s in own.values()]

    @property
    def named(self) -> dict[str, tuple[list[ComparedTable], int]]:
        """By use of the schema the tables of it that were released, and how many it needs."""
        tree, known, out = self.schema.tree, dict[frozenset[str], ComparedTable](), {}
        wider = [s for own in (*self.pairs.values(), self.larger) for s in own.values() if len(s.table.bins) > 1]
        for shown in (*(s for own in self.singles.values() for s in own.values()), *wider):
            owners = [placed(c) for c in shown.table.columns] if tree is not None else []
            if not any(other for _, _, other in owners):
                known[frozenset(f"{t}.{c}" for t, c, _ in owners) or frozenset(shown.table.columns)] = shown
        for use, needed in tables_of(self.schema):
            asked = needed if tree is None else uses.pairs(needed)
            out[use] = [known[frozenset(t)] for t in asked if frozenset(t) in known], len(asked)
        return out


@dataclass(frozen=True, kw_only=True)
class Average:
    """A number's synthetic ``mean`` and spread beside what a released table tells of the real ones.

    ``off``, ``apart``: between what the mean, in standard deviations, and the logarithm of the spreads' ratio are off,
    by the bins' widths and by the noise, at LEVEL; ``wide``: how far apart the mean's ends are; ``tail``: kurtosis of
    the synthetic values.
    """

    mean: float
    off: tuple[float, float]
    apart: tuple[float, float]
    wide: float
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
            noise = table.half * float(np.sqrt((((least + most) / 2) ** 2).sum())) / rows
            return float(counts @ least) / rows - noise, float(counts @ most) / rows + noise

        (a, b), squares = between(low, high), between(inner, outer)
        c, d = (0.5 * log(max(s / spread**2, TINY)) for s in squares)
        return cls(
            mean=mean,
            off=(max(a, -b, 0.0) / spread, max(abs(a), abs(b)) / spread),
            apart=(max(c, -d, 0.0), max(abs(c), abs(d))),
            wide=(b - a) / spread,
            tail=float((((made - mean) / spread) ** 4).mean()),
        )


def interval() -> str:
    """What the whiskers of charts are."""
    return _("{level} % interval").format(level=f"{100 * LEVEL:.0f}")


def gather(
    releases: Sequence[Any],
    synthetic: Mapping[str, np.ndarray],
    *,
    schema: Schema,
    public_rows: int | None,
    kinds: Sequence[str] = (),
) -> Publishable:
    """The report of these releases and of a synthetic table, given as positions by column.

    Privacy: released answers only.
    """
    result = tables(releases)
    rows = total(result, public_rows)
    size = len(next(iter(synthetic.values())))
    kept: list[dict[Any, ComparedTable]] = [{}, {}, {}]
    averages: dict[str, Average] = {}
    for t in result:
        made = t.counted(synthetic) * ((rows or 1.0) / size)
        shown = ComparedTable(table=t, synthetic=made, rows=rows or 1.0)
        if len(t.bins) > 1 or t.whole:
            name = t.columns if len(t.bins) > 1 else t.columns[0]
            kept[min(len(t.bins), 3) - 1].setdefault(name, shown)
        if len(t.bins) == 1 and (c := schema.columns.get(t.columns[0])) is not None and c.is_numeric:
            found, best = Average.of(t, c, synthetic[t.columns[0]]), averages.get(t.columns[0])
            if found is not None and (best is None or found.wide < best.wide):
                averages[t.columns[0]] = found
    return Publishable(
        schema=schema,
        rows=rows,
        rows_public=public_rows is not None,
        singles={ONE: kept[0]},
        pairs={"": kept[1]},
        larger=kept[2],
        kinds=tuple(kinds or kinds_of(type(r) for r in releases)),
        areas=area_pages.of_releases(releases, synthetic, schema.columns, rows),
        averages=averages,
    )


def gather_trees(stored: StoredRelease, made: Forest, roots: float) -> Publishable:
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
            shown = ComparedTable(table=table, synthetic=here, rows=max(float(here.sum()), 1.0))
            about, names = _about(answer.question, table)
            if len(names) == 1 and answer.question.view == "rows" and table.whole:
                singles[answer.question.table].setdefault(placed(table.columns[0])[1], shown)
            elif len(names) == 2 or answer.question.view == "first":
                pairs.setdefault(about, {})[joined(" and ", names)] = shown
    return Publishable(schema=schema, rows=roots, singles=singles, pairs=pairs)


def verdict(shown: Publishable, card: Mapping[str, Any]) -> Verdict:
    """What the tables are good for as far as the release tells. ``card``: whose ``fit`` and method take part.

    A released count has noise, so how far the synthetic table is from the real one is known between two ends only: at
    least what noise cannot explain, at most what noise may hide. Good is what is good at the far end, and bad what is
    bad at the near one.

    **Guarantee**: that of the release: it rests on releases and the synthetic table alone.

    Privacy: released answers only.
    """
    return Verdict.of(_uses(shown, _lost(card)), unsure=misfit_in_words(card.get("fit")) or "")


def _lost(card: Mapping[str, Any]) -> str:
    """Why relations between columns are lost, where the method keeps none; empty elsewhere."""
    method = str(card.get("method", ""))
    if method == "independent":
        return INDEPENDENT
    return NONE_LEFT if retention.warning(method, epsilon=float(card.get("epsilon") or 1.0)) else ""


def _uses(shown: Publishable, lost: str) -> Iterator[Use | None]:
    """What the release tells of each use. ``lost``: why relations are, where they are."""
    rows, tree, counted = shown.rows, shown.schema.tree is not None, len(shown.larger)
    two = "across" if tree else "pairs"

    def told(name: str, tables: Iterable[ComparedTable], use: str = "", missing: str = NO_COUNTS) -> Use:
        if (of := mean(s.measured(rows) for s in tables if rows)) is not None:
            return use_of(name, of, use)
        why = lost if name in JOINT else ""
        return Use(name=name, use=use or USES[name], level=NOT if why else CARE, why=why or missing, value=None)

    for use, (known, needed) in shown.named.items():
        wide = max((len(s.table.bins) for s in known), default=0)
        part = "" if len(known) == needed else Said(", {} of its {} tables", len(known), needed)
        yield told("triples" if wide > 2 else two if wide == 2 else "columns", known, Said("named: {}{}", use, part))
    for table, own in shown.singles.items():
        if own or not tree:
            yield told("columns", own.values(), Said("single columns of {}", table) if tree else "")
    if rows and shown.averages:
        measured, rated = {n: a.measured(rows) for n, a in shown.averages.items()}, {}
        for n, both in measured.items():
            off = Said("its mean is off by {:.2f} to {:.2f} standard deviations", both[0].low, both[0].value)
            rated[n] = *rate_average(*both), off
        yield use_by_parts("averages", rated, sorted((m for m, _ in measured.values()), key=lambda m: -m.value))
    for about, own in shown.pairs.items():
        yield told(two, own.values(), _use(about) if tree else "")
    more = Said("{} other than the {} that were counted", Said(MORE), counted) if counted else Said(MORE)
    yield told("triples", (), more, FILLED_IN)


def _use(about: Any) -> Said:
    """What tables are good for that are about this, as ``_about`` has it."""
    alone = about.values[-1] in (VIEWS["first"], VIEWS["last"])
    return Said("single columns, {}" if alone else "tables of two columns, {}", about)


def render(
    shown: Publishable,
    *,
    about: Card,
    said: Verdict,
    paid: Mapping[str, Any] | None = None,
    known: Mapping[str, Any] | None = None,
) -> str:
    """The page. ``about``: the release card. ``said``: the verdict. ``paid``: further statistics, paid for apart.

    ``known``: what priors said (prior_evidence.py).
    """
    rows, fitted, tree = shown.rows, not said.unsure, shown.schema.tree
    columns = []
    for table, own in shown.singles.items():
        facts = shown.schema.tables[ONE].columns if tree is None else tree.as_asked(table).columns
        ordered = sorted(own.items(), key=lambda item: -item[1].distance)
        advised = [(n, s, s.advice("columns", rows, fitted=fitted)) for n, s in ordered]
        charts = [column_chart(n, s, facts[n], advice) for n, s, advice in advised[:SHOWN]]
        columns.append((table, charts, [[n, *fit_in_words(s), advice] for n, s, advice in advised]))
    kind = "pairs" if tree is None else "across"
    source = _("not known from this release") if rows is None else _("{n} (estimated)")
    return html.render(
        "publishable.html",
        title=_("Publishable report"),
        mark=None,
        result=shown,
        tree=tree is not None,
        about=about,
        level=LEVEL,
        interval=interval(),
        source_rows=(_("{n} (public)") if shown.rows_public else source).format(n=commas(rows or 0)),
        unit=words.unit(about),
        picture="" if tree is None else picture(tree),
        tables=[[t, commas(n)] for t, n in about.row_counts.items()],
        headline=[(HEADINGS[k], m["distance"], m["from_noise"], m["covered"]) for k, m in means(shown).items() if m],
        first=first_page.answers(about, said),
        columns=columns,
        pairs=[(prose(name), _several(own, kind, rows, fitted)) for name, own in shown.pairs.items()],
        larger=_several(shown.larger, "triples", rows, fitted),
        uses=said.lines,
        unsure=prose(said.unsure),
        paid=None if paid is None else _paid(paid, about),
        shown_cells=SHOWN_CELLS,
        known=known,
        areas=area_pages.sections(shown.areas, exact=False),
    )


def _paid(result: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    """Statistics that were asked for by name and paid for, as ``statistics_file.load`` gives them, beside a release of
    the card ``about``: single values, and tables of counts with a head and a row for each cell.

    The guarantee of both in one line is their sum, which holds whatever was asked in sight of what.
    """
    card, level, asked = result["card"], f"{100 * result['level']:.0f}", result["statistics"]
    entry, interval = card.get("ledger_entry") or {}, _("{level} % interval").format(level=level)
    together = _("epsilon {epsilon}, delta {delta}, {relation}").format(
        epsilon=number(about["epsilon"] + card["epsilon"]),
        delta=number(about["delta"] + card["delta"]),
        relation=about["relation"],
    )
    single = []
    for s in (s for s in asked if "cells" not in s):
        name = _("mean of {column}") if s["kind"] == "mean" else _("{level} % quantile of {column}")
        name = name.format(column=s["columns"][0], level=number(100 * s.get("level", 0)))
        single.append((name, s["value"], words.between(s["low"], s["high"])))
    return {
        "card": card,
        "together": together,
        "entry": str(entry.get("number", _("not known")) if isinstance(entry, Mapping) else entry),
        "interval": interval,
        "single": single,
        "tables": [_paid_counts(s, interval) for s in asked if "cells" in s],
    }


def _paid_counts(counted: Mapping[str, Any], interval: str) -> dict[str, Any]:
    half = numerals(f"{counted['half']:,.1f}")
    if counted["kind"] == "weight":
        what = _("{weight} in all, a row at most {bound}, give or take {half} ({interval})").format(
            weight=counted["by"], bound=number(counted["bound"]), half=half, interval=interval
        )
        cells = [numerals(f"{c['weight']:,.1f}") for c in counted["cells"]]
    else:
        what = _("rows, give or take {half} ({interval})").format(half=half, interval=interval)
        cells = [commas(c["count"]) for c in counted["cells"]]
    names = [", ".join(c["values"]) for c in counted["cells"]]
    return {"head": (words.both(counted["columns"]), what), "rows": list(zip(names, cells, strict=True))}


def fit_in_words(shown: ComparedTable) -> tuple[str, str, str]:
    return percent(shown.distance), percent(shown.from_noise), percent(shown.covered)


def column_chart(name: str, shown: ComparedTable, column: Column, advice: str) -> dict[str, Any]:
    labels, noisy, half, synthetic = _few(shown, column)
    message = _("{name}: released and synthetic counts, {share} of cells within the {interval}").format(
        name=name, share=percent(shown.covered), interval=interval()
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
    return {"name": name, "fit": shown, "advice": advice, "chart": chart, "rows": rows, "rest": rows[retained:]}


def _several(
    shown: Mapping[Any, ComparedTable], name: str, rows: float | None, fitted: bool = True
) -> list[tuple[str, ...]]:
    """A line for each table of several columns, that which is furthest above its noise first."""
    noise = _("{n} roots") if name == "across" else _("{n} rows")
    ordered = sorted(shown.items(), key=lambda item: item[1].from_noise - item[1].distance)
    return [
        (
            prose(columns) if isinstance(columns, str) else words.both(columns),
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
        return Said("{} to {}", labels[0].split(" to ")[0], labels[-1].split(" to ")[-1])
    return _("all {n} others").format(n=len(labels))


def means(shown: Publishable) -> dict[str, dict[str, float] | None]:
    """Means over one-way, two-way and larger tables of what ``Agreement`` tells; None where there is none."""
    if shown.schema.tree is not None:
        return {}
    kinds = {"one_way": shown.singles[ONE], "two_way": shown.pairs[""], "larger": shown.larger}
    return {
        kind: {n: float(np.mean([getattr(s, n) for s in own.values()])) for n in FIT} if own else None
        for kind, own in kinds.items()
    }


def plain(shown: Publishable) -> dict[str, Any]:
    """The report as JSON data; as private as the release."""
    counts = {t: {n: s.counts() for n, s in own.items()} for t, own in shown.singles.items()}
    head = {"publishable": "made from releases only"}
    if shown.schema.tree is not None:
        named = {about: [{"columns": n, **s.plain()} for n, s in own.items()] for about, own in shown.pairs.items()}
        return {**head, "roots": shown.rows, "one_way": counts, "two_way": named}
    return {
        **head,
        "level": LEVEL,
        "rows": shown.rows,
        "kinds": list(shown.kinds),
        "means": means(shown),
        "one_way": counts[ONE],
        "two_way": [{"columns": list(pair), **s.plain()} for pair, s in shown.pairs[""].items()],
        "areas": {n: [level.plain() for level in up] for n, up in shown.areas.items()},
        "larger": [{"columns": list(columns), **s.plain()} for columns, s in shown.larger.items()],
    }


def _about(question: Any, table: NoisyTable) -> tuple[Said, list[str]]:
    """What a table is about, and its columns in words."""
    owners = [placed(c) for c in table.columns]
    names = [Said("{}.{} (of the other)", t, c) if other else f"{t}.{c}" for t, c, other in owners]
    above = sorted({t for t, _, _ in owners} - {question.table})
    if question.view in VIEWS:
        return Said("{}: {}", question.table, Said(VIEWS[question.view])), names
    return Said("{} with {}", question.table, ", ".join(above)) if above else Said("within {}", question.table), names
