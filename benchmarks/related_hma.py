"""SDV's HMA, which is not private, on the tables of related.py; run by a Python of its own that has SDV.

    python benchmarks/related.py --rival hma --rival-python ENV/bin/python

starts it as ENV/bin/python benchmarks/related_hma.py FOLDER

The environment: ``python3.11 -m venv ENV`` and ``ENV/bin/pip install sdv torch==2.13.0``. FOLDER holds a CSV file a
table and SDV's ``metadata.json``; the made tables are written beside them as made-TABLE.csv. HMA learns from every row
as it is: what it reaches says what the interface that people know makes of such tables without any guarantee.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import pandas as pd
from sdv.metadata import Metadata
from sdv.multi_table import HMASynthesizer


def main() -> None:
    """Makes the tables and writes them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    plain = json.loads((given.folder / "metadata.json").read_text())
    numbers, tables = {}, {}
    for name, facts in plain["tables"].items():
        numbers[name] = {n: float for n, c in facts["columns"].items() if c["sdtype"] == "numerical"}
        rows = pd.read_csv(given.folder / f"{name}.csv", dtype=str, keep_default_na=False)
        tables[name] = rows[list(facts["columns"])].astype(numbers[name])
    started = time.perf_counter()
    synthesizer = HMASynthesizer(Metadata.load_from_dict(plain), verbose=False)
    synthesizer.fit(tables)
    root = plain["relationships"][0]["parent_table_name"]
    made = synthesizer.sample(len(tables[root]), root)
    for name, table in made.items():
        table.astype(dict.fromkeys(numbers[name], "Int64")).to_csv(given.folder / f"made-{name}.csv", index=False)
    print(json.dumps({"seconds": time.perf_counter() - started, "rows": {n: len(t) for n, t in made.items()}}))


if __name__ == "__main__":
    main()
