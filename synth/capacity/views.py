"""The capacity-bounded view of noise, and of a method's releases: leakage against what an attacker can do.

A view beside epsilon, never in its place: bounds by attacker, exact curves by order, and several numbers at once.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synth.capacity.attackers import LearntBound, leakage
from synth.capacity.closed_form import (
    LAPLACE,
    NOISES,
    laplace_renyi_at_least,
    linear,
    published_linear_renyi,
    unrestricted,
)
from synth.capacity.exact import DEGREES, matrix_kl, matrix_renyi, polynomial_renyi
from synth.errors import UsageError
from synth.evaluate.audit import runs
from synth.evaluate.audit.neighbours import worst_pair
from synth.lazy import Lazy
from synth.pipeline.methods import generator_named, granted
from synth.privacy.accounting.events import GaussianDpEvent
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.relation import relation_named

optimize = Lazy("scipy.optimize")

ORDERS = (*(1.25 + 0.25 * i for i in range(12)), 4.5, 5.0, 5.5, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0)
LEAST, MOST = 1.01, 60.0  # orders between which a crossing is looked for
NAMES = {1: "linear", 2: "quadratic", 3: "cubic"}
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


def check_scale(scale: float | None) -> None:
    """Errors: UsageError for a scale of noise that is none, or beyond what is computed."""
    if scale is not None and not 1e-3 <= scale <= 1e3:
        raise UsageError(f"`scale={scale:g}`: must lie within 0.001 and 1000")


def noise_audit(
    noise: str,
    *,
    epsilon: float,
    delta: float = 1e-5,
    order: float | None = None,
    draws: int = 200_000,
    confidence: float = 0.999,
    seed: int = 0,
) -> Capacity:
    """One number of sensitivity one, with Laplace noise of scale 1 / epsilon or Gaussian calibrated to the guarantee.

    Simulated with a seed: this is about laws of noise, not about anybody's rows. Errors: UsageError.
    """
    if noise not in NOISES or draws < 1000:
        raise UsageError(f"capacity: choose one of {', '.join(NOISES)} and at least 1,000 draws")
    started, rng = time.perf_counter(), np.random.default_rng(seed)
    scale = _calibrated(noise, epsilon, delta)
    one, other = (rng.laplace if noise == LAPLACE else rng.normal)(size=(2, draws)) * scale
    known = {"linear": linear(noise, scale, order), "unrestricted": unrestricted(noise, scale, order)}
    return Capacity(
        mechanism=noise,
        epsilon=epsilon,
        delta=0.0 if noise == LAPLACE else delta,
        order=order,
        draws=draws,
        confidence=confidence,
        ceiling=known["unrestricted"],
        closed=known,
        attackers=tuple(leakage((one + 1)[:, None], other[:, None], rng=rng, order=order, confidence=confidence)),
        seconds=time.perf_counter() - started,
    )


def _calibrated(noise: str, epsilon: float, delta: float) -> float:
    """The scale of a noise on one number of sensitivity one."""
    return 1 / epsilon if noise == LAPLACE else 1 / calibrate(epsilon, delta)


def release_audit(
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
    """The releases of a registered method on worst-case neighbours. Errors: UsageError where its noise is not Gaussian.

    Attackers see the numbers of ``runs.told`` without the likelihood ratios, which would do their work. The ceiling is
    the divergence of the mu that the run may spend.
    """
    started, link = time.perf_counter(), relation_named(relation)
    generator = generator_named(method, link, options)
    pair = worst_pair(link)
    generator.check_schema(pair.schema)
    grant = granted(epsilon, delta, pair.adjacency, learning=False)
    parts = runs.RunParts(generator=generator, grant=grant)
    if not all(isinstance(e, GaussianDpEvent) for e in runs.measure(pair, pair.one, parts).events):
        raise UsageError(
            f"capacity: method {method} is not Gaussian throughout, so that its divergence has no closed form"
        )
    draw, done = runs.outputs(pair, parts), []

    def tick() -> None:
        done.append(1)
        if len(done) % 100 == 0:
            progress(len(done) / (2 * draws))

    sides = [runs.gathered(draw, rows, draws, tick) for rows in (pair.one, pair.other)]
    one, other, names = runs.matrix(sides[0], sides[1])
    moving = (np.concatenate([one, other]).std(0) > 0) & [not n.startswith("likelihood") for n in names]
    rng = np.random.default_rng(seed)
    ceiling = grant.mu**2 / 2 * (order or 1.0)
    return Capacity(
        mechanism=method,
        epsilon=epsilon,
        delta=delta,
        order=order,
        draws=draws,
        confidence=confidence,
        ceiling=ceiling,
        closed={"unrestricted": ceiling},
        attackers=tuple(leakage(one[:, moving], other[:, moving], rng=rng, order=order, confidence=confidence)),
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Of each attacker the divergence at each of the ``orders``; the last one, unrestricted, is the mechanism's own.

    ``scale``: b of Laplace noise, sigma of Gaussian. ``crossing``: the order from which the published bound on linear
    attackers says something, falling below the unrestricted divergence; None where the bound is not drawn.

    Privacy: public only: of a noise, nobody's rows.
    """

    noise: str
    scale: float
    epsilon: float | None
    crossing: float | None
    orders: tuple[float, ...]
    values: Mapping[str, tuple[float, ...]]

    def plain(self) -> dict[str, Any]:
        """The curves as JSON data."""
        return asdict(self)

    def in_words(self) -> list[str]:
        """A line an order."""
        at = f"of scale {self.scale:g}" if self.epsilon is None else f"at epsilon {self.epsilon:g}"
        lines = [f"{self.noise} {at}: Renyi divergence by order, exact: {', '.join(self.values)}"]
        if self.crossing is not None:
            lines.append(
                f"  the published bound on linear attackers falls below the unrestricted divergence from "
                f"order {self.crossing:.2f} on; the exact curves do not cross"
            )
        return lines + [
            f"  order {a:g}: " + ", ".join(f"{v[i]:.4f}" for v in self.values.values())
            for i, a in enumerate(self.orders)
        ]


def noise_curves(noise: str, *, epsilon: float, delta: float = 1e-5, scale: float | None = None) -> Curves:
    """Polynomials of degree 1 to 3, the unrestricted divergence, and the bounds that are published.

    One number of sensitivity one; Gaussian noise is calibrated to (epsilon, delta), or of this ``scale``. The published
    bound on linear attackers is drawn where it is one, at no order below the exact curve. Errors: UsageError.

    Privacy: public only.
    """
    if noise not in NOISES:
        raise UsageError(f"`curves=`: choose {' or '.join(NOISES)} as `method=`; curves describe a noise")
    check_scale(scale)
    asked = scale
    scale = asked or _calibrated(noise, epsilon, delta)
    result = {NAMES[d]: tuple(polynomial_renyi(noise, scale, a, d) for a in ORDERS) for d in DEGREES}
    bound = tuple(published_linear_renyi(noise, scale, a) for a in ORDERS)
    holds = all(b >= v for b, v in zip(bound, result["linear"], strict=True))
    if holds:
        result["published linear bound"] = bound
    if noise == LAPLACE:
        result["lower bound"] = tuple(max(laplace_renyi_at_least(1 / scale, a), 0.0) for a in ORDERS)
    result["unrestricted"] = tuple(unrestricted(noise, scale, a) for a in ORDERS)
    return Curves(
        noise=noise,
        scale=scale,
        epsilon=None if asked else epsilon,
        orders=ORDERS,
        values=result,
        crossing=_crossing(noise, scale) if holds else None,
    )


def _crossing(noise: str, scale: float) -> float | None:
    """The order at which the published bound meets the unrestricted divergence, if they meet."""

    def above(order: float) -> float:
        return published_linear_renyi(noise, scale, order) - unrestricted(noise, scale, order)

    if not above(LEAST) > 0 > above(MOST):
        return None
    return float(optimize.brentq(above, LEAST, MOST))


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
    check_scale(scale)
    strategy, asked = _read(path), None if scale else epsilon
    if scale is None:
        widest = float(np.linalg.norm(strategy, 1 if noise == LAPLACE else 2, axis=0).max())
        scale = widest * _calibrated(noise, epsilon, delta)
    reported = matrix_kl(strategy, noise, scale) if order is None else matrix_renyi(strategy, noise, scale, order)
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
