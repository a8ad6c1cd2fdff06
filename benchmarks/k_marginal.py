"""NIST's k-marginal by NIST's own code: the package ``sdnist`` scores our tables in an environment of its own.

    python benchmarks/k_marginal.py [--tables nist24,nist10] [--methods mixture,independent] [--seeds 3] [--epsilon 1]
                                    [--python ENV/bin/python] [--json FILE] [--fresh]

Needs the public tables in ../shared, and a package index for the first run, which makes the environment
build/sdnist (Python 3.11; sdnist 2.4 pins numpy 1.24) unless ``--python`` names one. Parts of the real rows are scored
beside the methods. NIST's score leaves INDP out of its tables, and PUMA is their area: the score that
benchmarks/beyond_pairs.py prints counts INDP as well and is lower. Runs that the JSON (default
benchmarks/results/k_marginal.json) holds are passed over. Prints Markdown, which docs/high-order.md holds.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
from beyond_pairs import DELTA, prepare
from cells import CELL, ran
from flagship import ROOT, call, need_tables
from markdown_tables import means, store, stored

RESULTS = ROOT / "benchmarks" / "results" / "k_marginal.json"
PLACE = ROOT / "build" / "sdnist"
PACKAGE = "sdnist==2.4"
PARTS = (0.1, 0.4, 1.0)  # of the real rows; the last drawn with replacement


def environment() -> str:
    """The Python that has sdnist, made if it is not there."""
    python = PLACE / "bin" / "python"
    if not (PLACE / "ready").exists():
        call(sys.executable, "-m", "venv", PLACE)
        call(PLACE / "bin" / "pip", "install", "--quiet", PACKAGE)
        (PLACE / "ready").touch()
    return str(python)


def scored(python: str, folder: Path, made: Path) -> float:
    command = [python, ROOT / "benchmarks" / "sdnist_score.py", folder / "train.csv", made]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"sdnist: {done.stderr.strip().splitlines()[-1]}")
    return float(json.loads(done.stdout.splitlines()[-1])[0])


def parts(python: str, folder: Path, table: str) -> list[dict]:
    """Parts of the real rows, scored like synthetic tables."""
    rows = pd.read_csv(folder / "train.csv", dtype=str, keep_default_na=False)
    out = []
    for part in PARTS:
        path = folder / "part.csv"
        rows.sample(frac=part, replace=part == 1, random_state=0).to_csv(path, index=False)
        label = "bootstrap of the real rows" if part == 1 else f"{part:.0%} of the real rows"
        cell = {"table": table, "epsilon": None, "method": label, "options": "", "seed": 0}
        out.append({**cell, "sdnist": scored(python, folder, path)})
    return out


def markdown(rows: list[dict]) -> str:
    """Means over runs, and the largest difference from the mean; failures with their reason below."""
    columns = {"sdnist": ("sdnist k-marginal", 1), "seconds": ("seconds", 1)}
    made = means([r for r in rows if "failed" not in r], CELL[:3], columns, runs="runs", spread=True)
    failed = [f"- {r['table']}, {r['method']}: {r['failed']}" for r in rows if "failed" in r]
    return "\n".join([made, *([""] if failed else []), *failed])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default="nist24,nist10")
    parser.add_argument("--methods", default="mixture,independent")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--python", default="")
    parser.add_argument("--json", default=str(RESULTS))
    parser.add_argument("--fresh", action="store_true")
    given = parser.parse_args()
    need_tables()
    path = Path(given.json)
    rows = stored(path, fresh=given.fresh)
    python = given.python or environment()
    for table in given.tables.split(","):
        known = {tuple(r[k] for k in CELL) for r in rows}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(table, folder)
            if not any(r["table"] == table and r["epsilon"] is None for r in rows):
                rows += parts(python, folder, table)
            for method in given.methods.split(","):
                for seed in range(given.seeds):
                    cell = {"table": table, "epsilon": given.epsilon, "method": method, "options": "", "seed": seed}
                    if tuple(cell[k] for k in CELL) in known:
                        continue
                    told = ran(folder, cell, folder / "out", delta=DELTA[table])
                    if "failed" not in told:
                        told["sdnist"] = scored(python, folder, folder / "out" / "synthetic.csv")
                    rows.append(told)
                    print(rows[-1], flush=True)
                    store(path, rows)
    store(path, rows)
    print(markdown(rows))


if __name__ == "__main__":
    main()
