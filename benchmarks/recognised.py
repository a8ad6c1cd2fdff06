"""What a classifier sees of synthetic rows: what bins cost, and which columns together tell rows apart.

    python benchmarks/recognised.py [--tables credit] [--bins 6,10,16,32] [--seeds 1] [--epsilon 1]
    python benchmarks/recognised.py --tables adult --epsilon 5.1 --seeds 3 --bins ""

``bins``: real rows against the same rows of which every number was exchanged within so many bins of about equal mass
(values as heavy as a bin alone): what a method would reach that had everything but what lies inside the bins. Columns:
real rows against `mixture`'s on some of the columns alone; the area is ``c2st_auc`` as everywhere, .5 being best. Lines
of tables that are not run stay.
"""

import json
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from markdown_tables import means
from public_tables import prepared, ran
from runner import SHARED, Row, read, start, sure, write

ROWS = 10_000  # a side, as score.py
PARTS = {
    "credit": {"bills": "BILL_.*", "payments": "PAY_AMT.*", "bills and payments": "(BILL_|PAY_AMT).*", "all": ".*"},
    "adult": {"education and its number": "education.*", "all but the number": "(?!education-num).*", "all": ".*"},
}  # patterns of names
markdown = partial(means, by=("table", "what"), columns={"c2st_auc": 3}, runs="runs")


def permuted(column: pd.Series, bins: int, rng: np.random.Generator) -> pd.Series:
    """Values exchanged within bins of about equal mass; missing ones stay."""
    held = column.dropna()
    _, place, counts = np.unique(held, return_inverse=True, return_counts=True)
    heavy = counts >= len(held) / bins
    light = np.where(heavy, 0, counts)
    owner = np.minimum((np.cumsum(light) - light / 2) * bins // max(light.sum(), 1), bins - 1)
    owner[heavy] = bins + np.arange(heavy.sum())
    own = owner[place]
    order = np.lexsort((rng.random(len(own)), own))
    out = np.empty(len(own))
    out[np.argsort(own, kind="stable")] = held.to_numpy()[order]
    changed = column.copy()
    changed.loc[held.index] = out
    return changed


def reported(score, folder: Path, table: str, bins: list[int], epsilon: float, seed: int) -> list[Row]:
    """All lines of one run."""
    facts = json.loads((folder / "schema.json").read_text())
    schema = score.plain(facts)
    real = score.load(folder / "train.csv", schema)
    rng, out = np.random.default_rng(seed), []
    for count in bins:
        mixed = real.assign(**{n: permuted(real[n], count, rng) for n in score.columns_of(schema, "numeric")})
        mixed = mixed.sample(frac=1, random_state=seed + 1).reset_index(drop=True)
        auc = score.c2st_auc(real, mixed, schema, ROWS)
        out.append({"table": table, "what": f"real rows, numbers exchanged within {count} bins", "c2st_auc": auc})
    sure(ran(folder, {"table": table, "epsilon": epsilon, "seed": seed}))
    made = score.load(folder / "out" / "synthetic.csv", schema)
    for words, pattern in PARTS.get(table, {"all": ".*"}).items():
        some = [n for n in schema["columns"] if re.fullmatch(pattern, n)]
        own = {**schema, "columns": {n: schema["columns"][n] for n in some}}
        auc = score.c2st_auc(real[some], made[some], own, ROWS)
        out.append({"table": table, "what": f"mixture at epsilon {epsilon:g}, {words}", "c2st_auc": auc})
    return out


def main(given) -> None:
    sys.path.insert(0, str(SHARED / "tools"))
    import score  # of the yardstick, beside the public tables

    rows = [r for r in read(given.json, []) if r["table"] not in given.tables]
    for table in given.tables:
        for seed in range(given.seeds):
            with prepared(table) as folder:
                rows += reported(score, folder, table, given.bins, given.epsilon, seed)
            write(given.json, rows)
    print(markdown(rows))


if __name__ == "__main__":
    usual = {"tables": ["credit"], "bins": [6, 10, 16, 32], "seeds": 1, "epsilon": 1.0}
    start(main, public=True, json="recognised", **usual)
