"""A schema keeps what it was given, leaves out what it was not, and knows its positions; what is none is refused."""

import json

import pytest

import synth
from synth.errors import InputError, UsageError
from synth.pipeline.statistics import statistics
from synth.schema.table import Column, canonical, load, parse
from tests.conftest import SMALL, small_frame
from tests.laws.related_trees import SCHEMA
from tests.made import ID, binary, codes, dated, facts_of, number

SIZES = [
    (codes("a", "b", missing=["?", "N"]), 2, 4),
    (binary("no", "yes", nullable=True), 2, 3),
    (number(-5, 5), 11, 11),
    ({"type": "integer", "min": 0, "max": 100, "resolution": 10}, 11, 11),
    (number(0, 1, decimals=1), 11, 11),
    (number(-0.5, 0.5, resolution=0.25), 5, 5),
    (dated("2020-01-01", "2020-12-31"), 366, 366),
    (dated("2020-01-01", "2020-01-02", resolution="hour"), 25, 25),
    (ID, 0, 0),
]


@pytest.mark.parametrize(("facts", "size", "cells"), SIZES)
def test_positions_follow_from_the_facts(facts, size, cells):
    column = Column(**facts)
    assert (column.size, column.cells) == (size, cells)


def test_absent_facts_are_left_out_and_never_null(tmp_path):
    plain = facts_of(a=number(0, 9), b=binary("n", "y", missing=["?"], source="public")) | {"target": "b"}
    written = json.loads(parse(plain).to_json())
    assert written["columns"]["a"] == number(0, 9, source="declared")
    assert written["columns"]["b"] == plain["columns"]["b"]
    assert "null" not in json.dumps(written)
    file = tmp_path / "s.json"
    file.write_text(parse(plain).to_json())
    assert load(file).to_json() == parse(plain).to_json()


def test_columns_keep_their_order():
    names = ["z", "a", "m"]
    schema = parse({"columns": dict.fromkeys(names, ID)})
    assert list(json.loads(schema.to_json())["columns"]) == names


def test_numbers_may_stand_for_categories():
    column = parse(facts_of(a={"type": "ordinal", "categories": [1, 2, 3]})).columns["a"]
    assert column.categories == ("1", "2", "3")


@pytest.mark.parametrize(("text", "same"), [("3", "3.0"), ("3", " 3.00 "), ("-7", "-7.0"), ("a", "a ")])
def test_canonical_text_makes_them_one(text, same):
    assert canonical(text) == canonical(same)


@pytest.mark.parametrize(("text", "other"), [("3", "03"), ("3", "3.5"), ("3", "3.01"), ("A", "a")])
def test_canonical_text_keeps_them_apart(text, other):
    assert canonical(text) != canonical(other)


def test_only_drafted_facts_are_unconfirmed_and_can_be_confirmed():
    schema = parse(facts_of(a=number(0, 9, source="unconfirmed"), b=number(0, 9)))
    assert schema.unconfirmed() == {"a": ["type", "min", "max"]}
    sure = schema.assume_public()
    assert sure.unconfirmed() == {}
    assert (sure.columns["a"].source, sure.columns["b"].source) == ("public", "declared")


@pytest.mark.parametrize("target", ["nobody", "key"])
def test_a_target_must_be_a_measured_column(target):
    with pytest.raises(InputError, match=target):
        parse(facts_of(key=ID, a=number(0, 1)) | {"target": target})


@pytest.mark.parametrize("stated", [{"weights": ["w"]}, {"role": "weight"}])
def test_a_weight_that_is_stated_elsewhere_is_refused_with_the_way_out(stated):
    """A schema that asks for a weight must not be taken for one that gets it."""
    plain = facts_of(w={"type": "float", "min": 0, "max": 9})
    with pytest.raises(InputError, match=r'"weight", beside "columns"'):
        parse({**plain, **stated} if "role" not in stated else facts_of(w={**plain["columns"]["w"], **stated}))


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (number(-1, 9), "its min must be 0 or more"),
        ({"type": "float", "min": 0, "max": 0}, "its max above 0"),
        ({"type": "integer", "source": "private"}, "cannot learn them"),
        (codes("1", "2"), "an integer or float"),
        (ID, "an integer or float"),
        (dated("2020-01-01", "2020-01-02"), "an integer or float"),
    ],
)
def test_a_weight_is_a_number_whose_bounds_somebody_confirms(column, words):
    plain = facts_of(w=column, a=binary("0", "1")) | {"weight": "w"}
    with pytest.raises(InputError, match=words):
        parse(plain, complete=False)


def test_a_weight_is_kept_and_stays_a_measured_column():
    plain = facts_of(w=number(0, 9)) | {"weight": "w"}
    schema = parse(plain)
    assert "w" in schema.measured()
    assert parse(json.loads(schema.to_json())) == schema
    assert parse({"columns": plain["columns"]}).weight is None, "schemas of before have none"
    with pytest.raises(InputError, match="is not among the columns"):
        parse({**plain, "weight": "v"})
    with pytest.raises(InputError, match="the target as well"):
        parse({**plain, "target": "w"})


def test_a_deeply_nested_schema_is_refused(tmp_path):
    file = tmp_path / "deep.json"
    file.write_text("[" * 100_000)
    with pytest.raises(InputError):
        load(file)


BUDGET = {"epsilon": 1.0, "delta": 1e-5}
CALLS = {
    "run": lambda schema: synth.run(small_frame(10), schema=schema, dataset="d", **BUDGET),
    "learn_schema": lambda schema: synth.learn_schema(small_frame(10), schema=schema, dataset="d", **BUDGET),
    "statistics": lambda schema: statistics(small_frame(10), schema=schema, ask=["mean:age"], dataset="d", **BUDGET),
    "plan": lambda schema: synth.plan(schema, rows=100, **BUDGET),
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


@pytest.mark.parametrize("name", sorted({*CALLS} - {"run", "learn_schema", "plan", "Synthesizer"}))
def test_a_schema_of_several_tables_is_refused_where_one_is_needed(name):
    with pytest.raises(UsageError, match="it describes several tables; here one of one is needed"):
        CALLS[name](SCHEMA)
