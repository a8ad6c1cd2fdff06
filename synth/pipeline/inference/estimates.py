"""Answers about a population from one release, each with an interval that counts the noise; free."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError, reading
from synth.generators.core.product import Product
from synth.lazy import Lazy
from synth.pipeline.inference import intervals
from synth.pipeline.inference.asked import ColumnTerm, EstimateQuestion
from synth.pipeline.inference.estimands import regression
from synth.pipeline.inference.intervals import Interval
from synth.pipeline.inference.quantiles import quantile
from synth.pipeline.inference.weighted_rows import RELATED, ROWS, WeightedRows
from synth.release import folder
from synth.schema.table import Schema

special = Lazy("scipy.special")

MODEL = "rests for the larger part on what no table counted: the interval assumes that it is hardly related"
EMPTY = "too few rows stand out of the noise, so that hardly anything is told of it"
LOOSE = (
    "not identified: the noise, or columns that determine each other, leave it open; ask of fewer columns, or "
    "release with a larger epsilon"
)


def estimates(
    release: str | Path, ask: Sequence[str], *, level: float = 0.95, related: float = RELATED
) -> list[dict[str, Any]]:
    """What the release says of the population that its rows were drawn from, with intervals.

    ``ask``: ``mean:COL``, ``quantile:COL:0.5``, ``share:COL``, ``difference:COL*GROUP`` (means of every two groups),
    ``linear:COL~COL+COL``, ``logistic:...``, ``poisson:...``; ``COL=VALUE`` in a column's place is 1 where it has the
    value, else 0. For each estimand a row: ``ask``, ``name``, ``estimate``, ``low``, ``high``, the deviations
    ``noise``, ``sampling`` and ``unmeasured``, and ``warnings``. Intervals cover with probability ``level``: they count
    privacy noise, the chance by which people came into the table, and the model's error in what no released table
    determines (``related`` is the correlation that it is allowed to have with the question). Estimates and intervals
    lie within what is possible; where the release tells nothing the interval is all of that, with a warning. The
    estimate of a coefficient that is not identified is NaN, its interval minus to plus infinity. Where the schema names
    a survey weight, rows count by it, except in questions about the weight itself.

    **Guarantee**: that of the release (post-processing). Errors: UsageError for questions that the schema or the
    release cannot answer, InputError for a damaged release.

    Privacy: released answers only.
    **Source**: Deville and Sarndal 1992 (calibration); Fieller 1954 and Woodruff 1952 (ratios, quantiles).
    """
    asked = [EstimateQuestion.read(words) for words in ask]
    if not asked or not 0 < level < 1 or not 0 <= related <= 1:
        raise UsageError("estimates: needs questions, a level between 0 and 1, and related from 0 to 1")
    stored = folder.load_release(release)
    for one in asked:
        one.check(stored.setting.schema)
    with reading(release, "release"):
        model = folder.load_model(release).model
    if not isinstance(model, Product):
        raise UsageError(f"estimates: are for releases of mixture, and this one is of {stored.method}")
    drawn = model.sample(ROWS, rng=np.random.default_rng(0))
    reported, known = [], {}
    for one in asked:
        if one.columns not in known:
            known[one.columns] = _rows(one.columns, stored, drawn, model.total)
        z = float(special.ndtri((1 + level) / 2))
        result = _answered(one, known[one.columns], stored.setting.schema, z=z, related=related)
        reported += [{"ask": one.words, **_plain(i)} for i in result]
    return reported


def _rows(
    columns: tuple[str, ...], stored: folder.StoredRelease, drawn: Mapping[str, np.ndarray], total: float
) -> WeightedRows:
    """With the schema's survey weights, unless these are what is asked of."""
    schema = stored.setting.schema
    weight = schema.weight
    if weight is None or weight in columns:
        return WeightedRows.of(stored.releases, drawn, total, columns)
    rows = WeightedRows.of(stored.releases, drawn, total, (*columns, weight))
    return rows.surveyed(ColumnTerm(column=weight).numbers(rows.positions, schema))


def _answered(one: EstimateQuestion, rows: WeightedRows, schema: Schema, *, z: float, related: float) -> list[Interval]:
    column = one.outcome.column
    if one.kind == "quantile":
        return [quantile(rows, column, one.level, schema, z=z, related=related)]
    if one.kind == "difference":
        return intervals.differences(rows, one.outcome, one.by[0], schema, z=z, related=related)
    if one.kind in ("mean", "share"):
        values = (schema.columns[column].categories or ()) if one.kind == "share" else (one.outcome.value,)
        terms = {v or column: ColumnTerm(column=column, value=v) for v in values}
        return intervals.means(rows, terms, schema, z=z, related=related)
    fitted = intervals.coefficients(rows, regression(rows, one, schema), z=z, related=related)
    groups = {i.name: ColumnTerm.read(i.name) for i in fitted if "=" in i.name}
    if not groups:
        return fitted
    sizes = intervals.means(rows, groups, schema, z=z, related=related)
    hidden = {i.name for i in sizes if i.low <= 0}
    return [replace(i, bounded=i.name not in hidden) for i in fitted]


def _plain(interval: Interval) -> dict[str, Any]:
    rests = interval.parts["unmeasured"] ** 2 > interval.parts["noise"] ** 2 + interval.parts["sampling"] ** 2
    reported = {
        "name": interval.name,
        "estimate": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        **interval.parts,
    }
    warned = {MODEL: rests, EMPTY: not interval.bounded, LOOSE: not interval.identified}
    return reported | {"warnings": [words for words, here in warned.items() if here]}
