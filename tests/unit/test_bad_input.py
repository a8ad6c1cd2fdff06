"""Every fault of file, header, schema or option is one line with a remedy, before any spend; so are pipes, endless
lists, numbers without end, models that do not fit, markup in names."""

import gzip
import hashlib
import json
import os
import signal

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from synth.errors import InputError
from synth.files import regular_files
from synth.privacy.ledger.ledger import Ledger
from synth.release import folder as bundle
from synth.report.card_page import render_html, render_markdown
from synth.schema import table as schema
from tests.conftest import SMALL, small_frame
from tests.made import ID, number, ran


def run(command, table, schema, tmp_path, *more, epsilon=1.0, delta=1e-5):
    words = f"run {table} --schema {schema} --out {tmp_path / 'out'} --json --method independent --epsilon"
    return *command(words, epsilon, "--delta", delta, *more), tmp_path / "out"


def errors(message):
    return [line for line in message.splitlines() if line.startswith("synth: ")]


def assert_line(answer, *, words=(), codes=(2,)):
    """One line with these words, and nothing else."""
    code, said, reported = answer
    lines = errors(reported)
    assert (code in codes, said, len(lines)) == (True, "", 1), reported
    assert "Traceback" not in reported
    assert "internal" not in reported
    for word in words:
        assert word in lines[0]


def assert_refused(code, said, reported, out, **expected):
    """One line, and nothing is written or spent."""
    assert_line((code, said, reported), **expected)
    assert not out.exists()
    assert all(e.kind != "spend" for e in Ledger().entries())


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


SENSELESS = [*(("epsilon", e) for e in ("0", "-1", "inf", "nan", "-inf", "abc", ""))]
SENSELESS += [("delta", d) for d in ("0", "1", "-1e-5", "nan", "inf")]


@pytest.mark.parametrize(("name", "value"), SENSELESS)
def test_a_senseless_budget_is_refused(command, small, tmp_path, name, value):
    assert_refused(*run(command, *small, tmp_path, **{name: value}), codes=(2,), words=[name])


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
        json.dumps({**SMALL, "columns": {**SMALL["columns"], "height": ID, "w": number(0, 1)}}),
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


ENDLESS = "9" * 5000  # Python refuses to read a whole number of more than 4,300 digits


@pytest.fixture
def pipe(tmp_path):
    """Makes a named pipe that nobody writes to; a reader that waits for ever is ended, not a measure of time."""

    def make(name):
        os.mkfifo(tmp_path / name)
        return tmp_path / name

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(120)
    yield make
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.xlsx"])
def test_a_pipe_is_no_table(command, small, tmp_path, pipe, name):
    assert_refused(*run(command, pipe(name), small[1], tmp_path), words=[name, "regular file"])


def test_a_pipe_is_no_schema(command, small, tmp_path, pipe):
    assert_refused(*run(command, small[0], pipe("s.json"), tmp_path), words=["s.json", "regular file"])


def test_a_pipe_is_no_ledger(command, small, tmp_path, pipe):
    place = pipe("l.sqlite")
    assert_refused(*run(command, *small, tmp_path, "--ledger", place), words=["l.sqlite", "regular file"])
    assert_line(command("ledger", "verify", "--ledger", place), words=["regular file"])


@pytest.mark.parametrize("arguments", [("card", "check"), ("sample",), ("schema", "check")], ids=" ".join)
def test_a_pipe_is_no_card_model_or_schema_to_check(command, pipe, arguments):
    assert_line(command(*arguments, pipe("p.json")), words=["p.json", "regular file"])


@pytest.mark.usefixtures("pipe")
def test_a_pipe_in_place_of_a_models_arrays(command, made):
    (made / "model.safetensors").unlink()
    os.mkfifo(made / "model.safetensors")
    assert_line(command("sample", made), words=["model.safetensors", "regular file"])


@pytest.mark.parametrize("variable", ["SYNTH_CONFIG", "SYNTH_SOURCES"])
def test_a_pipe_is_no_file_of_rules(command, small, tmp_path, pipe, monkeypatch, variable):
    monkeypatch.setenv(variable, str(pipe("rules.toml")))
    table = "@a" if variable == "SYNTH_SOURCES" else small[0]
    more = ("--source", "@a", "--table", "t") if table == "@a" else (table,)
    answer = command("run", *more, "--schema", small[1], "--epsilon", 1, "--out", tmp_path / "o")
    assert_line(answer, words=["rules.toml", "regular file"])


def test_a_schemas_number_without_end(command, small, tmp_path):
    place = tmp_path / "s.json"
    place.write_text(json.dumps(SMALL).replace('"max": ', f'"max": {ENDLESS}, "x": ', 1))
    assert_refused(*run(command, small[0], place, tmp_path), words=["s.json", "digits"])


def test_a_cards_number_without_end(command, tmp_path):
    (tmp_path / "card.json").write_text(f'{{"epsilon": {ENDLESS}}}')
    assert_line(command("card", "check", tmp_path), words=["card.json"])


RULES = {
    "SYNTH_CONFIG": f"[budget]\nrequire_cap = {ENDLESS}\n",
    "SYNTH_SOURCES": f'[a]\naddress = "duckdb:///x"\nmay_write = {ENDLESS}\n',
}


@pytest.mark.parametrize("variable", RULES)
def test_a_file_of_rules_with_a_number_without_end(command, small, tmp_path, monkeypatch, variable):
    (tmp_path / "rules.toml").write_text(RULES[variable])
    monkeypatch.setenv(variable, str(tmp_path / "rules.toml"))
    more = ("--source", "@a", "--table", "t") if variable == "SYNTH_SOURCES" else (small[0],)
    answer = command("run", *more, "--schema", small[1], "--epsilon", 1, "--out", tmp_path / "o")
    assert_line(answer, words=["rules.toml", "TOML"])


def test_roles_with_a_number_without_end(command, tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_ROLES", "")  # the command sets it for its child
    (tmp_path / "roles.toml").write_text(f"[approval]\nepsilon_above = {ENDLESS}\n")
    assert_line(command("app", "--headless", "--roles", tmp_path / "roles.toml"), words=["roles.toml", "TOML"])


@pytest.mark.parametrize("arguments", [("plan", "--rows", 100), ("schema", "learn"), ("run",)], ids=lambda a: a[0])
def test_an_epsilon_of_1e308(command, small, tmp_path, arguments):
    facts = json.loads(json.dumps(SMALL))
    del facts["columns"]["sex"]["categories"]
    (tmp_path / "s.json").write_text(json.dumps(facts if "learn" in arguments else SMALL))
    table = () if "plan" in arguments else (small[0],)
    out = () if "plan" in arguments else ("--out", tmp_path / "o")
    answer = command(*arguments, *table, "--schema", tmp_path / "s.json", "--epsilon", "1e308", *out)
    assert_line(answer, words=["epsilon 1e+308"], codes=(2,))
    assert all(e.kind != "spend" for e in Ledger().entries())


def test_a_schema_too_long_to_be_one_is_not_even_read(tmp_path, monkeypatch):
    monkeypatch.setattr(schema.json, "loads", lambda *_, **__: pytest.fail("it was parsed"))
    place = tmp_path / "s.json"
    with place.open("wb") as file:
        file.truncate(regular_files.MAX_BYTES + 1)
    with pytest.raises(InputError, match="larger than 32 MiB"):
        schema.load(place)


def test_a_schema_of_too_many_categories_is_refused_before_an_object_is_made_of_it(monkeypatch):
    monkeypatch.setattr(schema.Schema, "model_validate", lambda *_: pytest.fail("objects were made"))
    facts = {"columns": {"a": {"type": "categorical", "categories": ["x"] * (schema.MOST_LISTED + 1)}}}
    with pytest.raises(InputError, match=r"1,000,001 of them of a; at most 1,000,000"):
        schema.parse(facts)


def test_a_repeated_category_is_found_in_one_pass():
    """A list of 200,000 whose last two are one: by counting each it takes 2 * 10**10 comparisons."""
    many = [f"c{i}" for i in range(200_000)]
    with pytest.raises(InputError, match="'c199999' is listed twice"):
        schema.parse({"columns": {"a": {"type": "categorical", "categories": [*many, many[-1]]}}})


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    ran(small_frame(300), SMALL, method="mixture", out=folder / "out", num_rows=20, ledger=folder / "l.sqlite")
    return folder / "out"


@pytest.fixture
def made(release, tmp_path):
    """A copy of a release's folder."""
    import shutil

    return shutil.copytree(release, tmp_path / "made")


def changed(folder, kind, change):
    """Alters the arrays and their hash, as a foreign program would leave them."""
    arrays = change(dict(load_file(folder / f"{kind}.safetensors")))
    save_file({n: np.ascontiguousarray(a) for n, a in arrays.items()}, folder / f"{kind}.safetensors")
    plain = json.loads((folder / f"{kind}.json").read_text())
    plain["arrays_sha256"] = hashlib.sha256((folder / f"{kind}.safetensors").read_bytes()).hexdigest()
    (folder / f"{kind}.json").write_text(json.dumps(plain))


FAULTS = {
    "transposed": ("0.probs", lambda a: a.T),
    "NaN in probs": ("0.probs", lambda a: np.full_like(a, np.nan)),
    "one NaN": ("0.within", lambda a: np.where(np.arange(len(a)) == 0, np.nan, a).astype(a.dtype)),
    "NaN weights": ("weights", lambda a: np.full_like(a, np.nan)),
    "weights of two axes": ("weights", lambda a: a[None]),
    "a weight too few": ("weights", lambda a: a[:-1]),
    "infinite": ("0.probs", lambda a: np.full_like(a, np.inf)),
    "leaves out of order": ("0.starts", lambda a: a[::-1]),
    "a group too far": ("0.groups", lambda a: a + 1000),
    "a group below": ("0.groups", lambda a: a - 1000),
    "a leaf too few": ("0.groups", lambda a: a[:-1]),
    "groups are fractions": ("0.groups", lambda a: a.astype(np.float64)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_whose_arrays_do_not_fit(command, made, tmp_path, fault):
    name, change = FAULTS[fault]
    changed(made, "model", lambda arrays: {**arrays, name: change(arrays[name])})
    assert_line(command("sample", made, "--out", tmp_path / "s.csv"), words=["the model is damaged"])
    assert not (tmp_path / "s.csv").exists()


def test_a_model_without_its_hash_that_fits_is_read(made):
    changed(made, "model", dict)
    assert bundle.load_model(made).model.total > 0


def test_a_release_with_nan_is_not_fitted(command, made, tmp_path):
    changed(made, "release", lambda arrays: {**arrays, "array.0": np.full(arrays["array.0"].shape, np.nan)})
    answer = command("run", "--from-release", made, "--out", tmp_path / "again")
    assert_line(answer, words=["the release is damaged", "NaN"])


SCRIPT = "<script>alert(1)</script>"
MARKUP = f"{SCRIPT} <img src=x onerror=y> [a](javascript:b) ![p](http://e.org/p.png) `c` | d"


def test_no_name_in_a_card_becomes_markup(made):
    card = json.loads((made / "card.json").read_text())
    card["dataset"] = card["unit"] = MARKUP
    card["public_facts"] = {MARKUP: "declared"}
    card["vouched_alone"] = {MARKUP: {"why_alone": MARKUP, "values": 2, "reason": MARKUP}}
    card["deployment"] = {"name": MARKUP, "curators": [MARKUP]}
    card["hazards"] = [MARKUP]
    card["mechanisms"][0]["name"] = MARKUP
    text, page = render_markdown(card), render_html(card)
    assert "alert" in text
    assert "alert" in page
    for reported in (text, page):
        assert "<script" not in reported
        assert "<img" not in reported
    assert "](" not in text.replace("\\](", "")
    assert "http:" not in text.replace("http\\:", "")
    assert all(line.count("|") - line.count("\\|") in (3, 4, 6) for line in text.splitlines() if line.startswith("|"))
