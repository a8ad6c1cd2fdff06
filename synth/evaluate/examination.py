"""Everything the steward's report says of a synthetic table: each figure beside its floor and its forecast."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from synth.errors import UsageError, meant
from synth.evaluate import area_levels, named_uses, plugin_scores
from synth.evaluate import risks as attack
from synth.evaluate.area_levels import AreaLevel
from synth.evaluate.column_numbers import ColumnNumbers
from synth.evaluate.detection import Nearness, TwoSample, nearness, two_sample
from synth.evaluate.fidelity import STEWARD_ONLY, Comparison, compare_samples
from synth.evaluate.figure import Figure
from synth.evaluate.from_rows import from_rows
from synth.evaluate.read_sample import Sample, read
from synth.evaluate.similarity import Similarity, similarity
from synth.evaluate.subgroups import Subgroup, subgroups
from synth.evaluate.utility import Utility, utility
from synth.evaluate.verdict import Use, Verdict
from synth.evaluate.weighting import Weighted
from synth.schema.dataset import check_schema
from synth.schema.table import Schema

if TYPE_CHECKING:
    from synth.evaluate.risks.shadows import Shadow

MOST_GROUPS = 12  # columns of at most so many categories divide people into groups
MOST_DIVIDERS = 12  # columns by which groups are formed, unless named
STAGES = {"open": 0.1, "compare": 0.3, "predict": 0.15, "detect": 0.15, "copies": 0.1, "attack": 0.2}  # shares of time


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Most rows used of each table; above it a sample is drawn with ``seed``, and the report says so.

    Each part draws with a generator of its own, so that the same limits give the same figures on every page.

    ``attacks``: of each kind on each table; 0 for none.
    """

    rows: int = 50_000
    quality: int = 5_000
    models: int = 10_000
    classifier: int = 5_000
    nearest: int = 10_000
    attacked: int = 10_000
    attacks: int = attack.ATTACKS
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("rows", "quality", "models", "classifier", "nearest", "attacked"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} {getattr(self, name)}: at least 1 row is needed")
        if self.attacks < 0:
            raise UsageError(f"attacks {self.attacks}: choose 0 for none, or more")


@dataclass(frozen=True, kw_only=True, eq=False)
class Examination:
    """The steward's report as data. **Guarantee**: none; it derives from real rows and must not leave the steward."""

    comparison: Comparison = field(repr=False)
    similarity: tuple[Similarity, Similarity] = field(repr=False)
    figures: tuple[Figure, ...] = field(repr=False)
    subgroups: tuple[Subgroup, ...] = field(repr=False)
    utility: Utility | None = field(repr=False)
    two_sample: TwoSample = field(repr=False)
    nearness: Nearness = field(repr=False)
    limits: Limits
    test_rows: int | None = field(repr=False)
    weighted_floor: Weighted | None = field(repr=False, default=None)
    own_scores: tuple[plugin_scores.PluginScore, ...] = field(repr=False, default=())
    risks: attack.Risks | None = field(repr=False, default=None)
    shadows: "tuple[Shadow, ...]" = field(repr=False, default=())
    areas: Mapping[str, tuple[AreaLevel, ...]] = field(repr=False, default_factory=dict)
    verdict: Verdict = field(repr=False)
    marking: str = STEWARD_ONLY


@dataclass(frozen=True, kw_only=True, eq=False)
class Appraisal:
    """A comparison, what was measured beside it, and the verdict on all of it."""

    comparison: Comparison
    utility: Utility | None
    two_sample: TwoSample | None
    subgroups: tuple[Subgroup, ...]
    verdict: Verdict


def appraise(
    real: str | Path | pd.DataFrame,
    synthetic: str | Path | pd.DataFrame,
    schema: Schema,
    *,
    limits: Limits | None = None,
    fit: Mapping[str, float] | None = None,
) -> tuple[Comparison, Verdict]:
    """A comparison and what the table is good for: the part of ``examine`` that is done in seconds.

    ``real``, ``synthetic``: CSV or Parquet files, or frames, with the columns of ``schema``; ``limits``: how many
    rows are used; ``fit``: of the release's card.

    Errors: InputError for an unusable file, UsageError for a schema of identifiers.
    **Guarantee**: none; for the steward alone.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    check_schema(schema)
    limits = limits or Limits()
    if not schema.measured():
        raise UsageError("every column is an identifier; there is nothing to compare")
    result = _appraised(*_opened(real, synthetic, schema, limits), schema, limits=limits, fit=fit)
    return result.comparison, result.verdict


def _opened(
    real: str | Path | pd.DataFrame, synthetic: str | Path | pd.DataFrame, schema: Schema, limits: Limits
) -> tuple[Sample, Sample]:
    rng = np.random.default_rng(limits.seed)
    ours = read(real, schema, limit=limits.rows, rng=rng)
    return ours, read(synthetic, schema, limit=limits.rows, rng=rng, synthetic=True)


def _appraised(
    ours: Sample,
    theirs: Sample,
    schema: Schema,
    *,
    limits: Limits,
    target: str | None = None,
    test: Sample | None = None,
    groups: tuple[str, ...] = (),
    fit: Mapping[str, float] | None = None,
    stage: Callable[[str], None] = lambda _: None,
) -> Appraisal:
    """What every page says of a table alike: each part draws with a generator of its own."""
    compared, trained, recognised = _draws(limits)[:3]
    stage("compare")
    comparison = compare_samples(ours, theirs, quality_rows=limits.quality, rng=compared, weight=schema.weight)
    stage("predict")
    few = (ours.at_most(limits.models, trained), theirs.at_most(limits.models, trained))
    used = _trained(*few, schema, target=target, test=test, rng=trained)
    stage("detect")
    reported = _distinguished(ours, theirs, rows=limits.classifier, rng=recognised)
    served = tuple(subgroups(comparison, _dividers(ours, groups)))

    def named(fitted: bool) -> Iterable[Use]:
        return named_uses.judged(schema, comparison, ours, theirs, fitted=fitted)

    return Appraisal(
        comparison=comparison,
        utility=used,
        two_sample=reported,
        subgroups=served,
        verdict=from_rows(comparison, utility=used, two_sample=reported, groups=served, named=named, fit=fit),
    )


def _draws(limits: Limits) -> list[np.random.Generator]:
    return [np.random.default_rng([limits.seed, part]) for part in range(1, 5)]


def _distinguished(ours: Sample, theirs: Sample, *, rows: int, rng: np.random.Generator) -> TwoSample | None:
    """``two_sample``, or None where its library is not installed."""
    try:
        return two_sample(ours, theirs, rows=rows, rng=rng)
    except UsageError:
        return None


def examine(
    real: str | Path,
    synthetic: str | Path,
    schema: Schema,
    *,
    test: str | Path | None = None,
    target: str | None = None,
    groups: tuple[str, ...] = (),
    forecast: Mapping[str, float | None] | None = None,
    fit: Mapping[str, float] | None = None,
    limits: Limits | None = None,
    stage: Callable[[str], None] = lambda _: None,
) -> Examination:
    """Examines a synthetic table against the real one, and against held-out rows (``test``) where there are any.

    ``target``: column to be predicted, default the schema's. ``groups``: columns that divide people into groups,
    default those of few categories. ``forecast``: expected errors ``one_way`` and ``two_way`` from noise alone.
    ``fit``: of the release's card. ``stage``: is told of each of ``STAGES`` as it begins. Same arguments, same figures.
    Errors: InputError for an unusable file, UsageError for a name that is not a column.

    **Guarantee**: none; for the steward alone.
    """
    limits = limits or Limits()
    if not schema.measured():
        raise UsageError("every column is an identifier; there is nothing to compare")
    stage("open")
    ours, theirs = _opened(real, synthetic, schema, limits)
    rng = _draws(limits)[-1]
    held = read(test, schema, limit=limits.rows, rng=rng) if test is not None else None
    said = _appraised(
        ours, theirs, schema, limits=limits, target=target, test=held, groups=groups, fit=fit, stage=stage
    )
    reported = said.two_sample or two_sample(
        ours, theirs, rows=limits.classifier, rng=rng
    )  # says what is not installed
    again = ours.resampled(theirs.used, rng)
    alike = similarity(ours, theirs, rng=rng), similarity(ours, again, rng=rng)
    base = compare_samples(ours, again, quality_rows=None, rng=rng, weight=schema.weight)
    stage("copies")
    near = nearness(ours, theirs, test=held, rows=limits.nearest, rng=rng)
    scored = plugin_scores.measure(ours, theirs, schema)
    stage("attack")
    return Examination(
        comparison=said.comparison,
        similarity=alike,
        figures=tuple(_figures(said.comparison, base, alike, said.utility, reported, forecast or {})),
        subgroups=said.subgroups,
        utility=said.utility,
        two_sample=reported,
        verdict=said.verdict,
        nearness=near,
        limits=limits,
        weighted_floor=base.weighted,
        own_scores=scored,
        areas=area_levels.of_samples(schema.columns, ours, theirs),
        test_rows=None if held is None else held.rows,
        risks=attack.measure(
            ours,
            theirs,
            test=held,
            known=_dividers(ours, groups),
            rng=rng,
            attacks=limits.attacks,
            rows=limits.attacked,
        ),
    )


def _trained(
    real: Sample,
    synthetic: Sample,
    schema: Schema,
    *,
    target: str | None,
    test: Sample | None,
    rng: np.random.Generator,
) -> Utility | None:
    """Scores of trained models; None where there is nothing to predict and nobody named a target."""
    predicted = (n for u in schema.uses or () if u.kind == "prediction" for n in u.columns)
    wanted = target or schema.target or next(predicted, None)
    if wanted is None or len(real.columns) < 2:
        return None
    try:
        return utility(real, synthetic, schema, target=wanted, test=test, rng=rng)
    except UsageError:
        if target is not None:
            raise
        return None


def _dividers(real: Sample, named: tuple[str, ...]) -> list[str]:
    for name in named:
        if name not in real.columns:
            raise UsageError(f"`group={name}` is not a measured column; {meant(name, real.columns)}")
    few = [n for n in real.categorical() if real.columns[n].cells <= MOST_GROUPS]
    return list(named) or few[:MOST_DIVIDERS]


def _figures(
    comparison: Comparison,
    base: Comparison,
    alike: tuple[Similarity, Similarity],
    used: Utility | None,
    reported: TwoSample,
    forecast: Mapping[str, float | None],
) -> list[Figure]:
    out = [
        _distance(
            "one_way", "one-way distance, mean over columns", comparison.one_way_mean, base.one_way_mean, forecast
        ),
        _distance("two_way", "two-way distance, mean over pairs", comparison.pairs_mean, base.pairs_mean, forecast),
    ]
    if comparison.weighted is not None and base.weighted is not None:
        by, pairs = comparison.weighted.by, (comparison.weighted.pairs, base.weighted.pairs)
        out += [
            _distance(
                "one_way_weighted",
                f"one-way distance, rows weighted by {by}",
                comparison.weighted.mean,
                base.weighted.mean,
                forecast,
            ),
            _distance("two_way_weighted", f"two-way distance, rows weighted by {by}", *pairs, forecast),
        ]
    if comparison.worst_pair is not None:
        worst = [float(np.triu(c.pairs, 1).max()) for c in (comparison, base)]
        label = f"two-way distance of the worst pair ({' and '.join(comparison.worst_pair)})"
        out.append(Figure(name="worst_pair", label=label, higher_is_better=False, value=worst[0], floor=worst[1]))
    out += _amounts(comparison, base)
    for name, label in SCORES:
        value, floor = (getattr(a, name) for a in alike)
        out.append(Figure(name=name, label=label, higher_is_better=True, value=value, floor=floor))
    for score in used.scores if used else ():
        out.append(
            Figure(
                name=score.name,
                label=f"{score.label}, trained on synthetic rows",
                higher_is_better=score.higher_is_better,
                value=score.synthetic,
                floor=score.floor,
            )
        )
    label = "two-sample classifier, area under ROC (0.5: cannot tell)"
    out.append(Figure(name="c2st_auc", label=label, higher_is_better=False, value=reported.auc, floor=0.5))
    return out


def _amounts(comparison: Comparison, base: Comparison) -> list[Figure]:
    """Of each measure of amounts the place that is farthest off, and the farthest of ``base``."""
    out, both = [], (comparison, base)
    for name, label, of in OF_NUMBERS:
        far = [{n: v for n, o in c.one_way.items() if o.numbers and (v := of(o.numbers)) is not None} for c in both]
        if far[0]:
            worst = max(far[0], key=lambda n: far[0][n])
            out.append((name, f"{worst}: {label}", far[0][worst], max(far[1].values(), default=None)))
    if comparison.group_means:
        farthest = max(comparison.group_means, key=lambda g: g.off)
        about = f"{farthest.column} / {farthest.by}: a group's mean that is farthest off, in standard deviations"
        out.append(("group_mean", about, farthest.off, max((g.off for g in base.group_means), default=None)))
    if comparison.correlation is not None:
        about = f"{' / '.join(comparison.correlation.columns)}: the correlation that is farthest off"
        out.append(("correlation", about, comparison.correlation.off, comparison.correlation.second))
    if comparison.implausible is not None:
        about = "rows that could not be: with two values that half of the real rows never have together"
        out.append(("implausible", about, comparison.implausible.share, comparison.implausible.second))
    return [Figure(name=n, label=label, higher_is_better=False, value=v, floor=f) for n, label, v, f in out]


OF_NUMBERS: tuple[tuple[str, str, Callable[[ColumnNumbers], float | None]], ...] = (
    ("mean", "mean that is farthest off, in standard deviations", lambda c: c.mean_off),
    ("spread", "ratio of standard deviations, farthest from 1", lambda c: c.spread_factor),
    ("median", "median that is farthest off, in standard deviations", lambda c: c.quantile_off(0.5)),
    ("p90", "90th percentile that is farthest off, in standard deviations", lambda c: c.quantile_off(0.9)),
    ("p99", "99th percentile that is farthest off, in standard deviations", lambda c: c.quantile_off(0.99)),
)
SCORES = (
    ("ks", "KS: numbers, 1 - Kolmogorov-Smirnov distance"),
    ("tv", "TV: categories, 1 - total variation"),
    ("contsim", "ContSim: pairs of categories, 1 - total variation"),
    ("corrsim", "CorrSim: pairs of numbers, likeness of correlations"),
)


def _distance(
    name: str, label: str, value: float | None, floor: float | None, forecast: Mapping[str, float | None]
) -> Figure:
    return Figure(name=name, label=label, higher_is_better=False, value=value, floor=floor, forecast=forecast.get(name))


def plain(examination: Examination) -> dict[str, Any]:
    """The examination as JSON data. For the steward alone."""
    c, q = examination.comparison, examination.comparison.quality
    return {
        "marking": examination.marking,
        "rows": {
            "real": c.real_rows,
            "real_used": c.real_rows_used,
            "synthetic": c.synthetic_rows,
            "synthetic_used": c.synthetic_rows_used,
            "held_out": examination.test_rows,
        },
        "limits": vars(examination.limits),
        "figures": [{**vars(f), "parts": f.parts, "reading": f.reading} for f in examination.figures],
        "verdict": examination.verdict.plain(),
        "worst_triples": [{"columns": p.names, "distance": p.distance} for p in examination.verdict.worst["triple"]],
        "associations": {
            "columns": list(c.columns),
            "real": c.associations[0].tolist(),
            "synthetic": c.associations[1].tolist(),
        },
        "columns": {n: o.distance for n, o in c.one_way.items()},
        "numbers": {n: vars(o.numbers) for n, o in c.one_way.items() if o.numbers is not None},
        "group_means": [vars(g) for g in c.group_means],
        "correlation": None if c.correlation is None else vars(c.correlation),
        "implausible": None if c.implausible is None else vars(c.implausible),
        "weighted": None if c.weighted is None else vars(c.weighted),
        "pairs": {
            "columns": list(c.columns),
            "distance": c.pairs.tolist(),
            "by_chance": c.pairs_by_chance,
            "worst": c.worst_pair,
        },
        "correlations": {
            "columns": list(examination.similarity[0].names),
            "real": _numbers(examination.similarity[0].correlations[0]),
            "synthetic": _numbers(examination.similarity[0].correlations[1]),
        },
        "subgroups": [vars(s) for s in examination.subgroups],
        "utility": None
        if examination.utility is None
        else {**vars(examination.utility), "scores": [vars(s) for s in examination.utility.scores]},
        "two_sample": vars(examination.two_sample),
        "nearness": vars(examination.nearness),
        "risks": None if examination.risks is None else examination.risks.plain(),
        "shadows": [s.plain() for s in examination.shadows],
        "areas": {n: [level.plain() for level in up] for n, up in examination.areas.items()},
        "own_scores": [{**vars(s), "values": dict(s.values)} for s in examination.own_scores],
        "sdmetrics": None if q is None else {**vars(q), "by_column": dict(q.by_column)},
    }


def _numbers(table: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(v) else float(v) for v in row] for row in table]
