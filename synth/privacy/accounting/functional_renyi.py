"""Functional Renyi privacy as its paper composes it: one after the other, side by side, sampled. For comparison only.

Our own account is exact (composition.py); this is what the published analysis of DP-kernel needs instead, and the tests
say by how much more noise. Source: *Functional Renyi Differential Privacy for Generative Modeling* (NeurIPS 2023),
whose composition is that of ordinary Renyi privacy (Mironov, arXiv 1702.07476; sampled: arXiv 1908.10530).

Proof note: synth/mechanisms/functional.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log

import numpy as np

from synth.lazy import Lazy
from synth.privacy.relation import Relation

rdp = Lazy("dp_accounting.rdp")
special = Lazy("scipy.special")

ORDERS = tuple(range(2, 513))


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A bound on the Renyi divergence, ``values``, at each of the ``orders``, all above 1.

    Privacy: public only.
    """

    orders: tuple[float, ...]
    values: tuple[float, ...]

    def epsilon(self, delta: float) -> float:
        """The least epsilon that the curve gives at this delta (arXiv 2004.00010, Proposition 12)."""
        return float(rdp.compute_epsilon(np.array(self.orders), np.array(self.values), delta)[0])


def gaussian(*, sensitivity: float, sigma: float, orders: Sequence[float] = ORDERS) -> Curve:
    """One Gaussian release, or a whole Gaussian path: a sensitivity^2 / 2 sigma^2 at order a.

    Privacy: public only.

    >>> gaussian(sensitivity=1, sigma=2, orders=(2, 8)).values
    (0.25, 1.0)
    """
    return Curve(orders=tuple(orders), values=tuple(a * sensitivity**2 / (2 * sigma**2) for a in orders))


def subsampled(
    *, sensitivity: float, sigma: float, rate: float, relation: Relation, orders: Sequence[int] = ORDERS
) -> Curve:
    """A Gaussian release over a Poisson sample of ``rate``; whole orders only. Errors: ValueError under replace_one.

    exp((a - 1) R_a) = sum over k of C(a, k) (1 - q)^(a - k) q^k exp(k (k - 1) s^2 / 2 sigma^2).

    Privacy: public only.
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
    """Releases on the same rows: divergences add, adaptively too. Errors: ValueError for unlike orders.

    Privacy: public only.
    """
    _alike(curves)
    return Curve(orders=curves[0].orders, values=tuple(np.sum([c.values for c in curves], axis=0).tolist()))


def parallel(curves: Sequence[Curve], *, relation: Relation, replaced: Sequence[Curve] | None = None) -> Curve:
    """One release for each part of a partition of the rows, for instance each class.

    A row that comes, goes or is blanked touches one part: the dearest counts. A replaced row may leave one part and
    enter another, which costs the two dearest together, or be ``replaced`` within one (a curve of each part for
    that): the dearer of both. Errors: ValueError for unlike orders, or where ``replaced`` is not given.

    Privacy: public only.
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
    Privacy: public only.
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
