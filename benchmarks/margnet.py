"""MargNet's own evaluator on Adult: tables of one and two columns and range queries, of our tables and the rivals'.

    python benchmarks/margnet.py --repository CHECKOUT --python ENV/bin/python [--methods mixture,aim,mst] [--seeds 3]

``CHECKOUT`` is a checkout of MargNet's repository (KaiChen9909/margnet); ``ENV`` a Python that its evaluator imports in
(numpy, pandas, scikit-learn, category_encoders, tqdm, tomli, tomli_w, torch). Its code cuts every number into 100 even
parts of its range. ``tvd 1``, ``tvd 2``: mean total variation of all tables of one and two columns against the held-out
rows; ``queries``: mean error of 1,000 counts of three columns, ranges of numbers and values of the others. AIM and MST
get one run.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from markdown_tables import means
from public_tables import facts, numeric, prepared, ran, texts
from runner import Row, answer_of, grid, measured, start, sure

TABLE, TARGET, QUERIES, COLUMNS = "adult", "income", 1000, 3
JUDGE = f"""
import json, sys
import numpy as np
from evaluator.eval_query import make_query
from evaluator.eval_tvd import make_tvd
np.random.seed(0)
made, real = sys.argv[1:]
out = make_tvd(made, real)
out["queries"] = make_query(made, real, "binclass", {QUERIES}, {COLUMNS})
print(json.dumps({{k: float(v) for k, v in out.items()}}))
"""
Judge = Callable[[pd.DataFrame, pd.DataFrame, list[str], Path, Callable[..., Row]], Row]
BY = ("table", "epsilon", "method")
USUAL = {"repository": Path, "python": Path, "methods": "mixture,aim,mst", "seeds": 3, "epsilon": 1.0}
markdown = partial(means, by=BY, columns=dict.fromkeys(("tvd 1", "tvd 2", "queries"), 4) | {"seconds": 1}, runs="runs")


def plain(path: Path) -> pd.DataFrame:
    """Text cells without blanks around them, as both sides write them."""
    return texts(path).apply(lambda c: c.str.strip())


def compared(given, judged: Judge, code: str) -> list[Row]:
    """Scores of the real training rows and of every run's rows, all against the held-out ones.

    ``code`` of theirs is run in their environment beside their repository: ``judged`` is given what calls it.
    """
    env = {**os.environ, "PYTHONPATH": str(given.repository)}

    def asked(*files: Path) -> Row:
        return sure(answer_of([given.python, "-c", code, *files], env=env))

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


def judged(made: pd.DataFrame, real: pd.DataFrame, numbers: list[str], folder: Path, asked: Callable[..., Row]) -> Row:
    """The rows as its evaluator reads them: arrays of numbers, of texts, and of the target's codes."""
    others, levels = [n for n in real if n not in (*numbers, TARGET)], pd.Index(sorted(real[TARGET].unique()))
    for rows, out, split in ((real, folder / "real", "test"), (made, folder / "made", "train")):
        out.mkdir(exist_ok=True)
        np.save(out / f"X_num_{split}.npy", rows[numbers].astype(float).to_numpy())
        np.save(out / f"X_cat_{split}.npy", rows[others].to_numpy().astype(str))
        np.save(out / f"y_{split}.npy", levels.get_indexer(rows[TARGET]))
    reported = asked(folder / "made", folder / "real")
    return {"tvd 1": reported["1way margin"], "tvd 2": reported["2way margin"], "queries": reported["queries"]}


def main(given) -> None:
    print(markdown(compared(given, judged, JUDGE)))


if __name__ == "__main__":
    start(main, public=True, json="margnet", **USUAL)
