"""Code books: categories and labels in the file's order, missing codes apart, and one line for each fault."""

import csv
import json

import pytest

from synth.errors import InputError, UsageError
from synth.schema import codebook
from synth.schema.table import load, parse

REGION = 'value,label\n1,North\n2,"South, with islands"\n3,East\n4,West\n?,not asked\n'


def put(folder, text, name="codes.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def schema_of(**facts):
    return parse({"columns": {"region": {"type": "categorical", "categories": ["x"], **facts}}})


def booked(text, tmp_path, schema, **more):
    return codebook.with_codes(schema, "region", codebook.load_codes(put(tmp_path, text)), **more)


def test_values_and_labels_keep_the_file_s_order(tmp_path):
    for text in ("Value,LABEL\r\nb,Bee\r\n\r\na,\r\n c ,Sea,more\r\n", "\ufeffvalue,label,note\nb,Bee\na\nc,Sea\n"):
        book = codebook.load_codes(put(tmp_path, text))
        assert (book.values, book.labels) == (("b", "a", "c"), ("Bee", "a", "Sea"))


FAULTS = [
    ("", "header value,label"),
    ("1,North\n2,South\n", "header value,label"),
    ("value\n1\n", "header value,label"),
    ("value;label\n1;North\n", "header value,label"),
    ("value,label\n", "no codes"),
    ("value,label\n1,a\n2,b\n1.0,c\n", "line 4: value '1.0' occurs twice"),
    ("value,label\n1,a\n,b\n", "line 3 has no value"),
    ('value,label\n1,"a\n', "not a UTF-8 CSV file"),
    (b"value,label\n1,\xe9\n", "not a UTF-8 CSV file"),
    (b"PK\x03\x04\x00\x00", "code book"),
]


@pytest.mark.parametrize(("text", "part"), FAULTS, ids=[part for _, part in FAULTS])
def test_a_fault_is_one_line_that_names_file_and_rule(tmp_path, text, part):
    path = put(tmp_path, text)
    with pytest.raises(InputError) as caught:
        codebook.load_codes(path)
    assert part in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["none.csv", "."])
def test_a_book_that_cannot_be_opened_is_named(tmp_path, name):
    with pytest.raises(InputError, match="code book"):
        codebook.load_codes(tmp_path / name)


def test_the_book_s_values_are_the_categories_and_declared(tmp_path):
    result = booked(REGION, tmp_path, schema_of(source="unconfirmed", description="where"))
    column = result.schema.columns["region"]
    assert column.categories == ("1", "2", "3", "4", "?")
    assert column.labels == ("North", "South, with islands", "East", "West", "not asked")
    assert (column.source, column.type, column.description) == ("declared", "categorical", "where")
    assert result.notes == []


@pytest.mark.parametrize(("facts", "missing"), [({"missing": ["?"]}, ()), ({}, ("?", "N"))])
def test_a_missing_code_in_the_book_stays_missing_and_loses_its_label(tmp_path, facts, missing):
    result = booked(REGION, tmp_path, schema_of(source="unconfirmed", **facts), missing=missing)
    column = result.schema.columns["region"]
    assert column.categories == ("1", "2", "3", "4")
    assert len(column.labels) == 4
    assert column.missing == ("?",)
    assert column.source == "declared"  # the book vouches for the code too
    assert result.notes == ["region: '?' means missing, so its label is dropped"]


def test_missing_codes_read_off_rows_are_not_vouched_for_by_the_book(tmp_path):
    drafted = booked(REGION, tmp_path, schema_of(source="unconfirmed", nullable=True))
    stated = booked(REGION, tmp_path, schema_of(source="declared", nullable=True))
    assert drafted.schema.columns["region"].source == "unconfirmed"
    assert "unconfirmed" in drafted.notes[0]
    assert stated.schema.columns["region"].source == "declared"
    for item in (drafted, stated):
        assert item.schema.columns["region"].missing_codes == ("",)


KINDS = [
    ({"type": "ordinal"}, "ordinal"),
    ({"type": "boolean"}, "categorical"),  # five values are no yes or no
    ({"type": "integer", "categories": None, "min": 1, "max": 4}, "categorical"),
    ({"type": "identifier", "categories": None}, "categorical"),
]


@pytest.mark.parametrize(("facts", "kind"), KINDS)
def test_the_kind_stays_where_it_has_categories(tmp_path, facts, kind):
    column = booked(REGION, tmp_path, schema_of(**facts)).schema.columns["region"]
    assert column.type == kind
    assert (column.min, column.max) == (None, None)


def test_a_book_for_no_column_or_without_a_category_is_refused(tmp_path):
    book = codebook.load_codes(put(tmp_path, "value,label\n?,not asked\n"))
    with pytest.raises(UsageError, match="height"):
        codebook.with_codes(schema_of(), "height", book)
    with pytest.raises(InputError, match="region"):
        codebook.with_codes(schema_of(missing=["?"]), "region", book)


@pytest.mark.parametrize("labels", [["one"], ["a", "b", "c"], []])
def test_labels_must_match_the_categories(labels):
    with pytest.raises(InputError, match="labels must name each category"):
        schema_of(categories=["1", "2"], labels=labels)
    with pytest.raises(InputError, match="labels must name each category"):
        parse({"columns": {"n": {"type": "integer", "min": 0, "max": 1, "labels": labels or ["a"]}}})


def test_labels_are_carried_by_the_file_and_absent_when_not_given():
    plain = json.loads(schema_of(categories=["1", "2"], labels=["a", "b"]).to_json())
    assert plain["columns"]["region"]["labels"] == ["a", "b"]
    assert "labels" not in schema_of().to_json()


def test_init_with_a_code_book_leaves_only_the_other_columns_unconfirmed(command, small, tmp_path):
    book, out = put(tmp_path, REGION), tmp_path / "s.json"
    _, stderr = command.done("schema", "init", small[0], "--out", out, "--codes", f"region={book}", "--missing", "?")
    schema = load(out)
    assert schema.columns["region"].labels[1] == "South, with islands"
    assert schema.columns["region"].missing == ("?",)
    assert set(schema.unconfirmed()) == set(schema.columns) - {"region"}
    assert "its label is dropped" in stderr


@pytest.mark.parametrize("codes", ["region", "=x.csv", "region=", "height={book}", "region=none.csv"])
def test_a_codes_option_that_does_not_fit_is_refused(command, small, tmp_path, codes):
    book, out = put(tmp_path, REGION), tmp_path / "s.json"
    code, said, stderr = command("schema", "init", small[0], "--out", out, "--codes", codes.format(book=book))
    assert code == 2
    assert said == ""
    assert codes.format(book=book).split("=")[codes.startswith("region=n")] in stderr
    assert not out.exists()


def test_codes_command_completes_an_imported_schema(command, tmp_path):
    metadata, schema, out = tmp_path / "m.json", tmp_path / "s.json", tmp_path / "t.json"
    metadata.write_text(json.dumps({"columns": {"region": {"sdtype": "categorical"}}}))
    assert command("schema", "import", metadata, "--out", schema)[0] == 0
    assert command("schema", "check", schema)[0] == 2
    assert command("schema", "import", schema, "--codes", f"region={put(tmp_path, REGION)}", "--out", out)[0] == 0
    assert command("schema", "check", out)[0] == 0
    direct = tmp_path / "d.json"
    more = ("--codes", f"region={tmp_path / 'codes.csv'}")
    assert command("schema", "import", metadata, "--out", direct, *more)[0] == 0
    assert direct.read_text() == out.read_text()


def test_import_with_table_and_book_keeps_the_book_s_word(command, small, tmp_path):
    metadata, out = tmp_path / "m.json", tmp_path / "s.json"
    metadata.write_text(json.dumps({"columns": {"region": {"sdtype": "numerical"}, "age": {"sdtype": "numerical"}}}))
    _, stderr = command.done(
        f"schema import {metadata} --out {out} --table {small[0]} --missing ? --codes",
        f"region={put(tmp_path, REGION)}",
    )
    schema = load(out)
    assert schema.columns["region"].categories == ("1", "2", "3", "4")
    assert set(schema.unconfirmed()) == {"age"}
    assert stderr.count("its label is dropped") == 1


def test_a_published_code_book_is_read(public_table, tmp_path):
    """The first part of the hospital code book, under the header that a code book needs."""
    with open(public_table("diabetes_130_ids_mapping.csv"), newline="") as file:
        part = file.read().split(",\r\n")[0].splitlines()
    book = codebook.load_codes(put(tmp_path, "\n".join(["value,label", *part[1:]])))
    assert book.values == tuple(row[0] for row in csv.reader(part[1:]))
    assert "Emergency" in book.labels
