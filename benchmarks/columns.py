"""Cost in columns, and of the fit in rows: seconds of each stage of `mixture`, with log-log slopes.

    python benchmarks/columns.py                                  # 25, 50 and 100 columns x 50 categories
    python benchmarks/columns.py --rows 100000,1000000,10000000 --columns 20

Simulated, correlated categories as Parquet. Every run is a process of its own; a second one is told beside it by
seconds of the clock and of the processor, since other work may keep the machine busy. Written to
benchmarks/results/columns.json, or columns_rows.json where rows vary.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from runner import RESULTS, Row, apart, grid, show, start, sure, write
from staged import STAGES, described, drawn, slope, staged

HIDDEN = 4  # hidden numbers that columns share: no single order explains them all


def schema_of(columns: int, categories: int) -> dict[str, Any]:
    """The public facts of the simulated table."""
    column = {"type": "categorical", "categories": [str(v) for v in range(categories)]}
    return {"dataset": "simulated", "columns": {f"c{j:03d}": column for j in range(columns)}}


def draw(path: Path, rows: int, columns: int, categories: int) -> None:
    """Columns that follow one of a few hidden numbers, each with a noise of its own."""
    rng = np.random.default_rng(0)

    def block(_: int, size: int) -> dict[str, pa.Array]:
        hidden, part = rng.random((HIDDEN, size)), {}
        for j in range(columns):
            share = 0.3 + 0.5 * (j / columns)
            mixed = np.clip(share * hidden[j % HIDDEN] + (1 - share) * rng.random(size), 0, 1 - 1e-9)
            part[f"c{j:03d}"] = pa.array((mixed * categories).astype(np.int16))
        return part

    drawn(path, rows, block)


def one(shape: Row, method: str) -> Row:
    """One run in a process of its own."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        described(folder, schema_of(shape["columns"], shape["categories"]))
        draw(folder / "table.parquet", **shape)
        return {**shape, "method": method, **sure(apart(measured, folder, method))}


def measured(folder: Path, method: str) -> Row:
    return staged(folder, delta=1e-7, method=method, num_rows=100_000)


def slopes(runs: list[Row], over: str) -> dict[str, dict[str, float | None]]:
    """Log-log slope of each stage, least squares over all runs."""
    x, clocks = [r[over] for r in runs], ("seconds", "cpu_seconds")
    return {s: {c: slope(x, [max(r["stages"][s][c], 1e-3) for r in runs], 0.0) for c in clocks} for s in STAGES}


def main(given) -> None:
    from docs_figures_speed import by_stage

    over, runs = "rows" if len(given.rows) > 1 else "columns", []
    for shape in grid(rows=given.rows, columns=given.columns, categories=[given.categories]):
        runs.append(one(shape, given.method))
        show(runs[-1])
    about: Row = {"cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0], "runs": runs}
    about["slopes"] = slopes(runs, over)
    print(by_stage(about, over))
    write(given.json or RESULTS / f"columns{'_rows' * (over == 'rows')}.json", about)


if __name__ == "__main__":
    start(main, rows=[1_000_000], columns=[25, 50, 100], categories=50, method="mixture")
