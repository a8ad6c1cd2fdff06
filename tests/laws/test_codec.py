"""decode(encode(x)) stays inside the schema, and gives back every value that was inside it."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.privacy.noise import SystemNoise
from synth.schema import codec
from synth.schema.table import Column, Schema, canonical
from synth.sources.formats.text_table import from_frame

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=6)
numerals = st.one_of(
    st.integers(-10_000, 10_000).map(str),
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.sampled_from(["1e400", "-inf", "nan", "", " 7 ", "0x10", "1_000", "٣", "3.0", "?", "N"]),
)
dates = st.one_of(
    st.dates().map(str),
    st.datetimes().map(str),
    st.sampled_from(["2020-02-30", "9999-12-31", "yesterday", "", "2020-01-01T00:00:00Z"]),
)
cells = st.one_of(words, numerals, dates)
codes = st.lists(st.sampled_from(["?", "N", "missing"]), unique=True, max_size=2)


@st.composite
def columns(draw):
    """Any column that a schema may hold."""
    kind = draw(st.sampled_from(["categorical", "ordinal", "boolean", "integer", "float", "datetime"]))
    facts = {"type": kind, "missing": tuple(draw(codes)) or None, "nullable": draw(st.sampled_from([None, True]))}
    if kind in ("categorical", "ordinal", "boolean"):
        taken = {canonical(c) for c in (*(facts["missing"] or ()), "")}
        result = draw(st.lists(st.one_of(words, numerals), min_size=1, max_size=5, unique_by=canonical))
        facts["categories"] = tuple(c for c in result if canonical(c) not in taken) or ("only",)
    elif kind == "datetime":
        low, high = sorted(draw(st.tuples(st.dates(dt.date(1900, 1, 1)), st.dates(dt.date(1900, 1, 1)))))
        facts |= {"min": str(low), "max": str(high), "resolution": draw(st.sampled_from(["day", "hour", "second"]))}
    else:
        low, high = sorted(draw(st.tuples(*[st.integers(-5000, 5000)] * 2)))
        facts |= {"min": low, "max": high}
        if kind == "float":
            facts["decimals"] = draw(st.integers(0, 6))
    return Column(**{k: v for k, v in facts.items() if v is not None})


def roundtrip(column: Column, texts: list[str]) -> tuple[np.ndarray, list[str]]:
    schema = Schema(columns={"x": column})
    table = from_frame(pd.DataFrame({"x": pd.Series(texts, dtype=object)}))
    positions = codec.encode(table, schema, SystemNoise()).positions["x"]
    return positions, codec.decode({"x": positions}, schema, num_rows=len(texts))["x"].to_pylist()


@settings(max_examples=150, deadline=None)
@given(columns(), st.lists(cells, min_size=1, max_size=8))
def test_any_cell_ends_inside_the_schema(column, texts):
    positions, written = roundtrip(column, texts)
    assert len(positions) == len(texts)
    assert positions.min() >= 0
    assert positions.max() < column.cells
    again, twice = roundtrip(column, written)
    assert np.array_equal(positions, again)
    assert written == twice


@settings(max_examples=150, deadline=None)
@given(columns(), st.data())
def test_every_position_is_written_as_a_text_that_reads_back(column, data):
    places = np.array(data.draw(st.lists(st.integers(0, column.cells - 1), min_size=1, max_size=8)))
    schema = Schema(columns={"x": column})
    texts = codec.decode({"x": places}, schema, num_rows=len(places))["x"].to_pylist()
    assert np.array_equal(roundtrip(column, texts)[0], places)


@settings(max_examples=150, deadline=None)
@given(columns(), st.lists(cells, min_size=1, max_size=6), cells)
def test_one_row_more_changes_no_other_rows_position(column, texts, extra):
    """What a readable row is encoded as depends on it alone, whatever row stands before it."""
    schema = Schema(columns={"x": column})

    def encoded(some):
        table = from_frame(pd.DataFrame({"x": pd.Series(some, dtype=object)}))
        return codec.encode(table, schema, SystemNoise())

    without, first, last = encoded(texts), encoded([extra, *texts]), encoded([*texts, extra])
    if without.unreadable["x"] == 0 or column.missing_codes:
        assert np.array_equal(without.positions["x"], first.positions["x"][1:])
        assert np.array_equal(without.positions["x"], last.positions["x"][:-1])


AGE = Column(type="integer", min=0, max=99)
CASES = [
    (
        AGE,
        ["3", "3.0", " 3 ", "-5", "1e9", "inf", "-inf", "1e400", "-2.5e999"],
        ["3", "3", "3", "0", "99", "99", "0", "99", "0"],
    ),
    (Column(type="integer", min=0, max=9, missing=("?",)), ["?", "x", "", "nan"], ["?", "?", "?", "?"]),
    (Column(type="float", min=0, max=1, decimals=2), ["0.126", "1"], ["0.13", "1.00"]),
    (Column(type="integer", min=5, max=5), ["5", "9", "x"], ["5", "5", "5"]),
    (Column(type="categorical", categories=("only",)), ["only", "other"], ["only", "only"]),
    (Column(type="boolean", categories=("no", "yes"), missing=("N",)), ["yes", "N", "maybe"], ["yes", "N", "N"]),
    (
        Column(type="categorical", categories=("3", "None", "NA"), nullable=True),
        ["3.0", "None", "NA", "q"],
        ["3", "None", "NA", ""],
    ),
    (
        Column(type="datetime", min="2020-01-01", max="2020-12-31"),
        ["2020-02-03 18:00", "9999-12-31", "1200-01-01"],
        ["2020-02-03", "2020-12-31", "2020-01-01"],
    ),
    (
        Column(type="datetime", min="2020-01-01", max="2020-12-31", resolution="second"),
        ["2020-02-03T18:00:01"],
        ["2020-02-03 18:00:01"],
    ),
]


@pytest.mark.parametrize(("column", "texts", "expected"), CASES)
def test_worked_examples(column, texts, expected):
    assert roundtrip(column, texts)[1] == expected


def test_unknown_category_without_missing_code_is_drawn_from_all():
    column = Column(type="categorical", categories=("a", "b", "c"))
    _, written = roundtrip(column, ["q"] * 200)
    assert set(written) == {"a", "b", "c"}


def test_faults_are_counted_for_the_steward():
    schema = Schema(columns={"x": AGE})
    table = from_frame(pd.DataFrame({"x": ["5", "500", "x", "-1"]}))
    result = codec.encode(table, schema, SystemNoise())
    assert (result.clamped["x"], result.unreadable["x"]) == (2, 1)


def test_typed_columns_hold_numbers_dates_and_nulls():
    schema = Schema(
        columns={
            "n": Column(type="integer", min=0, max=9, missing=("N",)),
            "f": Column(type="float", min=0, max=1, decimals=1),
            "d": Column(type="datetime", min="2020-01-01", max="2020-01-09"),
            "id": Column(type="identifier"),
        }
    )
    places = {"n": np.array([3, 10]), "f": np.array([5, 10]), "d": np.array([0, 8])}
    typed = codec.typed(codec.decode(places, schema, num_rows=2), schema)
    assert typed["n"].to_pylist() == [3, None]
    assert typed["f"].to_pylist() == [0.5, 1.0]
    assert typed["d"].to_pylist() == [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 9)]
    assert typed["id"].to_pylist() == ["1", "2"]
    assert typed["n"].type == pa.int64()


@pytest.mark.parametrize(
    ("wanted", "places"), [("3", [3]), ("3|5", [3, 5]), ("2..4", [2, 3, 4]), ("97..", [97, 98, 99])]
)
def test_conditions_name_positions(wanted, places):
    assert codec.places_of(AGE, wanted).tolist() == places


@pytest.mark.parametrize("wanted", ["100", "x", "5..3", ""])
def test_impossible_conditions_are_refused(wanted):
    with pytest.raises(ValueError, match=r"schema|outside|range"):
        codec.places_of(AGE, wanted)
