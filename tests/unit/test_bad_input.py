"""Every fault of file, header, schema or option is one line with a remedy, before any spend."""

import gzip
import json

import pytest

from synth.privacy.ledger.ledger import Ledger
from tests.conftest import SMALL, small_frame
from tests.unit.refusals import assert_refused, errors, run

HEADER = "id,age,sex,region,income,seen,ill\n"
ROW = "P1,30,f,1,10.5,2020-02-03,no\n"
FILES = {
    "empty": (b"", ["empty"]),
    "header only": (HEADER.encode(), ["row"]),
    "duplicate column": (b"age,age,sex\n1,2,f\n", ["age"]),
    "unnamed column": (b"age,,sex\n1,2,f\n", ["name"]),
    "row too short": ((HEADER + ROW + "P2,31,f\n").encode(), ["row 3"]),
    "row too long": ((HEADER + ROW + "P2,31,f,1,10.5,2020-02-03,no,more\n").encode(), ["row 3"]),
    "latin-1": ((HEADER.replace("age", "\u00e4ge") + ROW).encode("latin-1"), ["UTF-8"]),
    "utf-16": ((HEADER + ROW).encode("utf-16"), ["UTF-8"]),
    "NUL byte": ((HEADER.replace("age", "a\0ge") + ROW).encode(), ["UTF-8"]),
    "semicolons": ((HEADER + ROW).replace(",", ";").encode(), ["comma"]),
    "missing column": (b"id,age,sex\n1,30,f\n", ["region"]),
}


@pytest.mark.parametrize("fault", FILES)
def test_a_faulty_file_is_refused_before_the_spend(command, small, tmp_path, fault):
    content, words = FILES[fault]
    table = tmp_path / "bad.csv"
    table.write_bytes(content)
    assert_refused(*run(command, table, small[1], tmp_path), words=words)


@pytest.mark.parametrize("name", ["none.csv", "folder.csv", "bad.parquet", "bad.xlsx", "bad.csv.gz", "table.txt"])
def test_an_unreadable_file_is_refused_before_the_spend(command, small, tmp_path, name):
    table = tmp_path / name
    if name == "folder.csv":
        table.mkdir()
    elif name.startswith("bad"):
        table.write_bytes(b"PK\x03\x04 not what its name says")
    elif name == "table.txt":
        table.write_text(HEADER + ROW)
    assert_refused(*run(command, table, small[1], tmp_path), words=[name])


def test_a_truncated_gz_is_refused(command, small, tmp_path):
    table = tmp_path / "cut.csv.gz"
    table.write_bytes(gzip.compress((HEADER + ROW * 5000).encode())[:-40])
    assert_refused(*run(command, table, small[1], tmp_path), words=["cut.csv.gz"])


def test_no_cell_of_a_faulty_row_is_quoted(command, small, tmp_path):
    table = tmp_path / "bad.csv"
    table.write_text(HEADER + ROW + "SENTINEL_77,31\n")
    _, _, stderr, _ = run(command, table, small[1], tmp_path)
    assert "SENTINEL" not in stderr


@pytest.mark.parametrize("epsilon", ["0", "-1", "inf", "nan", "-inf"])
def test_senseless_epsilon_is_refused(command, small, tmp_path, epsilon):
    assert_refused(*run(command, *small, tmp_path, epsilon=epsilon), codes=(2,), words=["epsilon"])


@pytest.mark.parametrize("epsilon", ["abc", ""])
def test_epsilon_that_is_no_number_is_refused(command, small, tmp_path, epsilon):
    assert_refused(*run(command, *small, tmp_path, epsilon=epsilon), codes=(2,), words=["epsilon"])


@pytest.mark.parametrize("delta", ["0", "1", "-1e-5", "nan", "inf"])
def test_senseless_delta_is_refused(command, small, tmp_path, delta):
    assert_refused(*run(command, *small, tmp_path, delta=delta), codes=(2,), words=["delta"])


OPTIONS = [
    (("--relation", "same"), "add_remove"),
    (("--method", "magic"), "mixture"),
    (("--num-rows", "0"), "at least 1"),
    (("--num-rows", "-5"), "at least 1"),
    (("--target", "height"), "height"),
    (("--target", "id"), "id"),
    (("--device", "abacus"), "abacus"),
    (("--max-categories", "1"), "--max-categories"),
    (("--nonsense",), "nonsense"),
]


@pytest.mark.parametrize(("option", "word"), OPTIONS, ids=lambda o: " ".join(o) if isinstance(o, tuple) else "")
def test_an_option_out_of_its_range_is_refused(command, small, tmp_path, option, word):
    assert_refused(*run(command, *small, tmp_path, *option), codes=(2,), words=[word])


def test_an_output_that_cannot_be_written_is_refused(command, small, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    code, _, stderr = command("run", small[0], "--schema", small[1], "--epsilon", 1, "--out", file)
    assert code == 2
    assert "--out" in stderr
    assert all(e.kind != "spend" for e in Ledger().entries())


def without(column, fact):
    facts = {k: v for k, v in SMALL["columns"][column].items() if k != fact}
    return {**SMALL, "columns": {**SMALL["columns"], column: facts}}


def with_fact(column, **more):
    return {**SMALL, "columns": {**SMALL["columns"], column: {**SMALL["columns"][column], **more}}}


SCHEMAS = {
    "not JSON": ("{", ["JSON"]),
    "a list": ("[]", ["schema"]),
    "no columns": ('{"columns": {}}', ["column"]),
    "no max": (json.dumps(without("age", "max")), ["age", "max"]),
    "no categories": (json.dumps(without("sex", "categories")), ["sex", "categories"]),
    "min above max": (json.dumps(with_fact("age", min=100)), ["age", "above"]),
    "bound is text": (json.dumps(with_fact("age", min="low")), ["age", "number"]),
    "bound is infinite": (json.dumps(with_fact("age", max="inf")), ["age", "finite"]),
    "bound is NaN": (json.dumps(with_fact("age", max="nan")), ["age", "finite"]),
    "date is no date": (json.dumps(with_fact("seen", min="1 Jan")), ["seen", "date"]),
    "same category twice": (json.dumps(with_fact("region", categories=["3", "3.0"])), ["region", "3"]),
    "category is a code": (json.dumps(with_fact("region", missing=["2"])), ["region", "2"]),
    "unknown kind": (json.dumps(with_fact("age", type="whole")), ["age", "type"]),
    "unknown fact": (json.dumps(with_fact("age", maxi=3)), ["age", "maxi"]),
    "unknown target": (json.dumps({**SMALL, "target": "height"}), ["height"]),
    "unknown positive": (json.dumps({**SMALL, "positive": "perhaps"}), ["perhaps"]),
    "too many steps": (json.dumps(with_fact("income", decimals=15)), ["income", "decimals"]),
    "column not in file": (
        json.dumps(
            {
                **SMALL,
                "columns": {
                    **SMALL["columns"],
                    "height": {"type": "identifier"},
                    "w": {"type": "integer", "min": 0, "max": 1},
                },
            }
        ),
        ["w"],
    ),
    "only identifiers": ('{"columns": {"id": {"type": "identifier"}}}', ["identifier"]),
    "twice a column": ('{"columns": {"id": {"type": "identifier"}, "id": {"type": "identifier"}}}', ["id", "twice"]),
    "a null": (json.dumps(with_fact("age", min=None)), ["age", "min"]),
}


@pytest.mark.parametrize("fault", SCHEMAS)
def test_a_faulty_schema_is_refused_before_the_spend(command, small, tmp_path, fault):
    text, words = SCHEMAS[fault]
    schema = tmp_path / "bad.json"
    schema.write_text(text)
    assert_refused(*run(command, small[0], schema, tmp_path), words=words)


def test_a_drafted_schema_is_refused_by_name_until_confirmed(command, small, tmp_path):
    draft = tmp_path / "draft.json"
    assert command("schema", "init", small[0], "--out", draft, "--missing", "?", "--categorical", "region")[0] == 0
    assert_refused(*run(command, small[0], draft, tmp_path), words=["age (type, min, max)", "--assume-public"])
    code, said, stderr, out = run(command, small[0], draft, tmp_path, "--assume-public")
    assert code == 0, stderr
    assert "age (type, min, max)" in stderr
    assert json.loads((out / "schema.json").read_text())["columns"]["age"]["source"] == "public"
    assert json.loads(said)["epsilon_spent"] == 1.0


def test_a_huge_category_list_needs_confirmation(command, small, tmp_path):
    schema = tmp_path / "wide.json"
    many = [f"c{i}" for i in range(60_000)]
    schema.write_text(json.dumps(with_fact("sex", type="categorical", categories=many)))
    assert_refused(*run(command, small[0], schema, tmp_path), words=["sex", "--max-categories 60000"])


@pytest.mark.parametrize("rows", [1, 2])
def test_tiny_tables_go_through(command, small, tmp_path, rows):
    table = tmp_path / "tiny.csv"
    small_frame(rows).to_csv(table, index=False)
    code, said, stderr, _ = run(command, table, small[1], tmp_path, "--num-rows", "20")
    assert code == 0, stderr
    assert json.loads(said)["num_rows"] == 20


def test_constant_columns_go_through(command, tmp_path):
    table, schema = tmp_path / "c.csv", tmp_path / "c.json"
    table.write_text("a,b\n" + "x,5\n" * 50)
    columns = {"a": {"type": "categorical", "categories": ["x"]}, "b": {"type": "integer", "min": 5, "max": 5}}
    schema.write_text(json.dumps({"columns": columns}))
    code, _, stderr, out = run(command, table, schema, tmp_path, "--num-rows", "7")
    assert code == 0, stderr
    assert (out / "synthetic.csv").read_text().splitlines() == ["a,b"] + ["x,5"] * 7


def test_cells_outside_the_schema_leave_no_sign(command, small, tmp_path, own_state):
    """Messages and exit code are those of a clean table; the counts are in the steward's log, outside --out."""
    clean, dirty = small_frame(300), small_frame(300)
    dirty.loc[:9, "age"] = ["500", "-3", "inf", "-inf", "x", "", "1e400", "nan", "0x1", "\u0663"]
    dirty.loc[:2, "sex"] = ["SENTINEL_1", "", "q"]
    dirty.loc[:2, "seen"] = ["2020-13-45", "1066-01-01", "soon"]
    reported = {}
    for name, frame in (("clean", clean), ("dirty", dirty)):
        table = tmp_path / name / "t.csv"
        table.parent.mkdir()
        frame.to_csv(table, index=False)
        code, said, words, out = run(command, table, small[1], tmp_path / name, "--num-rows", "50", "--dataset", "d")
        assert code == 0, words
        assert not list(out.rglob("*steward*"))
        assert "SENTINEL" not in said + words + "".join(p.read_text("latin-1") for p in out.iterdir())
        history = "nothing was charged to it before; "  # public: the second table is the dataset's second charge
        reported[name] = [line.replace(name, "").replace(history, "") for line in words.splitlines()]
    assert reported["clean"] == reported["dirty"]
    logs = [json.loads(p.read_text()) for p in own_state.rglob("steward.json")]
    assert {log["unreadable"]["sex"] for log in logs} == {0, 3}
    assert max(log["clamped"]["age"] for log in logs) == 5


WRONG = [
    ("frobnicate",),
    ("run",),
    ("sample", "none"),
    ("ledger", "policy"),
    ("schema", "check", "none.json"),
    ("plan", "--schema", "x.json", "--rows", "0"),
    ("run", "--from-release", "none.json"),
    ("ledger", "verify", "--ledger", "no"),
]


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_no_command_ends_in_a_traceback(command, arguments):
    code, said, stderr = command(*arguments)
    assert code == 2
    assert said == ""
    assert "Traceback" not in stderr
    assert len(errors(stderr)) == 1
