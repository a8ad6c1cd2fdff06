"""Forecasts of `synth plan` beside what runs then take: seconds, memory, error of one-way tables.

    python benchmarks/forecast.py
    python benchmarks/forecast.py --pairs    # the noise told of pairs beside the error that `mixture` reached

Simulated tables only, but for --pairs, which needs the public tables in ../shared and reads results/peers.json.
Prints Markdown; the constants in synth/pipeline/plan.py were fitted to these rows on one core.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from flagship import ROOT, TABLES
from tables import SYNTH, call, run, simulated

SHAPES = [(10, 2_000), (10, 100_000), (10, 1_000_000), (30, 100_000), (60, 100_000)]


def pairs() -> None:
    """What `synth plan` says of pairs beside what `mixture` reached, mean over the runs of benchmarks/peers.py."""
    found: dict[tuple[str, float], list[float]] = {}
    for cell in json.loads((ROOT / "benchmarks" / "results" / "peers.json").read_text()):
        if cell["method"] == "mixture" and "pair_tv_err" in cell:
            found.setdefault((cell["table"], cell["epsilon"]), []).append(cell["pair_tv_err"])
    print("| table | epsilon | planned, at most | measured | times closer |")
    print("|---|---|---|---|---|")
    for (table, epsilon), errors in sorted(found.items()):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            options = TABLES[table](folder)
            call(*SYNTH, "schema", "init", folder / "train.csv", "--out", folder / "schema.json", *options)
            rows = sum(1 for _ in (folder / "train.csv").open()) - 1
            plan = json.loads(
                call(*SYNTH, "plan", "--schema", folder / "schema.json", "--rows", rows, "--epsilon", epsilon, "--json")
            )
        told, reached = plan["error_two_way"], sum(errors) / len(errors)
        print(f"| {table} | {epsilon:g} | {told:.3f} | {reached:.4f} | {told / reached:.1f} |", flush=True)


def main() -> None:
    if "--pairs" in sys.argv[1:]:
        pairs()
        return
    print("| columns | rows | planned s | measured s | planned MiB | measured MiB |")
    print("|---|---|---|---|---|---|")
    for columns, rows in SHAPES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            frame, schema = simulated(columns, rows, np.random.default_rng(columns))
            frame.to_csv(folder / "train.csv", index=False)
            (folder / "schema.json").write_text(json.dumps(schema))
            plan = json.loads(call(*SYNTH, "plan", "--schema", folder / "schema.json", "--rows", rows, "--json"))
            done = run(folder)
            cells = [plan["seconds"], done["seconds_total"], plan["peak_mib"], done["peak_mib"]]
            print(f"| {columns} | {rows} | " + " | ".join(f"{c:.1f}" for c in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
