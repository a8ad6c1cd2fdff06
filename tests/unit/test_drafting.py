"""Schemas drafted from rows."""

from pathlib import Path

import pandas as pd
import pytest

from synth.errors import InputError, UsageError
from synth.schema.table import Column, Schema, parse
from synth.sources.draft_schema import draft
from synth.sources.formats import files
from synth.sources.formats.text_table import from_frame

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def one(cells: list, name: str = "c", **options) -> Column:
    """The facts drafted for a table of one column."""
    return draft(from_frame(pd.DataFrame({name: cells})), **options).schema.columns[name]


def facts(column: Column) -> dict:
    return column.model_dump(exclude_none=True, exclude={"source"})


def words(size: int, prefix: str = "w") -> list[str]:
    return [f"{prefix}{i}" for i in range(size)]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "30", "-2", "19.0"], {"type": "integer", "min": -10, "max": 30}),
        ([1.5, 2.25, 3.0], {"type": "float", "min": 1.5, "max": 3.0, "decimals": 2}),
        ([1.0, 2.0, 3.0] * 10, {"type": "integer", "min": 1, "max": 3}),
        (["5", "5"], {"type": "integer", "min": 0, "max": 5}),
        (
            ["2020-01-31", "2019-05-06"],
            {"type": "datetime", "min": "2019-01-01", "max": "2020-12-31", "resolution": "day"},
        ),
        (["no", "yes", "no"], {"type": "boolean", "categories": ("no", "yes")}),
        ([True, False], {"type": "boolean", "categories": ("False", "True")}),
        (["b", "a", "c"], {"type": "categorical", "categories": ("a", "b", "c")}),
        (["a", "a"], {"type": "categorical", "categories": ("a",)}),
        (["None", "NA", "nan", "x"], {"type": "categorical", "categories": ("None", "nan", "x"), "missing": ("NA",)}),
        (["06", "36", "48"], {"type": "categorical", "categories": ("06", "36", "48")}),
        (words(20), {"type": "categorical", "categories": tuple(sorted(words(20)))}),
        (words(21), {"type": "identifier"}),
        ([*words(21), ""], {"type": "identifier", "nullable": True}),
        ([f"2020-01-{d:02}" for d in range(1, 32)], "datetime"),
        ([f"{i}.5" for i in range(30)], "float"),
        ([10**17 + i % 7 for i in range(30)], "float"),
        (["x"], {"type": "categorical", "categories": ("x",)}),
    ],
)
def test_kinds_and_facts_follow_from_the_distinct_texts(cells, expected):
    column = one(cells)
    assert (column.type if isinstance(expected, str) else facts(column)) == expected
    assert column.source == "unconfirmed"


@pytest.mark.parametrize(
    ("cells", "missing", "expected"),
    [
        (["1", "", "2"], (), {"type": "integer", "min": 0, "max": 5, "nullable": True}),
        (["1", "N", "2"], ("N", "?"), {"type": "integer", "min": 0, "max": 5, "missing": ("N",)}),
        (["1", "N", ""], ("N",), {"type": "integer", "min": 0, "max": 1, "nullable": True, "missing": ("", "N")}),
        (["1", "99.0", "2"], ("99",), {"type": "integer", "min": 0, "max": 5, "missing": ("99",)}),
        (["a", "b", "?"], ("?",), {"type": "boolean", "categories": ("a", "b"), "missing": ("?",)}),
        (["a", "None", "b"], (), {"type": "categorical", "categories": ("None", "a", "b")}),
        (["a", " ", "b"], (), {"type": "boolean", "categories": ("a", "b"), "nullable": True}),
        ([None, None], (), {"type": "categorical", "categories": ("",)}),
        (["?", ""], ("?",), {"type": "categorical", "categories": ("", "?")}),
    ],
)
def test_only_empty_cells_and_the_given_codes_are_missing(cells, missing, expected):
    assert facts(one(cells, missing=missing)) == expected


def test_codes_become_categories_when_named_and_keep_their_canonical_text():
    cells = ["2.0", "10", "2", "1"]
    assert facts(one(cells, categorical=["c"])) == {"type": "categorical", "categories": ("1", "2", "10")}
    assert one(cells, ordinal=["c"]).type == "ordinal"
    assert facts(one(cells, identifier=["c"])) == {"type": "identifier"}
    assert one(["2020-01-31", ""], datetime_=["c"]).type == "datetime"


@pytest.mark.parametrize("name", ["ID", "person_id", "PersonID", "serialno", "patient_nbr", "key", "uuid"])
def test_unique_whole_numbers_are_a_key_only_by_name(name):
    assert one([5, 6, 7], name).type == "identifier"
    assert one([5, 6, 7, 7], name).type == "integer"
    assert one([5, 6, 7], "paid").type == "integer"


@pytest.mark.parametrize("option", ["categorical", "ordinal", "identifier", "datetime_"])
def test_a_named_column_must_be_there(option):
    with pytest.raises(UsageError, match=f"`{option}=zzz`"):
        one(["1"], **{option: ["zzz"]})


def test_contradicting_or_impossible_options_are_refused():
    with pytest.raises(UsageError, match="`target=zzz`"):
        one(["1"], target="zzz")
    with pytest.raises(UsageError, match="`ordinal=c`: already named with `categorical=`"):
        one(["1"], categorical=["c"], ordinal=["c"])
    with pytest.raises(UsageError, match="`datetime_=c`") as caught:
        one(["secret", "2020-01-31"], datetime_=["c"])
    assert "secret" not in str(caught.value)


def test_too_many_categories_are_refused_with_both_remedies_and_no_cell():
    cells = words(12, "secret") * 3
    with pytest.raises(InputError, match=r"`identifier=`.*`max_categories=`") as caught:
        one(cells, max_categories=11)
    assert "secret" not in str(caught.value)
    assert one(cells, max_categories=12).size == 12


def test_suggestions_name_columns_worth_a_second_look_and_no_cell():
    frame = pd.DataFrame(
        {
            "code": [1, 2, 3] * 10,
            "amount": range(0, 900, 30),
            "visit_id": [*range(29), 28],
            "grade": ["low", "mid", "secret"] * 10,
            "pay": [*map(str, range(29)), "secret"],
            "nothing": [None] * 30,
        }
    )
    drafted = draft(from_frame(frame), ordinal=["grade"])
    named = [line.split(":")[0] for line in drafted.suggestions]
    assert named == ["code", "visit_id", "pay", "grade", "nothing", "visit_id"]
    assert drafted.schema.unit == "visit_id"
    assert drafted.schema.unit_source == "unconfirmed"
    assert not any("secret" in line for line in drafted.suggestions)


def test_a_draft_is_a_valid_schema_whose_facts_all_wait():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None], "c": [None] * 3, "d": [1e20, 0.5, -1e300]})
    schema = draft(from_frame(frame), target="b", dataset="people").schema
    assert (schema.dataset, schema.target) == ("people", "b")
    assert list(schema.columns) == list(schema.unconfirmed()) == ["a", "b", "c", "d"]
    assert parse(Schema.model_validate_json(schema.to_json()).model_dump(exclude_none=True)) == schema


CODES = ["SEX", "MSP", "HISP", "RAC1P", "HOUSING_TYPE", "OWN_RENT"]
CODES += ["INDP", "INDP_CAT", "DVET", "DREM", "DPHY", "DEYE", "DEAR"]
REPAID = [f"PAY_{i}" for i in (0, 2, 3, 4, 5, 6)]
CASES = {
    "acs_income_co_2018.csv.gz": (
        {
            "categorical": ["COW", "MAR", "OCCP", "POBP", "RELP", "SEX", "RAC1P", "PINCP"],
            "ordinal": ["SCHL"],
            "target": "PINCP",
        },
        {"integer": ["AGEP", "WKHP"], "ordinal": ["SCHL"], "categorical": ["COW", "OCCP", "SEX", "PINCP"]},
    ),
    "acs_income_ca_2018_sex_race_label.csv.gz": (
        {"categorical": ["SEX", "RAC1P"], "target": "PINCP"},
        {"categorical": ["SEX", "RAC1P"], "boolean": ["PINCP"]},
    ),
    "acs_nist_national_2019.csv.gz": (
        {"missing": ["N"], "categorical": CODES, "ordinal": ["EDU", "PINCP_DECILE"]},
        {
            "categorical": ["PUMA", *CODES],
            "integer": ["AGEP", "NOC", "NPF", "PINCP", "POVPIP", "PWGTP", "WGTP"],
            "float": ["DENSITY"],
            "ordinal": ["EDU", "PINCP_DECILE"],
        },
    ),
    "acs_5yr_2013_2017_sample100k.csv.gz": (
        {"categorical": ["mar", "sex"], "ordinal": ["incgroup"], "identifier": ["serialno"]},
        {
            "identifier": ["serialno"],
            "categorical": ["stabbr", "mar", "sex"],
            "integer": ["sporder", "pwgtp", "agep", "pincp"],
            "float": ["adjinc", "wagp", "intp", "pap", "retp", "ssip", "ssp", "otherincp"],
        },
    ),
    "adult_train.csv.gz": (
        {"missing": ["?"], "ordinal": ["education-num"], "target": "income"},
        {
            "integer": ["age", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week"],
            "categorical": ["workclass", "education", "occupation", "race", "native-country"],
            "boolean": ["sex", "income"],
        },
    ),
    "diabetes_130_hospitals.csv.gz": (
        {"missing": ["?"], "identifier": ["patient_nbr"], "target": "readmitted"},
        {
            "identifier": ["encounter_id", "patient_nbr"],
            "categorical": ["race", "gender", "age", "weight", "diag_1", "max_glu_serum", "readmitted", "insulin"],
            "integer": ["time_in_hospital", "num_lab_procedures", "number_diagnoses"],
            "boolean": ["change", "diabetesMed"],
        },
    ),
    "credit_default_taiwan.csv.gz": (
        {"categorical": ["SEX", "EDUCATION", "MARRIAGE", "class"], "ordinal": REPAID, "target": "class"},
        {"identifier": ["ID"], "integer": ["LIMIT_BAL", "AGE", "BILL_AMT1", "PAY_AMT6"], "ordinal": REPAID},
    ),
}
CASES["adult_test.csv.gz"] = CASES["adult_train.csv.gz"]


@pytest.mark.parametrize("name", CASES)
def test_every_shared_table_drafts_to_the_kinds_its_description_gives(name):
    if not (SHARED / name).exists():
        pytest.skip("the shared tables are not here")
    options, kinds = CASES[name]
    table = files.read(SHARED / name)
    columns = draft(table, **options).schema.columns
    assert tuple(columns) == table.names
    for kind, names in kinds.items():
        assert [n for n in names if columns[n].type != kind] == []


def test_what_the_descriptions_say_of_missing_codes_and_categories_is_drafted():
    if not SHARED.exists():
        pytest.skip("the shared tables are not here")
    columns = draft(files.read(SHARED / "diabetes_130_hospitals.csv.gz"), missing=["?"]).schema.columns
    assert {n for n, c in columns.items() if c.missing} == {
        *("race", "weight", "payer_code", "medical_specialty", "diag_1", "diag_2", "diag_3")
    }
    assert "None" in (columns["A1Cresult"].categories or ())
    assert columns["medical_specialty"].size == 72
