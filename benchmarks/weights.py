"""Weighted shares of a synthetic table whose weight is a column like others, beside counts of weights under noise.

    python benchmarks/weights.py [--epsilons 1] [--seeds 2]

Needs the public tables in ../shared: ten columns of NIST's excerpt of the American Community Survey, whose PWGTP says
for how many people a person's row stands; and the same with a weight that is spread wider. Told is the mean total
variation between the source's weighted shares of a column and

- those of a synthetic table by ``mixture``, which measures the weight with every other column and counts rows;
- those of fresh rows of the same number, drawn from the source: what sampling costs;
- weighted counts under noise (``synth statistics --ask weight:COL``), each column's table at an equal share of the
  whole epsilon, and of a tenth of its squared noise budget, which a run could spare for it.

Prints Markdown; lines that the JSON, benchmarks/results/weights.json, holds are passed over.
"""

from functools import cache, partial
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from markdown_tables import means
from public_tables import public
from runner import Row, grid, measured, start

import synth
from synth.privacy.accounting.gaussian import calibrate

COLUMNS = ["PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "EDU", "PINCP_DECILE", "OWN_RENT", "PWGTP"]
NUMBERS = {"AGEP": (0, 99), "PWGTP": (0, 500)}
HEADS = {
    "weighted": "weighted columns",
    "plain": "columns",
    "total": "total weight, relative",
    "pairs": "weighted pairs",
}
WAYS = ("mixture's rows", "fresh rows", "weighted counts, whole budget", "weighted counts, a tenth")
markdown = partial(
    means, by=("weight", "epsilon", "told by"), columns={n: (h, 4) for n, h in HEADS.items()}, runs="runs"
)


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


@cache
def tables() -> dict[str, pd.DataFrame]:
    """The published weight, and one that is spread wider and hangs on place and age together."""
    rows = public("acs_nist_national_2019.csv.gz")[COLUMNS]
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
    reported = pd.Series(weight).groupby([cells(rows, n).to_numpy() for n in names]).sum()
    return reported / reported.sum()


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


def one(_, cell: Row) -> Row:
    """The errors by one way."""
    real, seed = tables()[cell["weight"]], cell["seed"]
    if cell["told by"] == "fresh rows":
        return scored(real, real.sample(frac=1, replace=True, random_state=seed).reset_index(drop=True))
    if cell["told by"] in WAYS[2:]:
        part = 1.0 if cell["told by"] == WAYS[2] else 0.1**0.5
        return direct(real, calibrate(cell["epsilon"], 1e-5) * part, seed)
    with TemporaryDirectory() as folder:
        retained = {"dataset": "nist", "ledger": f"{folder}/ledger.sqlite", "seed": seed, "num_rows": len(real)}
        made = synth.run(real, schema=schema(real), epsilon=cell["epsilon"], delta=1e-5, method="mixture", **retained)
        return scored(real, pd.DataFrame({n: a.to_pandas() for n, a in made.texts.items()}))


def main(given) -> None:
    ways = {"epsilon": given.epsilons, "told by": WAYS, "seed": range(given.seeds)}
    print(markdown(measured(given, grid(weight=["PWGTP", "wide"], **ways), one)))


if __name__ == "__main__":
    start(main, public=True, json="weights", epsilons=[1.0], seeds=2)
