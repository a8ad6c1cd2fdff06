"""Leakage of a noise to attackers of growing capacity, against the order of Renyi's divergence: exact curves."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from synth.errors import UsageError
from synth.evaluate.audit import bounded_attackers as closed
from synth.evaluate.audit.bounded_attackers.polynomials import DEGREES, polynomial_renyi
from synth.evaluate.audit.capacity import NOISES, check_scale
from synth.lazy import Lazy
from synth.privacy.accounting.composition import calibrate

optimize = Lazy("scipy.optimize")

ORDERS = (
    1.25,
    1.5,
    1.75,
    2.0,
    2.25,
    2.5,
    2.75,
    3.0,
    3.25,
    3.5,
    3.75,
    4.0,
    4.5,
    5.0,
    5.5,
    6.0,
    8.0,
    10.0,
    12.0,
    15.0,
    20.0,
)
LEAST, MOST = 1.01, 60.0  # orders between which a crossing is looked for
NAMES = {1: "linear", 2: "quadratic", 3: "cubic"}


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
    laplace, asked = noise == "laplace", scale
    scale = asked or (1 / epsilon if laplace else 1 / calibrate(epsilon, delta))
    result = {NAMES[d]: tuple(polynomial_renyi(noise, scale, a, d) for a in ORDERS) for d in DEGREES}
    bound = tuple(closed.published_linear_renyi(noise, scale, a) for a in ORDERS)
    holds = all(b >= v for b, v in zip(bound, result["linear"], strict=True))
    if holds:
        result["published linear bound"] = bound
    if laplace:
        result["lower bound"] = tuple(max(closed.laplace_renyi_at_least(1 / scale, a), 0.0) for a in ORDERS)
    result["unrestricted"] = tuple(_whole(noise, scale, a) for a in ORDERS)
    return Curves(
        noise=noise,
        scale=scale,
        epsilon=None if asked else epsilon,
        orders=ORDERS,
        values=result,
        crossing=_crossing(noise, scale) if holds else None,
    )


def _whole(noise: str, scale: float, order: float) -> float:
    """The mechanism's own divergence."""
    return closed.laplace_renyi(1 / scale, order) if noise == "laplace" else closed.gaussian_renyi(scale, order)


def _crossing(noise: str, scale: float) -> float | None:
    """The order at which the published bound meets the unrestricted divergence, if they meet."""

    def above(order: float) -> float:
        return closed.published_linear_renyi(noise, scale, order) - _whole(noise, scale, order)

    if not above(LEAST) > 0 > above(MOST):
        return None
    return float(optimize.brentq(above, LEAST, MOST))
