"""Attackers of growing capacity, trained on draws of a release from two neighbouring tables, judged on fresh draws.

A trained function's value on the draws it was trained on says more than is true; held-out draws with a confidence bound
never do (up to the confidence stated).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import log, sqrt
from typing import Any

import numpy as np

from synth.lazy import Lazy

optimize = Lazy("scipy.optimize")

Judge = Callable[[np.ndarray], np.ndarray]  # draws (n, k) -> the attacker's function (n,)
DEGREE, WAVES, HIDDEN, STEPS, BATCH = 3, 100, 32, 1500, 4096
FITTED = 30_000  # draws on which convex classes are fitted: more change little
WIDEST = 50.0  # no function is held wider: its exponential would be beyond all use
EPOCHS, FEWEST_STEPS = 40, 300  # most times a network sees each draw, and fewest steps
RIDGE = 1e-4  # keeps waves that are nearly alike from cancelling each other with huge weights
OUTER = 5e-4  # of the draws at either end: beyond them waves have nothing to be fitted to
TAIL = 2e-4  # of the training draws at either end, beyond which a function is held: its range enters the bound


@dataclass(frozen=True, kw_only=True)
class LearntBound:
    """``bound``: on the divergence that the attacker sees, from below; ``in_sample``: its value while training."""

    name: str
    parameters: int
    bound: float
    in_sample: float


def linear(x: np.ndarray, rng: np.random.Generator) -> Judge:  # noqa: ARG001
    """The numbers themselves."""
    return lambda seen: seen


def polynomial(x: np.ndarray, rng: np.random.Generator) -> Judge:  # noqa: ARG001
    """All products of up to ``DEGREE`` of at most eight numbers, held within the range of the training draws."""
    wide = min(x.shape[1], 8)
    low, high = x[:, :wide].min(0), x[:, :wide].max(0)
    scale = np.maximum(np.abs(np.stack([low, high])).max(0), 1e-12) / 2
    more = [c for d in range(2, DEGREE + 1) for c in combinations_with_replacement(range(wide), d)]

    def features(seen: np.ndarray) -> np.ndarray:
        held = np.clip(seen[:, :wide], low, high) / scale
        return np.hstack([seen, *[held[:, list(c)].prod(1, keepdims=True) for c in more]])

    return features


def kernel(x: np.ndarray, rng: np.random.Generator) -> Judge:
    """The numbers, held within all but their outermost draws, and random Fourier features of a Gaussian kernel."""
    low, high = np.quantile(x, [OUTER, 1 - OUTER], axis=0)
    spread = np.maximum(x.std(0), 1e-12) * sqrt(x.shape[1])
    frequencies = rng.normal(size=(x.shape[1], WAVES)) / spread[:, None] * 1.5
    phases = rng.uniform(0, 2 * np.pi, WAVES)

    def features(seen: np.ndarray) -> np.ndarray:
        held = np.clip(seen, low, high)
        return np.hstack([held, np.cos(held @ frequencies + phases)])

    return features


CLASSES: dict[str, Callable[[np.ndarray, np.random.Generator], Judge]] = {
    "linear": linear,
    "polynomial": polynomial,
    "kernel": kernel,
}
RELU = "two-layer ReLU"
ATTACKERS = (*CLASSES, RELU)


def leakage(
    one: np.ndarray,
    other: np.ndarray,
    *,
    rng: np.random.Generator,
    order: float | None = None,
    confidence: float = 0.999,
    attackers: tuple[str, ...] = ATTACKERS,
) -> list[LearntBound]:
    """Lower bounds on the divergence of ``one`` (n, k) from ``other``, KL or Renyi of an ``order``, by attacker.

    Half of the draws train, half judge. **Guarantee**: each bound exceeds the divergence with probability at most
    1 - confidence.
    """
    centre, spread = other.mean(0), np.maximum(np.concatenate([one, other]).std(0), 1e-12)
    sides = [(side.reshape(len(side), -1) - centre) / spread for side in (one, other)]
    half = min(len(s) for s in sides) // 2
    trained, judged = [s[:half] for s in sides], [s[half : 2 * half] for s in sides]
    results = []
    for name in attackers:
        judge, parameters = _trained(name, trained[0], trained[1], order, rng)
        values = [judge(s) for s in trained]
        ends = _ends(np.concatenate(values))
        seen, held = [np.clip(v, *ends) for v in values], [np.clip(judge(s), *ends) for s in judged]
        results.append(
            LearntBound(
                name=name,
                parameters=parameters,
                bound=certain(held[0], held[1], ends, order=order, failure=1 - confidence),
                in_sample=_value(float(seen[0].mean()), float(_moment(seen[1], order).mean()), order),
            )
        )
    return results


def _ends(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [TAIL, 1 - TAIL])
    return max(float(low), -WIDEST), min(float(high), WIDEST)


def _moment(h: np.ndarray, order: float | None) -> np.ndarray:
    """What is averaged over the other table's draws."""
    return np.exp(h) if order is None else np.abs(h) ** (order / (order - 1))


def _value(mean: float, moment: float, order: float | None) -> float:
    """The divergence that these two means amount to."""
    if order is None:
        return mean - log(moment)
    power = order / (order - 1)
    return power * (log(mean) - log(moment) / power) if mean > 0 and moment > 0 else 0.0


def certain(
    one: np.ndarray, other: np.ndarray, ends: tuple[float, float], *, order: float | None, failure: float
) -> float:
    """The divergence that held-out values of a function with this range prove, 0 or more.

    **Source**: Donsker and Varadhan's formula (KL), its like for Renyi (properties.md); means bounded by Maurer and
    Pontil, arXiv 0907.3740, Theorem 4.
    """
    moments = _moment(other, order)
    top = float(_moment(np.array(ends), order).max())
    mean = float(one.mean()) - _slack(one, ends[1] - ends[0], failure / 2)
    return max(_value(mean, float(moments.mean()) + _slack(moments, top, failure / 2), order), 0.0)


def _slack(draws: np.ndarray, width: float, failure: float) -> float:
    """By how much the mean of bounded draws may be off, on one side."""
    reach = log(2 / failure)
    return sqrt(2 * float(draws.var(ddof=1)) * reach / len(draws)) + 7 * width * reach / (3 * (len(draws) - 1))


def _trained(
    name: str, one: np.ndarray, other: np.ndarray, order: float | None, rng: np.random.Generator
) -> tuple[Judge, int]:
    if name == RELU:
        steps = max(FEWEST_STEPS, min(STEPS, EPOCHS * len(one) // BATCH))
        return _network(one, other, order, rng, steps)
    features = CLASSES[name](np.concatenate([one, other]), rng)
    a, b = (np.column_stack([np.ones(min(len(s), FITTED)), features(s[:FITTED])]) for s in (one, other))
    weights = _fitted(a, b, order)
    return (lambda seen: weights[0] + features(seen) @ weights[1:]), len(weights)


def _fitted(a: np.ndarray, b: np.ndarray, order: float | None) -> np.ndarray:
    """Weights (k,) of the best function on the training features, the constant first."""
    power = 1.0 if order is None else order / (order - 1)
    start = np.zeros(a.shape[1])
    start[0] = 0.0 if order is None else 1.0

    means = a.mean(0)
    held = np.ones(a.shape[1])
    held[0] = 0.0

    def penalty(w: np.ndarray) -> float:
        return RIDGE * float(held @ w**2)

    def lost(w: np.ndarray) -> tuple[float, np.ndarray]:
        g, h = a @ w, b @ w
        if order is None:
            tilt = np.exp(h - h.max())
            value = float(np.log(tilt.mean()) + h.max() - g.mean())
            return value + penalty(w), b.T @ (tilt / tilt.sum()) - means + 2 * RIDGE * w * held
        mean = max(float(g.mean()), 1e-9)
        size = np.abs(h) ** power
        down = b.T @ (np.abs(h) ** (power - 1) * np.sign(h)) / size.sum()
        return float(np.log(size.mean()) / power - log(mean)) + penalty(w), down - means / mean + 2 * RIDGE * w * held

    return optimize.minimize(lost, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x


def _network(
    one: np.ndarray, other: np.ndarray, order: float | None, rng: np.random.Generator, steps: int
) -> tuple[Judge, int]:
    """The two-layer ReLU attacker, a linear part included so that it can do whatever the linear one can.

    (Function of draws (n, k), number of parameters), by Adam with steps that shrink to nothing.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    wide = one.shape[1]
    starts = (
        rng.normal(size=(wide, HIDDEN)) / wide**0.5,
        rng.normal(size=HIDDEN),
        np.zeros(HIDDEN),
        np.zeros(wide),
        np.array(0.0 if order is None else 1.0),
    )
    weights = [torch.tensor(s, dtype=torch.float32) for s in starts]
    for w in weights:
        w.requires_grad_()
    optimiser = torch.optim.Adam(weights, lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    sides = [torch.from_numpy(np.ascontiguousarray(s, dtype=np.float32)) for s in (one, other)]
    for _ in range(steps):
        picked = [s[torch.from_numpy(rng.integers(0, len(s), BATCH))] for s in sides]
        optimiser.zero_grad()
        _lost(_judged(picked[0], weights), _judged(picked[1], weights), order).backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        schedule.step()
    torch.set_num_threads(before)
    fixed = [w.detach().numpy().astype(np.float64) for w in weights]

    def judge(seen: np.ndarray) -> np.ndarray:
        return np.maximum(seen @ fixed[0] + fixed[1], 0) @ fixed[2] + seen @ fixed[3] + fixed[4]

    return judge, sum(w.size for w in fixed)


def _judged(x: Any, weights: list[Any]) -> Any:
    return (x @ weights[0] + weights[1]).relu() @ weights[2] + x @ weights[3] + weights[4]


def _lost(g: Any, h: Any, order: float | None) -> Any:
    import torch

    if order is None:
        return torch.logsumexp(h, 0) - float(np.log(len(h))) - g.mean()
    power = order / (order - 1)
    return torch.log((h.abs() ** power).mean()) / power - torch.log(g.mean().clamp_min(1e-6))
