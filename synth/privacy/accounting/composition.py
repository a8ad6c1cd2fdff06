"""Events and their exact composition. The sums are dp_accounting's; the events are ours.

Most mechanisms add Gaussian noise (rounded afterwards, which is post-processing): mu, the parameter of Gaussian
differential privacy, composes exactly, mu**2 = sum(count * (sensitivity / sigma)**2). Slices on random directions have
a random shift, told with the answer: given it they are Gaussian too, and ``profiles`` integrates over its law.
Source: Dong, Roth, Su, arXiv 1905.02383, Corollary 3.3; profile: Balle and Wang, arXiv 1805.06530, Theorem 8.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import exp, inf, isfinite, sqrt
from typing import Any, Self

from dp_accounting import get_epsilon_gaussian, get_sigma_gaussian

from synth.errors import UsageError
from synth.privacy.accounting import slice_pld, subsampled_gaussian, zcdp
from synth.privacy.accounting.float_slack import DELTA_RESERVE, EPSILON_RESERVE, SAFETY, reserve_taken, sampler_cost
from synth.privacy.accounting.slice_profile import Shift, epsilon_at, slice_sigma
from synth.privacy.accounting.subsampled_gaussian import sampled_sigma

__all__ = [
    "ACCOUNTANT",
    "CHOICE",
    "DELTA_RESERVE",
    "EPSILON_RESERVE",
    "EXPONENTIAL",
    "REPLACED",
    "SAFETY",
    "SAMPLED",
    "SLICES",
    "ZCDP",
    "Event",
    "accountant",
    "calibrate",
    "calibrate_rho",
    "check",
    "derived_epsilon",
    "epsilon_of",
    "event",
    "imprecision",
    "reserve_taken",
    "sampled_sigma",
    "sampler_cost",
    "slice_sigma",
    "total_mu",
]

MOST = 1e6  # an epsilon; far below, nothing is protected any more
ACCOUNTANT = "exact Gaussian profile (mu-GDP)"
INTEGRATED = "exact Gaussian profile, averaged over the law of the random shift"
COMPOSED = "privacy loss distributions, rounded pessimistically"
RENYI = "Renyi divergences, pure losses added where that is less"
GAUSSIAN, SLICES, ZCDP, EXPONENTIAL = "gaussian", "slices", "zcdp", "exponential"
CHOICE = "choice"
BY_GAUSSIAN = (GAUSSIAN, CHOICE)  # composed by mu, exactly or from above
SAMPLED, REPLACED = "subsampled_gaussian", "sampled, replaced"
BY_RENYI, BY_SAMPLE = (ZCDP, EXPONENTIAL), (SAMPLED, REPLACED)
LEAST, LEAST_DELTA = 1e-4, 1e-20  # below these the inverses of the profiles lose their exactness
TABLED = 2.0**-109  # total variation of a draw from the noise's table


@dataclass(frozen=True, kw_only=True)
class Event:
    """``count`` releases, each of L2 ``sensitivity`` and Gaussian noise ``sigma``, in the same units.

    ``failure_delta``: probability that the release is not covered by its Gaussian (a stability threshold's); it adds to
    the delta of the whole. ``pitch``: the lattice that values are told on, in the units of sigma.

    ``kind``: ``gaussian``; or ``slices``, on ``num_slices`` directions of ``dim`` coordinates, the law of the shift as
    ``profiles.Shift`` says. ``rate``: each record of the one unit enters with this probability. ``spread``:
    the unit's rows may fall into different sums (``profiles.delta``).

    Two kinds have no Gaussian noise of ours, and say by ``sensitivity / sigma`` what they cost: ``zcdp``, whose Renyi
    divergences are at most those of a Gaussian with that ratio (rho is half its square); ``exponential``, a choice
    whose log odds move over an interval of at most that length, hence purely private with epsilon the ratio.
    ``choice``: the same mechanism, priced by the Gaussian with that ratio, which tells two tables apart at least as
    well at every level (mechanisms/search.md).

    ``sampled``: ``count`` noised sums, each over a Poisson sample of the rows of that ``rate``, of which one unit moves
    a sum by at most the sensitivity; ``sampled, replaced``: a unit is replaced, and its two places lie at most twice
    the sensitivity apart.
    """

    name: str
    sensitivity: float
    sigma: float
    count: int = 1
    failure_delta: float = 0.0
    pitch: float = 1.0
    kind: str = GAUSSIAN
    dim: int = 0
    num_slices: int = 0
    directions: str = ""
    rate: float = 1.0
    spread: bool = False

    def __post_init__(self) -> None:
        if not (self.sensitivity > 0 and self.sigma > 0 and self.count >= 1):
            raise ValueError(f"an event needs positive sensitivity, sigma and count, got {self}")
        if not (isfinite(self.sensitivity) and isfinite(self.sigma)):
            raise ValueError(f"an event needs finite sensitivity and sigma, got {self}")
        if self.kind not in (*BY_GAUSSIAN, SLICES, *BY_RENYI, *BY_SAMPLE) or not (
            0 < self.rate <= 1 and self.pitch > 0
        ):
            raise ValueError(f"an event needs a known kind, a rate in (0, 1] and a positive pitch, got {self}")
        if self.kind == SLICES:
            _ = self.shift
        elif self.spread or (self.rate < 1 and self.kind not in BY_SAMPLE):
            raise ValueError(f"only an event of slices has a spread, or with samples a rate, got {self}")

    @property
    def mu2(self) -> float:
        """What the event adds to mu**2. Errors: ValueError where it is no Gaussian event."""
        if self.kind not in BY_GAUSSIAN:
            raise ValueError("an event that is not Gaussian has no mu; compose it with epsilon_of")
        return self.count * (self.sensitivity / self.sigma) ** 2

    @property
    def rho(self) -> float:
        """Zero-concentrated privacy of the event. Errors: ValueError for slices on random directions."""
        ratio = self.sensitivity / self.sigma
        if self.kind == EXPONENTIAL:
            return self.count * zcdp.chosen_rho(ratio)
        if self.kind == SLICES or self.kind in BY_SAMPLE:
            raise ValueError("slices and samples are not composed with events of zero-concentrated privacy")
        return self.count * ratio**2 / 2

    @property
    def shift(self) -> Shift:
        """The law of the random shift of an event of slices, for a sensitivity of one."""
        return Shift(self.dim, self.num_slices, self.directions)

    def plain(self) -> dict:
        """The event as JSON data; what has its usual value is left out."""
        stated = asdict(self)
        usual = {f.name: f.default for f in fields(self) if f.name != "count"}
        return {k: v for k, v in stated.items() if k not in usual or v != usual[k]}

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Self:
        """The event that ``plain`` described; other entries are passed over."""
        kinds = {
            "name": str,
            "count": int,
            "kind": str,
            "dim": int,
            "num_slices": int,
            "directions": str,
            "spread": bool,
        }
        return cls(**{f.name: kinds.get(f.name, float)(plain[f.name]) for f in fields(cls) if f.name in plain})


def event(plain: Mapping[str, Any]) -> Event:
    """The event that ``Event.plain`` described; other entries are passed over."""
    return Event.read(plain)


def check(epsilon: float, delta: float) -> None:
    """Refuses an epsilon or delta that is no privacy guarantee. Errors: UsageError."""
    if not (isinstance(epsilon, int | float) and 0 < epsilon <= MOST):
        raise UsageError(
            f"epsilon {_short(epsilon)} is not a finite number above 0 and at most {MOST:g}; 0.1 to 10 is usual"
        )
    if epsilon < LEAST:
        raise UsageError(
            f"epsilon {epsilon} is below {LEAST:g}, the least that is computed exactly; 0.1 to 10 is usual"
        )
    if not (isinstance(delta, int | float) and 0 < delta < 1):
        raise UsageError(f"delta {_short(delta)} must lie between 0 and 1; 1e-5 or less is usual")
    if delta < LEAST_DELTA:
        raise UsageError(f"delta {delta} is below {LEAST_DELTA:g}, the least that is computed exactly; 1e-9 is small")


def _short(value: object) -> str:
    """A figure in a message: an integer may have thousands of digits, which no one may want to turn into text."""
    return "beyond any float" if isinstance(value, int) and abs(value) >= 1 << 64 else str(value)


def calibrate(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian mechanism is (epsilon, delta)-DP, the reserve set aside, rounded down.

    >>> round(calibrate(1.0, 1e-5), 3)
    0.268
    """
    check(epsilon, delta)
    target = epsilon * (1 - EPSILON_RESERVE)
    mu = 1 / get_sigma_gaussian(target, delta * (1 - DELTA_RESERVE)) * (1 - 2 * SAFETY)
    while mu > 0 and derived_epsilon(mu * (1 + SAFETY), delta) > epsilon:
        mu *= 1 - SAFETY
    return mu


def derived_epsilon(mu: float, delta: float) -> float:
    """The epsilon of a mu-GDP mechanism at this delta, the reserves included, rounded up.

    >>> derived_epsilon(0.0, 1e-5)
    0.0
    """
    if mu <= 0:
        return 0.0
    epsilon = float(get_epsilon_gaussian(1 / mu, delta * (1 - DELTA_RESERVE)))
    return epsilon / (1 - EPSILON_RESERVE) * (1 + SAFETY / 10) if isfinite(epsilon) else inf


def epsilon_of(events: Iterable[Event], delta: float) -> float:
    """The accountant's epsilon of all the events together at this delta, the reserves included, rounded up.

    ``delta`` is what the events' own ``failure_delta`` have left of the whole. Gaussian events, and with them slices of
    one law, are composed exactly; anything else by loss distributions, pessimistically. Questions may be adaptive:
    each event stands for a pair of laws that dominates its mechanism, and pairs compose (arXiv 2106.08567, Theorem 10).

    >>> half = dict(name="a", sensitivity=1.0, sigma=1.5, kind="slices", dim=9, directions="gaussian")
    >>> two = epsilon_of([Event(num_slices=5, **half), Event(num_slices=4, **half)], 1e-5)
    >>> two == epsilon_of([Event(num_slices=9, **half)], 1e-5)
    True
    """
    events = list(events)
    if any(e.kind in BY_RENYI for e in events):
        return _by_renyi(events, delta)
    if any(e.kind in BY_SAMPLE for e in events):
        return _by_sample(events, delta)
    beside, sliced = _parts(events)
    if not sliced:
        return derived_epsilon(beside, delta)
    net = delta * (1 - DELTA_RESERVE)
    one = _as_one(sliced)
    if one is not None and (one.rate == 1 or beside == 0):
        ratio = one.sensitivity / one.sigma
        epsilon = epsilon_at(net, one.shift, ratio=ratio, beside=beside, rate=one.rate, spread=one.spread)
    elif any(e.spread for e in sliced):
        raise UsageError(
            "slices of several laws are not composed where a unit has several rows; ask one question of slices, or "
            "take as many slices as coordinates, on a rotation"
        )
    else:
        laws = [(e.shift, e.sensitivity / e.sigma, e.rate, e.count) for e in sliced]
        epsilon = slice_pld.epsilon(laws, net, beside=beside)
    return epsilon / (1 - EPSILON_RESERVE) * (1 + SAFETY / 10) if isfinite(epsilon) else inf


def _by_renyi(events: list[Event], delta: float) -> float:
    """Epsilon where some events have a Renyi bound only: through these, or with the pure choices' epsilons added."""
    if any(e.kind == SLICES or e.kind in BY_SAMPLE for e in events):
        raise UsageError(
            "slices and samples are not composed with a choice or another library's answer; ask them in runs apart"
        )
    net = delta * (1 - DELTA_RESERVE)
    pure = sum(e.count * e.sensitivity / e.sigma for e in events if e.kind == EXPONENTIAL)
    others = [e for e in events if e.kind != EXPONENTIAL]
    through = zcdp.epsilon_of_rho(sum(e.rho for e in events), net) / (1 - EPSILON_RESERVE) * (1 + SAFETY / 10)
    if len(others) == len(events):
        return through
    return min(through, epsilon_of(others, delta) + pure / (1 - EPSILON_RESERVE) * (1 + SAFETY / 10))


def _by_sample(events: list[Event], delta: float) -> float:
    """Epsilon where some events are of samples: by loss distributions, all Gaussian events as one."""
    if any(e.kind == SLICES for e in events):
        raise UsageError("slices are not composed with sums over samples; ask them in runs apart")
    beside, steps = _parts(events)
    laws = tuple((e.sensitivity / e.sigma, e.rate, e.count, e.kind == REPLACED) for e in steps)
    epsilon = subsampled_gaussian.epsilon(laws, delta * (1 - DELTA_RESERVE), beside=beside)
    return epsilon / (1 - EPSILON_RESERVE) * (1 + SAFETY / 10) if isfinite(epsilon) else inf


def calibrate_rho(epsilon: float, delta: float, *, beside: float = 0.0) -> float:
    """The largest rho that a run may spend when a part of it is zero-concentrated only, rounded down; 0 if none.

    Gaussian questions count with half their mu**2. ``beside``: mu of what the run's other doors may ask.

    >>> round(calibrate_rho(1.0, 1e-5), 4)
    0.0305
    """
    check(epsilon, delta)
    target = epsilon * (1 - EPSILON_RESERVE) * (1 - SAFETY)
    whole = zcdp.rho_of_epsilon(target, delta * (1 - DELTA_RESERVE)) * (1 - SAFETY)
    return max(whole - beside**2 / 2, 0.0)


def accountant(events: Iterable[Event]) -> str:
    """The name of the calculus by which ``epsilon_of`` composes these events."""
    events = list(events)
    if any(e.kind in BY_RENYI for e in events):
        return RENYI
    if any(e.kind in BY_SAMPLE for e in events):
        return COMPOSED
    beside, sliced = _parts(events)
    if not sliced:
        return ACCOUNTANT
    one = _as_one(sliced)
    return INTEGRATED if one is not None and (one.rate == 1 or beside == 0) else COMPOSED


def _parts(events: Iterable[Event]) -> tuple[float, list[Event]]:
    """mu of the Gaussian events, and the others."""
    held = list(events)
    return total_mu(e for e in held if e.kind in BY_GAUSSIAN), [e for e in held if e.kind not in BY_GAUSSIAN]


def _as_one(sliced: list[Event]) -> Event | None:
    """All slices as one event, where their squared shifts add up to one of the same family; else None.

    Independent Gaussian directions of equal dim and noise: chi-squared degrees add.
    """
    first = sliced[0]
    if len(sliced) == 1 and first.count == 1:
        return first
    alike = {(e.dim, e.sensitivity / e.sigma, e.directions, e.rate) for e in sliced}
    if len(alike) > 1 or first.directions != "gaussian" or first.rate < 1:
        return None
    slices, spread = sum(e.count * e.num_slices for e in sliced), any(e.spread for e in sliced)
    return replace(first, count=1, num_slices=slices, spread=spread)


def imprecision(event: Event, *, cells: int, epsilon: float, delta: float) -> tuple[float, float]:
    """(epsilon, delta) that floating point adds to an event in which neighbours differ in ``cells`` told values.

    Sums over samples carry noise from a table, near enough to the ideal for any number of them. Random directions take
    the chance that their draws are farther off than the slack allows, from delta alone, since
    both tables share their law (mechanisms/slices.md, step 5).
    """
    if event.kind in BY_SAMPLE:
        return 0.0, event.count * cells * TABLED * (1 + exp(min(epsilon, 700.0)))
    more, lost = sampler_cost(epsilon, delta, sigma=event.sigma / event.pitch, draws=event.count * cells)
    if event.kind == SLICES and not event.shift.fixed:
        lost += event.count * (event.dim * event.num_slices * 2.0**-44 + sqrt(event.num_slices) * 2.0**-38)
    return more, lost


def total_mu(events: Iterable[Event]) -> float:
    """mu of all the events together.

    >>> total_mu([Event(name="a", sensitivity=3, sigma=1), Event(name="b", sensitivity=4, sigma=1)])
    5.0
    """
    return sqrt(sum(e.mu2 for e in events))
