"""Further statistics of a private table, paid for by a spend of their own: means, quantiles and group counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from math import prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from synth.errors import UsageError
from synth.generators.base import Ask, Progress, Setting
from synth.generators.method import Method
from synth.pipeline import run as pipeline
from synth.pipeline.request import Request, Source, located, prepare
from synth.pipeline.same_rows import MaySpend, anybody
from synth.privacy.noise import SystemNoise
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
)
from synth.release.statistics_file import FORMAT
from synth.schema.grouping import bin_labels
from synth.schema.table import Column, Schema

SAFE = 1 - 1e-9  # keeps sums of rounded shares below the whole
LEVEL = 0.95  # of intervals, for the privacy noise alone
PARTS, LEVELS = 4096, 256  # parts of a column's range in a mean, and in a quantile
MOST_CELLS = 10_000  # of one table of group counts
VALUE, HERE = 0.8, 0.6  # lengths of a row's two numbers in a mean: its place in the range, and that it has one
FORMS = "write mean:COL, quantile:COL:0.5 or count:COL (or COL*COL)"


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
        """From ``mean:COL``, ``quantile:COL:LEVEL`` or ``count:COL*COL``. Errors: UsageError."""
        kind, _, rest = words.partition(":")
        name, level = rest, "0.5"
        if kind == "quantile":
            name, _, level = rest.rpartition(":")
        try:
            share = float(level)
        except ValueError:
            share = 0.0
        if kind not in ("mean", "quantile", "count") or not name or not 0 < share < 1:
            raise UsageError(f"--ask {words}: {FORMS}")
        return cls(words=words, kind=kind, columns=tuple(name.split("*")) if kind == "count" else (name,), level=share)

    def check(self, schema: Schema) -> None:
        """Errors: UsageError where the schema has no such column, or one of another kind."""
        for name in self.columns:
            if name not in schema.measured():
                raise UsageError(f"--ask {self.words}: {name} is not a measured column of the schema")
            if self.kind != "count" and not schema.columns[name].is_numeric:
                raise UsageError(
                    f"--ask {self.words}: {name} is {schema.columns[name].type}; only numbers and dates have one"
                )
        cells = prod(_counted(n, schema.columns[n]).size for n in self.columns) if self.kind == "count" else 0
        if cells > MOST_CELLS or len(set(self.columns)) < len(self.columns):
            raise UsageError(f"--ask {self.words}: {cells} cells, at most {MOST_CELLS}, and each column once")


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """The answers as JSON data, each with its interval, and the card of what they cost."""

    answers: tuple[dict[str, Any], ...]
    card: dict[str, Any]

    def plain(self) -> dict[str, Any]:
        """Statistics and card, as they are written."""
        return {"format": FORMAT, "level": LEVEL, "statistics": list(self.answers), "card": self.card}


@dataclass(frozen=True, kw_only=True)
class Asking(Method):
    """The questions of several statistics, which share the budget evenly; it is handed to a run like a generator."""

    asked: tuple[Asked, ...]
    name: str = "statistics"
    barrier: str = "B1"
    summary: str = "statistics asked for by name"
    reads: tuple[type, ...] = (CountsRelease, EmbeddingRelease)
    relations: tuple[str, ...] = ("add_remove", "replace_one", "zero_out")

    def measure(self, ask: Ask, setting: Setting, *, progress: Progress) -> list[Release]:
        """One question a statistic."""
        share, releases = SAFE / len(self.asked), []
        for i, one in enumerate(self.asked):
            releases.append(ask(_question(one, setting, share)))
            progress((i + 1) / len(self.asked))
        return releases

    def fit(self, *_: Any, **__: Any) -> Any:
        """Nothing is fitted to statistics."""
        raise NotImplementedError


def statistics(
    table: Source,
    *,
    schema: Schema,
    ask: Sequence[str],
    epsilon: float,
    delta: float,
    relation: str = "add_remove",
    unit: str | None = None,
    max_rows: int | None = None,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    source: str | None = None,
    assume_public: bool | Sequence[str] = False,
    reasons: Mapping[str, str] | None = None,
    actor: str | None = None,
    approved_by: str | None = None,
    run: str | None = None,
    noise: SystemNoise | None = None,
    reporter: pipeline.Reporter | None = None,
    separate: bool = False,
    may_spend: MaySpend = anybody,
) -> Statistics:
    """Statistics of a private table, for epsilon and delta in all; the ledger is charged before a row is read.

    ``ask``: ``mean:COL``, ``quantile:COL:LEVEL``, ``count:COL`` or ``count:COL*COL``; each takes an equal share of the
    noise budget. Intervals are for the privacy noise alone. Other options as of ``synth.run``.

    **Guarantee**: (epsilon, delta)-DP for the relation on the schema's unit. Errors: as ``synth.run``;
    UsageError where nothing is asked.

    Privacy: reads rows, under noise.
    """
    reporter = reporter or pipeline.Quiet()
    asked = tuple(Asked.read(words) for words in ask)
    if not asked:
        raise UsageError(f"--ask is missing: {FORMS}")
    for one in asked:
        one.check(schema)
    reporter.stage("check")
    request = Request(
        epsilon=epsilon, delta=delta, method="independent", relation=relation, unit=unit, max_rows=max_rows,
        dataset=dataset, actor=actor, approved_by=approved_by, run=run, assume_public=assume_public,
        reasons=reasons or {}, device="cpu", separate=separate,
    )  # fmt: skip
    job = prepare(located(table, source), schema, request, note=reporter.note)
    job = replaced(job, generator=Asking(asked=asked))
    paid = pipeline._door(job, ledger, noise, reporter, None, may_spend=may_spend)
    with paid.charged():
        releases, setting = paid.measure()
        answers = tuple(_answer(*pair, setting.schema) for pair in zip(asked, releases, strict=True))
        return Statistics(answers=answers, card=paid.card(num_rows=0))


def _question(one: Asked, setting: Setting, share: float) -> Counts | Embedding:
    columns = setting.schema.columns
    if one.kind == "mean":
        features = _place(one.columns[0], columns[one.columns[0]])
        return Embedding(purpose=one.words, features=features, sigma=setting.sigma(share, signed=True))
    bins = tuple(_counted(n, columns[n]) for n in one.columns)
    return Counts(purpose=one.words, marginals=(Marginal(bins=bins, sigma=setting.sigma(share)),))


def _counted(name: str, column: Column) -> Bins:
    """Public bins: every category or missing code, and at most ``LEVELS`` equal parts of a range."""
    return _parts(name, column, LEVELS)[0]


def _parts(name: str, column: Column, most: int) -> tuple[Bins, np.ndarray]:
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
    bins, middle = _parts(name, column, PARTS)
    value, here = np.zeros((bins.size, 1)), np.zeros((bins.size, 1))
    value[: len(middle), 0], here[: len(middle), 0] = middle, 1.0
    terms = (Term(blocks=(Block(bins=bins, table=value),), weight=VALUE),
             Term(blocks=(Block(bins=bins, table=here),), weight=HERE))  # fmt: skip
    return Tensors(terms=terms)


def _answer(one: Asked, release: Release, schema: Schema) -> dict[str, Any]:
    """The statistic with its interval: pure post-processing."""
    column = schema.columns[one.columns[0]]
    told: dict[str, Any] = {"ask": one.words, "kind": one.kind, "columns": list(one.columns)}
    if isinstance(release, EmbeddingRelease):
        return told | _mean(release, column)
    assert isinstance(release, CountsRelease)
    if one.kind == "quantile":
        return told | {"level": one.level} | _quantile(release, column, one.level)
    sigma = release.question.marginals[0].sigma
    half = float(-ndtri((1 - LEVEL) / 2)) * sqrt(sigma**2 + 1 / 12)
    labels = [bin_labels(schema.columns[b.column], b.starts, b.groups) for b in release.question.marginals[0].bins]
    cells = [{"values": [labels[axis][i] for axis, i in enumerate(at)], "count": int(release.values[0][at])}
             for at in np.ndindex(release.values[0].shape)]  # fmt: skip
    return told | {"half": half, "cells": cells}


def _mean(release: EmbeddingRelease, column: Column) -> dict[str, Any]:
    """The ratio of two noisy sums; its interval by the delta method, wide where hardly any row has a value."""
    rows = max(float(release.values[1]) / HERE, 1.0)
    place = float(np.clip(release.values[0] / VALUE / rows, -1.0, 1.0))
    deviation = release.question.sigma * sqrt(1 / VALUE**2 + (place / HERE) ** 2) / rows
    half = float(-ndtri((1 - LEVEL) / 2)) * deviation
    ends = [_value(column, x) for x in (place, max(place - half, -1.0), min(place + half, 1.0))]
    return {"value": ends[0], "low": ends[1], "high": ends[2]}


def _quantile(release: CountsRelease, column: Column, level: float) -> dict[str, Any]:
    """Where the noisy distribution passes the level; the interval, where it may pass it, noise of sums and all."""
    marginal = release.question.marginals[0]
    middle = _parts(column=column, name=marginal.columns[0], most=LEVELS)[1]
    counts = release.values[0][: len(middle)].astype(float)
    heights, edges = np.cumsum(counts), np.linspace(-1.0, 1.0, len(middle) + 1)
    noise = float(-ndtri((1 - LEVEL) / 2)) * marginal.sigma * np.sqrt(np.arange(1, len(counts) + 1))
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
