"""A table released every year: what a wave may spend, and what changed between waves beyond noise and chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control, norm

from synth.errors import UsageError, reading
from synth.pipeline.inference.released_counts import count_intervals
from synth.pipeline.plan_result import Plain
from synth.privacy.accounting.gaussian import calibrate, derived_epsilon
from synth.privacy.accounting.guarantee import check_promise
from synth.release import folder
from synth.release.leaving import may_leave

MOST = 1000


@dataclass(frozen=True, kw_only=True)
class SeriesPlan(Plain):
    """``waves`` releases of ``each`` epsilon and ``each_delta``: who is in all has at most ``epsilon``, ``delta``.

    ``exact``: their epsilon at that delta where every wave's noise is Gaussian and fixed now.

    Privacy: public only.
    """

    waves: int
    epsilon: float
    delta: float
    each: float
    each_delta: float
    exact: float

    def in_words(self) -> str:
        """Two lines."""
        return (
            f"each of {self.waves} waves: epsilon {self.each:.4g}, delta {self.each_delta:.4g}; whoever is in all of "
            f"them: {self.epsilon:g}, {self.delta:g}, which is what the ledger adds up\n"
            f"by exact composition, were all waves fixed now: epsilon {self.exact:.4g}"
        )


def plan(*, waves: int, epsilon: float, delta: float) -> SeriesPlan:
    """How a budget for several years is shared out evenly, so that the sum of all waves is the whole.

    Errors: UsageError. Privacy: public only.

    >>> plan(waves=4, epsilon=2.0, delta=4e-6).each
    0.5
    """
    check_promise(epsilon, delta)
    if not 1 <= waves <= MOST:
        raise UsageError("waves {}: must be 1 to {}", waves, MOST)
    mu = calibrate(epsilon / waves, delta / waves)
    exact = min(epsilon, derived_epsilon(mu * sqrt(waves), delta))
    return SeriesPlan(
        waves=waves, epsilon=epsilon, delta=delta, each=epsilon / waves, each_delta=delta / waves, exact=exact
    )


def changes(
    before: str | Path, after: str | Path, *, columns: Sequence[str] = (), level: float = 0.95
) -> list[dict[str, Any]]:
    """What changed in single columns from one release to a later one: a row for each value, largest change first.

    ``columns``: by default all that both released on the same groups. A row: ``column``, ``value``, ``before``,
    ``after``, ``change``, ``low``, ``high`` (shares, and the interval of the change at ``level``), ``sure``: whether it
    stands out when as many shares are looked at: of those so marked at most ``1 - level`` are expected to be noise and
    chance. Intervals count the privacy noise of both and the chance of both samples; the noisy counts are compared, not
    the tables drawn, into which a prior may have carried an earlier wave.

    **Source**: Benjamini, Hochberg (1995), false discovery rate.

    Errors: UsageError for a column that both do not have; InputError for a damaged release.

    Privacy: released answers only.
    """
    with reading(before, "release"), reading(after, "release"):
        columns_of = [list(folder.load_release(path).setting.schema.measured()) for path in (before, after)]
        for path in (before, after):
            may_leave(path)
    common = [n for n in columns_of[0] if n in columns_of[1]]
    for name in columns:
        if name not in common:
            raise UsageError("{}: is not a measured column of both releases; they share {}", name, ", ".join(common))
    rows = []
    for name in columns or common:
        first, second = (
            {row["values"][0]: row for row in count_intervals(path, [name], level=level)} for path in (before, after)
        )
        if set(first) != set(second):
            continue  # wide ranges of numbers whose groups were found under noise
        rows += [_change(name, value, first[value], second[value]) for value in first]
    return sorted(standing_out(rows, level=level), key=lambda row: -abs(row["change"]))


def standing_out(rows: list[dict[str, Any]], *, level: float) -> list[dict[str, Any]]:
    """The changes with ``sure``, at a rate of false discoveries of ``1 - level``; intervals are of that level each."""
    if rows:
        halves = norm.ppf((1 + level) / 2) / np.array([max(r["high"] - r["change"], 1e-12) for r in rows])
        chances = 2 * norm.sf(np.abs([r["change"] for r in rows]) * halves)
        rows = [
            {**r, "sure": bool(p <= 1 - level)} for r, p in zip(rows, false_discovery_control(chances), strict=True)
        ]
    return rows


def _change(name: str, value: str, first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    change = second["share"] - first["share"]
    half = hypot(*(max(r["high"] - r["share"], r["share"] - r["low"]) for r in (first, second)))
    return {
        "column": name,
        "value": value,
        "before": first["share"],
        "after": second["share"],
        "change": change,
        "low": change - half,
        "high": change + half,
    }
