"""Drawn cells of every type that an engine reads, questions about them, and whether two sources count alike."""

import datetime as dt

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from synth.mechanisms import counts
from synth.privacy.noise import SeededNoise
from synth.questions import Bins, Counts, Marginal
from synth.schema.table import Schema, parse
from synth.sources.formats.text_table import Table
from synth.sources.rows.encoded import EncodedRows
from synth.sources.rows.encoding import Batch, Encoder
from synth.sources.table_source import Place
from tests.made import codes, dated, facts_of, number

TYPES = pa.schema(
    [
        ("i", pa.int64()),
        ("k", pa.int16()),
        ("x", pa.float64()),
        ("t", pa.string()),
        ("n", pa.string()),
        ("d", pa.date32()),
        ("m", pa.timestamp("us")),
    ]
)
POSTGRES = {
    "i": "bigint",
    "k": "smallint",
    "x": "double precision",
    "t": "text",
    "n": "varchar(40)",
    "d": "date",
    "m": "timestamp",
}
LAW = settings(deadline=None, suppress_health_check=list(HealthCheck))
numbers = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 0.125, 9.75, 10.25, 5e-324, -5e-324, 1e308, -1e308]),
    st.sampled_from([float("nan"), float("inf"), float("-inf"), 99.0, 0.1 + 0.2, 4.35, 1e15, 2.675]),
    st.floats(-3, 13),
    st.floats(),
)
whole = st.one_of(
    st.integers(-8, 30),
    st.sampled_from([99, -(2**63), 2**63 - 1, 2**53 + 1]),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(10**18 - 9, 10**18 + 30),
)
words = st.one_of(
    st.sampled_from(
        ["a", " a", "b\u00a0", "3", "3.0", "03", "", "?", "it's", "it's ", 'quo"te', "back\\slash", "\\", "é", "%s"]
    ),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=4),
)
digits = st.one_of(
    st.sampled_from(["1", "1.0", " 2", "1e1", "-0", "nan", "inf", "99", "1_0", "0.5", "2.5", "1e999"]),
    st.integers(-3, 12).map(str),
    st.floats(-2, 12).map(str),
)
days = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)) | st.dates(dt.date(1999, 12, 20), dt.date(2000, 3, 1))
moments = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)) | st.datetimes(
    dt.datetime(1999, 12, 31, 20), dt.datetime(2000, 1, 2)
)
narrow = st.integers(-(2**15), 2**15 - 1) | st.integers(-2, 9)
row = st.tuples(*(st.none() | s for s in (whole, narrow, numbers, words, digits, days, moments)))
rows = st.lists(row, min_size=1, max_size=30)


def schema_of(*, low: float, step: float, coded: bool, whole: int = 0, by: int = 1) -> Schema:
    """Columns of every kind that is compiled; none is without a missing code, so that no cell is drawn at random."""
    missing = ["99", "", "?"] if coded else [""]
    return parse(
        facts_of(
            i={"type": "integer", "min": whole - 5, "max": whole + 19, "resolution": by, "missing": missing},
            k=codes("1", "2", "3", "7", "5.0", missing=missing),
            x=number(low, low + 10 * step, resolution=step, missing=missing[:2]),
            t=codes("a", "3", "it's", "back\\slash", 'quo"te', missing=["", "?"]),
            n=number(0, 10, decimals=1, missing=missing),
            d=dated("2000-01-01", "2000-02-15", nullable=True),
            m=dated("2000-01-01", "2000-01-02", resolution="hour", nullable=True),
        )
    )


schemas = st.builds(
    schema_of,
    low=st.sampled_from([0.0, -0.3, 0.1]),
    step=st.sampled_from([0.1, 0.25, 1.0, 0.3]),
    coded=st.booleans(),
    whole=st.sampled_from([0, 10**18]),
    by=st.sampled_from([1, 3]),
)


def compiled(schema: Schema) -> Schema:
    """Without the numbers that are kept as text: engines leave those to the codec."""
    return schema.model_copy(update={"columns": {n: c for n, c in schema.columns.items() if n != "n"}})


def question_of(schema: Schema, *, seed: int, every_pair: bool = True) -> Counts:
    """Every column alone, pairs on random groups that may leave positions out, and tables of three and four.

    Without ``every_pair`` each column is in one pair alone.
    """
    rng = np.random.default_rng(seed)
    columns = schema.measured()
    bins = {n: grouped(n, c.cells, rng) for n, c in columns.items()}
    names = list(columns)
    tables = [(Bins.each(n, c.cells),) for n, c in columns.items()]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    tables += [(bins[a], bins[b]) for a, b in (pairs if every_pair else zip(names[::2], names[1::2], strict=False))]
    tables += [(bins["t"], bins["i"], bins["d"]), (bins["m"], bins["i"], bins["k"]), (bins["k"], bins["t"], bins["x"])]
    tables += [(bins["d"], bins["t"], bins["i"], bins["k"])]
    return Counts(purpose="law", marginals=tuple(Marginal(bins=t, sigma=2.0) for t in tables))


def grouped(name: str, cells: int, rng: np.random.Generator) -> Bins:
    size = int(rng.integers(1, cells + 1))
    starts = np.append(0, np.sort(rng.choice(np.arange(1, cells), size - 1, replace=False)))
    groups = rng.integers(-1, 4, size)
    _, dense = np.unique(groups[groups >= 0], return_inverse=True)
    groups[groups >= 0] = dense
    groups[0] = max(groups[0], 0)
    _, dense = np.unique(groups[groups >= 0], return_inverse=True)
    groups[groups >= 0] = dense
    return Bins(column=name, cells=cells, starts=starts, groups=groups)


def arrow(cells: list[tuple]) -> pa.Table:
    columns = list(zip(*cells, strict=True))
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, TYPES, strict=True)], schema=TYPES)


def in_frames(table: pa.Table, schema: Schema) -> EncodedRows:
    encoder = Encoder(schema, SeededNoise(1))
    encoder.add(Batch(table=Table({n: table.column(n) for n in table.column_names}, num_rows=table.num_rows)))
    return encoder.spill


def at(place: Place, schema: Schema) -> EncodedRows:
    opened = place.encoded(schema, SeededNoise(1), person=None, key=b"k" * 16)
    assert isinstance(opened.encoded.positions, EncodedRows)
    return opened.encoded.positions


def same(left: EncodedRows, right: EncodedRows, question: Counts) -> None:
    """With equal noise equal releases, and so equal counts; and as many rows."""
    reported = counts.answer(question, left, SeededNoise(7)), counts.answer(question, right, SeededNoise(7))
    for marginal, a, b in zip(question.marginals, reported[0].values, reported[1].values, strict=True):
        assert a.tolist() == b.tolist(), marginal.columns
    assert left.num_rows == right.num_rows


def hard_rows(rng: np.random.Generator) -> list[tuple]:
    """Rows of the cells that are hardest to read alike, each several times, in random company."""
    whole_ = [None, -8, 0, 3, 20, 21, 99, -(2**63), 2**63 - 1, 2**53 + 1]
    small = [None, -1, 1, 2, 3, 5, 7, 99, 2**15 - 1, -(2**15)]
    doubles = [
        None,
        0.0,
        -0.0,
        0.5,
        1.5,
        2.5,
        0.125,
        9.75,
        5e-324,
        1e308,
        -1e308,
        float("nan"),
        float("inf"),
        float("-inf"),
        99.0,
        0.1 + 0.2,
        2.675,
        0.05,
        0.15,
        -0.25,
        -0.15,
    ]
    texts = [None, "a", " a", "b\u00a0", "3", "3.0", "03", "", "?", "it's", 'quo"te', "back\\slash", "é", "%s", "\t3"]
    written = [None, "1", "1.0", " 2", "1e1", "-0", "nan", "inf", "99", "1_0", "0.5", "2.5", "1e999", "0.25", "x"]
    dates = [
        None,
        dt.date(1, 1, 1),
        dt.date(1999, 12, 31),
        dt.date(2000, 1, 1),
        dt.date(2000, 2, 15),
        dt.date(9999, 12, 31),
    ]
    times = [
        *(None, dt.datetime(1, 1, 1), dt.datetime(1999, 12, 31, 23, 59, 59, 999999), dt.datetime(2000, 1, 1)),
        *(dt.datetime(2000, 1, 1, 10, 59, 59, 999999), dt.datetime(2000, 1, 2, 1), dt.datetime(9999, 12, 31)),
    ]
    columns = [whole_, small, doubles, texts, written, dates, times]
    return [
        tuple(c[int(i)] for c, i in zip(columns, rng.integers(0, [len(c) for c in columns]), strict=True))
        for _ in range(400)
    ]
