"""A schema of related tables: one tree, one key a child, one line for each thing that is wrong."""

import json

import pytest

from synth.errors import InputError, UsageError
from synth.schema import dataset as datasets
from synth.sources.related_tables import places
from tests.unit.changed_facts import changed

KEY = {"type": "identifier"}
FLAG = {"type": "categorical", "categories": ["f", "m"]}
PLAIN = {
    "tables": {
        "patients": {"columns": {"pid": KEY, "sex": FLAG}},
        "stays": {"columns": {"sid": KEY, "patient": KEY, "days": {"type": "integer", "min": 0, "max": 9}}},
        "acts": {"columns": {"sid": KEY, "code": FLAG}},
    },
    "keys": [
        {
            "parent": "patients",
            "child": "stays",
            "columns": ["patient"],
            "parent_columns": ["pid"],
            "most_children": 5,
            "order": "days",
        },
        {"parent": "stays", "child": "acts", "columns": ["sid"], "most_children": 3},
    ],
}


def test_a_tree_is_read_and_written():
    result = datasets.parse_related(PLAIN)
    assert (result.root, result.downwards) == ("patients", ("patients", "stays", "acts"))
    assert result.most_rows("acts") == 15
    assert result.key_columns("stays") == ["sid", "patient"]
    assert list(result.as_measured("patients").columns) == ["sex", "number of stays"]
    assert datasets.parse_related(json.loads(result.to_json())) == result


WRONG = {
    "unknown parent": ({"keys__0__parent": "people"}, "'people' is not among the tables"),
    "unknown column": ({"keys__0__columns": ["nobody"]}, "'nobody' is not among the columns of stays"),
    "of another kind": ({"keys__1__columns": ["code"]}, "acts.code is of type categorical"),
    "circle": ({"keys__0__parent": "acts", "keys__0__parent_columns": ["sid"]}, "circle"),
    "two parents": (
        {
            "keys": [
                *PLAIN["keys"],
                {
                    "parent": "patients",
                    "child": "acts",
                    "columns": ["sid"],
                    "parent_columns": ["pid"],
                    "most_children": 2,
                },
            ]
        },
        "acts has several parents",
    ),
    "two roots": ({"keys": PLAIN["keys"][:1]}, "patients, acts have no parent"),
    "bound below one": ({"keys__0__most_children": 0}, "key of stays to patients: most_children: must be"),
    "bound out of reach": ({"keys__0__most_children": 501}, "must be a whole number from 1 to 500"),
    "order of nothing": ({"keys__0__order": "when"}, "order 'when' is not among the columns"),
    "order by the key": ({"keys__0__order": "patient"}, "order stays.patient"),
    "a table's unit": ({"tables__stays__unit": "patient", "tables__stays__max_rows": 3}, "leave out unit"),
    "a table's uses": ({"tables__stays__uses": ["predict days"]}, "table stays: uses of related tables stand beside"),
    "a use of no column": ({"uses": ["stays.ward by acts.kind"]}, "use 1 ('stays.ward by acts.kind'): "),
    "a regression of no column": ({"uses": ["stays.days ~ acts.kind"]}, "use 1 ('stays.days ~ acts.kind'): "),
    "a table's order": ({"tables__stays__order": "days"}, "order is for one table in which persons repeat"),
    "a person's column": (
        {"tables__stays__columns__days__of": "unit"},
        "days is for one table in which persons repeat",
    ),
    "keys of other lengths": ({"keys__0__columns": ["patient", "sid"]}, "2 columns of stays and 1 of patients"),
    "a name that is a path": ({"tables": {**PLAIN["tables"], "../x": PLAIN["tables"]["acts"]}}, "letters, digits"),
    "more facts": ({"keys__0__share": 1}, "is no fact of related tables"),
    "one table": ({"tables": {"patients": PLAIN["tables"]["patients"]}, "keys": []}, "two or more"),
    "its own parent": ({"keys__1__parent": "acts"}, "its own parent"),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_what_is_wrong_is_one_line(wrong):
    parts, reported = WRONG[wrong]
    with pytest.raises(InputError) as error:
        datasets.parse_related(changed(PLAIN, **parts))
    assert reported in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_has_one_file_for_each_table(tmp_path):
    schema = datasets.parse_related(PLAIN)
    for name in ("patients.csv", "stays.parquet", "acts.csv"):
        (tmp_path / name).write_bytes(b"")
    assert {n: p.path.name for n, p in places(tmp_path, schema).items()} == {
        "patients": "patients.csv",
        "stays": "stays.parquet",
        "acts": "acts.csv",
    }
    (tmp_path / "acts.xlsx").write_bytes(b"")
    with pytest.raises(InputError, match=r"acts is there as acts\.csv and as acts\.xlsx"):
        places(tmp_path, schema)
    (tmp_path / "acts.csv").unlink()
    (tmp_path / "acts.xlsx").unlink()
    with pytest.raises(InputError, match="no file for table acts"):
        places(tmp_path, schema)
    with pytest.raises(UsageError, match="table stays of the schema is not given"):
        places({"patients": tmp_path / "patients.csv"}, schema)
