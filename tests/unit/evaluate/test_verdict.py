"""The verdict's words follow the table: a second sample is good for all, and what was broken is named."""

import numpy as np
import pytest
from samples import SCHEMA, sample, write

from synth.evaluate.examination import appraise
from synth.evaluate.fidelity import compare_samples
from synth.evaluate.rating import CARE, GOOD, NOT
from synth.evaluate.read_sample import Sample
from synth.evaluate.verdict import judge
from synth.schema import table as schemas

COLUMNS = {n: {"type": "categorical", "categories": ["0", "1", "2", "3"]} for n in "abcde"}


def _levels(result):
    return {u.name: u.level for u in result.uses}


def _appraised(folder, real, synthetic):
    return appraise(write(folder / "real.csv", real), write(folder / "made.csv", synthetic), SCHEMA)[1]


def test_a_second_sample_is_good_for_everything(tmp_path):
    result = _appraised(tmp_path, sample(4000, seed=0), sample(4000, seed=1))
    assert set(_levels(result)) == {"columns", "pairs", "triples", "subgroups", "prediction", "detection"}
    assert set(_levels(result).values()) == {GOOD}


def test_columns_without_what_ties_them_together_are_good_for_columns_alone(tmp_path):
    result = _appraised(tmp_path, sample(4000, seed=0), sample(4000, seed=1, linked=False))
    levels = _levels(result)
    assert levels["columns"] == GOOD
    assert levels["pairs"] != GOOD
    assert levels["prediction"] == levels["detection"] == NOT
    assert result.at(NOT)
    assert {"age", "income"} == set(result.pairs[0][:2]), "the strongest tie is lost, so it is the worst pair"
    assert "both right" in result.reconciled


@pytest.mark.parametrize("broken", [False, True])
def test_a_relation_of_three_columns_is_missed_where_pairs_are_right(broken):
    """e is the sum of a and b modulo 4: independent of each alone."""
    measured = schemas.parse({"columns": COLUMNS}).measured()

    def made(seed, *, broken=False):
        rng = np.random.default_rng(seed)
        codes = {n: rng.integers(0, 4, 20_000) for n in "abcd"}
        codes["e"] = rng.integers(0, 4, 20_000) if broken else (codes["a"] + codes["b"]) % 4
        return Sample(columns=measured, positions=codes, rows=20_000)

    comparison = compare_samples(made(0), made(1, broken=broken), quality_rows=None, rng=np.random.default_rng(0))
    reported = {u.name: u for u in judge(comparison).uses}
    assert reported["pairs"].level == GOOD
    assert (reported["triples"].value > 2 * reported["triples"].second) == broken
    if (
        not broken
    ):  # what a second sample shows is forecast right: ten tables of 64 cells, so far below a tenth of error
        assert reported["triples"].value == pytest.approx(reported["triples"].second, rel=0.2)


def test_what_was_not_measured_is_not_judged():
    one = compare_samples(sample(500, seed=0), sample(500, seed=1), quality_rows=None, rng=np.random.default_rng(0))
    assert set(_levels(judge(one))) == {"columns", "pairs", "triples"}
    assert judge(one).reconciled == ""


def test_levels_fall_as_the_table_gets_worse():
    rank, seen = [GOOD, CARE, NOT], []
    for mixed in (0.0, 0.3, 0.6, 1.0):
        real, made, lost = sample(4000, seed=0), sample(4000, seed=1), sample(4000, seed=2, linked=False)
        keep = np.random.default_rng(3).random(4000) < mixed
        positions = {n: np.where(keep, lost.positions[n], p) for n, p in made.positions.items()}
        blend = Sample(columns=made.columns, positions=positions, rows=4000)
        result = judge(compare_samples(real, blend, quality_rows=None, rng=np.random.default_rng(0)))
        seen.append(rank.index(_levels(result)["pairs"]))
    assert seen == sorted(seen)
    assert seen[0] < seen[-1]
