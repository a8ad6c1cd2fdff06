"""Runs of `mixture` on 304,249 incidents of a fire department (15 columns of codes): spread from run to run.

    python benchmarks/fire.py [--epsilons 1] [--seeds 4] [--json FILE]

Needs the public tables and triples.py in ../shared; says so and stops without them. Every run goes through the command
line with fresh noise and a ledger of its own, at delta 1e-9 under replace_one. Scores are mean L1 distances (twice the
total variation) of all tables of one, two and three columns. Runs that the JSON holds are passed over. Prints Markdown,
which docs/generators/mixture.md holds.
"""

import argparse
import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from flagship import SHARED, call, need_tables
from markdown_tables import store, stored, table

RESULTS = Path(__file__).resolve().parent / "results" / "fire.json"
SHOWN = {"L1 of 3 columns": 4, "L1 of 2 columns": 4, "ratio": 2, "pairs": 2, "seconds": 0}


def one(folder: Path, epsilon: float, seed: int) -> dict:
    """One run and its scores."""
    out = folder / f"out-{epsilon}-{seed}"
    said = call(
        *(sys.executable, "-m", "synth", "run", folder / "train.csv", "--schema", folder / "schema.json"),
        *("--epsilon", epsilon, "--delta", 1e-9, "--relation", "replace_one", "--method", "mixture", "--out", out),
        *("--seed", seed, "--ledger", folder / "ledger.sqlite", "--json"),
    )
    run = json.loads(said)
    triples, data = SHARED / "tools" / "triples.py", SHARED / "data" / "fire_incidents"
    scores = json.loads(call(sys.executable, triples, "score", data, out / "synthetic.csv"))
    told = {k: run["fit"][k] for k in ("ratio", "pairs")}
    return {"epsilon": epsilon, "seed": seed, "seconds": run["seconds_total"], **told, **scores}


def markdown(rows: list[dict]) -> str:
    """By epsilon the mean and the largest of all runs."""
    lines = []
    for epsilon in sorted({r["epsilon"] for r in rows}):
        own = [r for r in rows if r["epsilon"] == epsilon]
        cells = [f"{np.mean([r[n] for r in own]):.{d}f} / {max(r[n] for r in own):.{d}f}" for n, d in SHOWN.items()]
        lines.append([f"{epsilon:g}", str(len(own)), *cells])
    heads = ["tables of three", "of two", "loss over noise's", "that of pairs", "seconds"]
    return table(["epsilon", "runs", *heads], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--json", default=str(RESULTS))
    given = parser.parse_args()
    need_tables()
    path = Path(given.json)
    rows = stored(path)
    known = {(r["epsilon"], r["seed"]) for r in rows}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = SHARED / "data" / "fire_incidents"
        call(sys.executable, SHARED / "tools" / "triples.py", "schema", data, "--out", folder / "schema.json")
        with gzip.open(data / "private.csv.gz") as source, (folder / "train.csv").open("wb") as rest:
            shutil.copyfileobj(source, rest)
        for epsilon in map(float, given.epsilons.split(",")):
            for seed in range(given.seeds):
                if (epsilon, seed) not in known:
                    rows.append(one(folder, epsilon, seed))
                    print(rows[-1], flush=True)
                    store(path, rows)
    print(markdown(rows))


if __name__ == "__main__":
    main()
