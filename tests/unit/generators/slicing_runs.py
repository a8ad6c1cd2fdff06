"""Runs of slicing on a small table, for its tests: what was asked, and what it cost."""

import numpy as np

import synth
from synth.privacy.relation import Relation
from tests.unit.generators import helpers

SCHEMA = synth.Schema.parse(
    {
        "target": "t",
        "columns": {
            "t": {"type": "boolean", "categories": ["n", "y"]},
            "a": {"type": "categorical", "categories": [f"c{i}" for i in range(12)]},
            "x": {"type": "integer", "min": 0, "max": 199, "nullable": True},
        },
    }
)
ROWS = 6000


def positions(rows=ROWS, seed=0):
    """t follows a and x closely: P(t | a < 6) = .9, and x is higher where t is."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 12, rows)
    t = (rng.random(rows) < np.where(a < 6, 0.9, 0.1)).astype(int)
    x = np.clip(np.rint(rng.normal(70 + 60 * t, 20)), 0, 199).astype(int)
    return {"t": t, "a": a, "x": np.where(rng.random(rows) < 0.1, 200, x)}


def measured(generator, *, relation=Relation.ZERO_OUT, epsilon=5.0, rows=ROWS, schema=SCHEMA):
    return helpers.measured(generator, positions(rows), schema, relation=relation, epsilon=epsilon)
