"""Cells of every type that a source has, at its ends and beyond: a table of cases by source, and how each is written.

``CASES[source][name]`` is (type, ordinary cells, hostile cells) in the source's own words: Arrow's numbers, SQL, bytes
of a file. A column of the type stands once for each kind of column that a schema knows.
"""

import sqlite3
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt
import pyreadstat
from openpyxl.chart import BarChart

from synth.schema.table import parse
from synth.sources.engines.engine import Engine
from synth.sources.engines.sqlite import SqliteFile, SqlitePlace
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.table_source import FramePlace, Place, place_of
from tests.made import codes, dated, facts_of, number

SCHEMA = parse(
    facts_of(
        t=codes("a", "1", "True", missing=["?"]),
        n=number(0, 9, nullable=True),
        x=number(0, 9, decimals=1, nullable=True),
        d=dated("2020-01-01", "2020-01-09", nullable=True),
    )
)
KINDS = list(SCHEMA.columns)
Case = tuple[object, list, list]
ENDS = [-(2**63), -(2**63) + 1, 2**63 - 1, 2**63 - 2, 2**62, -(2**62), 10**16, -(10**16), 0, None]
FLOATS = [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1e308, -1e308, None]
BROKEN = [b"\xe9", b"a\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"1\xe9", b"\0", b"a\0", b"", None]
NOON = 1_577_966_400


def is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string())


def ints(bits: int, *, signed: bool = True) -> list:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return [low, low + 1, high, high - 1, None]


def broken(kind: pa.DataType, cells: list) -> pa.Array:
    """Bytes that call themselves text."""
    held = pa.array(cells, pa.large_binary() if kind == pa.large_string() else pa.binary())
    return pa.Array.from_buffers(kind, len(held), held.buffers())


def column(kind: object, cells: list) -> pa.Array:
    """An Arrow column of these cells: whole numbers for times, bytes for texts."""
    if isinstance(kind, pa.DictionaryType) and not is_text(kind.value_type):
        coded = column(kind.value_type, cells).dictionary_encode()
        return pa.DictionaryArray.from_arrays(coded.indices.cast(kind.index_type), coded.dictionary)
    if isinstance(kind, pa.DictionaryType):
        coded = pa.array(cells, pa.binary()).dictionary_encode()
        texts = broken(kind.value_type, coded.dictionary.to_pylist())
        return pa.DictionaryArray.from_arrays(coded.indices.cast(kind.index_type), texts)
    if is_text(kind):
        return broken(kind, cells)
    if pt.is_date32(kind):
        return pa.array(cells, pa.int32()).view(kind)
    if pt.is_timestamp(kind) or pt.is_date64(kind) or pt.is_time64(kind) or pt.is_duration(kind):
        return pa.array(cells, pa.int64()).view(kind)
    return pa.array(cells, kind)


TEXT = [b"a", b"1", b"2020-01-02", b" a "]
ARROW: dict[str, Case] = {
    **{f"int{b}": (getattr(pa, f"int{b}")(), [1, 3], ints(b)) for b in (8, 16, 32, 64)},
    **{f"uint{b}": (getattr(pa, f"uint{b}")(), [1, 3], ints(b, signed=False)) for b in (8, 16, 32, 64)},
    "float16": (pa.float16(), [1.0, 2.5], [float("nan"), float("inf"), -0.0, 6e-8, None]),
    "float32": (pa.float32(), [1.0, 2.5], [*FLOATS[:4], 1e-45, 3e38, None]),
    "float64": (pa.float64(), [1.0, 2.5], FLOATS),
    "decimal": (pa.decimal128(38, 10), [1, 3], [10**27, -(10**27), None]),
    "wide decimal": (pa.decimal256(76, 2), [1, 3], [10**73, -(10**73), None]),
    "truth": (pa.bool_(), [True], [False, None]),
    "text": (pa.string(), TEXT, BROKEN),
    "large text": (pa.large_string(), TEXT, BROKEN),
    "listed text": (pa.dictionary(pa.int32(), pa.string()), TEXT, BROKEN),
    "date32": (pa.date32(), [18263, 18270], [-(2**31), 2**31 - 1, -719_529, 2_932_897, None]),
    "date64": (pa.date64(), [18263 * 86_400_000], [86_400_000 * k for k in (-(10**11), 10**11)] + [None]),
    **{
        f"time {u}": (pa.timestamp(u), [NOON * s, NOON * s + 1], ENDS)
        for u, s in {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}.items()
    },
    "zoned": (pa.timestamp("us", "UTC"), [NOON * 10**6], ENDS),
    "bytes": (pa.binary(), TEXT, BROKEN),
    "clock": (pa.time64("us"), [10**6], [0, 86_399_999_999, None]),
    "list": (pa.list_(pa.int64()), [[1]], [[], [None], None]),
    "struct": (pa.struct([("a", pa.int64())]), [{"a": 1}], [{"a": None}, None]),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)]], [[], None]),
    "duration": (pa.duration("us"), [10**6], ENDS),
    "clock of 32 bits": (pa.time32("ms"), [10**3], [0, 86_399_999, None]),
    "nothing": (pa.null(), [None], [None, None]),
    "bytes of one length": (pa.binary(2), [b"ab"], [b"\xff\xfe", b"\0\0", None]),
    "viewed text": (pa.string_view(), TEXT, ["", "\0", "x" * 100, None]),
    "listed text, small and large": (pa.dictionary(pa.uint8(), pa.large_string()), TEXT, BROKEN),
    "listed numbers": (pa.dictionary(pa.int8(), pa.int64()), [1, 3], ints(64)),
    "listed doubles": (pa.dictionary(pa.int16(), pa.float64()), [1.0, 2.5], FLOATS),
    "listed times": (pa.dictionary(pa.int32(), pa.timestamp("us")), [NOON * 10**6], ENDS),
    "listed bytes": (pa.dictionary(pa.int32(), pa.binary()), TEXT, BROKEN),
    "list of texts": (pa.list_(pa.string()), [["a"]], [["", None], ["\0"], None]),
    "list of structs": (
        pa.list_(pa.struct([("a", pa.timestamp("us")), ("b", pa.string())])),
        [[{"a": 0, "b": "a"}]],
        [[{"a": 2**63 - 1, "b": None}], [None], [], None],
    ),
    "large list": (pa.large_list(pa.float64()), [[1.0]], [[float("nan")], [], None]),
    "list of one length": (pa.list_(pa.int64(), 2), [[1, 2]], [[None, None], None]),
    "struct of structs": (
        pa.struct([("a", pa.struct([("b", pa.list_(pa.int64()))]))]),
        [{"a": {"b": [1]}}],
        [{"a": {"b": None}}, {"a": None}, None],
    ),
}
IN_PARQUET = {n: c for n, c in ARROW.items() if n != "time s"}  # it holds milliseconds at the least
IN_DUCKDB = {n: c for n, c in ARROW.items() if c[0] not in (pa.float16(), pa.decimal256(76, 2)) and "text" not in n}
DUCKDB: dict[str, Case] = {
    "HUGEINT": (
        "HUGEINT",
        ["1", "3"],
        ["(-170141183460469231731687303715884105728)", "170141183460469231731687303715884105727"],
    ),
    "UHUGEINT": ("UHUGEINT", ["1"], ["340282366920938463463374607431768211455", "0"]),
    "DECIMAL(38,10)": ("DECIMAL(38,10)", ["1", "2.5"], ["9999999999999999999999999999", "NULL"]),
    "FLOAT": ("FLOAT", ["1"], ["'nan'", "'inf'", "'-inf'", "'-0'", "'1e-45'"]),
    "DOUBLE": ("DOUBLE", ["1"], ["'nan'", "'inf'", "'-inf'", "'-0'", "'5e-324'"]),
    "VARCHAR": ("VARCHAR", ["'a'", "'1'"], ["chr(0)", "'a' || chr(0)", "''", "repeat('7', 100000)", "NULL"]),
    "BOOLEAN": ("BOOLEAN", ["true"], ["false", "NULL"]),
    "DATE": (
        "DATE",
        ["'2020-01-02'"],
        ["'infinity'", "'-infinity'", "'5877641-06-24 (BC)'", "'5881580-07-10'", "'0001-01-01 (BC)'"],
    ),
    "TIMESTAMP": (
        "TIMESTAMP",
        ["'2020-01-02'"],
        ["'infinity'", "'-infinity'", "'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'"],
    ),
    "TIMESTAMPTZ": ("TIMESTAMPTZ", ["'2020-01-02'"], ["'infinity'"]),
    "TIME": ("TIME", ["'01:02:03'"], ["'24:00:00'", "'00:00:00'", "NULL"]),
    "TIMETZ": ("TIMETZ", ["'01:02:03+01'"], ["'24:00:00-15:59:59'", "NULL"]),
    "INTERVAL": ("INTERVAL", ["'1 day'"], ["INTERVAL (2147483647) MONTHS", "INTERVAL (-2147483648) DAYS", "NULL"]),
    "UUID": (
        "UUID",
        ["'00000000-0000-0000-0000-000000000001'"],
        ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    ),
    "BIT": ("BIT", ["'101'"], ["'0'", "repeat('1', 9999)::BIT", "NULL"]),
    "BLOB": ("BLOB", ["'a'::BLOB"], ["'\\xFF'::BLOB", "''::BLOB"]),
    "ENUM": ("ENUM('a', '1', '')", ["'a'"], ["''", "NULL"]),
    "LIST": ("INTEGER[]", ["[1]"], ["[]", "[NULL]", "NULL"]),
    "STRUCT": ("STRUCT(a INTEGER)", ["{'a': 1}"], ["{'a': NULL}", "NULL"]),
    "MAP": ("MAP(VARCHAR, INTEGER)", ["MAP {'a': 1}"], ["MAP {}", "NULL"]),
    "UNION": ("UNION(a INTEGER, b VARCHAR)", ["1::INTEGER"], ["'x'", "NULL"]),
    "BIGNUM": ("BIGNUM", ["'1'"], ["repeat('9', 5000)", "NULL"]),
}
POSTGRES: dict[str, Case] = {
    "smallint": ("smallint", ["1"], ["-32768", "32767"]),
    "bigint": ("bigint", ["1"], [str(-(2**63)), str(2**63 - 1)]),
    "oid": ("oid", ["1"], ["4294967295", "0"]),
    "numeric": ("numeric", ["1", "2.5"], ["NaN", "Infinity", "-Infinity", "1" + "0" * 9000, "0." + "0" * 9000 + "1"]),
    "real": ("real", ["1"], ["NaN", "Infinity", "-0", "1e-45"]),
    "double": ("double precision", ["1"], ["NaN", "Infinity", "-Infinity", "-0", "5e-324"]),
    "text": ("text", ["a", "1"], ["", "7" * 100_000, "\x01", "\ufffd", None]),
    "char": ("char(5)", ["a"], ["", None]),
    "boolean": ("boolean", ["t"], ["f", None]),
    "date": ("date", ["2020-01-02"], ["infinity", "-infinity", "4713-01-01 BC", "5874897-12-31"]),
    "timestamp": ("timestamp", ["2020-01-02"], ["infinity", "-infinity", "4713-01-01 BC", "294276-12-31"]),
    "timestamptz": ("timestamptz", ["2020-01-02"], ["infinity"]),
    "time": ("time", ["01:02:03"], ["24:00:00", None]),
    "timetz": ("timetz", ["01:02:03+01"], ["24:00:00-15:59:59", None]),
    "interval": ("interval", ["1 day"], ["178000000 years", "-178000000 years", None]),
    "uuid": ("uuid", ["00000000-0000-0000-0000-000000000001"], ["ffffffff-ffff-ffff-ffff-ffffffffffff"]),
    "bit": ("bit(3)", ["101"], ["000", None]),
    "varbit": ("varbit", ["1"], ["", "1" * 9999]),
    "bytea": ("bytea", ["\\x61"], ["\\xff", ""]),
    "json": ("json", ["1"], ['{"a": [null]}', '"\\ud800"', "null"]),
    "jsonb": ("jsonb", ["1"], ['{"a": [null]}', "null"]),
    "inet": ("inet", ["10.0.0.1"], ["::/0", None]),
    "macaddr": ("macaddr", ["08:00:2b:01:02:03"], ["ff:ff:ff:ff:ff:ff", None]),
    "point": ("point", ["(1,2)"], ["(NaN,Infinity)", None]),
    "money": ("money", ["1"], ["-92233720368547758.08", None]),
    "array": ("integer[]", ["{1}"], ["{}", "{NULL}", None]),
    "range": ("int4range", ["[1,2)"], ["empty", "(,)"]),
    "tsvector": ("tsvector", ["a"], ["", None]),
    "enum": ("mood", ["a"], ["", None]),
    "composite": ("pair", ["(1,a)"], ["(,)", None]),
}
SQLITE: dict[str, Case] = {
    affinity or "none": (
        affinity,
        ["1", "'a'", "'2020-01-02'"],
        [
            "NULL",
            "''",
            "x''",
            "x'ff'",
            "CAST(x'ff' AS TEXT)",
            "CAST(x'6100' AS TEXT)",
            "char(0)",
            "char(55296)",
            "-9223372036854775808",
            "9223372036854775807",
            "9e999",
            "-9e999",
            "-0.0",
            "5e-324",
            "1e308",
            "zeroblob(9)",
        ],
    )
    for affinity in ("", "TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB")
}
CSV: dict[str, Case] = {
    "fields": (
        None,
        [b"a", b"1", b"2020-01-02"],
        [
            *(c for c in BROKEN if c),
            b'""',
            b'"a\n1"',
            b'"a""b"',
            b"\xef\xbb\xbf",
            b"\xe2\x80\xa8",
            b"nan",
            b"-inf",
            b"1e999",
            b"9" * 5000,
            b"99999-01-01",
            b"\x1a",
            b"=1+1",
            b"'=1",
            b"\\",
            b"\\N",
            b"NULL",
        ],
    )
}
V, IS = "<v>{}</v>", "<is><t>{}</t></is>"
ORDINARY = ['<c t="inlineStr"><is><t>a</t></is></c>', "<c><v>1</v></c>", '<c t="d"><v>2020-01-02</v></c>']
ESCAPES = ["_xD800_", "_xDFFF_", "a_xDC00_", "_xD83D__xDE00_", "_xDE00__xD83D_", "_x0000_", "_x0001_", "_xFFFF_"]
ESCAPES += ["_x005F_xD800_", "_xD800", "_xZZZZ_", "&amp;lt;", "&#x1;"[:0], "<![CDATA[<mergeCell ref='A1:B2'/>]]>"]
ESCAPES += ["<!-- <mergeCell/> -->", "<?pi <mergeCell/>?>"]
NUMBERS = [
    "9" * 5000,
    "-" + "9" * 5000,
    "NaN",
    "INF",
    "-INF",
    "inf",
    "1e999",
    "1_0",
    "0x10",
    "",
    " 1 ",
    "\u0661",
    "1e",
    "--1",
]
XLSX: dict[str, Case] = {
    "inline": ("", ORDINARY, [f'<c t="inlineStr">{IS.format(e)}</c>' for e in ESCAPES]),
    "formula text": ("", ORDINARY, [f'<c t="str">{V.format(e)}</c>' for e in ESCAPES]),
    "rich": (
        "",
        ORDINARY,
        [
            '<c t="inlineStr"><is><r><rPr><sz val="x"/></rPr><t>_xD800_</t></r><r><t>b</t></r></is></c>',
            '<c t="inlineStr"><is><rPh sb="x" eb="-1"><t>a</t></rPh><t>a</t></is></c>',
            '<c t="inlineStr"><is/></c>',
            '<c t="inlineStr"/>',
            '<c t="inlineStr"><is><t/><odd/></is></c>',
        ],
    ),
    "number": ("", ORDINARY, [f"<c{t}><v>{n}</v></c>" for n in NUMBERS for t in ("", ' t="n"')]),
    "dated": (
        "",
        ORDINARY,
        [f'<c s="1"><v>{n}</v></c>' for n in [*NUMBERS, "-1", "2958466", "1e300", "60", "0.9999999"]],
    ),
    "style": ("", ORDINARY, [f'<c s="{s}"><v>1</v></c>' for s in ("99999", "-1", "x", "")]),
    "date": (
        "",
        ORDINARY,
        [
            f'<c t="d"><v>{d}</v></c>'
            for d in (
                "2020-02-30",
                "99999-01-01",
                "x",
                "",
                "2020-01-01T99:00:00",
                "24:00:00",
                "P1D",
                "-0001-01-01",
                "2020-01-02T00:00:00Z",
            )
        ],
    ),
    "truth": (
        "",
        ORDINARY,
        [f'<c t="b"><v>{b}</v></c>' for b in ("1", "0", "true", "yes", "2", "", "-1", "1.0", "9" * 5000)],
    ),
    "shared": ("", ORDINARY, [f'<c t="s"><v>{i}</v></c>' for i in (*range(7), 99, -1, "x", "", "9" * 5000)]),
    "error": ("", ORDINARY, [f'<c t="e"><v>{e}</v></c>' for e in ("#DIV/0!", "#N/A", "_xD800_", "")]),
    "odd": (
        "",
        ORDINARY,
        ["<c/>", '<c t="odd"><v>1</v></c>', "<c><f>1/0</f></c>", "<c><f>1</f><v/></c>", "<c><v>1</v><v>2</v></c>"],
    ),
}
SHARED = "".join(
    f"<si>{t}</si>"
    for t in (
        "<t>_xD800_</t>",
        "<t/>",
        "",
        "<r><rPr><sz val='x'/></rPr><t>a</t></r>",
        "<t>_x005F_xDC00_</t>",
        "<rPh sb='x' eb='y'><t>b</t></rPh>",
        "<phoneticPr fontId='x'/><t>1</t>",
    )
)
CASES: dict[str, dict[str, Case]] = {
    "csv": CSV,
    "xlsx": XLSX,
    "xlsx of several sheets": XLSX,
    "parquet": IN_PARQUET,
    "parquet by duckdb": IN_PARQUET,
    "spark": IN_PARQUET,
    "arrow frame": ARROW,
    "duckdb of arrow": IN_DUCKDB,  # DuckDB itself stores no text that is none
    "duckdb": DUCKDB,
    "sqlite": SQLITE,
    "postgres": POSTGRES,
}
_ONES = [struct.pack("<d", v) for v in (float("inf"), -float("inf"), -0.0, 5e-324, 1.7e308, -1.7e308)]
_ONES += [
    struct.pack("<Q", bits) for bits in (0x7FF8000000000001, 0xFFF0DEADBEEF0000, 0xFFEFFFFFFFFFFFFF)
]  # SPSS's own
_STATA = [struct.pack("<Q", 0x7FE0000000000000 + (k << 40)) for k in (0, 1, 26, 27)]  # missing: ., .a, .z, and beyond
_SAS = [bytes([b]) + bytes(7) for b in b".A_Z!"] + [
    bytes(8),
    b" " * 8,
    b"\xff" * 8,
    b"\x7f" + b"\xff" * 7,
    b"\0" * 7 + b"1",
]
_WORDS = [
    b"\xe9",
    b"a\xff",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xc0\x80",
    b"1\xe9",
    b"\0",
    b"a\0b",
    b"",
    b"\x85\x81",
]
LABELLED: dict[str, dict[str, Case]] = {
    ending: {
        "words": ("", TEXT, _WORDS),
        "double": ("double", [1, 3], odd),
        "day": (day, [days, days + 7 * of_day], odd),
        "moment": (moment, [days * of_moment, days * of_moment + 1], odd),
    }
    for ending, day, moment, days, of_day, of_moment, odd in (
        ("dta", "%td", "%tc", 21_916, 1, 86_400_000, _ONES + _STATA),
        ("sav", "DATE11", "DATETIME20", 13_797_302_400, 86_400, 1, _ONES),
        ("xpt", "DATE9", "DATETIME20", 21_916, 1, 86_400, _SAS),
    )
}
CASES |= LABELLED
Columns = dict[str, tuple[object, list]]  # by name: a type of the source's, and cells, as many in each
Writer = Callable[[Path, str, Columns], Place]
SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def every_kind(kind: object, cells: list) -> Columns:
    """The cells under each kind of column that a schema knows."""
    return dict.fromkeys(KINDS, (kind, cells))


def rows_of(columns: Columns) -> list[tuple]:
    return list(zip(*(cells for _, cells in columns.values()), strict=True))


def table(columns: Columns) -> pa.Table:
    return pa.table({n: column(kind, cells) for n, (kind, cells) in columns.items()})


def parquet(path: Path, name: str, columns: Columns) -> Path:
    pq.write_table(table(columns), path / f"{name}.parquet")
    return path / f"{name}.parquet"


def in_csv(path: Path, name: str, columns: Columns) -> Place:
    lines = [",".join(columns).encode(), *map(b",".join, rows_of(columns))]
    (path / f"{name}.csv").write_bytes(b"\n".join(lines) + b"\n")
    return place_of(path / f"{name}.csv")


def in_xlsx(path: Path, name: str, columns: Columns) -> Place:
    return workbook(path, name, columns, openpyxl.Workbook())


def in_sheets(path: Path, name: str, columns: Columns) -> Place:
    """The table's sheet is hidden among others that hold no cell, one of them of charts."""
    book = openpyxl.Workbook()
    book.create_sheet("empty")
    book.create_chartsheet("chart").add_chart(BarChart())
    book.active.sheet_state, book.active = "hidden", 1
    return workbook(path, name, columns, book)


def workbook(path: Path, name: str, columns: Columns, book: openpyxl.Workbook) -> Place:
    """A workbook whose first sheet has the table, whose second style is one of dates; shared texts of every kind."""
    sheet = book.worksheets[0]
    sheet.append(["x", 1])
    sheet["B1"].number_format = "yyyy-mm-dd"
    book.save(path / "empty")
    head = "".join(f'<c t="inlineStr"><is><t>{n}</t></is></c>' for n in columns)
    rows = "".join(f"<row>{r}</row>" for r in [head, *map("".join, rows_of(columns))])
    parts = {
        "xl/worksheets/sheet1.xml": f"<worksheet {SPACE}><sheetData>{rows}</sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst {SPACE}>{SHARED}</sst>",
    }
    with zipfile.ZipFile(path / "empty") as old, zipfile.ZipFile(path / f"{name}.xlsx", "w") as new:
        for part in old.namelist():
            new.writestr(part, parts.get(part, old.read(part)))
    (path / "empty").unlink()
    return place_of(path / f"{name}.xlsx")


def in_frame(_: Path, __: str, columns: Columns) -> Place:
    return FramePlace(table(columns).to_pandas(types_mapper=pd.ArrowDtype))


def in_duckdb(path: Path, name: str, columns: Columns) -> Place:
    with closing(duckdb.connect(path / "t.duckdb")) as con:
        con.execute(f"CREATE TABLE {name} ({', '.join(f'{n} {kind}' for n, (kind, _) in columns.items())})")
        for row in rows_of(columns):
            cells = (f"CAST({c} AS {kind})" for c, (kind, _) in zip(row, columns.values(), strict=True))
            con.execute(f"INSERT INTO {name} SELECT {', '.join(cells)}")
    return WarehousePlace(Engine(f"duckdb:///{path}/t.duckdb"), name)


def of_arrow(path: Path, name: str, columns: Columns) -> Place:
    """Each cell as Arrow hands it over, which is how any 64 bits become a time of DuckDB."""
    with closing(duckdb.connect(path / "t.duckdb")) as con:
        con.register("given", table(columns))
        con.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return WarehousePlace(Engine(f"duckdb:///{path}/t.duckdb"), name)


def in_sqlite(path: Path, name: str, columns: Columns) -> Place:
    with closing(sqlite3.connect(path / "t.db")) as con, con:
        con.execute(f"CREATE TABLE {name} ({', '.join(f'{n} {kind}' for n, (kind, _) in columns.items())})")
        for row in rows_of(columns):
            con.execute(f"INSERT INTO {name} SELECT {', '.join(row)}")
    return SqlitePlace(SqliteFile(f"sqlite:///{path}/t.db"), name)


def in_labelled(ending: str) -> Writer:
    """Cells that are bytes are put into the file where it holds a cell that stands for them alone."""

    def write(path: Path, name: str, columns: Columns) -> Place:
        frame, put, forms = {}, {}, {}
        for i, (n, (kind, cells)) in enumerate(columns.items()):
            frame[n] = []
            for j, cell in enumerate(cells):
                code, odd = 2**20 + 2**10 * i + j, isinstance(cell, bytes)
                frame[n].append(cell if not odd else float(code) if kind else f"@{code:010}@")
                if odd and kind:
                    put[struct.pack(">Q", 70 << 56 | code << 32) if ending == "xpt" else struct.pack("<d", code)] = cell
                elif odd:
                    put[f"@{code:010}@".encode()] = cell.ljust(12, b"\0" if ending == "dta" else b" ")
            forms |= {n: kind} if str(kind) not in ("", "double") else {}
        labelled_files = {"dta": pyreadstat.write_dta, "sav": pyreadstat.write_sav, "xpt": pyreadstat.write_xport}
        labelled_files[ending](
            pd.DataFrame(frame).astype({n: float for n in columns if columns[n][0]}),
            path / "made",
            variable_format=forms,
        )
        content = (path / "made").read_bytes()
        for old, new in put.items():
            assert content.count(old) == 1
            content = content.replace(old, new)
        (path / "made").unlink()
        (path / f"{name}.{ending}").write_bytes(content)
        return place_of(path / f"{name}.{ending}")

    return write


WRITERS: dict[str, Writer] = {
    **{ending: in_labelled(ending) for ending in LABELLED},
    "csv": in_csv,
    "xlsx": in_xlsx,
    "xlsx of several sheets": in_sheets,
    "parquet": lambda p, n, c: place_of(parquet(p, n, c)),
    "parquet by duckdb": lambda p, n, c: WarehousePlace(Engine("duckdb"), str(parquet(p, n, c))),
    "arrow frame": in_frame,
    "duckdb": in_duckdb,
    "duckdb of arrow": of_arrow,
    "sqlite": in_sqlite,
}
