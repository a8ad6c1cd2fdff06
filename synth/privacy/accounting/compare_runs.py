"""Several runs together, for information: their exact composite, and the same runs under five calculi.

The calculi go from the plainest bound to the exact one: why a composite is less than a sum. For information and for
learning: what a policy enforces is the plain sum, which holds for runs chosen one after another in sight of their
results; the other four are for runs whose noise was fixed in advance.

Proof note: synth/mechanisms/counts.md.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import ceil, exp, inf, log, sqrt, tanh
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.privacy.accounting.float_slack import DELTA_SLACK, with_float_slack
from synth.privacy.accounting.gaussian import derived_epsilon, gaussian_delta
from synth.privacy.accounting.renyi import randomised_response
from synth.privacy.accounting.roots import least
from synth.privacy.ledger.entries import Entry
from synth.privacy.ledger.policy import Total

CALCULI = ("basic", "advanced", "zcdp", "rdp", "exact")
AT = 1e-6  # the delta at which pure runs are composed, which have none of their own
LATTICE = 40_000  # steps of the sum of all epsilons on which losses of pure runs are added
ORDERS = 1 + np.geomspace(1e-3, 1e5, 4000)  # Renyi orders tried; every one of them gives a valid epsilon


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """One charged run: its ``epsilon`` and ``delta``, and ``mu``, its noise in Gaussian differential privacy.

    With delta 0 it is purely private, and ``mu`` is 0.

    Privacy: public only.
    """

    epsilon: float
    delta: float
    mu: float


@dataclass(frozen=True, kw_only=True)
class Composite:
    """Epsilon of the first ``runs`` runs together, all five at the same ``delta``, the sum of the runs' deltas.

    Privacy: public only.
    """

    runs: int
    delta: float
    basic: float
    advanced: float
    zcdp: float
    rdp: float
    exact: float


def advanced(epsilons: Sequence[float], slack: float) -> float:
    """Epsilon of mechanisms of these epsilons; ``slack`` is what is added to the sum of their deltas.

    sum(e tanh(e / 2)) + sqrt(2 ln(1 / slack) sum(e^2)); never above the plain sum. **Source**: Kairouz, Oh,
    Viswanath, arXiv 1311.0776, Theorem 3.5, whose (e^x - 1) / (e^x + 1) is tanh(x / 2).

    Privacy: public only.

    >>> round(advanced([0.1] * 100, 1e-6), 2)
    5.76
    """
    drift = sum(e * tanh(e / 2) for e in epsilons)
    return min(drift + sqrt(2 * log(1 / slack) * sum(e * e for e in epsilons)), sum(epsilons))


def zcdp(rho: float, delta: float) -> float:
    """Epsilon of rho-zCDP by the first published conversion, rho + 2 sqrt(rho ln(1 / delta)).

    **Source**: Bun and Steinke, arXiv 1605.02065, Proposition 1.3. A Gaussian mechanism has rho = mu^2 / 2.

    Privacy: public only.

    >>> round(zcdp(0.5, 1e-5), 2)
    5.3
    """
    return rho + 2 * sqrt(rho * log(1 / delta))


def rdp(rho: float, delta: float, alone: Sequence[float] = ()) -> float:
    """Epsilon of Gaussian mechanisms of Renyi divergence ``rho`` a at each order a, at the best order.

    ``alone``: epsilons of pure mechanisms beside them, with randomised response's divergences.

    **Source**: Canonne, Kamath, Steinke, arXiv 2004.00010, Proposition 12.

    Privacy: public only.

    >>> round(rdp(0.5, 1e-5), 2)
    4.73
    """
    a = ORDERS
    whole = rho * a + sum(randomised_response(e, a) for e in alone)
    epsilons = whole + np.log1p(-1 / a) - (log(delta) + np.log(a)) / (a - 1)
    return float(max(0.0, epsilons.min()))


def compose(runs: Sequence[ComparedRun], *, at: float = AT) -> Composite:
    """All runs together under the five calculi, at the sum of their deltas, or at ``at`` where all are pure.

    Errors: UsageError without a run. At the same total delta advanced composition takes half of each run's delta for
    the run itself and the other half for its slack, so it is compared fairly with the others; pure runs need none.

    Privacy: public only.

    >>> both = compose([ComparedRun(epsilon=1.0, delta=1e-5, mu=0.2677)] * 2)
    >>> both.exact < both.rdp < both.zcdp, both.basic
    (True, 2.0)
    >>> many = compose([ComparedRun(epsilon=0.1, delta=0.0, mu=0.0)] * 100, at=1e-6)
    >>> many.exact < many.rdp < many.advanced < many.basic
    True
    """
    if not runs:
        raise UsageError("nothing was charged yet, so there is nothing to compare")
    delta = min(sum(r.delta for r in runs), 1 - 1e-9)
    slack = delta / 2 if delta else at
    delta = delta or at
    mu2 = sum(r.mu**2 for r in runs)
    alone = [r.epsilon for r in runs if r.delta == 0]
    plain = float(sum(r.epsilon for r in runs))  # basic composition: Dwork and Roth, Theorem 3.16
    halved = [r.epsilon if r.delta == 0 else _epsilon(r.mu, r.delta / 2) for r in runs]
    return Composite(
        runs=len(runs),
        delta=delta,
        basic=plain,
        advanced=min(advanced(halved, slack), plain),
        zcdp=min(zcdp(mu2 / 2 + sum(e * e for e in alone) / 2, delta), plain if not mu2 else inf),
        rdp=min(rdp(mu2 / 2, delta, alone), plain if not mu2 else inf),
        exact=min(optimal(alone, delta, mu=sqrt(mu2)) if alone else derived_epsilon(sqrt(mu2), delta), plain),
    )


def optimal(epsilons: Sequence[float], delta: float, *, mu: float = 0.0) -> float:
    """The least epsilon of pure mechanisms of these epsilons, together with Gaussian ones of ``mu``, rounded up.

    Of each the worst case is one bit of randomised response, whose loss is +- epsilon; epsilons are rounded up to a
    lattice, on which losses add up. **Source**: Kairouz, Oh, Viswanath, arXiv 1311.0776, Theorem 3.3, for equal ones.

    Privacy: public only.

    >>> round(optimal([0.1] * 100, 1e-6), 2)
    4.78
    """
    step = sum(epsilons) / LATTICE
    laws = np.array([1.0])
    for e in epsilons:
        reach = ceil(e / step - 1e-9)
        odds, before = exp(reach * step), laws
        laws = np.zeros(len(before) + 2 * reach)  # the law of a sum with a loss of two values
        laws[: len(before)] += before / (1 + odds)
        laws[2 * reach :] += before * (odds / (1 + odds))
    losses = (np.arange(len(laws)) - (len(laws) - 1) / 2) * step
    wanted = delta * (1 - DELTA_SLACK)

    def above(epsilon: float) -> bool:
        return bool(laws @ gaussian_delta(epsilon - losses, mu) > wanted)

    return with_float_slack(least(above, floor=0.0, ceiling=inf))


_epsilon = lru_cache(maxsize=4096)(derived_epsilon)


def ledger_composition(lines: Sequence[Entry], dataset: str, *, at: float = AT) -> dict[str, Any]:
    """A dataset's spends, oldest first, composed after each run, as JSON data for a chart.

    ``at``: the delta for spends of which all so far are pure.

    ``steps``: one Composite for the first spend, the first two, ... ``reason``: why there is none, else None: no
    spend, or spends whose relations or units differ, or one that does not tell its noise.

    Privacy: public only: the ledger's lines.
    """
    spends = [e for e in lines if e.kind == "spend" and e.dataset == dataset]
    mus = [0.0 if e.delta == 0 else e.question.get("mu") for e in spends]
    reason = None if spends else "no run is charged"
    if len({(e.relation, e.unit) for e in spends}) > 1:
        reason = "relations or units differ, so the guarantees do not add up to one"
    elif any(not isinstance(mu, int | float) for mu in mus):
        reason = "a run does not tell its noise, so only the plain sum is known"
    pairs = zip(spends, mus, strict=True)
    runs = [] if reason else [ComparedRun(epsilon=e.epsilon, delta=e.delta, mu=mu or 0.0) for e, mu in pairs]
    steps = [{**asdict(compose(runs[:k], at=at)), "entry": spends[k - 1].number} for k in range(1, len(runs) + 1)]
    return {"dataset": dataset, "calculi": list(CALCULI), "reason": reason, "steps": steps}


def composite(total: Total) -> float | None:
    """Epsilon of all spends of a ``total`` together, at the sum of their deltas, composed as Gaussian mechanisms.

    None where there is no spend, where one is not Gaussian, or where relations or units differ (their guarantees do
    not add up). Valid for runs fixed in advance; a run chosen after another's output is covered by the plain sum.

    Privacy: public only: the ledger's sums.
    """
    if not total.runs or total.mu2 is None:
        return None
    return min(derived_epsilon(sqrt(total.mu2), min(1.0, total.delta)), total.epsilon)
