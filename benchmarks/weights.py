"""Weighted shares of a synthetic table whose weight is a column like others, beside counts of weights under noise.

    python benchmarks/weights.py [--epsilons 1] [--seeds 2] [--json FILE]

Needs the public tables in ../shared: ten columns of NIST's excerpt of the American Community Survey, whose PWGTP says
for how many people a person's row stands; and the same with a weight that is spread wider. Told is the mean total
variation between the source's weighted shares of a column and

- those of a synthetic table by ``mixture``, which measures the weight with every other column and counts rows;
- those of fresh rows of the same number, drawn from the source: what sampling costs;
- weighted counts under noise (``synth statistics --ask weight:COL``), each column's table at an equal share of the
  whole epsilon, and of a tenth of its squared noise budget, which a run could spare for it.

Prints Markdown; JSON goes to benchmarks/results/weights.json.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from flagship import ROOT, need_tables, read
from markdown_tables import means

import synth
from synth.privacy.accounting.gaussian import calibrate

RESULTS = ROOT / "benchmarks" / "results" / "weights.json"
COLUMNS = ["PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "EDU", "PINCP_DECILE", "OWN_RENT", "PWGTP"]
NUMBERS = {"AGEP": (0, 99), "PWGTP": (0, 500)}
KEY = ("weight", "epsilon", "told by")
METRICS = {
    "weighted": ("weighted columns", 4),
    "plain": ("columns", 4),
    "total": ("total weight, relative", 4),
    "pairs": ("weighted pairs", 4),
}


def schema(rows: pd.DataFrame) -> synth.Schema:
    """Public facts as a code book has them; the weight's bounds are stated."""
    columns = {}
    for name in COLUMNS:
        if name in NUMBERS:
            low, high = NUMBERS[name]
            columns[name] = {"type": "integer", "min": low, "max": high}
        else:
            columns[name] = {"type": "categorical", "categories": sorted(set(rows[name]))}
    return synth.Schema.parse({"columns": columns})


def tables(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The published weight, and one that is spread wider and hangs on place and age together."""
    wide = rows.copy()
    rng = np.random.default_rng(0)
    codes = rows["PUMA"].astype("category").cat.codes.to_numpy()
    old = rows["AGEP"].astype(float).to_numpy() > 50
    size = np.exp(rng.normal(2.5, 0.5, len(rows)) + 1.2 * (codes % 3) + 1.0 * (old & (codes % 2 == 0)))
    wide["PWGTP"] = np.clip(np.round(size), 1, 500).astype(int).astype(str)
    return {"PWGTP": rows, "wide": wide}


def cells(rows: pd.DataFrame, name: str) -> np.ndarray:
    """A column's cells as text; ages in tens."""
    return (rows[name].astype(float) // 10).astype(int).astype(str) if name == "AGEP" else rows[name].astype(str)


def shares(rows: pd.DataFrame, names: tuple[str, ...], weight: np.ndarray) -> pd.Series:
    """Each cell's share of the weight."""
    told = pd.Series(weight).groupby([cells(rows, n).to_numpy() for n in names]).sum()
    return told / told.sum()


def apart(one: pd.Series, other: pd.Series) -> float:
    """Total variation."""
    return float(one.sub(other, fill_value=0).abs().sum() / 2)


def scored(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    """How far weighted columns and pairs, unweighted columns, and the total are off."""
    names = [n for n in COLUMNS if n != "PWGTP"]
    ours, theirs = (t["PWGTP"].astype(float).to_numpy() for t in (real, made))
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]

    def mean(groups: list[tuple[str, ...]], *weights: np.ndarray) -> float:
        return float(np.mean([apart(shares(real, g, weights[0]), shares(made, g, weights[1])) for g in groups]))

    singles = [(n,) for n in names]
    return {
        "weighted": mean(singles, ours, theirs),
        "pairs": mean(pairs, ours, theirs),
        "plain": mean(singles, np.ones(len(real)), np.ones(len(made))),
        "total": float(abs(theirs.mean() / ours.mean() - 1)),
    }


def direct(real: pd.DataFrame, mu: float, seed: int) -> dict[str, float]:
    """Each column's table of weights with noise of its share of mu, the bound being the schema's; post-processed."""
    names = [n for n in COLUMNS if n != "PWGTP"]
    weight, rng = real["PWGTP"].astype(float).to_numpy(), np.random.default_rng(seed)
    sigma = NUMBERS["PWGTP"][1] * np.sqrt(len(names)) / mu
    off = []
    for name in names:
        true = shares(real, (name,), weight)
        noisy = (true * weight.sum() + rng.normal(0, sigma, len(true))).clip(lower=0)
        off.append(apart(true, noisy / noisy.sum()))
    return {"weighted": float(np.mean(off))}


def measured(epsilon: float, seeds: int) -> list[dict]:
    """A line for each weight, way and seed."""
    out = []
    rows = read("acs_nist_national_2019.csv.gz")[COLUMNS]
    mu = calibrate(epsilon, 1e-5)
    for weight, real in tables(rows).items():
        about = {"weight": weight, "epsilon": epsilon}
        told = schema(real)
        for seed in range(seeds):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                real.to_csv(folder / "train.csv", index=False)
                made = synth.run(
                    folder / "train.csv",
                    schema=told,
                    epsilon=epsilon,
                    delta=1e-5,
                    method="mixture",
                    dataset="nist",
                    ledger=folder / "ledger.sqlite",
                    seed=seed,
                    num_rows=len(real),
                )
                score = scored(real, pd.DataFrame({n: a.to_pandas() for n, a in made.texts.items()}))
                out.append({**about, "told by": "mixture's rows", "seed": seed, **score})
            fresh = real.sample(frac=1, replace=True, random_state=seed).reset_index(drop=True)
            out.append({**about, "told by": "fresh rows", "seed": seed, **scored(real, fresh)})
            for way, part in (("weighted counts, whole budget", 1.0), ("weighted counts, a tenth", 0.1**0.5)):
                out.append({**about, "told by": way, "seed": seed, **direct(real, mu * part, seed)})
            print(json.dumps(out[-4:]), flush=True)
    return out


def markdown(rows: list[dict]) -> str:
    return means(rows, KEY, METRICS, runs="runs")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--json", type=Path, default=RESULTS)
    given = parser.parse_args()
    need_tables()
    rows = [r for e in given.epsilons.split(",") for r in measured(float(e), given.seeds)]
    given.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(markdown(rows))


if __name__ == "__main__":
    main()
