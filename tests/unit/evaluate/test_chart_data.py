"""What charts show, against numbers worked out by hand."""

import numpy as np
import pytest

from synth.evaluate import chart_data
from synth.evaluate.chart_data import Shares

REAL, SYNTHETIC = np.array([0.5, 0.2, 0.3]), np.array([0.25, 0.5, 0.25])


def test_missing_codes_are_told_and_not_drawn():
    shown = Shares.of(("0 to 1", "1 to 2", "missing"), REAL, SYNTHETIC, edges=np.array([0.0, 1.0, 2.0]), pooled=False)
    assert shown.labels == ("0 to 1", "1 to 2")
    assert shown.real.tolist() == [0.5, 0.2]
    assert shown.synthetic.tolist() == [0.25, 0.5]
    assert shown.rest == (("missing", 0.3, 0.25),)


@pytest.mark.parametrize(("pooled", "drawn"), [(False, 3), (True, 2)])
def test_the_rest_of_the_categories_is_told_and_not_drawn(pooled, drawn):
    shown = Shares.of(("a", "b", "1 other"), REAL, SYNTHETIC, edges=None, pooled=pooled)
    assert len(shown.labels) == len(shown.real) == len(shown.synthetic) == drawn
    assert len(shown.rest) == 3 - drawn
    assert shown.commonest(2) == [("a", 0.5, 0.25), ("1 other", 0.3, 0.25)]


def test_a_matrix_keeps_the_columns_that_differ_most_in_their_order():
    pairs = np.zeros((50, 50))
    worst = np.arange(5, 45)
    pairs[np.ix_(worst, worst)] = np.linspace(0.1, 0.2, 40)[:, None]
    matrix, shown = chart_data.distances([f"c{i}" for i in range(50)], pairs)
    assert shown.tolist() == worst.tolist()
    assert matrix.rows == matrix.columns == tuple(f"c{i}" for i in worst)
    assert matrix.values.tolist() == pairs[np.ix_(worst, worst)].tolist()
    assert matrix.top == 0.2


def test_a_matrix_of_small_distances_stays_pale_and_names_its_worst_pair_off_the_diagonal():
    matrix, shown = chart_data.distances("ab", np.array([[0.04, 0.01], [0.01, 0.0]]))
    assert (matrix.top, shown.tolist()) == (0.05, [0, 1])
    assert matrix.strongest() == ("a", "a", 0.04)
    assert matrix.strongest(outside=True) == ("a", "b", 0.01)


def test_joint_tables_share_a_scale_and_their_difference_has_its_own():
    real, synthetic = np.array([[0.6, 0.1], [0.1, 0.2]]), np.array([[0.1, 0.2], [0.5, 0.2]])
    shown = chart_data.joint(("r", "s"), ("x", "y"), real, synthetic)
    assert {name: m.top for name, m in shown.items()} == {"real": 0.6, "synthetic": 0.6, "synthetic minus real": 0.5}
    assert shown["synthetic minus real"].strongest() == ("r", "x", -0.5)
    assert shown["synthetic"].strongest() == ("s", "x", 0.5)


def test_correlations_that_are_not_defined_count_as_none():
    real = np.array([[1.0, np.nan, -0.8], [np.nan, np.nan, np.nan], [-0.8, np.nan, 1.0]])
    shown = chart_data.correlations("abc", real, real * 0.5)
    assert shown["real"].strongest(outside=True) == ("a", "c", -0.8)
    assert shown["synthetic minus real"].top == 0.5
    assert np.isnan(shown["synthetic"].values[1, 1])
    nothing = chart_data.correlations("ab", np.full((2, 2), np.nan), np.eye(2))["synthetic minus real"]
    assert (nothing.top, nothing.strongest()) == (0.1, ("a", "a", 0.0))
