"""Models trained on a table predict held-out rows as well as the table is good; targets of every kind."""

import warnings

import numpy as np
import pytest
from samples import SCHEMA, sample

from synth.errors import UsageError
from synth.evaluate.quality import _frame
from synth.evaluate.utility import utility


def scores(synthetic, *, target="ill", test=None):
    result = utility(
        sample(1500, seed=1),
        synthetic,
        SCHEMA,
        target=target,
        test=sample(1500, seed=9) if test is None else test,
        rng=np.random.default_rng(0),
    )
    return result, {s.name: s for s in result.scores}


def test_a_good_table_trains_as_well_as_the_real_one_and_a_bad_one_not_at_all():
    _, good = scores(sample(1500, seed=2))
    _, bad = scores(sample(1500, seed=3, linked=False))
    assert abs(good["auc"].synthetic - good["auc"].real) < 0.04
    assert abs(good["auc"].floor - good["auc"].real) < 0.04
    assert 0.4 < bad["auc"].synthetic < 0.62 < good["auc"].synthetic
    assert bad["logreg_f1"].synthetic < good["logreg_f1"].synthetic


def test_logistic_f1_is_that_of_sdmetrics():
    from sdmetrics.single_table import BinaryLogisticRegression

    made, held = sample(1500, seed=2), sample(1500, seed=9)
    frames = [_frame(t.positions, t.columns) for t in (made, held)]
    for frame in frames:
        frame["ill"] = (frame["ill"] == "yes").astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = BinaryLogisticRegression.compute(frames[1], frames[0], target="ill")
    assert scores(made)[1]["logreg_f1"].synthetic == pytest.approx(wanted, abs=0.01)


def test_a_number_is_a_regression_and_classes_are_classes():
    result, reported = scores(sample(1500, seed=2), target="income")
    assert result.task == "regression"
    assert reported["r2"].synthetic > 0.5
    assert reported["mae"].synthetic < 100
    assert not reported["mae"].higher_is_better
    result, reported = scores(sample(1500, seed=2), target="city")
    assert result.task == "classes"
    assert 0 <= reported["macro_f1"].synthetic <= reported["accuracy"].synthetic <= 1


def test_without_held_out_rows_a_fifth_is_set_aside_and_said_so():
    result = utility(
        sample(500, seed=1), sample(500, seed=2), SCHEMA, target="ill", test=None, rng=np.random.default_rng(0)
    )
    assert (result.held_out, result.test_rows) == (False, 100)


def test_a_target_that_cannot_be_predicted_is_refused():
    with pytest.raises(UsageError, match="`target=height`"):
        scores(sample(100, seed=1), target="height")
    real = sample(100, seed=1)
    real.positions["ill"][:] = 0
    with pytest.raises(UsageError, match="does not vary"):
        utility(real, real, SCHEMA, target="ill", test=real, rng=np.random.default_rng(0))


def test_a_table_of_one_class_scores_as_a_guess():
    made = sample(500, seed=2)
    made.positions["ill"][:] = 0
    assert scores(made)[1]["auc"].synthetic == 0.5
