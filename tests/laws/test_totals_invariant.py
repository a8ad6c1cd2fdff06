"""Published totals move nothing before the answers: questions, noise and outcome are those of a run without them.

Each law fails where totals were read off the rows, or where the rows decided whether totals can be met.
"""

import pandas as pd
import pytest

import synth
from synth.privacy.ledger.ledger import Ledger
from tests.conftest import SMALL, small_frame
from tests.made import ran

TRUE = {"columns": ["sex", "ill"], "published": "a yearbook"}
FALSE = [["f", "no", "1"], ["f", "yes", "197"], ["m", "no", "1"], ["m", "yes", "1"]]  # as no row says


def charged(frame, totals, *, relation="add_remove"):
    """What the ledger, the accountant and the card say of a run's questions."""
    schema = synth.Schema.parse({**SMALL, "totals": totals} if totals else SMALL)
    result = ran(frame, schema, method="independent", relation=relation, separate=True, seed=1)
    spent = [e for e in Ledger().entries() if e.kind == "spend"][-1]
    return result, (result.card["mechanisms"], result.epsilon_derived, spent.question)


def lines(frame):
    return [[*k, str(n)] for k, n in frame.groupby(["sex", "ill"]).size().items()]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_a_run_with_totals_asks_what_one_without_asks(relation):
    frame = small_frame(200)
    _, without = charged(frame, None, relation=relation)
    for counts in (lines(frame), FALSE):
        assert charged(frame, [{**TRUE, "counts": counts}], relation=relation)[1] == without


def test_neighbours_have_the_same_run_whatever_the_totals_say():
    """One row more, one less, and none that agrees: what is refused, asked and met is the same for all of them."""
    frame = small_frame(200)
    totals = [{**TRUE, "counts": lines(frame)}]
    tables = [frame, frame.iloc[1:], pd.concat([frame, frame.iloc[3:4]]), frame[frame.sex == "m"]]
    runs = [charged(table.reset_index(drop=True), totals) for table in tables]
    assert all(said == runs[0][1] for _, said in runs)
    assert {result.num_rows for result, _ in runs} == {200}
    assert {one["cells_off"] for result, _ in runs for one in result.card["totals"]} == {0}


def test_a_table_without_a_row_of_a_counted_cell_goes_through():
    frame = small_frame(200)
    empty = frame.assign(ill="no", sex="f")
    result, _ = charged(empty, [{**TRUE, "counts": FALSE}])
    assert (result.num_rows, [one["cells_off"] for one in result.card["totals"]]) == (200, [0])
