"""Further statistics of a private table, paid for by a spend of their own: means, quantiles and group counts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.lazy import Lazy
from synth.pipeline.charged_run import checked_and_charged
from synth.pipeline.private_rows import Source
from synth.pipeline.reporting import Reporter
from synth.pipeline.request import RunRequest
from synth.pipeline.run import requested
from synth.pipeline.statistics_questions import FORMS, HERE, LEVELS, VALUE, Asked, StatisticsQuestions, parts
from synth.privacy.ledger.row_marks import EVERYBODY, Audience
from synth.privacy.noise import SystemNoise
from synth.questions import CountsRelease, EmbeddingRelease, Marginal, Release, WeightedCountsRelease
from synth.questions.weighted_counts import BOUND
from synth.release.statistics_file import FORMAT
from synth.schema.given import check_schema
from synth.schema.grouping import bin_labels
from synth.schema.table import Column, Schema

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
    table: Source,
    *,
    schema: Schema,
    ask: Sequence[str],
    epsilon: float,
    delta: float,
    noise: SystemNoise | None = None,
    reporter: Reporter | None = None,
    audience: Audience = EVERYBODY,
    **options: Any,
) -> Statistics:
    """Statistics of a private table, for epsilon and delta in all; the ledger is charged before a row is read.

    ``ask``: ``mean:COL``, ``quantile:COL:LEVEL``, ``count:COL``, ``count:COL*COL`` or, where the schema names the
    weight of a row, ``weight:COL``; each takes an equal share of the noise budget. Intervals are for the privacy
    noise alone. ``reporter``, ``audience``, ``options``: as of ``synth.run``, as far as they concern rows, guarantee
    and ledger.

    **Guarantee**: (epsilon, delta)-DP for the relation on the schema's unit. Errors: as ``synth.run``;
    UsageError where nothing is asked.

    Privacy: reads rows, under noise.
    """
    check_schema(schema)
    request, rows = requested(table, ask=tuple(ask), epsilon=epsilon, delta=delta, device="cpu", **options)
    return carry_out(request, schema=schema, rows=rows, noise=noise, reporter=reporter, audience=audience)


def carry_out(
    request: RunRequest,
    *,
    schema: Schema,
    rows: Source | None = None,
    noise: SystemNoise | None = None,
    reporter: Reporter | None = None,
    audience: Audience = EVERYBODY,
) -> Statistics:
    """As ``statistics``, of a request that stands already."""
    ask = request.ask
    if not ask:
        raise UsageError(f"`ask=` is missing: {FORMS}")
    StatisticsQuestions.of(ask).check_schema(schema)
    paying = checked_and_charged(request, schema, rows=rows, noise=noise, reporter=reporter, audience=audience)
    with paying as charged_run:
        releases, setting = charged_run.measure()
        asked = StatisticsQuestions.of(ask).asked
        answers = tuple(_answer(*pair, setting.schema) for pair in zip(asked, releases, strict=True))
        return Statistics(answers=answers, card=charged_run.card(num_rows=0))


def _answer(one: Asked, release: Release, schema: Schema) -> dict[str, Any]:
    """The statistic with its interval: pure post-processing."""
    column = schema.columns[one.columns[0]]
    reported: dict[str, Any] = {"ask": one.words, "kind": one.kind, "columns": list(one.columns)}
    if isinstance(release, EmbeddingRelease):
        return reported | _mean(release, column)
    if isinstance(release, WeightedCountsRelease):
        return reported | _weights(release, schema)
    assert isinstance(release, CountsRelease)
    if one.kind == "quantile":
        return reported | {"level": one.level} | _quantile(release, column, one.level)
    return reported | _table(release.question.marginals[0], release.values[0], "count", schema)


def _weights(release: WeightedCountsRelease, schema: Schema) -> dict[str, Any]:
    """Every cell's weight in the weight's own unit, and by how much a row may weigh at most."""
    bound = float(schema.columns[release.question.by.column].bounds[1])
    reported = _table(release.question.marginals[0], release.values[0], "weight", schema)
    cells = [c | {"weight": c["weight"] * bound / BOUND} for c in reported["cells"]]
    return {"half": reported["half"] * bound / BOUND, "cells": cells, "by": release.question.by.column, "bound": bound}


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
