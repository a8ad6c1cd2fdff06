"""The tree of a root is the same whichever other roots, orphans and cells stand beside it: every source of tables.

Exact weighted tables tell it: those of some roots and of their neighbours together are the sum of those of each. No
column is without a missing code, no parent has more rows than are kept, and no two of its events are of one day, so
that nothing is drawn at random.
"""

import csv
import io
import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import synth
import synth.pipeline.reporting
from synth.privacy.ledger.ledger import Ledger
from synth.sources.formats import files
from synth.sources.rows.sketch import Sketch
from tests.laws.related_trees import EDGES, HOSTILE, ROWS, SCHEMA, SURROGATES, beside, both, counts
from tests.laws.workbooks import workbook
from tests.made import ran


def csv_folder(tables, folder):
    for name, columns in tables.items():
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(columns)
        lines.writerows(zip(*columns.values(), strict=True))
        (folder / f"{name}.csv").write_bytes(text.getvalue().encode("utf-8", "surrogatepass"))
    return folder


def parquet_folder(tables, folder):
    for name, columns in tables.items():
        files.write(folder / f"{name}.parquet", {n: pa.array(c, pa.string()) for n, c in columns.items()})
    return folder


def workbook_folder(tables, folder):
    for name, columns in tables.items():
        workbook(folder / f"{name}.xlsx", pa.table({n: pa.array(c, pa.string()) for n, c in columns.items()}))
    return folder


def frames(tables, _):
    return {t: pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in cs.items()}) for t, cs in tables.items()}


pytestmark = pytest.mark.usefixtures("few_steps")
SOURCES: dict[str, Callable] = {"csv": csv_folder, "parquet": parquet_folder, "xlsx": workbook_folder, "frame": frames}


def check(source, one, other, tmp_path):
    results = []
    for i, tables in enumerate((one, other, both(one, other))):
        (tmp_path / str(i)).mkdir()
        results.append(counts(SOURCES[source](tables, tmp_path / str(i))))
    for table, rest, whole in zip(*results, strict=True):
        assert np.array_equal(table + rest, whole)
    assert sum(t.sum() for t in results[0]) > 0


# 5 MB in a cell of every format are read alone in test_rows_alone; of trees here from frames, all with -m slow.
HEAVY = {
    ("5 MB", "parquet"): pytest.mark.slow,
    ("5 MB", "xlsx"): pytest.mark.slow,
    ("5 MB", "csv"): pytest.mark.slow,
    ("5 MB", "frame"): pytest.mark.long,
    ("new texts", "parquet"): pytest.mark.long,
    ("new texts", "xlsx"): pytest.mark.long,
}


@pytest.mark.parametrize(
    ("source", "hostile"), [pytest.param(s, h, marks=HEAVY.get((h, s), ())) for s in SOURCES for h in HOSTILE]
)
def test_trees_are_read_alone(source, hostile, tmp_path):
    check(source, ROWS, beside(HOSTILE[hostile]), tmp_path)


@pytest.mark.parametrize("source", ["csv", "frame"])
@pytest.mark.parametrize("texts", [SURROGATES, EDGES], ids=["surrogates", "edges"])
def test_trees_are_read_alone_beside_texts_that_hardly_are(source, texts, tmp_path):
    check(source, ROWS, beside(texts), tmp_path)


ODD = [
    7.125,
    float("nan"),
    float("inf"),
    2**70,
    10**5000,
    True,
    b"\xff",
    ("x",),
    "\ud800",
    None,
    pd.NaT,
    pd.Timestamp.min,
]


@pytest.mark.parametrize("number", range(len(ODD)))
def test_trees_of_objects_are_read_alone(number, tmp_path):
    check("frame", ROWS, beside_objects(ODD[number]), tmp_path)


def beside_objects(odd):
    columns = {t: list(s.columns) for t, s in SCHEMA.tables.items()}
    return {t: {n: [odd, odd] for n in names} for t, names in columns.items()}


def charged(tables, folder, name="trees", **more):
    return ran(tables, SCHEMA, epsilon=4.0, num_rows=5, dataset=name, seed=1, out=folder, device="cpu", **more)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.long
def test_a_run_beside_all_that_is_hostile_ends_as_any_other(source, tmp_path):
    """With every text at once, as keys and as cells: the spend is followed by a release, and nothing is said."""
    texts = [t for kind in HOSTILE.values() for t in kind[:9] if len(t) < 99] + EDGES
    if source in ("csv", "frame"):
        texts += SURROGATES
    (tmp_path / "in").mkdir()
    given = SOURCES[source](both(ROWS, beside(texts)), tmp_path / "in")
    reported = []

    class Listening(synth.pipeline.reporting.Quiet):
        def note(self, text):
            reported.append(text)

    result = charged(given, tmp_path / "out", reporter=Listening())
    assert set(result.num_rows) == set(SCHEMA.tables)
    assert [t for t in reported if "no policy" not in t] == []


def lines(name):
    """What anybody may see of the ledger: how many lines of which kind, and how long each mark is."""
    return [(e.kind, len(json.dumps(e.question)) if e.kind == "fingerprint" else 0) for e in Ledger().entries(name)]


def test_the_ledger_has_a_line_for_each_table_whatever_is_in_it(monkeypatch):
    """Too long to be compared, empty, or neither: as many lines, of the same lengths."""
    empty = {**ROWS, "parts": {"event": [], "f": []}}
    charged(frames(ROWS, None), None, "short")
    charged(frames(empty, None), None, "empty", separate=True)
    monkeypatch.setattr("synth.pipeline.same_rows.MOST_COMPARED", 4)
    monkeypatch.setattr("synth.sources.related_tables.MOST_COMPARED", 4)
    charged(frames(ROWS, None), None, "long", separate=True)
    assert lines("short") == lines("empty") == lines("long")
    assert [kind for kind, _ in lines("long")].count("fingerprint") == 2 * len(SCHEMA.tables), (
        "with its keys, and without"
    )


@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_tables_without_rows_are_not_called_the_same(source, tmp_path):
    """Two folders of other people, each with an empty table of the same columns."""
    mine = {**ROWS, "parts": {"event": [], "f": []}}
    theirs = {
        "roots": {"id": ["q1", "q2"], "x": ["3", "a"]},
        "parts": {"event": [], "f": []},
        "events": {"id": ["q1"], "event": ["77"], "n": ["7"], "day": ["2020-09-09"]},
    }
    folders = {}
    for name, tables in (("mine", mine), ("theirs", theirs)):
        (tmp_path / name).mkdir()
        folders[name] = SOURCES[source](tables, tmp_path / name)
    charged(folders["mine"], None, "mine")
    assert charged(folders["theirs"], None, "theirs").dataset == "theirs"
    with pytest.raises(synth.UsageError, match="'mine' before"):
        charged(folders["mine"], None, "again")
    assert Sketch(b"k" * 16, ["a"]).mark() is None


def test_a_table_of_a_folder_is_known_when_it_is_charged_alone_and_the_other_way_round(tmp_path):
    """Two columns and no key: by its rows alone, which are those of the folder's file."""
    rng = np.random.default_rng(3)
    tables = frames(ROWS, None)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, 300), "D")
    tables["events"] = pd.DataFrame(
        {
            "id": rng.choice(["p1", "p2", "p4"], 300),
            "event": np.arange(300).astype(str),
            "n": rng.integers(0, 9, 300).astype(str),
            "day": days,
        }
    )
    facts = synth.Schema.parse(
        {"columns": {n: c.model_dump(exclude_none=True) for n, c in SCHEMA.tables["events"].measured().items()}}
    )
    charged(tables, None, "folder")
    single = tables["events"][["day", "n"]]
    assert synth.app_api.charged_before(single, schema=facts, dataset="singly") == ["folder"]
    book = tmp_path / "other.sqlite"
    ran(single, facts, method="independent", num_rows=5, dataset="singly", ledger=book)
    with pytest.raises(synth.UsageError, match="'singly' before"):
        charged(tables, None, "folder", ledger=book)
