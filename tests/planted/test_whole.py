"""The audit of the whole way flags each planted fault, and not the sound run; what shows in every run, quickly."""

import json
from pathlib import Path

import pytest

from synth.evaluate.audit.whole import audit_whole
from synth.evaluate.audit.whole_canaries import chosen, in_engine, standard
from synth.privacy.relation import Relation
from tests.engines import spark
from tests.planted.walks import once, reported_alike, uncovered
from tests.planted.whole_faults import CANARIES, FAULTS, WAYS

ROOT = Path(__file__).resolve().parents[2]
SURE = 1 - 1e-7  # of sound runs: a false alarm once in 1e7
CERTAIN = ("numbers parsed as a batch", "an error that quotes a cell", "a cell that ends the run after its spend")


def test_every_fault_has_its_canary():
    assert set(CANARIES) == set(FAULTS)
    assert set(CANARIES.values()) <= {c.name for c in standard()}
    assert any(c.max_rows > 1 and len(c.odd["table"]) > c.max_rows for c in standard())


@pytest.mark.parametrize("name", CERTAIN)
def test_a_fault_that_shows_in_every_run_is_flagged(name):
    """Certain leaks, which a dozen runs of either table contradict."""
    with FAULTS[name]():
        result = audit_whole(draws=24, confidence=0.9, canaries=chosen([CANARIES[name]]))
    assert result.violated, result.in_words()


@pytest.mark.parametrize("canary", standard(), ids=lambda c: c.name)
def test_what_no_noise_covers_is_equal_on_neighbouring_tables(canary):
    reported_alike(canary, least=50)


def test_what_no_noise_covers_is_equal_in_postgres(cluster):
    reported_alike(in_engine(cluster.address), least=50)
    assert not [t for t in cluster.tables() if t.startswith("facsimile_audit")]


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_what_no_noise_covers_is_equal_in_spark():
    reported_alike(in_engine(spark().address), least=50)


@pytest.mark.parametrize(
    "name", ["an error that quotes a cell", "a printed count of unreadable cells", "a prior unlike its digest"]
)
def test_the_comparison_notices_what_is_told(name):
    canary = chosen([CANARIES[name]])[0]
    with FAULTS[name]():
        one, other = (once(canary, table) for table in canary.tables(Relation.ADD_REMOVE))
    assert uncovered(one) != uncovered(other)


def test_the_kept_figures_flag_every_fault_and_no_sound_run():
    """Those of docs/audit.md, whose tables are compared with them by tests/docs/test_figures.py."""
    retained = json.loads((ROOT / "benchmarks" / "results" / "audit_whole.json").read_text())
    assert [r["fault"] for r in retained["faults"]] == list(FAULTS)
    assert all(r["violated"] for r in retained["faults"])
    assert {r["name"] for r in retained["sound"]} >= {c.name for c in standard()}
    assert {r["relation"] for r in retained["sound"]} == {"add_remove", "replace_one"}
    assert not any(r["violated"] for r in retained["sound"])


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_flagged_with_the_default_number_of_draws(name):
    with FAULTS[name]():
        assert audit_whole(first=True, canaries=chosen([CANARIES[name]]), **WAYS.get(name, {})).violated


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_sound_run_is_not(relation):
    result = audit_whole(relation=relation, confidence=SURE, draws=120)
    assert not result.violated, result.in_words()
