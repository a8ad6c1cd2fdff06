"""Related tables: patients and their stays, accounts and their orders. How near are tables across, siblings and steps?

    python benchmarks/related.py [--tables hospital,bank] [--epsilon 3.2] [--runs 3]
    python benchmarks/related.py --rival-python ENV/bin/python

Every figure is a mean over tables of two columns: the total variation between the real rows (at most as many children
of a parent as the key keeps) and the synthetic ones, each column in at most 20 bins: of a table as long as the real
one, and of the model (up to twelve times as many rows); and the latter divided by the error of independent columns
without noise. Of rows, each counts alike; ``roots alike``: those of one root count as one together, as they are asked.
Beside it a run with the same budget that asks for single columns alone. ``--rival-python`` has the same tables made
by google/dpsynth within the same budget, in an environment of its own (related_rival.py says how to make one), and
scores them alike; without it, what it made in the file's runs of before stays, since nothing here changes it.
Beside them stands what a model of the
population itself would leave: sampling noise. Needs the public tables beside the checkout. Prints Markdown, writes
benchmarks/results/related.json.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from docs_figures_related import related
from public_tables import texts
from related_cases import Case, bank, hospital
from related_scores import Coder, coded, population, scores
from runner import ROOT, answer_of, grid, read, start, sure, write

import synth
from synth.generators.core.related import Nested
from synth.generators.core.related_questions import TreePlan
from synth.pipeline.draw_rows import DrawnTables, whole
from synth.pipeline.prepare import Context
from synth.pipeline.request import RunRequest
from synth.pipeline.run import carry_out
from synth.privacy.accounting.gaussian import calibrate

DELTA = 1e-6
CASES = {"hospital": hospital, "bank": bank}
MANY = 300_000  # roots that are drawn to judge a model, twelve times the real ones at most


@dataclass(frozen=True)
class Rival:
    """google/dpsynth in an environment of its own; ``inside``: what it uses for its tables."""

    python: Path
    inside: str

    @property
    def name(self) -> str:
        """As it stands in the results."""
        return f"dpsynth, {self.inside}"

    def measured(self, case: Case, coder: Coder, real, epsilon: float) -> dict:
        """Scores of the tables that it makes within the same noise budget."""
        rho = calibrate(epsilon, DELTA) ** 2 / 2
        with TemporaryDirectory() as folder:
            place = Path(folder)
            for name, table in case.tables.items():
                table.to_csv(place / f"{name}.csv", index=False)
            (place / "schema.json").write_text(json.dumps(case.schema))
            command = [self.python, "-W", "ignore", ROOT / "benchmarks" / "related_rival.py", place]
            result = sure(answer_of([*command, "--rho", repr(rho), "--method", self.inside]))
            made = {t: texts(place / f"made-{t}.csv") for t in case.tables}
        return {"scores": scores(real, coded(case, made, coder)), **result}


def measured(case: Case, epsilon: float, rival: Rival | None = None) -> dict:
    """One run of related tables, of single columns, of a rival."""
    coder, schema = Coder(case), synth.app_api.parse_related(case.schema)
    real = coded(case, case.tables, coder)
    with TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.sqlite"
        result = synth.run(case.tables, schema=schema, epsilon=epsilon, delta=DELTA, ledger=ledger)
        reported = {"scores": _of_both(case, coder, real, result), "rows": dict(result.num_rows)}
        reported |= {"seconds": result.seconds_total, "peak_mib": result.peak_mib}
        request = RunRequest(epsilon=epsilon, delta=DELTA, ledger=ledger, dataset=f"{case.name} columns", separate=True)
        columns = carry_out(request, schema, Context(rows=case.tables, questions=Nested(plan=TreePlan(oneway=1.0))))
        reported["columns"] = _of_both(case, coder, real, columns)
    reported["population"] = population(case, coder)
    if rival is not None:
        reported["rivals"] = {rival.name: rival.measured(case, coder, real, epsilon)}
    return reported


def _of_both(case: Case, coder: Coder, real, result) -> dict:
    """Scores of the tables that a run made, and of its model."""
    results = scores(real, coded(case, result.frames, coder))
    roots = result.num_rows[case.key["parent"]]
    drawn = DrawnTables(result.model, min(12 * roots, MANY), rng=np.random.default_rng(0))
    many = {t: pd.DataFrame({n: a.to_pandas() for n, a in whole(drawn.blocks(t)).items()}) for t in case.tables}
    for what, one in scores(real, coded(case, many, coder)).items():
        results[what]["model"] = one["error"]
    return results


def main(given) -> None:
    """Runs, prints, writes; what is done stays if a later run is cut off."""
    rival = Rival(given.rival_python, given.inside) if given.rival_python else None
    before = read(given.json, [])
    rivals = {(r["table"], r["epsilon"], r["run"]): r["rivals"] for r in before if "rivals" in r}
    results = [r for r in before if r["table"] not in given.tables]
    for cell in grid(table=given.tables, epsilon=[given.epsilon], run=range(given.runs)):
        beside = rival if cell["run"] < given.rival_runs else None
        reported = cell | measured(CASES[cell["table"]](), given.epsilon, beside)
        reported["rivals"] = rivals.get(tuple(cell.values()), {}) | reported.get("rivals", {})
        results.append(reported)
        write(given.json, results)
    print(related(lambda _: results))


if __name__ == "__main__":
    usual = {"tables": "hospital,bank", "epsilon": 3.2, "runs": 3, "rival_runs": 3}
    start(main, json="related", rival_python=Path, inside=("mst", "aim"), **usual)
