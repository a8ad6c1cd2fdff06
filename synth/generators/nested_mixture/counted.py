"""Tables in which rows count, told from weighted ones: what each weighed answer says of tables of plain rows.

Weighted tables hold rows of one parent at one part each, so that a parent with many moves them no more than one with a
single row. Whoever counts rows sees something else, and how columns, their relation and the number of siblings hang
together is told by no table of two columns. A fit that follows weighted tables alone leaves it to chance. The answers
about a column and the number of siblings tell how often each value occurs among plain rows, and a weighted table scaled
to these (as iterative proportional fitting does: Deming and Stephan 1940) is near to the table of plain rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synth.questions import Bins, LinkedRelease, Marginal
from synth.questions.linked import View, place, placed
from synth.schema.dataset import Dataset, number_of

ROUNDS = 30  # of scaling
UNSURE = 2.0  # deviations of a column's number of rows that count as much as knowing nothing


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What a weighted table (A, B) says of one where rows count: ``values`` and ``sigma`` of each cell, (A, B)."""

    values: np.ndarray
    sigma: np.ndarray


@dataclass(frozen=True, kw_only=True)
class _Rates:
    """By how much a column's values (A,) count for more than they weigh; ``mean``: all together."""

    values: np.ndarray
    mean: float


class ByNumber:
    """Answers about a column and the number of rows that one parent has, from all releases."""

    def __init__(self, schema: Dataset, releases: Sequence[LinkedRelease], purpose: str) -> None:
        self._schema = schema
        self._tables: dict[tuple[View, frozenset[str]], tuple[Marginal, np.ndarray]] = {}
        for release in releases:
            if release.question.purpose != purpose:
                continue
            for marginal, values in zip(release.question.marginals, release.values, strict=True):
                names = frozenset(b.column for b in marginal.bins)
                self._tables[release.question.view, names] = (marginal, values)

    def counted(self, view: View, marginal: Marginal, values: np.ndarray) -> Counted | None:
        """A weighted table of two columns as one where rows count; None where nothing tells, or nothing differs."""
        table = placed(marginal.bins[0].column)[0]
        key = self._schema.key_above(table)
        if view in ("first", "last", "far") or len(marginal.bins) != 2 or key is None or key.most_children < 2:
            return None
        number = place(key.parent, number_of(table))
        if number in {b.column for b in marginal.bins}:
            return None
        rates = [self._rates(view, b.column, number, b.groups) for b in marginal.bins]
        if rates[0] is None or rates[1] is None:
            return None
        scale = _scale(np.maximum(values, 0.0), rates[0], rates[1])
        return Counted(values=values * scale, sigma=marginal.sigma * scale)

    def _rates(self, view: View, column: str, number: str, groups: np.ndarray) -> _Rates | None:
        """How many rows a weighed row of each bin stands for."""
        above, name, other = placed(column)
        seen: View = view if view == "steps" else "rows"
        released = column if seen == "steps" or not other else place(above, name)
        entry = self._tables.get((seen, frozenset((released, number))))
        if entry is None:
            return None
        marginal, values = entry
        first = next(i for i, b in enumerate(marginal.bins) if b.column == released)
        by_number = _joined(values if first == 0 else values.T, marginal.bins[first].groups, groups)
        many = _mean_cells(marginal.bins[1 - first])
        each = {"rows": many, "steps": many - 1, "siblings": many * (many - 1)}[view]
        own = each > 0
        weighed, rows = by_number[:, own].sum(1), by_number[:, own] @ each[own]
        mean = float(np.clip(rows.sum() / max(weighed.sum(), 1e-9), each[own].min(), each[own].max()))
        unsure = UNSURE * marginal.sigma * np.sqrt(own.sum())
        rate = (rows + mean * unsure) / np.maximum(weighed + unsure, unsure / 2)
        return _Rates(values=np.clip(rate, each[own].min(), each[own].max()), mean=mean)


def _mean_cells(bins: Bins) -> np.ndarray:
    """The mean position of each bin."""
    middle = bins.starts + (bins.widths - 1) / 2
    return np.bincount(bins.groups, middle * bins.widths) / np.bincount(bins.groups, bins.widths)


def _joined(values: np.ndarray, fine: np.ndarray, coarse: np.ndarray) -> np.ndarray:
    """A table (A, N) with its lines joined to the bins of a table that was asked coarser; both are bins of leaves."""
    if fine.max() == coarse.max():
        return values
    out = np.zeros((int(coarse.max()) + 1, values.shape[1]))
    at = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    at[fine] = coarse
    np.add.at(out, at, values)
    return out


def _scale(table: np.ndarray, lines: _Rates, columns: _Rates) -> np.ndarray:
    """Factors (A, B), a product of one of each line and one of each column, that give a table its counted margins."""
    a, b = lines.values.copy(), columns.values / columns.mean
    wanted = table.sum(1) * lines.values, table.sum(0) * columns.values
    wanted = wanted[0], wanted[1] * (wanted[0].sum() / max(wanted[1].sum(), 1e-9))
    for _ in range(ROUNDS):
        a = _towards(a, wanted[0], a * (table @ b))
        b = _towards(b, wanted[1], b * (a @ table))
    return np.outer(a, b)


def _towards(factor: np.ndarray, wanted: np.ndarray, have: np.ndarray) -> np.ndarray:
    return np.where(have > 0, factor * wanted / np.maximum(have, 1e-9), factor)


def pairs_by_number(schema: Dataset, table: str, columns: Sequence[str]) -> Iterator[tuple[tuple[str, str, bool], ...]]:
    """The tables of events by the number of siblings that the above needs: of rows with a next one, and of the next."""
    key = schema.key_above(table)
    assert key is not None
    for other in (False, True):
        for name in columns:
            yield (table, name, other), (key.parent, number_of(table), False)
