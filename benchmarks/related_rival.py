"""google/dpsynth's methods, and mbi's AIM, on tables of ours, related or single; run by a Python of their own.

    python benchmarks/related.py --rival dpsynth --rival-python ENV/bin/python
    python benchmarks/beyond_pairs.py --methods mixture,dpsynth-swift --rival-python ENV/bin/python
    python benchmarks/uses.py --parts tables --methods mixture,aim,dpsynth-aim,mbi-aim --rival-python ENV/bin/python

start it as ENV/bin/python benchmarks/related_rival.py FOLDER --method mst|aim|swift|mbi [--rho 0.2353] [--order 3]

The environment needs Python 3.12, and dpsynth from its repository, beside packages that pip finds:

    python3.12 -m venv ENV
    ENV/bin/pip install absl-py attrs etils fsspec importlib_resources more-itertools networkx numpy pandas pydantic
    ENV/bin/pip install pyyaml scipy tqdm zipp dp-accounting matplotlib "jax[cpu]==0.11.0" mbi
    git clone https://github.com/google/dpsynth && ENV/bin/pip install --no-deps ./dpsynth

FOLDER holds ``schema.json`` and a CSV file a table, or ``train.csv``; the made tables are written beside them as
made-TABLE.csv, or made.csv. Of related tables: one budget for all, the root as unit, as many children a parent as the
key keeps. ``--rho`` is mu**2 / 2 of the Gaussian noise that our runs may add: its own search for rho fails with
dp-accounting 0.6. Of a single table ``--order``: columns of the tables in its workload, all with equal weight, or
``--workload``: a JSON file that lists the tables. Number of bins, sizes and budget's parts are its defaults; inside a
bin numbers are drawn evenly. ``mbi`` is AIM as `mechanisms/aim.py` of ``--repository`` has it, a checkout of
`ryan112358/mbi`, beside which ENV has mbi of the same version; it takes codes, so that numbers are given to it in 32
bins of equal weight of the real rows, which cost it nothing; its neighbours differ by a row that comes or goes. Prints
its seconds as JSON.
"""

import argparse
import json
import sys
import time
from itertools import combinations
from pathlib import Path

import dpsynth
import numpy as np
import pandas as pd

INSIDE = dpsynth.discrete_mechanisms
BINS = 32  # of a number, for mbi
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
    inside = kind(workload=workload_of(given, columns))
    domains = {n: domain_of(c) for n, c in columns.items()}
    rows = read(given.folder / "train.csv", columns)[list(columns)]
    return dpsynth.TabularConfig(domains=domains, discrete_mechanism=inside), rows


def workload_of(given, columns: dict) -> list[tuple[str, ...]]:
    """The tables that are named, or all of some columns."""
    if given.workload:
        return [tuple(t) for t in json.loads(given.workload.read_text())]
    return list(combinations(columns, given.order))


def by_mbi(given, schema: dict) -> pd.DataFrame:
    """The rows of mbi's AIM."""
    sys.path.insert(0, str(given.repository / "mechanisms"))
    from aim import AIM
    from mbi import Dataset, Domain

    columns = {n: {"missing": [], **c} for n, c in schema["columns"].items() if c["type"] != "identifier"}
    rows, rng = read(given.folder / "train.csv", columns)[list(columns)], np.random.default_rng(given.seed)
    codes, values = {}, {}
    for name, column in columns.items():
        if column["type"] in NUMBERS:
            edges = np.unique(np.quantile(rows[name], np.linspace(0, 1, BINS + 1), method="lower"))
            codes[name] = np.minimum(np.searchsorted(edges, rows[name], side="right") - 1, max(len(edges) - 2, 0))
            values[name] = edges
        else:
            known = [*column["categories"], *column["missing"]]
            codes[name] = rows[name].map({v: i for i, v in enumerate(known)}).to_numpy()
            values[name] = np.array(known, dtype=object)
    sizes = {n: max(len(v) - (columns[n]["type"] in NUMBERS), 1) for n, v in values.items()}
    mechanism = AIM(1.0, 0.0, prng=np.random.RandomState(given.seed))
    mechanism.rho = given.rho
    workload = [(t, 1.0) for t in workload_of(given, columns)]
    made = mechanism.run(Dataset(codes, Domain.fromdict(sizes)), workload)[1].to_dict()
    drawn = {}
    for name, own in made.items():
        at = np.asarray(own)
        if columns[name]["type"] not in NUMBERS:
            drawn[name] = values[name][at]
            continue
        low, high = values[name][at], values[name][np.minimum(at + 1, len(values[name]) - 1)]
        last = at + 2 >= len(values[name])
        inside = low + rng.random(len(at)) * np.maximum(high - low + last, 0)
        whole = columns[name]["type"] == "integer"
        drawn[name] = np.floor(inside).astype(int) if whole else np.minimum(inside, high)
    return pd.DataFrame(drawn)[list(columns)]


def main() -> None:
    """Makes the tables and writes them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rho", type=float, default=0.2353, help="zCDP; default that of epsilon 3.2, delta 1e-6")
    parser.add_argument("--method", choices=["mst", "aim", "swift", "mbi"], default="mst")
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--workload", type=Path)
    parser.add_argument("--repository", type=Path, default=Path())
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    schema = json.loads((given.folder / "schema.json").read_text())
    if given.method == "mbi":
        started = time.perf_counter()
        made = by_mbi(given, schema)
        made.to_csv(given.folder / "made.csv", index=False)
        print(json.dumps({"seconds": time.perf_counter() - started, "rows": {"": len(made)}}))
        return
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
