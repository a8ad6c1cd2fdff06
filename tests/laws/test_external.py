"""AIM and MST through OpenDP: the terms it is given hold, its noise is the stated one, its release is all there is."""

from importlib.util import find_spec

import numpy as np
import pytest

from synth.mechanisms import counts, external
from synth.numeric.markov_field import MarkovRandomField, MeasuredTable
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.renyi import calibrate_rho
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, External

pytestmark = [
    pytest.mark.xdist_group("opendp_mbi"),  # JAX takes seconds to load: by one process, and not to list the tests
    pytest.mark.skipif(not (find_spec("mbi") and find_spec("polars")), reason="the extra [mbi] is not installed"),
]
SIZES = (2, 3, 6)
BINS = tuple(Bins.each(f"x{i}", s) for i, s in enumerate(SIZES))


def rows(count=4000, seed=0):
    rng = np.random.default_rng(seed)
    last = rng.integers(0, 6, count)
    return {"x0": rng.integers(0, 2, count), "x1": last // 2, "x2": last}


def asked(algorithm, rho, **more):
    return External(purpose="t", algorithm=algorithm, bins=BINS, rho=rho, **more)


def truth(clique, table):
    at = np.ravel_multi_index([table[f"x{c}"] for c in clique], [SIZES[c] for c in clique])
    return np.bincount(at, minlength=np.prod([SIZES[c] for c in clique])).reshape([SIZES[c] for c in clique])


@pytest.fixture(scope="module")
def released():
    """One answer of each algorithm; a release takes seconds, which OpenDP's search for its scales needs."""
    mst, aim = asked("mst", 0.2, contributions=2), asked("aim", 0.5, rounds=2)
    return {q.algorithm: external.answer(q, rows(), SystemNoise()) for q in (mst, aim)}


@pytest.mark.parametrize("algorithm", ["mst", "aim"])
@pytest.mark.long
def test_the_release_is_noisy_tables_of_the_pairs_that_depend(released, algorithm):
    release = released[algorithm]
    assert {(0,), (1,), (2,)} <= set(release.cliques)
    assert (1, 2) in release.cliques  # the only dependence
    for clique, values, sigma in zip(release.cliques, release.values, release.sigmas, strict=True):
        assert np.abs(values - truth(clique, rows())).max() < 6 * sigma


@pytest.mark.long
def test_the_noise_spends_what_is_charged(released):
    """MST's tables (one-ways half of rho, pairs nine tenths of the rest) are Gaussians of that rho for two rows."""
    release = released["mst"]
    spent = sum(2**2 / (2 * s**2) for s in release.sigmas)
    assert spent == pytest.approx(0.2 * (0.5 + 0.5 * external.MEASURED), rel=1e-3)
    parts = zip(release.cliques, release.values, release.sigmas, strict=True)
    z = np.concatenate([((v - truth(c, rows())) / s).ravel() for c, v, s in parts])
    assert abs((z @ z - len(z)) / np.sqrt(2 * len(z))) < 5.5


@pytest.mark.parametrize("relation", list(Relation))
def test_events_charge_rho_and_refuse_too_few_contributions(relation):
    adjacency = Adjacency(relation=relation, unit="person", max_rows=3)
    k = counts.changed(adjacency)
    assert k == (6 if relation is Relation.REPLACE_ONE else 3)
    rho = calibrate_rho(1.0, 1e-5)
    events = external.events(asked("aim", rho, contributions=k), adjacency)
    assert 0.999 < epsilon_of(events, 1e-5) <= 1.0
    with pytest.raises(ValueError, match="contributions"):
        external.events(asked("aim", rho, contributions=k - 1), adjacency)


@pytest.mark.parametrize("columns", [2, 3, 9, 13, 24])
def test_terms_fit_by_opendps_own_sums(columns):
    """For 8 pairs no rho does: a constant column is added. A rounding upwards somewhere is what the search avoids."""
    rho = 0.030483547705763704
    terms = external.workable("mst", columns, rho)
    assert rho * (1 - 1e-8) < terms.rho <= rho
    assert (terms.more > 0) == (columns == 9)
    for whole, parts in external._mst_sums(terms.rho, columns + terms.more, terms.measured):
        assert external._total(parts) <= whole


@pytest.mark.slow
def test_an_added_column_is_not_told(monkeypatch):
    monkeypatch.setattr(external, "workable", lambda *_: external.Terms(0.5 * (1 - 1e-9), 0.9, 1))
    release = external.answer(asked("mst", 0.5), rows(), SystemNoise())
    assert max(max(c) for c in release.cliques) == 2
    assert len(release.cliques) == 5  # three columns, two pairs; the pair with the added column is gone


@pytest.mark.long
def test_the_model_between_the_rounds_is_the_field_of_what_was_told():
    reported = external._Measured(asked("aim", 0.1))
    from mbi import Domain, LinearMeasurement

    measured = [
        LinearMeasurement(np.array([30.0, 70.0]), ("c0",), stddev=1.0),
        LinearMeasurement(np.array([10.0, 20, 30, 5, 15, 20]), ("c0", "c1"), stddev=2.0),
    ]
    model = reported.estimate(Domain(["c0", "c1", "c2"], SIZES), measured)
    field = MarkovRandomField.fit(
        SIZES,
        [
            MeasuredTable((0,), np.array([30.0, 70]), 1.0),
            MeasuredTable((0, 1), np.array([[10.0, 20, 30], [5, 15, 20]]), 2.0),
        ],
    )
    assert model.project(("c0", "c1")).values == pytest.approx(field.table((0, 1)), abs=0.5)
    assert model.project(("c1", "c2")).values.shape == (3, 6)
    assert reported.measured == measured


@pytest.mark.long
def test_aim_counts_a_named_table_and_only_parts_of_its_workload():
    """x2 tells x1 alone: the table of all three is measured because it is named, above pairs that depend as little."""
    workload = (((0, 1), 1.0), ((1, 2), 1.0), ((0, 1, 2), 50.0))
    release = external.answer(asked("aim", 2.0, rounds=3, workload=workload), rows(), SystemNoise())
    assert (0, 1, 2) in {tuple(sorted(c)) for c in release.cliques}
    for clique, values, sigma in zip(release.cliques, release.values, release.sigmas, strict=True):
        assert np.abs(values - truth(clique, rows())).max() < 6 * sigma


@pytest.mark.parametrize(
    "workload", [(((0, 3), 1.0),), (((0, 0), 1.0),), (((0,), 1.0),), (((0, 1), 0.0),), (((0, 1), float("nan")),)]
)
def test_a_workload_that_is_none_is_refused(workload):
    with pytest.raises(ValueError, match="workload"):
        asked("aim", 0.5, workload=workload)
    with pytest.raises(ValueError, match="only AIM"):
        asked("mst", 0.5, workload=(((0, 1), 1.0),))
