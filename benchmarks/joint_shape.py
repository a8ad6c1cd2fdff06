"""Joint shape, beside methods of others: how many held-out letters are known by what classifiers learnt of made rows.

    python benchmarks/joint_shape.py [--methods mixture,private_evolution,aim] [--seeds 3]
    python benchmarks/joint_shape.py --made "Tab-PE:0:12:FILE.csv,Tab-PE:1:12:OTHER.csv"

Artificial Characters: 7,152 rows of seven numbers to learn from, ten letters, epsilon 1, delta 1e-5; classifiers have
their defaults (300 extra trees). ``--made``: rows that another program made: its name, seed, seconds, and the file.
MargNet and GEM ran from MargNet's repository (8b75032) with its settings for Adult, on numbers in 16 even bins of their
public ranges, within which values were then drawn evenly; MargNet with its loss written quicker and the rows' number
as its rows out, GEM with a network of 512 x 512; dpsynth (cf8075f) by related_rival.py, with tables of --order
3 and 2; Tab-PE (microsoft/DPSDA) with its script's settings, 1,000 rows out. Needs the
tables in ../shared.
"""

from pathlib import Path

import pandas as pd
from markdown_tables import means
from public_tables import numeric, prepared, ran
from runner import Row, grid, measured, start

KNOWN = {"boosted trees": 3, "extra trees": 3, "15 nearest": 3}
REAL = "real rows"


def known(folder: Path, made: Path) -> Row:
    """Accuracy on held-out rows of classifiers that were trained on made ones."""
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
    from sklearn.neighbors import KNeighborsClassifier

    judges = HistGradientBoostingClassifier(random_state=0), ExtraTreesClassifier(300, random_state=0)
    real, test, rows = (pd.read_csv(p) for p in (folder / "train.csv", folder / "test.csv", made))
    low, high = real[of := sorted(numeric(folder))].min(), real[of].max()
    first, last = ((t[of] - low) / (high - low) for t in (rows, test))
    found = [j.fit(first, rows["Class"]).score(last, test["Class"]) for j in (*judges, KNeighborsClassifier(15))]
    return dict(zip(KNOWN, found, strict=True))


def markdown(rows: list[Row]) -> str:
    """Means over the runs, the best trees first."""
    rows = sorted(rows, key=lambda r: -r["boosted trees"])
    return means(rows, ("method",), KNOWN | {"seconds": 0}, runs="runs")


def main(given) -> None:
    made = {(n, int(s)): (float(t) if t else None, Path(p)) for n, s, t, p in (text.split(":") for text in given.made)}

    def one(folder: Path, cell: Row) -> Row:
        seconds, path = made.get((cell["method"], cell["seed"]), (None, folder / "train.csv"))
        if not made and cell["method"] != REAL:
            said, path = ran(folder, cell), folder / "out" / "synthetic.csv"
            seconds = said["seconds"]
        return {"seconds": seconds} | known(folder, path)

    cells = [{"method": REAL, "seed": 0}, *grid(method=given.methods, seed=range(given.seeds))]
    cells = [{"method": method, "seed": seed} for method, seed in made] or cells
    cells = [{"table": "characters", "epsilon": 1.0} | c for c in cells]
    print(markdown(measured(given, cells, one, prepare=prepared)))


if __name__ == "__main__":
    start(main, public=True, json="joint_shape", methods="mixture,private_evolution,aim", seeds=3, made=[str])
