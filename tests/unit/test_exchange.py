"""SDV metadata in and out: kinds are taken over, nothing is invented, what is left aside is told."""

import contextlib
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.errors import InputError, SynthError, UsageError
from synth.schema import sdv_metadata
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


def test_import_with_a_table_drafts_the_rest_and_vouches_for_none_of_it(command, small, tmp_path):
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
