"""The floor of related tables: is any relation worse than with independent children and the same budget?

    python benchmarks/related_floor.py [--tables persons,bank,hospital] [--roots 500,1000,3000,10000] [--seeds 3]

Some roots of the public tables, drawn anew for each seed; epsilon 3.2, delta 1e-6. For each kind of table of two
columns (related_scores.py) the mean total variation between the real rows and the model's, of both methods.
`worst` is the largest ratio of both over all kinds, with its standard error over seeds: 1 or less holds the floor.
Needs the public
tables beside the checkout. Prints Markdown, which docs/related-tables.md holds.
"""

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from markdown_tables import table
from related import DELTA
from related_cases import bank, hospital, persons, some_roots
from related_scores import Coder, coded, scores
from runner import Row, grid, measured, start

import synth
from synth.pipeline.draw_rows import DrawnTables, whole

CASES = {"persons": persons, "bank": bank, "hospital": hospital}
LEAST, MOST = 20_000, 60_000  # roots that are drawn to judge a model
KINDS = {
    "root": "parent",
    "number by root": "number by parent",
    "child": "child",
    "across": "across, roots alike",
    "number by child": "number by child",
    "same column": "siblings, same column, roots alike",
    "siblings": "siblings, roots alike",
    "next row": "steps, roots alike",
}


@contextmanager
def place(name: str):
    """The whole tables."""
    yield CASES[name]()


def cases(given) -> list[Row]:
    """As many roots as the tables have, each method."""
    result = grid(table=given.tables, roots=given.roots, seed=range(given.seeds), method=["mixture", "independent"])
    return [c for c in result if c["table"] == "hospital" or c["roots"] <= 4500]


def judge(given):
    """How one case is measured."""

    def one(whole_case, cell: Row) -> Row:
        case = some_roots(whole_case, cell["roots"], cell["seed"])
        coder = Coder(case)
        real = coded(case, case.tables, coder)
        schema = synth.app_api.parse_related(case.schema)
        with TemporaryDirectory() as folder:
            how = {"ledger": Path(folder) / "ledger.sqlite", "separate": True, "method": cell["method"]}
            result = synth.run(case.tables, schema=schema, epsilon=given.epsilon, delta=DELTA, **how)
        roots = min(max(12 * cell["roots"], LEAST), MOST)
        drawn = DrawnTables(result.model, roots, rng=np.random.default_rng(0))
        made = {t: pd.DataFrame({n: a.to_pandas() for n, a in whole(drawn.blocks(t)).items()}) for t in case.tables}
        results = scores(real, coded(case, made, coder))
        return {what: results[name]["error"] for what, name in KINDS.items() if name in results} | {
            "seconds": result.seconds_total
        }

    return one


def markdown(rows: list[Row]) -> str:
    """A line for each table, size and kind: means over seeds, and the largest ratio of the two methods."""
    lines = []
    for name, roots in dict.fromkeys((r["table"], r["roots"]) for r in rows):
        some = [r for r in rows if (r["table"], r["roots"]) == (name, roots)]

        def mean(method: str, what: str, some: list[Row] = some) -> float | None:
            results = [r[what] for r in some if r["method"] == method and what in r]
            return float(np.mean(results)) if results else None

        pairs = {w: (mean("mixture", w), mean("independent", w)) for w in KINDS}
        ratios = {w: o / i for w, (o, i) in pairs.items() if o is not None and i}
        worst = max(ratios, key=lambda w: ratios[w], default="root")
        cells = [" / ".join(f"{x:.3f}" for x in pairs[w] if x is not None) or "-" for w in KINDS]
        lines.append([name, f"{roots:,}", *cells, f"{ratios.get(worst, float('nan')):.2f}{spread(some, worst)}"])
    return table(("table", "roots", *KINDS, "worst"), lines)


def spread(rows: list[Row], what: str) -> str:
    """The standard error of the ratio of both methods' means, from their differences by seed."""
    by = {m: {r["seed"]: r[what] for r in rows if r["method"] == m and what in r} for m in ("mixture", "independent")}
    both = sorted(by["mixture"].keys() & by["independent"].keys())
    if len(both) < 2:
        return ""
    off = np.array([by["mixture"][s] - by["independent"][s] for s in both])
    return f" ± {off.std(ddof=1) / len(off) ** 0.5 / np.mean([by['independent'][s] for s in both]):.2f}"


def main(given) -> None:
    """Measures, prints, stores."""
    print(markdown(measured(given, cases(given), judge(given), prepare=place)))


if __name__ == "__main__":
    usual = {"tables": "persons,bank,hospital", "roots": [500, 1000, 3000, 10000], "seeds": 3, "epsilon": 3.2}
    start(main, json="related_floor", **usual)
