"""`online_weights`: private multiplicative weights, for questions that come one by one (Hardt and Rothblum, FOCS 2010).

A weight for each cell of a small table answers each question. A comparison under noise says whether that is near the
truth; only where it is not the truth is counted, with noise, and the weights follow.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from math import ceil, inf, log, nextafter, prod, sqrt
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Ask, Fit, Run, Setting
from synth.generators.method import SHARE, Method, option
from synth.generators.product_mixture.model import Product
from synth.generators.query_based.small_db import axis_of, cut
from synth.questions import Above, AboveRelease, Bins, Laplace, LaplaceRelease
from synth.schema.table import Schema

CELLS = 100_000  # most cells of the whole table: each question costs as much time
COUNTING, COMPARING, MEASURING = "row count", "comparisons", "counts where the weights were far off"
SAFE = 1 - 1e-5
RECORDS, NUMBERS = 30_000, 50_000_000  # most records of the model, and of numbers in its components' tables
SWEEPS = 3  # passes over all counts that are known, after each new one


@dataclass(frozen=True, kw_only=True)
class OnlineWeights(Method):
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
    reads = (LaplaceRelease, AboveRelease)
    by_torch = False
    small = True
    updates: int = option(20, 1, 200)
    questions: int = option(2000, 1, 1_000_000)
    bins: int = option(8, 2, 4096)
    accuracy: float = option(0.02, 0.0, 1.0)
    threshold: float = option(0.5, 0.01, 100.0)
    comparing: float = option(0.7, *SHARE)
    counting: float = option(0.05, *SHARE)

    def check_schema(self, schema: Schema) -> None:
        """Errors: UsageError where even two bins a number leave too many cells."""
        cells = prod(b.size for b in _cut(schema, 2).values())
        if cells > CELLS:
            raise UsageError(
                f"method online_weights keeps a weight for each of the table's {cells:.3g} cells, and at most {CELLS}: "
                "make columns identifiers, or choose method mixture"
            )

    def check(self, run: Run) -> None:
        """As every method's; it asks for all updates that there may be, so that their price is rehearsed."""
        ask, setting = run.ask, run.setting
        self.check_options()
        self.check_schema(setting.schema)
        online = Online(ask, setting, self)
        for box in islice(boxes(online.bins), 1):
            for _ in range(self.updates):
                online.far(box, 0.0)
                online.counted(box)  # the weights stay: to follow all counts again after each takes seconds

    def measure(self, run: Run) -> list[Any]:
        """All cells of single columns, then of pairs, in a public order, until updates or questions are used up."""
        ask, setting, progress = run.ask, run.setting, run.progress
        self.check_schema(setting.schema)
        online = Online(ask, setting, self)
        stream, number = list(boxes(online.bins)), 0
        while online.left and number < self.questions:
            before = online.left
            for box in stream[: self.questions - number]:
                online.answer(box)
                number += 1
                progress(min(number / self.questions, 1.0))
                if not online.left:
                    break
            if online.left == before:  # a whole pass found nothing that is far off
                break
        progress(1.0)
        return online.releases

    def fit(self, releases: Sequence[Any], setting: Setting, how: Fit) -> Product:
        """The weights that follow all counts, as records drawn from them."""
        rng, progress = how.rng, how.progress
        weights = Weights(self.cut(setting.schema), total_of(releases, setting))
        for release in releases:
            if isinstance(release, LaplaceRelease) and release.question.purpose == MEASURING:
                weights.follow(release.question.tables[0], float(release.values[0].sum()))
        progress(1.0)
        count = int(min(weights.total, RECORDS, NUMBERS / sum(b.size for b in weights.bins.values())))
        records = weights.draw(max(count, 1), rng)
        axes = tuple(axis_of(b, records[n]) for n, b in weights.bins.items())
        return Product(total=weights.total, weights=np.full(max(count, 1), 1 / max(count, 1)), axes=axes)

    def cut(self, schema: Schema) -> dict[str, Bins]:
        """Each column's bins, as many as the table's cells allow."""
        most = self.bins
        while most > 2 and prod(b.size for b in _cut(schema, most).values()) > CELLS:
            most -= 1
        return _cut(schema, most)


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
        self.unit = setting.sensitivity**2 / setting.signed  # rows by which one unit moves any one count
        count, each = prices(setting, method)
        if count:
            first = next(iter(self.bins.values()))
            whole = Bins(column=first.column, cells=first.cells, starts=np.zeros(1), groups=np.zeros(1))
            self._note(ask(Laplace(purpose=COUNTING, tables=((whole,),), scale=_up(self.unit / count))))
        self.scale = _up(2 * self.unit / (each * method.comparing))
        self.noise = _up(self.unit / (each * (1 - method.comparing)))
        self.weights = Weights(self.bins, total_of(self.releases, setting))
        loudest = 2 * self.scale * log(method.questions + 1)
        self.threshold = ceil(max(method.threshold * loudest, method.accuracy * self.weights.total))

    def answer(self, box: tuple[Bins, ...]) -> float:
        """The number of rows in the box: of the weights where they are near the truth, else counted under noise."""
        if self.left <= 0:
            raise UsageError("all updates of this session are used up; what it released answers further questions free")
        expected = self.weights.count(box)
        return self.update(box) if self.far(box, expected) else expected

    def far(self, box: tuple[Bins, ...], expected: float) -> bool:
        """Whether the weights are far off, under noise."""
        release = self.ask(
            Above(
                purpose=COMPARING,
                number=self.left,
                box=box,
                expected=round(expected),
                threshold=self.threshold,
                scale=self.scale,
            )
        )
        self._note(release)
        return bool(release.above)

    def update(self, box: tuple[Bins, ...]) -> float:
        """The count under noise; the weights follow it, and one update is used."""
        count = self.counted(box)
        self.weights.follow(box, count)
        return count

    def counted(self, box: tuple[Bins, ...]) -> float:
        """The count under noise; one update is used."""
        release = self.ask(Laplace(purpose=MEASURING, tables=(box,), scale=self.noise))
        self._note(release)
        self.left -= 1
        return float(release.values[0].sum())

    def _note(self, release: Any) -> None:
        self.releases.append(release)


class Weights:
    """A distribution over all cells of the binned table; each known count moves it to the nearest that has it.

    The step is the one at which multiplicative weights meet the count (relative entropy to what was before is least);
    earlier counts are met again after it.
    """

    def __init__(self, bins: Mapping[str, Bins], total: float) -> None:
        self.bins, self.total = dict(bins), max(total, 1.0)
        shape = [b.size for b in self.bins.values()]
        self.cells = np.full(shape, 1.0 / prod(shape))
        self._known: list[tuple[tuple[Any, ...], float]] = []

    def count(self, box: tuple[Bins, ...]) -> float:
        """Expected number of rows in a box."""
        return self.total * float(self.cells[self._inside(box)].sum())

    def follow(self, box: tuple[Bins, ...], counted: float) -> None:
        """Moves the weights to a count."""
        share = min(max(counted, 0.5) / self.total, 1 - 0.5 / max(self.total, 2.0))
        self._known.append((self._inside(box), share))
        for _ in range(SWEEPS):
            for inside, goal in self._known:
                seen = float(self.cells[inside].sum())
                if 0 < seen < 1:
                    self.cells *= (1 - goal) / (1 - seen)
                    self.cells[inside] *= goal / seen * (1 - seen) / (1 - goal)
                    self.cells /= self.cells.sum()

    def draw(self, count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """``count`` records, evenly spread over the cells."""
        run = np.cumsum(self.cells.ravel())
        at = np.searchsorted(run / run[-1], (np.arange(count) + rng.random()) / count, side="right")
        codes = np.unravel_index(np.minimum(at, len(run) - 1), self.cells.shape)
        return dict(zip(self.bins, codes, strict=True))

    def _inside(self, box: tuple[Bins, ...]) -> tuple[Any, ...]:
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


def boxes(bins: Mapping[str, Bins]) -> Iterator[tuple[Bins, ...]]:
    """Each cell of each column, then of each pair of columns."""
    for names in [*((n,) for n in bins), *combinations(bins, 2)]:
        if all(bins[n].size > 1 for n in names):
            yield from (
                tuple(one(bins[n], at) for n, at in zip(names, cell, strict=True))
                for cell in product(*(range(bins[n].size) for n in names))
            )


def one(bins: Bins, group: int) -> Bins:
    """A group alone; all else is left out."""
    return Bins(column=bins.column, cells=bins.cells, starts=bins.starts, groups=np.where(bins.groups == group, 0, -1))


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
    """The row count: public, or the one that was counted."""
    if setting.public_rows is not None:
        return float(max(setting.public_rows, 1))
    counted = next(r for r in releases if r.question.purpose == COUNTING)
    return float(max(counted.values[0].sum(), 1))


def _cut(schema: Schema, most: int) -> dict[str, Bins]:
    return {n: cut(n, c, most) for n, c in schema.measured().items()}


def _up(scale: float) -> float:
    """The next float, so that rounding never makes noise too small."""
    return nextafter(scale, inf)
