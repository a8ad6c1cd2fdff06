"""What each method keeps: errors of single columns and pairs and the target's AUC, beside those of `independent`.

    python benchmarks/kept.py                                  # gathers; writes synth/pipeline/kept.json
    python benchmarks/kept.py --run METHOD[,METHOD] [--epsilons 0.2,1,5.1] [--tables acs,adult] [--seeds 1]
    python benchmarks/kept.py --real few,four                  # what a model learns of these tables' own rows

Gathers the scores that benchmarks hold of methods with their default options on ACSIncome (Colorado) and Adult, the
yardstick being the same in all: benchmarks/results/flagship.json, peers.json, embeddings.json, gradients.json,
families.json, and kept.json, to which ``--run`` adds runs (it passes over what is there). Methods that take no table so
wide are measured by ``families.py`` on seven or four columns of ACSIncome. ``synth methods``, ``synth
plan``, ``synth run`` and the application read the file that is written; synth/pipeline/kept.py has the rule by which
a figure becomes a word.
``--run`` needs the public tables and score.py in ../shared.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import fmean

import families
import flagship
import peers
from markdown_tables import store, stored

RESULTS = flagship.ROOT / "benchmarks" / "results"
OUT = flagship.ROOT / "synth" / "pipeline" / "kept.json"
OWN = "kept"
FILES = ("flagship", "peers", "embeddings", "gradients", "families", OWN)
TABLES = {
    "acs": ("ACSIncome, Colorado 2018", 25_044),
    "adult": ("Adult", 32_561),
    "few": ("seven columns of ACSIncome", 25_044),
    "four": ("four columns of ACSIncome", 25_044),
}
FEW = {"few": 7, "four": 4}
EPSILONS = (0.2, 1.0, 5.1)
SCORES = ("tv", "ks", "pair_tv_err", "tstr_auc")
REAL = "bootstrap of the real rows"


def everything(name: str) -> list[dict]:
    """A file's runs."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else []


def held(name: str) -> list[dict]:
    """A file's runs with default options."""
    return [
        r
        for r in everything(name)
        if r.get("table") in TABLES
        and "tv" in r
        and not r.get("options")
        and ("oneways" not in r or r["oneways"] == families.by_default(r["method"]))
    ]


def gathered() -> dict:
    """All figures, method by method; of methods measured in several files the first that has them."""
    from synth.generators import GENERATORS

    files = {name: held(name) for name in FILES}
    lines = []
    for method in GENERATORS:
        for table in TABLES:
            for epsilon in EPSILONS:
                cell = (table, epsilon, method)
                for name, rows in files.items():
                    mine = [r for r in rows if (r["table"], r["epsilon"], r["method"]) == cell]
                    if mine:
                        means = {s: round(fmean(r[s] for r in mine), 4) for s in SCORES}
                        seconds = round(fmean(r["seconds"] for r in mine), 1)
                        lines.append(
                            {
                                "method": method,
                                "table": table,
                                "epsilon": epsilon,
                                "runs": len(mine),
                                **means,
                                "seconds": seconds,
                                "file": f"{name}.json",
                            }
                        )
                        break
    real = {r["table"]: r["tstr_auc"] for name in ("peers", OWN) for r in everything(name) if r["method"] == REAL}
    tables = {
        t: {"name": n, "rows": k, "auc": round(real[t], 4)} | ({"few": FEW[t]} if t in FEW else {})
        for t, (n, k) in TABLES.items()
    }
    return {"written_by": "python benchmarks/kept.py", "tables": tables, "figures": lines}


def add(methods: list[str], tables: list[str], epsilons: list[float], seeds: int) -> None:
    """Runs of these methods that no file of ours holds yet."""
    path = RESULTS / f"{OWN}.json"
    rows = stored(path)
    known = {(r["table"], r["epsilon"], r["method"], r["seed"]) for r in rows}
    for table in tables:
        with flagship.prepared(table) as folder:
            for method in methods:
                for epsilon in epsilons:
                    for seed in range(seeds):
                        if (table, epsilon, method, seed) in known:
                            continue
                        found = one(folder, method, epsilon, seed)
                        rows.append({"table": table, "epsilon": epsilon, "method": method, "seed": seed, **found})
                        store(path, rows)
                        print(rows[-1], flush=True)


def one(folder: Path, method: str, epsilon: float, seed: int) -> dict:
    """One run through the command line, and its scores."""
    out = folder / f"{method}-{epsilon}-{seed}"
    run = json.loads(
        flagship.call(
            sys.executable,
            "-m",
            "synth",
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
            "--out",
            out,
            "--seed",
            seed,
            "--ledger",
            folder / "ledger.sqlite",
            "--json",
        )
    )
    scored = folder / "scores.json"
    flagship.call(
        sys.executable,
        flagship.SHARED / "tools" / "score.py",
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
    found = json.loads(scored.read_text())
    return {**{s: found[s] for s in SCORES}, "seconds": run["seconds"], "epsilon_spent": run["epsilon_spent"]}


def learnt(names: list[str]) -> None:
    """What a model learns of a table's own rows, drawn with replacement, in place of those of other runs."""
    for table in names:
        with flagship.prepared(table) as folder:
            families.keep(RESULTS / f"{OWN}.json", [peers.floor(folder, table)], ("table", "epsilon", "method", "seed"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", default="", help="methods to measure first")
    parser.add_argument("--tables", default="acs")
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--real", default="", help="tables whose own rows are to be scored first")
    given = parser.parse_args()
    if given.run or given.real:
        flagship.need_tables()
        learnt([t for t in given.real.split(",") if t])
        add(
            [m for m in given.run.split(",") if m],
            given.tables.split(","),
            [float(e) for e in given.epsilons.split(",")],
            given.seeds,
        )
    OUT.write_text(json.dumps(gathered(), indent=1) + "\n")
    print(f"written: {OUT.relative_to(flagship.ROOT)}")


if __name__ == "__main__":
    main()
