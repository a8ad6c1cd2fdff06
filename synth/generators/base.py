"""What a generator is given and what it must hand back.

A one-shot generator (barrier B1 of arXiv 2309.15696) works in two phases. ``measure`` asks noisy questions
through ``ask``, the curator's door, and returns the releases. ``fit`` turns releases into a model: pure
post-processing, free, repeatable. Neither ever sees a row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nextafter, sqrt
from typing import Protocol

import numpy as np

from synth.questions import Counts, CountsRelease
from synth.schema import Schema

Ask = Callable[[Counts], CountsRelease]
Positions = dict[str, np.ndarray]
Mend = Callable[[Positions, Callable[..., np.ndarray]], None]  # changes rows in place (constraints.Redraw)
Progress = Callable[[float], None]  # share of the phase that is done, 0 to 1; may raise to cancel


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public circumstances of a run; all a generator may base its choices on besides releases.

    ``mu``: the run's total noise budget in Gaussian differential privacy (arXiv 1905.02383): the questions
    asked must satisfy sum((sensitivity / sigma)**2) <= mu**2. ``sensitivity``: by how much, in L2 norm, one
    unit can move one table of counts. ``public_rows``: the row count where the relation makes it public.
    """

    schema: Schema
    mu: float
    sensitivity: float
    public_rows: int | None = None

    def sigma(self, share: float) -> float:
        """Noise of one table of counts that takes this share of mu**2, rounded up."""
        return nextafter(self.sensitivity / (self.mu * sqrt(share)), inf)

    def share(self, sigma: float) -> float:
        """Share of mu**2 that one table of counts with this noise takes."""
        return (self.sensitivity / (sigma * self.mu)) ** 2


class Model(Protocol):
    """A fitted generator: safe to share, since it derives from releases only."""

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
        mend: Mend | None = None,
    ) -> Positions:
        """Draws rows in random order: one int64 array (num_rows,) of positions for each measured column.

        ``where`` restricts columns to the given positions, exactly (components reweighted, no rejection). ``mend``
        is handed the rows and a way to draw a column again for some of them, before they are returned.
        """
        ...

    def probability(self, where: Mapping[str, np.ndarray]) -> float:
        """The model's probability that a row satisfies ``where``."""
        ...

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """A JSON-able description and the arrays that together rebuild the model."""
        ...


class Generator(Protocol):
    """One algorithm: public options as fields, no state."""

    @property
    def name(self) -> str:
        """The word that users choose it by."""
        ...

    @property
    def barrier(self) -> str:
        """Where the private rows stop, B1 to B4."""
        ...

    @property
    def summary(self) -> str:
        """One line for a list of methods."""
        ...

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations under which it has a guarantee."""
        ...

    def measure(self, ask: Ask, setting: Setting, *, progress: Progress) -> list[CountsRelease]:
        """Asks all questions of a run, within the setting's budget."""
        ...

    def fit(
        self,
        releases: Sequence[CountsRelease],
        setting: Setting,
        *,
        rng: np.random.Generator,
        device: str,
        progress: Progress,
    ) -> Model:
        """A model from releases alone. ``rng`` drives initialisation; it is never a source of privacy."""
        ...
