"""Law: what is written in a dialect is read by the same schema as the positions of the plain table."""

import json
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.release import dialect_copy, folder
from synth.report.bundle import bundle as make_bundle
from synth.schema import codec
from synth.schema.table import parse
from synth.sources.formats import cell_formats, files
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.csv_files import sniffed
from tests.made import ID, codes, dated, number

COLUMNS = {
    "nr": ID,
    "=ort": codes(
        "Köln", "Ürzig; Mosel", 'a"b|c', "zwei\nZeilen", "=1+1", "'=1+1", "tab\there", "it's", "-", nullable=True
    ),
    "bmi": number(-5, 5000, decimals=2, missing=["NA", "-", "999", ""]),
    "tage": number(-5, 9999, missing=["."]),
    "am": dated("1999-12-31T00:00:00", "2030-01-01T00:00:00", resolution="minute", missing=["N/A", ""]),
    "geb": dated("1950-01-01", "2049-12-31"),
}
ROWS = 3000
DIALECTS = {
    "hospital": (
        {"encoding": "windows-1252", "delimiter": ";", "decimal": ",", "thousands": "."},
        "dd.mm.yyyy HH:MM",
        "dd.mm.yy",
    ),
    "utf-16": ({"encoding": "utf-16", "delimiter": "\t", "line_end": "crlf"}, "yyyy/mm/dd HH:MM:SS", "dd/mm/yyyy"),
    "american": ({"encoding": "utf-8-sig", "delimiter": "|", "line_end": "crlf"}, "mm/dd/yyyy hh:MM AM", "mm/dd/yyyy"),
    "single": ({"encoding": "utf-16-be", "delimiter": ";", "quote": "'", "decimal": ","}, None, "yyyy-dd-mm"),
    "dates": (None, "dd-mm-yyyy HH:MM", None),
}
MARKS = {
    "hospital": b"nr;",
    "utf-16": b"\xff\xfen\0r\0\t\0",
    "american": b"\xef\xbb\xbfnr|",
    "single": b"\0n\0r\0;",
    "dates": b"nr,",
}


def schema(name, **changed):
    dialect, clock, day = DIALECTS[name]
    columns = {n: {**c, **changed.get(n, {})} for n, c in COLUMNS.items()}
    columns["am"] |= {"format": clock} if clock else {}
    columns["geb"] |= {"format": day} if day else {}
    return parse({"columns": columns, **({"dialect": dialect} if dialect else {})})


def drawn(facts, rows=ROWS):
    rng = np.random.default_rng(3)
    places = {n: rng.integers(0, c.cells, rows) for n, c in facts.measured().items()}
    for name, item in places.items():  # every missing code and both ends, in any case
        column = facts.columns[name]
        ends = [0, column.size - 1, *range(column.size, column.cells)]
        item[: len(ends)] = ends
    return places, codec.decode(places, facts, num_rows=rows)


def read(path, facts, reading):
    table = files.read(path, columns=list(facts.columns), reading=reading)
    result = codec.encode(table, facts, None)  # no cell may need a draw
    return {n: p.tolist() for n, p in result.positions.items()}


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
def test_a_table_in_a_dialect_has_the_positions_of_the_plain_one(tmp_path, name, raw):
    facts = schema(name)
    assert cell_formats.problem(facts) is None
    places, texts = drawn(facts)
    blocks = [{n: a.slice(i, 1000) for n, a in texts.items()} for i in range(0, ROWS, 1000)]
    folder.write_blocks(tmp_path / "synthetic.csv", blocks, facts, raw_text=raw)
    digest = dialect_copy.write(tmp_path, facts, "same", print, raw_text=raw)
    assert digest == dialect_copy.digest(tmp_path)
    data = (tmp_path / dialect_copy.NAME).read_bytes()
    assert data.startswith(MARKS[name]) or raw
    folder.write_blocks(tmp_path / "direct.csv", blocks, facts, raw_text=raw, dialect="same")
    assert (tmp_path / "direct.csv").read_bytes() == data, "one pass from the model, or over the plain table"
    expected = {n: p.tolist() for n, p in places.items()}
    assert read(tmp_path / "synthetic.csv", facts, PLAIN) == expected
    assert read(tmp_path / dialect_copy.NAME, facts, Reading.of(facts, delimited=True)) == expected
    results, stated = sniffed(tmp_path / dialect_copy.NAME), facts.dialect or sniffed(tmp_path / "synthetic.csv")
    assert results.delimiter == stated.delimiter, "as another program would take it"


def test_what_is_written_looks_like_the_files_of_that_country(tmp_path):
    facts = schema("hospital")
    texts = {
        "nr": ["1", "2"],
        "=ort": ["Köln", "=1+1"],
        "bmi": ["-1234.50", "NA"],
        "tage": ["1200", "."],
        "am": ["2020-01-31 13:05:00", "N/A"],
        "geb": ["1961-02-03", "2020-12-31"],
    }
    path = tmp_path / "t.csv"
    folder.write_table(path, {n: pa.array(c) for n, c in texts.items()}, facts, dialect="same")
    assert path.read_bytes().decode("windows-1252") == (
        "nr;'=ort;bmi;tage;am;geb\n1;Köln;-1234,50;1200;31.01.2020 13:05;03.02.61\n2;''=1+1;NA;.;N/A;31.12.20\n"
    )


def test_noon_and_midnight_on_a_clock_of_twelve():
    form = cell_formats.form_of(schema("american").columns["am"], None)
    reported = cell_formats.respelt(pa.array([f"2020-01-31 {h}:05:00" for h in ("00", "01", "12", "13")]), form)
    assert [t[11:] for t in reported.to_pylist()] == ["12:05 AM", "01:05 AM", "12:05 PM", "01:05 PM"]


@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        ("hospital", {"=ort": {"categories": ["Köln", "Łódź"]}}, "=ort: one of its categories"),
        ("hospital", {"tage": {"missing": ["–", "→"]}}, "tage: one of its missing codes"),
        ("hospital", {"bmi": {"missing": ["999,00"]}}, "bmi: a missing code reads as"),
        ("hospital", {"geb": {"max": "2050-01-01"}}, "geb: years of two digits"),
        ("hospital", {"am": {"resolution": "second"}}, "am: its format"),
        ("american", {"geb": {"resolution": "minute"}}, "geb: its format"),
        ("american", {"geb": {"missing": ["01/02/2001"]}}, "geb: a missing code reads as"),
    ],
)
def test_what_could_not_be_read_back_is_refused_before_the_spend(tmp_path, name, changed, said):
    facts = schema(name, **changed)
    with pytest.raises(InputError, match=said) as reported:
        dialect_copy.check(facts, "same")
    assert "`dialect=plain`" in str(reported.value)
    assert "Łódź" not in str(reported.value)
    dialect_copy.check(facts, "plain")
    book, rows = tmp_path / "ledger.json", pd.DataFrame({n: ["1"] for n in facts.columns})
    with pytest.raises(InputError, match=said):
        synth.run(rows, schema=facts, epsilon=1, delta=1e-5, dataset="d", ledger=book, out=tmp_path / "out")
    assert not book.exists()
    assert not (tmp_path / "out").exists()
    assert dialect_copy.write(tmp_path, facts, "same", print) is None, "a fact that was learnt meanwhile stops nothing"
    with pytest.raises(UsageError, match="`dialect=german`"):
        dialect_copy.check(facts, "german")


def test_codes_that_are_no_value_as_written_are_no_fault():
    assert cell_formats.problem(schema("hospital", bmi={"missing": ["999,0", "1.234", "9999,00"]})) is None
    assert cell_formats.problem(parse({"columns": COLUMNS})) is None


def test_release_bundle_refit_and_sample_carry_the_table_in_its_dialect(tmp_path, command):
    facts = schema("hospital")
    _, texts = drawn(facts, 400)
    private = tmp_path / "t.csv"
    folder.write_table(private, texts, facts, dialect="same")
    (tmp_path / "s.json").write_text(facts.to_json(), encoding="utf-8")
    out = tmp_path / "out"
    run = f"run {private} --schema {tmp_path}/s.json --epsilon 1 --seed 1 --dataset d --ledger {tmp_path}/book.json"
    stdout, _ = command.done(run, "--out", out, "--json")
    assert json.loads(stdout)["paths"]["synthetic_dialect"].endswith(dialect_copy.NAME)
    wanted = read(out / "synthetic.csv", facts, PLAIN)
    assert read(out / dialect_copy.NAME, facts, Reading.of(facts, delimited=True)) == wanted
    made = make_bundle(out, tmp_path / "b.zip", how="only", ledger=tmp_path / "book.json")
    assert dialect_copy.NAME in made.parts
    with zipfile.ZipFile(tmp_path / "b.zip") as packed:
        assert dialect_copy.NAME in packed.read("README.md").decode()
        assert packed.read(dialect_copy.NAME) == (out / dialect_copy.NAME).read_bytes()
    again = synth.app_api.refit(out, out=tmp_path / "again", num_rows=len(wanted["bmi"]), seed=1)
    assert (tmp_path / "again" / dialect_copy.NAME).read_bytes() == (out / dialect_copy.NAME).read_bytes()
    assert again.card[dialect_copy.DIGEST] == dialect_copy.digest(out)
    synth.app_api.refit(out, out=tmp_path / "again", seed=1, dialect="plain")
    assert not (tmp_path / "again" / dialect_copy.NAME).exists(), "no twin of another table is left there"
    assert dialect_copy.DIGEST not in json.loads((tmp_path / "again" / "card.json").read_text(encoding="utf-8"))
    for option, mark in ((), b"nr;'=ort"), (("--dialect", "plain"), b"nr,'=ort"):
        command.done("sample", out, "--num-rows", "9", "--seed", "1", "--out", tmp_path / "m.csv", *option)
        assert (tmp_path / "m.csv").read_bytes().startswith(mark)
    (out / dialect_copy.NAME).write_bytes((out / dialect_copy.NAME).read_bytes().replace(b",", b".", 1))
    with pytest.raises(InputError, match="not the table that the card names"):
        make_bundle(out, tmp_path / "c.zip", how="only", ledger=tmp_path / "book.json")
