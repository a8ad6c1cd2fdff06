"""PMW-Pub and JAM-PGM, other projects' methods with a public table, on the splits of priors.py.

    python benchmarks/priors_beside.py --pmw-pub CHECKOUT --jam CHECKOUT --python ENV/bin/python

Same private rows, public tables, guarantee (delta 1e-9, replace_one) and measure. `prior_rivals.py` says how the
environment is made, in which it runs. A method whose checkout is not named is left out. Needs the public tables in
../shared. Prints Markdown, which docs/prior.md holds.
"""

import shutil
import sys
from json import loads
from pathlib import Path

from markdown_tables import means
from priors import DATA, FILES, OFF, TRIPLES, place
from public_tables import call
from runner import ROOT, Row, answer_of, grid, measured, start


def one(folder: Path, cell: Row, *, python: str, checkout: Path, most: float) -> Row:
    """One run and its score."""
    shutil.copy(DATA / "domain.json", folder)
    words = [python, ROOT / "benchmarks" / "prior_rivals.py", folder, "--repository", checkout]
    for name in ("method", "prior", "epsilon", "seed"):
        words += [f"--{name}", cell[name]]
    said = answer_of(words, most=most)
    if "failed" in said:
        return said
    scores = loads(call(sys.executable, TRIPLES, "score", DATA, folder / "made.csv"))
    return said | {k: scores[k] for k in OFF if k in scores}


def markdown(rows: list[Row]) -> str:
    """A line for each method, epsilon and prior."""
    return means(rows, ["method", "epsilon", "prior"], {"L1 of 3 columns": 3, "seconds": 0}, runs="runs")


def main(given) -> None:
    checkouts = {"pmw-pub": given.pmw_pub, "jam": given.jam}
    methods = [m for m, at in checkouts.items() if at.parts]
    cells = grid(table=["adult"], method=methods, prior=list(FILES), epsilon=given.epsilons, seed=range(given.seeds))
    how = {"python": given.python, "most": given.most_seconds}
    print(
        markdown(measured(given, cells, lambda f, c: one(f, c, checkout=checkouts[c["method"]], **how), prepare=place))
    )


if __name__ == "__main__":
    usual = {"epsilons": [0.1, 1.0], "seeds": 1, "most_seconds": 7200.0, "python": sys.executable}
    start(main, public=True, json="priors_beside", pmw_pub=Path(), jam=Path(), **usual)
