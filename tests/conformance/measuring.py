"""Methods that are quick enough for laws, and the paid half of a run on random positions."""

from functools import cache

import numpy as np

import synth
from synth.generators import GENERATORS
from synth.generators.base import Run
from synth.generators.method import with_options
from synth.pipeline import budget
from synth.privacy.relation import Relation
from tests.conftest import SMALL
from tests.made import curator

SCHEMA = synth.Schema.parse(SMALL)
QUICK = {
    "slice_wasserstein": {"steps": 3, "batch": 32},
    "pearl": {"steps": 10, "frequencies": 300, "ensembles": 1},
    "dp_merf": {"steps": 30, "frequencies": 300, "ensembles": 1},
    "dp_hp": {"steps": 30, "ensembles": 1},
    "dp_ntk": {"steps": 10, "features": 2000},
    "dp_ctgan": {"steps": 5},
    "dp_vae": {"steps": 5},
    "dp_autogan": {"code_steps": 3, "steps": 3},
    "pate_gan": {"rounds": 3, "features": 32},
    "aim": {"rounds": 2, "bins": 8},
    "mst": {"bins": 8},
    "dp_flow": {"steps": 3, "hidden": 8, "knots": 3},
    "dp_diffusion": {"steps": 3, "hidden": 8, "copies": 2},
    "dp_sinkhorn": {"steps": 3, "rows": 16},
    "private_set": {"steps": 3, "hidden": 8, "rows": 20},
    "gs_wgan": {"rounds": 3, "features": 16},
    "datalens": {"rounds": 3, "features": 16},
    "g_pate": {"rounds": 3, "features": 16},
    "mwem": {"rounds": 3},
    "online_weights": {"updates": 3, "questions": 200},
    "private_evolution": {"rounds": 3, "candidates": 300},
}


def quick(name):
    return with_options(GENERATORS[name], QUICK.get(name, {}))


def measured(name, *, relation=Relation.ADD_REMOVE, epsilon=2.0, schema=SCHEMA, rows=800):
    """(releases, setting, curator): the paid half of a run on random positions, the door then closed."""
    rng = np.random.default_rng(0)
    places = {n: rng.integers(0, c.cells, rows) for n, c in schema.measured().items()}
    door = curator(places, epsilon=epsilon, relation=relation)
    setting = budget.setting(schema, door.grant, public_rows=rows if relation.rows_are_public else None)
    releases = quick(name).measure(Run(door.ask, setting))
    door.close()
    return releases, setting, door


@cache
def paid(name, relation="add_remove"):
    """``measured`` on the small schema, once for all tests that only look."""
    return measured(name, relation=Relation(relation))
