"""SDV metadata and code books in and out, of one table and of several: kinds and keys are taken over, nothing is
invented, bounds are asked, what is left aside is told."""

import contextlib
import csv
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.errors import InputError, SynthError, UsageError
from synth.schema import codebook, sdv_metadata
from synth.schema import dataset as datasets
from synth.schema.table import load, parse
from tests.conftest import SMALL, small_frame
from tests.made import ID, binary, facts_of, number

COLUMNS = {
    "id": {"sdtype": "id", "regex_format": "P[0-9]{5}"},
    "age": {"sdtype": "numerical", "computer_representation": "Int64"},
    "sex": {"sdtype": "boolean"},
    "region": {"sdtype": "categorical", "order": ["4", "3", "2", "1"]},
    "income": {"sdtype": "numerical", "computer_representation": "Float"},
    "seen": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
    "ill": {"sdtype": "categorical"},
}
METADATA = {
    "METADATA_SPEC_VERSION": "V1",
    "tables": {"visits": {"primary_key": "id", "columns": COLUMNS}},
    "relationships": [],
}


def one(meta):
    result = sdv_metadata.from_sdv(facts_of(x=meta))
    return result.schema.columns["x"], result.notes


KINDS = [
    ({"sdtype": "numerical"}, "float", {}),
    ({"sdtype": "numerical", "computer_representation": "Float"}, "float", {}),
    ({"sdtype": "numerical", "computer_representation": "UInt8"}, "integer", {}),
    ({"sdtype": "categorical"}, "categorical", {}),
    ({"sdtype": "categorical", "order": [1, 2.0, True, None]}, "ordinal", {"categories": ("1", "2.0", "True")}),
    ({"sdtype": "categorical", "order_by": "numerical_value"}, "ordinal", {}),
    ({"sdtype": "boolean"}, "boolean", {}),
    ({"sdtype": "id"}, "identifier", {}),
    ({"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}, "datetime", {"resolution": "day"}),
    ({"sdtype": "datetime", "datetime_format": "%Y-%m-%dT%H:%M"}, "datetime", {"resolution": "minute"}),
    ({"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M:%S"}, "datetime", {"resolution": "second"}),
    ({"sdtype": "datetime"}, "datetime", {}),
]


@pytest.mark.parametrize(("meta", "kind", "facts"), KINDS, ids=[json.dumps(m) for m, _, _ in KINDS])
def test_a_known_sdtype_gives_the_kind_and_only_what_it_says(meta, kind, facts):
    column, notes = one(meta)
    assert column.model_dump(exclude_none=True) == {"type": kind, "source": "declared", **facts}
    assert notes == []


@pytest.mark.parametrize("sdtype", ["email", "phone_number", "address", "unknown", "text"])
def test_personal_data_become_identifiers_and_a_line_says_so(sdtype):
    column, (note,) = one({"sdtype": sdtype, "pii": True})
    assert column.type == "identifier"
    assert "x" in note
    assert sdtype in note


def test_what_is_said_not_to_be_personal_is_a_category():
    column, (note,) = one({"sdtype": "city", "pii": False})
    assert column.type == "categorical"
    assert "categorical" in note


def test_a_primary_key_is_an_identifier_whatever_its_sdtype():
    result = sdv_metadata.from_sdv(facts_of(x={"sdtype": "categorical"}) | {"primary_key": "x"})
    assert result.schema.columns["x"].type == "identifier"
    assert "primary key" in result.notes[0]


def test_dates_that_are_not_read_and_parts_left_aside_are_told():
    _, (note,) = one({"sdtype": "datetime", "datetime_format": "%d %b %Y"})
    assert "%d %b %Y" in note
    plain = facts_of(x={"sdtype": "id"}) | {"sequence_key": "x", "relationships": [{"parent_table_name": "p"}]}
    message = " ".join(sdv_metadata.from_sdv(plain).notes)
    assert "`max_rows=`" in message
    assert "relationships" in message


def test_all_versions_of_one_table_give_one_schema():
    single = {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "primary_key": "id", "columns": COLUMNS}
    several = {**METADATA, "tables": {**METADATA["tables"], "other": facts_of(a={"sdtype": "id"})}}
    results = [
        sdv_metadata.from_sdv(METADATA),
        sdv_metadata.from_sdv(single),
        sdv_metadata.from_sdv({**several, "METADATA_SPEC_VERSION": "MULTI_TABLE_V1"}, table_name="visits"),
    ]
    assert all(f.schema.columns == results[0].schema.columns for f in results)
    assert [f.schema.dataset for f in results] == ["visits", None, "visits"]


FAULTS = [
    ([], InputError, "JSON object"),
    ({}, InputError, "no columns"),
    (facts_of(x={}), InputError, "column x has no sdtype"),
    (facts_of(x="id"), InputError, "column x has no sdtype"),
    ({"tables": {}}, InputError, "at least one"),
    ({"tables": {"a": {}, "b": {}}}, InputError, "`table_name=`: a, b"),
    ({"METADATA_SPEC_VERSION": "V9", "columns": COLUMNS}, InputError, "V1"),
    (facts_of(x={"sdtype": "categorical", "order": [3, "3.0"]}), InputError, "listed twice"),
]


@pytest.mark.parametrize(("plain", "kind", "part"), FAULTS, ids=[part for _, _, part in FAULTS])
def test_faulty_metadata_are_refused_in_one_line(plain, kind, part):
    with pytest.raises(kind) as caught:
        sdv_metadata.from_sdv(plain)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("plain", [METADATA, METADATA["tables"]["visits"]])
def test_an_unknown_table_name_is_a_usage_error(plain):
    with pytest.raises(UsageError, match="`table_name=nobody`"):
        sdv_metadata.from_sdv(plain, table_name="nobody")


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["V1", "categorical", "id"])
keys = st.sampled_from(["tables", "columns", "sdtype", "order", "primary_key", "datetime_format", "a"])
junk = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4))


@settings(max_examples=200, deadline=None)
@given(plain=junk)
def test_whatever_the_json_holds_the_error_is_ours(plain):
    with contextlib.suppress(SynthError):
        assert sdv_metadata.from_sdv(plain).schema.columns


def test_the_small_schema_comes_back_by_kind():
    schema = parse(SMALL)
    plain = sdv_metadata.to_sdv(schema)
    assert list(plain["tables"]) == ["table"]
    kinds = {n: c.type for n, c in sdv_metadata.from_sdv(plain).schema.columns.items()}
    texts = dict.fromkeys(["sex", "ill"], "categorical")  # to SDV only True and False are boolean
    assert kinds == {n: c.type for n, c in schema.columns.items()} | texts


def test_only_true_and_false_are_boolean_to_sdv():
    schema = parse(facts_of(a=binary("True", "False"), b=binary("no", "yes")))
    columns = sdv_metadata.to_sdv(schema, table_name="t")["tables"]["t"]["columns"]
    assert (columns["a"], columns["b"]) == ({"sdtype": "boolean"}, {"sdtype": "categorical"})


KEYS = [({"a": ID}, {}, "a"), ({"a": ID, "b": ID}, {}, None), ({"a": ID}, {"unit": "a", "max_rows": 3}, None)]


@pytest.mark.parametrize(("columns", "more", "key"), KEYS)
def test_the_primary_key_is_the_one_identifier_that_names_a_row(columns, more, key):
    schema = parse({"columns": {**columns, "n": number(0, 1)}, **more})
    assert sdv_metadata.to_sdv(schema)["tables"]["table"].get("primary_key") == key


def test_sdmetrics_makes_its_report_with_the_exported_metadata(command, small, tmp_path):
    from sdmetrics.reports import QualityReport

    file = tmp_path / "metadata.json"
    command.done("schema", "export", small[1], "--sdv", "--out", file, "--table-name", "visits")
    metadata = json.loads(file.read_text())
    assert (metadata["METADATA_SPEC_VERSION"], list(metadata["tables"])) == ("V1", ["visits"])
    real = small_frame(120).replace({"income": {"": None}, "seen": {"": None}}).astype({"age": int, "income": float})
    report = QualityReport()
    report.generate({"visits": real}, {"visits": real}, metadata, verbose=False)
    details = report.get_details("Column Shapes")
    assert set(details["Column"]) == set(real) - {"id"}
    assert "Error" not in details or details["Error"].isna().all()
    assert (details["Score"] == 1.0).all()


def write(folder, plain):
    path = folder / "metadata.json"
    path.write_text(plain if isinstance(plain, str) else json.dumps(plain))
    return path


def test_import_without_a_table_says_what_is_still_absent(command, tmp_path):
    out = tmp_path / "s.json"
    code, said, stderr = command("schema", "import", write(tmp_path, METADATA), "--out", out)
    assert (code, said.split(":")[0]) == (0, "7 columns imported")
    assert "age, sex, income, seen, ill" in stderr
    assert load(out, complete=False).columns["region"].categories == ("4", "3", "2", "1")
    code, _, stderr = command("schema", "check", out)
    assert code == 2
    assert "age" in stderr


def test_import_with_a_table_drafts_the_rest_and_confirms_none_of_it(command, small, tmp_path):
    out = tmp_path / "s.json"
    command.done("schema import", write(tmp_path, METADATA), "--out", out, "--table", small[0], "--missing", "?")
    schema = load(out)
    kinds = {n: c.type for n, c in schema.columns.items()}
    assert kinds == {n: facts["type"] for n, facts in SMALL["columns"].items()} | {
        "region": "ordinal",
        "ill": "categorical",
    }
    assert schema.columns["id"].source == "declared"
    assert set(schema.unconfirmed()) == {"age", "sex", "region", "income", "seen", "ill"}  # region's missing code too
    assert (schema.columns["region"].categories, schema.columns["region"].missing) == (("4", "3", "2", "1"), ("?",))
    out2 = tmp_path / "t.json"
    command("schema", "import", tmp_path / "metadata.json", "--out", out2, "--table", small[0], "--assume-public")
    assert load(out2).unconfirmed() == {}


def test_columns_the_metadata_leave_out_are_left_out(command, small, tmp_path):
    file = write(tmp_path, facts_of(age={"sdtype": "numerical"}, seen={"sdtype": "datetime"}))
    assert command("schema", "import", file, "--out", tmp_path / "s.json", "--table", small[0])[0] == 0
    assert list(load(tmp_path / "s.json").columns) == ["age", "seen"]


MISFITS = [
    (facts_of(sex={"sdtype": "numerical"}), "column sex: the metadata say numerical"),
    (facts_of(sex={"sdtype": "datetime"}), "sex"),
    (facts_of(height={"sdtype": "numerical"}), "height"),
]


@pytest.mark.parametrize(("plain", "part"), MISFITS, ids=["numbers", "dates", "absent"])
def test_metadata_that_do_not_fit_the_table_are_refused(command, small, tmp_path, plain, part):
    out = tmp_path / "s.json"
    code, said, stderr = command("schema", "import", write(tmp_path, plain), "--out", out, "--table", small[0])
    assert code == 2
    assert said == ""
    assert part in stderr
    assert not out.exists()


def test_rows_decide_whether_numbers_are_whole():
    stated = sdv_metadata.from_sdv(facts_of(n={"sdtype": "numerical", "computer_representation": "Int8"})).schema
    drafted = parse(facts_of(n=number(0, 1, decimals=2, source="unconfirmed")))
    result = sdv_metadata.merge(stated, drafted)
    assert result.schema.columns["n"] == drafted.columns["n"]
    assert result.notes == ["n: integer in the metadata, float by its rows"]


@pytest.mark.parametrize("text", ["{", "", "[1]", "[" * 100_000])
def test_a_file_that_is_no_metadata_is_refused_by_name(command, tmp_path, text):
    code, said, stderr = command("schema", "import", write(tmp_path, text), "--out", tmp_path / "s.json")
    assert (code, said) == (2, "")
    assert "metadata.json" in stderr
    assert "Traceback" not in stderr


def test_export_needs_a_form_and_import_a_file(command, small, tmp_path):
    assert command("schema", "export", small[1], "--out", tmp_path / "m.json")[0] == 2
    assert command("schema", "import", tmp_path / "none.json", "--out", tmp_path / "s.json")[0] == 2
    assert not (tmp_path / "m.json").exists()


def test_an_imported_schema_runs_once_its_facts_are_stated(command, small, tmp_path):
    """From SDV metadata and a workbook's rows to a release."""
    table, schema = tmp_path / "t.xlsx", tmp_path / "s.json"
    pd.read_csv(small[0], dtype=str, keep_default_na=False).head(200).to_excel(table, index=False)
    metadata = write(tmp_path, METADATA)
    options = ("--table", table, "--missing", "?", "--assume-public")
    assert command("schema", "import", metadata, "--out", schema, *options)[0] == 0
    command.done(f"run {table} --schema {schema} --epsilon 1 --method independent --num-rows 20 --out {tmp_path}/out")


def test_the_table_of_an_import_is_read_as_it_is_written(tmp_path, command):
    towns = ("Ulm", "Köln")
    rows = "".join(f"{i};{i % 7},{i % 10};{1 + i % 28:02d}.03.2020;{towns[i % 2]}\n" for i in range(400))
    (tmp_path / "t.csv").write_bytes(("nr;bmi;am;ort\n" + rows).encode("windows-1252"))
    kinds = {"nr": "id", "bmi": "numerical", "am": "datetime", "ort": "categorical"}
    table = {"columns": {n: {"sdtype": k} for n, k in kinds.items()}, "primary_key": "nr"}
    reported = {"METADATA_SPEC_VERSION": "V1", "tables": {"t": table}}
    (tmp_path / "m.json").write_text(json.dumps(reported), encoding="utf-8")
    out = tmp_path / "s.json"
    metadata, table = tmp_path / "m.json", tmp_path / "t.csv"
    _, said = command.done("schema", "import", metadata, "--out", out, "--table", table)
    assert "semicolons between cells, decimal comma" in said
    facts = json.loads(out.read_text(encoding="utf-8"))
    wanted = {"encoding": "windows-1252", "delimiter": ";", "decimal": ",", "source": "unconfirmed"}
    assert facts["dialect"].items() >= wanted.items()
    assert facts["columns"]["am"]["format"] == "dd.mm.yyyy"
    assert (facts["columns"]["bmi"]["type"], facts["columns"]["ort"]["categories"]) == ("float", ["Köln", "Ulm"])


RELATED_METADATA = {
    "METADATA_SPEC_VERSION": "V1",
    "tables": {
        "homes": facts_of(
            state={"sdtype": "categorical"},
            number={"sdtype": "id"},
            rooms={"sdtype": "numerical", "computer_representation": "Int64"},
        )
        | {"primary_key": ["state", "number"]},
        "people": facts_of(
            pid={"sdtype": "id"},
            st={"sdtype": "categorical"},
            home={"sdtype": "id"},
            mail={"sdtype": "email"},
            sex={"sdtype": "categorical"},
        )
        | {"primary_key": "pid"},
    },
    "relationships": [
        {
            "parent_table_name": "homes",
            "parent_primary_key": ["state", "number"],
            "child_table_name": "people",
            "child_foreign_key": ["st", "home"],
        }
    ],
}


@pytest.fixture
def metadata(tmp_path):
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(RELATED_METADATA))
    return path


def test_metadata_become_a_schema_that_waits_for_its_bounds(command, metadata, tmp_path):
    out = tmp_path / "s.json"
    code, said, stderr = command("schema", "import", metadata, "--out", out)
    assert (code, "2 tables imported" in said) == (0, True), stderr
    assert "people: most_children is to be stated" in stderr
    code, _, stderr = command("schema", "check", out)
    assert (code, "it needs min and max" in stderr) == (2, True), stderr
    plain = json.loads(out.read_text())
    plain["tables"]["homes"]["columns"]["rooms"] |= {"min": 1, "max": 9}
    plain["tables"]["people"]["columns"]["sex"] |= {"categories": ["f", "m"]}
    out.write_text(json.dumps(plain))
    code, _, stderr = command("schema", "check", out)
    assert (code, "most_children is missing" in stderr) == (2, True), stderr
    assert command("schema", "import", metadata, "--out", out, "--most-children", "people=4")[0] == 0
    result = datasets.load_any(out, complete=False)
    assert (result.root, result.most_rows("people")) == ("homes", 4)
    assert {c.type for n, c in result.tables["people"].columns.items() if n in ("st", "home")} == {"identifier"}
    back = tmp_path / "back.json"
    assert command("schema", "export", out, "--sdv", "--out", back)[0] == 0
    again = json.loads(back.read_text())
    assert again["relationships"] == RELATED_METADATA["relationships"]
    assert again["tables"]["homes"]["primary_key"] == ["state", "number"]
    assert sdv_metadata.from_sdv(again).references == sdv_metadata.from_sdv(RELATED_METADATA).references


def test_absent_facts_are_drafted_from_the_tables(command, metadata, tmp_path):
    folder, out = tmp_path / "town", tmp_path / "s.json"
    folder.mkdir()
    homes = pd.DataFrame({"state": ["a", "b"] * 30, "number": range(60), "rooms": [3, 4, 5] * 20})
    homes.to_csv(folder / "homes.csv", index=False)
    people = pd.DataFrame(
        {
            "pid": range(120),
            "st": ["a", "b"] * 60,
            "home": [i % 60 for i in range(120)],
            "mail": [f"x{i}@y" for i in range(120)],
            "sex": [*"fmf"] * 40,
            "more": 1,
        }
    )
    people.to_csv(folder / "people.csv", index=False)
    options = ["--table", folder, "--most-children", "people=3", "--assume-public"]
    command.done("schema", "import", metadata, "--out", out, *options)
    assert command("schema", "check", out, "--table", folder)[0] == 0
    result = datasets.load_any(out)
    assert (result.tables["homes"].columns["rooms"].min, result.tables["homes"].columns["rooms"].max) == (3, 5)
    assert "more" not in result.tables["people"].columns
    command.done(f"run {folder} --schema {out} --epsilon 8 --out {tmp_path}/r --num-rows 40")
    made = {n: pd.read_csv(tmp_path / "r" / f"{n}.csv") for n in ("homes", "people")}
    pairs = set(zip(made["homes"].state, made["homes"].number, strict=True))
    assert set(zip(made["people"].st, made["people"].home, strict=True)) <= pairs


WRONG = {
    "no such table": ({"parent_table_name": "towns"}, "towns is not among the tables"),
    "no such column": ({"child_foreign_key": ["st", "house"]}, "people has no column house"),
    "of other lengths": ({"child_foreign_key": "home"}, "joins a column, or a list of them"),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_a_wrong_relationship_is_one_line(wrong):
    part, words = WRONG[wrong]
    with pytest.raises(InputError, match=words):
        sdv_metadata.from_sdv({**RELATED_METADATA, "relationships": [{**RELATED_METADATA["relationships"][0], **part}]})


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


BOOK_FAULTS = [
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


@pytest.mark.parametrize(("text", "part"), BOOK_FAULTS, ids=[part for _, part in BOOK_FAULTS])
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
    assert column.source == "declared"  # the book confirms the code too
    assert result.notes == ["region: '?' means missing, so its label is dropped"]


def test_missing_codes_read_off_rows_are_not_confirmed_by_the_book(tmp_path):
    drafted = booked(REGION, tmp_path, schema_of(source="unconfirmed", nullable=True))
    stated = booked(REGION, tmp_path, schema_of(source="declared", nullable=True))
    assert drafted.schema.columns["region"].source == "unconfirmed"
    assert "unconfirmed" in drafted.notes[0]
    assert stated.schema.columns["region"].source == "declared"
    for item in (drafted, stated):
        assert item.schema.columns["region"].missing_codes == ("",)


BOOK_KINDS = [
    ({"type": "ordinal"}, "ordinal"),
    ({"type": "boolean"}, "categorical"),  # five values are no yes or no
    ({"type": "integer", "categories": None, "min": 1, "max": 4}, "categorical"),
    ({"type": "identifier", "categories": None}, "categorical"),
]


@pytest.mark.parametrize(("facts", "kind"), BOOK_KINDS)
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
