"""Runs of `mixture` on 304,249 incidents of a fire department (15 columns of codes): spread from run to run.

    python benchmarks/fire.py [--epsilons 1] [--seeds 4]

Every run goes through the command line with fresh noise and a ledger of its own, at delta 1e-9 under replace_one.
Scores are mean L1 distances (twice the total variation) of all tables of one, two and three columns.
"""

import gzip
import shutil
import sys
from contextlib import contextmanager
from json import loads
from pathlib import Path
from tempfile import TemporaryDirectory

from markdown_tables import filled
from public_tables import call, command
from runner import SHARED, Row, grid, measured, start

TRIPLES, DATA = SHARED / "tools" / "triples.py", SHARED / "data" / "fire_incidents"
SHOWN = {"L1 of 3 columns": 4, "L1 of 2 columns": 4, "ratio": 2, "pairs": 2, "seconds": 0}


@contextmanager
def place(*_):
    """The rows and their schema."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        call(sys.executable, TRIPLES, "schema", DATA, "--out", folder / "schema.json")
        with gzip.open(DATA / "private.csv.gz") as source, (folder / "train.csv").open("wb") as rest:
            shutil.copyfileobj(source, rest)
        yield folder


def one(folder: Path, cell: Row) -> Row:
    """One run and its scores."""
    run = loads(call(*command(folder, cell | {"delta": 1e-9}, "--relation", "replace_one")))
    scores = loads(call(sys.executable, TRIPLES, "score", DATA, folder / "out" / "synthetic.csv"))
    return {"seconds": run["seconds_total"], **{k: run["fit"][k] for k in ("ratio", "pairs")}, **scores}


def markdown(rows: list[Row]) -> str:
    """By epsilon the mean and the largest of all runs."""
    lines = []
    for epsilon in sorted({r["epsilon"] for r in rows}):
        own = [r for r in rows if r["epsilon"] == epsilon]
        cells = [
            f"{sum(r[n] for r in own) / len(own):.{d}f} / {max(r[n] for r in own):.{d}f}" for n, d in SHOWN.items()
        ]
        lines.append({"epsilon": epsilon, "runs": len(own), "cells": cells})
    heads = "epsilon|runs|tables of three|of two|loss over noise's|that of pairs|seconds"
    return filled(lines, heads, "{epsilon:g}|{runs}|" + "|".join(f"{{cells[{i}]}}" for i in range(len(SHOWN))))


def main(given) -> None:
    cells = grid(epsilon=given.epsilons, seed=range(given.seeds))
    print(markdown(measured(given, cells, one, prepare=place)))


if __name__ == "__main__":
    start(main, public=True, json="fire", epsilons=[1.0], seeds=4)
