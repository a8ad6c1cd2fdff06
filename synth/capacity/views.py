"""The capacity-bounded view of noise, and of a method's releases: leakage against what an attacker can do.

A view beside epsilon, never in its place: bounds by attacker, and several numbers at once.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synth.capacity.attackers import LearntBound, leakage
from synth.capacity.closed_form import LAPLACE, NOISES, linear, of_strategy, unrestricted
from synth.errors import UsageError
from synth.evaluate.audit import runs
from synth.evaluate.audit.methods import ticker
from synth.evaluate.audit.neighbours import worst_pair
from synth.pipeline.methods import generator_named, granted
from synth.privacy.accounting.events import GaussianDpEvent
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.relation import relation_named

CELLS = 1_000_000  # most numbers of a strategy


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """Bounds by attacker, from the weakest on. ``order``: of a Renyi divergence, None for KL.

    ``ceiling``: the unrestricted divergence of the mechanism, which no attacker passes. ``closed``: what is known
    without draws. ``confidence``: of each bound.
    """

    mechanism: str
    epsilon: float
    delta: float
    order: float | None
    draws: int
    confidence: float
    ceiling: float
    closed: Mapping[str, float]
    attackers: tuple[LearntBound, ...]
    seconds: float

    @property
    def divergence(self) -> str:
        """The divergence in words."""
        return "KL" if self.order is None else f"Renyi of order {self.order:g}"

    @property
    def violated(self) -> bool:
        """Whether an attacker certainly saw more than the mechanism's divergence allows."""
        return any(a.bound > self.ceiling * (1 + 1e-9) for a in self.attackers)

    def plain(self) -> dict[str, Any]:
        """The view as JSON data."""
        return {**asdict(self), "divergence": self.divergence, "violated": self.violated}

    def in_words(self) -> list[str]:
        """The view as a few lines."""
        known = ", ".join(f"{name} {value:.4f}" for name, value in self.closed.items())
        lines = [f"{self.mechanism} at epsilon {self.epsilon:g}: {self.divergence} divergence, exact: {known}"]
        return lines + [f"  {a.name} ({a.parameters} parameters): at least {a.bound:.4f}" for a in self.attackers]


def capacity_audit(
    method: str,
    *,
    epsilon: float,
    delta: float = 1e-5,
    relation: str = "add_remove",
    order: float | None = None,
    draws: int = 20_000,
    confidence: float = 0.999,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Callable[[float], None] = lambda _: None,
) -> Capacity:
    """One number of sensitivity one with a noise of ``NOISES``, or the releases of a registered method on worst-case
    neighbours.

    Laplace noise has scale 1 / epsilon, Gaussian is calibrated to the guarantee; both are simulated with a seed, since
    this is about laws of noise, not about anybody's rows. Of a method attackers see the numbers of ``runs.told``
    without the likelihood ratios, which would do their work, and the ceiling is the divergence of the mu that the run
    may spend. Errors: UsageError, also where a method's noise is not Gaussian.
    """
    started, rng = time.perf_counter(), np.random.default_rng(seed)
    if method in NOISES:
        if draws < 1000:
            raise UsageError("capacity: a noise needs at least 1,000 draws")
        scale = _calibrated(method, epsilon, delta)
        one, other = (rng.laplace if method == LAPLACE else rng.normal)(size=(2, draws, 1)) * scale
        sides = one + 1, other
        known = {"linear": linear(method, scale, order), "unrestricted": unrestricted(method, scale, order)}
    else:
        mu, one, other = _told(method, epsilon, delta, relation, options, draws, progress)
        sides = one, other
        known = {"unrestricted": mu**2 / 2 * (order or 1.0)}
    return Capacity(
        mechanism=method,
        epsilon=epsilon,
        delta=0.0 if method == LAPLACE else delta,
        order=order,
        draws=draws,
        confidence=confidence,
        ceiling=known["unrestricted"],
        closed=known,
        attackers=tuple(leakage(*sides, rng=rng, order=order, confidence=confidence)),
        seconds=time.perf_counter() - started,
    )


def _calibrated(noise: str, epsilon: float, delta: float) -> float:
    """The scale of a noise on one number of sensitivity one."""
    return 1 / epsilon if noise == LAPLACE else 1 / calibrate(epsilon, delta)


def _told(
    method: str,
    epsilon: float,
    delta: float,
    relation: str,
    options: Mapping[str, Any] | None,
    draws: int,
    progress: Callable[[float], None],
) -> tuple[Any, ...]:
    """The mu that a run may spend, and what it told of either table, (draws, k) each."""
    link = relation_named(relation)
    generator, pair = generator_named(method, link, options), worst_pair(link)
    generator.check_schema(pair.schema)
    grant = granted(epsilon, delta, pair.adjacency, learning=False)
    parts = runs.RunParts(generator=generator, grant=grant)
    if not all(isinstance(e, GaussianDpEvent) for e in runs.measure(pair, pair.one, parts).events):
        raise UsageError(
            f"capacity: method {method} is not Gaussian throughout, so that its divergence has no closed form"
        )
    tick = ticker(2 * draws, progress)
    sides = [runs.gathered(runs.outputs(pair, parts), rows, draws, tick) for rows in (pair.one, pair.other)]
    one, other, names = runs.matrix(*sides)
    moving = (np.concatenate([one, other]).std(0) > 0) & [not n.startswith("likelihood") for n in names]
    return grant.mu, one[:, moving], other[:, moving]


@dataclass(frozen=True, kw_only=True)
class StrategyView:
    """Divergences of the answers A x + noise when one count of x changes by one, at the worst count.

    ``order``: of Renyi's divergence, None for KL. ``linear``: what linear attackers see, ``exact`` or else a bound from
    above; ``unrestricted``: what there is.

    Privacy: public only: of a noise and of public questions, nobody's rows.
    """

    noise: str
    scale: float
    epsilon: float | None
    order: float | None
    answers: int
    counts: int
    linear: float
    unrestricted: float
    exact: bool

    def plain(self) -> dict[str, Any]:
        """The view as JSON data."""
        return asdict(self)

    def in_words(self) -> list[str]:
        """The view as a few lines."""
        kind = "KL" if self.order is None else f"Renyi of order {self.order:g}"
        at = "" if self.epsilon is None else f" (epsilon {self.epsilon:g})"
        return [
            f"{self.answers} answers about {self.counts} counts, {self.noise} noise of scale {self.scale:.4g}{at}",
            f"{kind} divergence when the worst count changes by one:",
            f"  linear attackers: {'' if self.exact else 'at most '}{self.linear:.4f}",
            f"  unrestricted: {self.unrestricted:.4f}",
        ]


def strategy_view(
    path: Path,
    *,
    noise: str,
    epsilon: float,
    delta: float = 1e-5,
    order: float | None = None,
    scale: float | None = None,
) -> StrategyView:
    """The view of a strategy in a file: numbers A (answers, counts), a line an answer, commas between them, no header.

    Without ``scale`` the noise is calibrated: Laplace of the largest column's sum of absolute values / epsilon,
    Gaussian of its length times what (epsilon, delta) asks. Errors: UsageError.

    Privacy: public only.
    """
    if noise not in NOISES:
        raise UsageError(f"`strategy=`: choose {' or '.join(NOISES)} as `method=`; a strategy's answers have a noise")
    if scale is not None and not 1e-3 <= scale <= 1e3:
        raise UsageError(f"`scale={scale:g}`: must lie within 0.001 and 1000")
    strategy, asked = _read(path), None if scale else epsilon
    if scale is None:
        widest = float(np.linalg.norm(strategy, 1 if noise == LAPLACE else 2, axis=0).max())
        scale = widest * _calibrated(noise, epsilon, delta)
    reported = of_strategy(strategy, noise, scale, order)
    answers, counts = strategy.shape
    bound = noise == LAPLACE and order not in (None, 2.0) and bool((np.count_nonzero(strategy, axis=0) > 1).any())
    return StrategyView(
        noise=noise,
        scale=scale,
        epsilon=asked,
        order=order,
        answers=answers,
        counts=counts,
        linear=reported["linear"],
        unrestricted=reported["unrestricted"],
        exact=not bound,
    )


def _read(path: Path) -> np.ndarray:
    """The matrix. Errors: UsageError where it is none, or asks for nothing."""
    try:
        result = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8")
    except (OSError, ValueError):  # a directory, binary rubbish, lines of different lengths
        result = np.empty((0, 0))
    if not 0 < result.size <= CELLS or not np.isfinite(result).all() or not result.any():
        raise UsageError(
            f"`strategy={path}`: must be a file of finite numbers, not all zero and at most {CELLS:,}: "
            "a line an answer, commas between them"
        )
    return result
