"""Methods that answer a class of linear queries, for few columns: `mwem`, `small_db`, `online_weights`.

The first keeps a weight for each cell and counts the pairs that fit worst, the second chooses the best of all databases
of a few records, the third answers questions that come one by one. Last, how far off answers are promised to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, islice, product
from math import ceil, comb, inf, log, nextafter, prod, sqrt
from typing import Any

import numpy as np

from synth import questions as words
from synth.errors import UsageError
from synth.generators.base import Ask, Fit, Run, Setting
from synth.generators.core.columns import project
from synth.generators.core.oneways import spent_share
from synth.generators.core.product import Axis, Product
from synth.generators.method import NONE_OR_SHARE, SHARE, Method, option
from synth.generators.papers.columns import whole
from synth.generators.papers.opendp import as_product, first_bins, grouped
from synth.schema.table import Column, Schema

SAFE = 1 - 1e-5
WHOLE = 1 - 1e-9  # keeps sums of rounded shares below the whole
ROOM = 100_000  # cells up to which numbers have as many bins as they may; a question costs as much as there are cells
TOTAL = "row count"  # purpose of what tells it


@dataclass(frozen=True, kw_only=True)
class OfCells(Method):
    """For tables of few cells, numbers in at most ``bins`` parts."""

    by_torch = False
    small = True
    bins: int = option(8, 2, 4096)

    def most(self, schema: Schema) -> int:
        """The largest number of bins, at most ``bins``, for which the table keeps within its room; at least two."""
        return next((b for b in range(self.bins, 2, -1) if prod(sizes(schema, b).values()) <= ROOM), 2)

    def check_cells(self, schema: Schema, most: int) -> None:
        """Errors: UsageError where even two bins a number leave more than ``most`` cells."""
        fewest = sizes(schema, 2)
        cells = prod(fewest.values())
        if cells > most:
            widest = max(fewest, key=lambda n: fewest[n])
            raise UsageError(
                "method {} keeps a weight for each of the table's {:.3g} cells, and at most {}: make columns "
                "identifiers ({} alone has {} values), or choose method mixture",
                self.name,
                cells,
                most,
                widest,
                fewest[widest],
            )


def sizes(schema: Schema, most: int) -> dict[str, int]:
    """How many bins each column has, with at most so many for a number's range."""
    return {
        n: min(c.cells, most + len(c.missing_codes)) if c.is_numeric else c.cells for n, c in schema.measured().items()
    }


def cut(name: str, column: Column, most: int) -> words.Bins:
    """A category by its values; a number's range in equal parts; each missing code a bin of its own."""
    if not column.is_numeric or column.size <= most:
        return words.Bins.each(name, column.cells)
    starts = np.concatenate([np.arange(most) * column.size // most, np.arange(column.size, column.cells)])
    return words.Bins(column=name, cells=column.cells, starts=starts, groups=np.arange(len(starts)))


def all_cut(schema: Schema, most: int) -> dict[str, words.Bins]:
    """Each column's bins."""
    return {n: cut(n, c, most) for n, c in schema.measured().items()}


def as_records(bins: Mapping[str, words.Bins], records: Mapping[str, np.ndarray], total: float) -> Product:
    """Records, each as likely as another, as a model of ``total`` rows; inside a group all values are alike."""
    count = len(next(iter(records.values())))
    axes = tuple(
        Axis(
            column=n,
            cells=b.cells,
            starts=b.starts,
            groups=b.groups,
            within=(b.widths / np.bincount(b.groups, b.widths)[b.groups]).astype(np.float32),
            probs=np.eye(b.size, dtype=np.float32)[records[n]],
        )
        for n, b in bins.items()
    )
    return Product(total=total, weights=np.full(count, 1 / count), axes=axes)


class Weights:
    """A distribution over all cells of the binned table, even at first; ``total``: the row count."""

    def __init__(self, bins: Mapping[str, words.Bins], total: float) -> None:
        self.bins, self.total = dict(bins), total
        self.cells = np.full([b.size for b in self.bins.values()], 1.0)
        self.cells /= self.cells.size

    def draw(self, count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """``count`` records, evenly spread over the cells."""
        run = np.cumsum(self.cells.ravel())
        at = np.searchsorted(run / run[-1], (np.arange(count) + rng.random()) / count, side="right")
        codes = np.unravel_index(np.minimum(at, len(run) - 1), self.cells.shape)
        return dict(zip(self.bins, codes, strict=True))


# MWEM


CELLS = 1_000_000  # most cells of the whole table
PURPOSE = "all columns", "worst pair", "the pair chosen"
COUNTING = 0.02  # share of the budget for the row count, asked in place of single columns where these are not
SWEEPS = 15  # passes over all that was measured, after each round


@dataclass(frozen=True, kw_only=True)
class Mwem(OfCells):
    """Multiplicative weights and the exponential mechanism over every cell of a small table (arXiv 1012.4763).

    Round after round the pair of columns that the weights fit worst is chosen, counted, and the weights follow.

    ``rounds``: pairs measured, at most. ``bins``: most bins of a number; fewer where the whole table would pass a
    hundred thousand cells. ``numbers``: share of the budget for finding them; ``ones``: for counts of single columns,
    0 for none, as published; ``choices``: of the rest, for choosing.
    **Guarantee**: asks within ``setting.rho``; ``fit`` sees releases only.
    """

    name = "mwem"
    summary = "multiplicative weights over all cells of a small table; for teaching and for few columns"
    reads = (words.CountsRelease, words.ChoiceRelease)
    rounds: int = option(12, 0, 10_000)
    bins: int = option(32, 2, 4096)
    numbers: float = option(0.1, *SHARE)
    ones: float = option(0.3, *NONE_OR_SHARE)
    choices: float = option(0.2, *SHARE)

    def check_schema(self, schema: Schema) -> None:
        """Errors: UsageError where even two bins a number leave more than a million cells."""
        self.check_cells(schema, CELLS)

    def measure(self, run: Run) -> list[Any]:
        """Counts for bins, of single columns, then of the pairs that are chosen one by one."""
        return self._measure(run, sweeps=SWEEPS)

    def check(self, run: Run) -> None:
        """As every method's, with weights that follow answers but roughly: they decide what is asked, not its price."""
        self.check_options()
        self._measure(run, sweeps=1)

    def _measure(self, run: Run, *, sweeps: int) -> list[Any]:
        setting, ask = run.setting, run.ask
        self.check_schema(setting.schema)
        most = self.most(setting.schema)
        one = replace(setting, mu=sqrt(2 * setting.rho))
        releases, left = first_bins(run, bins=most, share=self.numbers)
        bins = grouped(releases, setting, bins=most)
        pairs = [p for p in combinations(bins, 2) if all(bins[n].size > 1 for n in p)]
        rounds = min(self.rounds, len(pairs))
        releases.extend(ask(q) for q in self._first(bins, one, WHOLE * left, rounds))
        left = WHOLE * (1 - spent_share(releases, one)) / max(rounds, 1)
        for i in range(rounds):
            run.progress(i / rounds)
            weights = PairWeights(bins, releases, setting, sweeps=sweeps)
            at, choice = self._worst(ask, weights, [p for p in pairs if p not in weights.measured], setting, left)
            marginal = words.Marginal(bins=tuple(bins[n] for n in at), sigma=one.sigma(left * (1 - self.choices)))
            releases += [choice, ask(words.Counts(purpose=PURPOSE[2], marginals=(marginal,)))]
        run.progress(1.0)
        return releases

    def _first(self, bins: Mapping[str, words.Bins], setting: Setting, left: float, rounds: int) -> list[words.Counts]:
        """Counts of single columns; without them the number of rows, where it is private, and else nothing."""
        if self.ones or not rounds:
            share = left * (self.ones if rounds else 1.0) / len(bins)
            tables = tuple(words.Marginal(bins=(b,), sigma=setting.sigma(share)) for b in bins.values())
            return [words.Counts(purpose=PURPOSE[0], marginals=tables)]
        if setting.public_rows is not None:
            return []
        return [
            words.Counts(
                purpose=TOTAL,
                marginals=(words.Marginal(bins=(whole(setting.schema),), sigma=setting.sigma(left * COUNTING)),),
            )
        ]

    def _worst(
        self, ask: Ask, weights: PairWeights, pairs: list[tuple[str, str]], setting: Setting, share: float
    ) -> tuple[tuple[str, str], words.ChoiceRelease]:
        """The pair of columns that the weights fit worst, chosen privately, and the choice."""
        epsilon = sqrt(8 * setting.rho * share * self.choices * SAFE)  # rho of a choice is epsilon^2 / 8
        tables = tuple(tuple(weights.bins[n] for n in p) for p in pairs)
        expected = tuple(weights.table(p) for p in pairs)
        scale = 2 * setting.signed / epsilon
        choice = ask(words.Choice(purpose=PURPOSE[1], goal="worst", tables=tables, expected=expected, scale=scale))
        return pairs[choice.index], choice

    def fit(self, releases: Sequence[Any], setting: Setting, how: Fit) -> Product:
        """The weights that follow all measured tables, as records drawn from them."""
        released = [r for r in releases if isinstance(r, words.CountsRelease) and r.question.purpose in PURPOSE]
        counted = {b.column: b for r in released for m in r.question.marginals for b in m.bins}
        bins = grouped(releases, setting, bins=self.most(setting.schema)) | counted
        weights = PairWeights(bins, releases, setting)
        how.progress(1.0)
        return as_product(weights.draw, bins, releases, setting, total=weights.total, rng=how.rng)


class PairWeights(Weights):
    """A distribution over all cells of the binned table, moved towards each measured table in turn.

    Every cell's weight is multiplied by exp of half the error of the table cell it belongs to, for many passes
    (arXiv 1012.4763, Figure 1); errors count in parts of what the table cell holds, so that small cells move as fast.
    """

    def __init__(
        self, bins: Mapping[str, words.Bins], releases: Sequence[Any], setting: Setting, *, sweeps: int = SWEEPS
    ) -> None:
        released = [
            r for r in releases if isinstance(r, words.CountsRelease) and r.question.purpose in (*PURPOSE, TOTAL)
        ]
        answers = [a for r in released for a in r.items()]
        self.measured = {m.columns for m, _ in answers if len(m.columns) == 2}
        sums = np.array([float(v.sum()) for _, v in answers])
        precision = np.array([1 / (m.cells * m.sigma**2) for m, _ in answers])
        noisy = max(float(sums @ precision / precision.sum()), 1.0) if answers else 1.0
        super().__init__(bins, noisy if setting.public_rows is None else float(max(setting.public_rows, 1)))
        names = list(self.bins)
        goals = [(tuple(names.index(c) for c in m.columns), self._goal(v)) for m, v in answers if m.cells > 1]
        for _ in range(sweeps):
            for axes, goal in goals:
                self._move(axes, goal)

    def _goal(self, values: np.ndarray) -> np.ndarray:
        """Measured shares: the nearest distribution."""
        return (project(values.astype(float).ravel(), total=self.total) / self.total).reshape(values.shape)

    def _move(self, axes: tuple[int, ...], goal: np.ndarray) -> None:
        seen = self.cells.sum(axis=tuple(i for i in range(self.cells.ndim) if i not in axes))
        error = (goal - seen) / np.maximum(goal, seen).clip(1 / self.total)
        shape = [s if i in axes else 1 for i, s in enumerate(self.cells.shape)]
        self.cells *= np.exp(0.5 * error).reshape(shape)
        self.cells /= self.cells.sum()

    def table(self, columns: tuple[str, str]) -> np.ndarray:
        """Expected counts of a pair of columns."""
        at = [list(self.bins).index(c) for c in columns]
        return self.total * self.cells.sum(axis=tuple(i for i in range(self.cells.ndim) if i not in at))


# The small database


CANDIDATES = 10_000  # most databases to choose from
DATABASE = "small database"
GROWTH, LARGEST = 1.02, 2**24  # row counts tried, each so much above the last


@dataclass(frozen=True, kw_only=True)
class SmallDb(Method):
    """Of all databases of a few records the one whose counts are nearest (arXiv 1109.2229, section 3).

    The lecture's mechanism: purely private, exponential in the number of columns, so for teaching sizes only.

    ``records``: most records of the database; fewer where there would be too many to choose from. ``accuracy``: in
    their place the error that some database of them must reach on all questions, ln|Q| / accuracy^2 records; 0 for
    none. ``bins``: equal parts into which a number's range is cut. ``counting``: share of epsilon for the row count,
    where it is private.
    **Guarantee**: asks within ``setting.epsilon``, purely private; ``fit`` sees releases only.
    """

    name = "small_db"
    summary = "the best of all databases of a few records, chosen privately; for teaching"
    reads = (words.ChoiceRelease,)
    by_torch = False
    small = True
    records: int = option(8, 2, 1000)
    accuracy: float = option(0.0, 0.0, 1.0)
    bins: int = option(2, 1, 4096)
    counting: float = option(0.1, *SHARE)

    def check_schema(self, schema: Schema) -> None:
        """Errors: UsageError where there are too many databases even of two records."""
        bins = all_cut(schema, self.bins)
        cells = prod(b.size for b in bins.values())
        if self.accuracy:
            wanted = self._wanted(bins)
            if comb(cells + wanted - 1, wanted) > CANDIDATES:
                raise UsageError(
                    "`options.accuracy={:g}`: it takes databases of {} records, of which there are {:.3g}, and at "
                    "most {} can be compared; choose a larger accuracy, or fewer columns (method small_db)",
                    self.accuracy,
                    wanted,
                    comb(cells + wanted - 1, wanted),
                    CANDIDATES,
                )
        if comb(cells + 1, 2) > CANDIDATES:
            raise UsageError(
                "method small_db chooses among all databases: with {} kinds of rows there are {} of two records, "
                "and at most {} can be compared; make columns identifiers, or choose method mixture",
                cells,
                comb(cells + 1, 2),
                CANDIDATES,
            )

    def measure(self, run: Run) -> list[Any]:
        """A choice of the row count where it is private, and the choice of a database."""
        setting = run.setting
        self.check_schema(setting.schema)
        run.progress(0.0)
        bins, left = all_cut(setting.schema, self.bins), setting.epsilon * SAFE
        releases: list[Any] = []
        if setting.public_rows is None:
            scale = 2 * setting.moved / (left * self.counting)
            tables: Any = ((whole(setting.schema),),)
            steps = int(np.ceil(np.log(LARGEST) / np.log(GROWTH)))
            expected = (np.unique(np.rint(GROWTH ** np.arange(steps + 1)))[:, None],)  # row counts to choose from
            releases.append(
                run.ask(words.Choice(purpose=TOTAL, goal="nearest", tables=tables, expected=expected, scale=scale))
            )
            left *= 1 - self.counting
        tables, counts = self._candidates(bins, total_of(releases, setting))
        scale = 2 * setting.moved / left
        releases.append(
            run.ask(words.Choice(purpose=DATABASE, goal="nearest", tables=tables, expected=(counts,), scale=scale))
        )
        run.progress(1.0)
        return releases

    def fit(self, releases: Sequence[Any], setting: Setting, how: Fit) -> Product:
        """The chosen database, each record as likely as another; inside a bin all values alike."""
        chosen = next(r for r in releases if r.question.purpose == DATABASE)
        bins = all_cut(setting.schema, self.bins)
        shape = [b.size for b in bins.values()]
        codes = np.unravel_index(_databases(prod(shape), self._size(bins))[chosen.index], shape)
        how.progress(1.0)
        return as_records(bins, dict(zip(bins, codes, strict=True)), total_of(releases, setting))

    def questions(self, schema: Schema, *, rows: int, epsilon: float) -> Questions:
        """What the databases are compared on, for the bound on its error (query_errors.py)."""
        bins = all_cut(schema, self.bins)
        cells = prod(b.size for b in bins.values())
        return Questions(queries=_asked(bins), cells=cells, rows=rows, epsilon=epsilon)

    def _wanted(self, bins: dict[str, words.Bins]) -> int:
        """Records that reach the accuracy."""
        cells = prod(b.size for b in bins.values())
        return records_for(Questions(queries=_asked(bins), cells=cells, rows=1, epsilon=1.0), self.accuracy)

    def _size(self, bins: dict[str, words.Bins]) -> int:
        """Records of the databases: those that the accuracy takes, else as many as can be compared."""
        if self.accuracy:
            return self._wanted(bins)
        cells = prod(b.size for b in bins.values())
        return next(m for m in range(max(self.records, 2), 0, -1) if m <= 2 or comb(cells + m - 1, m) <= CANDIDATES)

    def _candidates(
        self, bins: dict[str, words.Bins], total: float
    ) -> tuple[tuple[tuple[words.Bins, ...], ...], np.ndarray]:
        """Tables of all pairs, and what each database, grown to the row count, holds in their cells."""
        names = list(bins)
        sizes = [b.size for b in bins.values()]
        databases = _databases(prod(sizes), self._size(bins))
        codes = np.unravel_index(np.arange(prod(sizes)), sizes)
        asked: list[tuple[int, ...]] = [*combinations(range(len(names)), 2)] or [(0,)]
        kinds = [np.ravel_multi_index([codes[i] for i in p], [sizes[i] for i in p]) for p in asked]
        member = np.concatenate(
            [np.eye(prod(sizes[i] for i in p))[kind] for p, kind in zip(asked, kinds, strict=True)], axis=1
        )
        expected = member[databases].sum(1) * (total / databases.shape[1])
        return tuple(tuple(bins[names[i]] for i in p) for p in asked), expected


def _asked(bins: dict[str, words.Bins]) -> int:
    """Counting questions of a run: the cells of all pairs' tables."""
    sizes = [b.size for b in bins.values()]
    return sum(a * b for a, b in combinations(sizes, 2)) or sizes[0]


def _databases(cells: int, size: int) -> np.ndarray:
    """All databases of so many records, (candidates, size): the kinds of their rows, in ascending order."""
    return np.array(list(combinations_with_replacement(range(cells), size)), dtype=np.int64)


# Questions one by one


COMPARING, MEASURING = "comparisons", "counts where the weights were far off"
RECORDS, NUMBERS = 30_000, 50_000_000  # most records of the model, and of numbers in its components' tables
PASSES = 3  # over all counts that are known, after each new one


@dataclass(frozen=True, kw_only=True)
class OnlineWeights(OfCells):
    """Questions one by one: answered from weights where these are near the truth, else counted, and the weights follow.

    ``updates``: most questions that are counted. ``questions``: most questions asked, each the number of rows in one
    cell of one column or of a pair. ``bins``: equal parts of a number's range; fewer where the table would pass a
    hundred thousand cells. ``accuracy``: how far is "far", as a share of the rows; ``threshold``: and at least this
    part of the noise's largest value among that many questions. ``comparing``: share of an update's price for the
    comparison. ``counting``: share of the budget for the row count, where it is private.
    **Guarantee**: asks within ``setting.epsilon``, purely private, or ``setting.rho``; ``fit`` sees releases only.
    """

    name = "online_weights"
    summary = "private multiplicative weights for questions one by one; for teaching and for few columns"
    reads = (words.LaplaceRelease, words.AboveRelease)
    updates: int = option(20, 1, 200)
    questions: int = option(2000, 1, 1_000_000)
    accuracy: float = option(0.02, 0.0, 1.0)
    threshold: float = option(0.5, 0.01, 100.0)
    comparing: float = option(0.7, *SHARE)
    counting: float = option(0.05, *SHARE)

    def check_schema(self, schema: Schema) -> None:
        """Errors: UsageError where even two bins a number leave too many cells."""
        self.check_cells(schema, ROOM)

    def check(self, run: Run) -> None:
        """As every method's; it asks for all updates that there may be, so that their price is rehearsed."""
        self.check_options()
        self.check_schema(run.setting.schema)
        online = Online(run.ask, run.setting, self)
        for box in islice(boxes(online.bins), 1):
            for _ in range(self.updates):
                online.far(box, 0.0)
                online.counted(box)  # the weights stay: to follow all counts again after each takes seconds

    def measure(self, run: Run) -> list[Any]:
        """All cells of single columns, then of pairs, in a public order, until updates or questions are used up."""
        self.check_schema(run.setting.schema)
        online = Online(run.ask, run.setting, self)
        stream, number = list(boxes(online.bins)), 0
        while online.left and number < self.questions:
            before = online.left
            for box in stream[: self.questions - number]:
                online.answer(box)
                number += 1
                run.progress(min(number / self.questions, 1.0))
                if not online.left:
                    break
            if online.left == before:  # a whole pass found nothing that is far off
                break
        run.progress(1.0)
        return online.releases

    def fit(self, releases: Sequence[Any], setting: Setting, how: Fit) -> Product:
        """The weights that follow all counts, as records drawn from them."""
        weights = BoxWeights(self.cut(setting.schema), total_of(releases, setting))
        for release in releases:
            if isinstance(release, words.LaplaceRelease) and release.question.purpose == MEASURING:
                weights.follow(release.question.tables[0], float(release.values[0].sum()))
        how.progress(1.0)
        count = int(min(weights.total, RECORDS, NUMBERS / sum(b.size for b in weights.bins.values())))
        return as_records(weights.bins, weights.draw(max(count, 1), how.rng), weights.total)

    def cut(self, schema: Schema) -> dict[str, words.Bins]:
        """Each column's bins, as many as the table's cells allow."""
        return all_cut(schema, self.most(schema))


class Online:
    """A session of questions that may each be chosen after the answers before: the number of rows in a box.

    ``left``: updates that are not used yet. ``releases``: all that was answered.

    Errors: UsageError for a question once the updates are used up.
    Privacy: released answers only.
    """

    def __init__(self, ask: Ask, setting: Setting, method: OnlineWeights) -> None:
        self.ask, self.left = ask, method.updates
        self.releases: list[Any] = []
        self.bins = method.cut(setting.schema)
        count, each = prices(setting, method)
        if count:
            asked = words.Laplace(
                purpose=TOTAL, tables=((whole(setting.schema),),), scale=nextafter(setting.moved / count, inf)
            )
            self.releases.append(ask(asked))
        self.scale = nextafter(2 * setting.moved / (each * method.comparing), inf)
        self.noise = nextafter(setting.moved / (each * (1 - method.comparing)), inf)
        self.weights = BoxWeights(self.bins, total_of(self.releases, setting))
        loudest = 2 * self.scale * log(method.questions + 1)
        self.threshold = ceil(max(method.threshold * loudest, method.accuracy * self.weights.total))

    def answer(self, box: tuple[words.Bins, ...]) -> float:
        """The number of rows in the box: of the weights where they are near the truth, else counted under noise."""
        if self.left <= 0:
            raise UsageError("all updates of this session are used up; what it released answers further questions free")
        expected = self.weights.count(box)
        return self.update(box) if self.far(box, expected) else expected

    def far(self, box: tuple[words.Bins, ...], expected: float) -> bool:
        """Whether the weights are far off, under noise."""
        release = self.ask(
            words.Above(
                purpose=COMPARING,
                number=self.left,
                box=box,
                expected=round(expected),
                threshold=self.threshold,
                scale=self.scale,
            )
        )
        self.releases.append(release)
        return bool(release.above)

    def update(self, box: tuple[words.Bins, ...]) -> float:
        """The count under noise; the weights follow it, and one update is used."""
        count = self.counted(box)
        self.weights.follow(box, count)
        return count

    def counted(self, box: tuple[words.Bins, ...]) -> float:
        """The count under noise; one update is used."""
        release = self.ask(words.Laplace(purpose=MEASURING, tables=(box,), scale=self.noise))
        self.releases.append(release)
        self.left -= 1
        return float(release.values[0].sum())


class BoxWeights(Weights):
    """A distribution over all cells of the binned table; each known count moves it to the nearest that has it.

    The step is the one at which multiplicative weights meet the count (relative entropy to what was before is least);
    earlier counts are met again after it.
    """

    def __init__(self, bins: Mapping[str, words.Bins], total: float) -> None:
        super().__init__(bins, max(total, 1.0))
        self._known: list[tuple[tuple[Any, ...], float]] = []

    def count(self, box: tuple[words.Bins, ...]) -> float:
        """Expected number of rows in a box."""
        return self.total * float(self.cells[self._inside(box)].sum())

    def follow(self, box: tuple[words.Bins, ...], counted: float) -> None:
        """Moves the weights to a count."""
        share = min(max(counted, 0.5) / self.total, 1 - 0.5 / max(self.total, 2.0))
        self._known.append((self._inside(box), share))
        for _ in range(PASSES):
            for inside, goal in self._known:
                seen = float(self.cells[inside].sum())
                if 0 < seen < 1:
                    self.cells *= (1 - goal) / (1 - seen)
                    self.cells[inside] *= goal / seen * (1 - seen) / (1 - goal)
                    self.cells /= self.cells.sum()

    def _inside(self, box: tuple[words.Bins, ...]) -> tuple[Any, ...]:
        """The box as an index of the cells."""
        wanted = {b.column: b for b in box}
        index = []
        for name, bins in self.bins.items():
            if name not in wanted:
                index.append(np.arange(bins.size))
                continue
            asked = wanted[name]
            there = asked.groups[np.searchsorted(asked.starts, bins.starts, side="right") - 1] == 0
            index.append(np.unique(bins.groups[there]))
        return np.ix_(*index)


def boxes(bins: Mapping[str, words.Bins]) -> Iterator[tuple[words.Bins, ...]]:
    """Each cell of each column, then of each pair of columns."""
    for names in [*((n,) for n in bins), *combinations(bins, 2)]:
        if all(bins[n].size > 1 for n in names):
            yield from (
                tuple(one(bins[n], at) for n, at in zip(names, cell, strict=True))
                for cell in product(*(range(bins[n].size) for n in names))
            )


def one(bins: words.Bins, group: int) -> words.Bins:
    """A group alone; all else is left out."""
    return words.Bins(
        column=bins.column, cells=bins.cells, starts=bins.starts, groups=np.where(bins.groups == group, 0, -1)
    )


def prices(setting: Setting, method: OnlineWeights) -> tuple[float, float]:
    """Pure epsilon of the row count (0 where it is public) and of each update: added purely, or through Renyi's sums.

    Of the two ways to keep within the run's budget the one that leaves more for an update.
    """
    count = method.counting if setting.public_rows is None else 0.0
    purely = setting.epsilon * SAFE
    first = purely * count, purely * (1 - count) / method.updates
    squares = method.comparing**2 + (1 - method.comparing) ** 2
    rho = setting.rho * SAFE
    second = sqrt(2 * rho * count), sqrt(2 * rho * (1 - count) / (method.updates * squares))
    return first if first[1] >= second[1] else second


def total_of(releases: Sequence[Any], setting: Setting) -> float:
    """The row count: public, or the one that was counted or chosen."""
    if setting.public_rows is not None:
        return float(max(setting.public_rows, 1))
    counted = next(r for r in releases if r.question.purpose == TOTAL)
    if isinstance(counted, words.ChoiceRelease):
        return float(counted.question.expected[0][counted.index, 0])
    return float(max(counted.values[0].sum(), 1))


# How far off answers to many counting questions are promised to be: the lecture's table, with its constants. Errors are
# shares of the rows, the largest among ``queries`` questions, but for a probability ``beta``. ``cells``: kinds of rows
# that there are. Proof note: synth/mechanisms/query_errors.md


@dataclass(frozen=True, kw_only=True)
class Questions:
    """``queries`` counting questions about ``rows`` rows of ``cells`` kinds, at ``epsilon`` and ``delta``.

    Errors: UsageError for numbers that are none of these.
    Privacy: public only.
    """

    queries: int
    cells: int
    rows: int
    epsilon: float
    delta: float = 0.0
    beta: float = 0.05

    def __post_init__(self) -> None:
        if min(self.queries, self.cells, self.rows) < 1 or not (self.epsilon > 0 and 0 < self.beta < 1):
            raise UsageError("queries, cells and rows from 1, epsilon above 0 and beta between 0 and 1 are needed")


def on_queries(q: Questions) -> float:
    """Laplace noise on each answer: k ln(k / beta) / (n epsilon), or with a delta the root of k by Renyi's sums.

    >>> round(on_queries(Questions(queries=10, cells=32, rows=1000, epsilon=1.0)), 3)
    0.053
    """
    each = q.epsilon / q.queries
    if q.delta:
        rho = (sqrt(log(1 / q.delta) + q.epsilon) - sqrt(log(1 / q.delta))) ** 2  # rho + 2 sqrt(rho ln(1/delta)) there
        each = max(each, sqrt(2 * rho / q.queries))
    return log(q.queries / q.beta) / (q.rows * each)


def on_data(q: Questions) -> float:
    """Laplace noise on the count of every kind of row; a question adds up to |X| of them.

    **Source**: Chan, Shi, Song, ACM TISSEC 14 (2011), Corollary 2.9.

    >>> round(on_data(Questions(queries=10, cells=32, rows=1000, epsilon=1.0)), 3)
    0.039
    """
    tail = log(2 * q.queries / q.beta)
    return max(sqrt(q.cells), sqrt(tail)) * sqrt(8 * tail) / (q.rows * q.epsilon)


def best_alpha(q: Questions) -> float:
    """The error of the best small database at which SmallDB's whole bound is least: (4 ln|X| ln|Q| / (n eps))^(1/3)."""
    return float((4 * log(q.cells) * log(max(q.queries, 2)) / (q.rows * q.epsilon)) ** (1 / 3))


def records_for(q: Questions, alpha: float) -> int:
    """Records of which some database errs by at most ``alpha``: ln|Q| / alpha^2, rounded up."""
    return max(ceil(log(max(q.queries, 2)) / alpha**2), 1)


def small_database(q: Questions, alpha: float | None = None) -> float:
    """SmallDB: alpha + 2 (m ln|X| + ln(1 / beta)) / (n epsilon), m the records, alpha the best where none is given.

    >>> round(small_database(Questions(queries=10, cells=32, rows=1_000_000, epsilon=1.0)), 3)
    0.048
    """
    alpha = best_alpha(q) if alpha is None else alpha
    return alpha + 2 * (records_for(q, alpha) * log(q.cells) + log(1 / q.beta)) / (q.rows * q.epsilon)


def multiplicative_weights(q: Questions) -> float:
    """The order of private multiplicative weights' error, its constants left out as on the slides.

    >>> round(multiplicative_weights(Questions(queries=10, cells=32, rows=1_000_000, epsilon=1.0)), 3)
    0.026
    """
    several = log(q.queries / q.beta)
    if q.delta:
        return sqrt(several * sqrt(log(q.cells) * log(1 / q.delta)) / (q.rows * q.epsilon))
    return float((log(q.cells) * several / (q.rows * q.epsilon)) ** (1 / 3))
