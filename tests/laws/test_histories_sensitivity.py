"""What is asked of long histories moves by one root as stated: gaps, first, last and far rows; ties, bounds, 500 rows.

Small trees stand for long ones: a history is long from three rows on here, and siblings are near from two on.
"""

from itertools import product

import numpy as np
import pytest

from synth.mechanisms import linked
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins
from synth.questions.linked import place
from synth.schema import dataset as datasets
from synth.schema import histories
from synth.sources.rows import forest as forests
from tests.laws.small_forests import MOST, add_up, farthest, forest, holds, question, two

GAPS = 11  # cells of the gap of a number from 0 to 9
Y, THEN = Bins.each(place("c", "y"), 2), Bins.each(place("c", "y", other=True), 2)
GAP, NEXT_GAP = (Bins.each(place("c", histories.gap_of("t"), other=other), GAPS) for other in (False, True))
QUESTIONS = {
    "rows": ("c", "rows", [(GAP,), (GAP, Y)], MOST),
    "steps": ("c", "steps", [(GAP, NEXT_GAP), (Y, NEXT_GAP), (Y, THEN)], MOST),
    "last": ("c", "last", [(Y,), (GAP,)], 1),
    "first": ("c", "first", [(GAP,), (Y,)], 1),
    "far": ("c", "far", [(Y, THEN)], MOST),
}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(histories, "LONG", 2)
    monkeypatch.setattr(forests, "FAR", 2)


def trees():
    """Roots with up to one child more than are kept, of two values, at times that tie, jump, or are missing (10)."""
    for many in range(MOST + 2):
        for ys in product(range(2), repeat=many):
            for times in product((0, 1, 9), repeat=many):
                yield [(y, t, (i * 7 + 3) % 11) for i, (y, t) in enumerate(zip(ys, times, strict=True))]


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_no_history_moves_a_table_by_more_than_stated_and_some_history_does(name):
    asked, schema = question(*QUESTIONS[name]), two("t")
    parts = [linked.exact(asked, forest(schema, [("k", 0, 1, below)])) for below in trees()]
    for table in range(len(asked.marginals)):
        for relation in (Relation.ADD_REMOVE, Relation.REPLACE_ONE):
            stated = linked.sensitivity(Adjacency(relation=relation, unit="p")) * linked.UNIT
            # every history has a first row, all of which are without a gap: there two are nearer to each other
            near = relation is Relation.REPLACE_ONE and (name, table) in (("first", 0), ("rows", 0))
            least = 0.0 if near else 1 - 1e-8
            assert stated * least <= farthest([p[table] for p in parts], relation) <= stated * (1 + 1e-12)
    holds(asked, parts)


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_a_history_that_goes_or_is_replaced_changes_no_other(name):
    """Not who is kept, not the order of rows at one time, not a gap: a first row's never reaches another's last."""
    every = [(0, below) for below in trees()]
    add_up(question(*QUESTIONS[name]), two("t"), every, np.random.default_rng(5), 20)


def test_gaps_stay_in_their_cells_whatever_the_times_are():
    time = two("t").tables["c"].columns["t"]
    positions = np.array([0, 0, 9, 10, 10, 3, 200, 0])  # 10 and 200 are no times
    rank = np.array([0, 1, 2, 3, 0, 1, 2, 3])
    seen = histories.gaps(time, positions.astype(np.uint8), rank)
    assert seen.tolist() == [0, 1, 10, 0, 0, 0, 0, 0]
    assert histories.gaps(time, np.array([9, 0], dtype=np.uint8), np.array([0, 1])).tolist() == [0, 1], "never below"
    assert histories.gaps(time, np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64)).tolist() == []
    assert histories.derived(two("t").tables["c"].measured(), two("t").keys[0])["gap in t"].cells == GAPS


def test_months_are_of_the_calendar_and_missing_where_the_date_is():
    facts = {"type": "datetime", "min": "2019-12-30", "max": "2021-03-01", "nullable": True}
    column = datasets.parse_any({"columns": {"d": facts}}).columns["d"]
    at = np.array([0, 1, 2, 62, column.size - 1, column.size])
    assert histories.months(column, at).tolist() == [11, 11, 0, 2, 2, 12]  # 2020 is a leap year
    key = two("t").keys[0].model_copy(update={"order": "d"})
    assert list(histories.derived({"d": column}, key)) == ["gap in d", "month of d"]


def test_many_siblings_are_paired_with_near_ones_and_weigh_one(monkeypatch):
    monkeypatch.setattr(forests, "NEAR", 1)
    asked, schema = question("c", "siblings", [(Y, THEN)], 4), two()
    below = [[(y, 0, i) for i, y in enumerate(ys)] for n in range(MOST + 2) for ys in product(range(2), repeat=n)]
    sums = [int(linked.exact(asked, forest(schema, [("k", 0, 1, b)]))[0].sum()) for b in below]
    assert max(sums) <= linked.UNIT
    assert max(sums) >= linked.UNIT * (1 - 1e-8)
    ((table,),) = (linked.exact(asked, forest(schema, [("k", 0, 1, [(0, 0, 0), (1, 0, 1), (0, 0, 2)])])),)
    assert table.tolist() == [0, linked.UNIT // 4 * 2, linked.UNIT // 4 * 2, 0], "the first and third are not near"


def test_five_hundred_rows_of_one_root_weigh_no_more_than_one():
    schema = two("t")
    key = schema.keys[0].model_copy(update={"most_children": 500})
    schema = schema.model_copy(update={"keys": (key,)})
    schema.__dict__.pop("downwards", None)
    below = [(i % 2, i % 10, i) for i in range(520)]
    for order, view in (("t", "rows"), ("t", "steps"), ("t", "far"), ("t", "last"), (None, "siblings")):
        facts = schema.model_copy(update={"keys": (key.model_copy(update={"order": order}),)})
        bins = (Y, THEN) if view in ("steps", "far", "siblings") else (Y,)
        most = 500 if view != "siblings" else 500 * 99
        (table,) = linked.exact(question("c", view, [bins], most), forest(facts, [("k", 0, 1, below)]))
        assert (1 - 1e-4) * linked.UNIT <= table.sum() <= linked.UNIT
