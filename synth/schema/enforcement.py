"""A schema's constraints, ready to act on positions."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from synth.errors import InputError
from synth.schema import areas, codec
from synth.schema.constraints import Compiled, Redraw, columns_of, compiled, derived, repair_all, shares
from synth.schema.intervals import Intervals
from synth.schema.table import Schema


class Rules:
    """A schema's constraints as sampling keeps them. Errors: InputError naming the constraint and what it breaks."""

    def __init__(self, schema: Schema) -> None:
        self._rules: list[Compiled] = []
        self.retained: list[dict[str, Any]] = []
        for number in range(len(schema.constraints or ())):
            try:
                self._rules += _compile(schema, number)
            except InputError:
                if schema.learnt is None and not _learnt(schema, number):
                    raise
                # A condition may name a category too rare to have been learnt: then no row can meet it.
        self._rules += [areas.compiled(r, schema.columns) for r in areas.rules(schema.columns)]

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
        """Mends rows in place; ``kept`` then tells, for each rule, the share of rows that keep it."""
        repair_all(self._rules, rows, redraw)
        reported = zip(self._rules, shares(self._rules, rows), strict=True)
        self.retained = [
            {"kind": r.rule.kind, "columns": list(columns_of(r.rule)), "kept": share}
            for r, share in reported
            if r.rule.kind != "within"  # nothing is mended by it
        ]


def _learnt(schema: Schema, number: int) -> bool:
    """Whether a rule names a column of learnt facts; of related tables their price stands beside them."""
    rule = (schema.constraints or ())[number]
    return any(schema.columns[n].source == "private" for n in columns_of(rule))


def _compile(schema: Schema, number: int) -> list[Compiled]:
    rule = (schema.constraints or ())[number]
    try:
        return compiled([rule], _Facts(schema))
    except ValueError as error:
        names = ", ".join(columns_of(rule))
        raise InputError(f"schema: constraint {number + 1} ({rule.kind} on {names}): {error}") from None


class _Facts:
    """What rules need to know of a schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def places(self, column: str, condition: str) -> Intervals:
        """Positions that a condition allows."""
        try:
            return codec.allowed(self._schema.columns[column], condition)
        except ValueError as error:
            raise ValueError(f"{column}={condition}: {error}") from None

    def cells(self, column: str) -> tuple[int, int]:
        """Number of positions of valid values, and in all."""
        result = self._schema.columns[column]
        return result.size, result.cells

    def shift(self, low: str, high: str) -> int:
        """Distance of the two columns' grids, which must have one step and meet."""
        a, b = self._schema.columns[low], self._schema.columns[high]
        if not (a.is_numeric and b.is_numeric and a.step == b.step):
            raise ValueError(f"{low} and {high} must be numbers or dates of one resolution")
        steps = Fraction(a.bounds[0] - b.bounds[0]) / Fraction(a.step)
        if steps.denominator != 1:
            raise ValueError(f"{low} and {high} must lie on one grid: their min must differ by whole steps")
        return int(steps)
