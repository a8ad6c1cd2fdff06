"""The grid of facts: nothing changes unasked, and every edit means what it says."""

import json

import pandas as pd
import pytest

import synth
from app.session import charts, frame, words
from app.table import facts
from tests.made import ID, a_schema, codes, dated, facts_of, number

SAMPLE = json.loads(frame.SAMPLE_SCHEMA.read_text()) if frame.SAMPLE_SCHEMA.exists() else {"columns": {}}
PLAIN = facts_of(
    n=number(1, 4, source="unconfirmed"),
    f=number(0.5, 9.5, decimals=2, missing=["", "N, or so"]),
    c=codes("a", "b", nullable=True),
    d=dated("2020-01-01", "2020-12-31"),
    i=ID,
) | {"dataset": "d", "positive": "x"}


def edited(changes: dict[str, dict], plain: dict = PLAIN) -> tuple[dict, list[str]]:
    before = facts.grid(plain, [])
    after = before.copy().set_index("column", drop=False)
    for name, row in changes.items():
        for fact, value in row.items():
            after.loc[name, fact] = value
    return facts.apply(plain, before, after.reset_index(drop=True))


@pytest.mark.parametrize("plain", [PLAIN, SAMPLE], ids=["small", "sample"])
def test_an_untouched_grid_changes_nothing(plain):
    assert edited({}, plain) == (plain, [])


def test_bounds_are_read_as_numbers_and_other_text_is_left_to_be_refused():
    result, _ = edited({"n": {"min": "0", "max": "many"}, "f": {"max": "10.25"}})
    assert result["columns"]["n"] == number(0, "many", source="unconfirmed")
    assert result["columns"]["f"]["max"] == 10.25
    with pytest.raises(synth.InputError, match="a number"):
        a_schema(n=result["columns"]["n"])


def test_an_emptied_bound_is_left_out():
    result, _ = edited({"n": {"min": None}})
    assert "min" not in result["columns"]["n"]


def test_whole_numbers_become_the_categories_they_span():
    result, _ = edited({"n": {"kind": "categorical"}})
    assert result["columns"]["n"] == codes("1", "2", "3", "4", source="unconfirmed")


def test_a_category_made_a_number_keeps_no_category():
    result, _ = edited({"c": {"kind": "integer", "min": "0", "max": "5"}})
    assert result["columns"]["c"] == number(0, 5, nullable=True)
    a_schema(c=result["columns"]["c"])


@pytest.mark.parametrize(
    ("step", "expected"), [("0.001", {"decimals": 3}), ("0.25", {"resolution": 0.25}), ("5", {"resolution": 5})]
)
def test_a_step_is_kept_as_decimals_where_it_is_a_power_of_ten(step, expected):
    result, _ = edited({"f": {"step": step}})
    column = result["columns"]["f"]
    assert {k: column[k] for k in ("decimals", "resolution") if k in column} == expected


def test_missing_codes_are_a_list_and_an_empty_cell_is_one_of_them():
    result, _ = edited({"n": {"missing": "N, -9", "empty": True}})
    column = a_schema(n=result["columns"]["n"]).columns["n"]
    assert column.missing_codes == ("", "N", "-9")
    result, _ = edited({"f": {"empty": False}})
    assert a_schema(f=result["columns"]["f"]).columns["f"].missing_codes == ("N, or so",)


def test_unticked_columns_are_left_out_and_kept_in_the_description():
    result, left_out = edited({"i": {"use": False}})
    assert left_out == ["i"]
    assert "i" in result["columns"]


def test_confirming_touches_only_what_nobody_confirmed():
    result = facts.confirm(facts_of(a={"source": "unconfirmed"}, b={"source": "public"}), ["a", "b"])
    assert [c["source"] for c in result["columns"].values()] == ["declared", "public"]


def test_no_name_of_an_option_reaches_the_reader():
    reported = words.plain("g: numbers besides a few words: if the words mean missing, name those with `missing=`")
    assert "--" not in reported
    assert "Missing codes" in reported


def test_every_saved_chart_says_whom_it_is_for(tmp_path):
    frame = pd.DataFrame({"n": [1, 2, 3, 4] * 10, "c": ["a", "b"] * 20, "d": ["2020-02-01", "2020-05-01"] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    schema = synth.Schema.parse({"columns": {k: PLAIN["columns"][k] for k in ("n", "c", "d")}}).assume_public()
    comparison = synth.compare(tmp_path / "t.csv", tmp_path / "t.csv", schema, quality=False)
    made = [charts.one_way(o) for o in comparison.one_way.values()]
    made += [charts.pairs(comparison), charts.two_way(comparison.two_way("n", "c"), ("n", "c"), charts.REAL)]
    for chart in made:
        assert chart.to_dict()["title"]["subtitle"] == charts.MARK
        assert charts.MARK in chart.to_dict()["description"]
    assert "The commonest: 1: 25.0 % and 25.0 %" in made[0].to_dict()["description"]
    assert "0.0 % of the rows differ" in made[-1].to_dict()["description"]
