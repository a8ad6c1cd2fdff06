"""A first look: every method makes 500 rows from 3,000 rows of 5 columns; seconds, and whether the rows fit the schema.

    python benchmarks/small.py [--methods independent,mixture,...] [--json FILE]

A simulated table of three categories and two numbers. Each method with its defaults at epsilon 1 is a command of its
own (``synth run``), start of Python included; what it wrote is read again with the schema. Prints Markdown, writes
benchmarks/results/small.json.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "small.json"
ALL = "independent,mixture,slicing,dp_kernel,dp_merf,dp_hp,pearl,dp_ntk,dp_ctgan,pate_gan,dp_vae,mwem,aim,mst"
ROWS, WANTED = 3_000, 500
SCHEMA = {
    "target": "paid",
    "columns": {
        "region": {"type": "categorical", "categories": ["north", "east", "south", "west"]},
        "age": {"type": "integer", "min": 18, "max": 90},
        "size": {"type": "categorical", "categories": [str(i) for i in range(1, 9)]},
        "amount": {"type": "integer", "min": 0, "max": 5000},
        "paid": {"type": "categorical", "categories": ["no", "yes"]},
    },
}


def table() -> pd.DataFrame:
    """Columns that depend on each other."""
    rng = np.random.default_rng(0)
    region, age = rng.integers(0, 4, ROWS), rng.integers(18, 91, ROWS)
    size = np.clip(region + rng.integers(1, 6, ROWS), 1, 8)
    amount = np.clip(rng.gamma(2, 30 * size), 0, 5000).astype(int)
    paid = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-(age - 50) / 15)), "yes", "no")
    names = np.array(SCHEMA["columns"]["region"]["categories"])  # type: ignore[index]
    return pd.DataFrame({"region": names[region], "age": age, "size": size, "amount": amount, "paid": paid})


def fits(path: Path) -> bool:
    """All rows there, all columns in the schema's order, every value inside."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    columns: dict[str, dict] = SCHEMA["columns"]  # type: ignore[assignment]
    if header != list(columns) or len(rows) != WANTED:
        return False
    cells = dict(zip(header, zip(*rows, strict=True), strict=True))
    return all(
        set(cells[name]) <= set(c["categories"])
        if c["type"] == "categorical"
        else all(c["min"] <= int(v) <= c["max"] for v in cells[name])
        for name, c in columns.items()
    )


def run(method: str, folder: Path) -> dict:
    """One method's command."""
    out = folder / method
    command = [
        sys.executable,
        "-m",
        "synth",
        "run",
        str(folder / "table.csv"),
        "--schema",
        str(folder / "schema.json"),
        "--epsilon",
        "1",
        "--method",
        method,
        "--num-rows",
        str(WANTED),
        "--out",
        str(out),
        "--ledger",
        str(folder / f"{method}.ledger"),
    ]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        return {"method": method, "seconds": seconds, "fits": False, "failed": done.stderr.strip()[-200:]}
    return {"method": method, "seconds": seconds, "fits": fits(out / "synthetic.csv")}


def main() -> None:
    """Parses, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default=ALL)
    parser.add_argument("--json", type=Path, default=RESULTS)
    asked = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        table().to_csv(Path(folder) / "table.csv", index=False)
        (Path(folder) / "schema.json").write_text(json.dumps(SCHEMA))
        print("| method | seconds | rows fit the schema |\n|---|---|---|")
        for method in asked.methods.split(","):
            found.append(run(method, Path(folder)))
            last = found[-1]
            told = "yes" if last["fits"] else last.get("failed", "no")
            print(f"| {method} | {last['seconds']:.1f} | {told} |", flush=True)
    asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
