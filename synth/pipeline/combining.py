"""One estimate with its interval from what several tables of one release say. The rule's argument: inference.md."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.lazy import Lazy
from synth.questions import CountsRelease
from synth.release import folder

special = Lazy("scipy.special")


class BeyondMeasured(UserWarning):
    """An estimand rests on relations that the release did not measure: its interval counts noise, not the model's bias.

    Privacy: public only.
    """


@dataclass(frozen=True, kw_only=True)
class Combined:
    """An estimate from several tables; arrays where there were several estimands.

    ``low``, ``high``: the interval; ``variance``: the total one, ``within`` for sampling and ``between`` for the
    privacy noise; ``df``: degrees of freedom. ``warnings``: what the interval does not count.

    Privacy: released answers only.
    """

    estimate: Any
    low: Any
    high: Any
    variance: Any
    within: Any
    between: Any
    df: Any
    warnings: tuple[str, ...] = field(default=())


def combine(
    estimates: Sequence[Any],
    variances: Sequence[Any],
    *,
    level: float = 0.95,
    release: str | Path | None = None,
    columns: Sequence[str] = (),
) -> Combined:
    """The estimate of m tables of ``Release.multiple``, with an interval for sampling and privacy noise together.

    ``estimates``, ``variances``: of each table the estimate and the square of its standard error, as if the table were
    real: numbers, or arrays of equal shape. Tables must have as many rows as the source. T = W + (1 + 1/m) B, W the
    mean variance and B the variance of the estimates; Student's t with (m - 1) (1 + W / ((1 + 1/m) B))^2 degrees.
    ``release`` and ``columns``: the columns that the estimand reads; then what was not measured is warned of
    (``BeyondMeasured``) and stands in the result.

    Errors: UsageError for fewer than two tables, unequal shapes, negative variances, or a level outside 0 to 1.

    Privacy: released answers only.
    **Source**: Rubin 1987, section 3.3, with draws of the noise alone (inference.md).

    >>> found = combine([1.0, 3.0], [1.0, 1.0])
    >>> found.estimate, found.variance, round(found.df, 3)
    (2.0, 4.0, 1.778)
    """
    values, own = np.asarray(estimates, dtype=float), np.asarray(variances, dtype=float)
    if len(values) < 2 or values.shape != own.shape:
        raise UsageError("combine: needs estimates and variances of two tables or more, of equal shapes")
    if not (np.isfinite(values).all() and np.isfinite(own).all() and (own >= 0).all() and 0 < level < 1):
        raise UsageError("combine: estimates must be finite, variances at least 0, the level between 0 and 1")
    many = len(values)
    within, between = own.mean(0), values.var(0, ddof=1)
    extra = (1 + 1 / many) * between
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(extra > 0, (many - 1) * (1 + within / extra) ** 2, np.inf)
    half = special.stdtrit(np.minimum(df, 1e9), (1 + level) / 2) * np.sqrt(within + extra)
    middle = values.mean(0)
    notes = beyond(release, columns) if release is not None else ()
    for note in notes:
        warnings.warn(note, BeyondMeasured, stacklevel=2)
    plain = {
        "estimate": middle,
        "low": middle - half,
        "high": middle + half,
        "variance": within + extra,
        "within": within,
        "between": between,
        "df": df,
    }
    return Combined(**{n: v if np.ndim(v) else float(v) for n, v in plain.items()}, warnings=notes)


def beyond(release: str | Path, columns: Sequence[str]) -> tuple[str, ...]:
    """What a question about these columns asks beyond the tables that the release measured, a sentence each.

    Errors: UsageError for a column that was not measured, InputError for a damaged release.

    Privacy: released answers only.
    """
    stored, asked = folder.load_release(release), tuple(dict.fromkeys(columns))
    for name in asked:
        if name not in stored.setting.schema.measured():
            raise UsageError("{}: is not a measured column of the release", name)
    marginals = [m for r in stored.releases if isinstance(r, CountsRelease) for m in r.question.marginals]
    counted = {frozenset(m.columns) for m in marginals}
    notes = [
        f"{a} and {b} were not counted together: how they go together is not known at all"
        for a, b in combinations(asked, 2)
        if not any({a, b} <= t for t in counted)
    ]
    if len(asked) > 2 and not any(set(asked) <= t for t in counted):
        notes.append(
            f"{', '.join(asked)} were not counted in one table: what they have in common beyond pairs is the "
            "model's guess, and no interval counts an error of it"
        )
    for name in asked:
        finest = max((b.size for m in marginals for b in m.bins if b.column == name), default=1)
        tables = [b.size for m in marginals if len(m.bins) > 1 for b in m.bins if b.column == name]
        if len(asked) > 1 and tables and max(tables) < finest:
            notes.append(
                f"{name} was counted with other columns in at most {max(tables)} bins, where alone it has "
                f"{finest}: within a bin it is taken to be independent of them"
            )
    return tuple(notes)
