"""Leakage of a noise to attackers of growing capacity, against the order of Renyi's divergence: exact curves."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from synth.errors import UsageError
from synth.evaluate.audit import bounded_attackers as closed
from synth.evaluate.audit.bounded_attackers.polynomials import DEGREES, polynomial_renyi
from synth.evaluate.audit.capacity import NOISES
from synth.privacy.accounting.composition import calibrate

ORDERS = (1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5, 3.75, 4.0, 4.5, 5.0, 5.5, 6.0)
NAMES = {1: "linear", 2: "quadratic", 3: "cubic"}


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Of each attacker the divergence at each of the ``orders``; the last one, unrestricted, is the mechanism's own.

    Privacy: public only: of a noise, nobody's rows.
    """

    noise: str
    epsilon: float
    orders: tuple[float, ...]
    values: Mapping[str, tuple[float, ...]]

    def plain(self) -> dict[str, Any]:
        """The curves as JSON data."""
        return asdict(self)

    def in_words(self) -> list[str]:
        """A line an order."""
        lines = [
            f"{self.noise} at epsilon {self.epsilon:g}: Renyi divergence by order, exact: {', '.join(self.values)}"
        ]
        return lines + [f"  order {a:g}: " + ", ".join(f"{v[i]:.4f}" for v in self.values.values())
                        for i, a in enumerate(self.orders)]  # fmt: skip


def noise_curves(noise: str, *, epsilon: float, delta: float = 1e-5) -> Curves:
    """Polynomials of degree 1 to 3, the unrestricted divergence, and for Laplace noise the bound that is published.

    One number of sensitivity one; Gaussian noise is calibrated to (epsilon, delta). Errors: UsageError.

    Privacy: public only.
    """
    if noise not in NOISES:
        raise UsageError(f"--curves: choose --method {' or '.join(NOISES)}; curves are of a noise")
    scale = 1 / epsilon if noise == "laplace" else 1 / calibrate(epsilon, delta)
    found = {NAMES[d]: tuple(polynomial_renyi(noise, scale, a, d) for a in ORDERS) for d in DEGREES}
    if noise == "laplace":
        found["lower bound"] = tuple(max(closed.laplace_renyi_at_least(epsilon, a), 0.0) for a in ORDERS)
        found["unrestricted"] = tuple(closed.laplace_renyi(epsilon, a) for a in ORDERS)
    else:
        found["unrestricted"] = tuple(closed.gaussian_renyi(scale, a) for a in ORDERS)
    return Curves(noise=noise, epsilon=epsilon, orders=ORDERS, values=found)
