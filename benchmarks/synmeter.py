"""SynMeter's own evaluator on Adult: Wasserstein distances of columns and pairs, and queries, of our tables and others.

    python benchmarks/synmeter.py --repository CHECKOUT --python ENV/bin/python [--methods mixture,aim,mst]

``CHECKOUT`` is a checkout of SynMeter's repository (zealscott/SynMeter); ``ENV`` a Python that its evaluator imports in
(numpy, pandas, scikit-learn, scipy, tomli, tomli_w, torch, POT). As its own protocol has it, 3,000 held-out rows are
compared with 3,000 synthetic ones: total variation of the categories (``one``) and their pairs, Wasserstein distance of
the numbers, of pairs of numbers and of a number with a category, every range from 0 to 1; and 1,000 counts of three
columns on all rows. AIM and MST get one run.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
from margnet import BY, COLUMNS, QUERIES, USUAL, compared
from markdown_tables import means
from runner import Row, start

ROWS = 3000
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
markdown = partial(means, by=BY, columns=dict.fromkeys(NAMES.values(), 4) | {"seconds": 1}, runs="runs")


def judged(made: pd.DataFrame, real: pd.DataFrame, numbers: list[str], folder: Path, asked: Callable[..., Row]) -> Row:
    files = folder / "made.csv", folder / "real.csv", folder / "values.json"
    for rows, path in zip((made, real), files[:2], strict=True):
        rows.to_csv(path, index=False)
    files[2].write_text(json.dumps({n: sorted({*made[n], *real[n]}) for n in real if n not in numbers}))
    return {NAMES[k]: v for k, v in asked(*files).items()}


def main(given) -> None:
    print(markdown(compared(given, judged, JUDGE)))


if __name__ == "__main__":
    start(main, public=True, json="synmeter", **USUAL)
