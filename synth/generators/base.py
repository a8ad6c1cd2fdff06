"""What a generator is given and what it must hand back.

A one-shot generator (its noise comes in before the fit: barrier B1 of arXiv 2309.15696) works in two phases.
``measure`` asks noisy questions through the curator's ``ask`` and returns the releases. ``fit`` turns releases into a
model: pure post-processing, free, repeatable. Neither ever sees a row.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import inf, nextafter, pi, sqrt
from typing import Any, Protocol, Self

import numpy as np

from synth.questions.linked import Linked
from synth.questions.tables import Bins, Marginal
from synth.schema.dataset import Dataset
from synth.schema.table import Schema

PAIR, COLUMN, INSIDE = 8.0, 2.0, 3.0  # weight of a named pair, of a named column's pairs, of pairs inside larger tables
MANY = 50  # larger tables


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedTable:
    """A table that a use needs, of two columns or more. ``use``: the number of its use, from 0.

    ``bins``: of some of its columns the groups that the use itself has, as a formula's ``I(age > 40)``: no others are
    needed. ``numbers``: columns whose values, not only counts, the use adds up: their far ends weigh more.
    Privacy: public only.
    """

    columns: tuple[str, ...]
    weight: float = 1.0
    use: int = 0
    bins: Mapping[str, Bins] = field(default_factory=dict)
    numbers: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, eq=False)
class Workload:
    """All that uses need: ``tables``; ``targets``, the most important first; ``columns`` that matter, with weights.

    ``outcomes``: of regressions, categories that a model may draw by a logit. Privacy: public only.
    """

    tables: tuple[NamedTable, ...] = ()
    targets: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    columns: Mapping[str, float] = field(default_factory=dict)

    @property
    def larger(self) -> tuple[NamedTable, ...]:
        """Tables of three and more columns, and of two on groups of their own; each once, with its greatest weight."""
        best: dict[tuple[frozenset[str], tuple[str, ...]], NamedTable] = {}
        for table in self.tables:
            own = len(table.columns) > 2 or bool(table.bins.keys() - {table.columns[0]} or table.numbers)
            key = frozenset(table.columns), (*sorted(table.bins), "", *sorted(table.numbers))
            if own and (key not in best or table.weight > best[key].weight):
                best[key] = table
        return tuple(best.values())

    @property
    def named_together(self) -> frozenset[frozenset[str]]:
        """Columns of larger tables that a logit of one of them may follow: not of ``MANY``, of which noise leaves
        little, nor with an outcome of a regression, whose slopes follow from its pairs."""
        own = [t for t in self.larger if not {*self.outcomes} & {*t.columns}]
        return frozenset(frozenset(t.columns) for t in own) if len(own) <= MANY else frozenset()

    def target(self, declared: str | None) -> str | None:
        """The column that a model draws last, from all others: the schema's own target, else the first named."""
        return declared or next(iter((*self.targets, *self.outcomes)), None)

    def pairs(self, names: Collection[str]) -> list[tuple[str, str]]:
        """The pairs of these columns that uses need: inside tables, of targets with every column, of named columns.

        >>> Workload(tables=(NamedTable(columns=("a", "b", "c")),), targets=("d",)).pairs(["a", "b", "d"])
        [('a', 'b'), ('a', 'd'), ('b', 'd')]
        """
        matter = {n for n in self.columns if n in names}
        return [
            (a, b)
            for a, b in combinations(names, 2)
            if frozenset((a, b)) in self._pairs or {a, b} & {*self.targets} or {a, b} <= matter
        ]

    @cached_property
    def held(self) -> frozenset[str]:
        """The columns of named tables."""
        return frozenset(n for t in self.tables for n in t.columns)

    @cached_property
    def groups(self) -> Mapping[str, Bins]:
        """The groups of their own that uses have of a column, where they have some: of several the first."""
        return {n: b for t in reversed(self.tables) for n, b in t.bins.items()}

    def holds(self, pair: tuple[str, ...]) -> bool:
        """Whether a named table is this pair, or has it inside.

        >>> Workload(tables=(NamedTable(columns=("a", "b", "c")),)).holds(("c", "a"))
        True
        """
        return frozenset(pair) in self._pairs

    def pair_weight(self, pair: tuple[str, ...]) -> float:
        """By how much a table of two columns matters more than one that no use needs, 1 or more."""
        return max(self._pairs.get(frozenset(pair), 1.0), *(1 + (COLUMN - 1) * self.columns.get(n, 0.0) for n in pair))

    @cached_property
    def _pairs(self) -> Mapping[frozenset[str], float]:
        """Weights of pairs that tables name or hold. Of ``MANY`` tables, which noise hardly lets be counted, the pairs
        have to tell: one weighs the more the more tables hold it, up to a named pair."""
        many = sum(len(t.columns) > 2 for t in self.tables) > MANY
        named: dict[frozenset[str], float] = {}
        held: dict[frozenset[str], float] = {}
        for table in self.tables:
            for pair in map(frozenset, combinations(table.columns, 2)):
                if len(table.columns) == 2:
                    named[pair] = max(named.get(pair, 0.0), (PAIR - 1) * table.weight)
                else:
                    more, before = (INSIDE - 1) * table.weight, held.get(pair, 0.0)
                    held[pair] = before + more if many else max(before, more)
        most = max((t.weight for t in self.tables), default=1.0) * (PAIR - 1)
        return {p: 1 + max(named.get(p, 0.0), min(held.get(p, 0.0), most)) for p in {**named, **held}}


Ask = Callable[[Any], Any]  # a question of synth.questions; the answer is its release
Positions = dict[str, np.ndarray]
Repair = Callable[[Positions, Callable[..., np.ndarray]], None]  # changes rows in place (constraints.Redraw)
Progress = Callable[[float], None]  # share of the phase that is done, 0 to 1 (maybe a Share); may raise to cancel


class Share(float):
    """A share of a phase that tells the training loss at that point too: of a fit to releases, hence public.

    Privacy: released answers only.

    >>> half = Share(0.5, loss=3.0)
    >>> half, half.loss, half.within(0.5, 1.0), half.within(0.5, 1.0).loss
    (0.5, 3.0, 0.75, 3.0)
    """

    loss: float | None

    def __new__(cls, done: float, *, loss: float | None = None) -> Self:
        """``done``: 0 to 1."""
        share = super().__new__(cls, done)
        share.loss = loss
        return share

    def within(self, start: float, end: float) -> "Share":
        """The same point of a longer phase, of which this one is the part from ``start`` to ``end``."""
        return Share(start + (end - start) * self, loss=self.loss)


def part(progress: Progress, start: float, end: float) -> Progress:
    """Progress of a part of a phase, its loss passed on.

    Privacy: released answers only.
    """
    return lambda done: progress((done if isinstance(done, Share) else Share(done)).within(start, end))


class Enough(Exception):
    """Raised by a rehearsal's ``ask``: what the method would still ask is paid for, or is asked no more.

    Privacy: public only.
    """


class PublicTable(Protocol):
    """A public table, or related ones, encoded under the private ones' schema.

    Privacy: public only.
    """

    name: str  # as the card has it
    sha256: str  # of its files
    num_rows: int  # of related tables, roots


class PublicRows(PublicTable, Protocol):
    """A single public table, with the measured ``columns`` that it has. Privacy: public only."""

    columns: frozenset[str]

    def counts(self, tables: Sequence[Sequence[Bins]]) -> list[np.ndarray]:
        """Its counts, int64 (cells,), of tables on these groupings."""
        ...

    def answers(self, marginal: Marginal) -> tuple[np.ndarray, np.ndarray] | None:
        """Of an earlier release what its noisy answers say, and its variance, each of the marginal's shape."""
        ...

    def sample(self, bins: Sequence[Bins], most: int) -> np.ndarray | None:
        """Bins, int64 (n, bins), of so many of its rows at most, drawn by chance; None of an earlier release."""
        ...


class PublicTrees(PublicTable, Protocol):
    """Public related tables. Privacy: public only."""

    def weighted(self, question: Linked) -> tuple[tuple[np.ndarray, ...], tuple[str, ...]]:
        """Their counts, of each marginal's shape (A, B), in roots, and the places that they lack, which have zeros."""
        ...


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public circumstances of a run; all a generator may base its choices on besides releases.

    ``mu``: the run's total noise budget in Gaussian differential privacy (arXiv 1905.02383): the questions
    asked must satisfy sum((sensitivity / sigma)**2) <= mu**2. ``sensitivity``: by how much, in L2 norm, one
    unit can move one table of counts, or one sum of non-negative vectors of unit norm. ``signed``: the same for
    vectors of any sign. ``public_rows``: the row count where the relation makes it public. ``slice_sigma``: the least
    noise of one question of slices with random directions that alone takes the whole budget, given ``dim`` and
    ``num_slices`` (and ``rate``); there only while a run is being paid for. ``step_sigma``: likewise the least noise,
    as a multiple of the clip, of ``steps`` sums of clipped gradients over samples of ``rate``. ``tree``: the tables,
    where there are several; ``schema`` is then the root's. ``workload``: what the table is to be
    used for. ``priors``: public tables like the private one, there only while questions are asked.

    Privacy: public only; no field depends on a row, but by released answers.
    """

    schema: Schema
    tree: Dataset | None = None
    mu: float
    sensitivity: float
    signed: float = 0.0
    public_rows: int | None = None
    rho: float = 0.0
    epsilon: float = 0.0
    slice_sigma: Callable[..., float] | None = field(default=None, compare=False, repr=False)
    step_sigma: Callable[..., float] | None = field(default=None, compare=False, repr=False)
    workload: Workload = field(default_factory=Workload, compare=False, repr=False)
    priors: Sequence[Any] = field(default=(), compare=False, repr=False)  # PublicRows; PublicTrees of related tables

    def sigma(self, share: float, *, signed: bool = False) -> float:
        """Noise of one table of counts (or sum of vectors) that takes this share of mu**2, rounded up."""
        size = self.signed if signed else self.sensitivity
        return nextafter(size / (self.mu * sqrt(share)), inf)

    @property
    def pick(self) -> float:
        """mu of a pick among tables whose scores have a scale of one row (mechanisms/search.md)."""
        shifted = self.signed or sqrt(2) * self.sensitivity  # rows; the most, where nobody said
        return 2 * shifted * sqrt(pi / 8) * (1 + 2.0**-20)

    @property
    def moved(self) -> float:
        """Rows by which one unit can move any one count, under any relation: K K / K, or 2 K K / 2 K."""
        return self.sensitivity**2 / self.signed

    def share(self, sigma: float) -> float:
        """Share of mu**2 that one table of counts with this noise takes."""
        return (self.sensitivity / (sigma * self.mu)) ** 2


@dataclass(frozen=True, eq=False)
class Run:
    """What a method measures with: ``ask`` answers questions, under noise, in this ``setting``.

    ``device``: torch's, for models fitted between questions.
    Privacy: released answers only: rows are reached by ``ask`` alone.
    """

    ask: Ask
    setting: Setting
    progress: Progress = lambda _: None
    device: str = "cpu"


@dataclass(frozen=True, eq=False)
class Fit:
    """What a method fits with: ``rng`` drives initialisation and is never a source of privacy; the torch ``device``.

    Privacy: public only.
    """

    rng: np.random.Generator
    device: str = "cpu"
    progress: Progress = lambda _: None


class Model(Protocol):
    """A fitted generator: safe to share, since it derives from releases only.

    Privacy: released answers only.
    """

    @property
    def total(self) -> float:
        """Estimated number of rows of the source table."""
        ...

    def sample(
        self,
        num_rows: int,
        *,
        rng: np.random.Generator,
        where: Mapping[str, np.ndarray] | None = None,
        repair: Repair | None = None,
    ) -> Positions:
        """Draws rows in random order: one int64 array (num_rows,) of positions for each measured column.

        ``where`` restricts columns to the given positions, exactly (components reweighted, no rejection). ``repair``
        is handed the rows and a way to draw a column again for some of them, before they are returned.
        """
        ...

    def probability(self, where: Mapping[str, np.ndarray]) -> float:
        """The model's probability that a row satisfies ``where``: by column the allowed positions, (n,)."""
        ...

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """A JSON-able description and the arrays, of any shapes, by name; together they rebuild the model."""
        ...
