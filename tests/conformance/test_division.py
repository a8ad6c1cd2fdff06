"""The plan's division of the budget is the run's: question for question, share and noise, for every method."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import synth
from synth.generators import GENERATORS
from synth.generators.core import related_questions as scout
from synth.generators.core.related import Nested
from synth.generators.core.related_fit import TreeOptions
from synth.pipeline.prepare import Context
from synth.pipeline.request import RunRequest
from synth.pipeline.run import carry_out
from synth.privacy.accounting.events import division
from synth.privacy.noise import SeededNoise
from tests.conformance.measuring import QUICK

ROWS, LETTERS = 2000, list("abcd")
SCHEMA = synth.Schema.parse({"columns": {n: {"type": "categorical", "categories": LETTERS} for n in ("x", "y", "z")}})
BUDGET = {"epsilon": 2.0, "delta": 1e-5}


def even() -> pd.DataFrame:
    """Rows as a rehearsal makes them up, of which no question that adapts finds anything."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({n: rng.choice(LETTERS, ROWS) for n in SCHEMA.columns})


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(n, marks=[pytest.mark.xdist_group(g.__module__.split(".")[2])])
        for n, g in GENERATORS.items()
        if n != "small_db" and g.tables == "one"
    ],
)
def test_the_plan_divides_the_budget_as_the_run_does(method, tmp_path):
    asked = {"method": method, "options": QUICK.get(method, {}), **BUDGET}
    plan = synth.plan(SCHEMA, rows=ROWS, **asked)
    usual = synth.plan(SCHEMA, rows=500, method=method, **BUDGET)  # as everybody has it who names no option
    assert usual.steps
    assert all(s.sigma_least > 0 for s in usual.steps)
    book = synth.Ledger(tmp_path / "ledger.sqlite")
    run = synth.run(even(), schema=SCHEMA, dataset="d", ledger=book.path, num_rows=1, noise=SeededNoise(1), **asked)
    assert [replace(p, share=pytest.approx(p.share)) for p in plan.budget] == division(run.card["mechanisms"])
    (spent,) = book.summary("d")
    assert (spent.epsilon, spent.delta) == (plan.epsilon, plan.delta)
    assert sum(p.share for p in plan.budget) == pytest.approx(1)
    for part in plan.budget:
        assert any(
            part.question in line and f"{100 * part.share:.1f} %" in line for line in plan.in_words().split("\n")
        )


def test_of_related_tables_too(tmp_path, monkeypatch):
    monkeypatch.setattr(scout, "FAINT", float("inf"))  # what is asked twice follows noisy answers
    key, letter = {"type": "identifier"}, {"type": "categorical", "categories": LETTERS}
    above = {"parent": "a", "child": "b", "columns": ["of"], "parent_columns": ["id"], "most_children": 2}
    columns = {"a": {"id": key, "x": letter}, "b": {"id": key, "of": key, "y": letter}}
    schema = synth.app_api.Dataset.model_validate(
        {"tables": {n: {"columns": c} for n, c in columns.items()}, "keys": [above]}
    )
    rng, names = np.random.default_rng(0), np.arange(ROWS).astype(str)
    parents = pd.DataFrame({"id": names, "x": rng.choice(LETTERS, ROWS)})
    children = pd.DataFrame({"id": names, "of": rng.choice(names, ROWS), "y": rng.choice(LETTERS, ROWS)})
    plan = synth.plan(schema, rows=ROWS, **BUDGET)
    request = RunRequest(dataset="d", ledger=tmp_path / "ledger.sqlite", num_rows=5, **BUDGET)
    few = Nested(options=TreeOptions(roots=6, children=12, steps=20))
    rows = {"a": parents, "b": children}
    run = carry_out(request, schema, Context(rows=rows, noise=SeededNoise(1), questions=few))
    assert [replace(p, share=pytest.approx(p.share)) for p in plan.budget] == division(run.card["mechanisms"])
