"""Errors of tables of three columns between a real and a synthetic table: NIST's k-marginal, and a thousand at random.

Columns of text cells; a cell of a number that does not parse is missing, a group of its own.
"""

from collections.abc import Collection
from itertools import combinations

import numpy as np
import pandas as pd

BINS = 20  # of a number in the k-marginal: quantiles of the real rows
GROUPS, TABLES = 8, 1000  # most groups of a column, and tables drawn, in ``triple_tv_err``
DENSE = 10**6  # cells of a table up to which all are counted, not only those that occur

Coded = dict[str, tuple[np.ndarray, np.ndarray, int]]  # of each column real codes, synthetic codes, number of codes


def k_marginal(real: pd.DataFrame, made: pd.DataFrame, numbers: Collection[str], *, by: str | None) -> float:
    """1000 times one less the mean total variation over all tables of ``by`` and two more columns; 1000 is best.

    Without ``by`` over all tables of two columns. Numbers are cut at the real rows' ``BINS`` quantiles.
    **Source**: NIST, Differential Privacy Temporal Map Challenge, and its Collaborative Research Cycle (k-marginal).
    """
    codes = _coded(real, made, numbers, lambda r, m: _quantiles(r, m, BINS), _levels)
    first = () if by is None else (by,)
    others = [n for n in codes if n != by]
    return 1000 * (1 - float(np.mean([_apart(codes, (*first, *p)) for p in combinations(others, 2)])))


def triple_tv_err(real: pd.DataFrame, made: pd.DataFrame, numbers: Collection[str]) -> float:
    """Mean total variation of ``TABLES`` tables of three columns, drawn once for all, each column in few groups.

    Numbers are cut at the real rows' quantiles, of categories the most frequent stand alone; ``GROUPS`` at most.
    """
    codes = _coded(real, made, numbers, lambda r, m: _quantiles(r, m, GROUPS), _frequent)
    tables = list(combinations(codes, 3))
    drawn = np.random.default_rng(0).permutation(len(tables))[:TABLES]
    return float(np.mean([_apart(codes, tables[i]) for i in drawn]))


def _coded(real, made, numbers, cut, name) -> Coded:
    out = {}
    for column in real.columns:
        a, b = (cut if column in numbers else name)(real[column], made[column])
        out[column] = a, b, int(max(a.max(), b.max())) + 1
    return out


def _quantiles(real: pd.Series, made: pd.Series, bins: int) -> tuple[np.ndarray, np.ndarray]:
    values = [pd.to_numeric(x, errors="coerce").to_numpy() for x in (real, made)]
    held = values[0][~np.isnan(values[0])]
    cuts = np.unique(np.quantile(held, np.linspace(0, 1, bins + 1)[1:-1], method="higher")) if len(held) else []
    a, b = (np.where(np.isnan(v), len(cuts) + 1, np.searchsorted(cuts, v, side="right")) for v in values)
    return a, b


def _plain(column: pd.Series) -> pd.Series:
    """Codes as they are, whichever way a number was written: ``3.0`` is ``3``."""
    levels = pd.Series(column.unique())
    plain = levels.str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)
    return column.map(dict(zip(levels, plain, strict=True)))


def _levels(real: pd.Series, made: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    real, made = _plain(real), _plain(made)
    levels = pd.Index(pd.concat([real, made]).unique())
    return levels.get_indexer(real), levels.get_indexer(made)


def _frequent(real: pd.Series, made: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The most frequent of the real levels alone, all others as one."""
    real, made = _plain(real), _plain(made)
    levels = real.value_counts().index
    levels = levels if len(levels) <= GROUPS else levels[: GROUPS - 1]
    a, b = (np.asarray(levels.get_indexer(x)) for x in (real, made))
    return np.where(a < 0, len(levels), a), np.where(b < 0, len(levels), b)


def _apart(codes: Coded, columns: tuple[str, ...]) -> float:
    """Total variation between the two tables of these columns."""
    first, second = (_flat(codes, columns, side) for side in (0, 1))
    if (cells := int(np.prod([codes[c][2] for c in columns], dtype=float))) > DENSE:
        _, at = np.unique(np.concatenate([first, second]), return_inverse=True)
        first, second, cells = at[: len(first)], at[len(first) :], int(at.max()) + 1
    a, b = (np.bincount(x, minlength=cells) / len(x) for x in (first, second))
    return float(0.5 * np.abs(a - b).sum())


def _flat(codes: Coded, columns: tuple[str, ...], side: int) -> np.ndarray:
    out = np.zeros(1, dtype=np.int64)
    for column in columns:
        out = out * codes[column][2] + codes[column][side]
    return out
