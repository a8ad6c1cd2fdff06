"""`mwem` and `small_db` keep strong dependences on tables they fit, refuse others by name, and hold their budget."""

import numpy as np
import pytest

import synth
from synth.errors import UsageError
from synth.generators.base import Setting
from synth.generators.query_based.mwem import Mwem
from synth.generators.query_based.small_db import SmallDb
from synth.mechanisms import counts, selection
from synth.privacy.accounting.composition import EPSILON_SLACK, SAFETY, calibrate, calibrate_rho
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Choice, Counts
from tests.conftest import SMALL

TOY = synth.Schema.parse(
    {
        "columns": {
            "a": {"type": "categorical", "categories": ["x", "y"]},
            "b": {"type": "categorical", "categories": ["x", "y"]},
            "c": {"type": "integer", "min": 0, "max": 99},
        }
    }
)
EPSILON = 2.0


def places(schema, rows=2000):
    rng = np.random.default_rng(0)
    result = {n: rng.integers(0, c.cells, rows) for n, c in schema.measured().items()}
    if schema is TOY:
        result["c"] = np.where(result["a"] == 0, result["c"] // 2, 50 + result["c"] // 2)
    return result


def measured(generator, schema, relation):
    adjacency = Adjacency(relation=relation)
    grant = Grant(epsilon=EPSILON, delta=1e-5, adjacency=adjacency, mu=calibrate(EPSILON, 1e-5))
    rows = places(schema)
    session = Curator(
        grant=grant,
        commit=lambda: None,
        read=lambda: rows,
        noise=SystemNoise(),
        mechanisms={Counts: counts, Choice: selection},
    )
    setting = Setting(
        schema=schema,
        mu=grant.mu,
        sensitivity=counts.sensitivity(adjacency),
        signed=counts.signed_sensitivity(adjacency),
        rho=calibrate_rho(EPSILON, 1e-5),
        epsilon=EPSILON * (1 - EPSILON_SLACK) * (1 - SAFETY),
        public_rows=2000 if relation.rows_are_public else None,
    )
    return generator.measure(session.ask, setting, progress=lambda _: None), setting, session


@pytest.mark.parametrize("generator", [Mwem(), Mwem(ones=0.0), SmallDb()], ids=["mwem", "published", "small_db"])
@pytest.mark.parametrize("relation", list(Relation))
def test_the_budget_is_spent_whole_and_a_strong_dependence_kept(generator, relation):
    releases, setting, session = measured(generator, TOY, relation)
    assert 0.999 * EPSILON < session.epsilon_derived <= EPSILON
    rng = np.random.default_rng(1)
    model = generator.fit(releases, setting, rng=rng, device="cpu", progress=lambda _: None)
    drawn = model.sample(2000, rng=rng)
    assert ((drawn["a"] == 1) == (drawn["c"] >= 50)).mean() > 0.9
    assert model.total == pytest.approx(2000, rel=0.15)


def test_mwem_fits_a_table_of_six_columns():
    generator = Mwem(rounds=2)
    releases, setting, _ = measured(generator, synth.Schema.parse(SMALL), Relation.ADD_REMOVE)
    rng = np.random.default_rng(1)
    model = generator.fit(releases, setting, rng=rng, device="cpu", progress=lambda _: None)
    drawn = model.sample(100, rng=rng)
    for name, column in setting.schema.measured().items():
        assert drawn[name].min() >= 0
        assert drawn[name].max() < column.cells


def test_larger_tables_are_refused_by_number_with_a_way_out():
    wide = {f"c{i}": {"type": "integer", "min": 0, "max": 9} for i in range(21)}
    with pytest.raises(UsageError, match=r"2.1e\+06 cells.*mixture"):
        Mwem().check_schema(synth.Schema.parse({"columns": wide}))
    with pytest.raises(UsageError, match=r"360 kinds of rows.*mixture"):
        SmallDb().check_schema(synth.Schema.parse(SMALL))


@pytest.mark.parametrize(
    "wrong", [Mwem(rounds=-1), Mwem(ones=1.0), Mwem(bins=1), SmallDb(records=1), SmallDb(counting=0)]
)
def test_options_out_of_range_are_refused(wrong):
    with pytest.raises(UsageError, match="`options"):
        wrong.check_options()
