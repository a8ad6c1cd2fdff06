"""What each method keeps: errors of single columns and pairs and the target's AUC, beside those of `independent`.

    python benchmarks/retention.py                                  # gathers; writes synth/pipeline/retention.json
    python benchmarks/retention.py --run METHOD[,METHOD] [--epsilons 0.2,1,5.1] [--tables acs,adult] [--seeds 1]
    python benchmarks/retention.py --real few,four                  # what a model learns of these tables' own rows

Gathers the scores that benchmarks hold of methods with their default options on ACSIncome (Colorado) and Adult, the
yardstick being the same in all: benchmarks/results/flagship.json, peers.json, embeddings.json, gradients.json,
families.json, and retention.json, to which ``--run`` adds runs (it passes over what is there). Methods that take no
table so wide are measured by ``families.py`` on seven or four columns of ACSIncome. ``synth methods``, ``synth
plan``, ``synth run`` and the application read the file that is written; synth/pipeline/retention.py has the rule by
which a figure becomes a word.
``--run`` needs the public tables and score.py in ../shared.
"""

from statistics import fmean

import families
import peers
from public_tables import BOOTSTRAP, prepared, ran_and_scored
from runner import RESULTS, ROOT, Row, grid, measured, need_tables, read, start, write

OUT = ROOT / "synth" / "pipeline" / "retention.json"
FILES = ("flagship", "peers", "embeddings", "gradients", "families", "retention")
TABLES = {
    "acs": {"name": "ACSIncome, Colorado 2018", "rows": 25_044},
    "adult": {"name": "Adult", "rows": 32_561},
    "few": {"name": "seven columns of ACSIncome", "rows": 25_044, "few": 7},
    "four": {"name": "four columns of ACSIncome", "rows": 25_044, "few": 4},
}
EPSILONS = [0.2, 1.0, 5.1]
SCORES = ("tv", "ks", "pair_tv_err", "tstr_auc")


def by_default(row: Row) -> bool:
    """Whether a line is of a run with default options on one of the tables."""
    paid = row.get("oneways")
    plain = row.get("table") in TABLES and "tv" in row and not row.get("options")
    return plain and (paid is None or paid == families.by_default(row["method"]))


def gathered() -> dict:
    """All figures, method by method; of methods measured in several files the first that has them."""
    from synth.generators import GENERATORS

    files = {name: read(RESULTS / f"{name}.json", []) for name in FILES}
    lines = []
    for cell in grid(method=GENERATORS, table=TABLES, epsilon=EPSILONS):
        for name, rows in files.items():
            if mine := [r for r in rows if by_default(r) and all(r[k] == v for k, v in cell.items())]:
                means = {s: round(fmean(r[s] for r in mine), 4) for s in SCORES}
                seconds = round(fmean(r["seconds"] for r in mine), 1)
                lines.append({**cell, "runs": len(mine), **means, "seconds": seconds, "file": f"{name}.json"})
                break
    real = {
        r["table"]: r["tstr_auc"]
        for n in ("peers", "retention")
        for r in files[n]
        if by_default(r) and r["method"] == BOOTSTRAP
    }
    tables = {t: {"name": f["name"], "rows": f["rows"], "auc": round(real[t], 4)} | f for t, f in TABLES.items()}
    return {"written_by": "python benchmarks/retention.py", "tables": tables, "figures": lines}


def main(given) -> None:
    if given.run or given.real:
        need_tables()
    floors = [{"table": t, "epsilon": None, "method": BOOTSTRAP, "options": "", "seed": 0} for t in given.real]
    measured(given, floors, peers.one, prepare=prepared)
    cells = grid(table=given.tables, method=given.run, epsilon=given.epsilons, seed=range(given.seeds))
    measured(given, cells, ran_and_scored, prepare=prepared)
    write(OUT, gathered())
    print(f"written: {OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    start(main, json="retention", run=[], tables=["acs"], epsilons=EPSILONS, seeds=1, real=[])
