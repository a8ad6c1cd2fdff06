"""The way of a table through the rooms: few folders are handed it, and it climbs into `pipeline` by return alone."""

import functools
import inspect
import sys
from collections.abc import Mapping, Sized
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import synth
from tests.conftest import SMALL, small_frame

PACKAGE = Path(synth.__file__).parent
ROWS, DRAWN = 317, 211  # lengths that nothing but the private and the synthetic rows have
MOST_FOLDERS = 12
COLUMNS = np.ndarray | pa.Array | pa.ChunkedArray | pa.Table | pd.Series | pd.DataFrame


def holds_rows(value, deep=2):
    """Whether a value is a column or table of that length, or holds one: in a container, or as an attribute."""
    if isinstance(value, COLUMNS):
        return len(value) in (ROWS, DRAWN)
    if deep == 0:
        return False
    if isinstance(value, Mapping):
        return any(holds_rows(v, deep - 1) for v in value.values())
    if isinstance(value, list | tuple) and isinstance(value, Sized):
        return any(holds_rows(v, deep - 1) for v in value)
    ours = type(value).__module__.startswith("synth.")
    return ours and any(holds_rows(v, deep - 1) for v in getattr(value, "__dict__", {}).values())


@functools.cache
def _place(file):
    path = Path(file)
    return path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else None


def place(frame):
    """The file below synth/ that a frame runs in; None outside."""
    return _place(frame.f_code.co_filename)


def followed(work):
    """(folders handed rows, climbs): what a call is handed as arguments, less the object whose method it is."""
    folders, climbs = set(), set()

    def look(frame, event, _):
        if event != "call":
            return
        here, code = place(frame), frame.f_code
        if here is None or code.co_flags & inspect.CO_GENERATOR:  # a generator gives by return
            return
        names = [n for n in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if n not in ("self", "cls")]
        if not any(holds_rows(frame.f_locals.get(n)) for n in names):
            return
        folders.add(str(here.parent))
        caller = frame.f_back
        while caller is not None and place(caller) is None:
            caller = caller.f_back
        if caller is not None and here.parts[0] == "pipeline" and place(caller).parts[0] not in ("pipeline", "cli"):
            climbs.add(f"{place(caller)} hands rows to {here}: {code.co_name}")

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return folders, climbs


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_a_table_enters_few_folders_and_climbs_by_return_alone(kind, tmp_path):
    table, run = small_frame(ROWS), synth.run
    synth.methods()  # loads what is loaded once, so that it is not followed
    if kind == "csv":
        table.to_csv(tmp_path / "t.csv", index=False)
    folders, climbs = followed(
        lambda: run(
            table if kind == "frame" else tmp_path / "t.csv",
            schema=synth.Schema.parse(SMALL),
            epsilon=1.0,
            delta=1e-5,
            method="independent",
            dataset="d",
            ledger=tmp_path / "l.sqlite",
            out=tmp_path / "out",
            num_rows=DRAWN,
        )
    )
    assert {"sources/rows", "mechanisms", "release"} <= folders, "the rows were followed"
    assert len(folders) <= MOST_FOLDERS, sorted(folders)
    assert not climbs


def test_a_climb_would_be_seen():
    """The judge sees what it looks for: rows handed upwards to the pipeline by a lower room."""
    from synth.pipeline import draw_rows

    rows = {"a": pa.array(["x"] * DRAWN)}
    code = compile("def hand(to, rows):\n    return to(rows)\n", str(PACKAGE / "release" / "made_up.py"), "exec")
    names = {}
    exec(code, names)
    took = compile("def take(rows):\n    return len(rows)\n", draw_rows.__file__, "exec")
    exec(took, names)
    folders, climbs = followed(lambda: names["hand"](names["take"], rows))
    assert folders == {"release", "pipeline"}
    assert climbs == {"release/made_up.py hands rows to pipeline/draw_rows.py: take"}
