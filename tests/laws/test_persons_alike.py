"""One person however written, and never two persons in one, through every reader: canonical first, then shortened."""

import contextlib
import hashlib
import re
import secrets
import sqlite3
import unicodedata

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.pipeline import private_rows
from synth.privacy.noise import SystemNoise
from synth.questions import Bins
from synth.schema.names import UNSEEN
from synth.schema.table import canonical, parse
from synth.sources.formats import files
from synth.sources.formats.text_table import Text
from synth.sources.rows import spill
from synth.sources.rows.forest import coded
from synth.sources.rows.spill import LONG, Persons, keep, keep_parts
from tests.made import ID, facts_of, number

WIDE = " " * (LONG + 50)
LONGER = "x" * (LONG + 50)
NAMES = [
    "ann",
    "Ann",
    "jos\u00e9 \ud55c",
    "7",
    "-12",
    "x" * LONG,
    LONGER,
    LONGER + "y",
    "\u00e9" * LONG,
    "9" * (LONG + 1),
    "1" * LONG + ".5",
]
SPELLED = [hashlib.blake2b(LONGER.encode(), digest_size=32).hexdigest()]
MOST = 2
SCHEMA = parse(facts_of(id=ID, i=number(0, 999)) | {"unit": "id", "max_rows": MOST})


def spellings(name):
    """The ways in which one identifier may be written."""
    zero = [f"{name}.0", f"{name}.00{WIDE}", f" {name}.{'0' * LONG}"] if name.lstrip("-").isdigit() else []
    wide = name.translate({c: c + 0xFEE0 for c in range(ord("!"), ord("~") + 1)})
    unseen = [name[:1] + sign + name[1:] for sign in ("\u200b", "\u00ad", "\ufeff", "\ufe0f", "\u2060" * LONG)]
    apart = unicodedata.normalize("NFD", name)
    return [
        name,
        f" {name}",
        name + WIDE,
        WIDE + name,
        f"\t{name}\u00a0",
        *zero,
        wide,
        *unseen,
        apart,
        f"\u2003{apart}",
    ]


def rows():
    """(spelling, person) of every row: each person in all spellings, twice; and texts that look like digests."""
    cells = [(s, name) for name in NAMES for s in spellings(name) * 2]
    cells += [(t, t) for d in SPELLED for t in (d, "\0" + d) for _ in range(3)]
    return [cells[i] for i in np.random.default_rng(0).permutation(len(cells))]


def place_of(kind, cells, folder):
    """A table of these identifiers, and each row's number, at a place of this kind."""
    frame = pd.DataFrame({"id": cells, "i": range(len(cells))})
    if kind == "frame":
        return private_rows.place_at(frame)
    if kind == "csv":
        frame.to_csv(folder / "t.csv", index=False)
        return private_rows.place_at(folder / "t.csv")
    if kind == "xlsx":
        frame.to_excel(folder / "t.xlsx", index=False)
        return private_rows.place_at(folder / "t.xlsx")
    if kind in ("dta", "sav", "xpt"):
        files.write(folder / f"t.{kind}", {n: frame[n].tolist() for n in frame})
        return private_rows.place_at(folder / f"t.{kind}")
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(folder / "t.db")) as con, con:
            con.execute("CREATE TABLE t (id TEXT, i INTEGER)")
            con.executemany("INSERT INTO t VALUES (?, ?)", frame.to_numpy().tolist())
        return private_rows.place_at("t", f"sqlite:///{folder / 't.db'}")
    pq.write_table(pa.table({"id": pa.array(cells), "i": pa.array(range(len(cells)))}), folder / "t.parquet")
    if kind == "parquet":
        return private_rows.place_at(folder / "t.parquet")
    file = folder / f"{secrets.token_hex(4)}.duckdb"  # an engine may hold an earlier test's open
    with duckdb.connect(file) as con:
        con.execute(f"CREATE TABLE t AS SELECT * FROM '{folder / 't.parquet'}'")
    return private_rows.place_at("t", f"duckdb:///{file}")


def in_run(place, size):
    """Which rows a run keeps."""
    opened = place.under(SCHEMA).encoded(SCHEMA, SystemNoise(), person="id", key=b"k" * 32, most=MOST)
    if opened.bounded:
        (counted,) = opened.encoded.positions.counts([[Bins.each("i", 1000)]])
        assert counted.max() == 1
        return np.flatnonzero(counted)
    retained = keep_parts(opened.persons.parts(), MOST, SystemNoise(), num_rows=size)
    return opened.encoded.positions["i"][retained]


def in_learning(place, size):  # noqa: ARG001
    """Which rows learning keeps."""
    table = place.under(SCHEMA).read(["i", "id"])
    retained = keep(table.column("id"), MOST, SystemNoise())
    return np.array([int(float(v)) for v in table.column("i").values], dtype=int)[table.column("i").codes][retained]


@pytest.mark.parametrize("reads", [in_run, in_learning])
@pytest.mark.parametrize("kind", ["frame", "csv", "xlsx", "parquet", "dta", "sav", "xpt", "duckdb", "sqlite"])
@pytest.mark.parametrize("few", [True, False], ids=["in memory", "in a file"])
def test_each_person_keeps_as_many_rows_however_written(kind, reads, few, tmp_path, monkeypatch):
    if not few:
        monkeypatch.setattr(spill, "FEW", 10)
    listed = rows()
    if kind in ("xlsx", "dta", "sav", "xpt"):  # which cannot hold NUL
        listed = [r for r in listed if "\0" not in r[0]]
    numbers = reads(place_of(kind, [s for s, _ in listed], tmp_path), len(listed))
    result = {}
    for i in numbers.tolist():
        result[listed[i][1]] = result.get(listed[i][1], 0) + 1
    assert result == {name: MOST for _, name in listed}


def test_names_become_one_exactly_where_their_keys_are():
    cells = [s for s, _ in rows()]
    persons = Persons("id")
    values, codes = np.unique(np.array(cells, dtype=object), return_inverse=True)
    persons.append(Text(values, codes))
    ((text, _),) = persons.parts()
    assert max(map(len, text.values)) <= LONG + 1
    seen = {}
    for given, retained in zip(cells, text.values[text.codes], strict=True):
        form = unicodedata.normalize("NFKC", re.sub(UNSEEN, "", given))
        seen.setdefault(canonical(form), set()).add(retained)
    assert all(len(v) == 1 for v in seen.values())
    assert len({next(iter(v)) for v in seen.values()}) == len(seen)


def test_a_key_of_related_tables_leads_to_its_rows_however_written():
    listed = rows()
    cells, whose = np.array([s for s, _ in listed], dtype=object), np.array([n for _, n in listed], dtype=object)
    above, below = coded([Text(whose, np.arange(len(whose)))], [Text(cells, np.arange(len(cells)))])
    assert above.tolist() == below.tolist()
    assert len({*above.tolist()}) == len({*whose.tolist()})


def test_all_characters_that_are_not_seen_are_among_those_removed():
    """Those of Unicode's category of format characters; NFKC makes none of others, so that removal comes first."""
    signs = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    assert all(re.search(UNSEEN, c) for c in signs if unicodedata.category(c) == "Cf")
    assert not [c for c in signs if not re.search(UNSEEN, c) and re.search(UNSEEN, unicodedata.normalize("NFKC", c))]
