"""What pairs do not show: parities of two and three columns, by mixture as it is, by its parts, and by other methods.

    python benchmarks/high_order.py [--columns 2,3] [--methods mixture,aim,mst] [--seeds 3] [--epsilon 1] [--parts]
                                    [--json FILE]

20,000 rows of six columns of four values; y is the parity of the first two or three, 2 % of it turned. Every cell is a
run through the command line with a ledger of its own and fresh noise, with the target named and without. ``--parts``:
mixture by pairs alone, with tables of three columns, and as it is. Prints Markdown, which docs/high-order.md holds;
the JSON goes to benchmarks/results/.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from cells import ran
from markdown_tables import store
from sklearn.tree import DecisionTreeClassifier

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "high_order.json"
ROWS, WIDTH, VALUES, TURNED = 20_000, 6, 4, 0.02
PARTS = {"pairs alone": ["rounds=0"], "and three columns": ["order=3"], "as it is": []}
LEAF = 20  # rows in a leaf of the tree


def table(columns: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows in which y is the parity of the first columns."""
    x = rng.integers(0, VALUES, (ROWS, WIDTH))
    y = (x[:, :columns].sum(1) + (rng.random(ROWS) < TURNED)) % 2
    return pd.DataFrame({**{f"x{j}": x[:, j] for j in range(WIDTH)}, "y": y})


def schema(target: bool) -> dict:
    facts = {f"x{j}": {"type": "categorical", "categories": [str(v) for v in range(VALUES)]} for j in range(WIDTH)}
    facts["y"] = {"type": "categorical", "categories": ["0", "1"]}
    return {"columns": facts} | ({"target": "y"} if target else {})


def learnt(train: pd.DataFrame, test: pd.DataFrame) -> float:
    """Accuracy on ``test`` of a tree trained on ``train``."""

    def features(rows: pd.DataFrame) -> np.ndarray:
        return np.column_stack([rows[f"x{j}"].to_numpy()[:, None] == np.arange(VALUES) for j in range(WIDTH)])

    tree = DecisionTreeClassifier(min_samples_leaf=LEAF, random_state=0).fit(features(train), train["y"])
    return float((tree.predict(features(test)) == test["y"]).mean())


def one(folder: Path, cell: dict, test: pd.DataFrame, columns: int) -> dict:
    """One run and its scores, or the reason why there are none."""
    out = folder / "out"
    told = ran(folder, cell, out)
    if "failed" in told:
        return told
    made = pd.read_csv(out / "synthetic.csv")
    parity = made[[f"x{j}" for j in range(columns)]].sum(1) % 2
    return {**told, "accuracy": learnt(made, test), "kept": float((parity == made["y"]).mean())}


def markdown(rows: list[dict]) -> str:
    """A line for each table, target and method: means over runs, and the least accuracy."""
    lines = ["| parity of | target | method | runs | accuracy | least | rows that keep y | seconds |", "|---" * 8 + "|"]
    frame = pd.DataFrame([r for r in rows if "failed" not in r])
    for (columns, target, label), group in frame.groupby(["columns", "target", "label"], sort=False):
        means = [f"{group.accuracy.mean():.3f}", f"{group.accuracy.min():.3f}", f"{group.kept.mean():.3f}"]
        told = [str(columns), "named" if target else "-", str(label), str(len(group)), *means]
        lines.append("| " + " | ".join([*told, f"{group.seconds.mean():.1f}"]) + " |")
    failed = [r for r in rows if "failed" in r]
    return "\n".join([*lines, *(f"- {r['label']}, parity of {r['columns']}: {r['failed']}" for r in failed)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", default="2,3")
    parser.add_argument("--methods", default="mixture,aim,mst")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--json", default=str(RESULTS))
    given = parser.parse_args()
    tried = [(m, m, []) for m in given.methods.split(",")]
    if given.parts:
        tried = [("mixture", f"mixture, {what}", options) for what, options in PARTS.items()]
    rows = []
    for columns in map(int, given.columns.split(",")):
        rng = np.random.default_rng(columns)
        train, test = table(columns, rng), table(columns, rng)
        rows.append(
            {
                "columns": columns,
                "target": False,
                "label": "real rows",
                "accuracy": learnt(train, test),
                "kept": 1 - TURNED,
                "seconds": 0.0,
            }
        )
        for target in (True, False):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                train.to_csv(folder / "train.csv", index=False)
                (folder / "schema.json").write_text(json.dumps(schema(target)))
                for method, label, options in tried:
                    for seed in range(given.seeds):
                        cell = {
                            "columns": columns,
                            "target": target,
                            "label": label,
                            "method": method,
                            "options": options,
                            "epsilon": given.epsilon,
                            "seed": seed,
                        }
                        rows.append(one(folder, cell, test, columns))
                        print(rows[-1], flush=True)
    store(Path(given.json), rows)
    print(markdown(rows))


if __name__ == "__main__":
    main()
