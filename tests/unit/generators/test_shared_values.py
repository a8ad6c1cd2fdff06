"""What is the same in all rows of one parent needs no class for each of its values."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import synth
from synth.generators.core.related import Nested
from synth.generators.core.related_fit import TreeOptions
from synth.generators.core.related_questions import TreePlan
from synth.pipeline.prepare import Context
from synth.pipeline.request import RunRequest
from synth.pipeline.run import carry_out

HOMES, ROWS, REGIONS = 3000, 2, 12
SMALL = TreeOptions(fits=1, roots=4, children=4, steps=300)


def alike(regions, ledger, *, order=None, questions):
    """Which part of the made homes with several rows has the same region in all of them."""
    names, rng = [f"r{i}" for i in range(REGIONS)], np.random.default_rng(0)
    homes = pd.DataFrame({"id": [str(i) for i in range(HOMES)], "x": rng.choice(["0", "1"], HOMES)})
    rows = pd.DataFrame(
        {
            "id": np.repeat(homes["id"], ROWS).to_numpy(),
            "n": [str(i) for i in range(HOMES * ROWS)],
            "region": np.array(names)[regions(rng)],
        }
    )
    key = {"parent": "p", "child": "c", "columns": ["id"], "most_children": ROWS}
    schema = synth.app_api.parse_related(
        {
            "dataset": "homes",
            "tables": {
                "p": {"columns": {"id": {"type": "identifier"}, "x": {"type": "boolean", "categories": ["0", "1"]}}},
                "c": {
                    "columns": {
                        "id": {"type": "identifier"},
                        "n": {"type": "identifier"},
                        "region": {"type": "categorical", "categories": names},
                    }
                },
            },
            "keys": [key if order is None else {**key, "order": order}],
        }
    )
    request = RunRequest(epsilon=8.0, delta=1e-5, ledger=ledger, seed=0)
    made = carry_out(request, schema, Context(rows={"p": homes, "c": rows}), questions=questions)
    result = made.frames["c"].groupby("id")["region"]
    return result.nunique()[result.size() > 1].eq(1).mean()


@pytest.mark.parametrize("order", [None, "n"])
def test_a_column_that_stays_the_same_does_so_with_fewer_classes_than_values(order, tmp_path):
    """Four classes of the root tell apart four of twelve regions at most: a third of pairs would agree."""

    def regions(rng):
        return np.repeat(rng.integers(REGIONS, size=HOMES), ROWS)

    assert alike(regions, tmp_path / "ledger.sqlite", order=order, questions=Nested(options=SMALL)) > 0.8


def test_rows_of_one_parent_are_hardly_alike_where_no_answer_tells(tmp_path):
    """As a fit begins: one pair in twelve is alike by chance. Values shared half the time would make it .14.

    3,000 pairs, .087 expected: .113 is five deviations off.
    """

    def regions(rng):
        return rng.integers(REGIONS, size=HOMES * ROWS)

    asked = Nested(options=replace(SMALL, steps=0, spread=0.0, mixing=0.0), plan=TreePlan(oneway=1.0))
    assert alike(regions, tmp_path / "ledger.sqlite", questions=asked) < 0.113
