"""The flagship's figures on public tables: runs through the command line, scored by the yardstick beside them.

    python benchmarks/flagship.py [--tables acs,adult] [--epsilons 0.2,1,5.1] [--seeds 3] [--method mixture]

Prints one line a run and a Markdown table of means (and largest difference from the mean); runs that the JSON holds are
passed over.
"""

from functools import partial

from markdown_tables import means
from public_tables import prepared, ran_and_scored
from runner import grid, measured, same, start

SCORES = (
    *("contsim", "tv", "ks", "pair_tv_err", "max_pair_tv_err", "logreg_f1", "tstr_auc", "c2st_auc"),
    *("mean_worst", "spread_worst", "group_mean", "correlation", "implausible"),
)
METHODS = "mixture,independent"
markdown = partial(
    means,
    by=("table", "epsilon", "method"),
    columns=dict.fromkeys(SCORES, 4) | {"seconds": 1, "peak_mib": 0},
    spread=True,
)


def main(given) -> None:
    cells = grid(table=given.tables, epsilon=given.epsilons, method=given.method, seed=range(given.seeds))
    rows = measured(given, cells, ran_and_scored, prepare=prepared)
    print(markdown([r for r in rows if any(same(r, c) for c in cells)]))


if __name__ == "__main__":
    start(main, public=True, json="flagship", tables="acs,adult", epsilons=[0.2, 1.0, 5.1], seeds=3, method=METHODS)
