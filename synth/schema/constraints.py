"""Public rules across columns: what cannot occur together, what follows from what.

Constraints are facts like any other: declared by the steward, taken as public, never read off the rows. Sampling keeps
them: the last column that a broken rule names is drawn again from what the rest of its row allows, inside the row's own
component of the model. No row is thrown away. A column that a ``function`` rule gives for every row is not measured at
all, which leaves its budget to the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from synth.schema.intervals import Intervals

Condition = dict[str, str]  # by column: a value, a|b, or low..high


class PositionFacts(Protocol):
    """What rules need to know of the schema, in positions."""

    def places(self, column: str, condition: str) -> Intervals:
        """Positions that a condition allows. Errors: ValueError."""
        ...

    def cells(self, column: str) -> tuple[int, int]:
        """Number of positions of valid values, and number of positions in all."""
        ...

    def shift(self, low: str, high: str) -> int:
        """What to add to a position of ``low`` for the same value in ``high``. Errors: ValueError."""
        ...


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Impossible(_Rule):
    """These conditions never hold together: ``{"kind": "impossible", "rows": {"age": "0..14", "married": "yes"}}``."""

    kind: Literal["impossible"]
    rows: Condition = Field(min_length=2)


class Fixed(_Rule):
    """Only these combinations occur: ``{"kind": "fixed", "columns": [...], "combinations": [[...], ...]}``."""

    kind: Literal["fixed"]
    columns: tuple[str, ...] = Field(min_length=2)
    combinations: tuple[tuple[str, ...], ...] = Field(min_length=1)


class Function(_Rule):
    """A column that others decide: ``table`` rows hold a condition for each column of ``of``, then the value.

    The first row that fits decides. ``otherwise``: the value where none fits; with it the column is not measured.
    """

    kind: Literal["function"]
    column: str
    of: tuple[str, ...] = Field(min_length=1)
    table: tuple[tuple[str, ...], ...] = Field(min_length=1)
    otherwise: str | None = None


class Order(_Rule):
    """A number or date never above another, unless one is missing: ``{"kind": "order", "low": .., "high": ..}``."""

    kind: Literal["order"]
    low: str
    high: str


class Missing(_Rule):
    """A column that is missing when the conditions hold; with ``only``, never otherwise."""

    kind: Literal["missing"]
    column: str
    when: Condition = Field(min_length=1)
    only: bool = False


class Within(_Rule):
    """A column that follows from the areas below it (areas.py): made of columns, not stated among constraints."""

    kind: Literal["within"]
    child: str
    parent: str


Constraint = Annotated[Impossible | Fixed | Function | Order | Missing, Field(discriminator="kind")]


def columns_of(rule: Constraint | Within) -> tuple[str, ...]:
    """Every column that a rule names; the last is the one drawn again where the rule is broken."""
    match rule:
        case Impossible():
            return tuple(rule.rows)
        case Fixed():
            return rule.columns
        case Function():
            return (*rule.of, rule.column)
        case Order():
            return (rule.low, rule.high)
        case Missing():
            return (*rule.when, rule.column)
        case Within():
            return (rule.child, rule.parent)


def derived(rules: Sequence[Constraint | Within]) -> list[str]:
    """Columns that rules give for every row, so that nothing about them needs to be asked."""
    functions = [r.column for r in rules if isinstance(r, Function) and r.otherwise is not None]
    return functions + [r.parent for r in rules if isinstance(r, Within)]


class Redraw(Protocol):
    """Draws one column again for some rows, each from its own component of the model.

    ``rows`` (n,): their indices. ``allowed``: positions to choose from. ``least`` (n,): further, none below this.
    """

    def __call__(
        self, column: str, rows: np.ndarray, *, allowed: Intervals, least: np.ndarray | None = None
    ) -> np.ndarray: ...


@dataclass(frozen=True)
class Compiled:
    """A rule in positions. ``broken`` says which rows break it; ``repair`` draws them again in place."""

    rule: Constraint | Within
    broken: Callable[[Mapping[str, np.ndarray]], np.ndarray]
    repair: Callable[[dict[str, np.ndarray], Redraw], None]


def compiled(rules: Sequence[Constraint], facts: PositionFacts) -> list[Compiled]:
    """The rules as they act on positions, in their order. Errors: ValueError for a condition the schema lacks."""
    make: dict[type, Callable[..., Compiled]] = {
        Impossible: _impossible,
        Fixed: _fixed,
        Function: _function,
        Order: _order,
        Missing: _missing,
    }
    return [make[type(rule)](rule, facts) for rule in rules]


def repair_all(rules: Sequence[Compiled], rows: dict[str, np.ndarray], redraw: Redraw, *, rounds: int = 3) -> None:
    """Repairs every rule in turn; again where repairing one broke another, a few times at most."""
    for _ in range(rounds):
        for rule in rules:
            rule.repair(rows, redraw)
        if not any(rule.broken(rows).any() for rule in rules):
            return


def shares(rules: Sequence[Compiled], rows: Mapping[str, np.ndarray]) -> list[float]:
    """For each rule the share of rows that keep it."""
    return [1.0 - float(rule.broken(rows).mean()) for rule in rules]


def _all_hold(conditions: Mapping[str, Intervals], rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Which rows meet every condition."""
    return np.logical_and.reduce([allowed.holds(rows[column]) for column, allowed in conditions.items()])


def _conditions(when: Condition, facts: PositionFacts) -> dict[str, Intervals]:
    return {c: facts.places(c, wanted) for c, wanted in when.items()}


def _impossible(rule: Impossible, facts: PositionFacts) -> Compiled:
    never = _conditions(rule.rows, facts)
    last = list(rule.rows)[-1]
    instead = never[last].other(facts.cells(last)[1])

    def repair(rows: dict[str, np.ndarray], redraw: Redraw) -> None:
        at = np.flatnonzero(_all_hold(never, rows))
        if len(at) and instead.size:
            rows[last][at] = redraw(last, at, allowed=instead)

    return Compiled(rule, lambda rows: _all_hold(never, rows), repair)


def _missing(rule: Missing, facts: PositionFacts) -> Compiled:
    when = _conditions(rule.when, facts)
    valid, count = facts.cells(rule.column)
    codes, values = Intervals.of([(valid, count)]), Intervals.of([(0, valid)])

    def wrong(rows: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        holds, absent = _all_hold(when, rows), rows[rule.column] >= valid
        return holds & ~absent, ~holds & absent & rule.only

    def repair(rows: dict[str, np.ndarray], redraw: Redraw) -> None:
        for which, allowed in zip(wrong(rows), (codes, values), strict=True):
            at = np.flatnonzero(which)
            if len(at) and allowed.size:
                rows[rule.column][at] = redraw(rule.column, at, allowed=allowed)

    return Compiled(rule, lambda rows: np.logical_or(*wrong(rows)), repair)


def _order(rule: Order, facts: PositionFacts) -> Compiled:
    low_valid, high_valid = facts.cells(rule.low)[0], facts.cells(rule.high)[0]
    shift, values = facts.shift(rule.low, rule.high), Intervals.of([(0, facts.cells(rule.high)[0])])

    def least(rows: Mapping[str, np.ndarray]) -> np.ndarray:
        return rows[rule.low] + shift

    def broken(rows: Mapping[str, np.ndarray]) -> np.ndarray:
        both = (rows[rule.low] < low_valid) & (rows[rule.high] < high_valid)
        return both & (rows[rule.high] < least(rows))

    def repair(rows: dict[str, np.ndarray], redraw: Redraw) -> None:
        at = np.flatnonzero(broken(rows))
        if len(at) == 0:
            return
        rows[rule.high][at] = redraw(rule.high, at, allowed=values, least=np.minimum(least(rows)[at], high_valid - 1))

    return Compiled(rule, broken, repair)


def _function(rule: Function, facts: PositionFacts) -> Compiled:
    table = [
        (_conditions(dict(zip(rule.of, line[:-1], strict=True)), facts), _one(facts, rule.column, line[-1]))
        for line in rule.table
    ]
    other = -1 if rule.otherwise is None else _one(facts, rule.column, rule.otherwise)

    def value(rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """The value each row must have; -1 where the rule does not say."""
        out = np.full(len(rows[rule.of[0]]), other, dtype=np.int64)
        for conditions, place in reversed(table):  # the first line that fits decides
            out[_all_hold(conditions, rows)] = place
        return out

    def broken(rows: Mapping[str, np.ndarray]) -> np.ndarray:
        must = value(rows)
        return (must >= 0) & (rows[rule.column] != must) if rule.column in rows else must >= 0

    def repair(rows: dict[str, np.ndarray], _: Redraw) -> None:
        must = value(rows)
        rows[rule.column] = must if other >= 0 else np.where(must >= 0, must, rows[rule.column])

    return Compiled(rule, broken, repair)


def _fixed(rule: Fixed, facts: PositionFacts) -> Compiled:
    """Combinations as one number each; where the leading columns allow some last value, only that is drawn again."""
    sizes = [facts.cells(c)[1] for c in rule.columns]
    pairs = [zip(rule.columns, line, strict=True) for line in rule.combinations]
    allowed = np.unique(np.concatenate([_codes([_few(facts, c, v) for c, v in p], sizes) for p in pairs]))
    leads, lasts = allowed // sizes[-1], allowed % sizes[-1]
    last = rule.columns[-1]

    def code(rows: Mapping[str, np.ndarray], columns: Sequence[str]) -> np.ndarray:
        out = np.zeros(len(rows[last]), dtype=np.int64)
        for column, size in zip(columns, sizes, strict=False):
            out = out * size + rows[column]
        return out

    def broken(rows: Mapping[str, np.ndarray]) -> np.ndarray:
        return ~np.isin(code(rows, rule.columns), allowed)

    def repair(rows: dict[str, np.ndarray], redraw: Redraw) -> None:
        """By leading combination: those that no line names take a named one first, drawn evenly over the rows."""
        wrong = np.flatnonzero(broken(rows))
        if len(wrong) == 0:
            return
        lead = code(rows, rule.columns[:-1])[wrong]
        lost = ~np.isin(lead, leads)
        lead[lost] = np.resize(leads, int(lost.sum()))
        rest = lead.copy()
        for column, size in zip(reversed(rule.columns[:-1]), reversed(sizes[:-1]), strict=True):
            rows[column][wrong] = rest % size
            rest = rest // size
        for one in np.unique(lead):  # a loop over combinations, not over rows
            at = wrong[lead == one]
            rows[last][at] = redraw(last, at, allowed=Intervals.of((p, p + 1) for p in lasts[leads == one].tolist()))

    return Compiled(rule, broken, repair)


def _one(facts: PositionFacts, column: str, value: str) -> int:
    """The position of a single value. Errors: ValueError."""
    result = facts.places(column, value)
    if result.size != 1:
        raise ValueError(f"{value!r} must be a single value")
    return int(result.starts[0])


def _few(facts: PositionFacts, column: str, condition: str) -> np.ndarray:
    """Positions that can be listed one by one. Errors: ValueError."""
    result = facts.places(column, condition)
    if result.size > 100_000:
        raise ValueError("more than 100,000 values in one combination; give a narrower range")
    return result.listed()


def _codes(parts: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    out = np.zeros(1, dtype=np.int64)
    for places, size in zip(parts, sizes, strict=True):
        out = (out[:, None] * size + places[None, :]).ravel()
    return out
