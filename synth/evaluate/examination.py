"""Everything the steward's report says of a synthetic table: each figure beside its floor and its forecast."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from synth.errors import UsageError, meant
from synth.evaluate import area_levels, data, named_uses, plugin_scores
from synth.evaluate import risks as attack
from synth.evaluate.area_levels import AreaLevel
from synth.evaluate.column_numbers import ColumnNumbers
from synth.evaluate.detection import Nearness, TwoSample, nearness, two_sample
from synth.evaluate.distances import Weighted
from synth.evaluate.fidelity import STEWARD_ONLY, Comparison, Subgroup, compare_samples, subgroups
from synth.evaluate.from_rows import from_rows
from synth.evaluate.read_sample import Sample, opened, read
from synth.evaluate.similarity import Similarity, similarity
from synth.evaluate.utility import Utility, utility
from synth.evaluate.verdict import Verdict
from synth.languages import Said
from synth.schema.table import Schema

if TYPE_CHECKING:
    from synth.evaluate.shadows import Shadow

NEAR = 1.1  # a figure within this factor of an expectation counts as met
MOST_GROUPS = 12  # columns of at most so many categories divide people into groups
MOST_DIVIDERS = 12  # columns by which groups are formed, unless named
STAGES = {"open": 0.1, "compare": 0.3, "predict": 0.15, "detect": 0.15, "copies": 0.1, "attack": 0.2}  # shares of time


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number about the synthetic table.

    ``floor``: the same for a bootstrap sample of the real rows, which no generator beats but by luck. ``forecast``: the
    error that privacy noise alone was expected to bring, as told before the run; for distances only.
    """

    name: str
    label: str
    higher_is_better: bool
    value: float | None
    floor: float | None
    forecast: float | None = None

    @property
    def parts(self) -> tuple[float, float, float] | None:
        """A distance as sampling, noise and the rest (bias); errors of unlike origin add in squares."""
        if self.value is None or self.floor is None or self.forecast is None or self.higher_is_better:
            return None
        sampling = min(self.value, self.floor)
        expected = min(self.value, max(sampling, sqrt(self.floor**2 + self.forecast**2)))
        return sampling, expected - sampling, self.value - expected

    @property
    def reading(self) -> str:
        """What the figure is made of, in words; empty where there is no forecast to tell by."""
        if self.parts is None or self.floor is None or self.forecast is None or self.value is None:
            return ""
        if self.value <= NEAR * self.floor:
            return "as close as another sample of the real table would be"
        if self.value <= NEAR * sqrt(self.floor**2 + self.forecast**2):
            return "sampling and privacy noise explain it"
        return "more than sampling and noise: the rest is bias of the model"


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
                raise UsageError("{} {}: at least 1 row is needed", name, getattr(self, name))
        if self.attacks < 0:
            raise UsageError("attacks {}: choose 0 for none, or more", self.attacks)


@dataclass(frozen=True, kw_only=True, eq=False)
class Examination:
    """The steward's report as data: a comparison, what was measured beside it, and the verdict on all of it.

    **Guarantee**: none; it derives from real rows and must not leave the steward.
    """

    comparison: Comparison = field(repr=False)
    utility: Utility | None = field(repr=False)
    two_sample: TwoSample = field(repr=False)
    subgroups: tuple[Subgroup, ...] = field(repr=False)
    verdict: Verdict = field(repr=False)
    similarity: tuple[Similarity, Similarity] = field(repr=False)
    figures: tuple[Figure, ...] = field(repr=False)
    nearness: Nearness = field(repr=False)
    limits: Limits
    test_rows: int | None = field(repr=False)
    weighted_floor: Weighted | None = field(repr=False, default=None)
    own_scores: tuple[plugin_scores.PluginScore, ...] = field(repr=False, default=())
    risks: attack.Risks | None = field(repr=False, default=None)
    shadows: "tuple[Shadow, ...]" = field(repr=False, default=())
    areas: Mapping[str, tuple[AreaLevel, ...]] = field(repr=False, default_factory=dict)
    marking: str = STEWARD_ONLY


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
    limits = limits or Limits()
    both = opened(real, synthetic, schema, limit=limits.rows, rng=np.random.default_rng(limits.seed))
    result = _appraised(*both, schema, limits=limits, fit=fit)
    return result["comparison"], result["verdict"]


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
) -> dict[str, Any]:
    """What every page says of a table alike, by field of ``Examination``."""
    compared, trained, recognised = _draws(limits)[:3]
    stage("compare")
    comparison = compare_samples(ours, theirs, quality_rows=limits.quality, rng=compared, weight=schema.weight)
    stage("predict")
    few = (ours.at_most(limits.models, trained), theirs.at_most(limits.models, trained))
    predicted = (n for u in schema.uses or () if u.kind == "prediction" for n in u.columns)
    used, wanted = None, target or schema.target or next(predicted, None)
    if wanted is not None and len(ours.columns) > 1:
        try:
            used = utility(*few, schema, target=wanted, test=test, rng=trained)
        except UsageError:  # there is nothing to predict
            if target is not None:
                raise
    stage("detect")
    told = two_sample(ours, theirs, rows=limits.classifier, rng=recognised)
    served = tuple(subgroups(comparison, _dividers(ours, groups)))
    named = named_uses.judged(schema, comparison, ours, theirs)
    said = from_rows(comparison, utility=used, two_sample=told, groups=served, named=named, fit=fit)
    return {"comparison": comparison, "utility": used, "two_sample": told, "subgroups": served, "verdict": said}


def _draws(limits: Limits) -> list[np.random.Generator]:
    """A generator for each part."""
    return [np.random.default_rng([limits.seed, part]) for part in range(1, 5)]


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
    stage("open")
    ours, theirs = opened(real, synthetic, schema, limit=limits.rows, rng=np.random.default_rng(limits.seed))
    rng = _draws(limits)[-1]
    held = read(test, schema, limit=limits.rows, rng=rng) if test is not None else None
    said = _appraised(
        ours, theirs, schema, limits=limits, target=target, test=held, groups=groups, fit=fit, stage=stage
    )
    again = ours.resampled(theirs.used, rng)
    alike = similarity(ours, theirs, rng=rng), similarity(ours, again, rng=rng)
    base = compare_samples(ours, again, quality_rows=None, rng=rng, weight=schema.weight)
    stage("copies")
    near = nearness(ours, theirs, test=held, rows=limits.nearest, rng=rng)
    scored = plugin_scores.measure(ours, theirs, schema)
    stage("attack")
    tried = {"attacks": limits.attacks, "rows": limits.attacked}
    return Examination(
        **said,
        similarity=alike,
        figures=tuple(_figures(said["comparison"], base, alike, said["utility"], said["two_sample"], forecast or {})),
        nearness=near,
        limits=limits,
        weighted_floor=base.weighted,
        own_scores=scored,
        areas=area_levels.of_samples(schema.columns, ours, theirs),
        test_rows=None if held is None else held.rows,
        risks=attack.measure(ours, theirs, test=held, known=_dividers(ours, groups), rng=rng, **tried),
    )


def _dividers(real: Sample, named: tuple[str, ...]) -> list[str]:
    for name in named:
        if name not in real.columns:
            raise UsageError("`group={}` is not a measured column; {}", name, meant(name, real.columns))
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
    """Each figure beside that of ``base``, another sample of the real rows."""
    both = (comparison, base)
    lines: list[tuple[str, str, float | None, float | None]] = [
        ("one_way", "distance of single columns, mean", comparison.one_way_mean, base.one_way_mean),
        ("two_way", "two-way distance, mean over pairs", comparison.pairs_mean, base.pairs_mean),
    ]
    if (w := comparison.weighted) is not None and (beside := base.weighted) is not None:
        lines += [
            ("one_way_weighted", Said("distance of single columns, rows weighted by {}", w.by), w.mean, beside.mean),
            ("two_way_weighted", Said("two-way distance, rows weighted by {}", w.by), w.pairs, beside.pairs),
        ]
    if comparison.worst_pair is not None:
        worst = [float(np.triu(c.pairs, 1).max()) for c in both]
        about = Said("two-way distance of the worst pair ({})", " and ".join(comparison.worst_pair))
        lines.append(("worst_pair", about, worst[0], worst[1]))
    for name, label, of in OF_NUMBERS:
        far = [{n: v for n, o in c.one_way.items() if o.numbers and (v := of(o.numbers)) is not None} for c in both]
        if far[0]:
            farthest = max(far[0], key=lambda n: far[0][n])
            lines.append(
                (name, Said("{}: {}", farthest, Said(label)), far[0][farthest], max(far[1].values(), default=None))
            )
    if comparison.group_means:
        g = max(comparison.group_means, key=lambda g: g.off)
        about = Said("{} / {}: a group's mean that is farthest off, in standard deviations", g.column, g.by)
        lines.append(("group_mean", about, g.off, max((g.off for g in base.group_means), default=None)))
    if (r := comparison.correlation) is not None:
        lines.append(
            ("correlation", Said("{}: the correlation that is farthest off", " / ".join(r.columns)), r.off, r.second)
        )
    if (seen := comparison.implausible) is not None:
        about = Said("rows that could not be: with two values that half of the real rows never have together")
        lines.append(("implausible", about, seen.share, seen.second))
    scores = [(n, label, True, getattr(alike[0], n), getattr(alike[1], n)) for n, label in SCORES]
    scores += [
        (u.name, Said("{}, trained on synthetic rows", Said(u.label)), u.higher_is_better, u.synthetic, u.floor)
        for u in (used.scores if used else ())
    ]
    told = "how well a computer tells real from synthetic rows, area under ROC (0.5: not at all)"
    scores.append(("c2st_auc", told, False, reported.auc, 0.5))
    return [
        Figure(name=n, label=label, higher_is_better=better, value=v, floor=f, forecast=forecast.get(n))
        for n, label, better, v, f in (*((n, label, False, v, f) for n, label, v, f in lines), *scores)
    ]


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


def plain(examination: Examination) -> dict[str, Any]:
    """The examination as JSON data. For the steward alone."""
    c, alike, q = examination.comparison, examination.similarity[0], examination.comparison.quality
    own = ("marking", "limits", "subgroups", "utility", "two_sample", "nearness", "own_scores")
    return {
        **{n: data(getattr(examination, n)) for n in own},
        **{n: data(getattr(c, n)) for n in ("group_means", "correlation", "implausible", "weighted")},
        "rows": {
            "real": c.real_rows,
            "real_used": c.real_rows_used,
            "synthetic": c.synthetic_rows,
            "synthetic_used": c.synthetic_rows_used,
            "held_out": examination.test_rows,
        },
        "figures": [{**vars(f), "parts": f.parts, "reading": f.reading} for f in examination.figures],
        "verdict": examination.verdict.plain(),
        "worst_triples": [{"columns": p.names, "distance": p.distance} for p in examination.verdict.worst["triple"]],
        "associations": _both(c.columns, c.associations),
        "columns": {n: o.distance for n, o in c.one_way.items()},
        "numbers": {n: data(o.numbers) for n, o in c.one_way.items() if o.numbers is not None},
        "pairs": {
            "columns": list(c.columns),
            "distance": c.pairs.tolist(),
            "by_chance": c.pairs_by_chance,
            "worst": c.worst_pair,
        },
        "correlations": _both(alike.names, alike.correlations),
        "risks": None if examination.risks is None else examination.risks.plain(),
        "shadows": [s.plain() for s in examination.shadows],
        "areas": {n: [level.plain() for level in up] for n, up in examination.areas.items()},
        "sdmetrics": None if q is None else q.plain(),
    }


def _both(names: Sequence[str], tables: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    return {"columns": list(names), "real": data(tables[0]), "synthetic": data(tables[1])}
