"""What `mixture` reaches on public tables, for the forecast of the page Method: runs, fit of the constants, check.

    python benchmarks/forecast_reach.py            # the runs that benchmarks/results/forecast.json lacks
    python benchmarks/forecast_reach.py --fit      # constants from that file, into synth/pipeline/reached.json

A run is one cell of table x rows x epsilon; its errors are those of `synth.compare`, as Review shows them. The fit
knows of a table what a steward states before a run: rows, columns, cells, epsilon and delta. Each table is then
forecast by constants fitted to the others alone, and the share of its runs inside the stated range is printed.
"""

from pathlib import Path

import numpy as np
from public_tables import PLAIN, prepared, texts
from runner import RESULTS, Row, grid, measured, need_tables, read, start, tell
from scipy.optimize import least_squares

import synth
from synth.pipeline import reached
from synth.privacy.accounting.gaussian import calibrate
from synth.schema.grouping import COARSE

OUT = RESULTS / "forecast.json"
FLOORS = (0.0, 0.0005, 0.001, 0.0015, 0.002, 0.003)  # errors that no epsilon removes; the narrowest range decides
HELD = 0.9  # of the runs on each table lie in the range that the other tables give
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
ROWS = (1_000, 5_000, 0)  # 0: all of the training rows
DELTA = 1e-5
MADE_BY = "python benchmarks/forecast_reach.py --fit"


def one(folder: Path, cell: Row) -> Row:
    """One run with fresh noise beside its comparison with the real rows."""
    rows, schema = texts(folder / "train.csv"), synth.Schema.load(folder / "schema.json")
    real = rows.sample(cell["asked"], random_state=cell["asked"]) if cell["asked"] else rows
    real.to_csv(folder / "real.csv", index=False)
    retained = {"dataset": "forecast", "out": folder / "out", "ledger": folder / "ledger.sqlite", "separate": True}
    made = synth.run(folder / "real.csv", schema=schema, epsilon=cell["epsilon"], delta=DELTA, **retained)
    comparison = synth.compare(folder / "real.csv", folder / "out" / "synthetic.csv", schema, quality=False)
    cells = [c.cells for c in schema.measured().values()]
    about = {"rows": len(real), "delta": DELTA, "columns": len(comparison.columns), "cells": cells}
    errors = {"one_way": comparison.one_way_mean, "two_way": comparison.pairs_mean}
    return about | {"synthetic_rows": made.num_rows} | errors | {"two_way_by_chance": comparison.pairs_by_chance}


def known(runs: list[dict], kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of the forecast's feature and of the error that was reached, for each run."""
    pairs = []
    for r in runs:
        cells = [min(c, COARSE + 1) for c in r["cells"]]
        one, two = reached.features(cells, rows=r["rows"], mu=calibrate(r["epsilon"], r["delta"]))
        pairs.append((one, r["one_way"]) if kind == "columns" else (two, r["two_way"]))
    result = np.log(np.array(pairs, dtype=float))
    return result[:, 0], result[:, 1]


def law(x: np.ndarray, y: np.ndarray, floor: float) -> np.ndarray:
    """Intercept and slope that tell the errors best, above a floor."""
    return least_squares(lambda p: np.log(np.exp(p[0] + p[1] * x) + floor) - y, [-1.0, 0.7]).x


def left_out(x: np.ndarray, y: np.ndarray, names: np.ndarray, floor: float) -> np.ndarray:
    """How far each run is from what the other tables tell of it, as a logarithm."""
    off = np.zeros(len(x))
    for table in set(names):
        others = names != table
        intercept, slope = law(x[others], y[others], floor)
        off[~others] = y[~others] - np.log(np.exp(intercept + slope * x[~others]) + floor)
    return np.abs(off)


def fitted(runs: list[dict]) -> dict:
    """Constants from all runs; the range is what tables need that the constants were not fitted to."""
    out: dict = {}
    names = np.array([r["table"] for r in runs])
    tables = sorted(set(names.tolist()))
    for kind in ("columns", "pairs"):
        x, y = known(runs, kind)
        tried = {}
        for floor in FLOORS:
            off = left_out(x, y, names, floor)
            tried[max(np.quantile(off[names == t], HELD, method="higher") for t in tables)] = (floor, off)
        wide, (floor, off) = min(tried.items())
        intercept, slope = law(x, y, floor)
        inside = {t: round(float((off[names == t] <= wide).mean()), 3) for t in tables}
        out[kind] = {"intercept": round(float(intercept), 4), "slope": round(float(slope), 4), "floor": floor}
        out[kind] |= {"factor": round(float(np.exp(wide)) + 0.0005, 3), "runs_inside": inside}
    spans = {k: [min(r[k] for r in runs), max(r[k] for r in runs)] for k in ("rows", "columns", "epsilon")}
    about = {"method": "mixture", "origin": "benchmarks/results/forecast.json", "made_by": MADE_BY}
    return about | {"tables": tables, "runs": len(runs), "measured": spans} | out


def main(given) -> None:
    if given.fit:
        tell(reached.DATA, fitted(read(given.json, [])))
        return
    need_tables()
    measured(given, grid(table=PLAIN, asked=ROWS, epsilon=EPSILONS), one, prepare=prepared)


if __name__ == "__main__":
    start(main, json="forecast", fit=False)
