"""Forecasts of `synth plan` beside what runs then take: seconds, memory, error of one-way tables.

    python benchmarks/forecast.py

Simulated tables only. Prints Markdown; the constants in synth/planning.py were fitted to these rows on one core.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from tables import SYNTH, call, run, simulated

SHAPES = [(10, 2_000), (10, 100_000), (10, 1_000_000), (30, 100_000), (60, 100_000)]


def main() -> None:
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
