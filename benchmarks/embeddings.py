"""The embedding family's figures: on a census table by the yardstick beside it, and on pictures of digits.

    python benchmarks/embeddings.py [--parts table,digits] [--table acs] [--epsilons 0.2,1,5.1] [--seeds 3]

The part `table` needs the public tables and score.py in ../shared; says so and stops where they are absent. The part
`digits` needs scikit-learn alone: it makes synthetic digits at epsilon 0.2, 1 and 10, trains a classifier on them,
tests it on real held-out ones, and draws real beside synthetic in docs/pictures/ where the docs show it. Every run
spends in a ledger of its own; runs that the JSON holds are passed over. Semicolons stand between methods, some of which
have commas in their names.
"""

from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from flagship import markdown
from markdown_tables import means
from public_tables import laid, prepared, ran, ran_and_scored
from runner import PICTURES, Row, grid, measured, need_tables, start

STEPWISE = ["form=stepwise", "widths=3", "lengthscale=1", "rate=0.1", "steps=100"]
METHODS = {
    "dp_kernel": [],
    "dp_kernel, conditional": ["variant=conditional"],
    "dp_kernel, parallel": ["variant=parallel"],
    "dp_kernel, path": ["form=path"],
    "dp_kernel, gaussian": ["form=gaussian"],
    "dp_kernel, gaussian, conditional": ["form=gaussian", "variant=conditional"],
    "dp_kernel, gaussian, parallel": ["form=gaussian", "variant=parallel"],
    "dp_kernel, gaussian, gradients": ["form=gaussian", "variant=conditional", "gradients=joint", "anchors=8000"],
    "dp_kernel, stepwise, conditional": [*STEPWISE, "variant=conditional"],
    "dp_kernel, stepwise, parallel": [*STEPWISE, "variant=parallel"],
    **{name: [] for name in ("dp_merf", "dp_hp", "pearl", "dp_ntk")},
}
DIGIT_EPSILONS = (0.2, 1.0, 10.0)
SHOWN = 10  # pictures of each digit
SCALE = 4  # screen pixels a side of a picture's pixel


def with_options(cell: Row) -> Row:
    """The case as a run takes it."""
    return cell | {"method": cell["method"].partition(",")[0], "options": METHODS[cell["method"]]}


@cache
def handwritten() -> tuple[np.ndarray, ...]:
    """Real digits: pixels to train on and held out, then which digits they are."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, label = load_digits(return_X_y=True)
    return tuple(train_test_split(pixels, label, test_size=0.2, random_state=0, stratify=label))


@contextmanager
def digits(*_):
    """The table of 64 pixels and a digit, and its public schema."""
    train, _, known, _ = handwritten()
    names = [f"p{i:02d}" for i in range(train.shape[1])]
    columns: dict = {n: {"type": "integer", "min": 0, "max": 16, "source": "public"} for n in names}
    columns["digit"] = {"type": "categorical", "categories": [str(d) for d in range(10)], "source": "public"}
    rows = pd.DataFrame(train.astype(int), columns=names).assign(digit=known)
    with laid(rows, {"dataset": "digits", "target": "digit", "columns": columns}) as folder:
        yield folder


def recognised(folder: Path, cell: Row) -> Row:
    """Accuracy on real held-out digits of a classifier trained on synthetic ones; a picture grid for each method."""
    train, test, known, asked = handwritten()
    if cell["epsilon"] is None:
        return {"accuracy": accuracy(train, known, test, asked)}
    said = ran(folder, with_options(cell), "--num-rows", len(train))
    if "failed" in said:
        return said
    made = pd.read_csv(folder / "out" / "synthetic.csv")
    drawn, label = made.drop(columns="digit").to_numpy(float), made["digit"].to_numpy()
    path = PICTURES / f"digits-{cell['method'].replace(', ', '-')}-{cell['epsilon']:g}.png"
    if cell["seed"] == 0 and (path.exists() or cell["epsilon"] > min(DIGIT_EPSILONS)):
        picture(path, (train, known), (drawn, label))
    return {"seconds": said["seconds"], "accuracy": accuracy(drawn, label, test, asked)}


def accuracy(drawn: np.ndarray, label: np.ndarray, test: np.ndarray, asked: np.ndarray) -> float:
    """Of a logistic regression on pixels, trained on what was drawn, tested on real digits."""
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(label)) < 2:
        return float(np.mean(asked == label[0]))
    return float(LogisticRegression(max_iter=2000, C=0.1).fit(drawn / 16, label).score(test / 16, asked))


def picture(path: Path, *sides: tuple[np.ndarray, np.ndarray]) -> None:
    """A grid, a line for each digit: ten real pictures on the left, ten synthetic ones on the right."""
    from PIL import Image

    tile = 8 * SCALE + 2
    canvas = np.full((10 * tile, (2 * SHOWN + 1) * tile), 255, dtype=np.uint8)
    for side, (pixels, label) in enumerate(sides):
        for digit in range(10):
            for k, values in enumerate(pixels[label == digit][:SHOWN]):
                top, left = digit * tile, (k + side * (SHOWN + 1)) * tile
                big = np.kron(255 - values.reshape(8, 8) * (255 / 16), np.ones((SCALE, SCALE)))
                canvas[top : top + 8 * SCALE, left : left + 8 * SCALE] = big.round()
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(canvas).save(path, optimize=True)


def main(given) -> None:
    if "table" in given.parts:
        need_tables()
        ways = {"epsilon": given.epsilons, "method": given.methods, "seed": range(given.seeds)}
        rows = measured(
            given,
            grid(part=["table"], table=[given.table], **ways),
            lambda folder, cell: ran_and_scored(folder, with_options(cell)),
            prepare=prepared,
        )
        print(markdown([r for r in rows if r["part"] == "table"]))
    if "digits" in given.parts:
        cells = [{"part": "digits", "method": "real rows", "epsilon": None}]
        cells += grid(part=["digits"], epsilon=DIGIT_EPSILONS, method=given.methods, seed=range(given.seeds))
        rows = [r for r in measured(given, cells, recognised, prepare=digits) if r["part"] == "digits"]
        print(means(rows, ("method", "epsilon"), {"accuracy": 3, "seconds": 1}))


if __name__ == "__main__":
    usual = {"parts": "table,digits", "table": "acs", "epsilons": [0.2, 1.0, 5.1], "methods": ";".join(METHODS)}
    start(main, json="embeddings", seeds=3, **usual)
