"""The two-layer ReLU attacker, a linear part included so that it can do whatever the linear one can."""

from typing import Any

import numpy as np


def train(
    one: np.ndarray,
    other: np.ndarray,
    *,
    order: float | None,
    rng: np.random.Generator,
    hidden: int,
    steps: int,
    batch: int,
) -> tuple[Any, int]:
    """(function of draws (n, k), number of parameters), by Adam with steps that shrink to nothing."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    wide = one.shape[1]
    starts = (
        rng.normal(size=(wide, hidden)) / wide**0.5,
        rng.normal(size=hidden),
        np.zeros(hidden),
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
        picked = [s[torch.from_numpy(rng.integers(0, len(s), batch))] for s in sides]
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
