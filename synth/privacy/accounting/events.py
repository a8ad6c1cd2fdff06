"""What the accountant counts: one class for each kind of release, named as in dp_accounting where it has the event.

An event says what a release costs, not how costs are added: each accountant (composition.py) asks it for its part: mu,
rho or a curve of Renyi divergences, a pure epsilon, a law; and what floating point adds to it. Noise is Gaussian,
rounded afterwards, which is post-processing. Cards and learnt schemas hold events as JSON data.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import exp, isfinite, sqrt
from typing import Any, ClassVar

import numpy as np

from synth.errors import UsageError
from synth.privacy.accounting import renyi
from synth.privacy.accounting.float_slack import sampler_cost
from synth.privacy.accounting.slice_profile import Shift

GAUSSIAN, SLICES, ZCDP, EXPONENTIAL = "gaussian", "slices", "zcdp", "exponential"
PURE, LAPLACE = "pure", "laplace"
SAMPLED, REPLACED, CHOICE = "subsampled_gaussian", "sampled, replaced", "choice"
# What a kind alone has, as stored, and what stands for none of it
OF_A_KIND = {"dim": 0, "num_slices": 0, "directions": "", "rate": 1.0, "spread": False, "swap": 0.0}
UNCOMPOSED = "slices and samples are not composed with a choice or another library's answer; use separate runs"
ROUNDED = 2.0**-100  # total variation of a draw by rounded_gaussian.py
STORED_AS = {"rows_split_across_groups": "spread"}  # names that were found after cards had been written
KINDS: dict[str, type["Event"]] = {}  # by their kind, as which they are stored


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

    def __init_subclass__(cls) -> None:
        """What has a kind of its own is read again by it."""
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        if not (self.sensitivity > 0 and self.sigma > 0 and self.count >= 1 and self.pitch > 0):
            raise ValueError(f"an event needs positive sensitivity, sigma, pitch and count, got {self}")
        if not (isfinite(self.sensitivity) and isfinite(self.sigma)):
            raise ValueError(f"an event needs finite sensitivity and sigma, got {self}")

    @property
    def ratio(self) -> float:
        """Sensitivity in units of the noise."""
        return self.sensitivity / self.sigma

    @property
    def mu2(self) -> float:
        """What it adds to mu**2. Errors: ValueError where it is no Gaussian event."""
        raise ValueError(f"an event that is not Gaussian ({self.kind}) has no mu; compose it with epsilon_of")

    @property
    def rho(self) -> float:
        """Its zero-concentrated privacy. Errors: UsageError where it has none."""
        raise UsageError(UNCOMPOSED)

    @property
    def curve(self) -> np.ndarray | None:
        """Renyi divergences (orders,) at ``renyi.ORDERS``, where they are less than a rho says; else None."""
        return None

    @property
    def epsilon(self) -> float | None:
        """Its pure privacy, with delta 0; None where it has none."""
        return None

    def imprecision(self, *, cells: int, epsilon: float, delta: float) -> tuple[float, float]:
        """(epsilon, delta) that floating point adds where neighbours differ in ``cells`` told values."""
        return sampler_cost(epsilon, delta, sigma=self.sigma / self.pitch, draws=self.count * cells)

    def _inverted(self, cells: int, epsilon: float) -> tuple[float, float]:
        """The same of noise that is drawn by inversion, in as many digits as it takes."""
        return 0.0, self.count * cells * ROUNDED * (1 + exp(min(epsilon, 700.0)))

    def plain(self) -> dict[str, Any]:
        """The event as JSON data; what has its usual value is left out, the count alone stands always."""
        values = {STORED_AS.get(f.name, f.name): (getattr(self, f.name), f.default) for f in fields(self)}
        plain = {key: value for key, (value, usual) in values.items() if value != usual or key == "count"}
        kind = {} if self.kind == GAUSSIAN else {"kind": self.kind}  # it stands between what all have and its own
        return {k: plain.pop(k) for k in list(plain) if k not in OF_A_KIND} | kind | plain


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

    @property
    def rho(self) -> float:
        """Its zero-concentrated privacy."""
        return self.count * self.ratio**2 / 2


@dataclass(frozen=True, kw_only=True)
class RoundedGaussianDpEvent(GaussianDpEvent):
    """A Gaussian whose noise is drawn by rounded_gaussian.py, on the lattice of sigma; stored as any Gaussian.

    Privacy: public only.
    """

    def imprecision(self, *, cells: int, epsilon: float, delta: float) -> tuple[float, float]:  # noqa: ARG002
        """Drawn in as many digits as it takes."""
        return self._inverted(cells, epsilon)


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
    rows_split_across_groups: bool = False
    swap: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_rate(self.rate)
        _ = self.shift

    @property
    def shift(self) -> Shift:
        """The law of the random shift, for a sensitivity of one."""
        return Shift(self.dim, self.num_slices, self.directions)

    @property
    def law(self) -> tuple[Shift, float, float, float, int]:
        """What loss distributions ask for. Errors: UsageError where a unit has several rows."""
        if self.rows_split_across_groups:
            raise UsageError(
                "slices of several laws are not composed where a unit has several rows; ask one question of slices, or "
                "take as many slices as coordinates, on a rotation"
            )
        return self.shift, self.ratio, self.rate, self.swap, self.count

    def imprecision(self, *, cells: int, epsilon: float, delta: float) -> tuple[float, float]:
        """Random directions take the chance that their draws are farther off than the slack allows, from delta alone.

        For both tables share their law (mechanisms/slices.md, step 5).
        """
        more, lost = super().imprecision(cells=cells, epsilon=epsilon, delta=delta)
        if self.shift.fixed:
            return more, lost
        return more, lost + self.count * (self.dim * self.num_slices * 2.0**-44 + sqrt(self.num_slices) * 2.0**-38)


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
        return self.count * renyi.chosen_rho(self.ratio)


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

    @property
    def curve(self) -> np.ndarray:
        """Those (orders,) of randomised response."""
        return self.count * renyi.pure_curve(self.ratio)

    def imprecision(self, *, cells: int, epsilon: float, delta: float) -> tuple[float, float]:  # noqa: ARG002
        """None: it is drawn exactly, in whole numbers of any size."""
        return 0.0, 0.0


@dataclass(frozen=True, kw_only=True)
class LaplaceDpEvent(PureDpEvent):
    """Whole numbers with discrete Laplace noise of scale ``sigma``; one unit moves them by ``sensitivity`` in all.

    Privacy: public only.
    """

    kind: ClassVar[str] = LAPLACE

    @property
    def curve(self) -> np.ndarray:
        """Those (orders,) of discrete Laplace noise."""
        return self.count * renyi.pure_curve(self.ratio, self.pitch / self.sigma)


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

    @property
    def law(self) -> tuple[float, float, int, bool]:
        """What loss distributions ask for."""
        return self.ratio, self.rate, self.count, self.replaced

    def imprecision(self, *, cells: int, epsilon: float, delta: float) -> tuple[float, float]:  # noqa: ARG002
        """Its noise is drawn by rounded_gaussian.py, near enough to the ideal for any number of sums."""
        return self._inverted(cells, epsilon)


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


def event(plain: Mapping[str, Any]) -> Event:
    """The event that ``Event.plain`` described; entries that are no event's are passed over.

    Errors: ValueError for a kind that is unknown, or a fact that the kind does not have.

    Privacy: public only.
    """
    kind = KINDS.get(str(plain.get("kind", GAUSSIAN)))
    if kind is None:
        raise ValueError(f"an event needs a known kind, got {plain.get('kind')!r}")
    own = {STORED_AS.get(f.name, f.name): f for f in fields(kind)}
    for key, none in OF_A_KIND.items():
        if key not in own and plain.get(key, none) != none:
            raise ValueError(f"an event of kind {kind.kind} has no {key}")
    return kind(**{f.name: f.type(plain[key]) for key, f in own.items() if key in plain})  # type: ignore[operator]


def total_mu(events: Iterable[Event]) -> float:
    """mu of all the events together. Errors: ValueError where one is not Gaussian.

    Privacy: public only.

    >>> total_mu([GaussianDpEvent(name="a", sensitivity=3, sigma=1), GaussianDpEvent(name="b", sensitivity=4, sigma=1)])
    5.0
    """
    return sqrt(sum(e.mu2 for e in events))


@dataclass(frozen=True, kw_only=True)
class BudgetPart:
    """What one question takes: ``share`` of the budget, 0 to 1, in ``releases``; the least and most of their noise.

    ``noise_least``, ``noise_most``: standard deviations (of picks: scales) in the question's own unit; of counts, rows.

    Privacy: public only.
    """

    question: str
    share: float
    releases: int
    noise_least: float
    noise_most: float


def division(mechanisms: Sequence[Mapping[str, Any]]) -> list[BudgetPart]:
    """The parts by question, in the order asked, of events as JSON data (``Event.plain``, or a card's mechanisms).

    A share is that of sum(count (sensitivity / sigma)^2): what a question adds to mu^2 where all are Gaussian, else the
    same measure of how little noise it has.

    Privacy: public only.

    >>> asked = [{"name": "a", "sensitivity": 1.0, "sigma": 1.0}, {"name": "b", "sensitivity": 1.0, "sigma": 0.5}]
    >>> [(p.question, p.share) for p in division(asked)]
    [('a', 0.2), ('b', 0.8)]
    """
    parts: dict[str, list[tuple[int, float, float]]] = {}
    for m in mechanisms:
        noise, count = float(m.get("sigma") or m["scale"]), int(m.get("count", 1))
        parts.setdefault(m["name"], []).append((count, noise, count * (m["sensitivity"] / noise) ** 2))
    whole = sum(weight for part in parts.values() for _, _, weight in part) or 1.0
    return [
        BudgetPart(
            question=name,
            share=sum(weight for _, _, weight in part) / whole,
            releases=sum(count for count, _, _ in part),
            noise_least=min(noise for _, noise, _ in part),
            noise_most=max(noise for _, noise, _ in part),
        )
        for name, part in parts.items()
    ]
