"""From what a table is to be used for to the tables that a method is asked for: formulas are read here."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, TypeVar, cast

import numpy as np
from pydantic import TypeAdapter

from synth.errors import InputError, UsageError
from synth.generators.base import NamedTable, Workload
from synth.pipeline.learn_schema import lacking
from synth.questions import Bins, Block
from synth.schema import uses as named
from synth.schema.column import CATEGORICAL
from synth.schema.dataset import Dataset
from synth.schema.table import Schema
from synth.verified import formula

NOT_BY = "method {} does not divide its budget by uses; mixture and aim do"
FEW = 12  # values of a term, up to which its column is counted in just these groups
MOST_TOGETHER = 3  # predictors beside the outcome in one table


Facts = TypeVar("Facts", bound=Schema | Dataset)


def with_uses(schema: Facts, lines: str | Sequence[Any]) -> Facts:
    """The ``schema`` with further uses, ``lines`` of text or plain JSON. All of its uses are checked, formulas too.

    Of related tables columns are named TABLE.COLUMN.
    Errors: UsageError for the lines, InputError for those of the schema itself, each naming the use and the rule.

    Privacy: public only.
    """
    lines = (lines,) if isinstance(lines, str) else lines
    if not (schema.uses or lines):
        return schema
    if lacking(schema):
        raise InputError(
            "schema: uses are read under a complete schema, and facts of it are to be learnt first; learn them with "
            "`synth.learn_schema`, then name the uses"
        )
    checked(schema)
    if not lines:
        return schema
    try:
        more = TypeAdapter(tuple[named.Use, ...]).validate_python(named.read(list(lines)))
    except InputError as error:
        raise UsageError("`uses=`: {}", error) from None
    except ValueError:
        raise UsageError(
            "`uses=`: each is a line of text or its JSON, a table of 2 to {} columns, with a weight of at most "
            "{:g}; {}",
            named.MOST_COLUMNS,
            named.MOST_WEIGHT,
            named.FORMS,
        ) from None
    result: Any = schema.changed(lambda s: s.model_copy(update={"uses": (*(s.uses or ()), *more)}))
    for problem in named.problems(result.stated):
        raise UsageError("`uses=`: {}", problem)
    try:
        checked(result)
    except InputError as error:
        raise UsageError("`uses=`: {}", str(error).removeprefix("schema: ")) from None
    return cast("Facts", result)


def columns_of(schema: Schema | Dataset) -> list[str]:
    """The columns of a ``schema`` that a use may name; of related tables TABLE.COLUMN. Privacy: public only."""
    return list(schema.stated.inner_measured)


def of_plan(text: str, schema: Schema | Dataset) -> tuple[list[named.Use], list[str]]:
    """The uses in a research plan ``text`` about the tables of a ``schema``, and its lines that name none.

    Privacy: public only.
    """
    return named.of_plan(text, columns_of(schema), schema.find)


def checked(schema: Schema | Dataset) -> None:
    """Reads all formulas of the schema's uses. Errors: InputError."""
    try:
        workload(schema)
    except UsageError as error:
        raise InputError("schema: {}", error) from None


def workload(schema: Schema | Dataset) -> Workload:
    """The tables, targets and columns that the schema's uses need; of related tables, and of persons and their rows,
    by TABLE.COLUMN.

    Errors: UsageError for a formula that is none.

    Privacy: public only.
    """
    if schema.one_table:
        made = workload(schema.stated)
        return Workload(
            tables=tuple(NamedTable(columns=_at(schema, t.columns), weight=t.weight, use=t.use) for t in made.tables),
            targets=_at(schema, made.targets),
            outcomes=_at(schema, made.outcomes),
            columns={at(schema, n): weight for n, weight in made.columns.items()},
        )
    tables: list[NamedTable] = []
    targets, outcomes, columns = list[str](), list[str](), dict[str, float]()
    for number, use in enumerate(schema.uses or ()):
        match use:
            case named.RegressionUse():
                own, use = alone(schema, use)
                response, asked = _of_formula(own, use, number)
                outcomes += [response] if own.columns[response].type in CATEGORICAL else []
                tables += asked
            case named.PredictionUse():
                targets += use.columns
            case named.MeansUse():
                tables += _of_means(schema, use, number)
            case named.ColumnsUse():
                columns |= {n: max(use.weight, columns.get(n, 0.0)) for n in use.columns}
            case _:
                tables += [NamedTable(columns=t, weight=use.weight, use=number) for t in use.tables]
    return Workload(tables=tuple(tables), targets=_once(targets), outcomes=_once(outcomes), columns=columns)


def _of_means(schema: Schema | Dataset, use: named.MeansUse, number: int) -> list[NamedTable]:
    """Each number with the groups, few groups as they are. A number's bins are those of any table: finer ones far out
    hold less rows than noise, which the mean of a long tail would add up."""
    columns = schema.inner_columns
    groups = {n: Bins.each(n, columns[n].cells) for n in use.groups if columns[n].cells <= FEW}
    return [NamedTable(columns=(*use.groups, n), weight=use.weight, use=number, bins=groups) for n in use.of]


def alone(schema: Schema | Dataset, use: named.RegressionUse) -> tuple[Schema, named.RegressionUse]:
    """The schema of a regression's columns as of one table, and the regression on it. Privacy: public only."""
    return named.of_formula(schema.stated, use)


def at(schema: Schema | Dataset, name: str) -> str:
    """A column that a use names, of persons and their rows as TABLE.COLUMN. Privacy: public only."""
    return schema.inner_name(*schema.find(name))


def _at(schema: Schema | Dataset, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(at(schema, n) for n in names)


def _once(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def positive_of(schema: Schema, column: str, stated: str | None) -> str | None:
    """The category of an outcome that counts as 1: the one stated, the schema's own, of two the last."""
    own = schema.columns[column]
    if own.type not in CATEGORICAL:
        return stated
    names = list(own.categories or ())
    declared = schema.positive if column == schema.target else None
    return stated or declared or (names[-1] if len(names) == 2 else None)


def parsed(schema: Schema, use: named.RegressionUse, *, place: str) -> tuple[str, tuple[Block, Block], formula.Design]:
    """A regression's outcome, its numbers by position, and its right side. Errors: UsageError."""
    left, right = formula.sides(use.formula, place=place)
    response = formula.column_of(left)
    if response not in schema.measured():
        raise UsageError("{}: {} is not among the measured columns; {}", place, left, formula.FORMS)
    numbers = formula.outcome(left, schema, positive_of(schema, response, use.positive), place=place)
    return response, numbers, formula.design(right, schema, place=place)


def _of_formula(schema: Schema, use: named.RegressionUse, number: int) -> tuple[str, list[NamedTable]]:
    """The outcome, and its tables with each predictor, each two of them, and those of each interaction.

    What a regression is solved from, at least to the second order: its score has the outcome with each term, its
    curvature the terms two by two.
    """
    place = f"use {number + 1} ({named.shown(use.formula)})"
    response, (numbers, _), design = parsed(schema, use, place=place)
    factors = design.factors
    predictors = _once([b.bins.column for b in factors])
    if response in predictors:
        raise UsageError("{}: {} is on both sides; an outcome explains nothing of itself", place, response)
    exact = _groups(schema, [numbers, *factors])
    crossed = {tuple(sorted({factors[i].bins.column for i, _ in term})) for term in design.terms}
    together = {t for t in crossed if 2 < len(t) <= MOST_TOGETHER}
    summed = frozenset(n for n in predictors if n not in exact and schema.columns[n].is_numeric)
    sets = [*((p,) for p in predictors), *combinations(predictors, 2), *sorted(together)]
    return response, [
        NamedTable(
            columns=(response, *s),
            weight=use.weight,
            use=number,
            bins={n: exact[n] for n in (response, *s) if n in exact},
            numbers=summed & {*s},
        )
        for s in sets
    ]


def _groups(schema: Schema, blocks: Sequence[Block]) -> dict[str, Bins]:
    """Of each column whose terms have few values the positions with the same ones, missing codes by themselves."""
    by_column: dict[str, list[Block]] = {}
    for block in blocks:
        by_column.setdefault(block.bins.column, []).append(block)
    result = {}
    for name, own in by_column.items():
        bins = own[0].bins  # those of all blocks of a column (`formula.parts`)
        values = np.concatenate([b.table for b in own], axis=1)
        known = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)
        if known.max(initial=0) + 1 <= FEW:
            groups = np.where(bins.groups < 0, known.max() + 1, known[np.maximum(bins.groups, 0)])
            ends, cells = np.append(True, groups[1:] != groups[:-1]), schema.columns[name].cells
            result[name] = Bins(column=name, cells=cells, starts=bins.starts[ends], groups=groups[ends])
    return result


def tables_of(schema: Schema | Dataset) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Each use in words, and the tables that tell whether it is served, of one column too.

    Privacy: public only.
    """
    made = workload(schema)
    every = schema.inner_measured
    for number, use in enumerate(schema.uses or ()):
        tables = [t.columns for t in made.tables if t.use == number]
        own = _at(schema, use.names)
        if isinstance(use, named.ColumnsUse):
            tables = [(n,) for n in own]
        elif isinstance(use, named.PredictionUse):
            others = [n for n in every if n not in own]
            tables = [(n, other) for n in own for other in others if schema.lowest((n, other)) is not None]
        yield use.words, tables
