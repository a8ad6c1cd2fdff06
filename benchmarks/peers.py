"""Every method and every rival on the same tables: one command, one process tree, the same split, schema and budget.

    python benchmarks/peers.py [--tables acs,adult,nist,credit or FILE.csv:TARGET] [--epsilons 0.2,1,5.1] [--seeds 3]

Every cell (table, epsilon, method, options, seed) is a run through the command line with a ledger of its own; cells
that the JSON (default benchmarks/results/peers.json) holds already are passed over, so that a run that was stopped goes
on; ``--fresh`` measures them again. Methods named by ``--once`` get one seed; ``--options aim:rounds=30,mst:bins=128``
gives methods options. A cell that fails or takes too long is kept with its reason. Prints Markdown, the real rows' own
noise (a bootstrap) in every table.
"""

from functools import partial
from pathlib import Path

from markdown_tables import each, means
from public_tables import BOOTSTRAP, part_of_real, prepared, ran_and_scored, scored
from runner import Row, measured, start

CELL = ("table", "epsilon", "method", "options", "seed")
SCORES = (
    *("contsim", "tv", "ks", "corrsim", "pair_tv_err", "max_pair_tv_err"),
    *("logreg_f1", "tstr_auc", "c2st_auc", "copies_train"),
    *("mean_worst", "spread_worst", "group_mean", "correlation", "implausible"),
)
PAPERS = ("slicing", "dp_kernel", "dp_merf", "dp_ctgan", "pate_gan", "private_evolution")
ORDER = ("mixture", "aim", "mst", *PAPERS, "independent")
ALL = "independent,mixture,slicing,dp_kernel,dp_merf,dp_ctgan,pate_gan,aim,mst"


def one(folder: Path, cell: Row, most: float | None = None) -> Row:
    """One run with fresh noise and its scores; or of no method a bootstrap of the real rows, the table's own noise."""
    if cell["epsilon"] is None:
        return scored(folder, part_of_real(folder)[1], reference=True)
    return ran_and_scored(folder, cell, most=most)


def cells_of(given, table: str) -> list[Row]:
    """The cases on a table, the real rows first. ``--options``: METHOD:NAME=VALUE, several of one method too."""
    chosen = [text.partition(":")[::2] for text in given.options]
    cells: list[Row] = [dict(zip(CELL, (table, None, BOOTSTRAP, "", 0), strict=True))]
    for epsilon in given.epsilons:
        for method in given.methods:
            options = " ".join(option for of, option in chosen if of == method)
            seeds = range(1 if method in given.once else given.seeds)
            cells += [dict(zip(CELL, (table, epsilon, method, options, s), strict=True)) for s in seeds]
    return cells


def markdown(rows: list[Row]) -> str:
    """Means over seeds, a line for each table, epsilon, method and options."""
    order = {"table": each(rows, "table"), "epsilon": None, "method": [BOOTSTRAP, *ORDER], "options": None}
    return means(rows, CELL[:4], dict.fromkeys(SCORES, 4) | {"seconds": 1}, runs="runs", order=order)


def main(given) -> None:
    rows: list[Row] = []
    for table in given.tables:
        rows = measured(given, cells_of(given, table), partial(one, most=given.most_seconds), prepare=prepared)
    print(markdown(rows))


if __name__ == "__main__":
    usual = {"tables": "acs,adult,nist,credit", "epsilons": [0.2, 1.0, 5.1], "methods": ALL, "seeds": 3, "options": []}
    start(main, public=True, json="peers", once="aim,mst,dp_ctgan,pate_gan", most_seconds=1200.0, **usual)
