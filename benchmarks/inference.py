"""Whether intervals from several tables of one release cover the truth, and how wide they are: by family of estimands.

    python benchmarks/inference.py [--tables acs,adult,simulated] [--epsilons 0.2,1] [--runs 100] [--rows 6000]
                                   [--draws 20] [--fresh] [--cells FILE] [--json FILE]

ACSIncome and Adult are the public files in ../shared/data; says so and leaves them out without. A file's rows are the
population, so the truth is known; every run draws ``--rows`` of them with replacement, makes one release of `mixture`
with fresh noise, draws ``--draws`` tables of it, analyses each as if it were real, and combines. Beside stand the one
synthetic table analysed as if it were real (naive), and paid statistics at the same epsilon, shared evenly among the
columns' means, medians and counts that the estimands need. Runs that ``--cells`` holds are passed over. What they come
to is in ``--json``; `make figures` writes it into docs/inference.md.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import inference_estimands as estimands
import numpy as np
import pandas as pd

import synth
from synth.pipeline.statistics import statistics

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
RESULTS = ROOT / "benchmarks" / "results" / "inference.json"
DELTA = 1e-5


def population(name: str) -> pd.DataFrame | None:
    """All rows, numbers as numbers and categories as text; None where the file is not there."""
    if name == "simulated":
        return simulated(400_000, np.random.default_rng(1))
    files = {"acs": ["acs_income_co_2018.csv.gz"], "adult": ["adult_train.csv.gz", "adult_test.csv.gz"]}[name]
    if not all((SHARED / f).exists() for f in files):
        return None
    rows = pd.concat([pd.read_csv(SHARED / f, skipinitialspace=True) for f in files])
    return estimands.TABLES[name].shaped(rows)


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


def one(place: Path, name: str, epsilon: float, rows: int, draws: int, seed: int) -> dict:
    """One release and what four analyses say of every estimand: (estimate, low, high) by name."""
    everything = population(name)
    assert everything is not None
    rng = np.random.default_rng([seed, 7])
    table = estimands.TABLES[name]
    sample = everything.iloc[rng.integers(0, len(everything), rows)].reset_index(drop=True)
    schema = synth.parse(table.schema)
    kept = {"ledger": place / "ledger.sqlite"}
    start = time.perf_counter()
    synth.run(sample, schema=schema, epsilon=epsilon, delta=DELTA, dataset="release", out=place / "release", **kept)
    made = time.perf_counter()
    told = [table.analysed(t) for t in synth.multiple(place / "release", count=draws)]
    drawn = time.perf_counter()
    names = list(told[0])
    all_ = synth.combine([[t[n][0] for n in names] for t in told], [[t[n][1] for n in names] for t in told])
    whole = table.analysed(synth.Synthesizer.load(place / "release").sample(rows))
    paid = statistics(sample, schema=schema, ask=table.ask, epsilon=epsilon, delta=DELTA, dataset="paid",
                      separate=True, **kept)  # fmt: skip
    paid_half = table.paid(paid.answers, table.analysed(sample))
    return {
        "combined": {n: [float(all_.estimate[i]), float(all_.low[i]), float(all_.high[i])]
                     for i, n in enumerate(names)},
        "naive": {n: [v, v - 1.96 * s**0.5, v + 1.96 * s**0.5] for n, (v, s) in whole.items()},
        "paid_half": paid_half, "seconds": {"release": made - start, "tables": drawn - made},
    }  # fmt: skip


def summary(cells: list[dict]) -> list[dict]:
    """Coverage and width by table, epsilon and family."""
    rows = []
    for key in sorted({(c["table"], c["epsilon"]) for c in cells}):
        mine = [c for c in cells if (c["table"], c["epsilon"]) == key]
        truth = estimands.TABLES[key[0]].truth(population(key[0]))
        for family in (*dict.fromkeys(n.partition(":")[0] for n in truth), "all"):
            names = [n for n in truth if family in ("all", n.partition(":")[0])]
            hit = {w: np.mean([c[w][n][1] <= truth[n] <= c[w][n][2] for c in mine for n in names])
                   for w in ("combined", "naive")}  # fmt: skip
            wide = [(c["combined"][n][2] - c["combined"][n][1]) / 2 / c["paid_half"][n]
                    for c in mine for n in names if n in c["paid_half"]]  # fmt: skip
            rows.append({"table": key[0], "epsilon": key[1], "family": family, "estimands": len(names),
                         "releases": len(mine), "covered": round(float(hit["combined"]), 4),
                         "naive": round(float(hit["naive"]), 4),
                         "width": round(float(np.median(wide)), 3) if wide else None})  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default="acs,adult,simulated")
    parser.add_argument("--epsilons", default="0.2,1")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--cells", type=Path, default=ROOT / "build" / "inference.json")
    parser.add_argument("--json", type=Path, default=RESULTS)
    asked = parser.parse_args()
    cells = json.loads(asked.cells.read_text()) if asked.cells.exists() and not asked.fresh else []
    for seed in range(asked.runs):
        for epsilon in map(float, asked.epsilons.split(",")):
            for name in asked.tables.split(","):
                cell = {"table": name, "epsilon": epsilon, "rows": asked.rows, "draws": asked.draws, "seed": seed}
                if any(all(c[k] == v for k, v in cell.items()) for c in cells):
                    continue
                if population(name) is None:
                    print(f"{name}: its files are not in {SHARED.name}; left out", file=sys.stderr)
                    continue
                with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    cells.append({**cell, **one(Path(place), name, epsilon, asked.rows, asked.draws, seed)})
                asked.cells.parent.mkdir(exist_ok=True)
                asked.cells.write_text(json.dumps(cells) + "\n")
                print(name, epsilon, seed, cells[-1]["seconds"], file=sys.stderr, flush=True)
    asked.json.write_text(json.dumps(rows := summary(cells), indent=1) + "\n")
    print(*rows, sep="\n")


if __name__ == "__main__":
    main()
