"""The exact composite of several runs, for information: a policy never relies on it.

Proof note: synth/mechanisms/counts.md.
"""

from math import sqrt

from synth.privacy.accounting.composition import derived_epsilon
from synth.privacy.ledger.policy import Total


def composite(total: Total) -> float | None:
    """Epsilon of all spends together, at the sum of their deltas, composed as Gaussian mechanisms.

    None where there is no spend, where one is not Gaussian, or where relations or units differ (their guarantees do
    not add up). Valid for runs fixed in advance; a run chosen after another's output is covered by the plain sum.

    Privacy: public only: the ledger's sums.
    """
    if not total.runs or total.mu2 is None:
        return None
    return min(derived_epsilon(sqrt(total.mu2), min(1.0, total.delta)), total.epsilon)
