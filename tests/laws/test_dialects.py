"""Law: a file in another dialect has the positions of its plain twin, and a cell that does not fit is its own fault."""

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synth.errors import InputError
from synth.pipeline.run import learn_schema
from synth.schema.dialect import Dialect
from synth.schema.table import parse
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.formats import files
from synth.sources.table_source import place_of
from tests.engines import SPARK, fill, spark
from tests.made import codes, dated, facts_of, number

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
