"""Gradients of a small public network over Poisson samples of the rows, step after step, for one price; votes of many
small teachers, each trained on rows of its own, about generated rows; which way these would move the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import isfinite, sqrt
from typing import ClassVar

import numpy as np

from synth.questions.tables import Bins, Question, Release, freeze

CRITIC, AUTOENCODER, FLOW, DENOISER = "critic", "autoencoder", "flow", "denoiser"
TRANSPORT, CLASSIFIER, KERNEL = "transport", "classifier", "kernel"
NETWORKS = (CRITIC, AUTOENCODER, FLOW, DENOISER, TRANSPORT, CLASSIFIER, KERNEL)
TRANSFORMS = 2  # of a flow, one after the other
KNOTS = 6  # of each spline between normal draws and an autoencoder's latent ones
FINE = 4096  # lattice units to a deviation of the noise: rounding moves a clipped gradient little on it
RATES = 2**32  # sampling rates are whole parts of this, so that a row is drawn with exactly its rate
LEFT = 0.5  # of the clip: where rounding to the nearest would take more, numbers are truncated towards zero


def count(sizes: Sequence[int], *, kind: str, hidden: int, latent: int = 0, depth: int = 0) -> int:
    """Number of weights of a network (numeric/networks.py, numeric/row_models.py) on columns of so many groups.

    Privacy: public only.

    >>> count([2, 3], kind="critic", hidden=4)
    49
    """
    groups, columns = sum(sizes), len(sizes)
    target = sizes[depth] if kind == CLASSIFIER else 0
    parts: dict[str, list[tuple[int, ...]]] = {
        CRITIC: [(groups, hidden, hidden, 1)],
        AUTOENCODER: [
            *((groups, hidden, 2 * latent), (latent, hidden, groups)),
            *[(latent, hidden, latent * (3 * KNOTS - 1))] * depth,
        ],
        FLOW: [(columns, hidden, columns * (3 * depth - 1))] * TRANSFORMS,
        DENOISER: [(groups, hidden, hidden, groups)],
        TRANSPORT: [(groups, hidden)],
        CLASSIFIER: [(groups - target, hidden, target)],
    }
    return sum((a + 1) * b for part in parts[kind] for a, b in pairwise(part))


def lengthening(lattice: float, numbers: int, *, clip: float) -> float:
    """By how much rounding so many numbers to multiples of ``lattice`` can lengthen them together, in L2.

    0 where that is more than a part of the clip: then they are truncated towards zero, which lengthens none.

    Privacy: public only.

    >>> lengthening(0.01, 10_000, clip=1.0), lengthening(0.1, 10_000, clip=1.0)
    (0.5, 0.0)
    """
    most = 0.5 * lattice * numbers**0.5
    return most if most <= LEFT * clip else 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Descent:
    """What all steps of one training share, and what they cost together.

    ``network``: one of ``NETWORKS``, on the one-hot groups of ``bins``, of ``hidden`` units; each row has
    ``latent`` draws of its own. ``depth``: knots of a flow, noisy copies of a row for a denoiser, the target's
    place for a classifier, splines of an autoencoder's latent law; ``scale``: blur of a transport; ``shares``
    (groups,): of a flow's columns, public. A kernel has ``hidden`` points, ``coordinates`` (groups, d) of the
    groups, widths ``scales`` and, where there is one, the ``label``'s place. ``last``: clip and noise of the last
    step, as a part of the first one's; between they fall evenly on a logarithmic scale, and an answer is told in
    units of its own step's clip. At each of ``steps`` every row enters with probability ``rate``; its gradient is
    scaled down to length ``clip``; the sum is told with Gaussian noise of deviation ``sigma`` on each number.

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
    depth: int = 0
    scale: float = 0.0
    shares: np.ndarray = field(default_factory=lambda: np.zeros(0))
    coordinates: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    scales: tuple[float, ...] = ()
    label: int | None = None
    last: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.last <= 1:
            raise ValueError("the last step's clip is a part of the first one's, in (0, 1]")
        if self.network not in NETWORKS or not self.bins:
            raise ValueError(f"networks are {', '.join(NETWORKS)}, on one column at least")
        self._check_shape()
        if not all(isfinite(x) and x > 0 for x in (self.clip, self.sigma)):
            raise ValueError("a positive, finite clip and sigma are needed")
        if self.steps < 1 or self.hidden < 1 or self.latent < (self.network == AUTOENCODER):
            raise ValueError("at least one step, one hidden unit and, for an autoencoder, one latent number are needed")
        if not (0 < self.rate <= 1 and (self.rate * RATES).is_integer()):
            raise ValueError("a rate in (0, 1], a whole part of 2**32, is needed")

    def _check_shape(self) -> None:
        drawn = {FLOW: len(self.bins), DENOISER: self.depth * (len(self.bins) + 1)}.get(self.network)
        if drawn is not None and (self.depth < 1 or self.latent != drawn):
            raise ValueError("a flow needs a draw for each column, a denoiser one more for each copy")
        if self.network == AUTOENCODER and self.depth and self.latent < 2:
            raise ValueError("a flow of latent draws needs two numbers of them at least")
        if self.network == FLOW and not (
            self.depth > 1
            and len(self.shares) == sum(self.sizes)
            and np.isfinite(self.shares).all()
            and (self.shares > 0).all()
        ):
            raise ValueError("a flow needs two knots at least, and a share above zero for each group")
        finite = self.coordinates.size and np.isfinite(self.coordinates).all()
        if self.network == KERNEL and not (finite and len(self.coordinates) == sum(self.sizes)):
            raise ValueError("a kernel needs finite coordinates for each group")
        if self.network == KERNEL and not (self.scales and all(isfinite(s) and s > 0 for s in self.scales)):
            raise ValueError("a kernel needs positive, finite widths")
        if self.label is not None and not 0 <= self.label < len(self.bins):
            raise ValueError("a kernel's label is one of the columns")
        if self.network == TRANSPORT and not (isfinite(self.scale) and self.scale > 0):
            raise ValueError("a transport needs a positive, finite scale")
        if self.network == CLASSIFIER and not (len(self.bins) > 1 and 0 <= self.depth < len(self.bins)):
            raise ValueError("a classifier needs two columns, one of them its target")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups of each column."""
        return tuple(b.size for b in self.bins)

    def fallen(self, number: int) -> float:
        """Clip and noise of a step as a part of the first one's: public, from its number alone."""
        return float(self.last ** (number / max(self.steps - 1, 1)))

    @cached_property
    def weights(self) -> int:
        """Number of weights, and of the numbers told at each step."""
        if self.network == KERNEL:
            return self.hidden * self.coordinates.shape[1]
        return count(self.sizes, kind=self.network, hidden=self.hidden, latent=self.latent, depth=self.depth)

    @property
    def lattice(self) -> float:
        """What told numbers are multiples of: rows are rounded to it before they are summed."""
        return self.sigma / FINE

    @property
    def rounding(self) -> float:
        """By how much bringing a gradient to the lattice can lengthen it; the clip makes room for it."""
        return lengthening(self.lattice, self.weights, clip=self.clip)


def whole_rate(rate: float) -> float:
    """The nearest rate that is drawn exactly.

    Privacy: public only.

    >>> whole_rate(0.02) == 85899346 / 2**32
    True
    """
    return max(round(rate * RATES), 1) / RATES


@dataclass(frozen=True, kw_only=True, eq=False)
class Step(Question):
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
class StepRelease(Release):
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
class DescentRelease(Release):
    """What is kept of a descent: ``weights`` of the model that it led to, a function of all its answers.

    Of an autoencoder, flow and denoiser they are the trained network's; of a critic and a transport those of the
    generator that was trained against it; of a classifier the scores of the condensed set's rows.

    Errors: ValueError for weights that are not finite.
    Privacy: released answers only.
    """

    question: Descent
    weights: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if not self.weights or not all(np.isfinite(w).all() for w in self.weights):
            raise ValueError("finite weights are needed")


LOGISTIC, MEANS = "logistic", "means"


@dataclass(frozen=True, kw_only=True, eq=False)
class Teachers:
    """What all rounds of one vote share: how teachers are made, and the noise of each of their answers.

    Every row is given to one of ``teachers`` at random; a teacher keeps at most ``most_rows`` of its rows. A teacher is
    a logistic regression on public random features of the groups of ``bins``: row ``g`` of a table (groups of all
    columns, features) for each group, summed over columns, rectified. ``sigma``: of the noise on a count of votes.
    With the critic ``means`` it scores by the features' mean over its rows less that over the lessons, afresh each
    time: of all linear scores of bounded weights the one that sets them apart most, as a Wasserstein critic does.

    Errors: ValueError for features, numbers or noise out of range.
    Privacy: public only.
    """

    purpose: str
    bins: tuple[Bins, ...]
    table: np.ndarray
    teachers: int
    most_rows: int
    sigma: float
    critic: str = LOGISTIC

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.table, dtype=np.float32)
        if not self.bins or table.ndim != 2 or len(table) != sum(self.sizes) or not np.isfinite(table).all():
            raise ValueError("a finite row of features for each group of each column is needed")
        if self.critic not in (LOGISTIC, MEANS):
            raise ValueError(f"critics are {LOGISTIC}, {MEANS}")
        if self.teachers < 2 or self.most_rows < 1:
            raise ValueError("at least two teachers of at least one row are needed")
        if not (isfinite(self.sigma) and self.sigma > 0):
            raise ValueError("a positive, finite sigma is needed")
        freeze(self, table=table)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Groups of each column."""
        return tuple(b.size for b in self.bins)


@dataclass(frozen=True, kw_only=True, eq=False)
class Votes(Question):
    """Question: how many teachers take each of these generated rows for real?

    ``lessons`` (n, columns) int64: generated rows that every teacher first learns to tell from its own real rows, in
    ``moves`` steps of gradient descent from where it stood. ``asked`` (m, columns) int64: the rows to be judged. Both
    are groups, public: functions of earlier answers. Each row asked about is paid for.

    **Source**: Jordon, Yoon, van der Schaar, PATE-GAN, ICLR 2019; votes as in arXiv 1802.08908, GNMax.

    Errors: ValueError without moves or rows, or for groups that the columns lack.
    Privacy: public only: the rows asked about are generated.
    """

    teachers: Teachers
    lessons: np.ndarray
    asked: np.ndarray
    moves: int

    def __post_init__(self) -> None:
        sizes = np.array(self.teachers.sizes)
        for name in ("lessons", "asked"):
            rows = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            if rows.ndim != 2 or not len(rows) or rows.shape[1] != len(sizes):
                raise ValueError("at least one row of a group for each column is needed")
            if rows.min() < 0 or (rows >= sizes).any():
                raise ValueError("groups must be among the columns' own")
            freeze(self, **{name: rows})
        if self.moves < 1:
            raise ValueError("at least one move is needed")

    @property
    def purpose(self) -> str:
        """What the ledger calls it."""
        return self.teachers.purpose

    @property
    def sigma(self) -> float:
        """Noise of each count of votes."""
        return self.teachers.sigma


@dataclass(frozen=True, kw_only=True, eq=False)
class VotesRelease(Release):
    """Answer: ``values`` (m,) int64: for each row asked about, how many teachers called it real, with noise.

    Errors: ValueError where a row lacks its number.
    Privacy: released answers only.
    """

    question: Votes
    values: np.ndarray

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.question.asked),):
            raise ValueError("a number for each row asked about is needed")


@dataclass(frozen=True, kw_only=True, eq=False)
class TaughtRelease(Release):
    """What is kept of all rounds: ``weights`` of the generator they led to, a function of all answers.

    Errors: ValueError for weights that are not finite.
    Privacy: released answers only.
    """

    question: Teachers
    weights: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if not self.weights or not all(np.isfinite(w).all() for w in self.weights):
            raise ValueError("finite weights are needed")


CLIPPED, SIGNS, BALLOTS = "clipped", "signs", "ballots"
FORMS = (CLIPPED, SIGNS, BALLOTS)
LONGEST = 2.0  # ballots tell coordinates, of gradients scaled to length 1, within so many typical ones of either side


@dataclass(frozen=True, kw_only=True, eq=False)
class Pulls(Votes):
    """Question: teachers' gradients with respect to each asked row, as one-hot groups, summed over teachers.

    A teacher's gradient loses each column's mean, which moves no row. Form ``clipped``: it is scaled down to length
    ``unit`` and summed, in multiples of that. ``signs``: its ``kept`` largest numbers count 1 or -1. ``ballots``: for
    each column of the public ``projection`` (groups of all columns, coordinates) a teacher has one vote for one of
    ``kept`` equal parts of the coordinate's range. Gaussian noise of the teachers' sigma on each number; each row asked
    about is paid for.

    **Source**: clipped: Chen, Orekondy, Fritz, arXiv 2006.08265 (GS-WGAN); signs: Wang et al., arXiv 2103.11109
    (DataLens); ballots: Long et al., arXiv 1906.09338 (G-PATE).

    Errors: as Votes, ValueError for a form, number or projection out of range.
    Privacy: public only: the rows asked about are generated.
    """

    clip: ClassVar[float] = 1.0
    form: str
    kept: int = 0
    unit: float = 1.0
    projection: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        super().__post_init__()
        table = np.ascontiguousarray(self.projection, dtype=np.float32)
        if not (isfinite(self.unit) and self.unit > 0):
            raise ValueError("a positive, finite unit is needed")
        if self.form not in FORMS:
            raise ValueError(f"forms are {', '.join(FORMS)}")
        if self.form == SIGNS and not 1 <= self.kept <= self.groups:
            raise ValueError("signs keep at least one number, and no more than there are groups")
        if self.form == BALLOTS and not (
            self.kept > 1 and table.ndim == 2 and len(table) == self.groups and table.size and np.isfinite(table).all()
        ):
            raise ValueError("ballots need two parts at least and a finite projection of all groups")
        freeze(self, projection=table)

    @property
    def groups(self) -> int:
        """Of all columns together."""
        return sum(self.teachers.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the answer for one row."""
        return (self.projection.shape[1], self.kept) if self.form == BALLOTS else (self.groups,)

    @property
    def answer_sensitivity(self) -> float:
        """L2 distance by which one teacher that changes its mind can move one row's answer."""
        if self.form == SIGNS:
            return 2 * sqrt(self.kept)
        return sqrt(2 * self.projection.shape[1]) if self.form == BALLOTS else 2 * self.clip

    @property
    def edges(self) -> np.ndarray:
        """Where a coordinate's inner parts end, (kept - 1,): a typical one is 1 / sqrt(groups)."""
        return np.linspace(-1, 1, self.kept + 1)[1:-1] * LONGEST / sqrt(self.groups)

    @property
    def lattice(self) -> float:
        """What told numbers are multiples of."""
        return self.sigma / FINE if self.form == CLIPPED else 1.0

    @property
    def rounding(self) -> float:
        """By how much bringing a gradient to the lattice can lengthen it; the clip makes room for it."""
        return lengthening(self.lattice, self.groups, clip=self.clip)


@dataclass(frozen=True, kw_only=True, eq=False)
class PullsRelease(Release):
    """Answer: ``values`` (rows asked about, *shape), float64: sums over teachers, with noise.

    Errors: ValueError where a number lacks.
    Privacy: released answers only.
    """

    question: Pulls
    values: np.ndarray

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.question.asked), *self.question.shape):
            raise ValueError("a number for each row and each of its groups, or parts of coordinates, is needed")
