"""`small_db`: of all databases of a few records the one whose counts are nearest (arXiv 1109.2229, section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from math import comb, prod
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Fit, Run, Setting
from synth.generators.method import SHARE, Method, option
from synth.generators.product_mixture.column import Axis
from synth.generators.product_mixture.model import Product
from synth.generators.query_based.query_errors import Questions, records
from synth.questions import Bins, Choice, ChoiceRelease
from synth.schema.table import Column, Schema

CANDIDATES = 10_000  # most databases to choose from
TOTAL, DATABASE = "row count", "small database"
GROWTH, LARGEST = 1.02, 2**24  # row counts tried, each so much above the last


@dataclass(frozen=True, kw_only=True)
class SmallDb(Method):
    """The lecture's mechanism: purely private, exponential in the number of columns, so for teaching sizes only.

    ``records``: most records of the database; fewer where there would be too many to choose from. ``accuracy``: in
    their place the error that some database of them must reach on all questions, ln|Q| / accuracy^2 records; 0 for
    none. ``bins``: equal parts into which a number's range is cut. ``counting``: share of epsilon for the row count,
    where it is private.
    **Guarantee**: asks within ``setting.epsilon``, purely private; ``fit`` sees releases only.
    """

    name = "small_db"
    summary = "the best of all databases of a few records, chosen privately; for teaching"
    reads = (ChoiceRelease,)
    by_torch = False
    small = True
    records: int = option(8, 2, 1000)
    accuracy: float = option(0.0, 0.0, 1.0)
    bins: int = option(2, 1, 4096)
    counting: float = option(0.1, *SHARE)

    def check_schema(self, schema: Schema) -> None:
        """Errors: UsageError where there are too many databases even of two records."""
        bins = self._bins(schema)
        cells = prod(b.size for b in bins.values())
        if self.accuracy:
            wanted = self._wanted(bins)
            if comb(cells + wanted - 1, wanted) > CANDIDATES:
                raise UsageError(
                    f"`options.accuracy={self.accuracy:g}`: it takes databases of {wanted} records, of which there are "
                    f"{comb(cells + wanted - 1, wanted):.3g}, and at most {CANDIDATES} can be compared; choose a "
                    f"larger accuracy, or fewer columns (method small_db)"
                )
        if comb(cells + 1, 2) > CANDIDATES:
            raise UsageError(
                f"method small_db chooses among all databases: with {cells} kinds of rows there are "
                f"{comb(cells + 1, 2)} of two records, and at most {CANDIDATES} can be compared; make columns "
                "identifiers, or choose method mixture"
            )

    def measure(self, run: Run) -> list[Any]:
        """A choice of the row count where it is private, and the choice of a database."""
        ask, setting, progress = run.ask, run.setting, run.progress
        self.check_schema(setting.schema)
        progress(0.0)
        bins = self._bins(setting.schema)
        unit = setting.sensitivity**2 / setting.signed  # rows by which one unit moves any one count
        releases: list[Any] = []
        left = setting.epsilon * (1 - 1e-5)
        if setting.public_rows is None:
            first = next(iter(bins.values()))
            whole = Bins(column=first.column, cells=first.cells, starts=np.zeros(1), groups=np.zeros(1))
            scale = 2 * unit / (left * self.counting)
            counts = _row_counts()[:, None]
            question = Choice(purpose=TOTAL, goal="nearest", tables=((whole,),), expected=(counts,), scale=scale)
            releases.append(ask(question))
            left *= 1 - self.counting
        tables, expected = self._candidates(bins, _total(releases, setting))
        scale = 2 * unit / left
        releases.append(ask(Choice(purpose=DATABASE, goal="nearest", tables=tables, expected=(expected,), scale=scale)))
        progress(1.0)
        return releases

    def fit(self, releases: Sequence[Any], setting: Setting, how: Fit) -> Product:
        """The chosen database, each record as likely as another; inside a bin all values alike."""
        progress = how.progress
        chosen = next(r for r in releases if r.question.purpose == DATABASE)
        bins = self._bins(setting.schema)
        sizes = [b.size for b in bins.values()]
        databases = _databases(prod(sizes), self._size(bins))
        codes = np.unravel_index(databases[chosen.index], sizes)
        axes = [axis_of(grouping, code) for grouping, code in zip(bins.values(), codes, strict=True)]
        progress(1.0)
        count = len(codes[0])
        return Product(total=_total(releases, setting), weights=np.full(count, 1 / count), axes=tuple(axes))

    def _bins(self, schema: Schema) -> dict[str, Bins]:
        return {n: cut(n, c, self.bins) for n, c in schema.measured().items()}

    def questions(self, schema: Schema, *, rows: int, epsilon: float) -> Questions:
        """What the databases are compared on, for the bound on its error (query_errors.py)."""
        bins = self._bins(schema)
        cells = prod(b.size for b in bins.values())
        return Questions(queries=_asked(bins), cells=cells, rows=rows, epsilon=epsilon)

    def _wanted(self, bins: dict[str, Bins]) -> int:
        """Records that reach the accuracy."""
        cells = prod(b.size for b in bins.values())
        return records(Questions(queries=_asked(bins), cells=cells, rows=1, epsilon=1.0), self.accuracy)

    def _size(self, bins: dict[str, Bins]) -> int:
        """Records of the databases: those that the accuracy takes, else as many as can be compared."""
        if self.accuracy:
            return self._wanted(bins)
        cells = prod(b.size for b in bins.values())
        return next(m for m in range(max(self.records, 2), 0, -1) if m <= 2 or comb(cells + m - 1, m) <= CANDIDATES)

    def _candidates(self, bins: dict[str, Bins], total: float) -> tuple[tuple[tuple[Bins, ...], ...], np.ndarray]:
        """Tables of all pairs, and what each database, grown to the row count, holds in their cells."""
        names = list(bins)
        sizes = [b.size for b in bins.values()]
        databases = _databases(prod(sizes), self._size(bins))
        codes = np.unravel_index(np.arange(prod(sizes)), sizes)
        asked: list[tuple[int, ...]] = [*combinations(range(len(names)), 2)] or [(0,)]
        kinds = [np.ravel_multi_index([codes[i] for i in p], [sizes[i] for i in p]) for p in asked]
        member = np.concatenate(
            [np.eye(prod(sizes[i] for i in p))[kind] for p, kind in zip(asked, kinds, strict=True)], axis=1
        )
        expected = member[databases].sum(1) * (total / databases.shape[1])
        return tuple(tuple(bins[names[i]] for i in p) for p in asked), expected


def _asked(bins: dict[str, Bins]) -> int:
    """Counting questions of a run: the cells of all pairs' tables."""
    sizes = [b.size for b in bins.values()]
    return sum(a * b for a, b in combinations(sizes, 2)) or sizes[0]


def _databases(cells: int, size: int) -> np.ndarray:
    """All databases of so many records, (candidates, size): the kinds of their rows, in ascending order."""
    return np.array(list(combinations_with_replacement(range(cells), size)), dtype=np.int64)


def _row_counts() -> np.ndarray:
    """Row counts to choose from, ascending, each about two per cent above the last."""
    steps = int(np.ceil(np.log(LARGEST) / np.log(GROWTH)))
    return np.unique(np.rint(GROWTH ** np.arange(steps + 1)))


def _total(releases: Sequence[Any], setting: Setting) -> float:
    """The row count: public, or the one that was chosen."""
    if setting.public_rows is not None:
        return float(max(setting.public_rows, 1))
    counted = next(r for r in releases if r.question.purpose == TOTAL)
    return float(counted.question.expected[0][counted.index, 0])


def axis_of(bins: Bins, codes: np.ndarray) -> Axis:
    """A column of records in these groups (records,); inside a group all values alike."""
    widths = bins.widths / np.bincount(bins.groups, bins.widths)[bins.groups]
    return Axis(
        column=bins.column,
        cells=bins.cells,
        starts=bins.starts,
        groups=bins.groups,
        within=widths.astype(np.float32),
        probs=np.eye(bins.size, dtype=np.float32)[codes],
    )


def cut(name: str, column: Column, most: int) -> Bins:
    """A category by its values; a number's range in equal parts; each missing code a bin of its own."""
    if not column.is_numeric or column.size <= most:
        return Bins.each(name, column.cells)
    starts = np.concatenate([np.arange(most) * column.size // most, np.arange(column.size, column.cells)])
    return Bins(column=name, cells=column.cells, starts=starts, groups=np.arange(len(starts)))
