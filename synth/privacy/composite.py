"""The exact composite of several runs, for information: a policy never relies on it."""

from collections.abc import Iterable
from math import sqrt

from synth.privacy.accounting import derived_epsilon
from synth.privacy.ledger_store import Entry


def composite(lines: Iterable[Entry]) -> float | None:
    """Epsilon of all spends together, at the sum of their deltas, composed as Gaussian mechanisms.

    None where there is no spend, or where relations or units differ (their guarantees do not add up). Valid for
    runs fixed in advance; a run chosen after another's output is covered by the plain sum.
    """
    spends = [e for e in lines if e.kind == "spend"]
    if not spends or len({(e.relation, e.unit) for e in spends}) > 1:
        return None
    mus = [mu for e in spends if isinstance(mu := e.question.get("mu"), int | float)]
    if len(mus) < len(spends):
        return None
    return min(derived_epsilon(sqrt(sum(m * m for m in mus)), min(1.0, sum(e.delta for e in spends))),
               sum(e.epsilon for e in spends))  # fmt: skip
