"""How cost grows: seconds and peak memory of each stage against rows, columns and categories, for each method.

    python benchmarks/scaling.py [--methods independent,mixture,slicing,dp_kernel] [--rows 10000,...,10000000]
                                 [--columns 10,30,100] [--categories 100,...,100000] [--most-seconds 600] [--fresh]

Simulated tables only. Rows vary at 10 columns, columns and categories at 100,000 rows; every cell is a process of
its own. 100,000 rows are simulated and repeated with perturbation: of every repeated row one cell in ten is drawn
again. Prints Markdown with log-log slopes (least squares over the cells of at least a tenth of a second), and writes
benchmarks/results/scaling.json, from which a stopped run goes on.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from clock import Clock
from markdown_tables import store, stored

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "scaling.json"
PLAIN = {"rows": 100_000, "columns": 10, "categories": 20}
CELL = ("method", "vary", "rows", "columns", "categories")
ROWS_AT_A_TIME = 100_000
REDRAWN = 0.1
STAGES = ("read", "measure", "fit", "sample", "write")


def schema_of(columns: int, categories: int) -> dict:
    """Half numbers (0 to 999), half categories; the first column has as many as asked."""
    known = {}
    for j in range(columns):
        if j % 2:
            known[f"n{j}"] = {"type": "integer", "min": 0, "max": 999}
        else:
            known[f"c{j}"] = {"type": "categorical", "categories": [f"v{i}" for i in range(20 if j else categories)]}
    return {"columns": known}


def block(columns: int, categories: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Rows whose columns all follow one hidden number."""
    hidden = rng.random(ROWS_AT_A_TIME)
    out = {}
    for j in range(columns):
        mixed = np.clip(0.7 * hidden + 0.3 * rng.random(ROWS_AT_A_TIME), 0, 1 - 1e-9)
        out[f"n{j}" if j % 2 else f"c{j}"] = (mixed * (1000 if j % 2 else 20 if j else categories)).astype(np.int64)
    return out


def write(path: Path, rows: int, columns: int, categories: int) -> None:
    """The table as Parquet, a block at a time."""
    rng = np.random.default_rng(0)
    first, writer = block(columns, categories, rng), None
    for start in range(0, rows, ROWS_AT_A_TIME):
        size, part = min(ROWS_AT_A_TIME, rows - start), {}
        for name, values in first.items():
            again = rng.random(ROWS_AT_A_TIME) < REDRAWN if start else np.zeros(ROWS_AT_A_TIME, dtype=bool)
            values = np.where(again, values[rng.permutation(ROWS_AT_A_TIME)], values)[:size]
            part[name] = pa.array(values) if name[0] == "n" else pa.array(np.char.add("v", values.astype(str)))
        table = pa.table(part)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def measured(folder: Path, method: str) -> dict:
    """In a process of its own: one run, its stages' seconds and its peak memory."""
    import synth

    clock = Clock()
    schema = synth.Schema.load(folder / "schema.json")
    made = synth.run(
        folder / "table.parquet",
        schema=schema,
        epsilon=1.0,
        delta=1e-7,
        method=method,
        seed=0,
        num_rows=100_000,
        out=folder / "out",
        ledger=folder / f"{method}.sqlite",
        assume_public=True,
        max_categories=10**6,
        reporter=clock,
        device="cpu",
    )
    return {
        "stages": dict.fromkeys(STAGES, 0.0) | clock.seconds(),
        "seconds_total": made.seconds_total,
        "peak_mib": made.peak_mib,
    }


def one(folder: Path, cell: dict, most: float) -> dict:
    command = [sys.executable, __file__, "--inside", str(folder), "--methods", cell["method"]]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=most, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return {**cell, "failed": f"not done after {most:g} s"}
    if done.returncode:
        return {**cell, "failed": done.stderr.strip().splitlines()[-1]}
    return {**cell, **json.loads(done.stdout.splitlines()[-1])}


def slope(cells: list[dict], over: str, stage: str) -> str:
    """Log-log slope of a stage's seconds, or of the peak, where there is something to see."""

    def value(c: dict) -> float:
        return c["peak_mib"] if stage == "peak" else c["stages"][stage]

    held = [(c[over], value(c)) for c in cells if value(c) >= 0.1]
    if len(held) < 2:
        return "-"
    x, y = np.log(np.array(held)).T
    return f"{np.polyfit(x, y, 1)[0]:.2f}"


def markdown(rows: list[dict]) -> str:
    head = [*CELL, *(f"{s} s" for s in STAGES), "peak MiB"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in rows:
        cells = [str(r[k]) for k in CELL]
        told = [r["failed"]] if "failed" in r else [*(f"{r['stages'][s]:.2f}" for s in STAGES), f"{r['peak_mib']:.0f}"]
        lines.append("| " + " | ".join([*cells, *told]) + " |")
    lines += [
        "",
        "Log-log slopes:",
        "",
        "| method | against | " + " | ".join((*STAGES, "peak")) + " |",
        "|" + "---|" * (len(STAGES) + 3),
    ]
    done = [r for r in rows if "failed" not in r]
    for method, vary in dict.fromkeys((r["method"], r["vary"]) for r in done):
        part = [r for r in done if (r["method"], r["vary"]) == (method, vary)]
        lines.append(f"| {method} | {vary} | " + " | ".join(slope(part, vary, s) for s in (*STAGES, "peak")) + " |")
    return "\n".join(lines)


def numbers(text: str) -> list[int]:
    return [int(x) for x in filter(None, text.split(","))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default="independent,mixture,slicing,dp_kernel")
    for name, default in (
        ("rows", "10000,100000,1000000,10000000"),
        ("columns", "10,30,100"),
        ("categories", "100,1000,10000,100000"),
    ):
        parser.add_argument(f"--{name}", default=default, type=numbers)
    parser.add_argument("--most-seconds", type=float, default=600)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        print(json.dumps(measured(Path(given.inside), given.methods)))
        return
    rows = stored(RESULTS, fresh=given.fresh)
    known = {tuple(r[k] for k in CELL) for r in rows}
    for vary in ("rows", "columns", "categories"):
        for size in getattr(given, vary):
            shape = PLAIN | {vary: size}
            cells = [{"method": m, "vary": vary, **shape} for m in given.methods.split(",")]
            cells = [c for c in cells if tuple(c[k] for k in CELL) not in known]
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                if cells:
                    (folder / "schema.json").write_text(json.dumps(schema_of(shape["columns"], shape["categories"])))
                    write(folder / "table.parquet", **shape)
                for cell in cells:
                    rows.append(one(folder, cell, given.most_seconds))
                    store(RESULTS, rows)
                    print(rows[-1], file=sys.stderr, flush=True)
    print(markdown(rows))


if __name__ == "__main__":
    main()
