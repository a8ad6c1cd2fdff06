"""NIST's k-marginal by NIST's own code: the package ``sdnist`` scores our tables in an environment of its own.

    python benchmarks/k_marginal.py [--tables nist24,nist10] [--methods mixture,independent] [--seeds 3] [--epsilon 1]

Needs the public tables in ../shared, and a package index for the first run, which makes the environment build/sdnist
(Python 3.11; sdnist 2.4 pins numpy 1.24) unless ``--python`` names one. Parts of the real rows are scored beside the
methods. NIST's score leaves INDP out of its tables, and PUMA is their area: the score that benchmarks/beyond_pairs.py
prints counts INDP as well and is lower.
"""

from functools import partial
from pathlib import Path

from beyond_pairs import PARTS, parts_of
from markdown_tables import means
from public_tables import part_of_real, prepared, ran
from runner import ROOT, Row, answer_of, environment, grid, measured, start, sure

SDNIST = ("sdnist", "sdnist==2.4")  # its environment and the package
markdown = partial(
    means,
    by=("table", "epsilon", "method"),
    columns={"sdnist": ("sdnist k-marginal", 1), "seconds": 1},
    runs="runs",
    spread=True,
)


def main(given) -> None:
    python = given.python or environment(*SDNIST)

    def one(folder: Path, cell: Row) -> Row:
        real = cell["epsilon"] is None
        said = {} if real else ran(folder, cell)
        made = part_of_real(folder, PARTS[cell["method"]])[1] if real else folder / "out" / "synthetic.csv"
        if "failed" in said:
            return said
        scores = sure(answer_of([python, ROOT / "benchmarks" / "sdnist_score.py", folder / "train.csv", made]))
        return said | {"sdnist": float(scores[0])}

    cells = []
    for table in given.tables:
        ways = {"method": given.methods, "options": [""], "seed": range(given.seeds)}
        cells += [*parts_of(table), *grid(table=[table], epsilon=[given.epsilon], **ways)]
    print(markdown(measured(given, cells, one, prepare=prepared)))


if __name__ == "__main__":
    usual = {"tables": "nist24,nist10", "methods": "mixture,independent", "seeds": 3, "epsilon": 1.0, "python": ""}
    start(main, public=True, json="k_marginal", **usual)
