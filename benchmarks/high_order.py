"""What pairs do not show: parities of two and three columns, by mixture as it is, by its parts, and by other methods.

    python benchmarks/high_order.py [--columns 2,3] [--methods mixture,aim,mst] [--seeds 3] [--epsilon 1] [--parts]

20,000 rows of six columns of four values; y is the parity of the first two or three, 2 % of it turned. Every cell is a
run through the command line with a ledger of its own and fresh noise, with the target named and without. ``--parts``:
mixture by pairs alone, with tables of three columns, and as it is.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from markdown_tables import filled
from public_tables import laid, ran
from runner import RESULTS, Row, grid, measured, start
from sklearn.tree import DecisionTreeClassifier

ROWS, WIDTH, VALUES, TURNED = 20_000, 6, 4, 0.02
PARTS = {"pairs alone": ["rounds=0"], "and three columns": ["order=3"], "as it is": []}
LEAF = 20  # rows in a leaf of the tree


@cache
def tables(columns: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows in which y is the parity of the first columns: to learn from, and to test on."""

    def table() -> pd.DataFrame:
        x = rng.integers(0, VALUES, (ROWS, WIDTH))
        y = (x[:, :columns].sum(1) + (rng.random(ROWS) < TURNED)) % 2
        return pd.DataFrame({**{f"x{j}": x[:, j] for j in range(WIDTH)}, "y": y})

    rng = np.random.default_rng(columns)
    return table(), table()


def place(columns: int, target: bool):
    """The table and its schema."""
    facts = {f"x{j}": {"type": "categorical", "categories": [str(v) for v in range(VALUES)]} for j in range(WIDTH)}
    facts["y"] = {"type": "categorical", "categories": ["0", "1"]}
    return laid(tables(columns)[0], {"columns": facts} | ({"target": "y"} if target else {}))


def learnt(train: pd.DataFrame, test: pd.DataFrame) -> float:
    """Accuracy on ``test`` of a tree trained on ``train``."""

    def features(rows: pd.DataFrame) -> np.ndarray:
        return np.column_stack([rows[f"x{j}"].to_numpy()[:, None] == np.arange(VALUES) for j in range(WIDTH)])

    tree = DecisionTreeClassifier(min_samples_leaf=LEAF, random_state=0).fit(features(train), train["y"])
    return float((tree.predict(features(test)) == test["y"]).mean())


def one(folder: Path, cell: Row) -> Row:
    """One run and its scores; of no method those of the real rows."""
    train, test = tables(cell["columns"])
    if cell["label"] == "real rows":
        return {"accuracy": learnt(train, test), "kept": 1 - TURNED, "seconds": 0.0}
    said = ran(folder, cell)
    if "failed" in said:
        return said
    made = pd.read_csv(folder / "out" / "synthetic.csv")
    parity = made[[f"x{j}" for j in range(cell["columns"])]].sum(1) % 2
    return said | {"accuracy": learnt(made, test), "kept": float((parity == made["y"]).mean())}


def markdown(rows: list[Row]) -> str:
    """A line for each table, target and method: means over runs, and the least accuracy."""
    groups = []
    frame = pd.DataFrame([r for r in rows if "failed" not in r])
    for (columns, target, label), group in frame.groupby(["columns", "target", "label"], sort=False):
        means = group[["accuracy", "kept", "seconds"]].mean()
        key = {"columns": columns, "target": "named" if target else "-", "label": label, "runs": len(group)}
        groups.append(key | dict(means) | {"least": group["accuracy"].min()})
    heads = "parity of|target|method|runs|accuracy|least|rows that keep y|seconds"
    cells = "{columns}|{target}|{label}|{runs}|{accuracy:.3f}|{least:.3f}|{kept:.3f}|{seconds:.1f}"
    failed = [f"- {r['label']}, parity of {r['columns']}: {r['failed']}" for r in rows if "failed" in r]
    return "\n".join([filled(groups, heads, cells), *failed])


def main(given) -> None:
    tried = [(m, m, []) for m in given.methods]
    if given.parts:
        tried = [("mixture", f"mixture, {what}", options) for what, options in PARTS.items()]
    cells: list[Row] = []
    for columns in given.columns:
        cells.append({"columns": columns, "target": False, "label": "real rows"})
        for cell in grid(columns=[columns], target=[True, False], tried=tried, epsilon=[given.epsilon]):
            method, label, options = cell.pop("tried")
            run = cell | {"label": label, "method": method, "options": options}
            cells += [run | {"seed": seed} for seed in range(given.seeds)]
    given.json = given.json or RESULTS / f"high_order{'_parts' * given.parts}.json"
    print(markdown(measured(given, cells, one, prepare=place, by=("columns", "target"))))


if __name__ == "__main__":
    start(main, columns=[2, 3], methods="mixture,aim,mst", seeds=3, epsilon=1.0, parts=False)
