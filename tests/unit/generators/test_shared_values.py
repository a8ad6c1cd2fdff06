"""What is the same in all rows of one parent needs no class for each of its values."""

import numpy as np
import pandas as pd
import pytest

import synth
from synth.generators.nested_mixture.generator import Nested
from synth.generators.nested_mixture.options import Options
from synth.pipeline.related_run import carry_out
from synth.pipeline.request import RunRequest

HOMES, ROWS, REGIONS = 3000, 3, 12
SMALL = Options(fits=1, roots=4, children=4, steps=300)


@pytest.mark.parametrize("order", [None, "n"])
def test_a_column_that_stays_the_same_does_so_with_fewer_classes_than_values(order, tmp_path):
    """Four classes of the root tell apart four of twelve regions at most: a third of pairs would agree."""
    names, rng = [f"r{i}" for i in range(REGIONS)], np.random.default_rng(0)
    homes = pd.DataFrame({"id": [str(i) for i in range(HOMES)], "x": rng.choice(["0", "1"], HOMES)})
    rows = pd.DataFrame({"id": np.repeat(homes["id"], ROWS).to_numpy(), "n": [str(i) for i in range(HOMES * ROWS)],
                         "region": np.repeat(rng.choice(names, HOMES), ROWS)})  # fmt: skip
    key = {"parent": "p", "child": "c", "columns": ["id"], "most_children": ROWS}
    schema = synth.parse_related({
        "dataset": "homes",
        "tables": {"p": {"columns": {"id": {"type": "identifier"}, "x": {"type": "boolean", "categories": ["0", "1"]}}},
                   "c": {"columns": {"id": {"type": "identifier"}, "n": {"type": "identifier"},
                                     "region": {"type": "categorical", "categories": names}}}},
        "keys": [key if order is None else {**key, "order": order}],
    })  # fmt: skip
    request = RunRequest(epsilon=8.0, delta=1e-5, ledger=tmp_path / "ledger.sqlite", seed=0)
    made = carry_out(request, schema=schema, rows={"p": homes, "c": rows}, questions=Nested(options=SMALL))
    found = made.frames["c"].groupby("id")["region"]
    assert found.nunique()[found.size() > 1].eq(1).mean() > 0.8
