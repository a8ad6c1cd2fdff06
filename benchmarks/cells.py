"""One run of the command line as a cell of a benchmark: a table, an epsilon, a method, its options and a seed."""

import json
import subprocess
import sys
import time
from pathlib import Path

from flagship import ROOT

SYNTH = (sys.executable, "-m", "synth")
CELL = ("table", "epsilon", "method", "options", "seed")
TOLD = ("seconds", "seconds_total", "peak_mib", "epsilon_derived", "num_rows")


def ran(folder: Path, cell: dict, out: Path, *, delta: float = 1e-5, most: float | None = None) -> dict:
    """The cell with what its run told, or with ``failed``, the reason why there is none; rows lie in ``out``.

    ``folder`` holds train.csv and schema.json, and a new ledger for each run: fresh noise, nothing spent before.
    ``most``: seconds after which a run is given up.
    """
    ledger = folder / f"{len(list(folder.iterdir()))}.sqlite"
    command = [
        *SYNTH,
        "run",
        folder / "train.csv",
        "--schema",
        folder / "schema.json",
        "--epsilon",
        cell["epsilon"],
        "--delta",
        delta,
        "--method",
        cell["method"],
        "--seed",
        cell["seed"],
        "--out",
        out,
        "--ledger",
        ledger,
        "--json",
    ]
    options = cell["options"]
    for option in options.split() if isinstance(options, str) else options:
        command += ["--option", option]
    started = time.perf_counter()
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=ROOT, timeout=most)
    except subprocess.TimeoutExpired:
        return {**cell, "failed": f"not done after {most:g} s"}
    if done.returncode:
        return {**cell, "failed": done.stderr.strip().splitlines()[-1]}
    run = json.loads(done.stdout)
    return {**cell, **{k: run[k] for k in TOLD}, "seconds_command": time.perf_counter() - started}
