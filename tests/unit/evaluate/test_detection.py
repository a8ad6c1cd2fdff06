"""The two-sample classifier and the nearest records: by hand, by brute force, and with a generator that copies."""

import numpy as np
import pytest
from samples import SCHEMA, sample

from synth.evaluate.detection import _joined, _nearest, nearness, two_sample
from synth.evaluate.read_sample import Sample
from synth.evaluate.utility import utility


def rng():
    return np.random.default_rng(0)


def test_another_sample_cannot_be_told_apart_and_a_shuffled_table_can():
    real = sample(1500, seed=1)
    alike = two_sample(real, sample(1500, seed=2), rows=1500, rng=rng()).auc
    foreign = two_sample(real, sample(1500, seed=3, linked=False), rows=1500, rng=rng()).auc
    assert 0.44 < alike < 0.56
    assert foreign > 0.7


def test_a_column_without_a_value_is_no_fault():
    """As the last day of conditions in hospitals that never write it."""
    real, made = ({**sample(400, seed=s).positions, "income": np.full(400, 1000)} for s in (1, 2))
    both = [Sample(columns=SCHEMA.measured(), positions=p, rows=400) for p in (real, made)]
    assert 0.4 < two_sample(*both, rows=400, rng=rng()).auc < 0.6
    scores = utility(*both, SCHEMA, target="ill", test=None, rng=rng()).scores
    assert len(scores) > 0


def test_few_rows_are_a_guess():
    assert two_sample(sample(5, seed=1), sample(5, seed=2), rows=10, rng=rng()).auc == 0.5


def test_copies_are_counted():
    real, fresh = sample(300, seed=1), sample(100, seed=2)
    copied = _joined(real.take(np.arange(100)), fresh)
    keys = {tuple(row) for row in np.array(list(real.positions.values())).T}
    wanted = np.mean([tuple(row) in keys for row in np.array(list(copied.positions.values())).T])
    assert nearness(real, copied, test=None, rows=300, rng=rng()).copies == pytest.approx(wanted)
    assert wanted >= 0.5


def test_a_copying_generator_lies_nearer_to_its_training_rows():
    real, held = sample(800, seed=1), sample(800, seed=5)
    honest = nearness(real, sample(800, seed=2), test=held, rows=800, rng=rng())
    copying = nearness(real, real, test=held, rows=800, rng=rng())
    assert abs(honest.nearer_train - 0.5) < 2 * honest.nearer_error
    assert copying.nearer_train > 0.9
    assert copying.copies_train == 1
    assert copying.copies_train > copying.copies_test


def test_distance_to_the_nearest_is_found_by_brute_force():
    asked, among = sample(30, seed=1), sample(40, seed=2)
    result = _nearest(asked, among, base=among)
    order = {n: np.sort(among.positions[n][among.positions[n] < among.columns[n].size]) for n in ("age", "income")}

    def apart(i, j):
        total = 0.0
        for name, column in among.columns.items():
            a, b = asked.positions[name][i], among.positions[name][j]
            if not column.is_numeric or a >= column.size or b >= column.size:
                total += a != b
            else:
                ranks = [np.searchsorted(order[name], v) / len(order[name]) for v in (a, b)]
                total += abs(ranks[0] - ranks[1])
        return total / len(among.columns)

    wanted = [min(apart(i, j) for j in range(40)) for i in range(30)]
    assert result == pytest.approx(wanted, abs=1e-5)
