"""Cost in columns, and of the fit in rows: seconds of each stage of `mixture`, with log-log slopes.

    python benchmarks/columns.py                                  # 25, 50 and 100 columns x 50 categories
    python benchmarks/columns.py --rows 100000,1000000,10000000 --columns 20

Simulated, correlated categories as Parquet. Every run is a process of its own; a second one is told beside it by
seconds of the clock and of the processor, since other work may keep the machine busy. Written to
benchmarks/results/columns.json, or columns_rows.json where rows vary.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from clock import Clock

HERE = Path(__file__).resolve().parent
ROWS_AT_A_TIME = 100_000
HIDDEN = 4  # hidden numbers that columns share: no single order explains them all
TOLD = ("read", "measure", "fit", "sample", "write")


def schema_of(columns: int, categories: int) -> dict[str, Any]:
    """The public facts of the simulated table."""
    texts = [str(v) for v in range(categories)]
    return {
        "dataset": "simulated",
        "columns": {f"c{j:03d}": {"type": "categorical", "categories": texts} for j in range(columns)},
    }


def draw(path: Path, rows: int, columns: int, categories: int) -> None:
    """Columns that follow one of a few hidden numbers, each with a noise of its own."""
    rng, writer = np.random.default_rng(0), None
    for start in range(0, rows, ROWS_AT_A_TIME):
        size = min(ROWS_AT_A_TIME, rows - start)
        hidden = rng.random((HIDDEN, size))
        part = {}
        for j in range(columns):
            share = 0.3 + 0.5 * (j / columns)
            mixed = np.clip(share * hidden[j % HIDDEN] + (1 - share) * rng.random(size), 0, 1 - 1e-9)
            part[f"c{j:03d}"] = pa.array((mixed * categories).astype(np.int16))
        table = pa.table(part)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def measured(folder: Path, method: str) -> dict[str, Any]:
    """One run by the library."""
    import synth

    clock = Clock()
    made = synth.run(
        folder / "table.parquet",
        schema=synth.Schema.load(folder / "schema.json"),
        epsilon=1.0,
        delta=1e-7,
        method=method,
        seed=0,
        num_rows=100_000,
        out=folder / "out",
        ledger=folder / "ledger.sqlite",
        assume_public=True,
        reporter=clock,
        device="cpu",
    )
    return {"stages": clock.told(), "peak_mib": made.peak_mib}


def one(shape: dict[str, int], method: str) -> dict[str, Any]:
    """A table, and a run on it in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "schema.json").write_text(json.dumps(schema_of(shape["columns"], shape["categories"])))
        draw(folder / "table.parquet", **shape)
        command = [sys.executable, __file__, "--inside", str(folder), "--method", method]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        return {**shape, "method": method, **json.loads(done.stdout.splitlines()[-1])}


def slopes(runs: list[dict[str, Any]], over: str) -> dict[str, dict[str, float]]:
    """Log-log slope of each stage, least squares over all runs."""
    x = np.log([r[over] for r in runs])
    return {
        stage: {
            clock: float(np.polyfit(x, np.log([max(r["stages"][stage][clock], 1e-3) for r in runs]), 1)[0])
            for clock in ("seconds", "cpu_seconds")
        }
        for stage in TOLD
    }


def table(runs: list[dict[str, Any]], found: dict[str, dict[str, float]] | None, over: str) -> str:
    """Markdown: seconds (processor's in brackets) of each stage."""
    lines = ["| rows | columns | " + " | ".join(TOLD) + " | peak MiB |", "|" + "---|" * (len(TOLD) + 3)]
    for r in runs:
        cells = [f"{r['stages'][s]['seconds']:.1f} ({r['stages'][s]['cpu_seconds']:.1f})" for s in TOLD]
        lines.append(f"| {r['rows']:,} | {r['columns']} | {' | '.join(cells)} | {r['peak_mib']:.0f} |")
    if found:
        cells = [f"{found[s]['seconds']:.2f} ({found[s]['cpu_seconds']:.2f})" for s in TOLD]
        lines.append(f"| slope in {over} | | {' | '.join(cells)} | |")
    return "\n".join(lines)


def main() -> None:
    """Measures, prints Markdown, writes the JSON file."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--rows", default="1000000")
    ask.add_argument("--columns", default="25,50,100")
    ask.add_argument("--categories", type=int, default=50)
    ask.add_argument("--method", default="mixture")
    ask.add_argument("--json", type=Path)
    ask.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = ask.parse_args()
    if given.inside:
        print(json.dumps(measured(given.inside, given.method)))
        return
    sizes = {n: [int(v) for v in getattr(given, n).split(",")] for n in ("rows", "columns")}
    over = "rows" if len(sizes["rows"]) > 1 else "columns"
    runs = []
    for rows in sizes["rows"]:
        for columns in sizes["columns"]:
            runs.append(one({"rows": rows, "columns": columns, "categories": given.categories}, given.method))
            print(table(runs[-1:], None, over).splitlines()[-1], file=sys.stderr, flush=True)
    found = slopes(runs, over) if len(runs) > 1 else None
    print(table(runs, found, over))
    into = given.json or HERE / "results" / ("columns_rows.json" if over == "rows" else "columns.json")
    about = {"cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0], "runs": runs, "slopes": found}
    into.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
