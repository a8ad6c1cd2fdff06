"""What is handed over as a schema and is none ends in one line with the remedy, in every function that takes one."""

import pytest

import synth
from synth.errors import UsageError
from synth.pipeline.statistics import statistics
from tests.conftest import SMALL, small_frame

BUDGET = {"epsilon": 1.0, "delta": 1e-5}
CALLS = {
    "run": lambda schema: synth.run(small_frame(10), schema=schema, dataset="d", **BUDGET),
    "learn_schema": lambda schema: synth.learn_schema(small_frame(10), schema=schema, dataset="d", **BUDGET),
    "statistics": lambda schema: statistics(small_frame(10), schema=schema, ask=["mean:age"], dataset="d", **BUDGET),
    "plan": lambda schema: synth.plan(schema, rows=100, **BUDGET),
    "plan_related": lambda schema: synth.app_api.plan_related(schema, roots=100, **BUDGET),
    "Synthesizer": lambda schema: synth.Synthesizer(schema, epsilon=1.0, dataset="d").fit(small_frame(10)),
    "encode": synth.app_api.encode,
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


def test_a_schema_of_the_other_kind_is_refused():
    with pytest.raises(UsageError, match="it describes one table; here one of several is needed"):
        CALLS["plan_related"](synth.Schema.parse(SMALL))
