"""A release's noisy counts by themselves: tables summed and averaged, shares with intervals; no model and no bias."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError, reading
from synth.languages import Said
from synth.lazy import Lazy
from synth.questions import Bins, CountsRelease
from synth.release import folder
from synth.schema.grouping import bin_labels

special = Lazy("scipy.special")

ROUNDING = 1 / 12  # variance of rounding a count to a whole number


def count_intervals(release: str | Path, columns: Sequence[str], *, level: float = 0.95) -> list[dict[str, Any]]:
    """The share of the population in every cell of a table that was counted, with its interval; free.

    ``columns``: one or more that stand in one released table; of several groupings the finest answers, all tables that
    have it averaged by their precision. A row for each cell: ``values`` (a label for each column), ``share``, ``low``,
    ``high``, and ``count`` with its noise's deviation ``sigma``. The interval counts the privacy noise and the chance
    by which the rows were drawn from a population, at ``level`` (0 to 1); many cells at once are covered each, not
    together.

    **Guarantee**: that of the release. Errors: UsageError for columns of which no table was released.

    Privacy: released answers only.
    """
    with reading(release, "release"):
        stored = folder.load_release(release)
        schema, wanted = stored.setting.schema, tuple(dict.fromkeys(columns))
        for name in wanted:
            if name not in schema.measured():
                raise UsageError("{}: is not a measured column of the release", name)
        tables = averaged(stored.releases, wanted, every=True)
        table = max(tables, key=lambda t: t.counts.size, default=None)
        if table is None or not wanted or not 0 < level < 1:
            raise UsageError(
                "{}: no table of these was released; see synth.app_api.beyond", ", ".join(wanted) or Said("no column")
            )
        share, half = shares(table.counts, table.variance, rows=stored.setting.public_rows, level=level)
        labels = [bin_labels(schema.columns[b.column], b.starts, b.groups) for b in table.bins]
        return [
            {
                "values": [labels[axis][i] for axis, i in enumerate(at)],
                **{
                    n: float(np.clip(v, 0.0, 1.0))
                    for n, v in (("share", share[at]), ("low", share[at] - half[at]), ("high", share[at] + half[at]))
                },
                "count": float(table.counts[at]),
                "sigma": table.variance**0.5,
            }
            for at in np.ndindex(table.counts.shape)
        ]


def shares(
    counts: np.ndarray, variance: float, *, rows: int | None = None, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Shares of noisy counts of equal variance, and half the widths of their intervals, of the counts' shape.

    Without public ``rows`` the sum of all cells stands for their number; a share p of K cells then has the noise's
    variance v ((1 - p)^2 + (K - 1) p^2) / N^2 (delta method), else v / N^2. Beside it stands p (1 - p) / N of sampling.
    Where the sum cannot be told from none, nothing is known, and half the width is infinite.

    >>> share, half = shares(np.array([50.0, 50.0]), 0.0)
    >>> share.tolist(), half.round(3).tolist()
    ([0.5, 0.5], [0.098, 0.098])
    """
    total = max(float(counts.sum()) if rows is None else float(rows), 1.0)
    share = counts / total
    p = np.clip(share, 0.0, 1.0)
    spread = variance * ((1 - p) ** 2 + (counts.size - 1) * p**2) if rows is None else np.full(p.shape, variance)
    z = float(special.ndtri((1 + level) / 2))
    half = z * np.sqrt(spread / total**2 + p * (1 - p) / total)
    hidden = rows is None and float(counts.sum()) <= z * (counts.size * variance) ** 0.5
    return share, np.full(p.shape, np.inf) if hidden else half


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyBins:
    """Noisy counts on bins of some columns, an axis each, and the variance of each."""

    bins: tuple[Bins, ...]
    counts: np.ndarray
    variance: float


def averaged(releases: Sequence[Any], columns: Sequence[str], *, every: bool = False) -> list[NoisyBins]:
    """All released counts, summed to these columns; equal groupings are averaged by their precision. Of no column at
    all the number of rows is left. Tables have independent noise.

    ``every``: only where all of the columns stand in one table of which each row falls into a bin, in their order.
    """
    same: dict[tuple[Any, ...], list[NoisyBins]] = {}
    counted = [r for r in releases if isinstance(r, CountsRelease)]
    for marginal, values in [a for r in counted for a in zip(r.question.marginals, r.values, strict=True)]:
        at = [i for i, b in enumerate(marginal.bins) if b.column in columns]
        dropped = tuple(i for i in range(values.ndim) if i not in at)
        whole = range(values.ndim) if every else dropped  # rows that fall into no bin are missing in a sum
        if any((marginal.bins[i].groups < 0).any() for i in whole) or (every and len(at) < len(columns)):
            continue
        at = sorted(at, key=lambda i: columns.index(marginal.bins[i].column)) if every else at
        counts = np.transpose(values.sum(axis=dropped), np.argsort(np.argsort(at))).astype(float)
        variance = (marginal.sigma**2 + ROUNDING) * (marginal.cells / counts.size)
        bins = tuple(marginal.bins[i] for i in at)
        key = tuple((b.column, b.starts.tobytes(), b.groups.tobytes()) for b in bins)
        same.setdefault(key, []).append(NoisyBins(bins=bins, counts=counts, variance=variance))
    averages = []
    for tables in same.values():
        precision = np.array([1 / t.variance for t in tables])
        means = np.tensordot(precision, np.stack([t.counts for t in tables]), axes=1) / precision.sum()
        averages.append(NoisyBins(bins=tables[0].bins, counts=means, variance=float(1 / precision.sum())))
    return averages
