"""google/dpsynth's methods on tables of ours, related or single; run by a Python of their own.

    python benchmarks/related.py --rival-python ENV/bin/python
    python benchmarks/beyond_pairs.py --methods mixture,dpsynth-swift --rival-python ENV/bin/python

start it as ENV/bin/python benchmarks/related_rival.py FOLDER --method mst|aim|swift [--rho 0.2353] [--order 3]

The environment needs Python 3.12, and dpsynth from its repository, beside packages that pip finds:

    python3.12 -m venv ENV
    ENV/bin/pip install absl-py attrs etils fsspec importlib_resources more-itertools networkx numpy pandas pydantic
    ENV/bin/pip install pyyaml scipy tqdm zipp dp-accounting matplotlib "jax[cpu]==0.11.0" mbi
    git clone https://github.com/google/dpsynth && ENV/bin/pip install --no-deps ./dpsynth

FOLDER holds ``schema.json`` and a CSV file a table, or ``train.csv``; the made tables are written beside them as
made-TABLE.csv, or made.csv. Of related tables: one budget for all, the root as unit, as many children a parent as the
key keeps. ``--rho`` is mu**2 / 2 of the Gaussian noise that our runs may add: its own search for rho fails with
dp-accounting 0.6. Of a single table ``--order``: columns of the tables in its workload, all with equal
weight. Number of bins, sizes and budget's parts are its defaults; inside a bin numbers are drawn evenly. Prints its
seconds as JSON.
"""

import argparse
import json
import time
from itertools import combinations
from pathlib import Path

import dpsynth
import numpy as np
import pandas as pd

INSIDE = dpsynth.discrete_mechanisms
NUMBERS = ("integer", "float", "numeric")


def domain_of(column: dict):
    """What dpsynth calls an attribute; codes of missing numbers widen the range, since it knows none."""
    if column["type"] not in NUMBERS:
        return dpsynth.CategoricalAttribute(possible_values=[*column["categories"], *column.get("missing", [])])
    ends = [column["min"], column["max"], *map(float, column.get("missing", []))]
    kind = "int" if column["type"] == "integer" else "float"
    how = {"interval_handling": "sample"} if "missing" in column else {}
    return dpsynth.NumericalAttribute(min_value=min(ends), max_value=max(ends), dtype=kind, **how)


def read(path: Path, columns: dict) -> pd.DataFrame:
    """A table with its numbers as such; of a single one "3.0" and "3" are the same code."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = rows[[n for n in rows if n in columns]]
    for name, column in columns.items():
        if column["type"] in NUMBERS:
            rows[name] = rows[name].astype(float)
            rows[name] = rows[name].astype(int) if column["type"] == "integer" else rows[name]
        elif "missing" in column:
            rows[name] = rows[name].str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)
    return rows


def several(given, schema: dict) -> tuple[object, dict]:
    """How related tables are made, and the tables."""
    tables = {n: read(given.folder / f"{n}.csv", facts["columns"]) for n, facts in schema["tables"].items()}
    domains = {
        table: {n: domain_of(c) for n, c in facts["columns"].items() if c["type"] != "identifier"}
        for table, facts in schema["tables"].items()
    }
    keys = []
    for key in schema["keys"]:
        (column,) = key["columns"]
        ends = {"parent_table": key["parent"], "parent_primary_key": column, "child_table": key["child"]}
        most = {"child_foreign_key": column, "max_children_per_parent": key["most_children"]}
        keys.append(dpsynth.ForeignKeyRelation(**ends, **most))
    inside = INSIDE.MSTConfig() if given.method == "mst" else INSIDE.AIMConfig()
    how = {"num_permutation_slots": 2, "exploration_strategy": "size_sliced", "discrete_mechanism": inside}
    return dpsynth.MultiTableConfig(domains=domains, foreign_keys=keys, **how), tables


def single(given, schema: dict) -> tuple[object, pd.DataFrame]:
    """The same of one table."""
    columns = {n: {"missing": [], **c} for n, c in schema["columns"].items() if c["type"] != "identifier"}
    kind = INSIDE.SWIFTConfig if given.method == "swift" else INSIDE.AIMGDPConfig
    inside = kind(workload=list(combinations(columns, given.order)))
    domains = {n: domain_of(c) for n, c in columns.items()}
    rows = read(given.folder / "train.csv", columns)[list(columns)]
    return dpsynth.TabularConfig(domains=domains, discrete_mechanism=inside), rows


def main() -> None:
    """Makes the tables and writes them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rho", type=float, default=0.2353, help="zCDP; default that of epsilon 3.2, delta 1e-6")
    parser.add_argument("--method", choices=["mst", "aim", "swift"], default="mst")
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    schema = json.loads((given.folder / "schema.json").read_text())
    config, data = several(given, schema) if "tables" in schema else single(given, schema)
    started = time.perf_counter()
    mechanism, rng = config.configure(zcdp_rho=given.rho), np.random.default_rng(given.seed)
    if "tables" in schema:
        made = {f"-{n}": t for n, t in mechanism(rng=rng, data=data).synthetic_tables.items()}
    else:
        made = {"": mechanism(rng, data).synthetic_data}
    for name, table in made.items():
        table.to_csv(given.folder / f"made{name}.csv", index=False)
    rows = {n.removeprefix("-"): len(t) for n, t in made.items()}
    print(json.dumps({"seconds": time.perf_counter() - started, "rows": rows}))


if __name__ == "__main__":
    main()
