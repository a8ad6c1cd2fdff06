"""How much runs of `mixture` on one table differ: median, spread and worst run of every score, on eight tables.

    python benchmarks/repeated_runs.py [--tables small,acs,adult,credit,nist,diabetes,fire,large] [--seeds 20]
        [--scored acs]

Every run goes through the command line with fresh noise and a ledger of its own, at epsilon 1 and delta 1e-9 under
replace_one. Errors of two and of three columns are mean total variations (`orders.py`); of `--scored` tables also the
yardstick's scores, which take longer than the run. `small` and `large` are simulated: columns that follow three hidden
numbers, 3,000 rows x 6 columns of 8 values and 1,000,000 x 20 of 50. Processor seconds are the whole command's, start
of Python included: they say more than the clock's beside other work.
"""

from contextlib import contextmanager
from json import loads
from pathlib import Path
from statistics import median

import beyond_pairs
import numpy as np
import pandas as pd
from markdown_tables import each, figure, table
from orders import k_marginal, triple_tv_err
from public_tables import command, laid, numeric, prepared, texts
from runner import ROOT, Row, grid, measured, spent, start

SIMULATED = {"small": (3_000, 6, 8), "large": (1_000_000, 20, 50)}
ERRORS = {"pair_tv_err": 4, "triple_tv_err": 4}
SCORES = {"ks": 3, "tv": 3, "logreg_f1": 3, "tstr_auc": 3, "c2st_auc": 3}  # the more, the better, but for the last
COST = {"loss over noise's": 2, "cpu_seconds": 0, "seconds": 0}
BOUND = 1.1  # the worst run's error, as a multiple of the median's


def followers(rows: int, columns: int, values: int) -> tuple[pd.DataFrame, dict]:
    """A simulated table and its schema: each column follows one of three hidden numbers, with noise of its own."""
    rng = np.random.default_rng(0)
    hidden, drawn = rng.random((rows, 3)), {}
    for j in range(columns):
        drawn[f"c{j}"] = ((hidden[:, j % 3] + 0.1 * rng.random(rows)) / 1.1 * values).astype(int)
    kind = {"type": "categorical", "categories": [str(v) for v in range(values)]}
    return pd.DataFrame(drawn), {"columns": dict.fromkeys(drawn, kind)}


@contextmanager
def place(name: str):
    """A folder with the table's train.csv and schema.json."""
    with laid(*followers(*SIMULATED[name])) if name in SIMULATED else prepared(name) as folder:
        yield folder


def scores(folder: Path, *, every: bool) -> Row:
    made = folder / "out" / "synthetic.csv"
    if every:
        return beyond_pairs.scores(folder, made, "")
    real, rows, numbers = texts(folder / "train.csv"), texts(made), numeric(folder)
    pairs = 1 - k_marginal(real, rows[list(real)], numbers, by=None) / 1000
    return {"pair_tv_err": pairs, "triple_tv_err": triple_tv_err(real, rows[list(real)], numbers)}


def one(folder: Path, cell: Row, *, every: bool = False) -> Row:
    """One run and its scores; ``every``: the yardstick's too, which take longer than the run."""
    words = command(folder, cell | {"delta": 1e-9}, "--relation", "replace_one", "--assume-public")
    cost, said = spent(*words, cwd=ROOT)
    run = loads(said)
    result = {"seconds": run["seconds_total"], "cpu_seconds": cost["cpu_seconds"], "rows": run["num_rows"]}
    return result | {"loss over noise's": run["fit"]["ratio"]} | scores(folder, every=every)


def spread(rows: list[Row], name: str, digits: int) -> str:
    """Median, and least to largest."""
    values = [r[name] for r in rows if r.get(name) is not None]
    if not values:
        return "-"
    least, most = (figure(f(values), digits) for f in (min, max))
    return f"{figure(median(values), digits)} ({least} to {most})"


def worst(rows: list[Row], name: str) -> str:
    """The largest error, as a multiple of the median's."""
    return f"{max(r[name] for r in rows) / median(r[name] for r in rows):.2f}"


def markdown(rows: list[Row]) -> str:
    """A line a table: of each score the median, the least and the largest; of errors the worst over the median."""
    groups = {t: [r for r in rows if r["table"] == t] for t in each(rows, "table")}
    lines = [
        [
            *(name, str(len(own))),
            *(cell for n, d in ERRORS.items() for cell in (spread(own, n, d), worst(own, n))),
            *(spread(own, n, d) for n, d in (SCORES | COST).items()),
        ]
        for name, own in groups.items()
    ]
    heads = [*(h for n in ERRORS for h in (n, "worst / median")), *SCORES, *COST]
    return table(["table", "runs", *heads], lines)


def main(given) -> None:
    cells = grid(table=given.tables, epsilon=[given.epsilon], seed=range(given.seeds))
    print(markdown(measured(given, cells, lambda f, c: one(f, c, every=c["table"] in given.scored), prepare=place)))


if __name__ == "__main__":
    tables = "small,acs,adult,credit,nist,diabetes,fire,large"
    start(main, public=True, json="repeated_runs", tables=tables, scored=["acs"], epsilon=1.0, seeds=20)
