"""What a generator is given and what it must hand back.

A one-shot generator (its noise comes in before the fit: barrier B1 of arXiv 2309.15696) works in two phases.
``measure`` asks noisy questions through the curator's ``ask`` and returns the releases. ``fit`` turns releases into a
model: pure post-processing, free, repeatable. Neither ever sees a row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, nextafter, pi, sqrt
from typing import Any, Protocol, Self

import numpy as np

from synth.generators.workload import Workload
from synth.questions.linked import Linked
from synth.questions.tables import Bins, Marginal
from synth.schema.dataset import Dataset
from synth.schema.table import Schema

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

    @property
    def name(self) -> str:
        """What it is called on the card."""
        ...

    @property
    def sha256(self) -> str:
        """The digest of its files."""
        ...

    @property
    def num_rows(self) -> int:
        """Rows that it has; of related tables, roots."""
        ...


class PublicRows(PublicTable, Protocol):
    """A single public table. Privacy: public only."""

    @property
    def columns(self) -> frozenset[str]:
        """The measured columns that it has."""
        ...

    def counts(self, tables: Sequence[Sequence[Bins]]) -> list[np.ndarray]:
        """Its counts, int64 (cells,), of tables on these groupings."""
        ...

    def answers(self, marginal: Marginal) -> tuple[np.ndarray, np.ndarray] | None:
        """Of an earlier release what its noisy answers say, and its variance, each of the marginal's shape."""
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

    Privacy: released answers only: rows are reached by ``ask`` alone.
    """

    ask: Ask
    setting: Setting
    progress: Progress = lambda _: None


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
