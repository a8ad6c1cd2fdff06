"""Runs of slicing on a small table, for its tests: what was asked, and what it cost."""

import numpy as np

import synth
from synth.generators.base import Run, Setting
from synth.mechanisms import counts, slices
from synth.pipeline.budget import slices_within
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Counts, Slices

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


def quiet(_share):
    pass


def positions(rows=ROWS, seed=0):
    """t follows a and x closely: P(t | a < 6) = .9, and x is higher where t is."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 12, rows)
    t = (rng.random(rows) < np.where(a < 6, 0.9, 0.1)).astype(int)
    x = np.clip(np.rint(rng.normal(70 + 60 * t, 20)), 0, 199).astype(int)
    return {"t": t, "a": a, "x": np.where(rng.random(rows) < 0.1, 200, x)}


def measured(generator, *, relation=Relation.ZERO_OUT, epsilon=5.0, rows=ROWS, schema=SCHEMA):
    places = positions(rows)
    adjacency = Adjacency(relation=relation)
    grant = Grant(epsilon=epsilon, delta=1e-5, adjacency=adjacency, mu=calibrate(epsilon, 1e-5))
    curator = Curator(
        grant=grant,
        commit=lambda: None,
        read=lambda: places,
        noise=SystemNoise(),
        mechanisms={Counts: counts, Slices: slices},
    )

    setting = Setting(
        schema=schema,
        mu=grant.mu,
        sensitivity=counts.sensitivity(adjacency),
        signed=counts.signed_sensitivity(adjacency),
        slice_sigma=slices_within(grant),
        public_rows=rows if relation.rows_are_public else None,
    )
    releases = generator.measure(Run(curator.ask, setting))
    curator.close()
    return releases, setting, curator
