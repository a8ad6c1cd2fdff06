"""Related tables: patients and their stays, accounts and their orders. How near are tables across, siblings and steps?

    python benchmarks/related.py [--tables hospital,bank] [--epsilon 3.2] [--runs 3] [--json FILE]
    python benchmarks/related.py --rival dpsynth|hma --rival-python ENV/bin/python

Every figure is a mean over tables of two columns: the total variation between the real rows (at most as many children
of a parent as the key keeps) and the synthetic ones, each column in at most 20 bins: of a table as long as the real
one, and of the model (up to twelve times as many rows); and the latter divided by the error of independent columns
without noise. Of rows, each counts alike; ``roots alike``: those of one root count as one together, as they are asked.
Beside it a run with the same budget that asks for single columns alone. ``--rival`` has the same tables made by another
method, google/dpsynth's within the same budget or SDV's HMA without any, in an environment of its own (related_rival.py
and related_hma.py say how to make one), and scores them alike; without it, what rivals made in the file's runs of
before stays, since nothing here changes it.
SDMetrics' multi-table quality is measured for all, where it is installed. Beside them stands what a model of the
population itself would leave: sampling noise. Needs the public tables beside the checkout. Prints Markdown, writes
benchmarks/results/related.json.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from related_cases import Case, bank, hospital
from related_peers import DELTA, Rival, alone, sdmetrics
from related_scores import Coder, coded, population, scores

import synth
from synth.generators.nested_mixture.generator import Nested
from synth.generators.nested_mixture.measure import Plan
from synth.pipeline.related_draw import DrawnTables
from synth.pipeline.related_run import carry_out
from synth.pipeline.request import RunRequest

RESULTS = Path(__file__).resolve().parent / "results" / "related.json"
MANY = 300_000  # roots that are drawn to judge a model, twelve times the real ones at most


def measured(case: Case, epsilon: float, rival: Rival | None = None) -> dict:
    """One run of related tables, of ``mixture`` on each table with half the budget, of single columns, of a rival."""
    coder, schema = Coder(case), synth.app_api.parse_related(case.schema)
    real = coded(case, case.tables, coder)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.sqlite"
        result = synth.run(case.tables, schema=schema, epsilon=epsilon, delta=DELTA, ledger=ledger)
        told = {
            **_of_both(case, coder, real, result),
            "seconds": result.seconds_total,
            "peak_mib": result.peak_mib,
            "rows": dict(result.num_rows),
            "sdmetrics": sdmetrics(case, result.frames),
        }
        told["alone"] = alone(case, epsilon, ledger, coder, real, result.frames)
        request = RunRequest(epsilon=epsilon, delta=DELTA, ledger=ledger, dataset=f"{case.name} columns", separate=True)
        columns = carry_out(request, schema=schema, rows=case.tables, questions=Nested(plan=Plan(oneway=1.0)))
        told["columns"] = _of_both(case, coder, real, columns)["scores"]
        told["columns sdmetrics"] = sdmetrics(case, columns.frames)
    told["population"] = population(case, coder)
    if rival is not None:
        told["rivals"] = {rival.name: rival.measured(case, coder, real, epsilon)}
    return told


def _of_both(case: Case, coder: Coder, real, result) -> dict:
    """Scores of the tables that a run made, and of its model."""
    found = scores(real, coded(case, result.frames, coder))
    roots = result.num_rows[case.key["parent"]]
    drawn = DrawnTables(result.model, min(12 * roots, MANY), rng=np.random.default_rng(0))
    many = {t: pd.DataFrame({n: a.to_pandas() for n, a in drawn.whole(t).items()}) for t in case.tables}
    for what, one in scores(real, coded(case, many, coder)).items():
        found[what]["model"] = one["error"]
    return {"scores": found}


def main() -> None:
    """Runs, prints, writes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default="hospital,bank")
    parser.add_argument("--epsilon", type=float, default=3.2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rival", choices=["dpsynth", "hma"])
    parser.add_argument("--rival-python", type=Path, help="the Python of an environment that has the rival")
    parser.add_argument("--rival-runs", type=int, default=3, help="in how many runs of each table")
    parser.add_argument("--inside", choices=["mst", "aim"], default="mst", help="what dpsynth uses for its tables")
    parser.add_argument("--json", type=Path, default=RESULTS)
    given = parser.parse_args()
    if (given.rival is None) != (given.rival_python is None):
        parser.error("--rival and --rival-python belong together")
    rival = None if given.rival is None else Rival(method=given.rival, python=given.rival_python, inside=given.inside)
    before = json.loads(given.json.read_text()) if given.json.exists() else []
    rivals = {(r["table"], r["epsilon"], r["run"]): r["rivals"] for r in before if "rivals" in r}
    found = [r for r in before if r["table"] not in given.tables.split(",")]
    for name in given.tables.split(","):
        case = {"hospital": hospital, "bank": bank}[name]()
        for number in range(given.runs):
            beside = rival if number < given.rival_runs else None
            told = {"table": name, "epsilon": given.epsilon, "run": number, **measured(case, given.epsilon, beside)}
            told["rivals"] = rivals.get((name, given.epsilon, number), {}) | told.get("rivals", {})
            found.append(told)
            printed(name, told)
            given.json.write_text(json.dumps(found, indent=1) + "\n")  # what is done stays if a later run is cut off


def printed(name: str, told: dict) -> None:
    """One run as Markdown."""
    print(f"\n{name}, run {told['run']}: {told['rows']}, {told['seconds']:.0f} s, {told['peak_mib']:.0f} MiB\n")
    rivals = told.get("rivals", {})
    titles = [
        "what",
        "error of the table",
        "of the model",
        "against independent columns",
        "single columns, same budget",
    ]
    heads = [*titles, *rivals, "model of the population"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for what, one in told["scores"].items():
        errors = [one["error"], one["model"], one["model"] / max(one["independent"], 1e-9)]
        made = [r["scores"].get(what, {"error": float("nan")}) for r in rivals.values()]  # not of runs of before
        errors += [told["columns"][what]["model"], *(m["error"] for m in made)]
        errors.append(told["population"][what])
        print(f"| {what} | " + " | ".join(f"{e:.4f}" for e in errors) + " |")
    quality = [told["sdmetrics"], told["columns sdmetrics"], *(r["sdmetrics"] for r in rivals.values())]
    print(f"SDMetrics' quality: {quality}")
    for table, one in told["alone"].items():
        print(
            f"{table} alone: mixture with half the budget {one['mixture']:.4f}, related {one['related']:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
