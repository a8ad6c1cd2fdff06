"""MargNet's own evaluator on Adult: tables of one and two columns and range queries, of our tables and the rivals'.

    python benchmarks/margnet.py --repository CHECKOUT --python ENV/bin/python [--methods mixture,aim,mst]
                                 [--seeds 3] [--epsilon 1] [--json FILE]

``CHECKOUT`` is a checkout of MargNet's repository (KaiChen9909/margnet); ``ENV`` a Python that its evaluator imports
in (numpy, pandas, scikit-learn, category_encoders, tqdm, tomli, tomli_w, torch). Needs the public tables in ../shared.
Its code cuts every number into 100 even parts of its range. ``tvd 1``, ``tvd 2``: mean total variation of all tables
of one and two columns against the held-out rows; ``queries``: mean error of 1,000 counts of three columns, ranges of
numbers and values of the others. AIM and MST get one run. Prints Markdown; JSON goes to
benchmarks/results/margnet.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from beyond_pairs import facts, numeric, prepare
from cells import ran
from flagship import ROOT, need_tables
from markdown_tables import means, store

RESULTS = ROOT / "benchmarks" / "results" / "margnet.json"
TABLE, TARGET, SPLITS, QUERIES, COLUMNS = "adult", "income", ("train", "test"), 1000, 3
JUDGE = f"""
import json, sys
import numpy as np
from evaluator.eval_query import make_query
from evaluator.eval_tvd import make_tvd
np.random.seed(0)
made, real = sys.argv[1:]
out = make_tvd(made, real)
out["queries"] = make_query(made, real, "binclass", {QUERIES}, {COLUMNS})
print(json.dumps({{k: float(v) for k, v in out.items()}}))
"""
Judge = Callable[[pd.DataFrame, pd.DataFrame, list[str], Path], dict[str, float]]
SHOWN = {n: (n, 4) for n in ("tvd 1", "tvd 2", "queries")} | {"seconds": ("seconds", 1)}


def laid(rows: pd.DataFrame, out: Path, split: str, numbers: list[str], others: list[str], levels: list[str]) -> None:
    """The rows as its evaluator reads them: arrays of numbers, of texts, and of the target's codes."""
    out.mkdir(exist_ok=True)
    np.save(out / f"X_num_{split}.npy", rows[numbers].astype(float).to_numpy())
    np.save(out / f"X_cat_{split}.npy", rows[others].to_numpy().astype(str))
    np.save(out / f"y_{split}.npy", pd.Index(levels).get_indexer(rows[TARGET]))


def plain(path: Path) -> pd.DataFrame:
    """Text cells without blanks around them, as both sides write them."""
    return pd.read_csv(path, dtype=str, keep_default_na=False).apply(lambda c: c.str.strip())


def markdown(rows: list[dict], shown: Mapping[str, tuple[str, int]] = SHOWN) -> str:
    """Means over runs."""
    return means([r for r in rows if "failed" not in r], ("table", "epsilon", "method"), shown, runs="runs")


def arguments(told: str, results: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=told)
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--methods", default="mixture,aim,mst")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--json", default=str(results))
    given = parser.parse_args()
    need_tables()
    return given


def compared(given: argparse.Namespace, judged: Judge) -> list[dict]:
    """Scores of the real training rows and of every run's rows, all against the held-out ones; kept as they come."""
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(TABLE, folder)
        kept = [n for n, c in facts(folder).items() if c["type"] != "identifier"]
        train, test = (plain(folder / f"{s}.csv")[kept] for s in SPLITS)
        numbers = [n for n in kept if n in numeric(folder)]
        cell = {"table": TABLE, "epsilon": None, "method": "real training rows", "seed": 0}
        rows.append({**cell, **judged(train, test, numbers, folder)})
        for method in given.methods.split(","):
            for seed in range(given.seeds if method == "mixture" else 1):
                cell = {"table": TABLE, "epsilon": given.epsilon, "method": method, "options": "", "seed": seed}
                told = ran(folder, cell, folder / "out")
                if "failed" not in told:
                    told |= judged(plain(folder / "out" / "synthetic.csv")[kept], test, numbers, folder)
                rows.append(told)
                print(told, flush=True)
                store(Path(given.json), rows)
    return rows


def asked(given: argparse.Namespace, code: str, *files: Path) -> dict[str, float]:
    """What code of theirs prints as its last line, run in their environment beside their repository."""
    done = subprocess.run(
        [given.python, "-c", code, *files],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(given.repository)},
    )
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    given = arguments(__doc__.splitlines()[0], RESULTS)

    def judged(made: pd.DataFrame, real: pd.DataFrame, numbers: list[str], folder: Path) -> dict[str, float]:
        others = [n for n in real if n not in (*numbers, TARGET)]
        levels = sorted(real[TARGET].unique())
        laid(real, folder / "real", "test", numbers, others, levels)
        laid(made, folder / "made", "train", numbers, others, levels)
        told = asked(given, JUDGE, folder / "made", folder / "real")
        return {"tvd 1": told["1way margin"], "tvd 2": told["2way margin"], "queries": told["queries"]}

    print(markdown(compared(given, judged)))


if __name__ == "__main__":
    main()
