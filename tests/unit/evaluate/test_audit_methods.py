"""The audit of the real components: nothing of ours is contradicted, and the attacker is no weakling."""

import numpy as np
import pytest

import synth
from synth.evaluate.audit.canaries import one_run
from synth.evaluate.audit.likelihood_ratios import counted, ratio
from synth.evaluate.audit.methods import audit
from synth.evaluate.audit.neighbours import worst_pair
from synth.generators import GENERATORS
from synth.questions import Bins, Counts, CountsRelease, Marginal
from tests.planted.bare_mechanisms import BARE, bare

QUICK = {
    "slice_wasserstein": {"steps": 2, "batch": 32},
    "pearl": {"steps": 3, "frequencies": 100, "ensembles": 1},
    "dp_merf": {"steps": 3, "frequencies": 100, "ensembles": 1},
    "dp_ntk": {"steps": 3, "features": 500},
    "dp_ctgan": {"steps": 4, "hidden": 8},
    "dp_vae": {"steps": 4, "hidden": 8, "latent": 2},
    "dp_flow": {"steps": 4, "hidden": 8, "knots": 3},
    "dp_diffusion": {"steps": 4, "hidden": 8, "copies": 2},
    "dp_sinkhorn": {"steps": 4, "rows": 8},
    "private_set": {"steps": 4, "hidden": 8, "rows": 8},
    "private_evolution": {"rounds": 2, "candidates": 50},
    **{n: {"rounds": 2, "features": 16} for n in ("gs_wgan", "datalens", "g_pate")},
    "pate_gan": {"rounds": 2, "features": 16, "hidden": 8, "asked": 8},
    "aim": {"rounds": 2, "bins": 4},
    "mst": {"bins": 4},
    "mwem": {"rounds": 1},
    "online_weights": {"updates": 2, "questions": 20},
    "dp_autogan": {"code_steps": 2, "steps": 2, "hidden": 8},
}
FEW = {
    **dict.fromkeys(("dp_flow", "dp_diffusion", "dp_sinkhorn", "private_set"), (100, 0)),
    **dict.fromkeys(("gs_wgan", "datalens", "g_pate"), (100, 0)),
    "aim": (60, 0),
    "mst": (60, 0),
    "dp_ctgan": (100, 0),
    "dp_vae": (100, 0),
    "dp_autogan": (100, 0),
    "online_weights": (200, 60),
    "pate_gan": (100, 0),
    "mwem": (200, 60),
    "small_db": (400, 60),
}
SURE = 1 - 1e-7  # each part of an audit in this file raises a false alarm once in 1e7


@pytest.mark.parametrize("relation", ["add_remove", "replace_one", "zero_out"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_the_worst_pair_is_one_unit_apart(relation, max_rows):
    pair = worst_pair(relation, max_rows=max_rows)
    tables = [np.column_stack(list(t.values())).tolist() for t in (pair.one, pair.other)]
    gone = max_rows if relation == "replace_one" else 0
    assert tables[0][max_rows:] == tables[1][gone:]
    assert tables[0][:max_rows] == [[3, 7, 1]] * max_rows
    assert all(len({r[i] for r in tables[0] + tables[1]}) > 1 for i in range(3))
    assert (pair.rows is None) == (relation == "add_remove" or max_rows > 1)


def test_the_likelihood_ratio_is_the_gaussians():
    bins = Bins.each("kind", 4)
    pair = worst_pair("add_remove")
    question = Counts(purpose="t", marginals=(Marginal(bins=(bins,), sigma=2.0),))
    values = counted((bins,), pair.one)
    release = CountsRelease(question=question, values=(values.astype(np.int64),))
    assert ratio(release, pair.one, pair.other) == pytest.approx(0.5 / 4)
    assert ratio(release, pair.other, pair.one) == pytest.approx(-0.5 / 4)


@pytest.mark.parametrize("name", ["independent", "slicing"])
def test_a_method_of_ours_is_not_contradicted(name):
    result = audit(name, epsilon=5.0, draws=300, table_draws=40, confidence=SURE)
    assert not result.violated
    assert result.tables is not None
    assert result.plain()["outputs"]["claim"]["epsilon"] == 5.0


def test_the_attack_sees_much_of_what_is_claimed():
    """The bound's median is 0.49 of the 1.12 claimed; of 150 runs two were below 0.1: all of four once in 3e7.

    One that sees is enough, so that the others are made only where it did not.
    """
    result = (audit("independent", epsilon=5.0, draws=1600, table_draws=0, confidence=SURE) for _ in range(4))
    assert any(f.outputs.mu > 0.1 for f in result)


@pytest.mark.parametrize("relation", ["replace_one", "zero_out"])
def test_other_relations_are_audited_on_their_own_neighbours(relation):
    result = audit("independent", epsilon=5.0, draws=400, table_draws=0, relation=relation, confidence=SURE)
    assert not result.violated
    assert result.tables is None


def test_a_person_of_several_rows_is_audited_as_one():
    assert not audit("independent", epsilon=5.0, max_rows=3, draws=400, table_draws=0, confidence=SURE).violated


DEAR = ("dp_ctgan", "dp_diffusion", "dp_flow", "dp_vae", "pate_gan", "aim", "mst", "mixture")  # in `make test-slow`


@pytest.mark.parametrize("name", [n for n in GENERATORS if n not in DEAR])
def test_no_method_is_contradicted_by_few_draws(name):
    """On every merge: if answers always told the tables apart, 120 draws would show a mu of 2.3 for 1.12."""
    assert not audit(name, epsilon=5.0, draws=120, table_draws=0, confidence=SURE, options=QUICK.get(name)).violated


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATORS)
def test_no_method_is_contradicted(name):
    draws, tables = FEW.get(name, (1500, 200))
    result = audit(name, epsilon=5.0, draws=draws, table_draws=tables, confidence=SURE, options=QUICK.get(name))
    assert not result.violated


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 5.1])
@pytest.mark.parametrize("name", BARE)
def test_a_bare_mechanism_lets_out_what_it_claims_and_no_more(name, epsilon):
    """Within 10 % of the claimed mu, the estimate's deviation being 0.7 % of it, 1.7 % at epsilon 1."""
    draws = 30_000 if epsilon > 2 else 100_000
    result = bare(name, epsilon=epsilon, draws=draws, confidence=SURE)
    assert result.mu == pytest.approx(result.claimed, rel=0.10)
    assert not result.finding.violated


@pytest.mark.parametrize("name", ["counts", "slices, rotation", "embeddings", "votes"])
def test_half_the_noise_of_a_bare_mechanism_is_a_violation(name):
    assert bare(name, epsilon=5.1, draws=2000, confidence=0.95, scale=0.5).finding.violated


def test_canaries_of_a_whole_run():
    """At a large epsilon the release gives most canaries away; the bound stays below the claim."""
    result = one_run("independent", epsilon=20.0, delta=1e-5, canaries=300, confidence=0.95, seed=1)
    assert result.right > 0.8 * result.made
    assert 0.3 < result.epsilon < 20.0


def test_audits_that_cannot_be_are_refused():
    with pytest.raises(synth.UsageError, match="draws"):
        audit("independent", epsilon=1.0, draws=3)
    with pytest.raises(synth.UsageError, match="unknown"):
        audit("nothing", epsilon=1.0)
    with pytest.raises(synth.UsageError, match="canaries"):
        one_run("independent", epsilon=1.0, delta=1e-5, canaries=3, confidence=0.9)


def test_a_pure_method_is_told_of_the_accountants_reserve():
    """small_db spends what `setting` tells it, to the last: through the real door it must fit the grant."""
    assert not audit("small_db", epsilon=5.0, draws=60, table_draws=0, confidence=SURE).violated
