"""Roots with children of two values, all of them up to a few above the bound, as a forest with secret numbers given."""

from itertools import product

import numpy as np

from synth.schema import dataset as datasets
from synth.sources.rows.forest import TableRows, link
from tests.laws.secret_numbers import Given, texts

MOST = 3


def two(order=None):
    flag = {"type": "categorical", "categories": ["0", "1"]}
    keys = [{"parent": "p", "child": "c", "columns": ["id"], "most_children": MOST, "order": order}]
    tables = {
        "p": {"columns": {"id": {"type": "identifier"}, "x": flag}},
        "c": {"columns": {"id": {"type": "identifier"}, "y": flag, "t": {"type": "integer", "min": 0, "max": 9}}},
    }
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
