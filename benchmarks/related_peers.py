"""What related.py compares with: `mixture` on each table alone, google/dpsynth; SDMetrics' quality."""

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from public_tables import texts
from related_cases import Case
from related_scores import Coder, coded, pairs, scores
from runner import ROOT, answer_of, sure
from scipy.optimize import brentq

import synth
from synth.privacy.accounting.composition import calibrate
from synth.schema.sdv_related import to_sdv_related

DELTA = 1e-6


def sdmetrics(case: Case, made: dict[str, pd.DataFrame]) -> float | None:
    """SDMetrics' multi-table quality from 0 to 1; None where it is not installed."""
    try:
        from sdmetrics.reports import QualityReport
    except ImportError:
        return None
    metadata = to_sdv_related(synth.app_api.parse_related(case.schema))
    for table in metadata["tables"].values():  # cells are texts on both sides, identifiers are no measured columns
        table["columns"] = {n: c for n, c in table["columns"].items() if n not in _unmade(case)}
    numbers = {
        n: float for t in case.schema["tables"].values() for n, c in t["columns"].items() if c["type"] == "integer"
    }

    def plain(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        reported = {t: f.drop(columns=[n for n in _unmade(case) if n in f]) for t, f in tables.items()}
        return {t: f.astype({n: k for n, k in numbers.items() if n in f}) for t, f in reported.items()}

    report = QualityReport()
    report.generate(plain(case.tables), plain(made), metadata, verbose=False)
    return float(report.get_score())


def _unmade(case: Case) -> set[str]:
    """Identifiers of the child's rows that are no key: a rival makes none."""
    child = case.schema["tables"][case.key["child"]]["columns"]
    return {n for n, c in child.items() if c["type"] == "identifier"} - set(case.key["columns"])


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
        return {"scores": scores(real, coded(case, made, coder)), "sdmetrics": sdmetrics(case, made), **result}


def alone(case: Case, epsilon: float, ledger: Path, coder: Coder, real, made: dict[str, pd.DataFrame]) -> dict:
    """Error of pairs of each table: of the related run, and of ``mixture`` on that table with half of mu**2."""
    half = brentq(lambda e: calibrate(e, DELTA) - calibrate(epsilon, DELTA) / np.sqrt(2), 1e-3, epsilon)
    key, out = case.key, {}
    for i, table in enumerate((key["parent"], key["child"])):
        plain = dict(case.schema["tables"][table])
        if table == key["child"]:
            plain |= {"unit": key["columns"][0], "max_rows": key["most_children"]}
        how = {"epsilon": float(half), "delta": DELTA, "ledger": ledger, "separate": True}
        schema, dataset = synth.Schema.parse(plain), f"{case.name} {table}"
        alone = synth.run(case.tables[table], schema=schema, dataset=dataset, **how).texts
        frame = {n: cells.to_pandas() for n, cells in alone.items()}
        names = [n for t, n in coder.edges if t == table]
        truth = {n: real[i][n] for n in names}
        out[table] = {
            "related": pairs(truth, {n: coder.code(table, n, made[table][n]) for n in names}),
            "mixture": pairs(truth, {n: coder.code(table, n, frame[n]) for n in names}),
        }
    return out
