"""Small tables and small budgets: `mixture` beside `independent`, which it should never be worse than.

    python benchmarks/floor.py [--tables adult,acs,fire,diabetes] [--rows 300,1000,3000,10000] [--seeds 3]

So many rows of each table, drawn once; epsilons from 0.05 to 3, delta 1e-9, replace_one. Mean total variation of all
tables of two columns and of a thousand of three (`orders.py`). Every run has fresh noise and a ledger of its own.
Prints the figures, and below them every case in which all runs of `mixture` are worse than all of `independent`, or all
runs at an epsilon worse than all at the one before.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise, product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
from markdown_tables import each, figure, table
from orders import k_marginal, triple_tv_err
from public_tables import numeric, prepared, texts
from runner import Row, grid, measured, start

METHODS = ("mixture", "independent")
ERRORS = {"pair_tv_err": "2 columns", "triple_tv_err": "3 columns"}


@contextmanager
def place(name: str, rows: int) -> Iterator[Path]:
    """A folder with so many rows of the table and its schema."""
    with prepared(name) as folder:
        texts(folder / "train.csv").sample(rows, random_state=0).to_csv(folder / "train.csv", index=False)
        yield folder


def one(folder: Path, cell: Row) -> Row:
    """One run and its errors."""
    import synth

    schema = synth.Schema.load(folder / "schema.json")
    how = {"delta": 1e-9, "relation": "replace_one", "assume_public": True, "device": "cpu", "out": folder / "out"}
    how |= {k: cell[k] for k in ("method", "epsilon", "seed")}
    ledger = folder / f"{len(list(folder.iterdir()))}.sqlite"
    run = synth.run(folder / "train.csv", schema=schema, ledger=ledger, **how)
    real, made = texts(folder / "train.csv"), texts(folder / "out" / "synthetic.csv")
    real, numbers = real[[n for n in real if n in made]], numeric(folder)
    made = made[list(real)]
    pairs = 1 - k_marginal(real, made, numbers, by=None) / 1000
    triples = triple_tv_err(real, made, numbers)
    return {"seconds": run.seconds_total, "pair_tv_err": pairs, "triple_tv_err": triples}


def beyond(worse: list[float], better: list[float]) -> bool:
    """Whether all of some runs are worse than all of others."""
    return bool(worse and better) and min(worse) > max(better)


def exceptions(rows: list[Row]) -> list[str]:
    """Where a floor is missing, and where a larger budget makes it worse."""
    results = []
    for name, size in dict.fromkeys((r["table"], r["rows"]) for r in rows):
        own = [r for r in rows if (r["table"], r["rows"]) == (name, size)]
        epsilons = sorted(each(own, "epsilon"))
        for error, what in ERRORS.items():
            both = product(METHODS, epsilons)
            runs = {k: [r[error] for r in own if (r["method"], r["epsilon"]) == k] for k in both}
            here = f"- {name}, {size:,} rows, {what}: "
            results += [
                f"{here}worse than `independent` at {e:g}" for e in epsilons if beyond(*(runs[m, e] for m in METHODS))
            ]
            results += [
                f"{here}worse at {b:g} than at {a:g}"
                for a, b in pairwise(epsilons)
                if beyond(runs["mixture", b], runs["mixture", a])
            ]
    return results


def markdown(rows: list[Row]) -> str:
    """Of each table, size and order the mean errors of `mixture` and `independent`, an epsilon a column."""
    epsilons, lines = sorted(each(rows, "epsilon")), []
    for name, size in dict.fromkeys((r["table"], r["rows"]) for r in rows):
        for error, what in ERRORS.items():
            cells = [name, f"{size:,}", what]
            for epsilon in epsilons:
                runs = [
                    [r[error] for r in rows if (r["table"], r["rows"], r["epsilon"], r["method"]) == key]
                    for key in ((name, size, epsilon, m) for m in METHODS)
                ]
                cells.append(" / ".join(figure(sum(x) / len(x) if x else None, 3) for x in runs))
            lines.append(cells)
    made = table(["table", "rows", "error of", *(f"{e:g}" for e in epsilons)], lines)
    return "\n".join([made, *(["", *held] if (held := exceptions(rows)) else [])])


def main(given) -> None:
    ways = {"epsilon": given.epsilons, "seed": range(given.seeds), "method": given.methods}
    cells = grid(table=given.tables, rows=given.rows, **ways)
    print(markdown(measured(given, cells, one, prepare=place, by=("table", "rows"))))


if __name__ == "__main__":
    usual = {"tables": "adult,acs,fire,diabetes", "rows": [300, 1000, 3000, 10_000], "methods": ",".join(METHODS)}
    start(main, public=True, json="floors", epsilons=[0.05, 0.1, 0.3, 1.0, 3.0], seeds=3, **usual)
