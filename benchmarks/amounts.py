"""Means, spreads, percentiles, correlations and rows that could not be: methods and rivals side by side.

    python benchmarks/amounts.py [--tables town,adult,credit,acs] [--methods mixture,aim,mst] [--epsilons 1] [--seeds 1]

Runs through the command line with drafted bounds; or `dpsynth-aim`, `dpsynth-swift`: google/dpsynth's, by the Python
named by ``--rival-python`` (related_rival.py says what it needs). Beside them the real rows drawn again. Prints
Markdown; runs that benchmarks/results/amounts.json holds are passed over.
"""

from pathlib import Path

from beyond_pairs import RIVAL, rival
from markdown_tables import each, means
from public_tables import BOOTSTRAP, amounts, part_of_real, prepared, ran
from runner import Row, grid, measured, start

SHOWN = ("mean_worst", "spread_worst", "p99_worst", "group_mean", "correlation", "implausible", "implausible_real")


def markdown(rows: list[Row]) -> str:
    order = {"table": each(rows, "table"), "epsilon": None, "method": [BOOTSTRAP]}
    return means(rows, ("table", "epsilon", "method"), dict.fromkeys(SHOWN, 3), runs="runs", order=order)


def main(given) -> None:
    def one(folder: Path, cell: Row) -> Row:
        if cell["epsilon"] is None:
            return amounts(folder, part_of_real(folder)[1])
        made = None
        if cell["method"].startswith(RIVAL):
            said = rival(folder, cell | {"options": ""}, given.rival_python, given.most_seconds)
            made = folder / "made.csv"
        else:
            said = ran(folder, cell, most=given.most_seconds)
        return said if "failed" in said else said | amounts(folder, made)

    real = grid(table=given.tables, epsilon=[None], method=[BOOTSTRAP], seed=[0])
    cells = real + grid(table=given.tables, epsilon=given.epsilons, method=given.methods, seed=range(given.seeds))
    cells.sort(key=lambda c: given.tables.index(c["table"]))
    print(markdown(measured(given, cells, one, prepare=prepared)))


if __name__ == "__main__":
    usual = {"methods": "mixture,aim,mst", "epsilons": [1.0], "seeds": 1, "rival_python": "", "most_seconds": 1800.0}
    start(main, public=True, json="amounts", tables="town,adult,credit,acs", **usual)
