"""SynMeter's own evaluator on Adult: Wasserstein distances of columns and pairs, and queries, of our tables and others.

    python benchmarks/synmeter.py --repository CHECKOUT --python ENV/bin/python [--methods mixture,aim,mst]

``CHECKOUT`` is a checkout of SynMeter's repository (zealscott/SynMeter); ``ENV`` a Python that its evaluator imports in
(numpy, pandas, scikit-learn, scipy, tomli, tomli_w, torch, POT). As its own protocol has it, 3,000 held-out rows are
compared with 3,000 synthetic ones: total variation of the categories (``one``) and their pairs, Wasserstein distance of
the numbers, of pairs of numbers and of a number with a category, every range from 0 to 1; and 1,000 counts of three
columns on all rows. AIM and MST get one run.
"""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
from markdown_tables import means
from public_tables import facts, numeric, prepared, ran, texts
from runner import Row, answer_of, grid, measured, start, sure

TABLE, ROWS, QUERIES, COLUMNS = "adult", 3000, 1000, 3
JUDGE = f"""
import json, sys
import numpy as np, pandas as pd
from evaluator.fidelity.wasserstein import cal_fidelity
from evaluator.utility import query
from evaluator.utility.query import range_query
made, real, values = sys.argv[1:]
values = json.load(open(values))
kinds = {{n: str for n in values}}
made, real = (pd.read_csv(p, dtype=kinds, keep_default_na=False).astype({{n: object for n in values}})
              for p in (made, real))
ranges = {{n: (float(real[n].min()), float(real[n].max())) for n in real if n not in values}}
query.time.time = iter(np.arange(1, 10**7) / 1000).__next__  # its queries are drawn by the clock: the same for all
np.random.seed(0)
out = {{"queries": range_query(real, made, values, ranges, {COLUMNS}, {QUERIES}, 0)}}
some = [t.sample({ROWS}, random_state=0) for t in (real, made)]
out |= cal_fidelity(*some, values)
print(json.dumps({{k: float(v) for k, v in out.items()}}))
"""
NAMES = {
    "cat_error": "one",
    "cont_error": "number",
    "cat_cat_error": "two",
    "cont_cont_error": "two numbers",
    "cat_cont_error": "number and category",
    "queries": "queries",
}
BY = ("table", "epsilon", "method")
USUAL = {"repository": Path, "python": Path, "methods": "mixture,aim,mst", "seeds": 3, "epsilon": 1.0}
markdown = partial(means, by=BY, columns=dict.fromkeys(NAMES.values(), 4) | {"seconds": 1}, runs="runs")


def judged(made: pd.DataFrame, real: pd.DataFrame, numbers: list[str], folder: Path, asked: Callable[..., Row]) -> Row:
    files = folder / "made.csv", folder / "real.csv", folder / "values.json"
    for rows, path in zip((made, real), files[:2], strict=True):
        rows.to_csv(path, index=False)
    files[2].write_text(json.dumps({n: sorted({*made[n], *real[n]}) for n in real if n not in numbers}))
    return {NAMES[k]: v for k, v in asked(*files).items()}


def plain(path: Path) -> pd.DataFrame:
    """Text cells without blanks around them, as both sides write them."""
    return texts(path).apply(lambda c: c.str.strip())


def compared(given) -> list[Row]:
    """Scores of the real training rows and of every run's rows, all against the held-out ones.

    Theirs is run in their environment beside their repository.
    """
    env = {**os.environ, "PYTHONPATH": str(given.repository)}

    def asked(*files: Path) -> Row:
        return sure(answer_of([given.python, "-c", JUDGE, *files], env=env))

    def one(folder: Path, cell: Row) -> Row:
        names = [n for n, c in facts(folder).items() if c["type"] != "identifier"]
        said = {} if cell["epsilon"] is None else ran(folder, cell)
        if "failed" in said:
            return said
        made = folder / "train.csv" if cell["epsilon"] is None else folder / "out" / "synthetic.csv"
        rows, test = (plain(p)[names] for p in (made, folder / "test.csv"))
        return said | judged(rows, test, [n for n in names if n in numeric(folder)], folder, asked)

    cells: list[Row] = [{"table": TABLE, "epsilon": None, "method": "real training rows", "seed": 0}]
    for method in given.methods:
        seeds = range(given.seeds if method == "mixture" else 1)
        cells += grid(table=[TABLE], epsilon=[given.epsilon], method=[method], options=[""], seed=seeds)
    return measured(given, cells, one, prepare=prepared)


def main(given) -> None:
    print(markdown(compared(given)))


if __name__ == "__main__":
    start(main, public=True, json="synmeter", **USUAL)
