"""What the accountant counts: one class for each kind of release, named as in dp_accounting where it has the event.

An event says what a release costs, not how costs are added: each accountant (gaussian.py, zcdp.py, pure.py,
slice_profile.py, slice_pld.py, subsampled_gaussian.py) has one function that asks an event for its part. Noise is
Gaussian, rounded afterwards, which is post-processing. Cards and learnt schemas hold events as JSON data.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, ClassVar

from synth.privacy.accounting.slice_profile import Shift
from synth.privacy.accounting.zcdp import chosen_rho

GAUSSIAN, SLICES, ZCDP, EXPONENTIAL = "gaussian", "slices", "zcdp", "exponential"
PURE, LAPLACE = "pure", "laplace"
SAMPLED, REPLACED, CHOICE = "subsampled_gaussian", "sampled, replaced", "choice"
# As stored, in this order; whatever has its usual value is left out.
STORED = {
    "name": None,
    "sensitivity": None,
    "sigma": None,
    "count": None,
    "failure_delta": 0.0,
    "pitch": 1.0,
    "kind": GAUSSIAN,
    "dim": 0,
    "num_slices": 0,
    "directions": "",
    "rate": 1.0,
    "spread": False,
    "swap": 0.0,
}
TYPES = {"name": str, "count": int, "kind": str, "dim": int, "num_slices": int, "directions": str, "spread": bool}
STORED_AS = {"rows_split_across_groups": "spread"}  # names that were found after cards had been written


@dataclass(frozen=True, kw_only=True)
class Event:
    """``count`` releases, each of L2 ``sensitivity`` and noise ``sigma``, in the same units.

    ``failure_delta``: probability that the release is not covered by its Gaussian (a stability threshold's); it adds to
    the delta of the whole. ``pitch``: the lattice that values are told on, in the units of sigma.
    Errors: ValueError for numbers that are no event's.

    Privacy: public only.
    """

    kind: ClassVar[str] = ""
    name: str
    sensitivity: float
    sigma: float
    count: int = 1
    failure_delta: float = 0.0
    pitch: float = 1.0

    def __post_init__(self) -> None:
        if not (self.sensitivity > 0 and self.sigma > 0 and self.count >= 1 and self.pitch > 0):
            raise ValueError(f"an event needs positive sensitivity, sigma, pitch and count, got {self}")
        if not (isfinite(self.sensitivity) and isfinite(self.sigma)):
            raise ValueError(f"an event needs finite sensitivity and sigma, got {self}")

    @property
    def ratio(self) -> float:
        """Sensitivity in units of the noise."""
        return self.sensitivity / self.sigma

    def plain(self) -> dict[str, Any]:
        """The event as JSON data; what has its usual value is left out."""
        reported = {STORED_AS.get(f.name, f.name): getattr(self, f.name) for f in fields(self)} | {"kind": self.kind}
        return {key: reported[key] for key, usual in STORED.items() if key in reported and reported[key] != usual}


@dataclass(frozen=True, kw_only=True)
class GaussianDpEvent(Event):
    """Gaussian noise: mu-GDP with mu the ratio; counts of one noise add up. **Source**: arXiv 1905.02383.

    Privacy: public only.

    >>> GaussianDpEvent(name="a", sensitivity=3, sigma=1, count=2).mu2
    18.0
    """

    kind: ClassVar[str] = GAUSSIAN

    @property
    def mu2(self) -> float:
        """What the event adds to mu**2."""
        return self.count * self.ratio**2


@dataclass(frozen=True, kw_only=True)
class TabledGaussianDpEvent(GaussianDpEvent):
    """A Gaussian whose noise is drawn from the table of noise_table.py; stored as any Gaussian.

    Privacy: public only.
    """


@dataclass(frozen=True, kw_only=True)
class RoundedGaussianDpEvent(GaussianDpEvent):
    """A Gaussian whose noise is drawn by rounded_gaussian.py, on the lattice of sigma; stored as any Gaussian.

    Privacy: public only.
    """


@dataclass(frozen=True, kw_only=True)
class BoundedRangeDpEvent(GaussianDpEvent):
    """A choice by the exponential mechanism, priced by a Gaussian of that ratio that dominates it (search.md).

    Privacy: public only.
    """

    kind: ClassVar[str] = CHOICE


@dataclass(frozen=True, kw_only=True)
class SlicesDpEvent(Event):
    """Noised sums on ``num_slices`` random directions of ``dim`` coordinates: Gaussian, given a shift of known law.

    ``rate``: each record of the one unit enters with this probability; or, with ``swap`` above 0, that share of the
    records is drawn without replacement, and two differ by at most ``swap`` sensitivities.
    ``rows_split_across_groups``: the unit's rows may fall into different sums (``slice_profile.delta``).

    Privacy: public only.
    """

    kind: ClassVar[str] = SLICES
    dim: int
    num_slices: int
    directions: str
    rate: float = 1.0
    swap: float = 0.0
    rows_split_across_groups: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_rate(self.rate)
        _ = self.shift

    @property
    def shift(self) -> Shift:
        """The law of the random shift, for a sensitivity of one."""
        return Shift(self.dim, self.num_slices, self.directions)


@dataclass(frozen=True, kw_only=True)
class ZCDpEvent(Event):
    """Another library's answer, whose Renyi divergences are at most a Gaussian's of that ratio.

    Privacy: public only.

    >>> ZCDpEvent(name="a", sensitivity=1, sigma=2).rho
    0.125
    """

    kind: ClassVar[str] = ZCDP

    @property
    def rho(self) -> float:
        """Its zero-concentrated privacy."""
        return self.count * self.ratio**2 / 2


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanismDpEvent(Event):
    """A choice whose log odds move over an interval of at most the ratio, which is its pure epsilon.

    Privacy: public only.
    """

    kind: ClassVar[str] = EXPONENTIAL

    @property
    def epsilon(self) -> float:
        """Its pure privacy, with delta 0."""
        return self.count * self.sensitivity / self.sigma

    @property
    def rho(self) -> float:
        """Its zero-concentrated privacy, which grows with the square of the ratio (chosen.md)."""
        return self.count * chosen_rho(self.ratio)


@dataclass(frozen=True, kw_only=True)
class PureDpEvent(Event):
    """A release whose log odds move by at most the ratio, either way: pure privacy, of which no more is known.

    Randomised response is the worst of them (selection.md): comparisons with a noisy threshold, report-noisy-max.

    Privacy: public only.

    >>> PureDpEvent(name="a", sensitivity=1, sigma=2, count=3).epsilon
    1.5
    """

    kind: ClassVar[str] = PURE

    @property
    def epsilon(self) -> float:
        """Its pure privacy, with delta 0."""
        return self.count * self.ratio


@dataclass(frozen=True, kw_only=True)
class LaplaceDpEvent(PureDpEvent):
    """Whole numbers with discrete Laplace noise of scale ``sigma``; one unit moves them by ``sensitivity`` in all.

    Privacy: public only.
    """

    kind: ClassVar[str] = LAPLACE


@dataclass(frozen=True, kw_only=True)
class PoissonSampledDpEvent(Event):
    """``count`` noised sums, each over a Poisson sample of that ``rate``, which one unit moves by the sensitivity.

    Privacy: public only.
    """

    kind: ClassVar[str] = SAMPLED
    replaced: ClassVar[bool] = False
    rate: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_rate(self.rate)


@dataclass(frozen=True, kw_only=True)
class PoissonSampledReplacedDpEvent(PoissonSampledDpEvent):
    """Likewise where a unit is replaced: its two places lie at most twice the sensitivity apart.

    Privacy: public only.
    """

    kind: ClassVar[str] = REPLACED
    replaced: ClassVar[bool] = True


def _check_rate(rate: float) -> None:
    if not 0 < rate <= 1:
        raise ValueError(f"an event needs a rate in (0, 1], got {rate}")


CLASSES = (
    GaussianDpEvent,
    BoundedRangeDpEvent,
    SlicesDpEvent,
    ZCDpEvent,
    ExponentialMechanismDpEvent,
    PureDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PoissonSampledReplacedDpEvent,
)
KINDS: dict[str, type[Event]] = {one.kind: one for one in CLASSES}


def event(plain: Mapping[str, Any]) -> Event:
    """The event that ``Event.plain`` described; entries that are no event's are passed over.

    Errors: ValueError for a kind that is unknown, or a fact that the kind does not have.

    Privacy: public only.
    """
    kind = KINDS.get(str(plain.get("kind", GAUSSIAN)))
    if kind is None:
        raise ValueError(f"an event needs a known kind, got {plain.get('kind')!r}")
    reported = {key: TYPES.get(key, float)(plain[key]) for key in STORED if key in plain and key != "kind"}
    own = {STORED_AS.get(f.name, f.name): f.name for f in fields(kind)}
    for key, value in reported.items():
        if key not in own and value != STORED[key]:
            raise ValueError(f"an event of kind {kind.kind} has no {key}")
    return kind(**{own[key]: value for key, value in reported.items() if key in own})
