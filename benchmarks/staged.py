"""Simulated tables as Parquet, a block at a time, and runs of the library on them, measured stage by stage."""

from collections.abc import Callable, Mapping
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from runner import Clock, Row

ROWS_AT_A_TIME = 100_000
STAGES = ("read", "measure", "fit", "sample", "write")


def drawn(path: Path, rows: int, block: Callable[[int, int], Mapping[str, Any]]) -> None:
    """Writes what ``block(start, size)`` draws, for as many rows in all."""
    writer = None
    for start in range(0, rows, ROWS_AT_A_TIME):
        table = pa.table(block(start, min(ROWS_AT_A_TIME, rows - start)))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def staged(folder: Path, **more: Any) -> Row:
    """One run of table.parquet by its schema.json: of each stage the seconds and the processor's; ``more``: of it."""
    import synth

    clock, usual = Clock(), {"epsilon": 1.0, "delta": 1e-6, "seed": 0, "num_rows": 1000, "assume_public": True}
    usual |= {"out": folder / "out", "ledger": folder / f"{len(list(folder.iterdir()))}.sqlite", "device": "cpu"}
    schema = synth.Schema.load(folder / "schema.json")
    made = synth.run(folder / "table.parquet", schema=schema, reporter=clock, **(usual | more))
    return {"stages": clock.reported(), "seconds_total": made.seconds_total, "peak_mib": made.peak_mib}


def slope(over: list[float], values: list[float], least: float) -> float | None:
    """Log-log slope, by least squares over the values of at least so much; None of less than two."""
    held = [(x, y) for x, y in zip(over, values, strict=True) if y >= least]
    return float(np.polyfit(*np.log(np.array(held)).T, 1)[0]) if len(held) > 1 else None


def described(folder: Path, schema: dict) -> None:
    (folder / "schema.json").write_text(dumps(schema))
