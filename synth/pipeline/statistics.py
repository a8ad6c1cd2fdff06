"""Further statistics of a private table, paid for by a spend of their own: means, quantiles and group counts."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod, sqrt
from typing import Any

import numpy as np

from synth.errors import UsageError, meant
from synth.generators.base import Run, Setting
from synth.generators.method import Method
from synth.lazy import Lazy
from synth.pipeline.charge import charge
from synth.pipeline.inference.estimates import worded
from synth.pipeline.prepare import Context, requested
from synth.pipeline.private_rows import Source
from synth.pipeline.request import RunRequest
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
from synth.questions.tables import BOUND
from synth.release.statistics_file import FORMAT
from synth.schema.dataset import check_schema
from synth.schema.grouping import bin_labels
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
        kind, name, _, share = worded(words, {"mean": "", "quantile": ":", **dict.fromkeys(TABLES, "")}, FORMS)
        return cls(words=words, kind=kind, columns=tuple(name.split("*")) if kind in TABLES else (name,), level=share)

    def check(self, schema: Schema) -> None:
        """Errors: UsageError where the schema has no such column, or one of another kind."""
        for name in self.columns:
            if name not in schema.measured():
                columns = meant(name, schema.measured())
                raise UsageError("`ask={}`: {} is not a measured column of the schema; {}", self.words, name, columns)
            if self.kind not in TABLES and not schema.columns[name].is_numeric:
                raise UsageError(
                    "`ask={}`: {} is {}; only numbers and dates have one", self.words, name, schema.columns[name].type
                )
        cells = prod(counted(n, schema.columns[n]).size for n in self.columns) if self.kind in TABLES else 0
        if cells > MOST_CELLS or len(set(self.columns)) < len(self.columns):
            raise UsageError("`ask={}`: {} cells, at most {}, and each column once", self.words, cells, MOST_CELLS)
        if self.kind == "weight" and (schema.weight is None or schema.weight in self.columns):
            raise UsageError('`ask={}`: the schema must name a "weight", and other columns be asked for', self.words)


@dataclass(frozen=True, kw_only=True)
class StatisticsQuestions(Method):
    """The questions of several statistics, which share the budget evenly; nothing is fitted to their answers."""

    name = "statistics"
    by_torch = False
    asked: tuple[Asked, ...]
    reads = (CountsRelease, EmbeddingRelease, WeightedCountsRelease)

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


special = Lazy("scipy.special")

LEVEL = 0.95  # of intervals, for the privacy noise alone


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """The answers as JSON data, each with its interval, and the card of what they cost."""

    answers: tuple[dict[str, Any], ...]
    card: dict[str, Any] = field(repr=False)

    def plain(self) -> dict[str, Any]:
        """Statistics and card, as they are written."""
        return {"format": FORMAT, "level": LEVEL, "statistics": list(self.answers), "card": self.card}


def statistics(
    table: Source, *, schema: Schema, ask: Sequence[str], epsilon: float, delta: float = 1e-5, **options: Any
) -> Statistics:
    """Statistics of a private table, for epsilon and delta in all; the ledger is charged before a row is read.

    ``ask``: ``mean:COL``, ``quantile:COL:LEVEL``, ``count:COL``, ``count:COL*COL`` or, where the schema names the
    weight of a row, ``weight:COL``; each takes an equal share of the noise budget. Intervals are for the privacy
    noise alone. ``options``: as of ``synth.run``, as far as they concern rows, guarantee and ledger.

    **Guarantee**: (epsilon, delta)-DP for the relation on the schema's unit. Errors: as ``synth.run``;
    UsageError where nothing is asked.

    Privacy: reads rows, under noise.
    """
    check_schema(schema)
    request, context = requested(table, ask=tuple(ask), epsilon=epsilon, delta=delta, device="cpu", **options)
    return carry_out(request, schema, context)


def carry_out(request: RunRequest, schema: Schema, context: Context) -> Statistics:
    """As ``statistics``, of a request that stands already."""
    if not request.ask:
        raise UsageError("`ask=` is missing: {}", FORMS)
    questions = StatisticsQuestions(asked=tuple(Asked.read(words) for words in request.ask))
    questions.check_schema(schema)
    with charge(request, schema, replace(context, questions=questions)) as paid:
        releases, setting = paid.measure()
        answers = tuple(_answer(*pair, setting.schema) for pair in zip(questions.asked, releases, strict=True))
        return Statistics(answers=answers, card=paid.card())


def _answer(one: Asked, release: Release, schema: Schema) -> dict[str, Any]:
    """The statistic with its interval: pure post-processing."""
    column = schema.columns[one.columns[0]]
    facts: dict[str, Any] = {"ask": one.words, "kind": one.kind, "columns": list(one.columns)}
    if isinstance(release, EmbeddingRelease):
        return facts | _mean(release, column)
    if isinstance(release, WeightedCountsRelease):
        return facts | _weights(release, schema)
    assert isinstance(release, CountsRelease)
    if one.kind == "quantile":
        return facts | {"level": one.level} | _quantile(release, column, one.level)
    return facts | _table(release.question.marginals[0], release.values[0], "count", schema)


def _weights(release: WeightedCountsRelease, schema: Schema) -> dict[str, Any]:
    """Every cell's weight in the weight's own unit, and by how much a row may weigh at most."""
    bound = float(schema.columns[release.question.by.column].bounds[1])
    table = _table(release.question.marginals[0], release.values[0], "weight", schema)
    cells = [c | {"weight": c["weight"] * bound / BOUND} for c in table["cells"]]
    return {"half": table["half"] * bound / BOUND, "cells": cells, "by": release.question.by.column, "bound": bound}


def _table(marginal: Marginal, values: np.ndarray, what: str, schema: Schema) -> dict[str, Any]:
    """Cells with their noisy whole numbers, and half the width of their interval."""
    half = float(-special.ndtri((1 - LEVEL) / 2)) * sqrt(marginal.sigma**2 + 1 / 12)
    labels = [bin_labels(schema.columns[b.column], b.starts, b.groups) for b in marginal.bins]
    cells = [
        {"values": [labels[axis][i] for axis, i in enumerate(at)], what: int(values[at])}
        for at in np.ndindex(values.shape)
    ]
    return {"half": half, "cells": cells}


def _mean(release: EmbeddingRelease, column: Column) -> dict[str, Any]:
    """The ratio of two noisy sums; its interval by the delta method, wide where hardly any row has a value."""
    rows = max(float(release.values[1]) / HERE, 1.0)
    place = float(np.clip(release.values[0] / VALUE / rows, -1.0, 1.0))
    deviation = release.question.sigma * sqrt(1 / VALUE**2 + (place / HERE) ** 2) / rows
    half = float(-special.ndtri((1 - LEVEL) / 2)) * deviation
    ends = [_value(column, x) for x in (place, max(place - half, -1.0), min(place + half, 1.0))]
    return {"value": ends[0], "low": ends[1], "high": ends[2]}


def _quantile(release: CountsRelease, column: Column, level: float) -> dict[str, Any]:
    """Where the noisy distribution passes the level; the interval, where it may pass it, noise of sums and all."""
    marginal = release.question.marginals[0]
    middle = parts(column=column, name=marginal.columns[0], most=LEVELS)[1]
    counts = release.values[0][: len(middle)].astype(float)
    heights, edges = np.cumsum(counts), np.linspace(-1.0, 1.0, len(middle) + 1)
    noise = float(-special.ndtri((1 - LEVEL) / 2)) * marginal.sigma * np.sqrt(np.arange(1, len(counts) + 1))
    wanted = level * max(heights[-1], 1.0)
    spread = noise + level * noise[-1]

    def passes(curve: np.ndarray) -> float:
        risen = np.maximum.accumulate(curve)
        return float(edges[min(int(np.searchsorted(risen, wanted)) + 1, len(edges) - 1)])

    ends = [passes(heights), passes(heights + spread), passes(heights - spread)]
    step = edges[1] - edges[0]
    shown = [_value(column, x) for x in (ends[0] - step / 2, max(ends[1] - step, -1.0), ends[2])]
    return {"value": shown[0], "low": shown[1], "high": shown[2]}


def _value(column: Column, place: float) -> float | str:
    """A place from -1 to 1 in a column's range, in its own units; dates as text."""
    low, high = (float(b) for b in column.bounds)
    value = low + (float(place) + 1) / 2 * (high - low)
    if column.type == "datetime":
        return str(np.datetime64(round(value), "s").astype("datetime64[D]"))
    return round(value, (column.decimals or 0) + 4)
