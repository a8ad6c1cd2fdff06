"""How cost grows: seconds and peak memory of each stage against rows, columns and categories, for each method.

    python benchmarks/scaling.py [--methods independent,mixture,slicing,dp_kernel] [--rows 10000,...,10000000]
    python benchmarks/scaling.py --devices cpu,cuda --methods "slicing loss=kl,..." --json ...     # make bench-device

Simulated tables only. Rows vary at 10 columns, columns and categories at 100,000 rows; every cell is a process of
its own. 100,000 rows are simulated and repeated with perturbation: of every repeated row one cell in ten is drawn
again. Prints Markdown with log-log slopes (least squares over the cells of at least a tenth of a second), and writes
benchmarks/results/scaling.json, from which a stopped run goes on. A method's options stand behind it, with spaces
between. A line of a device other than the processor holds the device's own name.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from json import dumps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from markdown_tables import figure, filled, table
from runner import Clock, Row, apart, measured, start

PLAIN = {"rows": 100_000, "columns": 10, "categories": 20}
CELL = ("method", "device", "vary", "rows", "columns", "categories")
REDRAWN = 0.1
ROWS_AT_A_TIME = 100_000
STAGES = ("read", "measure", "fit", "sample", "write")


def drawn(path: Path, rows: int, block: Callable[[int, int], Mapping[str, Any]]) -> None:
    """Writes what ``block(first, size)`` draws, for as many rows in all."""
    writer = None
    for first in range(0, rows, ROWS_AT_A_TIME):
        table = pa.table(block(first, min(ROWS_AT_A_TIME, rows - first)))
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


def schema_of(columns: int, categories: int) -> dict:
    """Half numbers (0 to 999), half categories; the first column has as many as asked."""
    known = {}
    for j in range(columns):
        if j % 2:
            known[f"n{j}"] = {"type": "integer", "min": 0, "max": 999}
        else:
            known[f"c{j}"] = {"type": "categorical", "categories": [f"v{i}" for i in range(20 if j else categories)]}
    return {"columns": known}


def write(path: Path, rows: int, columns: int, categories: int) -> None:
    """The table as Parquet: columns that all follow one hidden number."""
    rng = np.random.default_rng(0)
    hidden, first = rng.random(ROWS_AT_A_TIME), {}
    for j in range(columns):
        mixed = np.clip(0.7 * hidden + 0.3 * rng.random(ROWS_AT_A_TIME), 0, 1 - 1e-9)
        first[f"n{j}" if j % 2 else f"c{j}"] = (mixed * (1000 if j % 2 else 20 if j else categories)).astype(np.int64)

    def block(start: int, size: int) -> dict[str, pa.Array]:
        part = {}
        for name, values in first.items():
            again = rng.random(ROWS_AT_A_TIME) < REDRAWN if start else np.zeros(ROWS_AT_A_TIME, dtype=bool)
            values = np.where(again, values[rng.permutation(ROWS_AT_A_TIME)], values)[:size]
            part[name] = pa.array(values) if name[0] == "n" else pa.array(np.char.add("v", values.astype(str)))
        return part

    drawn(path, rows, block)


@contextmanager
def place(rows: int, columns: int, categories: int) -> Iterator[Path]:
    with TemporaryDirectory() as name:
        described(Path(name), schema_of(columns, categories))
        write(Path(name) / "table.parquet", rows, columns, categories)
        yield Path(name)


def inside(folder: Path, method: str, device: str) -> Row:
    """In a process of its own: one run, its stages' seconds and its peak memory."""
    name, *options = method.split()
    more = {"method": name, "options": dict(o.split("=") for o in options), "device": device}
    result = staged(folder, delta=1e-7, num_rows=100_000, max_categories=10**6, **more)
    if device != "cpu":
        import torch

        result["device_name"] = torch.cuda.get_device_name()
    return result | {"stages": dict.fromkeys(STAGES, 0.0) | {s: t["seconds"] for s, t in result["stages"].items()}}


def value(row: Row, stage: str) -> float:
    return row["peak_mib"] if stage == "peak" else row["stages"][stage]


def markdown(rows: list[Row]) -> str:
    """Seconds and memory, and slopes where there is something to see."""
    cells = [*(f"{{{c}}}" for c in CELL), *(f"{{stages[{s}]:.2f}}" for s in STAGES), "{peak_mib:.0f}"]
    done, kinds = [r for r in rows if "failed" not in r], (*STAGES, "peak")
    done = [r | {"device": r.get("device_name", "cpu")} for r in done]
    lines = [filled(done, "|".join([*CELL, *(f"{s} s" for s in STAGES), "peak MiB"]), "|".join(cells))]
    lines += [f"- {', '.join(str(r.get(c, 'cpu')) for c in CELL)}: {r['failed']}" for r in rows if "failed" in r]
    slopes = []
    for method, device, vary in dict.fromkeys((r["method"], r["device"], r["vary"]) for r in done):
        part = [r for r in done if (r["method"], r["device"], r["vary"]) == (method, device, vary)]
        each = [slope([r[vary] for r in part], [value(r, s) for r in part], 0.1) for s in kinds]
        slopes.append([method, device, vary, *(figure(s, 2) for s in each)])
    return "\n".join([*lines, "\nLog-log slopes:\n", table(("method", "device", "against", *kinds), slopes)])


def main(given) -> None:
    cells = []
    for vary in PLAIN:
        for size, method, device in product(getattr(given, vary), given.methods, given.devices):
            other = {} if device == "cpu" else {"device": device}
            cells.append({"method": method, "vary": vary, **PLAIN, vary: size, **other})

    def one(folder: Path, cell: Row) -> Row:
        return apart(inside, folder, cell["method"], cell.get("device", "cpu"), most=given.most_seconds)

    print(markdown(measured(given, cells, one, prepare=place, by=tuple(PLAIN))))


if __name__ == "__main__":
    sizes = {"rows": [10**4, 10**5, 10**6, 10**7], "columns": [10, 30, 100], "categories": [100, 1000, 10**4, 10**5]}
    methods = "independent,mixture,slicing,dp_kernel"
    start(main, json="scaling", methods=methods, devices=["cpu"], most_seconds=600.0, **sizes)
