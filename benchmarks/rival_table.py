"""google/dpsynth's AIM-GDP and SWIFT on one table; run by a Python of its own that has dpsynth.

    python benchmarks/beyond_pairs.py --methods mixture,dpsynth-swift --rival-python ENV/bin/python

starts it as ENV/bin/python benchmarks/rival_table.py FOLDER --method swift --rho 0.036 [--order 3] [--seed 0]

How the environment is made stands in related_rival.py. FOLDER holds ``train.csv`` and ``schema.json``; the made table
is written beside them as ``made.csv``. ``--order``: columns of the tables in its workload, all of them with equal
weight. Number of bins, sizes and budget's parts are its defaults; inside a bin numbers are drawn evenly. ``--rho`` is
mu**2 / 2 of the Gaussian noise that our runs may add. Prints its seconds as JSON.
"""

import argparse
import json
import time
from itertools import combinations
from pathlib import Path

import dpsynth
import numpy as np
import pandas as pd

METHODS = {"swift": dpsynth.discrete_mechanisms.SWIFTConfig, "aim": dpsynth.discrete_mechanisms.AIMGDPConfig}
NUMBERS = ("integer", "float", "numeric")


def domain_of(column: dict):
    """What dpsynth calls an attribute; codes of missing numbers widen the range, since it knows none."""
    if column["type"] not in NUMBERS:
        return dpsynth.CategoricalAttribute(possible_values=[*column["categories"], *column.get("missing", [])])
    codes = [float(c) for c in column.get("missing", [])]
    kind = "int" if column["type"] == "integer" else "float"
    return dpsynth.NumericalAttribute(
        min_value=min(column["min"], *codes, column["min"]),
        max_value=max(column["max"], *codes, column["max"]),
        dtype=kind,
        interval_handling="sample",
    )


def main() -> None:
    """Makes the table and writes it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--method", choices=sorted(METHODS), required=True)
    parser.add_argument("--rho", type=float, required=True)
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    columns = json.loads((given.folder / "schema.json").read_text())["columns"]
    columns = {n: c for n, c in columns.items() if c["type"] != "identifier"}
    rows = pd.read_csv(given.folder / "train.csv", dtype=str, keep_default_na=False)[list(columns)]
    for name, column in columns.items():
        if column["type"] not in NUMBERS:  # "3.0" and "3" are the same code
            rows[name] = rows[name].str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)
            continue
        rows[name] = rows[name].astype(float)
        rows[name] = rows[name].astype(int) if column["type"] == "integer" else rows[name]
    started = time.perf_counter()
    mechanism = METHODS[given.method](workload=list(combinations(columns, given.order)))
    domains = {n: domain_of(c) for n, c in columns.items()}
    config = dpsynth.TabularConfig(domains=domains, discrete_mechanism=mechanism)
    made = config.configure(zcdp_rho=given.rho)(np.random.default_rng(given.seed), rows).synthetic_data
    made.to_csv(given.folder / "made.csv", index=False)
    print(json.dumps({"seconds": time.perf_counter() - started, "rows": len(made)}))


if __name__ == "__main__":
    main()
