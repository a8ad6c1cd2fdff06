"""What papers bound where our own account is exact (composition.py): for comparison only, never for a charge.

Functional Renyi privacy as its paper composes it, one after the other, side by side, sampled: what the published
analysis of DP-kernel needs, and the tests say by how much more noise. Source: *Functional Renyi Differential Privacy
for Generative Modeling* (NeurIPS 2023), whose composition is that of ordinary Renyi privacy (Mironov, arXiv 1702.07476;
sampled: arXiv 1908.10530).

Proof note: synth/mechanisms/functional.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, log1p, sqrt

import numpy as np

from synth.lazy import Lazy
from synth.privacy.accounting.slice_profile import Shift
from synth.privacy.relation import Relation

rdp = Lazy("dp_accounting.rdp")
special = Lazy("scipy.special")

ORDERS = tuple(range(2, 513))


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A bound on the Renyi divergence, ``values``, at each of the ``orders``, all above 1."""

    orders: tuple[float, ...]
    values: tuple[float, ...]

    def epsilon(self, delta: float) -> float:
        """The least epsilon that the curve gives at this delta (arXiv 2004.00010, Proposition 12)."""
        return float(rdp.compute_epsilon(np.array(self.orders), np.array(self.values), delta)[0])


def gaussian(*, sensitivity: float, sigma: float, orders: Sequence[float] = ORDERS) -> Curve:
    """One Gaussian release, or a whole Gaussian path: a sensitivity^2 / 2 sigma^2 at order a.

    >>> gaussian(sensitivity=1, sigma=2, orders=(2, 8)).values
    (0.25, 1.0)
    """
    return Curve(orders=tuple(orders), values=tuple(a * sensitivity**2 / (2 * sigma**2) for a in orders))


def subsampled(
    *, sensitivity: float, sigma: float, rate: float, relation: Relation, orders: Sequence[int] = ORDERS
) -> Curve:
    """A Gaussian release over a Poisson sample of ``rate``; whole orders only. Errors: ValueError under replace_one.

    exp((a - 1) R_a) = sum over k of C(a, k) (1 - q)^(a - k) q^k exp(k (k - 1) s^2 / 2 sigma^2).
    """
    if relation is Relation.REPLACE_ONE:
        raise ValueError("Poisson sampling under replace_one has no proof here")
    if rate in (0.0, 1.0):
        whole = gaussian(sensitivity=sensitivity, sigma=sigma, orders=orders)
        return Curve(orders=whole.orders, values=tuple(v * rate for v in whole.values))
    values = tuple(_sampled(int(a), rate, (sensitivity / sigma) ** 2) for a in orders)
    return Curve(orders=tuple(orders), values=values)


def _sampled(order: int, rate: float, ratio2: float) -> float:
    k = np.arange(order + 1)
    chosen = special.gammaln(order + 1) - special.gammaln(k + 1) - special.gammaln(order - k + 1)
    terms = chosen + (order - k) * np.log1p(-rate) + k * log(rate) + k * (k - 1) * ratio2 / 2
    return max(float(special.logsumexp(terms)), 0.0) / (order - 1)


def sequential(curves: Sequence[Curve]) -> Curve:
    """Releases on the same rows: divergences add, adaptively too. Errors: ValueError for unlike orders."""
    _alike(curves)
    return Curve(orders=curves[0].orders, values=tuple(np.sum([c.values for c in curves], axis=0).tolist()))


def parallel(curves: Sequence[Curve], *, relation: Relation, replaced: Sequence[Curve] | None = None) -> Curve:
    """One release for each part of a partition of the rows, for instance each class.

    A row that comes, goes or is blanked touches one part: the dearest counts. A replaced row may leave one part and
    enter another, which costs the two dearest together, or be ``replaced`` within one (a curve of each part for
    that): the dearer of both. Errors: ValueError for unlike orders, or where ``replaced`` is not given.
    """
    _alike(curves)
    table = np.array([c.values for c in curves])
    if relation is not Relation.REPLACE_ONE:
        return Curve(orders=curves[0].orders, values=tuple(table.max(0).tolist()))
    if replaced is None:
        raise ValueError("replace_one needs the parts' curves for a row replaced within one")
    _alike([*curves, *replaced])
    within = np.array([c.values for c in replaced]).max(0)
    two = np.sort(table, axis=0)[-2:].sum(0) if len(table) > 1 else within
    return Curve(orders=curves[0].orders, values=tuple(np.maximum(within, two).tolist()))


def least_sigma(*, epsilon: float, delta: float, sensitivity: float) -> float:
    """The least noise of one Gaussian release that its Renyi curve shows to be (epsilon, delta)-private, rounded up.

    Errors: ValueError where no noise is enough.
    """
    low, high = 0.0, 1.0
    while gaussian(sensitivity=sensitivity, sigma=high).epsilon(delta) > epsilon:
        low, high = high, 2 * high
        if high == inf:
            raise ValueError("no noise is enough at these orders; choose a larger epsilon or delta")
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        enough = gaussian(sensitivity=sensitivity, sigma=middle).epsilon(delta) <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return high


def _alike(curves: Sequence[Curve]) -> None:
    if len({c.orders for c in curves}) != 1:
        raise ValueError("curves need the same orders, and there must be one at least")


def slices_renyi(order: float, shift: Shift, *, ratio: float) -> float:
    """Exact Renyi divergence of the given order (> 1) of slices with Gaussian directions; inf where it diverges.

    **Source**: the moment generating function of chi-squared, in place of its bound in arXiv 2410.19941, Theorem 1.

    Errors: ValueError for directions that are not Gaussian.

    >>> round(slices_renyi(2.0, Shift(100, 100), ratio=0.1), 6)
    0.010001
    """
    if shift.directions != "gaussian":
        raise ValueError("only Gaussian directions have this closed form")
    t = order * (order - 1) * ratio**2 / shift.dim
    return -shift.num_slices / (2 * (order - 1)) * log1p(-t) if t < 1 else inf


def theorem_1_epsilon(order: float, delta_: float, *, sigma: float, dim: int, num_slices: int) -> float:
    """The published epsilon at sensitivity 1 and this order; inf where its condition order^2 - order < sigma^2 d fails.

    Renyi divergence at most order * num_slices / (2 (sigma**2 dim - order (order - 1))), and log(1 / delta) / (order -
    1). **Source**: arXiv 2410.19941, Theorem 1.
    """
    room = sigma**2 * dim - order * (order - 1)
    return order * num_slices / (2 * room) + log(1 / delta_) / (order - 1) if room > 0 else inf


def remark_2(delta_: float, *, sigma: float, dim: int, num_slices: int) -> tuple[float, float]:
    """The order that the text chooses, 1 + sqrt(sigma^2 d ln(1/delta) / m'), and the epsilon that it then states.

    The statement is an upper bound only, where gamma is at most d / 2: its middle coefficient would have to be 1 + d /
    (2 (d - gamma)), without the root, and Theorem 1 at that order is less. **Source**: arXiv 2410.19941, Remark 2.

    >>> facts = dict(sigma=0.557, dim=778, num_slices=200)
    >>> order, stated = remark_2(1e-5, **facts)
    >>> round(theorem_1_epsilon(order, 1e-5, **facts), 2), round(stated, 2)
    (5.2, 5.8)
    """
    part = num_slices / (sigma**2 * dim)
    order = 1 + sqrt(log(1 / delta_) / part)
    rest = dim / (2 * (dim - order * (order - 1) / sigma**2))
    return order, part * rest + (1 + sqrt(rest)) * sqrt(part * log(1 / delta_)) if rest > 0 else inf


def pure_advanced(epsilon: float, runs: int, slack: float) -> float:
    """The textbook form for ``runs`` mechanisms of equal epsilon and delta 0: eps sqrt(2 k ln(1/d)) + 2 k eps^2.

    **Source**: Dwork and Roth, Theorem 3.20, with its k eps (e^eps - 1) bounded by 2 k eps^2 for eps <= 1.

    >>> round(pure_advanced(0.1, 100, 1e-6), 2)
    7.26
    """
    return epsilon * sqrt(2 * runs * log(1 / slack)) + 2 * runs * epsilon**2
