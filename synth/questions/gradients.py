"""Gradients of a small public network over Poisson samples of the rows, step after step, for one price."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isfinite

import numpy as np

from synth.questions.tables import Bins

CRITIC, AUTOENCODER = "critic", "autoencoder"
NETWORKS = (CRITIC, AUTOENCODER)
FINE = 4096  # lattice units to a deviation of the noise: rounding moves a clipped gradient little on it
RATES = 2**32  # sampling rates are whole parts of this, so that a row is drawn with exactly its rate
LEFT = 0.5  # of the clip: where rounding to the nearest would take more, numbers are truncated towards zero


def count(sizes: Sequence[int], *, kind: str, hidden: int, latent: int = 0) -> int:
    """Number of weights of a network (networks.py) on columns of so many groups.

    Privacy: public only.

    >>> count([2, 3], kind="critic", hidden=4)
    49
    """
    groups = sum(sizes)
    ends = [(groups, hidden, hidden, 1)] if kind == CRITIC else [(groups, hidden, 2 * latent), (latent, hidden, groups)]
    return sum((a + 1) * b for part in ends for a, b in pairwise(part))


@dataclass(frozen=True, kw_only=True, eq=False)
class Descent:
    """What all steps of one training share, and what they cost together.

    ``network``: critic or autoencoder, on the one-hot groups of ``bins``, of ``hidden`` units (and ``latent``). At each
    of ``steps`` every row enters with probability ``rate``; its gradient is scaled down to length ``clip``; the sum
    is told with Gaussian noise of deviation ``sigma`` on each number.

    Errors: ValueError naming the first field out of its range.
    Privacy: public only.
    """

    purpose: str
    network: str
    bins: tuple[Bins, ...]
    hidden: int
    latent: int
    clip: float
    sigma: float
    rate: float
    steps: int

    def __post_init__(self) -> None:
        if self.network not in NETWORKS or not self.bins:
            raise ValueError(f"networks are {', '.join(NETWORKS)}, on one column at least")
        if not all(isfinite(x) and x > 0 for x in (self.clip, self.sigma)):
            raise ValueError("a positive, finite clip and sigma are needed")
        if self.steps < 1 or self.hidden < 1 or self.latent < (self.network == AUTOENCODER):
            raise ValueError("at least one step, one hidden unit and, for an autoencoder, one latent number are needed")
        if not (0 < self.rate <= 1 and (self.rate * RATES).is_integer()):
            raise ValueError("a rate in (0, 1], a whole part of 2**32, is needed")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups of each column."""
        return tuple(b.size for b in self.bins)

    @cached_property
    def weights(self) -> int:
        """Number of weights, and of the numbers told at each step."""
        return count(self.sizes, kind=self.network, hidden=self.hidden, latent=self.latent)

    @property
    def lattice(self) -> float:
        """What told numbers are multiples of: rows are rounded to it before they are summed."""
        return self.sigma / FINE

    @property
    def truncated(self) -> bool:
        """Whether gradients are truncated towards zero on the lattice, which lengthens none, rather than rounded."""
        return 0.5 * self.lattice * self.weights**0.5 > LEFT * self.clip

    @property
    def rounding(self) -> float:
        """By how much bringing a gradient to the lattice can lengthen it; the clip makes room for it."""
        return 0.0 if self.truncated else 0.5 * self.lattice * self.weights**0.5


def whole_rate(rate: float) -> float:
    """The nearest rate that is drawn exactly.

    Privacy: public only.

    >>> whole_rate(0.02) == 85899346 / 2**32
    True
    """
    return max(round(rate * RATES), 1) / RATES


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """Question: the noisy sum of clipped gradients at these ``weights``. Steps come in order, ``number`` from 0.

    The first step of a descent pays for all of its steps; there is none beyond them. ``weights``: float32 arrays in the
    order of the network's parameters, public: functions of earlier answers.

    Errors: ValueError where a weight is missing, or the number is below 0.
    Privacy: public only.
    """

    descent: Descent
    number: int
    weights: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if self.number < 0 or sum(w.size for w in self.weights) != self.descent.weights:
            raise ValueError("a number from 0 on and all weights of the descent's network are needed")

    @property
    def purpose(self) -> str:
        """What the ledger calls it."""
        return self.descent.purpose

    @property
    def sigma(self) -> float:
        """Noise of each number."""
        return self.descent.sigma


@dataclass(frozen=True, kw_only=True, eq=False)
class StepRelease:
    """Answer: ``values`` (weights,) float64, the noisy sum, flat in the order of the network's parameters.

    Errors: ValueError where a weight lacks its number.
    Privacy: released answers only.
    """

    question: Step
    values: np.ndarray

    def __post_init__(self) -> None:
        if self.values.shape != (self.question.descent.weights,):
            raise ValueError("a number for each weight is needed")


@dataclass(frozen=True, kw_only=True, eq=False)
class DescentRelease:
    """What is kept of a descent: ``weights`` of the model that it led to, a function of all its answers.

    Of an autoencoder they are the trained network's, of a critic those of the generator that was trained against it.

    Errors: ValueError for weights that are not finite.
    Privacy: released answers only.
    """

    question: Descent
    weights: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if not self.weights or not all(np.isfinite(w).all() for w in self.weights):
            raise ValueError("finite weights are needed")
