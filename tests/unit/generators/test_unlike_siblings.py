"""Rows of one parent that are never alike, in no order: one order for the rent and one for the loan."""

import numpy as np
import pandas as pd

import synth
from synth.generators.core.related import Nested
from synth.generators.core.related_fit import TreeOptions
from synth.pipeline.prepare import Context
from synth.pipeline.request import RunRequest
from synth.pipeline.run import carry_out

ACCOUNTS, KINDS = 3000, ["loan", "rent", "tax"]
SMALL = TreeOptions(fits=1, roots=16, children=8, steps=300)


def test_siblings_that_are_never_alike_are_not_made_alike(tmp_path):
    """Chances that are the same for all rows of an account leave a third of pairs alike at least."""
    rng = np.random.default_rng(0)
    accounts = pd.DataFrame({"id": [str(i) for i in range(ACCOUNTS)], "x": rng.choice(["0", "1"], ACCOUNTS)})
    kinds = np.concatenate([rng.permutation(KINDS)[:2] for _ in range(ACCOUNTS)])
    orders = pd.DataFrame({"id": np.repeat(accounts["id"], 2).to_numpy(), "kind": kinds})
    schema = synth.app_api.parse_related(
        {
            "dataset": "accounts",
            "tables": {
                "p": {"columns": {"id": {"type": "identifier"}, "x": {"type": "boolean", "categories": ["0", "1"]}}},
                "c": {"columns": {"id": {"type": "identifier"}, "kind": {"type": "categorical", "categories": KINDS}}},
            },
            "keys": [{"parent": "p", "child": "c", "columns": ["id"], "most_children": 2}],
        }
    )
    request = RunRequest(epsilon=8.0, delta=1e-5, ledger=tmp_path / "ledger.sqlite", seed=0)
    made = carry_out(request, schema, Context(rows={"p": accounts, "c": orders}), questions=Nested(options=SMALL))
    result = made.frames["c"].groupby("id")["kind"]
    assert result.nunique()[result.size() > 1].eq(1).mean() < 0.2
    first = result.first().value_counts(normalize=True)
    assert first.max() - first.min() < 0.15, "rows in no order: the first of them is any"
