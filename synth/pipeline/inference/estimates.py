"""Answers about a population from one release, each with an interval that counts the noise; free."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError, reading
from synth.generators.core.product import Product
from synth.lazy import Lazy
from synth.pipeline.inference.weighted_rows import RELATED, ROWS, WeightedRows
from synth.release import folder
from synth.schema.table import NUMERIC, Schema

MOST_GROUPS = 20
FITS = ("linear", "logistic", "poisson")
FORMS = (
    "write mean:COL, quantile:COL:0.5, share:COL, difference:COL*GROUP, or linear:COL~COL+COL (logistic, poisson "
    "alike); COL=VALUE is 1 where a column has that value, else 0"
)


def worded(words: str, marks: Mapping[str, str], forms: str) -> tuple[str, str, str, float]:
    """The kind of what is asked, its column, what else is said, and the level of a quantile. Errors: UsageError.

    ``marks``: by kind what stands between the last two, if anything does.

    >>> worded("quantile:age:0.25", {"quantile": ":"}, "")
    ('quantile', 'age', '0.25', 0.25)
    """
    kind, _, name = words.partition(":")
    mark, more, level = marks.get(kind), "", 0.5
    if mark:
        name, _, more = name.partition(mark) if mark == "~" else name.rpartition(mark)
    try:
        level = float(more) if mark == ":" else level
    except ValueError:
        level = 0.0
    if mark is None or not name or (mark and not more) or not 0 < level < 1:
        raise UsageError("`ask={}`: {}", words, forms)
    return kind, name, more, level


@dataclass(frozen=True, kw_only=True)
class ColumnTerm:
    """A column's numbers, or, with a ``value``, 1 where it has that value and 0 elsewhere."""

    column: str
    value: str | None = None

    @classmethod
    def read(cls, words: str) -> "ColumnTerm":
        """From ``COL`` or ``COL=VALUE``."""
        column, equals, value = words.strip().partition("=")
        return cls(column=column, value=value if equals else None)

    def numbers(self, positions: Mapping[str, np.ndarray], schema: Schema) -> np.ndarray:
        """(N,), NaN where the column is missing."""
        column, places = schema.columns[self.column], positions[self.column]
        values = np.arange(column.size, dtype=float)
        if self.value is None:
            values = float(column.bounds[0]) + float(column.step) * places
        else:
            values = (places == (column.categories or ()).index(self.value)).astype(float)
        return np.where(places < column.size, values, np.nan)

    def ends(self, schema: Schema) -> tuple[float, float]:
        """The least and the greatest that it can be."""
        bounds = (0, 1) if self.value is not None else schema.columns[self.column].bounds
        return float(bounds[0]), float(bounds[1])


@dataclass(frozen=True, kw_only=True)
class EstimateQuestion:
    """One question: ``kind``, the outcome, and by what: a grouping column, or regressors; ``level`` of a quantile.

    >>> EstimateQuestion.read("logistic:high=yes~age+sex").by
    ('age', 'sex')
    """

    words: str
    kind: str
    outcome: ColumnTerm
    by: tuple[str, ...] = ()
    level: float = 0.5

    @classmethod
    def read(cls, words: str) -> "EstimateQuestion":
        """From the words of ``FORMS``. Errors: UsageError."""
        marks = {"mean": "", "share": "", "quantile": ":", "difference": "*", **dict.fromkeys(FITS, "~")}
        kind, name, more, level = worded(words, marks, FORMS)
        by = "" if kind == "quantile" else more
        terms = tuple(t.strip() for t in by.split("+")) if by else ()
        return cls(words=words, kind=kind, outcome=ColumnTerm.read(name), by=terms, level=level)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the question reads."""
        return tuple(dict.fromkeys((self.outcome.column, *self.by)))

    def check(self, schema: Schema) -> None:
        """Errors: UsageError for unknown columns and values, and for columns of the wrong kind."""
        for name in self.columns:
            if name not in schema.measured() or schema.columns[name].type == "datetime":
                raise UsageError("`ask={}`: {} is not a measured column of numbers or categories", self.words, name)
        column, value = schema.columns[self.outcome.column], self.outcome.value
        if value is not None and value not in (column.categories or ()):
            raise UsageError("`ask={}`: {} has no category {}", self.words, self.outcome.column, value)
        if self.kind == "share" and (column.type in NUMERIC or value is not None):
            raise UsageError("`ask={}`: shares are of categories; write share:COL", self.words)
        if self.kind != "share" and value is None and column.type not in NUMERIC:
            raise UsageError("`ask={}`: {} holds no numbers; write COL=VALUE", self.words, self.outcome.column)
        if len(set(self.by)) < len(self.by) or self.outcome.column in self.by:
            raise UsageError("`ask={}`: each column once", self.words)
        for name in self.by:
            column, numeric = schema.columns[name], schema.columns[name].type in NUMERIC
            if (numeric and self.kind == "difference") or (not numeric and not 2 <= column.size <= MOST_GROUPS):
                raise UsageError("`ask={}`: {} must have 2 to {} categories", self.words, name, MOST_GROUPS)


STEPS, CORRECTIONS = 50, 3  # of Newton's method on the model's rows; with the weights, whose own curvature is noisy
LIFT = 1e-9  # of the curvature's size, so that a column without a row does no harm
ALIKE = 1e6  # as often the variance of a coefficient as if its column stood alone: the others determine the column


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimated:
    """Coefficients (k,), their names, and scores (N, k): an estimate's error is the weighted sum of its scores.

    ``limits`` (k,): half the width at which an interval says nothing any more; ``there`` (N,): complete rows.
    """

    names: tuple[str, ...]
    values: np.ndarray
    scores: np.ndarray
    limits: np.ndarray
    there: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Link:
    """The mean by a linear predictor held within ``far``, its slope by the mean, and the longest step towards it, up to
    which a straight line may stand for the curve."""

    mean: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    far: float = 30.0
    step: float = 2.0


LINKS: Mapping[str, Link] = {
    "linear": Link(mean=lambda t: t, slope=np.ones_like, far=np.inf, step=np.inf),
    "logistic": Link(mean=lambda t: 1 / (1 + np.exp(-t)), slope=lambda m: m * (1 - m)),
    "poisson": Link(mean=np.exp, slope=lambda m: m),
}


def regression(rows: WeightedRows, asked: EstimateQuestion, schema: Schema) -> Estimated:
    """Coefficients of a linear, logistic or Poisson regression over complete rows, without a category's first value.

    The model's own rows, whose weights are positive, give a start and the curvature; a few steps with the other weights
    then bring the weighted sum of scores to zero, as far as noise lets it matter.
    """
    y = asked.outcome.numbers(rows.positions, schema)
    names, x = _design(rows, asked, schema)
    there = np.isfinite(y) & np.isfinite(x).all(axis=1)
    x, y, size = np.where(there[:, None], x, 0.0), np.where(there, y, 0.0), max(float(rows.start @ there), 1.0)
    middle = rows.start @ x / size
    middle[0] = 0.0
    scale = np.sqrt(rows.start @ (there[:, None] * (x - middle) ** 2) / size)
    scale = np.where(scale > 0, scale, 1.0)
    link = LINKS[asked.kind]
    x = np.where(there[:, None], (x - middle) / scale, 0.0)
    beta, scores, bend = _solved(x, y, rows, link)
    # of coefficients on scaled columns: a step of the link, up to which scores change evenly, or the greatest deviation
    # of an outcome; 0 for a column that the others determine; the constant has none
    ends, alone = asked.outcome.ends(schema), np.diag(bend)
    limit = link.step if np.isfinite(link.step) else (ends[1] - ends[0]) / 2
    own = (alone > 0) & (alone * np.diag(_inverse(bend)) < ALIKE)
    limits = np.append(np.inf, np.where(own, limit, 0.0)[1:])
    back = np.diag(1 / scale)  # of coefficients on centred and scaled columns to plain ones
    back[0, 1:] = -middle[1:] / scale[1:]
    return Estimated(names=names, values=back @ beta, scores=scores @ back.T, there=there, limits=limits / scale)


def _solved(x: np.ndarray, y: np.ndarray, rows: WeightedRows, link: Link) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients, their scores (N, k), and the curvature (k, k)."""

    def fitted(beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = link.mean(np.clip(x @ beta, -link.far, link.far))
        bend = (x * (rows.start * rows.survey * link.slope(mean))[:, None]).T @ x
        return x * (rows.survey * (y - mean))[:, None], bend

    beta = np.zeros(x.shape[1])
    for step in range(STEPS + CORRECTIONS):
        scores, bend = fitted(beta)
        move = _inverse(bend) @ ((rows.start if step < STEPS else rows.weights) @ scores)
        beta = beta + np.clip(move, -link.step, link.step)
    scores, bend = fitted(beta)
    return beta, scores @ _inverse(bend), bend


def _inverse(bend: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.inv(bend + LIFT * (np.trace(bend) or 1.0) * np.eye(len(bend))))


def _design(rows: WeightedRows, asked: EstimateQuestion, schema: Schema) -> tuple[tuple[str, ...], np.ndarray]:
    names, columns = ["1"], [np.ones(len(rows.start))]
    for name in asked.by:
        column = schema.columns[name]
        numeric = column.type in NUMERIC
        values = [None] if numeric else (column.categories or ())[1:]
        for term in (ColumnTerm(column=name, value=v) for v in values):
            names.append(name if term.value is None else f"{name}={term.value}")
            columns.append(term.numbers(rows.positions, schema))
    return tuple(names), np.stack(columns, axis=1)


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval; the deviations of its three errors.

    ``bounded``: whether it excludes anything that is possible; ``identified``: whether the release determines it.
    """

    name: str
    estimate: float
    low: float
    high: float
    parts: Mapping[str, float]
    bounded: bool = True
    identified: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class Errors:
    """Covariances (k, k) of weighted sums of k scores, by their cause."""

    noise: np.ndarray
    sampling: np.ndarray
    unmeasured: np.ndarray

    @classmethod
    def of(cls, rows: WeightedRows, scores: np.ndarray, *, related: float) -> "Errors":
        """``related``: the correlation with the scores that whatever no table told is allowed to have."""
        moves, left = rows.by_counts(scores)
        weighted = rows.start[:, None]
        freely = rows.start.sum() * (related**2 + 1 / ROWS)  # and the chance by which these rows were drawn
        return cls(
            noise=moves.T @ moves,
            sampling=scores.T @ (weighted * scores),
            unmeasured=freely * (left.T @ (weighted * left)),
        )

    @property
    def all(self) -> np.ndarray:
        """Their sum."""
        return self.noise + self.sampling + self.unmeasured

    def parts(self, direction: np.ndarray) -> dict[str, float]:
        """Deviations of a combination (k,) of the sums."""
        named = {"noise": self.noise, "sampling": self.sampling, "unmeasured": self.unmeasured}
        return {n: float(max(direction @ c @ direction, 0.0) ** 0.5) for n, c in named.items()}


def coefficients(rows: WeightedRows, estimated: Estimated, *, z: float, related: float) -> list[Interval]:
    """Estimate and z deviations to either side; neither for those that the release does not identify."""
    errors = Errors.of(rows, estimated.scores, related=related)
    half = z * np.sqrt(np.maximum(np.diag(errors.all), 0.0))
    identified = is_informed(rows, estimated.there, z=z, related=related) & (half < estimated.limits)
    identified[0] = identified.all()  # the constant is the outcome where all columns are zero
    out = []
    each = zip(estimated.names, estimated.values, half, identified, np.eye(len(half)), strict=True)
    for name, value, h, known, unit in each:
        parts = errors.parts(unit) if known else dict.fromkeys(errors.parts(unit), np.inf)
        middle, low, high = (value, value - h, value + h) if known else (np.nan, -np.inf, np.inf)
        out.append(Interval(name, float(middle), float(low), float(high), parts, identified=bool(known)))
    return out


def means(
    rows: WeightedRows, terms: Mapping[str, ColumnTerm], schema: Schema, *, z: float, related: float
) -> list[Interval]:
    """Of each term over the rows in which it is not missing; see ``_ratio``."""
    out = []
    for name, term in terms.items():
        numbers = term.numbers(rows.positions, schema)
        there = np.isfinite(numbers)
        scores = np.stack([np.where(there, numbers, 0.0), there], axis=1) * rows.survey[:, None]
        errors = Errors.of(rows, scores, related=related)
        ends = term.ends(schema)
        mean = _ratio(rows, scores, errors.all, ends, z=z)
        parts = errors.parts(np.array([1.0, -mean.middle]) / mean.size)
        out.append(
            Interval(
                name=name,
                estimate=mean.middle,
                low=mean.low,
                high=mean.high,
                parts=parts,
                bounded=mean.low > ends[0] or mean.high < ends[1],
            )
        )
    return out


def is_informed(rows: WeightedRows, there: np.ndarray, *, z: float, related: float) -> bool:
    """Whether the number of these rows can be told from none."""
    scores = (there * rows.survey)[:, None]
    return float((rows.weights @ scores)[0]) > z * float(Errors.of(rows, scores, related=related).all[0, 0]) ** 0.5


def differences(
    rows: WeightedRows, term: ColumnTerm, group: str, schema: Schema, *, z: float, related: float
) -> list[Interval]:
    """Of every two groups' means of a term.

    Each mean is a ratio of two noisy sums; the interval of it holds what a test of the ratio does not refuse, and all
    of the column's range where the group's size cannot be told from none. Two of them make one of the difference, with
    the correlation of their errors: where the mean of all is known well, two groups' means err in opposite ways.
    **Source**: Fieller 1954; Zou 2007 (intervals of differences recovered from those of their terms).
    """
    numbers = term.numbers(rows.positions, schema)
    there = np.isfinite(numbers)
    values = schema.columns[group].categories or ()
    inside = [there & (ColumnTerm(column=group, value=v).numbers(rows.positions, schema) == 1) for v in values]
    scores = np.stack([x for i in inside for x in (np.where(i, numbers, 0.0), i)], axis=1) * rows.survey[:, None]
    errors, ends = Errors.of(rows, scores, related=related), term.ends(schema)
    ratios = [
        _ratio(rows, scores[:, i : i + 2], errors.all[i : i + 2, i : i + 2], ends, z=z)
        for i in range(0, 2 * len(values), 2)
    ]
    return [
        _apart(f"{values[i]} - {values[j]}", (i, j), ratios, errors, most=ends[1] - ends[0])
        for i, j in combinations(range(len(values)), 2)
    ]


@dataclass(frozen=True, kw_only=True)
class _Ratio:
    """A group's mean with its interval; its ``size`` of rows, and whether that can be told from none."""

    middle: float
    low: float
    high: float
    size: float
    clear: bool


def _ratio(rows: WeightedRows, scores: np.ndarray, c: np.ndarray, ends: tuple[float, float], *, z: float) -> _Ratio:
    """Of two sums of covariance ``c``, within ``ends``."""
    upper, lower = (float(x) for x in rows.weights @ scores)
    clear = lower > z * float(c[1, 1]) ** 0.5
    own = rows.start @ scores
    middle = upper / lower if clear else float(own[0] / own[1]) if own[1] > 0 else sum(ends) / 2
    middle, low, high = float(np.clip(middle, *ends)), *ends
    if clear:
        square, linear = lower**2 - z**2 * c[1, 1], upper * lower - z**2 * c[0, 1]
        root = float(max(linear**2 - square * (upper**2 - z**2 * c[0, 0]), 0.0)) ** 0.5
        low, high = (float(np.clip((linear + s * root) / square, *ends)) for s in (-1, 1))
    return _Ratio(
        middle=middle, low=min(low, middle), high=max(high, middle), size=max(lower, float(own[1]), 1.0), clear=clear
    )


def _apart(name: str, at: tuple[int, int], ratios: Sequence[_Ratio], errors: Errors, *, most: float) -> Interval:
    """Of two of the ratios, at ``most`` so far apart."""
    a, b = (ratios[i] for i in at)
    units = np.zeros((2, 2 * len(ratios)))
    for unit, i in zip(units, at, strict=True):
        unit[2 * i : 2 * i + 2] = np.array([1.0, -ratios[i].middle]) / ratios[i].size
    spread = units @ errors.all @ units.T
    both, shared = a.clear and b.clear, -1.0  # all that is possible, where nothing is known of one of them
    if both:
        shared = float(np.clip(spread[0, 1] / max((spread[0, 0] * spread[1, 1]) ** 0.5, 1e-300), -1, 1))
    middle = a.middle - b.middle
    low = max(middle - _joined(a.middle - a.low, b.high - b.middle, shared), -most)
    high = min(middle + _joined(a.high - a.middle, b.middle - b.low, shared), most)
    return Interval(
        name=name,
        estimate=middle,
        low=low,
        high=high,
        bounded=both and (low > -most or high < most),
        parts=errors.parts(units[0] - units[1]),
    )


def _joined(one: float, other: float, shared: float) -> float:
    return float(max(one**2 - 2 * shared * one * other + other**2, 0.0) ** 0.5)


MOST_EDGES = 512  # of a column, at which its distribution is estimated


def quantile(rows: WeightedRows, column: str, level: float, schema: Schema, *, z: float, related: float) -> Interval:
    """What a test of the share below a value does not refuse; each value is spread evenly over its unit.

    **Source**: Woodruff 1952.
    """
    known, places = schema.columns[column], rows.positions[column]
    edges = _edges(places, known.size)
    there = places < known.size
    clear = is_informed(rows, there, z=z, related=related)
    scores = np.where(there[:, None], (places[:, None] < edges) - level, 0.0) * rows.survey[:, None]
    size = max(float((rows.weights if clear else rows.start) @ (there * rows.survey)), 1.0)
    share = level + (rows.weights if clear else rows.start) @ scores / size
    errors = Errors.of(rows, scores / size, related=related)
    half = z * np.sqrt(np.maximum(np.diag(errors.all), 0.0))
    values = float(known.bounds[0]) + float(known.step) * (np.concatenate([[0], edges, [known.size]]) - 0.5)
    low, high = _crossed(values, share + half, level), _crossed(values, share - half, level, last=True)
    middle = (_crossed(values, share, level) + _crossed(values, share, level, last=True)) / 2
    near = np.eye(len(edges))[np.abs(share - level).argmin()]
    slope = (high - low) / max(2 * float(near @ half), 1e-12)
    parts = {n: v * slope for n, v in errors.parts(near).items()}
    least, most = (float(b) for b in known.bounds)
    low, high = np.clip([low, high] if clear else [least, most], least, most)
    return Interval(
        name=column,
        estimate=float(np.clip(middle, low, high)),
        low=float(low),
        high=float(high),
        parts=parts,
        bounded=bool(low > least or high < most),
    )


def _edges(places: np.ndarray, size: int) -> np.ndarray:
    """Positions at which to cut: all, or as many of those drawn as ``MOST_EDGES``."""
    if size <= MOST_EDGES:
        return np.arange(1, size)
    drawn = np.unique(places[places < size])
    return np.unique(drawn[np.linspace(0, len(drawn) - 1, MOST_EDGES).astype(int)])


def _crossed(values: np.ndarray, share: np.ndarray, level: float, *, last: bool = False) -> float:
    """Where a noisy distribution function first reaches the level, or last leaves it, straight between the cuts."""
    curve = np.concatenate([[0.0], share, [1.0]])
    curve = np.minimum.accumulate(curve[::-1])[::-1] if last else np.maximum.accumulate(curve)
    at = int(np.clip(np.searchsorted(curve, level, side="right" if last else "left"), 1, len(curve) - 1))
    rise = curve[at] - curve[at - 1]
    way = (level - curve[at - 1]) / rise if rise > 0 else 0.5
    return float(values[at - 1] + (values[at] - values[at - 1]) * np.clip(way, 0.0, 1.0))


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
        raise UsageError("estimates: are for releases of mixture, and this one is of {}", stored.method)
    drawn = model.sample(ROWS, rng=np.random.default_rng(0))
    answers, known = [], {}
    for one in asked:
        if one.columns not in known:
            known[one.columns] = _rows(one.columns, stored, drawn, model.total)
        z = float(special.ndtri((1 + level) / 2))
        intervals = _answered(one, known[one.columns], stored.setting.schema, z=z, related=related)
        answers += [{"ask": one.words, **_plain(i)} for i in intervals]
    return answers


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
        return differences(rows, one.outcome, one.by[0], schema, z=z, related=related)
    if one.kind in ("mean", "share"):
        values = (schema.columns[column].categories or ()) if one.kind == "share" else (one.outcome.value,)
        terms = {v or column: ColumnTerm(column=column, value=v) for v in values}
        return means(rows, terms, schema, z=z, related=related)
    fitted = coefficients(rows, regression(rows, one, schema), z=z, related=related)
    groups = {i.name: ColumnTerm.read(i.name) for i in fitted if "=" in i.name}
    if not groups:
        return fitted
    sizes = means(rows, groups, schema, z=z, related=related)
    hidden = {i.name for i in sizes if i.low <= 0}
    return [replace(i, bounded=i.name not in hidden) for i in fitted]


def _plain(one: Interval) -> dict[str, Any]:
    rests = one.parts["unmeasured"] ** 2 > one.parts["noise"] ** 2 + one.parts["sampling"] ** 2
    warned = {MODEL: rests, EMPTY: not one.bounded, LOOSE: not one.identified}
    plain = {"name": one.name, "estimate": one.estimate, "low": one.low, "high": one.high, **one.parts}
    return plain | {"warnings": [words for words, here in warned.items() if here]}
