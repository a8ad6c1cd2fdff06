"""Rows drawn into a folder of parts: the same whoever draws them, and gone on with where they stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from synth.errors import InputError, UsageError
from synth.pipeline import draw_rows, sample_parts
from synth.pipeline.sample import sample_to
from synth.release import folder
from synth.schema import codec
from tests.conftest import SMALL, small_frame
from tests.made import ID, a_schema, codes, dated, number, ran

ROWS, PART = 1_000, 300


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = tmp_path_factory.mktemp("parts")
    ran(small_frame(300), SMALL, method="independent", out=place / "out", ledger=place / "ledger.sqlite", num_rows=20)
    return place / "out"


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Parts of 300 rows, drawn in this process."""
    monkeypatch.setattr(draw_rows, "ROWS_AT_A_TIME", PART)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})


def drawn(model, out, **more):
    sample_to(model, out, num_rows=ROWS, **{"seed": 5, **more})
    return {p.name: p.read_bytes() for p in out.iterdir()}


def test_the_parts_are_one_table_and_identifiers_run_on(model, tmp_path):
    result = drawn(model, tmp_path / "rows")
    assert sorted(result) == ["_SHA256SUMS", "_parts.json", *(f"part-{i:06d}.parquet" for i in range(4))]
    table = pq.read_table(tmp_path / "rows")
    assert table.num_rows == ROWS
    schema = folder.load_model(model).schema
    assert table.column_names == list(schema.retained().columns)
    for name, column in schema.columns.items():
        if column.type == "identifier":
            assert table[name].to_pylist() == [str(i) for i in range(1, ROWS + 1)]
    rows = [p.read_bytes() for p in sorted((tmp_path / "rows").glob("*.parquet"))]
    assert len(set(rows)) == 4  # each has a seed of its own


def test_checksums_of_the_parts_hold_until_a_part_is_changed(model, tmp_path):
    """As `sha256sum` reads them; those of parts that an older version drew are added."""
    whole = drawn(model, tmp_path / "rows")
    check = ["sha256sum", "--quiet", "-c", "_SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path / "rows", check=False).returncode == 0
    (tmp_path / "rows" / "_SHA256SUMS").unlink()
    assert drawn(model, tmp_path / "rows", seed=None) == whole
    with (tmp_path / "rows" / "part-000002.parquet").open("ab") as part:
        part.write(b"x")
    done = subprocess.run(check, cwd=tmp_path / "rows", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "part-000002.parquet: FAILED" in done.stdout


def test_what_is_there_is_not_drawn_again_and_the_bytes_are_the_same(model, tmp_path):
    whole = drawn(model, tmp_path / "rows")
    retained = tmp_path / "rows" / "part-000001.parquet"
    retained.write_bytes(b"whoever wrote this, it stays")
    (tmp_path / "rows" / "part-000002.parquet").unlink()
    again = drawn(model, tmp_path / "rows", seed=None)  # the folder knows its seed
    assert again.pop(retained.name) == b"whoever wrote this, it stays"
    whole.pop(retained.name)
    assert again == whole


def test_helpers_draw_what_one_process_draws(model, tmp_path):
    """The helper's own function, in this process; the processes themselves are in the slow tests."""
    whole = drawn(model, tmp_path / "one", where={"SEX": "f"} if "SEX" in SMALL["columns"] else {})
    whole.pop("_SHA256SUMS")  # written once all parts are there
    other = tmp_path / "two"
    other.mkdir()
    (other / "_parts.json").write_bytes(whole["_parts.json"])
    for turn in ([3, 1], [0, 2]):
        sample_parts._main(str(model), str(other), json.dumps(turn))
    assert {p.name: p.read_bytes() for p in other.iterdir()} == whole


@pytest.mark.slow
def test_two_processes_draw_what_one_draws(model, tmp_path, monkeypatch):
    monkeypatch.setattr(draw_rows, "ROWS_AT_A_TIME", 1 << 20)
    rows = (1 << 20) + 500
    for name, many in (("one", 1), ("two", 2)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, many=many: set(range(many)))
        sample_to(model, tmp_path / name, num_rows=rows, seed=5)
    files = [{p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in ("one", "two")]
    assert files[0] == files[1]
    (tmp_path / "two" / "part-000000.parquet").unlink()
    (tmp_path / "two" / "part-000001.parquet").unlink()
    (tmp_path / "two" / "_parts.json").write_text("{")
    with pytest.raises(InputError, match="not readable"):
        sample_to(model, tmp_path / "two", num_rows=rows, seed=5)


@pytest.mark.slow
def test_a_call_that_is_killed_is_gone_on_with(model, tmp_path, monkeypatch):
    """SIGKILL to the command and its helpers, after the first part and within others: only the rest is drawn."""
    rows, turn = 6 << 20, tmp_path / "rows"
    command = [sys.executable, "-m", "synth", "sample", model, "--num-rows", str(rows), "--seed", "5", "--out", turn]
    with subprocess.Popen([str(c) for c in command], start_new_session=True) as running:
        while not list(turn.glob("part-*")) or not list(turn.glob(".part-*")):
            assert running.poll() is None
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGKILL)
    before = {p.name: p.stat().st_mtime_ns for p in turn.glob("part-*")}
    assert 0 < len(before) < 6
    monkeypatch.setattr(draw_rows, "ROWS_AT_A_TIME", 1 << 20)
    for out in (turn, tmp_path / "whole"):
        sample_to(model, out, num_rows=rows, seed=5)
    after = {p.name: p.stat().st_mtime_ns for p in turn.glob("part-*")}
    assert {n: after[n] for n in before} == before
    result, whole = ({p.name: p.read_bytes() for p in at.iterdir()} for at in (turn, tmp_path / "whole"))
    assert result == whole  # with nothing left of the parts that the killed call had begun


@pytest.mark.parametrize(
    ("more", "reported"),
    [({"seed": 6}, "another `seed=`"), ({"num_rows": 999}, "another `num_rows=`"), ({"where": {}}, "")],
)
def test_a_folder_of_other_rows_is_left_alone(model, tmp_path, more, reported):
    before = drawn(model, tmp_path / "rows")
    if not reported:
        assert drawn(model, tmp_path / "rows", **more) == before
        return
    with pytest.raises(UsageError, match=reported):
        sample_to(model, tmp_path / "rows", **{"num_rows": ROWS, "seed": 5, **more})
    assert {p.name: p.read_bytes() for p in (tmp_path / "rows").iterdir()} == before


def test_another_model_is_noticed(model, tmp_path):
    drawn(model, tmp_path / "rows")
    other = tmp_path / "model"
    other.mkdir()
    for name in ("model.json", "model.safetensors"):
        (other / name).write_bytes((model / name).read_bytes() + (b"\n" if name.endswith("json") else b""))
    with pytest.raises(UsageError, match="another model"):
        sample_to(other, tmp_path / "rows", num_rows=ROWS, seed=5)


def test_a_folder_with_other_files_is_refused(model, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    with pytest.raises(UsageError, match="holds other files"):
        sample_to(model, tmp_path / "mine", num_rows=ROWS, seed=5)
    (tmp_path / "file").write_text("a file")
    with pytest.raises(InputError, match="name another one"):
        sample_to(model, tmp_path / "file", num_rows=ROWS, seed=5)
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["notes"]


@pytest.mark.parametrize(
    "damage", ["{", "[]", '{"format": "other"}', '{"format": "facsimile-parts/1", "seed": 3}', "null"]
)
def test_a_damaged_description_is_an_error_in_one_line(model, tmp_path, damage):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "_parts.json").write_text(damage)
    with pytest.raises(InputError, match="not readable"):
        sample_to(model, tmp_path / "rows", num_rows=ROWS, seed=5)


def test_a_helper_that_fails_is_told_in_one_line(model, tmp_path):
    """A process of its own: the folder is gone when it begins to draw."""
    with pytest.raises(InputError, match="was removed while"):
        sample_parts._draw_side_by_side(Path(model), tmp_path / "gone", [[0]])


MANY_KINDS = a_schema(
    ID=ID,
    SEX=codes("f", "m", 'é"x', missing=["?"], source="declared"),
    AGE=number(-3, 99, missing=["9999", "none"], source="declared"),
    PAY=number(0, 9, decimals=2, missing=["-"], source="declared"),
    DAY=dated("2020-01-01", "2020-12-31", missing=["?"], source="declared"),
)


def test_listed_texts_are_the_typed_columns():
    rng = np.random.default_rng(0)
    places = {n: rng.integers(0, c.cells, 500) for n, c in MANY_KINDS.measured().items()}
    wanted = codec.typed(codec.decode(places, MANY_KINDS, num_rows=500, first=7), MANY_KINDS)
    result = codec.decode(places, MANY_KINDS, num_rows=500, first=7, listed=True)
    assert list(result) == list(wanted)
    for name, column in wanted.items():
        plain = result[name].cast(column.type) if name == "SEX" else result[name]
        assert plain.equals(column), name
    assert result["SEX"].type.index_type == "int32"
    assert result["AGE"].null_count > 0
