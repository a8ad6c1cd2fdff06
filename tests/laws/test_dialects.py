"""Law: a file in another dialect has the positions of its plain twin, and a cell that does not fit is its own fault;
what is written in a dialect is read by the same schema as the positions of the plain table."""

import gzip
import json
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.pipeline.run import learn_schema
from synth.release import dialect_copy, folder
from synth.report.bundle import bundle as make_bundle
from synth.schema import codec
from synth.schema.dialect import Dialect
from synth.schema.table import parse
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.formats import cell_formats, files
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.csv_files import sniffed
from synth.sources.table_source import place_of
from tests.engines import SPARK, fill, spark
from tests.made import ID, codes, dated, facts_of, number

COLUMNS = {
    "ort": codes("Köln", "Ürzig; Mosel", 'a"b|c', "zwei\nZeilen", nullable=True),
    "bmi": number(0, 5000, decimals=2, missing=["NA", "-", "999"]),
    "tage": number(-5, 9999, missing=["."]),
    "am": dated("2000-01-01T00:00:00", "2030-01-01T00:00:00", resolution="minute", missing=["N/A", ""]),
}
ROWS = [
    ["Köln", "1234.50", "1200", "2020-01-31T13:05"],
    ["Ürzig; Mosel", "NA", "-3", "2020-12-01"],
    ['a"b|c', "-", ".", "2020-02-03T00:00"],
    ["zwei\nZeilen", "0.25", "7", "N/A"],
    ["", "999", "10", ""],
    ["nowhere", "x", "1.5.5", "2020-02-31"],
]
MANY = 200  # times these rows, where dates are learnt: noise then moves none out of its years


class Zero:
    """Draws that tell themselves apart from read cells."""

    def uniform_codes(self, size: int, *, high: int) -> np.ndarray:
        assert high > 0
        return np.zeros(size, dtype=np.int64)


def german(text: str) -> str:
    if text.replace(".", "", 1).replace("-", "", 1).isdigit() and text not in ("-", "."):
        whole, _, part = text.partition(".")
        return f"{int(whole):,}".replace(",", ".") + ("," + part if part else "")
    return text


def day(text: str, form: str) -> str:
    if not text[:4].isdigit() or "-" not in text:
        return text
    (y, m, d), clock = text[:10].split("-"), text[11:]
    if form == "mm/dd/yyyy hh:MM AM":
        hour = int(clock[:2] or 0)
        return f"{int(m)}/{d}/{y}" + (
            f" {(hour + 11) % 12 + 1}:{clock[3:]} {'PM' if hour > 11 else 'AM'}" if clock else ""
        )
    return form.replace("dd", d).replace("mm", m).replace("yyyy", y).replace(" HH:MM", f" {clock}" if clock else "")


def written(dialect: Dialect, form: str | None) -> bytes:
    """The rows as another program writes them, quoted throughout."""
    numbers = german if dialect.decimal == "," else str
    rows = [
        [ort, numbers(bmi), numbers(tage) if tage != "1.5.5" else tage, day(am, form) if form else am]
        for ort, bmi, tage, am in ROWS
    ]
    quoted = [[f'"{c.replace(chr(34), chr(34) * 2)}"' for c in row] for row in rows]
    lines = [dialect.delimiter.join(line) for line in [list(COLUMNS), *quoted]]
    end = "\r\n" if dialect.line_end == "crlf" else "\n"
    return (end.join(lines) + end).encode(dialect.encoding)


def schema(dialect: Dialect | None, form: str | None):
    columns = {n: dict(c) for n, c in COLUMNS.items()}
    if form:
        columns["am"]["format"] = form
    return parse({"columns": columns, **({"dialect": dialect.model_dump()} if dialect else {})})


def positions(path, facts) -> dict[str, list[int]]:
    place = place_of(path).under(facts)
    place.check_form(list(COLUMNS))
    result = place.encoded(facts, Zero(), person=None, key=b"k" * 16).encoded
    return {n: np.asarray(result.positions[n]).tolist() for n in COLUMNS}


def plain(tmp_path) -> dict[str, list[int]]:
    path = tmp_path / "plain.csv"
    path.write_bytes(written(Dialect(), None))
    return positions(path, schema(None, None))


DIALECTS = {
    "hospital": (Dialect(encoding="windows-1252", delimiter=";", decimal=",", thousands="."), "dd.mm.yyyy HH:MM"),
    "utf-16": (Dialect(encoding="utf-16", delimiter="\t", line_end="crlf"), "yyyy/mm/dd HH:MM"),
    "utf-16-be": (Dialect(encoding="utf-16-be", decimal=",", delimiter=";"), None),
    "american": (Dialect(encoding="utf-8-sig", delimiter="|", line_end="crlf"), "mm/dd/yyyy hh:MM AM"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
def test_a_file_in_a_dialect_has_the_positions_of_its_plain_twin(tmp_path, name, packed):
    dialect, form = DIALECTS[name]
    if dialect.thousands is None and dialect.decimal == ",":
        dialect = dialect.model_copy(update={"thousands": "."})  # ``german`` writes them
    data = written(dialect, form)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    expected = plain(tmp_path)
    assert expected["bmi"][:2] == [123450, 500001]  # the plain file itself is read right
    assert expected["am"][5] == expected["am"][3]
    assert positions(path, schema(dialect, form)) == expected


BAD = {
    "hospital": [
        ("Köln", b"K\x81ln"),
        ("1.234,50", b"1,234.50"),
        ("31.01.2020 13:05", b"2020-01-31"),
        ("Köln", b"K\0ln"),
    ],
    "utf-16": [("1234.50", "1234,50".encode("utf-16-le")), ("Köln", b"K\0\x00\xd8l\0n\0"), ("Köln", b"\0\0x\0")],
    "american": [
        ("Köln", b"K\xf6ln"),
        ("Köln", b"\xe2\x82"),
        ("1/31/2020 1:05 PM", b"31/1/2020"),
        ("1234.50", b"1 234.50"),
    ],
}


@pytest.mark.parametrize(("name", "good", "bad"), [(n, g, b) for n, pairs in BAD.items() for g, b in pairs])
def test_a_cell_that_does_not_fit_changes_its_own_position_alone(tmp_path, name, good, bad):
    dialect, form = DIALECTS[name]
    code = "utf-16-le" if dialect.encoding == "utf-16" else dialect.encoding.removesuffix("-sig")
    data = written(dialect, form)
    assert data.count(good.encode(code)) == 1
    path, facts = tmp_path / "t.csv", schema(dialect, form)
    path.write_bytes(data)
    before = positions(path, facts)
    path.write_bytes(data.replace(good.encode(code), bad))
    after = positions(path, facts)
    at = {"Köln": "ort", "1.234,50": "bmi", "1234.50": "bmi"}.get(good, "am")
    lost = {"ort": 4, "bmi": 500001, "am": before["am"][3]}[at]  # the first missing code
    assert after[at][0] == lost
    after[at][0] = before[at][0]
    assert after == before


def test_bytes_that_are_no_text_in_a_plain_file_are_a_cells_fault(tmp_path):
    path, facts = tmp_path / "t.csv", schema(None, None)
    data = written(Dialect(), None)
    expected = plain(tmp_path)
    for bad in (b"K\xf6ln", b"K\0ln", b"K\xe2\x82"):
        path.write_bytes(data.replace("Köln".encode(), bad))
        result = positions(path, facts)
        assert result["ort"][0] == 4
        assert {n: v[1:] for n, v in result.items()} == {n: v[1:] for n, v in expected.items()}


def elsewhere(kind, frame, folder, request):
    """The place of a frame's texts in a source of this kind."""
    if kind == "frame":
        return place_of(frame)
    if kind == "postgres":
        engine = request.getfixturevalue("cluster")
        fill(engine, "t", pa.Table.from_pandas(frame), dict.fromkeys(frame.columns, "text"))
        return WarehousePlace(engine, "t")
    path = folder / ("t.xlsx" if kind == "xlsx" else "t.parquet")
    files.write(path, {n: frame[n].tolist() for n in frame})
    engines = {"duckdb": lambda: Engine("duckdb"), "spark": spark}
    return WarehousePlace(engines[kind](), str(path)) if kind in engines else place_of(path)


@pytest.mark.parametrize("kind", ["xlsx", "parquet", "frame", "duckdb", "postgres", SPARK])
@pytest.mark.long
def test_formats_hold_for_texts_in_other_sources(tmp_path, kind, request):
    plain_texts, reported = [r[3] for r in ROWS], [day(r[3], "dd.mm.yyyy HH:MM") for r in ROWS]
    facts = parse(
        facts_of(am={**COLUMNS["am"], "format": "dd.mm.yyyy HH:MM"}, bmi={**COLUMNS["bmi"], "format": "1.234,5"})
    )
    frame = pd.DataFrame({"am": reported * MANY, "bmi": [german(r[1]) for r in ROWS] * MANY})
    place = elsewhere(kind, frame, tmp_path, request)
    opened = place.under(facts).encoded(facts, Zero(), person=None, key=b"k" * 16)
    result = {n: np.asarray(opened.encoded.positions[n]) for n in facts.columns}
    if kind != "spark":  # where each question takes seconds
        learnt = learn_schema(
            place, schema=kinds(facts), epsilon=8.0, delta=1e-5, dataset=kind, ledger=tmp_path / "l"
        ).columns["am"]
        assert str(learnt.min)[:4] in ("2019", "2020")
        assert learnt.format == "dd.mm.yyyy HH:MM"
    bare = parse({"columns": {n: COLUMNS[n] for n in ("am", "bmi")}})
    twin = pd.DataFrame({"am": plain_texts * MANY, "bmi": [r[1] for r in ROWS] * MANY})
    expected = place_of(twin).encoded(bare, Zero(), person=None, key=b"k" * 16).encoded.positions
    for name in ("am", "bmi"):
        assert np.asarray(result[name]).tolist() == np.asarray(expected[name]).tolist()


def kinds(facts):
    """The schema without what can be learnt."""
    reported = json.loads(facts.to_json())["columns"]
    return parse(
        {"columns": {n: {k: c[k] for k in ("type", "format") if k in c} for n, c in reported.items()}}, complete=False
    )


def test_typed_numbers_need_no_format():
    facts = parse(facts_of(bmi={**COLUMNS["bmi"], "format": "1.234,5"}))
    frame = pd.DataFrame({"bmi": np.array([1.234, 1234.5], dtype=np.float32)})
    result = place_of(frame).under(facts).encoded(facts, Zero(), person=None, key=b"k" * 16).encoded.positions
    assert np.asarray(result["bmi"]).tolist() == [123, 123450]


def test_half_a_character_at_the_end_is_refused_before_anything_is_read(tmp_path):
    dialect, form = DIALECTS["utf-16"]
    path = tmp_path / "t.csv"
    path.write_bytes(written(dialect, form)[:-1])
    with pytest.raises(InputError, match="cut short"):
        place_of(path).under(schema(dialect, form)).check_form(list(COLUMNS))


WRITTEN_COLUMNS = {
    "nr": ID,
    "=ort": codes(
        "Köln", "Ürzig; Mosel", 'a"b|c', "zwei\nZeilen", "=1+1", "'=1+1", "tab\there", "it's", "-", nullable=True
    ),
    "bmi": number(-5, 5000, decimals=2, missing=["NA", "-", "999", ""]),
    "tage": number(-5, 9999, missing=["."]),
    "am": dated("1999-12-31T00:00:00", "2030-01-01T00:00:00", resolution="minute", missing=["N/A", ""]),
    "geb": dated("1950-01-01", "2049-12-31"),
}
WRITTEN_ROWS = 3000
WRITTEN_DIALECTS = {
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


def written_schema(name, **changed):
    dialect, clock, day = WRITTEN_DIALECTS[name]
    columns = {n: {**c, **changed.get(n, {})} for n, c in WRITTEN_COLUMNS.items()}
    columns["am"] |= {"format": clock} if clock else {}
    columns["geb"] |= {"format": day} if day else {}
    return parse({"columns": columns, **({"dialect": dialect} if dialect else {})})


def drawn(facts, rows=WRITTEN_ROWS):
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
@pytest.mark.parametrize("name", WRITTEN_DIALECTS)
def test_a_table_in_a_dialect_has_the_positions_of_the_plain_one(tmp_path, name, raw):
    facts = written_schema(name)
    assert cell_formats.problem(facts) is None
    places, texts = drawn(facts)
    blocks = [{n: a.slice(i, 1000) for n, a in texts.items()} for i in range(0, WRITTEN_ROWS, 1000)]
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
    facts = written_schema("hospital")
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
    form = cell_formats.form_of(written_schema("american").columns["am"], None)
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
    facts = written_schema(name, **changed)
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
    assert cell_formats.problem(written_schema("hospital", bmi={"missing": ["999,0", "1.234", "9999,00"]})) is None
    assert cell_formats.problem(parse({"columns": WRITTEN_COLUMNS})) is None


def test_release_bundle_refit_and_sample_carry_the_table_in_its_dialect(tmp_path, command):
    facts = written_schema("hospital")
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
