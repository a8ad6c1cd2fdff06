"""Figure 1 of the slicing text on the digits that scikit-learn ships: a generator for each class, accuracy by epsilon.

    python benchmarks/figure1.py [--epsilons 1,3,10] [--seeds 1] [--share 1.0]

Each class is a table of its own, so under zero_out they cost together what one costs. ``--share``: part of each class
that is learnt from; the text takes a tenth of MNIST's 6,000, which are more than the 144 there are here. Accuracy of a
logistic regression on real held-out digits, trained on as many synthetic ones as there are real.
"""

from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
from embeddings import accuracy, handwritten, picture
from markdown_tables import means
from public_tables import laid, ran
from runner import PICTURES, Row, grid, measured, start

SLICES = ["directions=gaussian", "num_slices=60", "steps=600"]
SHOWN = 10.0  # epsilon from which pictures are kept
METHODS = {
    "slicing (KL, k = 2)": ("slicing", ["loss=kl", *SLICES]),
    "slice_wasserstein": ("slice_wasserstein", SLICES),
    "dp_merf": ("dp_merf", []),
}


@contextmanager
def digit(which: int, share: float):
    """The pixels of one digit, a part of its pictures, and their public schema."""
    train, _, known, _ = handwritten()
    own = train[known == which]
    own = own[: max(round(share * len(own)), 1)]
    names = [f"p{i:02d}" for i in range(own.shape[1])]
    columns = {n: {"type": "integer", "min": 0, "max": 16, "source": "public"} for n in names}
    rows = pd.DataFrame(own.astype(int), columns=names)
    with laid(rows, {"dataset": f"digit {which}", "columns": columns}) as folder:
        yield folder


def recognised(_: Path, cell: Row) -> Row:
    """Ten generators, the accuracy of a classifier trained on what they draw, and a picture at the largest epsilon."""
    train, test, known, asked = handwritten()
    method, options = METHODS[cell["method"]]
    drawn, labels, seconds = [], [], 0.0
    for which in range(10):
        number = int((known == which).sum())
        with digit(which, cell["share"]) as folder:
            run = {"method": method, "options": options, "epsilon": cell["epsilon"], "seed": cell["seed"]}
            said = ran(folder, run, "--num-rows", number, "--relation", "zero_out")
            if "failed" in said:
                return said
            drawn.append(pd.read_csv(folder / "out" / "synthetic.csv").to_numpy(float))
        labels.append(np.full(number, which))
        seconds += said["seconds"]
    made, label = np.concatenate(drawn), np.concatenate(labels)
    if cell["seed"] == 0 and cell["epsilon"] >= SHOWN:
        picture(PICTURES / f"figure1-{method}-{cell['epsilon']:g}.png", (train, known), (made, label))
    return {"seconds": seconds, "accuracy": accuracy(made, label, test, asked)}


def markdown(rows: list[Row]) -> str:
    """Means over the runs, and how far runs are from them."""
    order = {"method": list(METHODS), "epsilon": None}
    return means(rows, ("method", "epsilon"), {"accuracy": 2}, runs="runs", spread=True, order=order)


def main(given) -> None:
    ways = {"method": given.methods, "epsilon": given.epsilons, "seed": range(given.seeds)}
    rows = measured(given, grid(share=[given.share], **ways), recognised, prepare=lambda *_: nullcontext(), by=())
    print(markdown(rows))


if __name__ == "__main__":
    usual = {"epsilons": [1.0, 3.0, 10.0], "methods": ";".join(METHODS), "seeds": 1, "share": 1.0}
    start(main, json="figure1", **usual)
