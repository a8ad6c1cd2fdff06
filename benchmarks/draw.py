"""How fast rows are drawn from a fitted `mixture`: positions alone, as text, and into a Parquet file.

    python benchmarks/draw.py [--rows 10000000] [--table adult]

Adult (15 columns; it must lie beside the checkout), or ``simulated``: a million rows of 8 categories of 20 values and 7
numbers of 1000 (benchmarks/scaling.py), one of them the target. The model is fitted at epsilon 1. Rows
are drawn in blocks as `synth sample` does, on one core and on two; each measurement is a process of its own. Seconds
of the processor are told beside those of the clock, since other work may keep the machine busy: rows a second of a
core that has nothing else to do are rows over processor seconds. Written to
benchmarks/results/draw_TABLE.json.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FITTED, COLUMNS = 1_000_000, 15  # of the simulated table
WHAT = ("positions", "text", "parquet")


def model(folder: Path, table: str) -> None:
    """A fitted model."""
    import flagship
    import scaling

    import synth

    if table == "adult":
        flagship.drafted(folder, flagship.adult(folder))
        place, schema, target = folder / "train.csv", synth.Schema.load(folder / "schema.json"), None
    else:
        place, schema, target = folder / "table.parquet", synth.Schema.parse(scaling.schema_of(COLUMNS, 20)), "c0"
        scaling.write(place, FITTED, COLUMNS, 20)
    synth.run(
        place,
        schema=schema,
        epsilon=1.0,
        delta=1e-5,
        target=target,
        num_rows=1000,
        seed=0,
        out=folder / "out",
        ledger=folder / "ledger.sqlite",
        assume_public=True,
    )


def drawn(folder: Path, what: str, rows: int, cores: int) -> dict[str, Any]:
    """Seconds for ``rows`` rows, on the first cores that this process may use."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    import numpy as np

    from synth.pipeline.draw_rows import ROWS_AT_A_TIME, Drawn
    from synth.release import folder as bundle

    stored = bundle.load_model(folder / "out")
    table = Drawn(stored.model, stored.schema, rows, rng=np.random.default_rng(0))
    stored.model.sample(ROWS_AT_A_TIME // 4, rng=np.random.default_rng(1))
    started, busy = time.perf_counter(), time.process_time()
    if what == "positions":
        rng = np.random.default_rng(0)
        for start in range(0, rows, ROWS_AT_A_TIME):
            stored.model.sample(min(ROWS_AT_A_TIME, rows - start), rng=rng)
    elif what == "text":
        for _ in table.blocks():
            pass
    else:
        bundle.write_blocks(folder / f"t{cores}.parquet", table.blocks(), stored.schema)
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - busy,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Measures, prints Markdown, writes the JSON file."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--rows", type=int, default=10**7)
    ask.add_argument("--table", choices=("adult", "simulated"), default="adult")
    ask.add_argument("--json", type=Path)
    ask.add_argument("--inside", help=argparse.SUPPRESS)
    given = ask.parse_args()
    if given.inside:
        folder, what, cores = given.inside.split("::")
        print(json.dumps(drawn(Path(folder), what, given.rows, int(cores))))
        return
    told: dict[str, Any] = {"rows": given.rows, "table": given.table, "load": os.getloadavg()[0], "runs": {}}
    print(
        "| drawn | cores | seconds | processor | rows/s | rows/processor s | peak MiB |\n|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as name:
        model(Path(name), given.table)
        for what in WHAT:
            for cores in (1, 2):
                command = [sys.executable, __file__, "--rows", str(given.rows), "--inside", f"{name}::{what}::{cores}"]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                found = told["runs"][f"{what} {cores}"] = json.loads(done.stdout.splitlines()[-1])
                wall, busy = found["seconds"], found["cpu_seconds"]
                print(
                    f"| {what} | {cores} | {wall:.1f} | {busy:.1f} | {given.rows / wall:,.0f} | "
                    f"{given.rows / busy:,.0f} | {found['peak_mib']:.0f} |",
                    flush=True,
                )
    into = given.json or HERE / "results" / f"draw_{given.table}.json"
    into.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
