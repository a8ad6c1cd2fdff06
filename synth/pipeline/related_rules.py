"""Rules across tables kept in drawn rows: what children repeat, what parents sum up, dates in order between them.

Drawn rows and public rules alone come in. A child's value that breaks an order is drawn again from those of the same
block that keep it; where none does, the nearest that its bounds allow is taken.
"""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import numpy as np

from synth.generators.core.related_model import DrawnTable
from synth.schema.column import Column
from synth.schema.constraints import Count, Equal, Order, Refers, Total, ends, placed
from synth.schema.dataset import Dataset, rule_writes
from synth.schema.table import Schema, Tables

Block = Mapping[str, DrawnTable]
NEAR = 1e-9  # relative: steps of tenths are no whole binary numbers


def rows_above(schema: Tables, block: Block, table: str, owner: str) -> np.ndarray:
    """For each row of a table the row of the ``owner``, a table above, to which it belongs, (n,)."""
    rows = np.arange(block[table].num_rows)
    for one in takewhile(lambda name: name != owner, schema.upwards(table)):
        rows = block[one].parent[rows]
    return rows


def nearest_above(schema: Tables, one: str, other: str) -> str:
    """The lowest table that stands above both, or is one of them."""
    return next(t for t in schema.upwards(one) if t in schema.upwards(other))


def referred(schema: Tables, block: Block, rule: Refers, rng: np.random.Generator) -> np.ndarray:
    """For each row of the rule's child the row of the other table that it refers to, (n,); -1: none."""
    (table, _), (other, _) = placed(rule.child), placed(rule.parent)
    above = nearest_above(schema, table, other)
    mine, theirs = (rows_above(schema, block, t, above) for t in (table, other))
    offered = rng.permutation(len(theirs))
    offered = offered[np.argsort(theirs[offered], kind="stable")]
    many = np.bincount(theirs, minlength=block[above].num_rows)
    parent = block[table].parent
    order = np.argsort(parent, kind="stable")
    turn = np.empty(len(parent), dtype=np.int64)  # of a row among its parent's
    turn[order] = np.arange(len(parent)) - np.searchsorted(parent[order], parent[order])
    begins = rng.integers(0, 1 << 40, size=int(parent.max(initial=0)) + 1)[parent]
    some = (many[mine] > 0) & (rng.random(len(mine)) < rule.share)
    at = (np.cumsum(many) - many)[mine] + (begins + turn) % np.maximum(many[mine], 1)
    return np.where(some, offered[np.where(some, at, 0)] if len(offered) else -1, -1)


class AcrossTables:
    """The rules of a schema; ``shares_kept``: for each rule how many rows it concerned and in what share it holds."""

    def __init__(self, schema: Schema | Dataset) -> None:
        self.schema, self.rules = schema, schema.across
        self._seen = [[0, 0] for _ in self.rules]

    @property
    def written(self) -> set[str]:
        """TABLE.COLUMN of all that the rules may change."""
        return {rule_writes(self.schema, r) for r in self.rules}

    @property
    def shares_kept(self) -> list[dict[str, Any]]:
        """Each rule with the share of rows that keep it; 1 unless rules contradict each other or bounds."""
        counts = zip(self.rules, self._seen, strict=True)
        return [
            {"across": True, "kind": r.kind, "columns": list(ends(r)), "kept": held / many if many else 1.0}
            for r, (many, held) in counts
        ]

    def apply(self, block: Block, rng: np.random.Generator) -> None:
        """Changes a block's positions in place: what is repeated, then orders, then counts and totals upwards.

        A table's own orders are kept with these: what they change, and events put in order, may break them.
        """
        repeats = [r for r in self.rules if isinstance(r, Equal)]
        inside = [
            Order(kind="order", low=f"{t}.{r.low}", high=f"{t}.{r.high}")
            for t, schema in self.schema.tables.items()
            for r in schema.constraints or ()
            if isinstance(r, Order)
        ]
        orders, later = [*(r for r in self.rules if isinstance(r, Order)), *inside], {r.high for r in inside}
        sums = [r for r in self.rules if isinstance(r, Count | Total)]
        for table in self.schema.downwards:
            for repeat in repeats:
                owner, column = placed(repeat.child)
                if owner == table:
                    block[table].positions[column][:] = self._above(block, table, repeat.parent)
        for table in self.schema.downwards:
            columns = {w for r in orders if placed(w := rule_writes(self.schema, r))[0] == table}
            for name in sorted(columns, key=lambda n: (n in later, n)):
                self._ordered(name, [r for r in orders if rule_writes(self.schema, r) == name], block, rng)
        for table in reversed(self.schema.downwards):
            for one in sums:
                owner, column = placed(one.parent)
                if owner == table:
                    own = block[table].positions[column]
                    own[:] = places(self._facts(one.parent), self._summed(one, block), up=None)
        for i, rule in enumerate(self.rules):
            holds = self._holds(rule, block)
            self._seen[i][0] += len(holds)
            self._seen[i][1] += int(holds.sum())

    def again(self, block: Block, rng: np.random.Generator) -> None:
        """As ``apply``, of a block whose rows changed after it; what was seen before is forgotten."""
        self._seen = [[0, 0] for _ in self.rules]
        self.apply(block, rng)

    def _above(self, block: Block, table: str, name: str) -> np.ndarray:
        """Positions of a column of a table above, for each row of the table."""
        owner, column = placed(name)
        return block[owner].positions[column][rows_above(self.schema, block, table, owner)]

    def _ordered(self, name: str, rules: list[Order], block: Block, rng: np.random.Generator) -> None:
        """A child's column within all bounds that its parents' columns set."""
        table, column = placed(name)
        facts, positions = self._facts(name), block[table].positions[column]
        value = values(facts, positions)
        low, high = np.full(len(value), -np.inf), np.full(len(value), np.inf)
        for rule in rules:
            other = rule.low if rule.high == name else rule.high
            bound = values(self._facts(other), self._above(block, table, other))
            if rule.high == name:
                low = np.fmax(low, bound)
            else:
                high = np.fmin(high, bound)
        wrong = np.flatnonzero((value < low - _slack(low)) | (value > high + _slack(high)))
        if not len(wrong):
            return
        pool = np.sort(value[~np.isnan(value)])
        first = np.searchsorted(pool, low[wrong] - _slack(low[wrong]), side="left")
        last = np.searchsorted(pool, high[wrong] + _slack(high[wrong]), side="right")
        some = last > first
        drawn = pool[np.where(some, first + (rng.random(len(wrong)) * (last - first)).astype(np.int64), 0)]
        nearest = np.clip(value[wrong], low[wrong], high[wrong])
        positions[wrong] = places(facts, np.where(some, drawn, nearest), up=~some & (value[wrong] < low[wrong]))
        key = self.schema.key_above(table)
        if key is not None and key.order == column:  # events rise again within a parent, whose bound is one for all
            times, parent = block[table].positions[column], block[table].parent
            times[:] = times[np.lexsort((times, parent))]

    def _summed(self, rule: Count | Total, block: Block) -> np.ndarray:
        child = placed(rule.child)[0]
        rows = block[placed(rule.parent)[0]].num_rows
        if rule.kind == "count":
            return np.bincount(block[child].parent, minlength=rows).astype(float)
        parts = values(self._facts(rule.child), block[child].positions[placed(rule.child)[1]])
        return np.bincount(block[child].parent, weights=np.nan_to_num(parts), minlength=rows)

    def _holds(self, rule: Any, block: Block) -> np.ndarray:
        """Whether each row that the rule concerns keeps it."""
        if rule.kind in ("count", "total"):
            table, column = placed(rule.parent)
            facts = self._facts(rule.parent)
            stated = values(facts, block[table].positions[column])
            return np.abs(stated - self._summed(rule, block)) <= 0.5 * float(facts.step)
        if rule.kind == "refers":  # a row has one to refer to
            (table, _), (other, _) = placed(rule.child), placed(rule.parent)
            above = nearest_above(self.schema, table, other)
            mine, theirs = (rows_above(self.schema, block, t, above) for t in (table, other))
            return np.isin(mine, theirs)
        table, column = placed(rule_writes(self.schema, rule))
        own = block[table].positions[column]
        if rule.kind == "equal":
            return np.asarray(own == self._above(block, table, rule.parent))
        other = rule.low if rule.high == f"{table}.{column}" else rule.high
        mine, bound = (
            values(self._facts(f"{table}.{column}"), own),
            values(self._facts(other), self._above(block, table, other)),
        )
        gap = mine - bound if rule.high == f"{table}.{column}" else bound - mine
        return np.isnan(gap) | (gap >= -_slack(bound))

    def _facts(self, name: str) -> Column:
        table, column = placed(name)
        return self.schema.tables[table].columns[column]


def values(column: Column, positions: np.ndarray) -> np.ndarray:
    """Numbers, or seconds of dates, at positions; NaN where missing."""
    at = np.asarray(positions).astype(np.int64)
    numbers = float(column.bounds[0]) + float(column.step) * at
    return np.where(at < column.size, numbers, np.nan)


def places(column: Column, numbers: np.ndarray, *, up: np.ndarray | None) -> np.ndarray:
    """The positions nearest to numbers, within the bounds; ``up``: where the next one above is to be taken."""
    steps = (numbers - float(column.bounds[0])) / float(column.step)
    rounded = np.rint(steps)
    if up is not None:
        rounded = np.where(up & (rounded < steps - NEAR), rounded + 1, rounded)
        rounded = np.where(~up & (rounded > steps + NEAR), rounded - 1, rounded)
    return np.clip(rounded, 0, column.size - 1).astype(np.int64)


def _slack(bound: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(bound), NEAR * np.maximum(np.abs(bound), 1.0), 0.0)
