"""Forecasts of `synth plan` beside what runs then take: seconds, memory, error of one-way tables.

    python benchmarks/forecast.py
Simulated tables only.
Forecasts of seconds are of an idle machine.
"""

from json import loads
from pathlib import Path

import numpy as np
import pandas as pd
from markdown_tables import filled
from public_tables import SYNTH, call, laid, ran
from runner import Row, measured, start

SHAPES = [(10, 2_000), (10, 100_000), (10, 1_000_000), (30, 100_000), (60, 100_000)]
HEADS = "columns|rows|planned s|measured s|planned MiB|measured MiB"
CELLS = "{columns}|{rows:,}|{planned_seconds:,.1f}|{seconds:,.1f}|{planned_mib:,.0f}|{mib:,.0f}"


def markdown(rows: list[Row]) -> str:
    """A line a table."""
    return filled(rows, HEADS, CELLS)


def planned(folder: Path, rows: int, *more: object) -> Row:
    """What `synth plan` says."""
    return loads(call(*SYNTH, "plan", "--schema", folder / "schema.json", "--rows", rows, *more, "--json"))


def one(folder: Path, cell: Row) -> Row:
    """A plan and the run."""
    plan, done = planned(folder, cell["rows"]), ran(folder, {"epsilon": 1})
    if "failed" in done:
        return done
    result = {"planned_seconds": plan["seconds"], "seconds": done["seconds_total"]}
    return result | {"planned_mib": plan["peak_mib"], "mib": done["peak_mib"]}


def simulated(columns: int, rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, dict]:
    """Columns of 2 to 20 categories that depend on a hidden class of ten."""
    hidden = rng.integers(0, 10, rows)
    frame, facts = {}, {}
    for j in range(columns):
        size = int(rng.integers(2, 21))
        laws = rng.dirichlet(np.full(size, 0.5), 10).cumsum(1)
        frame[f"c{j}"] = (rng.random(rows)[:, None] > laws[hidden]).sum(1).clip(0, size - 1)
        facts[f"c{j}"] = {"type": "categorical", "categories": [str(k) for k in range(size)]}
    return pd.DataFrame(frame), {"columns": facts}


def main(given) -> None:
    cells = [{"columns": columns, "rows": rows} for columns, rows in SHAPES]
    place = lambda columns, rows: laid(*simulated(columns, rows, np.random.default_rng(columns)))  # noqa: E731
    print(markdown(measured(given, cells, one, prepare=place, by=("columns", "rows"))))


if __name__ == "__main__":
    start(main, json="plan")
