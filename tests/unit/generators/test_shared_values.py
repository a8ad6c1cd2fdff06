"""What is the same in all rows of one parent, as a home's region, or never is, as the orders of an account."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth.generators.core.related import Nested
from synth.generators.core.related_fit import TreeOptions
from synth.generators.core.related_questions import TreePlan
from synth.pipeline.prepare import Context
from synth.pipeline.request import RunRequest
from synth.pipeline.run import carry_out
from tests.unit.generators.helpers import IDENTIFIER, related

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
    schema = related({"n": IDENTIFIER, "region": {"type": "categorical", "categories": names}}, most=ROWS, order=order)
    request = RunRequest(epsilon=8.0, delta=1e-5, ledger=ledger, seed=0)
    made = carry_out(request, schema, Context(rows={"p": homes, "c": rows}, questions=questions))
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


ACCOUNTS, KINDS = 3000, ["loan", "rent", "tax"]


def test_siblings_that_are_never_alike_are_not_made_alike(tmp_path):
    """Chances that are the same for all rows of an account leave a third of pairs alike at least."""
    rng = np.random.default_rng(0)
    accounts = pd.DataFrame({"id": [str(i) for i in range(ACCOUNTS)], "x": rng.choice(["0", "1"], ACCOUNTS)})
    kinds = np.concatenate([rng.permutation(KINDS)[:2] for _ in range(ACCOUNTS)])
    orders = pd.DataFrame({"id": np.repeat(accounts["id"], 2).to_numpy(), "kind": kinds})
    schema = related({"kind": {"type": "categorical", "categories": KINDS}}, most=2)
    request = RunRequest(epsilon=8.0, delta=1e-5, ledger=tmp_path / "ledger.sqlite", seed=0)
    questions = Nested(options=replace(SMALL, roots=16, children=8))
    made = carry_out(request, schema, Context(rows={"p": accounts, "c": orders}, questions=questions))
    result = made.frames["c"].groupby("id")["kind"]
    assert result.nunique()[result.size() > 1].eq(1).mean() < 0.2
    first = result.first().value_counts(normalize=True)
    assert first.max() - first.min() < 0.15, "rows in no order: the first of them is any"
