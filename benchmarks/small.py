"""A first look: every method makes 500 rows from 3,000 rows of 5 columns; seconds, and whether the rows fit the schema.

    python benchmarks/small.py [--methods independent,mixture,...]

A simulated table of three categories and two numbers. Each method with its defaults at epsilon 1 is a command of its
own (``synth run``), start of Python included; what it wrote is read again with the schema. Methods whose line
benchmarks/results/small.json holds are passed over.
"""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
from markdown_tables import filled
from public_tables import laid, ran
from runner import Row, grid, measured, start

ALL = "independent,mixture,slicing,dp_kernel,dp_merf,dp_hp,pearl,dp_ntk,dp_ctgan,pate_gan,dp_vae,mwem,aim,mst"
ROWS, WANTED = 3_000, 500
SCHEMA = {
    "target": "paid",
    "columns": {
        "region": {"type": "categorical", "categories": ["north", "east", "south", "west"]},
        "age": {"type": "integer", "min": 18, "max": 90},
        "size": {"type": "categorical", "categories": [str(i) for i in range(1, 9)]},
        "amount": {"type": "integer", "min": 0, "max": 5000},
        "paid": {"type": "categorical", "categories": ["no", "yes"]},
    },
}


def table() -> pd.DataFrame:
    """Columns that depend on each other."""
    rng = np.random.default_rng(0)
    region, age = rng.integers(0, 4, ROWS), rng.integers(18, 91, ROWS)
    size = np.clip(region + rng.integers(1, 6, ROWS), 1, 8)
    amount = np.clip(rng.gamma(2, 30 * size), 0, 5000).astype(int)
    paid = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-(age - 50) / 15)), "yes", "no")
    names = np.array(SCHEMA["columns"]["region"]["categories"])
    return pd.DataFrame({"region": names[region], "age": age, "size": size, "amount": amount, "paid": paid})


def fits(path: Path) -> bool:
    """All rows there, all columns in the schema's order, every value inside."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    columns = SCHEMA["columns"]
    if header != list(columns) or len(rows) != WANTED:
        return False
    cells = dict(zip(header, zip(*rows, strict=True), strict=True))
    return all(
        set(cells[name]) <= set(c["categories"])
        if c["type"] == "categorical"
        else all(c["min"] <= int(v) <= c["max"] for v in cells[name])
        for name, c in columns.items()
    )


def one(folder: Path, cell: Row) -> Row:
    """One method's command; the seconds are the whole command's."""
    said = ran(folder, cell | {"epsilon": 1}, "--num-rows", WANTED)
    if "failed" in said:
        return said
    return {"seconds": said["seconds_command"], "fits": fits(folder / "out" / "synthetic.csv")}


def main(given) -> None:
    rows = measured(given, grid(method=given.methods), one, prepare=lambda _: laid(table(), SCHEMA))
    print(filled(rows, "method|seconds|rows fit the schema|failed", "{method}|{seconds:.1f}|{fits:yes}|{failed}"))


if __name__ == "__main__":
    start(main, json="small", methods=ALL)
