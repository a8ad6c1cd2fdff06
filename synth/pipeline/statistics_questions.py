"""What statistics ask of the rows: one question each, which share the budget evenly."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from synth.errors import UsageError, meant
from synth.generators.base import Run, Setting
from synth.generators.method import Method
from synth.questions import (
    Bins,
    Block,
    Counts,
    CountsRelease,
    Embedding,
    EmbeddingRelease,
    Marginal,
    Release,
    Tensors,
    Term,
    WeightedCounts,
    WeightedCountsRelease,
)
from synth.questions.weighted_counts import BOUND
from synth.schema.table import Column, Schema

SAFE = 1 - 1e-9  # keeps sums of rounded shares below the whole
PARTS, LEVELS, WEIGHTS = 4096, 256, 1024  # parts of a column's range in a mean, in a quantile, in a weight
MOST_CELLS = 10_000  # of one table of group counts
VALUE, HERE = 0.8, 0.6  # lengths of a row's two numbers in a mean: its place in the range, and that it has one
TABLES = ("count", "weight")  # kinds that tell a table
FORMS = "write mean:COL, quantile:COL:0.5, count:COL (or COL*COL) or weight:COL (or COL*COL)"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One statistic as it was asked for: its kind, its columns, and the level of a quantile.

    >>> Asked.read("quantile:AGEP:0.25").level
    0.25
    """

    words: str
    kind: str
    columns: tuple[str, ...]
    level: float = 0.5

    @classmethod
    def read(cls, words: str) -> "Asked":
        """From ``mean:COL``, ``quantile:COL:LEVEL``, ``count:COL*COL`` or ``weight:COL*COL``. Errors: UsageError."""
        kind, _, rest = words.partition(":")
        name, level = rest, "0.5"
        if kind == "quantile":
            name, _, level = rest.rpartition(":")
        try:
            share = float(level)
        except ValueError:
            share = 0.0
        if kind not in ("mean", "quantile", *TABLES) or not name or not 0 < share < 1:
            raise UsageError(f"`ask={words}`: {FORMS}")
        return cls(words=words, kind=kind, columns=tuple(name.split("*")) if kind in TABLES else (name,), level=share)

    def check(self, schema: Schema) -> None:
        """Errors: UsageError where the schema has no such column, or one of another kind."""
        for name in self.columns:
            if name not in schema.measured():
                columns = meant(name, schema.measured())
                raise UsageError(f"`ask={self.words}`: {name} is not a measured column of the schema; {columns}")
            if self.kind not in TABLES and not schema.columns[name].is_numeric:
                raise UsageError(
                    f"`ask={self.words}`: {name} is {schema.columns[name].type}; only numbers and dates have one"
                )
        cells = prod(counted(n, schema.columns[n]).size for n in self.columns) if self.kind in TABLES else 0
        if cells > MOST_CELLS or len(set(self.columns)) < len(self.columns):
            raise UsageError(f"`ask={self.words}`: {cells} cells, at most {MOST_CELLS}, and each column once")
        if self.kind == "weight" and (schema.weight is None or schema.weight in self.columns):
            raise UsageError(f'`ask={self.words}`: the schema must name a "weight", and other columns be asked for')


@dataclass(frozen=True, kw_only=True)
class StatisticsQuestions(Method):
    """The questions of several statistics, which share the budget evenly; nothing is fitted to their answers."""

    name = "statistics"
    by_torch = False
    asked: tuple[Asked, ...]
    reads = (CountsRelease, EmbeddingRelease, WeightedCountsRelease)

    @classmethod
    def of(cls, ask: Sequence[str]) -> "StatisticsQuestions":
        """From words such as ``mean:COL``. Errors: UsageError."""
        return cls(asked=tuple(Asked.read(words) for words in ask))

    def check_schema(self, schema: Schema) -> None:
        """Errors: UsageError where the schema has no such column, or one of another kind."""
        for one in self.asked:
            one.check(schema)

    def measure(self, run: Run) -> list[Release]:
        """One question a statistic."""
        share, releases = SAFE / len(self.asked), []
        for i, one in enumerate(self.asked):
            releases.append(run.ask(_question(one, run.setting, share)))
            run.progress((i + 1) / len(self.asked))
        return releases


def _question(one: Asked, setting: Setting, share: float) -> Counts | Embedding | WeightedCounts:
    columns = setting.schema.columns
    if one.kind == "mean":
        features = _place(one.columns[0], columns[one.columns[0]])
        return Embedding(purpose=one.words, features=features, sigma=setting.sigma(share, signed=True))
    bins = tuple(counted(n, columns[n]) for n in one.columns)
    if one.kind == "weight":
        by, units = weighing(setting.schema)
        marginal = Marginal(bins=bins, sigma=BOUND * setting.sigma(share))  # BOUND is a power of two: exact
        return WeightedCounts(purpose=one.words, marginals=(marginal,), by=by, units=units)
    return Counts(purpose=one.words, marginals=(Marginal(bins=bins, sigma=setting.sigma(share)),))


def weighing(schema: Schema) -> tuple[Bins, np.ndarray]:
    """The weight's bins, and what a row of each weighs in units of its public bound, cut down; missing weights 0.

    Privacy: public only.
    """
    name = str(schema.weight)
    column = schema.columns[name]
    by, middle = parts(name, column, WEIGHTS)
    low, high = (float(b) for b in column.bounds)
    values = low + (middle + 1) / 2 * (high - low)
    units = np.zeros(by.size, dtype=np.int64)
    units[: len(values)] = np.clip(np.floor(values / high * BOUND), 0, BOUND)
    return by, units


def counted(name: str, column: Column) -> Bins:
    """Public bins: every category or missing code, and at most ``LEVELS`` equal parts of a range."""
    return parts(name, column, LEVELS)[0]


def parts(name: str, column: Column, most: int) -> tuple[Bins, np.ndarray]:
    """The bins, and where the middle of each bin of values lies in the range, from -1 to 1."""
    if not column.is_numeric:
        return Bins.each(name, column.cells), np.zeros(column.size)
    width = -(-column.size // most)
    starts = np.arange(0, column.size, width)
    ends = np.minimum(starts + width, column.size) - 1
    middle = (starts + ends) / max(column.size - 1, 1) - 1.0
    codes = np.arange(column.size, column.cells)
    starts = np.concatenate([starts, codes])
    return Bins(column=name, cells=column.cells, starts=starts, groups=np.arange(len(starts))), middle


def _place(name: str, column: Column) -> Tensors:
    """A row's place in the range, and that it has one: two numbers of unit length together."""
    bins, middle = parts(name, column, PARTS)
    value, here = np.zeros((bins.size, 1)), np.zeros((bins.size, 1))
    value[: len(middle), 0], here[: len(middle), 0] = middle, 1.0
    terms = (
        Term(blocks=(Block(bins=bins, table=value),), weight=VALUE),
        Term(blocks=(Block(bins=bins, table=here),), weight=HERE),
    )
    return Tensors(terms=terms)
