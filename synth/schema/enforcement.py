"""A schema's constraints, ready to act on positions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from synth.errors import InputError
from synth.schema import areas, codec
from synth.schema.column import Column
from synth.schema.constraints import (
    Condition,
    Constraint,
    Fixed,
    Function,
    Impossible,
    Missing,
    Order,
    Within,
    columns_of,
    derived,
)
from synth.schema.intervals import Intervals
from synth.schema.table import Schema

MOST_LISTED = 100_000  # values of a column in one combination
ROUNDS = 3  # of mending, where that of one rule breaks another
Columns = Mapping[str, Column]


class Redraw(Protocol):
    """Draws one column again for some rows, each from its own component of the model.

    ``rows`` (n,): their indices. ``allowed``: positions to choose from. ``least`` (n,): further, none below this.
    """

    def __call__(
        self, column: str, rows: np.ndarray, *, allowed: Intervals, least: np.ndarray | None = None
    ) -> np.ndarray: ...


@dataclass(frozen=True)
class Compiled:
    """A rule in positions. ``broken`` says which rows break it; ``mend`` draws those rows again in place."""

    rule: Constraint | Within
    broken: Callable[[Mapping[str, np.ndarray]], np.ndarray]
    mend: Callable[[dict[str, np.ndarray], np.ndarray, Redraw], None]
    whole: bool = False  # whether it writes its column of all rows, which may be absent

    def repair(self, rows: dict[str, np.ndarray], redraw: Redraw) -> None:
        """Mends what is broken, in place."""
        at = np.flatnonzero(self.broken(rows)) if not self.whole else np.arange(0)
        if self.whole or len(at):
            self.mend(rows, at, redraw)


class Rules:
    """A schema's constraints as sampling keeps them. Errors: InputError naming the constraint and what it breaks."""

    def __init__(self, schema: Schema) -> None:
        self._rules: list[Compiled] = []
        self.shares_kept: list[dict[str, Any]] = []
        for number, rule in enumerate(schema.constraints or (), start=1):
            try:
                self._rules.append(compiled(rule, schema.columns))
            except ValueError as error:
                names = columns_of(rule)
                if schema.learnt is None and not any(schema.columns[n].source == "private" for n in names):
                    what = f"constraint {number} ({rule.kind} on {', '.join(names)})"
                    raise InputError("schema: {}: {}", what, error) from None
                # A condition may name a category too rare to have been learnt: then no row can meet it.
        self._rules += [compiled(r, schema.columns) for r in areas.rules(schema.columns)]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that a rule names, but for those that a rule gives for every row."""
        given = derived([r.rule for r in self._rules])
        stated = [r.rule for r in self._rules if r.rule.kind != "within"]
        return tuple(dict.fromkeys(c for r in stated for c in columns_of(r) if c not in given))

    def broken(self, rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """Which rows (n,) break a rule; ``rows`` need the rules' columns, but for those that a rule gives."""
        out = np.zeros(len(next(iter(rows.values()))), dtype=bool)
        given = derived([r.rule for r in self._rules])
        for one in self._rules:
            if not given or set(columns_of(one.rule)).isdisjoint(given):
                out |= one.broken(rows)
        return out

    def follow(self, rows: dict[str, np.ndarray]) -> None:
        """Writes the areas above others once more, in place: for whoever changes rows after they were mended."""
        for rule in (r for r in self._rules if r.rule.kind == "within"):
            rule.repair(rows, lambda column, *_, **__: rows[column])

    def repair(self, rows: dict[str, np.ndarray], redraw: Redraw) -> None:
        """Mends rows in place; ``shares_kept`` then tells, for each rule, the share of rows that keep it."""
        for _ in range(ROUNDS):
            for rule in self._rules:
                rule.repair(rows, redraw)
            if not any(rule.broken(rows).any() for rule in self._rules):
                break
        self.shares_kept = [
            {"kind": r.rule.kind, "columns": list(columns_of(r.rule)), "kept": 1.0 - float(r.broken(rows).mean())}
            for r in self._rules
            if r.rule.kind != "within"  # nothing is mended by it
        ]


def _all_hold(conditions: Mapping[str, Intervals], rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Which rows meet every condition."""
    return np.logical_and.reduce([allowed.holds(rows[column]) for column, allowed in conditions.items()])


def _conditions(when: Condition, columns: Columns) -> dict[str, Intervals]:
    return {c: _places(columns, c, wanted) for c, wanted in when.items()}


def _impossible(rule: Impossible, columns: Columns) -> Compiled:
    never = _conditions(rule.rows, columns)
    last = list(rule.rows)[-1]
    instead = never[last].other(columns[last].cells)

    def mend(rows: dict[str, np.ndarray], at: np.ndarray, redraw: Redraw) -> None:
        if instead.size:
            rows[last][at] = redraw(last, at, allowed=instead)

    return Compiled(rule, lambda rows: _all_hold(never, rows), mend)


def _missing(rule: Missing, columns: Columns) -> Compiled:
    when, column = _conditions(rule.when, columns), rule.column
    valid, count = columns[column].size, columns[column].cells
    codes, values = Intervals.of([(valid, count)]), Intervals.of([(0, valid)])

    def broken(rows: Mapping[str, np.ndarray]) -> np.ndarray:
        holds, absent = _all_hold(when, rows), rows[column] >= valid
        return (holds & ~absent) | (~holds & absent & rule.only)

    def mend(rows: dict[str, np.ndarray], at: np.ndarray, redraw: Redraw) -> None:
        absent = rows[column][at] >= valid
        for some, allowed in ((at[~absent], codes), (at[absent], values)):
            if len(some) and allowed.size:
                rows[column][some] = redraw(column, some, allowed=allowed)

    return Compiled(rule, broken, mend)


def _order(rule: Order, columns: Columns) -> Compiled:
    a, b = columns[rule.low], columns[rule.high]
    if not (a.is_numeric and b.is_numeric and a.step == b.step):
        raise ValueError(f"{rule.low} and {rule.high} must be numbers or dates of one resolution")
    steps = Fraction(a.bounds[0] - b.bounds[0]) / Fraction(a.step)
    if steps.denominator != 1:
        raise ValueError(f"{rule.low} and {rule.high} must lie on one grid: their min must differ by whole steps")
    shift, values = int(steps), Intervals.of([(0, b.size)])

    def broken(rows: Mapping[str, np.ndarray]) -> np.ndarray:
        both = (rows[rule.low] < a.size) & (rows[rule.high] < b.size)
        return both & (rows[rule.high] < rows[rule.low] + shift)

    def mend(rows: dict[str, np.ndarray], at: np.ndarray, redraw: Redraw) -> None:
        least = np.minimum((rows[rule.low] + shift)[at], b.size - 1)
        rows[rule.high][at] = redraw(rule.high, at, allowed=values, least=least)

    return Compiled(rule, broken, mend)


def _function(rule: Function, columns: Columns) -> Compiled:
    table = [
        (_conditions(dict(zip(rule.of, line[:-1], strict=True)), columns), _one(columns, rule.column, line[-1]))
        for line in rule.table
    ]
    other = -1 if rule.otherwise is None else _one(columns, rule.column, rule.otherwise)

    def value(rows: Mapping[str, np.ndarray]) -> np.ndarray:
        """The value each row must have; -1 where the rule does not say."""
        out = np.full(len(rows[rule.of[0]]), other, dtype=np.int64)
        for conditions, place in reversed(table):  # the first line that fits decides
            out[_all_hold(conditions, rows)] = place
        return out

    return _given(rule, rule.column, value)


def _fixed(rule: Fixed, columns: Columns) -> Compiled:
    """Combinations as one number each; where the leading columns allow some last value, only that is drawn again."""
    sizes, last = [columns[c].cells for c in rule.columns], rule.columns[-1]
    lines = []
    for combination in rule.combinations:
        one = np.zeros(1, dtype=np.int64)
        for column, condition, size in zip(rule.columns, combination, sizes, strict=True):
            allowed = _places(columns, column, condition)
            if allowed.size > MOST_LISTED:
                raise ValueError(f"more than {MOST_LISTED:,} values in one combination; give a narrower range")
            one = (one[:, None] * size + allowed.listed()[None, :]).ravel()
        lines.append(one)
    codes = np.unique(np.concatenate(lines))
    leads, lasts = codes // sizes[-1], codes % sizes[-1]

    def code(rows: Mapping[str, np.ndarray], columns: Sequence[str]) -> np.ndarray:
        out = np.zeros(len(rows[last]), dtype=np.int64)
        for column, size in zip(columns, sizes, strict=False):
            out = out * size + rows[column]
        return out

    def mend(rows: dict[str, np.ndarray], wrong: np.ndarray, redraw: Redraw) -> None:
        """By leading combination: those that no line names take a named one first, drawn evenly over the rows."""
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

    return Compiled(rule, lambda rows: ~np.isin(code(rows, rule.columns), codes), mend)


def _within(rule: Within, columns: Columns) -> Compiled:
    of = areas.parents(columns[rule.child], columns[rule.parent])
    return _given(rule, rule.parent, lambda rows: of[rows[rule.child]])


def _given(rule: Function | Within, column: str, value: Callable[[Mapping[str, np.ndarray]], np.ndarray]) -> Compiled:
    """A rule that writes a column of all rows, which may be absent; ``value`` (n,): -1 where the rule does not say."""

    def broken(rows: Mapping[str, np.ndarray]) -> np.ndarray:
        must = value(rows)
        return (must >= 0) & (rows[column] != must) if column in rows else must >= 0

    def mend(rows: dict[str, np.ndarray], _: np.ndarray, __: Redraw) -> None:
        must = value(rows)
        rows[column] = np.where(must >= 0, must, rows[column]) if column in rows else must

    return Compiled(rule, broken, mend, whole=True)


def _one(columns: Columns, column: str, value: str) -> int:
    """The position of a single value. Errors: ValueError."""
    places = _places(columns, column, value)
    if places.size != 1:
        raise ValueError(f"{value!r} must be a single value")
    return int(places.starts[0])


def _places(columns: Columns, column: str, condition: str) -> Intervals:
    """Positions that a condition allows. Errors: ValueError."""
    try:
        return codec.allowed(columns[column], condition)
    except ValueError as error:
        raise ValueError(f"{column}={condition}: {error}") from None


MAKE: dict[type, Callable[..., Compiled]] = {
    Impossible: _impossible,
    Fixed: _fixed,
    Function: _function,
    Order: _order,
    Missing: _missing,
    Within: _within,
}


def compiled(rule: Constraint | Within, columns: Columns) -> Compiled:
    """A rule as it acts on positions. Errors: ValueError for a condition that the columns do not have."""
    return MAKE[type(rule)](rule, columns)
