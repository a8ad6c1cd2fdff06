"""How close related synthetic tables come to the real ones across tables. For the steward alone: no figure has noise.

Real rows are those that a run keeps: with a parent, and at most as many of one parent as its key says.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np

from synth.evaluate.fidelity import STEWARD_ONLY
from synth.evaluate.read_sample import Seeded
from synth.questions.linked import View, place, placed
from synth.schema import grouping
from synth.schema.grouping import Groups
from synth.schema.related import Related, number_of
from synth.schema.table import Column
from synth.sources.related_tables import places, read, text_columns
from synth.sources.rows.forest import Forest
from synth.sources.rows.linking import link

STEP = 1 << 18  # rows or pairs looked at at a time


@dataclass(frozen=True, kw_only=True, eq=False)
class Numbers:
    """How many children of one kind a parent has: shares (bound + 1,) of parents, and their distance."""

    child: str
    parent: str
    real: np.ndarray = field(repr=False)
    synthetic: np.ndarray = field(repr=False)
    distance: float = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two columns together: their ``distance``, and that of real columns taken as independent (``independent``).

    ``ratio``: the first by the second: 0 follows the relation wholly, 1 not at all; None where there is none.
    """

    about: str
    first: str
    second: str
    distance: float = field(repr=False)
    independent: float = field(repr=False)

    @property
    def ratio(self) -> float | None:
        """Distance by that of independence."""
        return self.distance / self.independent if self.independent > 1e-9 else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Across:
    """A comparison across tables with the real rows, for the steward only.

    ``rows``: kept real and synthetic rows by table. ``pairs``: by what they are about: number of children by columns
    above, columns of two tables, siblings or events that follow each other.
    """

    rows: Mapping[str, tuple[int, int]] = field(repr=False)
    numbers: list[Numbers]
    pairs: Mapping[str, list[Pair]]
    marking: str = STEWARD_ONLY

    def mean(self, about: str) -> tuple[float, float | None]:
        """Mean distance of pairs, and that by the mean of independence."""
        pairs = self.pairs[about]
        distance, alone = (float(np.mean([getattr(p, n) for p in pairs])) for n in ("distance", "independent"))
        return distance, distance / alone if alone > 1e-9 else None


def forest(tables: str | Path | Mapping[str, object], schema: Related, *, seed: int = 0) -> Forest:
    """Related tables as trees, for a comparison: which rows above a bound are kept follows from ``seed``.

    Errors: InputError, UsageError. Privacy: reads rows, exact: for the steward alone, never released.
    """
    draws = Seeded(np.random.default_rng(seed))
    opened = {
        name: read(
            where.under(schema.tables[name]), schema.tables[name], text_columns(schema, name), draws, key=b""
        ).rows
        for name, where in places(tables, schema).items()
    }
    return link(schema, opened, draws)


def appraise_related(
    real: str | Path | Mapping[str, object], synthetic: str | Path | Mapping[str, object], schema: Related
) -> Across:
    """``compare_related`` of ``real`` and ``synthetic``, folders with a file for each table of ``schema``.

    Errors: InputError, UsageError.

    **Guarantee**: none; for the steward alone.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    return compare_related(forest(real, schema), forest(synthetic, schema), schema)


def compare_related(real: Forest, synthetic: Forest, schema: Related) -> Across:
    """Compares what tables say of each other.

    **Guarantee**: none. The result derives from real rows without noise and must not leave the steward.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    both = (real, synthetic)
    pairs: dict[str, list[Pair]] = {}
    for table in schema.downwards:
        for about, view, names in _asked(schema, table):
            pairs.setdefault(about, []).extend(_pairs(both, schema, table, view, names, about))
    return Across(
        rows={t: (len(real[t].parent), len(synthetic[t].parent)) for t in schema.tables},
        numbers=[_number(both, k.parent, k.child, k.most_children) for k in schema.keys],
        pairs={about: found for about, found in pairs.items() if found},
    )


def _asked(schema: Related, table: str) -> Iterator[tuple[str, View, list[tuple[str, str]]]]:
    """(about, view, pairs of columns) of one table's rows."""
    own, numbers = schema.tables[table].measured(), [number_of(k.child) for k in schema.keys_below(table)]
    above = [(a, c) for a in schema.upwards(table)[1:] for c in schema.tables[a].measured()]
    up = [place(a, c) for a, c in above]
    for number in numbers:
        here = [place(table, c) for c in own]
        yield (f"{number} by column of {table} and above", "rows",
               [(place(table, number), c) for c in [*here, *up]])  # fmt: skip
    if table == schema.root:
        return
    yield f"{table} with tables above", "rows", [(place(table, c), u) for c, u in product(own, up)]
    key = schema.key_above(table)
    if key is not None and key.most_children > 1:
        ordered = key.order is not None
        view: View = "steps" if ordered else "siblings"
        listed = product(own, own) if ordered else combinations_with_replacement(own, 2)
        yield (f"{table}: " + ("from one row to the next" if ordered else "two of one parent"), view,
               [(place(table, a), place(table, b, other=True)) for a, b in listed])  # fmt: skip


def _number(both: Sequence[Forest], parent: str, child: str, most: int) -> Numbers:
    shares = [_shares(f[parent].columns[number_of(child)], most + 1) for f in both]
    return Numbers(child=child, parent=parent, real=shares[0], synthetic=shares[1], distance=_distance(*shares))


def _pairs(
    both: Sequence[Forest], schema: Related, table: str, view: View, names: Sequence[tuple[str, str]], about: str
) -> Iterator[Pair]:
    """The distance of each pair of columns, numbers and long lists in few groups."""
    columns = sorted({c for pair in names for c in pair})
    if not columns:
        return
    found = [_columns(f, table, view, columns) for f in both]
    if not all(len(f[columns[0]]) for f in found):
        return
    groups = {c: _groups(schema, c, found) for c in columns}
    codes = [{c: groups[c].take(f[c]).astype(np.int64) for c in columns} for f in found]
    for first, second in names:
        size = len(groups[second].labels)
        shape = (len(groups[first].labels), size)
        real, made = (_shares(c[first] * size + c[second], shape[0] * size).reshape(shape) for c in codes)
        alone = real.sum(axis=1, keepdims=True) * real.sum(axis=0, keepdims=True)
        yield Pair(about=about, first=_told(first), second=_told(second), distance=_distance(real, made),
                   independent=_distance(real, alone))  # fmt: skip


def _columns(forest: Forest, table: str, view: View, columns: Sequence[str]) -> dict[str, np.ndarray]:
    """Positions of columns in all rows or pairs of a view."""
    parts = [batch for _, batch in forest.strata(table, view, columns, STEP)]
    return {c: np.concatenate([p[c] for p in parts]) if parts else np.zeros(0, dtype=np.int64) for c in columns}


def _groups(schema: Related, name: str, found: Sequence[Mapping[str, np.ndarray]]) -> Groups:
    table, column, _ = placed(name)
    facts: Column = schema.learnt(table).columns[column]
    return grouping.coarse(facts, np.concatenate([f[name] for f in found]).astype(np.int64))


def _told(name: str) -> str:
    table, column, other = placed(name)
    return f"{table}.{column}" + (" (of the other)" if other else "")


def _shares(codes: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(codes, minlength=size) / max(len(codes), 1)


def _distance(real: np.ndarray, synthetic: np.ndarray) -> float:
    return float(0.5 * np.abs(real - synthetic).sum())


def plain(found: Across) -> dict[str, object]:
    """The comparison as JSON data: for the steward alone."""
    return {
        "marking": found.marking,
        "rows": {t: {"real": r, "synthetic": s} for t, (r, s) in found.rows.items()},
        "numbers of children": [{"child": n.child, "parent": n.parent, "real": n.real.tolist(),
                                 "synthetic": n.synthetic.tolist(), "distance": n.distance} for n in found.numbers],
        "pairs": {a: [{"first": p.first, "second": p.second, "distance": p.distance, "against_independence": p.ratio}
                      for p in pairs] for a, pairs in found.pairs.items()},
    }  # fmt: skip
