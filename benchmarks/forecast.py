"""Forecasts of `synth plan` beside what runs then take: seconds, memory, error of one-way tables.

    python benchmarks/forecast.py
    python benchmarks/forecast.py --pairs    # the noise told of pairs beside the error that `mixture` reached

Simulated tables only, but for --pairs, which needs the public tables in ../shared and reads results/peers.json.
Writes benchmarks/results/plan.json and prints Markdown. Forecasts of seconds are of an idle machine.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from flagship import ROOT, TABLES
from markdown_tables import figure, table
from tables import SYNTH, call, run, simulated

RESULTS = ROOT / "benchmarks" / "results" / "plan.json"
SHAPES = [(10, 2_000), (10, 100_000), (10, 1_000_000), (30, 100_000), (60, 100_000)]


def pairs() -> None:
    """What `synth plan` says of pairs beside what `mixture` reached, mean over the runs of benchmarks/peers.py."""
    found: dict[tuple[str, float], list[float]] = {}
    for cell in json.loads((ROOT / "benchmarks" / "results" / "peers.json").read_text()):
        if cell["method"] == "mixture" and "pair_tv_err" in cell:
            found.setdefault((cell["table"], cell["epsilon"]), []).append(cell["pair_tv_err"])
    print("| table | epsilon | planned, at most | measured | times closer |")
    print("|---|---|---|---|---|")
    for (named, epsilon), errors in sorted(found.items()):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            options = TABLES[named](folder)
            call(*SYNTH, "schema", "init", folder / "train.csv", "--out", folder / "schema.json", *options)
            rows = sum(1 for _ in (folder / "train.csv").open()) - 1
            plan = json.loads(
                call(*SYNTH, "plan", "--schema", folder / "schema.json", "--rows", rows, "--epsilon", epsilon, "--json")
            )
        told, reached = plan["error_two_way"], sum(errors) / len(errors)
        print(f"| {named} | {epsilon:g} | {told:.3f} | {reached:.4f} | {told / reached:.1f} |", flush=True)


def markdown(rows: list[dict]) -> str:
    """A line a table."""
    heads = ("columns", "rows", "planned s", "measured s", "planned MiB", "measured MiB")
    lines = [
        [
            str(r["columns"]),
            f"{r['rows']:,}",
            *(figure(r[k], 1) for k in ("planned_seconds", "seconds")),
            *(figure(r[k], 0) for k in ("planned_mib", "mib")),
        ]
        for r in rows
    ]
    return table(heads, lines)


def main() -> None:
    if "--pairs" in sys.argv[1:]:
        pairs()
        return
    found = []
    for columns, rows in SHAPES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            frame, schema = simulated(columns, rows, np.random.default_rng(columns))
            frame.to_csv(folder / "train.csv", index=False)
            (folder / "schema.json").write_text(json.dumps(schema))
            plan = json.loads(call(*SYNTH, "plan", "--schema", folder / "schema.json", "--rows", rows, "--json"))
            done = run(folder)
            found.append(
                {
                    "columns": columns,
                    "rows": rows,
                    "planned_seconds": plan["seconds"],
                    "seconds": done["seconds_total"],
                    "planned_mib": plan["peak_mib"],
                    "mib": done["peak_mib"],
                }
            )
            print(found[-1], flush=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(markdown(found))


if __name__ == "__main__":
    main()
