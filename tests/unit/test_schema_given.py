"""What is handed over as a schema and is none ends in one line with the remedy, in every function that takes one."""

import pytest

import synth
from synth.errors import UsageError
from synth.pipeline.statistics import statistics
from tests.conftest import SMALL, small_frame
from tests.laws.related_trees import SCHEMA

BUDGET = {"epsilon": 1.0, "delta": 1e-5}
CALLS = {
    "run": lambda schema: synth.run(small_frame(10), schema=schema, dataset="d", **BUDGET),
    "learn_schema": lambda schema: synth.learn_schema(small_frame(10), schema=schema, dataset="d", **BUDGET),
    "statistics": lambda schema: statistics(small_frame(10), schema=schema, ask=["mean:age"], dataset="d", **BUDGET),
    "plan": lambda schema: synth.plan(schema, rows=100, **BUDGET),
    "Synthesizer": lambda schema: synth.Synthesizer(schema, epsilon=1.0, dataset="d").fit(small_frame(10)),
    "compare": lambda schema: synth.compare("real.csv", "made.csv", schema),
    "appraise": lambda schema: synth.app_api.appraise("real.csv", "made.csv", schema),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("given", [SMALL, "people.schema.json", None], ids=["plain data", "a path", "nothing"])
def test_what_is_no_schema_is_refused_with_the_remedy(name, given):
    with pytest.raises(
        UsageError, match=r"schema: a \w+ is no schema; read its file with synth\..*load.*synth\..*parse"
    ):
        CALLS[name](given)
    assert not synth.Ledger().summary("d")


@pytest.mark.parametrize("name", sorted({*CALLS} - {"run", "learn_schema", "plan", "Synthesizer"}))
def test_a_schema_of_several_tables_is_refused_where_one_is_needed(name):
    with pytest.raises(UsageError, match="it describes several tables; here one of one is needed"):
        CALLS[name](SCHEMA)
