"""What answers tell of related tables: columns and their bins, what tables of two columns say beyond independence and
how sure that is beside their noise, what public tables say of the same cells, tables in which rows count.

A fit to many faint tables follows their noise and is worse than independent columns. A table that noise hides becomes
the product of its margins, one that stands out stays as it was counted; where public tables explain the answers, they
say the rest.

Weighted tables hold rows of one parent at one part each, so that a parent with many moves them no more than one with a
single row. Whoever counts rows sees something else, and how columns, their relation and the number of siblings hang
together is told by no table of two columns. A fit that follows weighted tables alone leaves it to chance. The answers
about a column and the number of siblings tell how often each value occurs among plain rows, and a weighted table scaled
to these (as iterative proportional fitting does: Deming and Stephan 1940) is near to the table of plain rows.

Privacy: public tables and released answers only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from synth.generators.base import PublicTrees, Setting
from synth.generators.core.columns import ONEWAY, PRIOR_LEAVES, Histogram, estimate_columns, merge, merge_bins, split
from synth.generators.core.prior_variance import TINY, variances
from synth.generators.core.tables import RAKES, SMOOTH, WEAK, NoisyTable, averaged
from synth.questions import Bins, Counts, CountsRelease, Linked, LinkedRelease, Marginal, PublicCounts, PublicLinked
from synth.questions.linked import FAR, View, place, placed
from synth.schema.dataset import Dataset, number_of

FEW = 12  # leaves of a column that a use names, up to which each is a bin
SINGLY = 51  # cells of a number of children up to which each number is a bin


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """One table: ``total``, how many roots' worth of rows it has; histograms, and bins of leaves, by column.

    ``coarse``: fewer bins, of tables of two rows of one parent in different columns.
    """

    total: float
    histograms: Mapping[str, Histogram]
    groups: Mapping[str, np.ndarray]
    coarse: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """Number of bins of each column."""
        return {n: int(g.max()) + 1 for n, g in self.groups.items()}

    def bins(self, table: str, column: str, *, other: bool = False, coarse: bool = False) -> Bins:
        """The column's bins for a linked question."""
        groups = self.coarse if coarse else self.groups
        return self.histograms[column].bins(groups[column], place(table, column, other=other))


@dataclass(frozen=True, kw_only=True)
class Grain:
    """How fine bins are: one holds ``least`` times the noise of a table with ``other_bins`` other bins, and a column
    has about ``most`` bins at most, numbers and dates ``ordered``; in tables of two rows of one parent about ``pairs``.
    """

    least: float = 3.0
    other_bins: float = 8.0
    most: int = 100
    ordered: int = 40
    pairs: int = 24


def one_ways(releases: Sequence[LinkedRelease | PublicLinked], table: str) -> list[CountsRelease]:
    """The table's one-way answers, as those of a single table."""
    counted = (r for r in releases if isinstance(r, LinkedRelease))
    own = [r for r in counted if r.question.table == table and r.question.view == "rows"]
    ones = (r for r in own if r.question.purpose.startswith(ONEWAY))
    return [CountsRelease(question=_single(r.question), values=r.values) for r in ones]


def _public(releases: Sequence[LinkedRelease | PublicLinked], table: str) -> list[PublicCounts]:
    """What public tables say of the table's columns, as of a single table."""
    own = (r for r in releases if isinstance(r, PublicLinked) and r.question.table == table)
    return [
        PublicCounts(
            question=_single(r.question),
            values=r.values,
            name=r.name,
            sha256=r.sha256,
            num_rows=r.num_rows,
            missing=tuple(placed(n)[1] for n in r.missing if placed(n)[0] == table),
        )
        for r in own
        if r.question.purpose == PRIOR_LEAVES
    ]


def _single(question: Linked) -> Counts:
    return Counts(purpose=question.purpose, marginals=tuple(map(single, question.marginals)))


def single(marginal: Marginal) -> Marginal:
    """A linked question's marginal as one of a single table."""
    return replace(marginal, bins=tuple(_renamed(b, placed(b.column)[1]) for b in marginal.bins))


def of_table(marginal: Marginal, table: str) -> Marginal:
    """A single table's marginal as one of a linked question."""
    return replace(marginal, bins=tuple(_renamed(b, place(table, b.column)) for b in marginal.bins))


def _renamed(bins: Bins, name: str) -> Bins:
    return Bins(column=name, cells=bins.cells, starts=bins.starts, groups=bins.groups)


def learn_tables(
    releases: Sequence[LinkedRelease | PublicLinked], schema: Dataset, setting: Setting, *, noise: float, grain: Grain
) -> dict[str, Known]:
    """Every table from its one-way answers. ``noise``: of a typical larger table, by which bins are merged."""
    result = {}
    for table in schema.downwards:
        own = replace(setting, schema=schema.as_asked(table), public_rows=None)
        asked: list[Any] = [*one_ways(releases, table), *_public(releases, table)]
        columns = estimate_columns(asked, own)
        total, histograms = columns.total, columns.histograms
        numbers = {number_of(k.child) for k in schema.keys_below(table)}
        groups = {
            n: np.arange(len(h.mass))
            if n in numbers and h.cells <= SINGLY
            else _groups(h, own, total, noise, grain, f"{table}.{n}")
            for n, h in histograms.items()
        }
        gaps = {n for n in groups if n not in schema.as_measured(table).columns and own.schema.columns[n].is_numeric}
        groups |= {n: _alone(g, 2 if n in numbers else 1) for n, g in groups.items() if n in gaps | numbers}
        coarse = {n: merge_bins(histograms[n].mass, g, least=total / grain.pairs) for n, g in groups.items()}
        result[table] = Known(total=total, histograms=histograms, groups=groups, coarse=coarse)
    return result


def _alone(groups: np.ndarray, first: int) -> np.ndarray:
    """The groups with so many leaves alone before all others: no child and one, which have no pair; no gap."""
    rest = np.unique(groups[first:], return_inverse=True)[1] + first
    return np.append(np.arange(first), rest)[: len(groups)]


def _groups(result: Histogram, setting: Setting, total: float, noise: float, grain: Grain, name: str) -> np.ndarray:
    """Bin of each leaf (L,); of a column that a use names more, however much noise there is: each of few values is one,
    none has more than one of the groups that a named formula has of it, and there are two at least."""
    most, named = grain.ordered if setting.schema.columns[result.column].is_numeric else grain.most, setting.workload
    least = max(grain.least * noise * grain.other_bins, total / most)
    if name not in named.held:
        return merge(result.mass, least=least)
    bins = merge(result.mass, least=min(least, (1 - 1e-9) * result.mass.sum() / 2))
    if len(bins) <= FEW:
        return np.arange(len(bins))
    own = named.groups.get(name)
    return (
        bins if own is None else split(bins, own.groups[np.searchsorted(own.starts, result.starts, side="right") - 1])
    )


FEWEST: Mapping[View, int] = {
    "rows": 1,
    "first": 1,
    "last": 1,
    "steps": 2,
    "far": FAR,
    "siblings": 2,
}  # rows of a parent with an entry
CAUTIOUS = 1.0  # deviations of what noise alone makes, below which a table's dependence is none


@dataclass(frozen=True, kw_only=True)
class Apart:
    """A released table of two columns beside independent ones. ``alone``, ``off``: of its shape, their sum the answer
    but for the noise of margins, and 0 where no entry can be.

    ``degrees``: of freedom of ``off``. ``far``: its sum of squares, in variances of the noise.
    """

    marginal: Marginal
    alone: np.ndarray
    off: np.ndarray
    degrees: int
    far: float

    @property
    def part(self) -> float:
        """How much of ``off`` is no noise, from 0 to 1.

        **Source**: positive-part estimator of James and Stein 1961.
        """
        noise = self.degrees + CAUTIOUS * np.sqrt(2 * self.degrees)
        return max(0.0, 1 - noise / max(self.far, TINY)) if self.degrees else 0.0

    @property
    def drawn(self) -> np.ndarray:
        """The table with as much dependence as stands out of its noise."""
        out: np.ndarray = self.alone + self.part * self.off
        return out

    @property
    def free(self) -> float:
        """Cells' worth of noise that is left in ``drawn``, about."""
        return self.part * self.degrees + sum(self.marginal.shape) - 1


def apart(release: LinkedRelease, schema: Dataset, known_tables: Mapping[str, Known]) -> Iterator[tuple[int, Apart]]:
    """Each table of two columns of a release, with its number among the question's."""
    view, answers = release.question.view, list(release.items())
    pairs = [i for i, (m, _) in enumerate(answers) if len(m.bins) == 2]
    if not pairs:
        return
    margins = _Margins(view, [answers[i] for i in pairs], schema, known_tables)
    for i in pairs:
        marginal, values = answers[i]
        lines, columns = (margins.of(b) for b in marginal.bins)
        alone = np.outer(lines, columns) / margins.whole
        none = margins.empty(marginal.bins[1], release.question.table)
        inner = (values - alone)[:, none:]
        inner = inner - inner.mean(0) - inner.mean(1, keepdims=True) + inner.mean()
        off = np.zeros(marginal.shape)
        off[:, none:] = inner
        degrees = (inner.shape[0] - 1) * (inner.shape[1] - 1)
        yield (
            i,
            Apart(
                marginal=marginal,
                alone=alone,
                off=off,
                degrees=max(degrees, 0),
                far=float((off**2).sum()) / marginal.sigma**2,
            ),
        )


class _Margins:
    """What all tables of a view say of each column's bins, those of rows drawn to what the one-ways say."""

    def __init__(
        self,
        view: View,
        answers: Sequence[tuple[Marginal, np.ndarray]],
        schema: Dataset,
        known_tables: Mapping[str, Known],
    ) -> None:
        self._view, self._schema, self._known = view, schema, known_tables
        self._table = placed(answers[0][0].bins[0].column)[0]
        self._seen: dict[tuple[str, bytes], list[tuple[np.ndarray, float]]] = {}
        for marginal, values in answers:
            for axis, bins in enumerate(marginal.bins):
                noise = marginal.sigma**2 * marginal.bins[1 - axis].size
                self._seen.setdefault(_key(bins), []).append((values.sum(1 - axis).astype(float), noise))
        sums = [(c.sum(), v * len(c)) for one in self._seen.values() for c, v in one]
        self.whole = max(_mean(sums)[0], 1.0)
        self._done: dict[tuple[str, bytes], np.ndarray] = {}

    def of(self, bins: Bins) -> np.ndarray:
        """Counts (B,) of a column's bins, not negative, that sum to ``whole``."""
        key = _key(bins)
        if key not in self._done:
            self._done[key] = self._estimated(bins)
        return self._done[key]

    def _estimated(self, bins: Bins) -> np.ndarray:
        counts, noise = _mean(self._seen[_key(bins)])
        table, name, _ = placed(bins.column)
        usual = np.bincount(bins.groups, weights=self._known[table].histograms[name].mass, minlength=bins.size)
        none = self.empty(bins, self._table)
        usual[:none] = 0.0
        usual *= self.whole / max(usual.sum(), TINY)
        gap = counts - usual
        gap -= gap.mean()
        way = max(0.0, 1 - (len(gap) - 1) * noise / max(float(gap @ gap), TINY))
        mass = np.maximum(usual + way * gap, 0.0)
        mass[:none] = 0.0
        whole = mass.sum()
        even = np.arange(bins.size) >= none
        return mass * (self.whole / whole) if whole > 0 else even * (self.whole / max(even.sum(), 1))

    def empty(self, bins: Bins, table: str) -> int:
        """How many of the first bins no entry has: a number of rows of a parent that has some."""
        owner, name, _ = placed(bins.column)
        way = self._schema.upwards(table)
        if owner == table or owner not in way:
            return 0
        branch = way[way.index(owner) - 1]
        if name != number_of(branch):
            return 0
        return min(FEWEST[self._view] if branch == table else 1, bins.size - 1)


def _key(bins: Bins) -> tuple[str, bytes]:
    return bins.column, bins.groups.tobytes()


def _mean(answers: Sequence[tuple]) -> tuple:
    """The mean by precision of (value, variance), and its variance."""
    precision = np.array([1 / v for _, v in answers])
    return sum(p * x for p, (x, _) in zip(precision, answers, strict=True)) / precision.sum(), 1 / precision.sum()


def pooled_views(releases: Sequence[LinkedRelease], purpose: str) -> list[LinkedRelease]:
    """The releases, those with this purpose one for each view of a table: what was asked twice is averaged."""
    out = [r for r in releases if r.question.purpose != purpose]
    views: dict[tuple[str, View], list[LinkedRelease]] = {}
    for release in releases:
        if release.question.purpose == purpose:
            views.setdefault((release.question.table, release.question.view), []).append(release)
    for some in views.values():
        tables = averaged(NoisyTable(marginal=m, values=v) for r in some for m, v in r.items()).values()
        question = replace(some[0].question, marginals=tuple(t.marginal for t in tables))
        mean = LinkedRelease(question=question, values=tuple(t.values for t in tables))
        out.append(some[0] if len(some) == 1 else mean)
    return out


Place = tuple[str, str, tuple[str, ...]]  # of a table of two columns: whose rows, view, columns


def public_columns(
    priors: Sequence[PublicTrees], schema: Dataset, known_tables: Mapping[str, Known]
) -> list[PublicLinked]:
    """What they say of every column's leaves."""
    out = []
    for table in schema.downwards if priors else ():
        leaves = tuple(
            h.bins(np.arange(len(h.starts)), place(table, n)) for n, h in known_tables[table].histograms.items()
        )
        marginals = tuple(Marginal(bins=(b,), sigma=1.0) for b in leaves)
        question = Linked(
            purpose=PRIOR_LEAVES, table=table, view="rows", most=schema.most_rows(table), marginals=marginals
        )
        out += [public_linked(p, question) for p in priors]
    return out


def public_linked(trees: PublicTrees, question: Linked) -> PublicLinked:
    """Their counts at a question's cells."""
    values, missing = trees.weighted(question)
    return PublicLinked(
        question=question,
        values=values,
        name=trees.name,
        sha256=trees.sha256,
        num_rows=trees.num_rows,
        missing=missing,
    )


def prior_weights(
    tables: Mapping[Place, Apart], values: Mapping[Place, np.ndarray], publics: Sequence[PublicLinked], total: float
) -> list[dict[Place, tuple[np.ndarray, np.ndarray]]]:
    """For each prior, by table its target (A, B) and the variance around that, infinite where it says nothing.

    ``tables``, ``values``: as released. Targets that the answers do not bear out are left out.
    """
    out = []

    def same(one: Marginal, other: Marginal) -> bool:
        return all(np.array_equal(a.groups, b.groups) for a, b in zip(one.bins, other.bins, strict=True))

    for digest in dict.fromkeys(p.sha256 for p in publics):
        own = [p for p in publics if p.sha256 == digest and p.question.purpose != PRIOR_LEAVES]
        said: dict[Place, np.ndarray] = {}
        for public in own:
            for marginal, counts in public.items():
                at = (public.question.table, public.question.view, marginal.columns)
                if at in tables and same(marginal, tables[at].marginal) and not set(at[2]) & set(public.missing):
                    said[at] = _raked(counts, tables[at].alone)
        if not said:
            continue
        spread = variances(
            [(values[at], target, tables[at].marginal.sigma ** 2) for at, target in said.items()],
            least=total / max(own[0].num_rows, 1),
            rivals=[tables[at].alone for at in said],
        )
        priors = {
            at: NoisyTable(marginal=tables[at].marginal, values=said[at], variance=variance)
            for at, variance in zip(said, spread, strict=True)
        }
        out.append({at: (t.values, t.variance) for at, t in priors.items() if t.weight > WEAK})
    return out


def _raked(public: np.ndarray, alone: np.ndarray) -> np.ndarray:
    """The public table with the private margins: smoothed by independence, then fitted in proportion."""
    whole = alone.sum()
    table = (public + SMOOTH * alone / max(whole, TINY)) / (public.sum() + SMOOTH) * whole
    for _ in range(RAKES):
        for axis in (0, 1):
            table = table * (alone.sum(axis, keepdims=True) / np.maximum(table.sum(axis, keepdims=True), TINY))
    return table


@dataclass(frozen=True, kw_only=True)
class Sure:
    """How sure a moved table is: ``part`` (A, B), or a number, of its noise's deviation is left in a cell; ``cells``:
    how many cells' worth of noise is left in all."""

    part: np.ndarray | float
    cells: float


def shrunk(
    releases: Sequence[LinkedRelease],
    publics: Sequence[PublicLinked],
    schema: Dataset,
    known_tables: Mapping[str, Known],
    purpose: str,
) -> tuple[list[LinkedRelease], dict[Place, Sure]]:
    """The releases so moved, and how sure each table is then."""
    tables: dict[Place, Apart] = {}
    values: dict[Place, np.ndarray] = {}
    for release in releases:
        if release.question.purpose == purpose:
            for i, one in apart(release, schema, known_tables):
                at: Place = (release.question.table, release.question.view, one.marginal.columns)
                tables[at], values[at] = one, release.values[i]
    targets = prior_weights(tables, values, publics, known_tables[schema.root].total)
    sure: dict[Place, Sure] = {}
    for at, one in tables.items():
        said = [t[at] for t in targets if at in t]
        as_counted = one.drawn, Sure(part=1.0, cells=one.free)
        values[at], sure[at] = _posterior(one, values[at], said) if said else as_counted
    return [_with(r, values) if r.question.purpose == purpose else r for r in releases], sure


def _posterior(
    one: Apart, values: np.ndarray, said: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, Sure]:
    """Counts and targets, each weighed by its precision."""
    noise = one.marginal.sigma**2
    precision, total = np.full(values.shape, 1 / noise), values / noise
    for target, variance in said:
        precision, total = precision + 1 / variance, total + target / variance
    left = 1 / (precision * noise)
    return total / precision, Sure(part=np.sqrt(left), cells=float(left.sum()))


def _with(release: LinkedRelease, values: Mapping[Place, np.ndarray]) -> LinkedRelease:
    asked = release.question
    each = [values.get((asked.table, asked.view, m.columns), v) for m, v in release.items()]
    return LinkedRelease(question=asked, values=tuple(each))


ROUNDS = 30  # of scaling
UNSURE = 2.0  # deviations of a column's number of rows that count as much as knowing nothing


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What a weighted table (A, B) says of one where rows count: ``values`` and ``sigma`` of each cell, (A, B)."""

    values: np.ndarray
    sigma: np.ndarray


@dataclass(frozen=True, kw_only=True)
class _Rates:
    """By how much a column's values (A,) count for more than they weigh; ``mean``: all together."""

    values: np.ndarray
    mean: float


class ByNumber:
    """Answers about a column and the number of rows that one parent has, from all releases."""

    def __init__(self, schema: Dataset, releases: Sequence[LinkedRelease], purpose: str) -> None:
        self._schema = schema
        self._tables: dict[tuple[View, frozenset[str]], tuple[Marginal, np.ndarray]] = {}
        for release in releases:
            if release.question.purpose != purpose:
                continue
            for marginal, values in release.items():
                names = frozenset(b.column for b in marginal.bins)
                self._tables[release.question.view, names] = (marginal, values)

    def counted(self, view: View, marginal: Marginal, values: np.ndarray) -> Counted | None:
        """A weighted table of two columns as one where rows count; None where nothing tells, or nothing differs."""
        table = placed(marginal.bins[0].column)[0]
        key = self._schema.key_above(table)
        if view in ("first", "last", "far") or len(marginal.bins) != 2 or key is None or key.most_children < 2:
            return None
        number = place(key.parent, number_of(table))
        if number in {b.column for b in marginal.bins}:
            return None
        rates = [self._rates(view, b.column, number, b.groups) for b in marginal.bins]
        if rates[0] is None or rates[1] is None:
            return None
        scale = _scale(np.maximum(values, 0.0), rates[0], rates[1])
        return Counted(values=values * scale, sigma=marginal.sigma * scale)

    def _rates(self, view: View, column: str, number: str, groups: np.ndarray) -> _Rates | None:
        """How many rows a weighed row of each bin stands for."""
        above, name, other = placed(column)
        seen: View = view if view == "steps" else "rows"
        released = column if seen == "steps" or not other else place(above, name)
        entry = self._tables.get((seen, frozenset((released, number))))
        if entry is None:
            return None
        marginal, values = entry
        first = next(i for i, b in enumerate(marginal.bins) if b.column == released)
        by_number = _joined(values if first == 0 else values.T, marginal.bins[first].groups, groups)
        bins = marginal.bins[1 - first]
        middle = bins.starts + (bins.widths - 1) / 2
        many = np.bincount(bins.groups, middle * bins.widths) / np.bincount(bins.groups, bins.widths)
        each = {"rows": many, "steps": many - 1, "siblings": many * (many - 1)}[view]
        own = each > 0
        weighed, rows = by_number[:, own].sum(1), by_number[:, own] @ each[own]
        mean = float(np.clip(rows.sum() / max(weighed.sum(), 1e-9), each[own].min(), each[own].max()))
        unsure = UNSURE * marginal.sigma * np.sqrt(own.sum())
        rate = (rows + mean * unsure) / np.maximum(weighed + unsure, unsure / 2)
        return _Rates(values=np.clip(rate, each[own].min(), each[own].max()), mean=mean)


def _joined(values: np.ndarray, fine: np.ndarray, coarse: np.ndarray) -> np.ndarray:
    """A table (A, N) with its lines joined to the bins of a table that was asked coarser; both are bins of leaves."""
    if fine.max() == coarse.max():
        return values
    out = np.zeros((int(coarse.max()) + 1, values.shape[1]))
    at = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    at[fine] = coarse
    np.add.at(out, at, values)
    return out


def _scale(table: np.ndarray, lines: _Rates, columns: _Rates) -> np.ndarray:
    """Factors (A, B), a product of one of each line and one of each column, that give a table its counted margins."""
    a, b = lines.values.copy(), columns.values / columns.mean
    wanted = table.sum(1) * lines.values, table.sum(0) * columns.values
    wanted = wanted[0], wanted[1] * (wanted[0].sum() / max(wanted[1].sum(), 1e-9))
    for _ in range(ROUNDS):
        a = _towards(a, wanted[0], a * (table @ b))
        b = _towards(b, wanted[1], b * (a @ table))
    return np.outer(a, b)


def _towards(factor: np.ndarray, wanted: np.ndarray, have: np.ndarray) -> np.ndarray:
    return np.where(have > 0, factor * wanted / np.maximum(have, 1e-9), factor)


def pairs_by_number(schema: Dataset, table: str, columns: Sequence[str]) -> Iterator[tuple[tuple[str, str, bool], ...]]:
    """The tables of events by the number of siblings that the above needs: of rows with a next one, and of the next."""
    key = schema.key_above(table)
    assert key is not None
    for other in (False, True):
        for name in columns:
            yield (table, name, other), (key.parent, number_of(table), False)
