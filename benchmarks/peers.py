"""Every method and every rival on the same tables: one command, one process tree, the same split, schema and budget.

    python benchmarks/peers.py [--tables acs,adult,nist,credit or FILE.csv:TARGET] [--epsilons 0.2,1,5.1] [--seeds 3]
                               [--methods mixture,mst,aim] [--once aim,mst] [--options aim:rounds=30,mst:bins=128]
                               [--most-seconds 1200] [--fresh] [--json FILE]

Needs the public tables and score.py in ../shared; says so and stops without them. Every cell (table, epsilon, method,
options, seed) is a run through the command line with a ledger of its own; cells that the JSON (default
benchmarks/results/peers.json) holds already are passed over, so that a run that was stopped goes on; ``--fresh``
starts again. Methods named by ``--once`` get one seed. A cell that fails or takes too long is kept with its reason.
Prints Markdown, the real rows' own noise (a bootstrap) in every table, and draws docs/pictures/peers-*.svg
(results of another ``--json`` into build/pictures).
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import figures
import pandas as pd
from cells import CELL, ran
from flagship import ROOT, SHARED, TABLES, _halves, call, drafted, need_tables
from markdown_tables import means, store, stored

RESULTS = ROOT / "benchmarks" / "results" / "peers.json"
PICTURES = ROOT / "docs" / "pictures"
SCORES = (
    "contsim",
    "tv",
    "ks",
    "corrsim",
    "pair_tv_err",
    "max_pair_tv_err",
    "logreg_f1",
    "tstr_auc",
    "c2st_auc",
    "copies_train",
)
REAL = ("logreg_f1_real", "trtr_auc")
FLOOR = "bootstrap of the real rows"
ORDER = ("mixture", "aim", "mst", "slicing", "dp_kernel", "dp_merf", "dp_ctgan", "pate_gan", "independent")
ALL = "independent,mixture,slicing,dp_kernel,dp_merf,dp_ctgan,pate_gan,aim,mst"


def options_of(text: str) -> dict[str, list[str]]:
    """By method its options, as the command line takes them: ``aim:rounds=30`` gives {"aim": ["rounds=30"]}."""
    found: dict[str, list[str]] = {}
    for part in filter(None, text.split(",")):
        method, _, option = part.partition(":")
        found.setdefault(method, []).append(option)
    return found


def table_of(name: str) -> Callable[[Path], list[str]]:
    """A known table, or a file's halves with the target named after a colon."""
    if name in TABLES:
        return TABLES[name]
    path, _, target = name.partition(":")
    if not Path(path).is_file():
        sys.exit(f"--tables {name}: choose one of {', '.join(TABLES)}, or name a CSV file, FILE.csv:TARGET")

    def split(folder: Path) -> list[str]:
        _halves(pd.read_csv(path, dtype=str, keep_default_na=False), folder)
        return ["--target", target] if target else []

    return split


def scored(folder: Path, synthetic: Path, *more: str) -> dict:
    told = folder / "scores.json"
    call(
        sys.executable,
        SHARED / "tools" / "score.py",
        "--real",
        folder / "train.csv",
        "--synthetic",
        synthetic,
        "--schema",
        folder / "schema.json",
        "--test",
        folder / "test.csv",
        *more,
        "--json",
        told,
    )
    return json.loads(told.read_text())


def one(folder: Path, cell: dict, most: float) -> dict:
    """One run with fresh noise and its scores, or the reason why there are none."""
    out = folder / "out"
    told = ran(folder, cell, out, most=most)
    if "failed" in told:
        return told
    scores = scored(folder, out / "synthetic.csv", "--no-reference")
    return {**told, **{k: scores.get(k) for k in SCORES}}


def floor(folder: Path, table: str) -> dict:
    """The real table's own noise: a bootstrap of the training rows, scored like a synthetic table."""
    rows = pd.read_csv(folder / "train.csv", dtype=str, keep_default_na=False)
    rows.sample(len(rows), replace=True, random_state=0).to_csv(folder / "bootstrap.csv", index=False)
    scores = scored(folder, folder / "bootstrap.csv")
    cell = {"table": table, "epsilon": None, "method": FLOOR, "options": "", "seed": 0}
    return {**cell, **{k: scores.get(k) for k in (*SCORES, *REAL)}}


def markdown(rows: list[dict]) -> str:
    """Means over seeds, a line for each table, epsilon, method and options; failures with their reason below."""
    tables = list(dict.fromkeys(r["table"] for r in rows))
    order = {m: i for i, m in enumerate([FLOOR, *ORDER])}
    columns = {n: (n, 4) for n in SCORES} | {"seconds": ("seconds", 1)}
    made = means(
        [r for r in rows if "failed" not in r],
        CELL[:4],
        columns,
        runs="runs",
        order=lambda key: (tables.index(key[0]), key[1] or 0.0, order.get(key[2], 99), key[3]),
    )
    failed = [
        f"- {r['table']}, epsilon {r['epsilon']:g}, {r['method']} {r['options']}: {r['failed']}"
        for r in rows
        if "failed" in r
    ]
    return "\n".join([made, *([""] if failed else []), *failed])


def picture(rows: list[dict], table: str, results: Path) -> None:
    """Quality against epsilon, and against seconds; in the docs only from the docs' own results."""
    folder = PICTURES if results.resolve() == RESULTS else ROOT / "build" / "pictures"
    frame = pd.DataFrame([r for r in rows if "failed" not in r and r["table"] == table])
    methods = frame[frame["epsilon"].notna()].copy()
    if methods.empty:
        return
    methods["method"] = (methods["method"] + " " + methods["options"]).str.strip()
    floors = frame[frame["method"] == FLOOR]
    folder.mkdir(parents=True, exist_ok=True)
    figures.quality(methods, floors, folder / f"{results.stem}-{table}.svg", title=table)


def cells_of(given: argparse.Namespace, table: str) -> list[dict]:
    options, once = options_of(given.options), given.once.split(",")
    return [
        {"table": table, "epsilon": float(e), "method": m, "options": " ".join(options.get(m, [])), "seed": s}
        for e in given.epsilons.split(",")
        for m in given.methods.split(",")
        for s in range(1 if m in once else given.seeds)
    ]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = partial(parser.add_argument, metavar="")
    add("--tables", default="acs,adult,nist,credit")
    add("--epsilons", default="0.2,1,5.1")
    add("--methods", default=ALL)
    add("--once", default="aim,mst,dp_ctgan,pate_gan")
    add("--options", default="")
    add("--seeds", type=int, default=3)
    add("--most-seconds", type=float, default=1200)
    add("--json", default=str(RESULTS))
    parser.add_argument("--fresh", action="store_true")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    need_tables()
    path = Path(given.json)
    rows = stored(path, fresh=given.fresh)
    for table in given.tables.split(","):
        split, known = table_of(table), {tuple(r.get(k) for k in CELL) for r in rows}
        cells = [c for c in cells_of(given, table) if tuple(c[k] for k in CELL) not in known]
        if not cells:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            drafted(folder, split(folder))
            if (table, None, FLOOR, "", 0) not in known:
                rows.append(floor(folder, table))
            for cell in cells:
                rows.append(one(folder, cell, given.most_seconds))
                store(path, rows)
                print({k: round(v, 4) if isinstance(v, float) else v for k, v in rows[-1].items()}, file=sys.stderr)
        picture(rows, table, path)
    print(markdown(rows))


if __name__ == "__main__":
    main()
