"""The capacity-bounded view of noise, and of a method's releases: leakage against what an attacker can do."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.evaluate.audit import bounded_attackers as closed
from synth.evaluate.audit import runs
from synth.evaluate.audit.bounded_attackers import LearntBound, leakage
from synth.evaluate.audit.neighbours import worst_pair
from synth.pipeline.methods import generator_named, granted
from synth.privacy.accounting.composition import GaussianDpEvent, calibrate
from synth.privacy.relation import relation_named

NOISES = ("laplace", "gaussian")


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
    sigma = 1 / calibrate(epsilon, delta)
    if noise == "laplace":
        one, other = rng.laplace(size=(2, draws)) / epsilon
        known = _laplace(epsilon, order)
    else:
        one, other = rng.normal(size=(2, draws)) * sigma
        known = _gaussian(sigma, order)
    result = leakage((one + 1)[:, None], other[:, None], rng=rng, order=order, confidence=confidence)
    return Capacity(
        mechanism=noise,
        epsilon=epsilon,
        delta=0.0 if noise == "laplace" else delta,
        order=order,
        draws=draws,
        confidence=confidence,
        ceiling=known["unrestricted"],
        closed=known,
        attackers=tuple(result),
        seconds=time.perf_counter() - started,
    )


def _laplace(epsilon: float, order: float | None) -> dict[str, float]:
    if order is None:
        return {"linear": closed.laplace_linear_kl(epsilon), "unrestricted": closed.laplace_kl(epsilon)}
    return {"linear": closed.laplace_linear_renyi(epsilon, order), "unrestricted": closed.laplace_renyi(epsilon, order)}


def _gaussian(sigma: float, order: float | None) -> dict[str, float]:
    if order is None:
        return {"linear": closed.gaussian_kl(sigma), "unrestricted": closed.gaussian_kl(sigma)}
    return {"linear": closed.gaussian_linear_renyi(sigma, order), "unrestricted": closed.gaussian_renyi(sigma, order)}


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
    result = leakage(one[:, moving], other[:, moving], rng=rng, order=order, confidence=confidence)
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
        attackers=tuple(result),
        seconds=time.perf_counter() - started,
    )
