"""Facts that a schema leaves out are learnt within their budget, marked private, and priced."""

import json

import numpy as np
import pandas as pd
import pytest

import synth
from synth.pipeline.learn_schema import fineness, grids, lacking
from synth.privacy.ledger.ledger import Ledger
from tests.conftest import SMALL, small_frame
from tests.made import ran

KINDS = {"target": "ill", "columns": {n: {"type": c["type"]} for n, c in SMALL["columns"].items()}}
KINDS["columns"]["region"]["missing"] = ["?"]


def kinds():
    return synth.Schema.parse(KINDS, complete=False)


def learnt(rows=20_000, epsilon=3.0, **more):
    return synth.learn_schema(small_frame(rows), schema=kinds(), epsilon=epsilon, delta=1e-6, dataset="d", **more)


def test_only_absent_facts_are_lacking():
    assert lacking(synth.Schema.parse(SMALL)) == []
    assert lacking(kinds()) == ["age", "sex", "region", "income", "seen", "ill"]


def test_what_is_learnt_fits_the_rows():
    result = learnt().columns
    assert result["sex"].categories == ("f", "m")
    assert result["region"].categories == ("1", "2", "3", "4")
    assert result["region"].missing == ("?",)
    assert result["sex"].missing is None
    assert 10 <= float(result["age"].min) <= 18
    assert 85 <= float(result["age"].max) <= 110
    assert result["age"].type == "integer"
    assert result["income"].decimals == 2
    assert result["income"].missing == ("",)
    assert "2019-07-01" <= str(result["seen"].min) <= "2020-01-01"
    assert "2020-12-30" <= str(result["seen"].max) <= "2021-07-01"
    assert result["seen"].resolution == "day"
    assert all(c.source == "private" for c in result.values() if c.type != "identifier")


def test_the_price_stands_in_the_schema_and_in_the_ledger():
    schema = learnt(rows=500)
    line = next(e for e in Ledger().entries() if e.kind == "spend")
    assert (line.epsilon, line.delta) == (3.0, 1e-6)
    assert schema.learnt is not None
    assert (schema.learnt.epsilon, schema.learnt.delta, schema.learnt.ledger_entry) == (3.0, 1e-6, line.number)
    assert json.loads(schema.to_json())["learnt"]["epsilon"] == 3.0


def test_a_run_with_a_learnt_schema_adds_its_price_to_the_card():
    schema = learnt(rows=2000)
    card = ran(small_frame(2000), schema, method="independent").card
    assert card["epsilon"] == 4.0
    assert card["delta"] == pytest.approx(1.1e-5)
    assert card["of_which_schema"]["epsilon"] == 3.0
    assert any(m["mechanism"] == "schema learning" for m in card["mechanisms"])
    assert Ledger().summary("d")[0].epsilon == 4.0


def test_learning_within_a_run_is_within_its_epsilon(tmp_path):
    result = ran(small_frame(5000), kinds(), epsilon=3.0, method="independent", learn_share=0.2, out=tmp_path / "o")
    assert result.card["epsilon"] == 3.0
    assert 2.5 < result.epsilon_derived <= 3.0
    assert Ledger().summary("d")[0].epsilon == 3.0
    assert set(result.frame["sex"]) == {"f", "m"}
    again = synth.Schema.load(tmp_path / "o" / "schema.json")
    assert again.columns["age"].source == "private"
    assert 0 < again.learnt.epsilon < 3.0


def test_stated_facts_are_neither_asked_nor_changed():
    facts = {**KINDS, "columns": {**KINDS["columns"], "age": SMALL["columns"]["age"]}}
    schema = synth.learn_schema(
        small_frame(3000), schema=synth.Schema.parse(facts, complete=False), epsilon=1.0, delta=1e-6, dataset="d"
    )
    assert schema.columns["age"].source == "declared"
    assert all("age" not in m["name"] for m in schema.learnt.mechanisms)


def test_a_rare_text_is_never_told():
    frame = small_frame(3000)
    frame.loc[0, "region"] = "SENTINEL_5"
    schema = synth.learn_schema(frame, schema=kinds(), epsilon=1.0, delta=1e-6, dataset="d")
    assert "SENTINEL_5" not in schema.to_json()


@pytest.mark.parametrize("rows", [1, 3])
def test_almost_no_rows_still_make_a_schema(rows):
    """Nothing passes a threshold; the schema is complete all the same, and its own rules hold."""
    schema = learnt(rows=rows, epsilon=0.1)
    assert lacking(schema) == []
    synth.Schema.parse(json.loads(schema.to_json()))


def test_missing_facts_are_refused_unless_learning_is_asked_for():
    with pytest.raises(synth.InputError, match="`learn_share="):
        ran(small_frame(50), kinds())
    with pytest.raises(synth.InputError, match="every fact already"):
        synth.learn_schema(small_frame(50), schema=synth.Schema.parse(SMALL), epsilon=1.0, delta=1e-5, dataset="d")
    assert Ledger().entries() == []


def test_a_learnt_schema_keeps_to_its_relation():
    schema = learnt(rows=300)
    with pytest.raises(synth.UsageError, match="add_remove"):
        ran(small_frame(300), schema, relation="replace_one")


def test_the_grid_does_not_depend_on_the_rows():
    one = grids(kinds())
    assert one == grids(kinds())
    assert {n: c.size for n, c in one.columns.items()} == {
        "age": 2**52 + 1,
        "income": 2**32 * 10**6 + 1,
        "seen": 400 * 365 * 86400 + 97 * 86400 + 1,
    }


def test_fineness_counts_decimals_and_times_of_day():
    wide = grids(kinds()).columns
    zero = 2**31 * 10**6
    assert fineness(wide["income"], zero + np.array([0, 10**6, 10**5, 25 * 10**4, 1])).tolist() == [0, 0, 1, 2, 6]
    assert fineness(wide["seen"], np.array([86400 * 7, 86400 * 7 + 1, wide["seen"].size])).tolist() == [0, 1, 0]


def test_negative_and_huge_numbers_get_bounds():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(-(10**9), -(10**8), 5000).astype(str), "y": rng.normal(0, 1e-3, 5000)})
    facts = {"columns": {"x": {"type": "integer"}, "y": {"type": "float"}}}
    result = synth.learn_schema(
        frame, schema=synth.Schema.parse(facts, complete=False), epsilon=2.0, delta=1e-6, dataset="d"
    ).columns
    assert -1.2e9 <= result["x"].min <= -0.9e9
    assert -1.1e8 <= result["x"].max <= -0.9e8
    assert -0.01 <= result["y"].min < 0 < result["y"].max <= 0.01


def test_the_command_writes_a_schema_that_runs(command, small, tmp_path):
    start, out = tmp_path / "kinds.json", tmp_path / "learnt.json"
    start.write_text(json.dumps(KINDS))
    said, _ = command.done(f"schema learn {small[0]} --schema {start} --epsilon 2 --out {out} --json")
    assert json.loads(said)["epsilon_spent"] == 2.0
    command.done(f"run {small[0]} --schema {out} --epsilon 1 --method independent --out {tmp_path}/o")
    command.done(
        f"run {small[0]} --schema {start} --epsilon 1 --method independent --learn-share 0.2 --out {tmp_path}/p"
    )


def test_an_output_that_cannot_be_written_costs_nothing(command, small, tmp_path):
    start = tmp_path / "kinds.json"
    start.write_text(json.dumps(KINDS))
    code, _, _ = command(f"schema learn {small[0]} --schema {start} --epsilon 2 --out {tmp_path}/no/s")
    assert code == 2
    assert Ledger().entries() == []
