"""A session of questions one by one: charged once, near the truth, open as long as its block."""

import pandas as pd
import pytest

import synth
from synth.errors import BudgetError, SpentError, UsageError
from synth.privacy.ledger.ledger import Ledger
from tests.made import a_schema, codes, number

FRAME = pd.DataFrame({"sex": ["f", "m"] * 2000, "age": [str(i % 80) for i in range(4000)]})
SCHEMA = a_schema(sex=codes("f", "m"), age=number(0, 79))


def session(tmp_path, **more):
    asked = {"epsilon": 10.0, "dataset": "d", "ledger": tmp_path / "l.sqlite", "options": {"updates": 5, "bins": 4}}
    return synth.online(FRAME, schema=SCHEMA, **asked | more)


def charged(tmp_path):
    return [e for e in Ledger(tmp_path / "l.sqlite").entries() if e.kind == "spend"]


def test_questions_are_answered_near_the_truth_for_one_charge(tmp_path):
    with session(tmp_path) as opened:
        for _ in range(30):
            women = opened.count({"sex": "f"})
            young = opened.count({"sex": "f", "age": "0..19"})
        both = opened.count({"sex": "f|m"})
    assert women.rows == pytest.approx(2000, abs=200)
    assert young.rows == pytest.approx(500, abs=200)
    assert both.rows == pytest.approx(4000, rel=0.1)
    assert women.left >= 4  # the weights begin even, as these rows are
    (line,) = charged(tmp_path)
    assert (line.epsilon, line.delta) == (10.0, 0.0)
    with pytest.raises(BudgetError, match="closed"):
        opened.count({"sex": "f"})


def test_what_is_far_off_is_counted_and_used_up(tmp_path):
    skewed = FRAME.assign(sex=["f"] * 3900 + ["m"] * 100)
    with synth.online(
        skewed,
        schema=SCHEMA,
        epsilon=20.0,
        dataset="d",
        ledger=tmp_path / "l.sqlite",
        options={"updates": 1, "bins": 4},
    ) as opened:
        first, second = opened.count({"sex": "m"}), opened.count({"sex": "m"})
    assert first.counted
    assert first.rows == pytest.approx(100, abs=60)
    assert not second.counted
    assert second.left == 0
    assert second.rows == pytest.approx(first.rows, abs=5)


def cut_through(tmp_path):
    with session(tmp_path) as opened:
        with pytest.raises(UsageError, match="name a column"):
            opened.count({})
        opened.count({"age": "0..10"})


def test_a_condition_that_cuts_through_a_part_is_refused_and_the_spend_stands(tmp_path):
    with pytest.raises(SpentError, match="cut through"):
        cut_through(tmp_path)
    assert len(charged(tmp_path)) == 1


def test_without_a_budget_nothing_is_charged(tmp_path):
    Ledger(tmp_path / "l.sqlite").set_policy("d", max_epsilon=1.0)
    with pytest.raises(BudgetError), session(tmp_path):
        pass
    assert not charged(tmp_path)
