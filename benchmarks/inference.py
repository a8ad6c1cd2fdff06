"""Whether intervals from one release cover the truth, and how wide they are: by family of estimands.

    python benchmarks/inference.py [--tables acs,adult,simulated] [--epsilons 0.2,1] [--runs 100] [--rows 6000]

ACSIncome and Adult are the public files in ../shared/data; says so and leaves them out without. A file's rows are the
population, so the truth is known; every run draws ``--rows`` of them with replacement, makes one release of `mixture`
with fresh noise and asks `synth.estimates` of it. Beside stand the one synthetic table analysed as if it were real
(naive); of the first ``--multiple`` runs of each table `synth.combine` of ``--draws`` tables. Releases stand
in ``--retained`` and are made once; runs that ``--cells`` holds are passed over. What they come to is in ``--json``;
`python benchmarks/docs_figures.py --show inference` prints it.
"""

import json
import shutil
import sys
import time
import warnings
from functools import cache
from pathlib import Path

import inference_estimands as estimands
import numpy as np
import pandas as pd
from runner import ROOT, SHARED, Row, grid, show, start, write

import synth

DELTA = 1e-5
FILES = {"acs": ["acs_income_co_2018.csv.gz"], "adult": ["adult_train.csv.gz", "adult_test.csv.gz"]}


@cache
def population(name: str) -> pd.DataFrame | None:
    """All rows, numbers as numbers and categories as text; None where the file is not there."""
    if name == "simulated":
        return simulated(400_000, np.random.default_rng(1))
    files = [SHARED / "data" / f for f in FILES[name]]
    if not all(f.exists() for f in files):
        return None
    return estimands.TABLES[name].shaped(pd.concat([pd.read_csv(f, skipinitialspace=True) for f in files]))


def simulated(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Numbers, groups and counts whose relations are main effects: what tables of pairs can tell."""
    group = rng.choice(["a", "b", "c", "d"], rows, p=[0.4, 0.3, 0.2, 0.1])
    sex = rng.choice(["f", "m"], rows)
    age = np.clip(np.rint(rng.normal(45 + 5 * (group == "c"), 15, rows)), 18, 90).astype(int)
    hours = np.clip(np.rint(rng.normal(38 - 4 * (sex == "f") - 0.05 * (age - 45), 9, rows)), 0, 80).astype(int)
    push = -3 + 0.03 * age + 0.03 * hours + 0.5 * (group == "a")
    high = np.where(rng.random(rows) < 1 / (1 + np.exp(-push)), "yes", "no")
    visits = np.minimum(rng.poisson(np.exp(-0.6 + 0.02 * age - 0.3 * (sex == "m"))), 20)
    return pd.DataFrame({"group": group, "sex": sex, "age": age, "hours": hours, "high": high, "visits": visits})


def released(place: Path, name: str, epsilon: float, rows: int, seed: int) -> float:
    """Makes the release in a folder of its own, where it is not there yet; seconds."""
    if (place / "release" / "synthetic.csv").exists():
        return 0.0
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    everything, table = population(name), estimands.TABLES[name]
    sample = everything.iloc[np.random.default_rng([seed, 7]).integers(0, len(everything), rows)].reset_index(drop=True)
    how = {"schema": synth.Schema.parse(table.schema), "epsilon": epsilon, "delta": DELTA}
    how["ledger"] = place / "ledger.sqlite"
    start = time.process_time()
    synth.run(sample, dataset="release", out=place / "release", **how)
    return time.process_time() - start


def of_release(table: estimands.Table, place: Path, names: list[str], draws: int) -> Row:
    """By estimand: estimate, low, high, and whether it was warned of; of ``draws`` tables combined, if any."""
    began, keys = time.process_time(), ("estimate", "low", "high")
    reported = {f"{t['ask']} {t['name']}": t for t in synth.estimates(place, table.questions)}
    out: Row = {"estimates": {n: [*(reported[n][k] for k in keys), bool(reported[n]["warnings"])] for n in names}}
    out["seconds"] = {"estimates": time.process_time() - began}
    if draws:
        began, drawn = time.process_time(), [table.analysed(t) for t in synth.app_api.multiple(place, count=draws)]
        both = synth.combine(*([[t[n][i] for n in names] for t in drawn] for i in (0, 1)))
        out["combined"] = {n: [float(getattr(both, k)[i]) for k in keys] for i, n in enumerate(names)}
        out["seconds"]["tables"] = time.process_time() - began
    return out


def naive(reported: estimands.Estimated) -> dict[str, list[float]]:
    """Intervals of a table as if its rows were real."""
    return {n: [v, v - 1.96 * s**0.5, v + 1.96 * s**0.5] for n, (v, s) in reported.items()}


def one(place: Path, name: str, combined: int) -> Row:
    """What the analyses of one release say of every estimand."""
    table = estimands.TABLES[name]
    whole = table.analysed(table.typed(pd.read_csv(place / "release" / "synthetic.csv", dtype=str)))
    out = of_release(table, place / "release", list(whole), combined)
    return out | {"naive": naive(whole)}


def families(truth: dict[str, float]) -> dict[str, list[str]]:
    """The estimands of each family, and all."""
    kinds = dict.fromkeys(n.partition(":")[0] for n in truth)
    return {k: [n for n in truth if n.partition(":")[0] == k] for k in kinds} | {"all": list(truth)}


def summary(cells: list[dict]) -> list[dict]:
    """Coverage by table, epsilon and family; in parts of 1."""
    rows = []
    for key in sorted({(c["table"], c["epsilon"]) for c in cells}):
        mine = [c for c in cells if (c["table"], c["epsilon"]) == key]
        truth = estimands.TABLES[key[0]].truth(population(key[0]))
        for family, names in families(truth).items():
            about = {"table": key[0], "epsilon": key[1], "family": family, "estimands": len(names)}
            rows.append(about | {"releases": len(mine)} | _of_family(mine, names, truth))
    return rows


def _of_family(cells: list[dict], names: list[str], truth: dict[str, float]) -> dict:
    """``unwarned``: covered where nothing was warned of; ``lowest``: covered, of the worst estimand."""
    hit = {
        w: np.array([[c[w][n][1] <= truth[n] <= c[w][n][2] for n in names] for c in cells if w in c])
        for w in ("estimates", "naive", "combined")
    }
    warned = np.array([[c["estimates"][n][3] for n in names] for c in cells])
    return {
        "covered": share(hit["estimates"]),
        "unwarned": share(hit["estimates"][~warned]),
        "warned": share(warned),
        "lowest": round(float(hit["estimates"].mean(0).min()), 4),
        "naive": share(hit["naive"]),
        "combined": share(hit["combined"]),
        "combined_releases": len(hit["combined"]),
    }


def share(hits: np.ndarray) -> float | None:
    """Part of all; None of nothing."""
    return round(float(hits.mean()), 4) if hits.size else None


def main(given) -> None:
    held = given.cells.exists() and not given.fresh
    cells = [json.loads(line) for line in given.cells.read_text().splitlines()] if held else []
    cells = list({tuple(c[k] for k in ("table", "epsilon", "rows", "seed")): c for c in cells}.values())  # the last
    names = [n for n in given.tables if population(n) is not None]
    for name in set(given.tables) - set(names):
        print(f"{name}: its files are not in {SHARED.name}; left out", file=sys.stderr)
    for wanted in grid(seed=range(given.runs), epsilon=given.epsilons, table=names, rows=[given.rows]):
        draws = given.draws if wanted["seed"] < given.multiple else 0
        before = [c for c in cells if all(c[k] == v for k, v in wanted.items())]
        if before and ("combined" in before[0] or not draws):
            continue
        name, epsilon, seed = (wanted[k] for k in ("table", "epsilon", "seed"))
        place = given.retained / f"{name}-{given.rows}-{epsilon:g}-{seed}"
        if given.fresh:
            shutil.rmtree(place, ignore_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spent = released(place, name, epsilon, given.rows, seed)
            row: Row = wanted | one(place, name, draws)
        row["seconds"]["release"] = spent
        cells = [c for c in cells if c not in before] + [row]
        given.cells.parent.mkdir(exist_ok=True)
        with given.cells.open("a") as file:
            file.write(json.dumps(row) + "\n")
        show(wanted | row["seconds"])
    rows = write(given.json, summary(cells))
    print(*rows, sep="\n")


if __name__ == "__main__":
    usual = {"tables": "acs,adult,simulated", "epsilons": [0.2, 1.0], "runs": 100, "rows": 6000, "multiple": 0}
    places = {"retained": ROOT / "build" / "inference", "cells": ROOT / "build" / "inference.jsonl"}
    start(main, json="inference", draws=20, **usual, **places)
