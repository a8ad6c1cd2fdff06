"""google/dpsynth's relational method on the tables of related.py; run by a Python of its own that has dpsynth.

    python benchmarks/related.py --rival dpsynth --rival-python ENV/bin/python

starts it as ENV/bin/python benchmarks/related_rival.py FOLDER [--rho 0.2353] [--inside mst|aim]

The environment needs Python 3.12, and dpsynth from its repository, beside packages that pip finds:

    python3.12 -m venv ENV
    ENV/bin/pip install absl-py attrs etils fsspec importlib_resources more-itertools networkx numpy pandas pydantic
    ENV/bin/pip install pyyaml scipy tqdm zipp dp-accounting "jax[cpu]==0.11.0" mbi
    git clone https://github.com/google/dpsynth && ENV/bin/pip install --no-deps ./dpsynth

FOLDER holds a CSV file a table and ``schema.json``; the made tables are written beside them as made-TABLE.csv. One
budget for all tables, the root as unit, as many children a parent as the key keeps. ``--rho`` is mu**2 / 2 of the
Gaussian noise that our runs may add: its own search for rho fails with dp-accounting 0.6.
"""

import argparse
import json
import time
from pathlib import Path

import dpsynth
import numpy as np
import pandas as pd


def domain_of(schema: dict) -> dict:
    """By table and column what dpsynth calls an attribute; keys have none."""

    def one(column: dict):
        if column["type"] == "integer":
            return dpsynth.NumericalAttribute(min_value=column["min"], max_value=column["max"], dtype="int")
        return dpsynth.CategoricalAttribute(possible_values=list(column["categories"]))

    return {
        table: {n: one(c) for n, c in facts["columns"].items() if c["type"] != "identifier"}
        for table, facts in schema["tables"].items()
    }


def main() -> None:
    """Makes the tables and writes them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rho", type=float, default=0.2353, help="zCDP; default that of epsilon 3.2, delta 1e-6")
    parser.add_argument("--inside", choices=["mst", "aim"], default="mst")
    parser.add_argument("--strategy", default="size_sliced")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    schema = json.loads((given.folder / "schema.json").read_text())
    domains = domain_of(schema)
    tables = {}
    for name, facts in schema["tables"].items():
        numbers = {n: int for n, c in facts["columns"].items() if c["type"] == "integer"}
        read = pd.read_csv(given.folder / f"{name}.csv", dtype=str, keep_default_na=False)
        tables[name] = read.astype(numbers)
    keys = []
    for key in schema["keys"]:
        (column,) = key["columns"]
        ends = {"parent_table": key["parent"], "parent_primary_key": column, "child_table": key["child"]}
        most = {"child_foreign_key": column, "max_children_per_parent": key["most_children"]}
        keys.append(dpsynth.ForeignKeyRelation(**ends, **most))
    inside = dpsynth.discrete_mechanisms.MSTConfig if given.inside == "mst" else dpsynth.discrete_mechanisms.AIMConfig
    how = {"num_permutation_slots": given.slots, "exploration_strategy": given.strategy, "discrete_mechanism": inside()}
    config = dpsynth.MultiTableConfig(domains=domains, foreign_keys=keys, **how)
    started = time.perf_counter()
    mechanism = config.configure(zcdp_rho=given.rho)
    made = mechanism(rng=np.random.default_rng(given.seed), data=tables).synthetic_tables
    for name, table in made.items():
        table.to_csv(given.folder / f"made-{name}.csv", index=False)
    print(json.dumps({"seconds": time.perf_counter() - started, "rows": {n: len(t) for n, t in made.items()}}))


if __name__ == "__main__":
    main()
