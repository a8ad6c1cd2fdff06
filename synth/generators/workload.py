"""What a table is to be used for, as a method sees it: tables, targets and columns, each with a weight. Public."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from synth.questions.tables import Bins

PAIR, COLUMN, INSIDE = 8.0, 2.0, 3.0  # weight of a named pair, of a named column's pairs, of pairs inside larger tables
MANY = 50  # larger tables


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedTable:
    """A table that a use needs, of two columns or more. ``use``: the number of its use, from 0.

    ``bins``: of some of its columns the groups that the use itself has, as a formula's ``I(age > 40)``: no others are
    needed. ``numbers``: columns whose values, not only counts, the use adds up: their far ends weigh more.
    Privacy: public only.
    """

    columns: tuple[str, ...]
    weight: float = 1.0
    use: int = 0
    bins: Mapping[str, Bins] = field(default_factory=dict)
    numbers: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, eq=False)
class Workload:
    """All that uses need: ``tables``; ``targets``, the most important first; ``columns`` that matter, with weights.

    ``outcomes``: of regressions, categories that a model may draw by a logit. Privacy: public only.
    """

    tables: tuple[NamedTable, ...] = ()
    targets: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    columns: Mapping[str, float] = field(default_factory=dict)

    @property
    def larger(self) -> tuple[NamedTable, ...]:
        """Tables of three and more columns, and of two on groups of their own; each once, with its greatest weight."""
        best: dict[tuple[frozenset[str], tuple[str, ...]], NamedTable] = {}
        for table in self.tables:
            own = len(table.columns) > 2 or bool(table.bins.keys() - {table.columns[0]} or table.numbers)
            key = frozenset(table.columns), (*sorted(table.bins), "", *sorted(table.numbers))
            if own and (key not in best or table.weight > best[key].weight):
                best[key] = table
        return tuple(best.values())

    @property
    def named_together(self) -> frozenset[frozenset[str]]:
        """Columns of larger tables that a logit of one of them may follow: not of ``MANY``, of which noise leaves
        little, nor with an outcome of a regression, whose slopes follow from its pairs."""
        own = [t for t in self.larger if not {*self.outcomes} & {*t.columns}]
        return frozenset(frozenset(t.columns) for t in own) if len(own) <= MANY else frozenset()

    def target(self, declared: str | None) -> str | None:
        """The column that a model draws last, from all others: the schema's own target, else the first named."""
        return declared or next(iter((*self.targets, *self.outcomes)), None)

    def pairs(self, names: Collection[str]) -> list[tuple[str, str]]:
        """The pairs of these columns that uses need: inside tables, of targets with every column, of named columns.

        >>> Workload(tables=(NamedTable(columns=("a", "b", "c")),), targets=("d",)).pairs(["a", "b", "d"])
        [('a', 'b'), ('a', 'd'), ('b', 'd')]
        """
        matter = {n for n in self.columns if n in names}
        return [
            (a, b)
            for a, b in combinations(names, 2)
            if frozenset((a, b)) in self._pairs or {a, b} & {*self.targets} or {a, b} <= matter
        ]

    @cached_property
    def held(self) -> frozenset[str]:
        """The columns of named tables."""
        return frozenset(n for t in self.tables for n in t.columns)

    @cached_property
    def groups(self) -> Mapping[str, Bins]:
        """The groups of their own that uses have of a column, where they have some: of several the first."""
        return {n: b for t in reversed(self.tables) for n, b in t.bins.items()}

    def holds(self, pair: tuple[str, ...]) -> bool:
        """Whether a named table is this pair, or has it inside.

        >>> Workload(tables=(NamedTable(columns=("a", "b", "c")),)).holds(("c", "a"))
        True
        """
        return frozenset(pair) in self._pairs

    def pair_weight(self, pair: tuple[str, ...]) -> float:
        """By how much a table of two columns matters more than one that no use needs, 1 or more."""
        return max(self._pairs.get(frozenset(pair), 1.0), *(1 + (COLUMN - 1) * self.columns.get(n, 0.0) for n in pair))

    @cached_property
    def _pairs(self) -> Mapping[frozenset[str], float]:
        """Weights of pairs that tables name or hold. Of ``MANY`` tables, which noise hardly lets be counted, the pairs
        have to tell: one weighs the more the more tables hold it, up to a named pair."""
        many = sum(len(t.columns) > 2 for t in self.tables) > MANY
        named: dict[frozenset[str], float] = {}
        held: dict[frozenset[str], float] = {}
        for table in self.tables:
            for pair in map(frozenset, combinations(table.columns, 2)):
                if len(table.columns) == 2:
                    named[pair] = max(named.get(pair, 0.0), (PAIR - 1) * table.weight)
                else:
                    more, before = (INSIDE - 1) * table.weight, held.get(pair, 0.0)
                    held[pair] = before + more if many else max(before, more)
        most = max((t.weight for t in self.tables), default=1.0) * (PAIR - 1)
        return {p: 1 + max(named.get(p, 0.0), min(held.get(p, 0.0), most)) for p in {**named, **held}}
