"""Folders that hold several versions of a table: the current one is read, by whatever engine, or nothing is.

A Delta table's folder keeps the files of rows that were deleted or overwritten: read file by file, persons who asked to
be deleted would be in the counts, and rows that were changed would count twice.
"""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import synth
from synth.errors import InputError
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SeededNoise
from synth.questions import Bins
from synth.schema.table import parse
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.formats import files
from synth.sources.formats.files import parquet_files
from synth.sources.named_databases import whole
from synth.sources.rows.marginals import exact
from synth.sources.table_source import place_of
from tests.engines import SPARK, spark
from tests.made import codes, facts_of, number

SCHEMA = parse(facts_of(t=codes("a", "b", "c"), n=number(0, 5)))
CURRENT = [("a", 1), ("c", 5), ("c", 3), ("b", 4)]


def versions(folder, **how):
    """A table whose rows were appended, deleted, changed and put together again; its current rows are CURRENT."""
    lake = pytest.importorskip("deltalake", reason="the extra `delta` is not installed")
    for rows in ([("b", 0), ("b", 0), ("a", 2)], None, [("a", 1), ("b", 5)], [("a", 0)] * 3, [("c", 3), ("b", 4)]):
        if rows is None:  # the first version is overwritten
            lake.write_deltalake(folder, pa.table({"t": ["a"], "n": [0]}), mode="overwrite", **how)
            continue
        table = pa.table({"t": [t for t, _ in rows], "n": [n for _, n in rows]})
        lake.write_deltalake(folder, table, mode="append", **how)
    lake.DeltaTable(folder).delete("n = 0")
    lake.DeltaTable(folder).update(updates={"t": "'c'"}, predicate="n = 5")
    return folder


def counted(place):
    rows = place.encoded(SCHEMA, SeededNoise(1), person=None, key=b"k" * 16).encoded.positions
    tables = [[Bins.each("t", 3), Bins.each("n", 6)]]
    return rows.counts(tables)[0].tolist()


def expected():
    rows = {"t": np.array(["abc".index(t) for t, _ in CURRENT]), "n": np.array([n for _, n in CURRENT])}
    return exact([[Bins.each("t", 3), Bins.each("n", 6)]], rows)[0].tolist()


@pytest.mark.parametrize("engine", [None, "duckdb", SPARK])
def test_rows_that_were_deleted_or_overwritten_are_not_counted(engine, tmp_path):
    folder = versions(tmp_path / "people")
    held = sum(pq.read_metadata(p).num_rows for p in folder.glob("*.parquet"))
    assert held > len(CURRENT), "nothing that is no longer current lies in the folder"
    if engine == "spark":
        spark()
    place = place_of(folder) if engine is None else WarehousePlace(Engine(engine), str(folder))
    place.check_form(["t", "n"])
    assert counted(place) == expected()
    assert place.read(["t"]).num_rows == len(CURRENT)


def test_a_draft_and_a_run_see_the_current_version(tmp_path):
    folder = versions(tmp_path / "people")
    assert whole(folder, None)[0].num_rows == len(CURRENT)
    assert whole(str(folder), "duckdb")[0].num_rows == len(CURRENT)
    result = synth.run(folder, schema=SCHEMA, epsilon=1, delta=1e-5, ledger=tmp_path / "l.sqlite", num_rows=5)
    assert len(result.frame) == 5


def refused(path, what, tmp_path):
    """One line that says what it is, whoever reads it; nothing is spent."""
    for ask in (
        lambda: place_of(path).check_form(["t"]),
        lambda: WarehousePlace(Engine("duckdb"), str(path)).check_form(["t"]),
        lambda: synth.run(path, schema=SCHEMA, epsilon=1, delta=1e-5, dataset="d", ledger=tmp_path / "l.sqlite"),
    ):
        with pytest.raises(InputError, match=what) as reported:
            ask()
        assert "\n" not in str(reported.value)
    with Ledger(tmp_path / "l.sqlite") as book:
        assert not book.entries("d")


def rows(folder):
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"t": ["a", "b"], "n": [1, 2]}), folder / "part.parquet")
    return folder


def test_a_part_of_a_table_is_refused(tmp_path):
    """Also where nothing that reads its log is installed."""
    inner = rows(tmp_path / "delta" / "t=a")
    (tmp_path / "delta" / "_delta_log").mkdir()
    data = rows(tmp_path / "ice" / "data")
    (tmp_path / "ice" / "metadata").mkdir()
    (tmp_path / "ice" / "metadata" / "00001-ab.metadata.json").write_text("{}")
    hudi = rows(tmp_path / "hudi")
    (hudi / ".hoodie").mkdir()
    for path, what in ((inner, "Delta"), (inner / "part.parquet", "Delta"), (data, "Iceberg"), (hudi, "Hudi")):
        refused(path, f"the {what} table", tmp_path)
    refused(hudi / "part.parquet", "the Hudi table", tmp_path)
    with pytest.raises(InputError, match="Delta"):
        files.read(inner / "part.parquet")
    other = rows(tmp_path / "plain")
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "people.metadata.json").write_text("{}")  # nothing of Iceberg's
    assert parquet_files(other) == [other / "part.parquet"]


def test_what_of_a_table_cannot_be_honoured_is_refused_by_name(tmp_path):
    refused(versions(tmp_path / "parted", partition_by=["t"]), "partition columns", tmp_path)
    log = versions(tmp_path / "named") / "_delta_log"
    first = log / f"{0:020}.json"
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    for line in lines:
        if "metaData" in line:
            line["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
    first.write_text("\n".join(map(json.dumps, lines)))
    refused(log.parent, "column mapping|cannot be read", tmp_path)
    vectors = versions(tmp_path / "marked")
    last = sorted((vectors / "_delta_log").glob("*.json"))[-1]
    mark = {
        "storageType": "i",
        "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        "sizeInBytes": 40,
    }
    add = next(json.loads(line)["add"] for line in last.read_text().splitlines() if "add" in json.loads(line))
    features = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"]}
    marked = [
        {"protocol": {**features, "writerFeatures": ["deletionVectors"]}},
        {"remove": {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}},
        {"add": {**add, "deletionVector": {**mark, "cardinality": 6}}},
    ]
    later = last.with_name(f"{int(last.stem) + 1:020}.json")
    later.write_text("\n".join(map(json.dumps, marked)))
    refused(vectors, "deletion vectors|cannot be read", tmp_path)
    gone = versions(tmp_path / "gone")
    parquet_files(gone)[0].unlink()
    refused(gone, "that are gone", tmp_path)


def test_a_folder_is_read_whatever_signs_its_name_has(tmp_path):
    """Or refused: the library of Delta reads the log of a folder `a b` for that of `a%20b`."""
    versions(tmp_path / "a b")
    for name in ("a%20b", "#q?x", "[a]*", "100%", "\u00fc'\""):
        shutil.copytree(tmp_path / "a b", tmp_path / name)
    for folder in tmp_path.iterdir():
        if folder.name == "a%20b":
            refused(folder, "rename the folder", tmp_path / "a b")
        else:
            assert {p.parent for p in parquet_files(folder)} == {folder}


def rewritten(log, change):
    """Every line of a log changed."""
    for file in log.glob("*.json"):
        lines = [change(json.loads(line)) for line in file.read_text().splitlines()]
        file.write_text("\n".join(map(json.dumps, lines)))


@pytest.mark.parametrize("way", ["a path with points", "a link for a file", "a link for the log", "a file twice"])
def test_nothing_leads_out_of_the_folder(way, tmp_path):
    """Another table's rows would be charged under this one's name, or a row twice."""
    lake = pytest.importorskip("deltalake", reason="the extra `delta` is not installed")
    for name in ("people", "other"):
        lake.write_deltalake(tmp_path / name, pa.table({"t": ["a", "b"], "n": [1, 2]}))
    folder, log = tmp_path / "people", tmp_path / "people" / "_delta_log"
    (own,) = folder.glob("*.parquet")
    (others,) = (tmp_path / "other").glob("*.parquet")
    assert parquet_files(folder) == [own]
    if way == "a path with points":
        rewritten(
            log,
            lambda line: {k: {**v, "path": f"../other/{others.name}"} if k == "add" else v for k, v in line.items()},
        )
    elif way == "a link for a file":
        own.unlink()
        own.symlink_to(others)
    elif way == "a link for the log":
        shutil.rmtree(log)
        log.symlink_to(tmp_path / "other" / "_delta_log")
        shutil.copy(others, folder)
    else:
        lake.write_deltalake(folder, pa.table({"t": ["a"], "n": [0]}), mode="append")
        (more,) = {*folder.glob("*.parquet")} - {own}
        more.unlink()
        more.symlink_to(own)
    refused(folder, "files outside its folder|links lead out", tmp_path)
