"""Forecasts of `synth plan` beside what runs then take: seconds, memory, error of one-way tables.

    python benchmarks/forecast.py
    python benchmarks/forecast.py --pairs    # the noise told of pairs beside the error that `mixture` reached

Simulated tables only, but for --pairs, which needs the public tables in ../shared and reads results/peers.json.
Forecasts of seconds are of an idle machine.
"""

from json import loads
from pathlib import Path

import numpy as np
from markdown_tables import filled
from public_tables import SYNTH, call, laid, prepared, ran, texts
from runner import RESULTS, Row, measured, read, start
from tables import simulated

SHAPES = [(10, 2_000), (10, 100_000), (10, 1_000_000), (30, 100_000), (60, 100_000)]
HEADS = "columns|rows|planned s|measured s|planned MiB|measured MiB"
CELLS = "{columns}|{rows:,}|{planned_seconds:,.1f}|{seconds:,.1f}|{planned_mib:,.0f}|{mib:,.0f}"


def markdown(rows: list[Row]) -> str:
    """A line a table."""
    return filled(rows, HEADS, CELLS)


def planned(folder: Path, rows: int, *more: object) -> Row:
    """What `synth plan` says."""
    return loads(call(*SYNTH, "plan", "--schema", folder / "schema.json", "--rows", rows, *more, "--json"))


def pairs() -> None:
    """What `synth plan` says of pairs beside what `mixture` reached, mean over the runs of benchmarks/peers.py."""
    result: dict[tuple[str, float], list[float]] = {}
    for cell in read(RESULTS / "peers.json", []):
        if cell["method"] == "mixture" and "pair_tv_err" in cell:
            result.setdefault((cell["table"], cell["epsilon"]), []).append(cell["pair_tv_err"])
    rows = []
    for (table, epsilon), errors in sorted(result.items()):
        with prepared(table) as folder:
            reported = planned(folder, len(texts(folder / "train.csv")), "--epsilon", epsilon)["error_two_way"]
        reached = sum(errors) / len(errors)
        rows.append({"of": (table, epsilon), "told": reported, "reached": reached, "times": reported / reached})
    heads, cells = "table|epsilon|planned, at most|measured|times closer", "{told:.3f}|{reached:.4f}|{times:.1f}"
    print(filled(rows, heads, "{of[0]}|{of[1]:g}|" + cells))


def one(folder: Path, cell: Row) -> Row:
    """A plan and the run."""
    plan, done = planned(folder, cell["rows"]), ran(folder, {"epsilon": 1})
    if "failed" in done:
        return done
    result = {"planned_seconds": plan["seconds"], "seconds": done["seconds_total"]}
    return result | {"planned_mib": plan["peak_mib"], "mib": done["peak_mib"]}


def main(given) -> None:
    if given.pairs:
        pairs()
        return
    cells = [{"columns": columns, "rows": rows} for columns, rows in SHAPES]
    place = lambda columns, rows: laid(*simulated(columns, rows, np.random.default_rng(columns)))  # noqa: E731
    print(markdown(measured(given, cells, one, prepare=place, by=("columns", "rows"))))


if __name__ == "__main__":
    start(main, json="plan", pairs=False)
