"""Data frames as tables of text."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pytest

from synth.errors import InputError, UsageError
from synth.sources.formats.text_table import Table, canonical_texts, from_frame
from tests.unit.sources.excel_books import fingerprint

KEY = b"sixteen byte key"


def cells(table: Table, name: str) -> list[str]:
    text = table.column(name)
    return [text.values[code] for code in text.codes]


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ([1, -2, 1], ["1", "-2", "1"]),
        ([19.0, 0.1, np.nan], ["19.0", "0.1", ""]),
        (np.array([0.1, 1e16, np.inf], dtype=np.float32), ["0.1", "1e+16", "inf"]),
        ([True, False, True], ["True", "False", "True"]),
        ([True, None, False], ["True", "", "False"]),
        (["a", None, ""], ["a", "", ""]),
        (["None", "NA", "nan"], ["None", "NA", "nan"]),
        ([dt.date(2020, 1, 31), None, dt.date(1, 1, 1)], ["2020-01-31", "", "0001-01-01"]),
        (pd.to_datetime(["2020-01-31", None, "1960-02-03"]), ["2020-01-31T00:00:00", "", "1960-02-03T00:00:00"]),
        (pd.to_datetime(["1960-01-01 00:00:00.7"]), ["1960-01-01T00:00:00"]),
        (pd.array([3, None], dtype="Int64"), ["3", ""]),
        (pd.Categorical(["x", None], categories=["w", "x", "y"]), ["x", ""]),
        (pd.Categorical([2, 1]), ["2", "1"]),
        ([decimal.Decimal("1.50")], ["1.50"]),
        ([1, "a", 2.5, None, True], ["1", "a", "2.5", "", "True"]),
        ([2**70, 1], [str(2**70), "1"]),
        ([None, None], ["", ""]),
    ],
)
def test_cells_are_written_as_promised(given, texts):
    assert cells(from_frame(pd.DataFrame({"c": given})), "c") == texts


def test_values_are_distinct_and_occur():
    frame = pd.DataFrame({"c": pd.Categorical(["x", None, ""], categories=["never", "x", ""])})
    text = from_frame(frame).column("c")
    assert sorted(text.values) == ["", "x"]
    assert text.codes.dtype == np.int32


def test_a_representation_shows_no_cell_and_no_count():
    assert repr(from_frame(pd.DataFrame({"a": ["secret"] * 7}))) == "Table(1 columns)"


@pytest.mark.parametrize(
    ("frame", "part"),
    [
        (pd.DataFrame({1: [1]}), "not text"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns are named 'a'"),
        (pd.DataFrame({" ": [1]}), "no name"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame(), "no columns"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"]).tz_localize("UTC")}), "time zone"),
        (pd.DataFrame({"a": pd.to_timedelta(["1s"])}), "column a"),
    ],
)
def test_faults_of_form_are_refused_in_one_line_without_a_cell(frame, part):
    with pytest.raises(InputError) as caught:
        from_frame(frame)
    assert part in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cell_that_is_no_text_is_empty_and_no_fault_of_the_column():
    """One row must not decide whether a table is read."""

    class Odd:
        def __str__(self):
            raise RuntimeError("secret")

    odd = [["secret"], {"a": 1}, b"secret", Odd(), decimal.Decimal("sNaN"), pd.NaT, np.datetime64("NaT"), "\ud800"]
    expected = ["", "", "", "", "", "", "", "\\ud800"]
    assert cells(from_frame(pd.DataFrame({"c": pd.Series([*odd, "x"], dtype=object)})), "c") == [*expected, "x"]


def test_only_frames_are_taken():
    with pytest.raises(UsageError, match="DataFrame"):
        from_frame([[1]])  # type: ignore[arg-type]


def people() -> pd.DataFrame:
    return pd.DataFrame({"n": ["1", "2.0", "", "4"], "x": ["0.10", "1e3", "2", ""], "s": ["a", "b", "", "True"]})


def test_fingerprint_ignores_the_order_of_rows_and_columns_and_the_way_numbers_are_written():
    shuffled = people().iloc[[2, 0, 3, 1], [2, 0, 1]]
    typed = people().assign(n=[1, 2, None, 4], x=[0.1, 1000.0, 2.0, np.nan])
    whole = fingerprint(from_frame(people()), KEY)
    assert len(whole) == 32
    assert fingerprint(from_frame(shuffled), KEY) == whole
    assert fingerprint(from_frame(typed), KEY) == whole


def test_fingerprint_sees_cells_rows_names_pairings_and_the_key():
    frame = people()
    swapped = frame.assign(s=["b", "a", "", "True"])  # same columns, other rows
    twice = pd.concat([frame, frame.iloc[[0, 0]]])  # an even number of copies cancels in a plain xor
    changed = frame.assign(n=["1", "3", "", "4"])
    others = [swapped, twice, changed, frame.rename(columns={"n": "m"}), frame.iloc[:3]]
    prints = [fingerprint(from_frame(f), KEY) for f in [frame, *others]]
    prints.append(fingerprint(from_frame(frame), b"another key here"))
    assert len(set(prints)) == len(prints)


def test_canonical_texts_are_those_of_the_schema():
    from synth.schema.table import canonical

    texts = [" 3.0", "3.00", "a.0", "-1.0 ", "10", "", "  ", "0.0", "1.50", "+2.0", "\u0663.0"]
    assert canonical_texts(texts) == [canonical(t) for t in texts]
