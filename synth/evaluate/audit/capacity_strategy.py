"""Several numbers at once, and the matrix mechanism: what linear attackers see of a strategy's noisy answers."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.evaluate.audit.bounded_attackers import matrix_kl, matrix_renyi
from synth.evaluate.audit.capacity import NOISES, check_scale
from synth.privacy.accounting.composition import calibrate

CELLS = 1_000_000  # most numbers of a strategy


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
    strategy, asked, sigma = _read(path), None if scale else epsilon, 1 / calibrate(epsilon, delta)
    if scale is None:
        widest = float(np.linalg.norm(strategy, 1 if noise == "laplace" else 2, axis=0).max())
        scale = widest / epsilon if noise == "laplace" else widest * sigma
    reported = matrix_kl(strategy, noise, scale) if order is None else matrix_renyi(strategy, noise, scale, order)
    answers, counts = strategy.shape
    bound = noise == "laplace" and order not in (None, 2.0) and bool((np.count_nonzero(strategy, axis=0) > 1).any())
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
