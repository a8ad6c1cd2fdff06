"""The embedding family's figures: on a census table by the yardstick beside it, and on pictures of digits.

    python benchmarks/embeddings.py [--parts table,digits] [--table acs] [--epsilons 0.2,1,5.1] [--seeds 3]
    python benchmarks/embeddings.py --parts mnist --from FOLDER

The part `table` needs the public tables and score.py in ../shared; says so and stops where they are absent. The part
`digits` needs scikit-learn alone: it makes synthetic digits at epsilon 0.2, 1 and 10, trains a classifier on them,
tests it on real held-out ones, and draws real beside synthetic in docs/pictures/ where the docs show it. The part
`mnist` does so with MNIST's (`mnist.py` says where they lie), made 10 by 10 by averaging, without their margin, in four
grey levels; the text's classifier and a distance of features judge them as well. Every run spends in a ledger of its
own. Semicolons stand between methods, some of which have commas in their names.
"""

import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import mnist
import numpy as np
import pandas as pd
from flagship import markdown
from markdown_tables import means
from public_tables import prepared, ran_and_scored
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
LEVELS = {64: 16, 100: 3}  # the highest grey level by number of pixels: scikit-learn's digits and MNIST's made small
SHOWN, SCREEN = 10, 32  # pictures of each digit, and about how many pixels of the screen each is wide


def with_options(cell: Row) -> Row:
    """The case as a run takes it."""
    return cell | {"method": cell["method"].partition(",")[0], "options": METHODS[cell["method"]]}


@cache
def handwritten(folder: Path | None = None) -> tuple[np.ndarray, ...]:
    """Real digits, scikit-learn's or MNIST's in a folder: grey levels to train on and held out, then which they are."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    if folder is None:
        pixels, label = load_digits(return_X_y=True)
        return tuple(train_test_split(pixels, label, test_size=0.2, random_state=0, stratify=label))
    (train, known), (test, asked) = (mnist.read(folder, part) for part in ("train", "t10k"))
    small = [p[:, 4:24, 4:24].reshape(-1, 10, 2, 10, 2).mean((2, 4)).reshape(len(p), -1) for p in (train, test)]
    return *(np.rint(p * LEVELS[p.shape[1]] / 255) for p in small), known, asked


def synthetic(pixels: np.ndarray, label: np.ndarray | None, cell: Row, **how) -> pd.DataFrame:
    """What a case's run makes of a table of pixels and, if given, a digit."""
    import synth
    from synth.schema.table import parse

    names = [f"p{i:03d}" for i in range(pixels.shape[1])]
    columns: dict = {n: {"type": "integer", "min": 0, "max": LEVELS[len(names)], "source": "public"} for n in names}
    rows = pd.DataFrame(pixels.astype(int), columns=names)
    if label is not None:
        rows, how = rows.assign(digit=label.astype(str)), how | {"target": "digit"}
        columns["digit"] = {"type": "categorical", "categories": [str(d) for d in range(10)], "source": "public"}
    options = dict(o.split("=") for o in cell["options"])
    how |= {"method": cell["method"], "options": options, "seed": cell["seed"], "num_rows": len(rows)}
    with TemporaryDirectory() as place:
        schema = parse({"dataset": "digits", "columns": columns})
        made = synth.run(rows, schema=schema, epsilon=cell["epsilon"], delta=1e-5, ledger=f"{place}/l.sqlite", **how)
    return made.frame


def recognised(folder: Path | None, cell: Row) -> Row:
    """Accuracy on real held-out digits of a classifier trained on synthetic ones; a picture grid for each method."""
    train, test, known, asked = handwritten(folder)
    began, drawn, label = time.perf_counter(), train, known
    if cell["epsilon"] is not None:
        made = synthetic(train, known, with_options(cell))
        drawn, label = made.drop(columns="digit").to_numpy(float), made["digit"].to_numpy(int)
        path = PICTURES / f"{cell['part']}-{cell['method'].replace(', ', '-')}-{cell['epsilon']:g}.png"
        if cell["seed"] == 0 and path.exists():
            picture(path, (train, known), (drawn, label))
    found = {"seconds": time.perf_counter() - began, "accuracy": accuracy(drawn, label, test, asked)}
    most = LEVELS[test.shape[1]]
    return found | (mnist.judged(drawn / most, label, test / most, asked) if folder else {})


def accuracy(drawn: np.ndarray, label: np.ndarray, test: np.ndarray, asked: np.ndarray) -> float:
    """Of a logistic regression on pixels, trained on what was drawn, tested on real digits."""
    from sklearn.linear_model import LogisticRegression

    most = LEVELS[test.shape[1]]
    if len(np.unique(label)) < 2:
        return float(np.mean(asked == label[0]))
    return float(LogisticRegression(max_iter=2000, C=0.1).fit(drawn / most, label).score(test / most, asked))


def picture(path: Path, *sides: tuple[np.ndarray, np.ndarray]) -> None:
    """A grid, a line for each digit: ten real pictures on the left, ten synthetic ones on the right."""
    from PIL import Image

    wide = sides[0][0].shape[1]
    side, scale = int(wide**0.5), SCREEN // int(wide**0.5)
    tile = side * scale + 2
    canvas = np.full((10 * tile, (2 * SHOWN + 1) * tile), 255, dtype=np.uint8)
    for right, (pixels, label) in enumerate(sides):
        for digit in range(10):
            for k, values in enumerate(pixels[label == digit][:SHOWN]):
                top, left = digit * tile, (k + right * (SHOWN + 1)) * tile
                big = np.kron(255 - values.reshape(side, side) * (255 / LEVELS[wide]), np.ones((scale, scale)))
                canvas[top : top + side * scale, left : left + side * scale] = big.round()
    Image.fromarray(canvas).save(path, optimize=True)


def main(given) -> None:
    if "table" in given.parts:
        need_tables()
        ways = {"epsilon": given.epsilons, "method": given.methods, "seed": range(given.seeds)}
        cells = grid(part=["table"], table=[given.table], **ways)
        rows = measured(given, cells, lambda at, cell: ran_and_scored(at, with_options(cell)), prepare=prepared)
        print(markdown([r for r in rows if r["part"] == "table"]))
    for part in (p for p in ("digits", "mnist") if p in given.parts):
        folder = getattr(given, "from") if part == "mnist" else None
        cells = [{"part": part, "method": "real rows", "epsilon": None}]
        cells += grid(part=[part], epsilon=[0.2, 1.0, 10.0], method=given.methods, seed=range(given.seeds))
        rows = measured(given, cells, lambda _, cell, folder=folder: recognised(folder, cell))
        print(means([r for r in rows if r["part"] == part], ("method", "epsilon"), mnist.OF_PICTURES))


if __name__ == "__main__":
    usual = {"parts": "table,digits", "table": "acs", "epsilons": [0.2, 1.0, 5.1], "methods": ";".join(METHODS)}
    start(main, json="embeddings", seeds=3, **usual, **{"from": Path()})
