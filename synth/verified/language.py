"""The language of questions: JSON objects of a few kinds, checked against a public schema; nothing in it is run."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError, meant
from synth.files import regular_files
from synth.questions import Bins, Block, Score, TreeScore
from synth.questions.embeddings import COUNT, LINEAR, LOGISTIC, POISSON, QUANTILE, SURVIVAL
from synth.questions.linked import place as linked
from synth.schema import codec
from synth.schema.dataset import Dataset, taken
from synth.schema.table import Column, Schema
from synth.verified import formula

REGRESSIONS = (LINEAR, LOGISTIC, POISSON)
# What a question of each kind must say, and what it may say beside a filter.
FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "count": ((), ()),
    "share": (("of",), ()),
    "mean": (("column",), ()),
    "quantile": (("column", "level"), ()),
    "difference": (("by", "groups"), ("column", "of")),
    **dict.fromkeys(REGRESSIONS, (("formula",), ("positive",))),
    SURVIVAL: (("time", "event", "at"), ()),
    "within": (("question", "mine", "by"), ()),
}
MOST_CONDITIONS, MOST_QUESTIONS, MOST_TIMES = 3, 50, 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """One question: ``plain`` as it was written, the terms it asks for and the sums that answer it.

    ``names``: of the coefficients of ``score``; ``shown``: which of them are asked for, and under which name.
    ``ends``: the least and the greatest that an answer can be.
    ``table``: of related tables the one that is asked about. ``mine``, ``by``: of the kind ``within``, the numbers that
    are compared, and by how much they may differ.
    """

    plain: Mapping[str, Any]
    names: tuple[str, ...]
    score: Score
    shown: Mapping[str, str]
    ends: tuple[float, float] = (-np.inf, np.inf)
    table: str | None = None
    mine: Mapping[str, float] = field(default_factory=dict)
    by: Mapping[str, float] = field(default_factory=dict)


def load(path: str | Path) -> Any:
    """A file of questions as JSON data. Errors: UsageError where it is none."""
    try:
        return json.loads(regular_files.text(path))
    except OSError as error:
        raise UsageError("{}: {}; name a file of questions", path, error) from None
    except (ValueError, RecursionError):
        raise UsageError('{}: is no JSON; write for instance {{"kind": "mean", "column": "age"}}', path) from None


def read(plain: Any, schema: Schema | Dataset) -> list[Question]:
    """The questions of one request: an object, a list of them, or {"questions": [...]}.

    Of related tables each names the "table" whose rows it is about; where one table's persons keep their rows it is
    about these unless it names the persons.
    Errors: UsageError naming the question, the rule and what may stand there.
    """
    listed = plain.get("questions", plain) if isinstance(plain, Mapping) else plain
    listed = listed if isinstance(listed, Sequence) and not isinstance(listed, str) else [listed]
    if not 1 <= len(listed) <= MOST_QUESTIONS:
        raise UsageError("question: 1 to {} can be asked at once, not {}", MOST_QUESTIONS, len(listed))
    return [_of(q, schema, "question" if len(listed) == 1 else f"question {i}") for i, q in enumerate(listed, 1)]


def _of(plain: Any, schema: Schema | Dataset, place: str) -> Question:
    """A question about the one table, or about the one that it names."""
    if schema.tree is None:
        return _one(plain, schema.tables[schema.root], place)
    if isinstance(plain, Mapping) and not schema.several:
        plain = {"table": schema.downwards[-1], **plain}
    if not isinstance(plain, Mapping) or not isinstance(plain.get("table"), str):
        raise UsageError(
            '{}: the release has several tables; name one with "table": {}', place, meant("", schema.tables)
        )
    table = plain["table"]
    if table not in schema.tables:
        raise UsageError('{}: "table" {} is not in the release; {}', place, table, meant(table, schema.tables))
    own, places = joined(schema.tree, table)
    question = _one({n: v for n, v in plain.items() if n != "table"}, own, place)
    if question.score.link == SURVIVAL:
        raise UsageError("{}: survival is asked of single tables; ask for a share of related ones", place)
    used = {n: places[n] for n in question.score.columns}
    fields = {f.name: getattr(question.score, f.name) for f in dataclasses.fields(question.score)}
    score = TreeScore(**fields, table=table, places=used, most=float(schema.most_rows(table)))
    return replace(question, plain=plain, score=score, table=table)


def tables(schema: Schema | Dataset) -> dict[str, Schema]:
    """What may be asked about: by table the schema with the columns that its questions name; "" for a single table.

    Of one table whose persons keep their rows: these rows, and the persons. Nothing is asked about public tables.
    Privacy: public only.
    """
    known = taken(schema)
    if known.tree is None:
        return {"": known.tables[known.root]}
    order = known.tables if known.several else reversed(known.downwards)
    return {n: joined(known.tree, n)[0] for n in order}


def joined(schema: Dataset, table: str) -> tuple[Schema, dict[str, str]]:
    """A table's columns under their own names and its ancestors' as TABLE.COLUMN; and where each lies in a forest.

    Those of one table whose persons keep their rows have the names that it gives them. Numbers of children are columns.
    """
    columns, places = {}, {}
    for owner in schema.upwards(table):
        for name, column in schema.as_measured(owner).columns.items():
            known = name if owner == table else schema.name_of(owner, name)
            columns[known], places[known] = column, linked(owner, name)
    return schema.tables[table].model_copy(update={"columns": columns, "constraints": None}), places


def _one(plain: Any, schema: Schema, place: str) -> Question:
    if not isinstance(plain, Mapping) or plain.get("kind") not in FIELDS:
        kind = plain.get("kind") if isinstance(plain, Mapping) else None
        raise UsageError('{}: "kind" must be one of {}, not {}', place, ", ".join(FIELDS), json.dumps(kind)[:50])
    kind = str(plain["kind"])
    needed, possible = FIELDS[kind]
    for name in needed:
        if name not in plain:
            raise UsageError('{}: a {} needs "{}"', place, kind, name)
    extra = [str(n) for n in plain if n not in ("kind", "where", *needed, *possible)]
    if extra:
        raise UsageError(
            "{}: a {} has no {}; {}", place, kind, extra[0], meant(extra[0], ("where", *needed, *possible))
        )
    if kind == "within":
        return _within(plain, schema, place)
    present = tuple(_condition(*c, schema, place) for c in _conditions(plain.get("where", {}), place))
    return _KINDS[kind](plain, schema, place, present)


def _conditions(plain: Any, place: str) -> list[tuple[str, str]]:
    if not isinstance(plain, Mapping) or len(plain) > MOST_CONDITIONS:
        raise UsageError('{}: a filter is {{"column": "value"}}, of at most {} columns', place, MOST_CONDITIONS)
    return [(str(n), _text(v)) for n, v in plain.items()]


def _text(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "|".join(str(v) for v in value)
    return str(value)


def _condition(name: str, wanted: str, schema: Schema, place: str) -> Block:
    """Ones at the positions that a condition allows, by part."""
    column = _column(name, schema, place)
    try:
        allowed = codec.allowed(column, wanted)
    except ValueError as error:
        raise UsageError("{}: {}={}: {}; write a value, a|b, or low..high", place, name, wanted, error) from None
    bins = formula.parts(name, column)
    starts = bins.starts[bins.groups >= 0]
    middle = (starts + np.minimum(np.append(starts[1:], column.size), column.size) - 1) // 2
    return Block(bins=bins, table=allowed.holds(middle).astype(float)[:, None])


def _column(name: Any, schema: Schema, place: str) -> Column:
    if not isinstance(name, str) or name not in schema.measured():
        raise UsageError("{}: {} is not a column of the release; {}", place, name, meant(str(name), schema.measured()))
    return schema.columns[name]


def _numbers(name: Any, schema: Schema, place: str) -> tuple[Block, Block]:
    if not _column(name, schema, place).is_numeric or schema.columns[name].type == "datetime":
        raise UsageError("{}: {} is {}, and a column of numbers is needed", place, name, schema.columns[name].type)
    return formula.outcome(f"`{name}`", schema, None, place=place)


def _asked(
    plain: Mapping[str, Any],
    names: Sequence[str],
    present: Sequence[Block],
    outcome: Sequence[Block],
    link: str,
    *,
    terms: Sequence[Any] = ((),),
    factors: Sequence[Block] = (),
    level: float = 0.5,
    shown: Sequence[str] | None = None,
    ends: tuple[float, float] = (-np.inf, np.inf),
) -> Question:
    """The question of these coefficients, of which those ``shown`` are asked for; all, where none are named."""
    wide = len(terms)
    score = Score(
        factors=tuple(factors),
        terms=tuple(terms),
        present=tuple(present),
        outcome=tuple(outcome),
        link=link,
        coefficients=np.zeros(wide),
        whitening=np.eye(wide),
        clip=1.0,
        level=level,
    )
    return Question(plain=plain, names=tuple(names), score=score, shown={n: n for n in shown or names}, ends=ends)


def _count(plain: Mapping[str, Any], schema: Schema, _: str, present: tuple[Block, ...]) -> Question:
    name = next(iter(schema.measured()))
    column = schema.columns[name]
    alone = np.zeros(1, dtype=np.int64)
    every = Block(bins=Bins(column=name, cells=column.cells, starts=alone, groups=alone), table=np.ones((1, 1)))
    return _asked(plain, ["count"], (*present, every), (), COUNT, ends=(0.0, np.inf))


def _share(plain: Mapping[str, Any], schema: Schema, place: str, present: tuple[Block, ...]) -> Question:
    outcome, there = _share_of(plain["of"], schema, place)
    return _asked(plain, ["share"], (*present, *there), outcome, LINEAR, ends=(0.0, 1.0))


def _share_of(plain: Any, schema: Schema, place: str) -> tuple[list[Block], list[Block]]:
    """Ones where all conditions hold, and where none of their columns is missing."""
    conditions = _conditions(plain, place)
    if not conditions:
        raise UsageError('{}: "of" names no column; write {{"column": "value"}}', place)
    outcome = [_condition(*c, schema, place) for c in conditions]
    return outcome, [Block(bins=b.bins, table=np.ones((b.bins.size, 1))) for b in outcome]


def _mean(plain: Mapping[str, Any], schema: Schema, place: str, present: tuple[Block, ...]) -> Question:
    outcome, there = _numbers(plain["column"], schema, place)
    ends = _ends(schema.columns[plain["column"]])
    return _asked(plain, ["mean"], (*present, there), (outcome,), LINEAR, ends=ends)


def _ends(column: Column) -> tuple[float, float]:
    return float(column.bounds[0]), float(column.bounds[1])


def _quantile(plain: Mapping[str, Any], schema: Schema, place: str, present: tuple[Block, ...]) -> Question:
    outcome, there = _numbers(plain["column"], schema, place)
    level = _number(plain["level"], f'{place}: "level"')
    if not 0 < level < 1:
        raise UsageError('{}: "level" must be between 0 and 1', place)
    ends = _ends(schema.columns[plain["column"]])
    return _asked(plain, ["quantile"], (*present, there), (outcome,), QUANTILE, level=level, ends=ends)


def _difference(plain: Mapping[str, Any], schema: Schema, place: str, present: tuple[Block, ...]) -> Question:
    if ("column" in plain) == ("of" in plain):
        raise UsageError('{}: a difference is of the means of a "column", or of the shares "of" values', place)
    if "of" in plain:
        outcome, there = _share_of(plain["of"], schema, place)
    else:
        number, has = _numbers(plain["column"], schema, place)
        outcome, there = [number], [has]
    groups = plain["groups"]
    if not isinstance(groups, Sequence) or isinstance(groups, str) or len(groups) != 2:
        raise UsageError('{}: "groups" are two values of the column in "by", as in ["a", "b"]', place)
    first, second = (_condition(str(plain["by"]), _text(g), schema, place) for g in groups)
    either = first.table + second.table
    if np.any(either > 1):
        raise UsageError('{}: the two "groups" overlap', place)
    blocks = (*present, *there, Block(bins=first.bins, table=either))
    how: dict[str, Any] = {"terms": ((), ((0, 0),)), "factors": (first,), "shown": ["difference"]}
    return _asked(plain, ["second group", "difference"], blocks, outcome, LINEAR, **how)


def _regression(plain: Mapping[str, Any], schema: Schema, place: str, present: tuple[Block, ...]) -> Question:
    text, positive, kind = plain["formula"], plain.get("positive"), plain["kind"]
    if not isinstance(text, str) or not isinstance(positive, str | int | float | None):
        raise UsageError('{}: "formula" and "positive" are texts', place)
    left, right = formula.sides(text, place=place)
    made = formula.design(right, schema, place=place)
    outcome, there = formula.outcome(left, schema, None if positive is None else str(positive), place=place)
    values = outcome.table[there.table[:, 0] > 0]
    if kind == LOGISTIC and not np.isin(values, (0.0, 1.0)).all():
        raise UsageError('{}: the outcome of a logistic regression is a category named as "positive"', place)
    if kind == POISSON and values.min(initial=0.0) < 0:
        raise UsageError("{}: the outcome of a Poisson regression must not be negative", place)
    blocks = (*present, *made.present, there)
    return _asked(plain, made.names, blocks, (outcome,), kind, terms=made.terms, factors=made.factors)


def _survival(plain: Mapping[str, Any], schema: Schema, place: str, present: tuple[Block, ...]) -> Question:
    outcome, there = _numbers(plain["time"], schema, place)
    event, known = _share_of(plain["event"], schema, place)
    column, times = schema.columns[plain["time"]], plain["at"]
    times = times if isinstance(times, Sequence) and not isinstance(times, str) else [times]
    at = [_number(t, f'{place}: "at"') for t in times]
    low, high = _ends(column)
    rising = all(a < b for a, b in pairwise(at))
    if not (1 <= len(at) <= MOST_TIMES and rising and low <= at[0] and at[-1] <= high):
        raise UsageError('{}: "at" are 1 to {} times from {:g} to {:g}, in rising order', place, MOST_TIMES, low, high)
    if len(event) != 1 or low < 0:
        raise UsageError("{}: survival needs an event in one column, and times from 0 on", place)
    values, bins = outcome.table[:, 0], outcome.bins
    inside = np.diff([(values <= t).astype(float) for t in at], axis=0, prepend=0.0).T
    terms = (*(((0, k), (2, 0)) for k in range(len(at))), *(((1, k),) for k in range(len(at))))
    factors = (Block(bins=bins, table=inside), Block(bins=bins, table=np.zeros_like(inside)), event[0])
    names, blocks = [f"survival at {t:g}" for t in at], (*present, there, *known)
    return _asked(plain, names, blocks, (), SURVIVAL, terms=terms, factors=factors, ends=(0.0, 1.0))


def _within(plain: Mapping[str, Any], schema: Schema, place: str) -> Question:
    inner = _one(plain["question"], schema, f"{place}: question")
    mine, by = plain["mine"], plain["by"]
    if not isinstance(mine, Mapping):
        if len(inner.shown) != 1:
            raise UsageError('{}: "mine" names a number for each term that is compared', place)
        mine = {next(iter(inner.shown)): mine}
    unknown = [n for n in mine if n not in inner.shown]
    if unknown or not mine:
        raise UsageError('{}: "mine" has no term of the question; {}', place, meant(str(unknown or ""), inner.shown))
    numbers = {str(n): _number(v, f'{place}: "mine"') for n, v in mine.items()}
    far = {n: _number(by[n] if isinstance(by, Mapping) and n in by else by, f'{place}: "by"') for n in numbers}
    if any(v <= 0 for v in far.values()):
        raise UsageError('{}: "by" must be above 0', place)
    return replace(inner, plain=plain, shown={n: inner.shown[n] for n in numbers}, mine=numbers, by=far)


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise UsageError("{} must be a number", place)
    return float(value)


_KINDS = {
    "count": _count,
    "share": _share,
    "mean": _mean,
    "quantile": _quantile,
    "difference": _difference,
    **dict.fromkeys(REGRESSIONS, _regression),
    SURVIVAL: _survival,
}
