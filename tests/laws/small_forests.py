"""Roots with children of two values, all of them up to a few above the bound, as a forest with secret numbers given."""

from itertools import product
from math import sqrt

import numpy as np

from synth.mechanisms import linked
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Linked, Marginal
from synth.schema import dataset as datasets
from synth.sources.rows.forest import TableRows, link
from tests.laws.secret_numbers import Given, texts
from tests.made import ID, codes, facts_of, number

MOST = 3


def two(order=None):
    flag = codes("0", "1")
    keys = [{"parent": "p", "child": "c", "columns": ["id"], "most_children": MOST, "order": order}]
    tables = {"p": facts_of(id=ID, x=flag), "c": facts_of(id=ID, y=flag, t=number(0, 9))}
    return datasets.parse_related({"tables": tables, "keys": keys})


def forest(schema, roots):
    """``roots``: (key, x, draw, [(y, t, draw), ...]); children come in an order that mixes the roots."""
    children = [(key, *child) for key, _, _, below in roots for child in below]
    children.sort(key=lambda c: (c[3], c[1], str(c[0])))
    p = TableRows(
        positions={"x": np.array([r[1] for r in roots], dtype=np.int64)},
        texts={"id": texts([r[0] for r in roots])},
        num_rows=len(roots),
    )
    c = TableRows(
        positions={
            "y": np.array([r[1] for r in children], dtype=np.int64),
            "t": np.array([r[2] for r in children], dtype=np.int64),
        },
        texts={"id": texts([r[0] for r in children])},
        num_rows=len(children),
    )
    return link(schema, {"p": p, "c": c}, Given([r[2] for r in roots], [r[3] for r in children]))


def trees():
    """Every root with up to MOST + 2 children of two values; the last ones are above the bound."""
    for x in range(2):
        for many in range(MOST + 3):
            for below in product(range(2), repeat=many):
                yield x, [(y, t, (t * 7 + 3) % 11) for t, y in enumerate(below)]


def question(table, view, tables, most):
    """About these tables of a view, each with the same noise."""
    marginals = tuple(Marginal(bins=bins, sigma=5.0) for bins in tables)
    return Linked(purpose="test", table=table, view=view, most=most, marginals=marginals)


def farthest(parts, relation):
    """How far one unit moves a table, of all units' contributions to it: its coming or going, or another instead."""
    moves = np.unique(np.array(parts, dtype=float), axis=0)
    square = (moves**2).sum(1)
    if relation is Relation.REPLACE_ONE:
        square = square[:, None] + square[None] - 2 * moves @ moves.T
    return sqrt(square.max())


def holds(asked, parts):
    """A unit weighs one in whole numbers, not in floats, and changes no more cells than stated."""
    for table in range(len(asked.marginals)):
        assert max(int(p[table].sum()) for p in parts) <= linked.UNIT
        cells = max(np.count_nonzero(p[table]) for p in parts)
        assert cells <= linked.changed_cells(asked, Adjacency(relation=Relation.ADD_REMOVE, unit="p"))


def add_up(asked, schema, every, rng, times):
    """Removing one of four roots changes nothing of the others: not who is kept, what they weigh, or their order."""
    for _ in range(times):
        roots = [
            (f"k{i}", x, int(rng.integers(1 << 40)), [(y, t, int(rng.integers(1 << 40))) for y, t, _ in below])
            for i, (x, below) in enumerate(every[j] for j in rng.integers(len(every), size=4))
        ]
        whole = linked.exact(asked, forest(schema, roots))
        for gone in range(4):
            rest = linked.exact(asked, forest(schema, [r for i, r in enumerate(roots) if i != gone]))
            alone = linked.exact(asked, forest(schema, [roots[gone]]))
            assert all(np.array_equal(a, b + c) for a, b, c in zip(whole, rest, alone, strict=True))
