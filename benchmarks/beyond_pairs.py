"""What public tables lose beyond pairs: NIST's k-marginal, three-way tables, real-or-synthetic, and the usual scores.

    python benchmarks/beyond_pairs.py [--tables acs,adult,nist,credit,nist24,nist10] [--epsilons 0.2,1,5.1] [--seeds 3]
                                      [--methods mixture,independent,mst,aim] [--once aim,mst] [--most-seconds 1200]
                                      [--options mixture:rounds=0] [--fresh] [--json FILE]
                                      [--rival-python ENV/bin/python]

Needs the public tables and score.py in ../shared; says so and stops without them. Every cell (table, epsilon, method,
options, seed) is a run through the command line with a ledger of its own; cells that the JSON (default
benchmarks/results/beyond_pairs.json) holds already are passed over; ``--fresh`` starts again. ``nist24`` and
``nist10`` are all rows of NIST's national excerpt of 2019, on 24 columns at delta 3.6e-6 and on ten at 1e-9, without a
target, scored by tables of three columns alone; of the others a fifth is held out. The methods ``dpsynth-swift`` and
``dpsynth-aim`` are google/dpsynth's, run by rival_table.py in the Python named by ``--rival-python``; their tables are
of three columns, or of two with ``--options dpsynth-swift:order=2``. Prints Markdown, which docs/high-order.md holds.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import flagship
import pandas as pd
from cells import CELL, ran
from markdown_tables import means, store, stored
from orders import k_marginal, triple_tv_err
from peers import cells_of, scored

from synth.privacy.accounting import composition

ROOT = flagship.ROOT
RESULTS = ROOT / "benchmarks" / "results" / "beyond_pairs.json"
SCORES = ("ks", "tv", "pair_tv_err", "max_pair_tv_err", "logreg_f1", "tstr_auc", "c2st_auc")
SHOWN = ("k_marginal", "c2st_auc", "triple_tv_err", "pair_tv_err", "logreg_f1", "tstr_auc", "ks", "tv")
TEN = ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE")
DELTA = {"nist24": 3.6e-6, "nist10": 1e-9}
RIVAL = "dpsynth-"
BY = "PUMA"  # in every table of the k-marginal
BY_PAIRS = ("nist10",)  # NIST's demographic columns, without the area: its k-marginal is that of all pairs then
PARTS = (0.1, 0.4, 1.0)  # of the real rows, drawn anew, that are scored like synthetic ones; the last with replacement


def excerpt(columns: tuple[str, ...] | None) -> Callable[[Path], list[str]]:
    """All rows of NIST's national excerpt, on these columns."""

    def whole(folder: Path) -> list[str]:
        rows = flagship.read("acs_nist_national_2019.csv.gz")
        rows = rows if columns is None else rows[list(columns)]
        rows.to_csv(folder / "train.csv", index=False)
        codes = "SEX,MSP,HISP,RAC1P,HOUSING_TYPE,OWN_RENT,INDP,INDP_CAT,EDU,PINCP_DECILE,DVET,DREM,DPHY,DEYE,DEAR"
        named = [c for c in codes.split(",") if c in rows]
        return ["--missing", "N", "--categorical", ",".join(named)]

    return whole


TABLES = {n: flagship.TABLES[n] for n in ("acs", "adult", "nist", "credit")} | {
    "nist24": excerpt(None),
    "nist10": excerpt(TEN),
}


def prepare(name: str, folder: Path) -> None:
    """The table's rows and its schema, drafted and vouched for."""
    flagship.drafted(folder, TABLES[name](folder))


def facts(folder: Path) -> dict[str, dict]:
    """What the schema says of each column."""
    return dict(json.loads((folder / "schema.json").read_text())["columns"])


def numeric(folder: Path) -> set[str]:
    """Columns that the schema calls numbers."""
    return {n for n, c in facts(folder).items() if c["type"] in ("integer", "float", "numeric")}


def scores(folder: Path, synthetic: Path, table: str) -> dict:
    """All scores of one synthetic file."""
    real, made = (pd.read_csv(p, dtype=str, keep_default_na=False) for p in (folder / "train.csv", synthetic))
    kept = [n for n, c in facts(folder).items() if c["type"] != "identifier" and n in made]  # keys are numbered anew
    real, made = real[kept], made[kept]
    numbers = numeric(folder)
    out = {"triple_tv_err": triple_tv_err(real, made, numbers)}
    if BY in real or table in BY_PAIRS:
        out["k_marginal"] = k_marginal(real, made, numbers, by=None if table in BY_PAIRS else BY)
    if table not in DELTA:
        told = scored(folder, synthetic, "--no-reference")
        out |= {k: told.get(k) for k in SCORES}
    return out


def rival(folder: Path, cell: dict, python: str, most: float) -> dict:
    """The cell with the seconds of a method of dpsynth, or with ``failed``; its rows lie in made.csv."""
    mu = composition.calibrate(cell["epsilon"], DELTA.get(cell["table"], 1e-5))
    order = dict(o.split("=") for o in cell["options"].split()).get("order", "3")
    command = [
        python,
        ROOT / "benchmarks" / "rival_table.py",
        folder,
        "--method",
        cell["method"].removeprefix(RIVAL),
        "--rho",
        mu**2 / 2,
        "--order",
        order,
        "--seed",
        cell["seed"],
    ]
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=most)
    except subprocess.TimeoutExpired:
        return {**cell, "failed": f"not done after {most:g} s"}
    if done.returncode:
        return {**cell, "failed": done.stderr.strip().splitlines()[-1]}
    return {**cell, "seconds": json.loads(done.stdout.splitlines()[-1])["seconds"]}


def one(folder: Path, cell: dict, most: float, python: str) -> dict:
    """One run with fresh noise and its scores, or the reason why there are none."""
    out = folder / "out"
    if cell["method"].startswith(RIVAL):
        told = rival(folder, cell, python, most)
        return told if "failed" in told else {**told, **scores(folder, folder / "made.csv", cell["table"])}
    told = ran(folder, cell, out, delta=DELTA.get(cell["table"], 1e-5), most=most)
    return told if "failed" in told else {**told, **scores(folder, out / "synthetic.csv", cell["table"])}


def floors(folder: Path, table: str) -> list[dict]:
    """Parts of the real rows, scored like synthetic tables: what a sample of that size reaches."""
    rows = pd.read_csv(folder / "train.csv", dtype=str, keep_default_na=False)
    out = []
    for part in PARTS if table in DELTA else PARTS[-1:]:
        path = folder / "part.csv"
        rows.sample(frac=part, replace=part == 1, random_state=0).to_csv(path, index=False)
        label = "bootstrap of the real rows" if part == 1 else f"{part:.0%} of the real rows"
        cell = {"table": table, "epsilon": None, "method": label, "options": "", "seed": 0}
        out.append({**cell, **scores(folder, path, table)})
    return out


def markdown(rows: list[dict]) -> str:
    """Means over runs, a line for each table, epsilon, method and options; failures with their reason below."""
    columns = {n: (n, 1 if n == "k_marginal" else 4) for n in SHOWN} | {"seconds": ("seconds", 1)}
    tables = list(dict.fromkeys(r["table"] for r in rows))
    methods = list(dict.fromkeys(r["method"] for r in rows))
    made = means(
        [r for r in rows if "failed" not in r],
        CELL[:4],
        columns,
        runs="runs",
        order=lambda key: (tables.index(key[0]), key[1] or 0.0, methods.index(key[2]), key[3]),
    )
    failed = [
        f"- {r['table']}, epsilon {r['epsilon']:g}, {r['method']} {r['options']}: {r['failed']}"
        for r in rows
        if "failed" in r
    ]
    return "\n".join([made, *([""] if failed else []), *failed])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--methods", default="mixture,independent,mst,aim")
    parser.add_argument("--once", default="aim,mst")
    parser.add_argument("--options", default="")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--most-seconds", type=float, default=1200)
    parser.add_argument("--json", default=str(RESULTS))
    parser.add_argument("--rival-python", default=sys.executable)
    parser.add_argument("--fresh", action="store_true")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    flagship.need_tables()
    path = Path(given.json)
    rows = stored(path, fresh=given.fresh)
    for table in given.tables.split(","):
        known = {tuple(r[k] for k in CELL) for r in rows}
        wanted = [c for c in cells_of(given, table) if tuple(c[k] for k in CELL) not in known]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(table, folder)
            if not any(r["table"] == table and r["epsilon"] is None for r in rows):
                rows += floors(folder, table)
            for cell in wanted:
                rows.append(one(folder, cell, given.most_seconds, given.rival_python))
                print(rows[-1], flush=True)
                store(path, rows)
    store(path, rows)
    print(markdown(rows))


if __name__ == "__main__":
    main()
