"""The embedding family's figures: on a census table by the yardstick beside it, and on pictures of digits.

    python benchmarks/embeddings.py [--parts table,digits] [--table acs] [--epsilons 0.2,1,5.1] [--seeds 3]

The part `table` needs the public tables and score.py in ../shared; says so and stops where they are absent. The part
`digits` needs scikit-learn alone: it makes synthetic digits at epsilon 0.2, 1 and 10, trains a classifier on them,
tests it on real held-out ones, and draws real beside synthetic in docs/pictures/ where the docs show it. Every run
spends in a ledger of its own. Prints Markdown; benchmarks/results/embeddings.json keeps the lines of other runs and
replaces those measured again.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from flagship import ROOT, SHARED, TABLES, call, drafted, markdown, show

METHODS = {
    "dp_kernel": ("dp_kernel",),
    "dp_kernel, conditional": ("dp_kernel", "variant=conditional"),
    "dp_kernel, parallel": ("dp_kernel", "variant=parallel"),
    "dp_kernel, path": ("dp_kernel", "form=path"),
    "dp_kernel, gaussian": ("dp_kernel", "form=gaussian"),
    "dp_kernel, gaussian, conditional": ("dp_kernel", "form=gaussian", "variant=conditional"),
    "dp_kernel, gaussian, parallel": ("dp_kernel", "form=gaussian", "variant=parallel"),
    "dp_kernel, gaussian, gradients": (
        "dp_kernel",
        "form=gaussian",
        "variant=conditional",
        "gradients=joint",
        "anchors=8000",
    ),
    "dp_merf": ("dp_merf",),
    "dp_hp": ("dp_hp",),
    "pearl": ("pearl",),
    "dp_ntk": ("dp_ntk",),
}
SYNTH = (sys.executable, "-m", "synth")
KEPT = ("seconds", "seconds_total", "peak_mib", "epsilon_spent", "epsilon_derived", "num_rows")
DIGIT_EPSILONS = (0.2, 1.0, 10.0)
LINE = ("part", "table", "method", "epsilon", "seed")  # what tells one line of the JSON from another
SHOWN = 10  # pictures of each digit
SCALE = 4  # screen pixels a side of a picture's pixel


def run(folder: Path, name: str, epsilon: float, seed: int, *more: object) -> tuple[dict, Path]:
    """One run through the command line: its JSON answer and its folder."""
    method, *options = METHODS[name]
    out = folder / f"{name.replace(', ', '-')}-{epsilon}-{seed}"
    chosen = [part for option in options for part in ("--option", option)]
    said = call(
        *SYNTH,
        "run",
        folder / "train.csv",
        "--schema",
        folder / "schema.json",
        "--epsilon",
        epsilon,
        "--delta",
        1e-5,
        "--method",
        method,
        *chosen,
        "--out",
        out,
        "--seed",
        seed,
        "--ledger",
        folder / "ledger.sqlite",
        "--json",
        *more,
    )
    return json.loads(said), out


def table(folder: Path, name: str, epsilons: list[float], methods: list[str], seeds: int) -> list[dict]:
    """Scores of every method on one of the public tables."""
    drafted(folder, TABLES[name](folder))
    rows = []
    for epsilon in epsilons:
        for method in methods:
            for seed in range(seeds):
                answer, out = run(folder, method, epsilon, seed)
                scored = folder / "scores.json"
                call(
                    sys.executable,
                    SHARED / "tools" / "score.py",
                    "--real",
                    folder / "train.csv",
                    "--synthetic",
                    out / "synthetic.csv",
                    "--schema",
                    out / "schema.json",
                    "--test",
                    folder / "test.csv",
                    "--no-reference",
                    "--json",
                    scored,
                )
                row = {"part": "table", "table": name, "epsilon": epsilon, "method": method, "seed": seed}
                row |= json.loads(scored.read_text()) | {k: answer[k] for k in KEPT}
                rows.append(row)
                show(row)
    return rows


def digits(folder: Path, methods: list[str], seeds: int) -> list[dict]:
    """Accuracy on real held-out digits of a classifier trained on synthetic ones; a picture grid for each method."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, label = load_digits(return_X_y=True)
    train, test, known, asked = train_test_split(pixels, label, test_size=0.2, random_state=0, stratify=label)
    _write(folder, train.astype(int), known)
    rows = [{"part": "digits", "method": "real rows", "epsilon": None, "accuracy": accuracy(train, known, test, asked)}]
    for epsilon in DIGIT_EPSILONS:
        for method in methods:
            for seed in range(seeds):
                answer, out = run(folder, method, epsilon, seed, "--num-rows", len(train))
                made = pd.read_csv(out / "synthetic.csv")
                drawn, told = made.drop(columns="digit").to_numpy(float), made["digit"].to_numpy()
                row = {"part": "digits", "method": method, "epsilon": epsilon, "seed": seed}
                row |= {"seconds": answer["seconds"], "accuracy": accuracy(drawn, told, test, asked)}
                rows.append(row)
                print(row, flush=True)
                name = ROOT / "docs" / "pictures" / f"digits-{method.replace(', ', '-')}-{epsilon:g}.png"
                if seed == 0 and (name.exists() or epsilon > min(DIGIT_EPSILONS)):
                    picture(name, (train, known), (drawn, told))
    return rows


def _write(folder: Path, pixels: np.ndarray, label: np.ndarray) -> None:
    """The table of 64 pixels and a digit, and its public schema."""
    names = [f"p{i:02d}" for i in range(pixels.shape[1])]
    pd.DataFrame(pixels, columns=names).assign(digit=label).to_csv(folder / "train.csv", index=False)
    columns: dict = {n: {"type": "integer", "min": 0, "max": 16, "source": "public"} for n in names}
    columns["digit"] = {"type": "categorical", "categories": [str(d) for d in range(10)], "source": "public"}
    (folder / "schema.json").write_text(json.dumps({"dataset": "digits", "target": "digit", "columns": columns}))


def accuracy(drawn: np.ndarray, told: np.ndarray, test: np.ndarray, asked: np.ndarray) -> float:
    """Of a logistic regression on pixels, trained on what was drawn, tested on real digits."""
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(told)) < 2:
        return float(np.mean(asked == told[0]))
    return float(LogisticRegression(max_iter=2000, C=0.1).fit(drawn / 16, told).score(test / 16, asked))


def picture(path: Path, real: tuple[np.ndarray, np.ndarray], made: tuple[np.ndarray, np.ndarray]) -> None:
    """A grid, a line for each digit: ten real pictures on the left, ten synthetic ones on the right."""
    from PIL import Image

    tile = 8 * SCALE + 2
    canvas = np.full((10 * tile, (2 * SHOWN + 1) * tile), 255, dtype=np.uint8)
    for side, (pixels, label) in enumerate((real, made)):
        for digit in range(10):
            for k, values in enumerate(pixels[label == digit][:SHOWN]):
                top, left = digit * tile, (k + side * (SHOWN + 1)) * tile
                big = np.kron(255 - values.reshape(8, 8) * (255 / 16), np.ones((SCALE, SCALE)))
                canvas[top : top + 8 * SCALE, left : left + 8 * SCALE] = big.round()
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(canvas).save(path, optimize=True)


def keep(path: Path, rows: list[dict]) -> None:
    """Writes these lines over the same ones of before, and leaves all others."""
    held = json.loads(path.read_text()) if path.exists() else []

    def line(row: dict) -> tuple:
        return tuple((row | {"seed": row.get("seed", 0)}).get(k) for k in LINE)  # older lines of digits name no seed

    new = {line(r) for r in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = [r for r in held if line(r) not in new]
    path.write_text(json.dumps(kept + rows, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="table,digits")
    parser.add_argument("--table", default="acs")
    parser.add_argument("--epsilons", default="0.2,1,5.1")
    parser.add_argument("--methods", default=";".join(METHODS), help="separated by semicolons")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", default=str(ROOT / "benchmarks" / "results" / "embeddings.json"))
    given = parser.parse_args()
    methods, parts = given.methods.split(";"), given.parts.split(",")
    if "table" in parts and not SHARED.exists():
        sys.exit("the public tables and score.py are not beside this checkout; nothing was measured")
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as name:
        if "table" in parts:
            (scores := Path(name) / "table").mkdir()
            rows += table(scores, given.table, [float(e) for e in given.epsilons.split(",")], methods, given.seeds)
            print(markdown(rows))
        if "digits" in parts:
            (pictures := Path(name) / "digits").mkdir()
            seen = digits(pictures, methods, given.seeds)
            frame = pd.DataFrame(seen).fillna({"epsilon": "-"})
            print(frame.groupby(["method", "epsilon"], sort=False)[["accuracy", "seconds"]].mean().round(3))
            rows += seen
    keep(Path(given.json), rows)


if __name__ == "__main__":
    main()
