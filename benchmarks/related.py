"""Related tables: patients and their stays, accounts and their orders. How near are tables across, siblings and steps?

    python benchmarks/related.py [--tables hospital,bank] [--epsilon 3.2] [--runs 3] [--json FILE]
    python benchmarks/related.py --rival dpsynth --rival-python ENV/bin/python

Every figure is a mean over tables of two columns: the total variation between the real rows (at most as many children
of a parent as the key keeps) and the synthetic ones, each column in at most 20 bins: of a table as long as the real
one, and of the model (up to twelve times as many rows); and the latter divided by the error of independent columns
without noise. Beside it a run with the same budget that asks for single columns alone. ``--rival`` has the same tables
made by another method within the same budget, in an environment of its own (related_rival.py says how to make one), and
scores them alike; SDMetrics' multi-table quality is measured for all, where it is installed. Needs the public tables
beside the checkout. Prints Markdown, writes benchmarks/results/related.json.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq

import synth
from synth.generators.nested_mixture.generator import Nested
from synth.generators.nested_mixture.measure import Plan
from synth.pipeline.related_draw import DrawnTables
from synth.pipeline.related_run import carry_out
from synth.pipeline.request import RunRequest
from synth.privacy.accounting.composition import calibrate
from synth.schema.sdv_related import to_sdv_related

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
RESULTS = ROOT / "benchmarks" / "results" / "related.json"
DELTA, BINS, MANY = 1e-6, 20, 300_000  # roots that are drawn to judge a model, twelve times the real ones at most
CHAPTERS = [(139, "infectious"), (239, "neoplasms"), (249, "endocrine"), (250, "diabetes"), (279, "endocrine"),
            (289, "blood"), (319, "mental"), (389, "nervous"), (459, "circulatory"), (519, "respiratory"),
            (579, "digestive"), (629, "genitourinary"), (679, "pregnancy"), (709, "skin"), (739, "muscles"),
            (759, "congenital"), (799, "symptoms"), (999, "injury")]  # fmt: skip
NUMBER = "#"


@dataclass(frozen=True)
class Case:
    """Two tables and their schema."""

    name: str
    tables: dict[str, pd.DataFrame]
    schema: dict

    @property
    def key(self) -> dict:
        """The only key."""
        return self.schema["keys"][0]


def facts(frame: pd.DataFrame, numbers: dict[str, tuple[int, int]], keys: list[str]) -> dict:
    """A schema's columns, public for the benchmark."""

    def one(name: str) -> dict:
        if name in keys:
            return {"type": "identifier"}
        if name in numbers:
            return {"type": "integer", "min": numbers[name][0], "max": numbers[name][1]}
        return {"type": "categorical", "categories": sorted(frame[name].unique())}

    return {"columns": {n: one(n) for n in frame.columns}}


def chapter(code: str) -> str:
    """The chapter of a diagnosis code."""
    if not code[:1].isdigit():
        return code[:1]
    return next(name for most, name in CHAPTERS if int(float(code)) <= most)


def hospital() -> Case:
    """Diabetes 130-US hospitals: race and gender of patients, twelve columns of stays, ordered by their numbers."""
    rows = pd.read_csv(SHARED / "diabetes_130_hospitals.csv.gz", dtype=str, keep_default_na=False)
    rows["diagnosis"] = rows["diag_1"].map(chapter)
    columns = ["age", "admission_type_id", "discharge_disposition_id", "admission_source_id", "time_in_hospital",
               "medical_specialty", "num_medications", "number_inpatient", "number_diagnoses", "diagnosis", "insulin",
               "readmitted"]  # fmt: skip
    ordered = rows.iloc[np.argsort(rows["encounter_id"].astype(int))]
    patients = ordered.groupby("patient_nbr", as_index=False).first()[["patient_nbr", "race", "gender"]]
    stays = rows[["encounter_id", "patient_nbr", *columns]]
    numbers = {"time_in_hospital": (1, 14), "num_medications": (0, 81), "number_inpatient": (0, 21),
               "number_diagnoses": (1, 16)}  # fmt: skip
    keys = ["encounter_id", "patient_nbr"]
    schema = {
        "dataset": "hospital",
        "tables": {"patients": facts(patients, numbers, keys), "stays": facts(stays, numbers, keys)},
        "keys": [{"parent": "patients", "child": "stays", "columns": ["patient_nbr"], "most_children": 5,
                  "order": "encounter_id"}],
    }  # fmt: skip
    return Case("hospital", {"patients": patients, "stays": stays}, schema)


def bank() -> Case:
    """A Czech bank: accounts (district, frequency of statements, year) and their payment orders."""
    place = SHARED / "relational_bank"
    accounts = pd.read_csv(place / "account.csv", dtype=str, sep=None, engine="python", keep_default_na=False)
    orders = pd.read_csv(place / "order.csv", dtype=str, sep=None, engine="python", keep_default_na=False)
    accounts["year"] = accounts["date"].str.replace("-", "").str[-6:].str[:2]
    accounts = accounts[["account_id", "district_id", "frequency", "year"]]
    orders["amount"] = orders["amount"].astype(float).round().astype(int).astype(str)
    orders = orders[["order_id", "account_id", "bank_to", "amount", "k_symbol"]]
    numbers, keys = {"amount": (0, 15000)}, ["account_id", "order_id"]
    schema = {
        "dataset": "bank",
        "tables": {"accounts": facts(accounts, numbers, keys), "orders": facts(orders, numbers, keys)},
        "keys": [{"parent": "accounts", "child": "orders", "columns": ["account_id"], "most_children": 5}],
    }
    return Case("bank", {"accounts": accounts, "orders": orders}, schema)


class Coder:
    """Columns as codes of at most ``BINS`` bins, from the real tables; both sides alike."""

    def __init__(self, case: Case) -> None:
        self.case, self.edges = case, {}
        for table, schema in case.schema["tables"].items():
            for name, column in schema["columns"].items():
                if column["type"] == "integer":
                    values = case.tables[table][name].astype(float)
                    self.edges[table, name] = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
                elif column["type"] == "categorical":
                    often = case.tables[table][name].value_counts().index[: BINS - 1]
                    self.edges[table, name] = {v: i for i, v in enumerate(often)}

    def code(self, table: str, name: str, values: pd.Series) -> np.ndarray:
        """(n,) codes below ``BINS``."""
        rule = self.edges[table, name]
        if isinstance(rule, dict):
            return values.map(rule).fillna(BINS - 1).to_numpy(dtype=np.int64)
        return np.searchsorted(rule, values.astype(float), side="right")


def coded(case: Case, tables: dict[str, pd.DataFrame], coder: Coder) -> tuple[dict, dict, np.ndarray, np.ndarray]:
    """Parents' and children's codes, each child's parent, and its place among its siblings; at most so many kept."""
    key, rng = case.key, np.random.default_rng(0)
    upper, lower = tables[key["parent"]], tables[key["child"]]
    at = pd.Series(np.arange(len(upper)), index=upper[key["columns"][0]])
    parent = at.reindex(lower[key["columns"][0]]).to_numpy().astype(np.int64)
    ordered = key.get("order") in lower.columns  # a rival makes no such column: its rows follow as they stand
    time = lower[key["order"]].astype(int).to_numpy() if ordered else np.arange(len(lower))
    if not key.get("order"):
        time = rng.random(len(lower))
    drawn = np.lexsort((rng.random(len(lower)), parent))
    kept = np.sort(drawn[_rank(parent[drawn]) < key["most_children"]])
    kept = kept[np.lexsort((time[kept], parent[kept]))]
    parent = parent[kept]
    ours = [n for t, n in coder.edges if t == key["parent"]]
    theirs = [n for t, n in coder.edges if t == key["child"]]
    above = {n: coder.code(key["parent"], n, upper[n]) for n in ours}
    above[NUMBER] = np.bincount(parent, minlength=len(upper))
    below = {n: coder.code(key["child"], n, lower[n].iloc[kept]) for n in theirs}
    return above, below, parent, _rank(parent)


def _rank(sorted_codes: np.ndarray) -> np.ndarray:
    first = np.flatnonzero(np.append(True, sorted_codes[1:] != sorted_codes[:-1]))
    return np.arange(len(sorted_codes)) - np.repeat(first, np.diff(np.append(first, len(sorted_codes))))


def tables(above: dict, below: dict, parent: np.ndarray, rank: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """(what, table) of every pair of columns, as shares."""

    def share(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.bincount(a * BINS + b, minlength=BINS**2).reshape(BINS, BINS) / max(len(a), 1)

    own = [n for n in above if n != NUMBER]
    yield from (("parent", share(above[a], above[b])) for a, b in combinations(own, 2))
    yield from (("number by parent", share(above[a], above[NUMBER])) for a in own)
    yield from (("child", share(below[a], below[b])) for a, b in combinations(below, 2))
    yield from (("across", share(below[a], above[b][parent])) for a, b in product(below, own))
    yield from (("number by child", share(below[a], above[NUMBER][parent])) for a in below)
    many = above[NUMBER][parent]
    steps = np.flatnonzero(rank + 1 < many)
    yield from (("steps", share(below[a][steps], below[b][steps + 1])) for a, b in product(below, repeat=2))
    pairs = [(at, at + k) for k in range(1, int(many.max(initial=1))) for at in [np.flatnonzero(rank + k < many)]]
    near, far = (np.concatenate([np.concatenate([p[i], p[1 - i]]) for p in pairs]) for i in (0, 1))
    for a, b in combinations_with_replacement(below, 2):
        table = share(below[a][near], below[b][far])
        yield "siblings", table
        if a == b:
            yield "siblings, same column", table


def scores(real, made) -> dict[str, dict[str, float]]:
    """By what, the mean error and that of independent columns."""
    found: dict[str, list[tuple[float, float]]] = {}
    for (what, truth), (_, table) in zip(tables(*real), tables(*made), strict=True):
        alone = np.outer(truth.sum(1), truth.sum(0))
        errors = (0.5 * float(np.abs(table - truth).sum()), 0.5 * float(np.abs(alone - truth).sum()))
        found.setdefault(what, []).append(errors)
    return {w: {"error": float(np.mean(e, axis=0)[0]), "independent": float(np.mean(e, axis=0)[1])}
            for w, e in found.items()}  # fmt: skip


def measured(case: Case, epsilon: float, rival: "Rival | None" = None) -> dict:
    """One run of related tables, of ``mixture`` on each table with half the budget, of single columns, of a rival."""
    coder, schema = Coder(case), synth.parse_related(case.schema)
    real = coded(case, case.tables, coder)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.sqlite"
        result = synth.run(case.tables, schema=schema, epsilon=epsilon, delta=DELTA, ledger=ledger)
        told = {**_of_both(case, coder, real, result), "seconds": result.seconds_total, "peak_mib": result.peak_mib,
                "rows": dict(result.num_rows), "sdmetrics": sdmetrics(case, result.frames)}  # fmt: skip
        told["alone"] = alone(case, epsilon, ledger, coder, real, result.frames)
        request = RunRequest(epsilon=epsilon, delta=DELTA, ledger=ledger, dataset=f"{case.name} columns", separate=True)
        columns = carry_out(request, schema=schema, rows=case.tables, questions=Nested(plan=Plan(oneway=1.0)))
        told["columns"] = _of_both(case, coder, real, columns)["scores"]
    if rival is not None:
        told["rivals"] = {rival.name: rival.measured(case, coder, real, epsilon)}
    return told


def _of_both(case: Case, coder: "Coder", real, result) -> dict:
    """Scores of the tables that a run made, and of its model."""
    found = scores(real, coded(case, result.frames, coder))
    roots = result.num_rows[case.key["parent"]]
    drawn = DrawnTables(result.model, min(12 * roots, MANY), rng=np.random.default_rng(0))
    many = {t: pd.DataFrame({n: a.to_pandas() for n, a in drawn.whole(t).items()}) for t in case.tables}
    for what, one in scores(real, coded(case, many, coder)).items():
        found[what]["model"] = one["error"]
    return {"scores": found}


def sdmetrics(case: Case, made: dict[str, pd.DataFrame]) -> float | None:
    """SDMetrics' multi-table quality from 0 to 1; None where it is not installed."""
    try:
        from sdmetrics.reports import QualityReport
    except ImportError:
        return None
    metadata = to_sdv_related(synth.parse_related(case.schema))
    for table in metadata["tables"].values():  # cells are texts on both sides, identifiers are no measured columns
        table["columns"] = {n: c for n, c in table["columns"].items() if n not in _unmade(case)}
    numbers = {n: float for t in case.schema["tables"].values() for n, c in t["columns"].items()
               if c["type"] == "integer"}  # fmt: skip

    def plain(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        told = {t: f.drop(columns=[n for n in _unmade(case) if n in f]) for t, f in tables.items()}
        return {t: f.astype({n: k for n, k in numbers.items() if n in f}) for t, f in told.items()}

    report = QualityReport()
    report.generate(plain(case.tables), plain(made), metadata, verbose=False)
    return float(report.get_score())


def _unmade(case: Case) -> set[str]:
    """Identifiers of the child's rows that are no key: a rival makes none."""
    child = case.schema["tables"][case.key["child"]]["columns"]
    return {n for n, c in child.items() if c["type"] == "identifier"} - set(case.key["columns"])


@dataclass(frozen=True)
class Rival:
    """Another method in an environment of its own; ``inside``: what it uses for its tables."""

    python: Path
    inside: str

    @property
    def name(self) -> str:
        """As it stands in the results."""
        return f"dpsynth, {self.inside}"

    def measured(self, case: Case, coder: "Coder", real, epsilon: float) -> dict:
        """Scores of the tables that it makes within the same noise budget."""
        rho = calibrate(epsilon, DELTA) ** 2 / 2
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            for name, table in case.tables.items():
                table.to_csv(place / f"{name}.csv", index=False)
            (place / "schema.json").write_text(json.dumps(case.schema))
            script = str(ROOT / "benchmarks" / "related_rival.py")
            command = [
                str(self.python),
                "-W",
                "ignore",
                script,
                str(place),
                "--rho",
                repr(rho),
                "--inside",
                self.inside,
            ]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{self.name} failed:\n{done.stderr[-2000:]}")
            made = {t: pd.read_csv(place / f"made-{t}.csv", dtype=str, keep_default_na=False) for t in case.tables}
        return {"scores": scores(real, coded(case, made, coder)), "sdmetrics": sdmetrics(case, made),
                **json.loads(done.stdout.splitlines()[-1])}  # fmt: skip


def alone(case: Case, epsilon: float, ledger: Path, coder: Coder, real, made: dict[str, pd.DataFrame]) -> dict:
    """Error of pairs of each table: of the related run, and of ``mixture`` on that table with half of mu**2."""
    half = brentq(lambda e: calibrate(e, DELTA) - calibrate(epsilon, DELTA) / np.sqrt(2), 1e-3, epsilon)
    key, out = case.key, {}
    for i, table in enumerate((key["parent"], key["child"])):
        plain = dict(case.schema["tables"][table])
        if table == key["child"]:
            plain |= {"unit": key["columns"][0], "max_rows": key["most_children"]}
        frame = synth.run(case.tables[table], schema=synth.parse(plain), epsilon=float(half), delta=DELTA,
                          ledger=ledger, dataset=f"{case.name} {table}", separate=True).frame  # fmt: skip
        names = [n for t, n in coder.edges if t == table]
        truth = {n: real[i][n] for n in names}
        out[table] = {"related": _pairs(truth, {n: coder.code(table, n, made[table][n]) for n in names}),
                      "mixture": _pairs(truth, {n: coder.code(table, n, frame[n]) for n in names})}  # fmt: skip
    return out


def _pairs(truth: dict[str, np.ndarray], made: dict[str, np.ndarray]) -> float:
    def share(columns: dict[str, np.ndarray], a: str, b: str) -> np.ndarray:
        return np.bincount(columns[a] * BINS + columns[b], minlength=BINS**2) / len(columns[a])

    return float(
        np.mean([0.5 * np.abs(share(truth, a, b) - share(made, a, b)).sum() for a, b in combinations(truth, 2)])
    )


def main() -> None:
    """Runs, prints, writes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default="hospital,bank")
    parser.add_argument("--epsilon", type=float, default=3.2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rival", choices=["dpsynth"])
    parser.add_argument("--rival-python", type=Path, help="the Python of an environment that has the rival")
    parser.add_argument("--rival-runs", type=int, default=3, help="in how many runs of each table")
    parser.add_argument("--inside", choices=["mst", "aim"], default="mst", help="what dpsynth uses for its tables")
    parser.add_argument("--json", type=Path, default=RESULTS)
    given = parser.parse_args()
    if (given.rival is None) != (given.rival_python is None):
        parser.error("--rival and --rival-python belong together")
    rival = None if given.rival is None else Rival(python=given.rival_python, inside=given.inside)
    found = []
    for name in given.tables.split(","):
        case = {"hospital": hospital, "bank": bank}[name]()
        for number in range(given.runs):
            beside = rival if number < given.rival_runs else None
            told = {"table": name, "epsilon": given.epsilon, "run": number, **measured(case, given.epsilon, beside)}
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
    print("| " + " | ".join([*titles, *rivals]) + " |\n" + "|---" * (len(titles) + len(rivals)) + "|")
    for what, one in told["scores"].items():
        errors = [one["error"], one["model"], one["model"] / max(one["independent"], 1e-9)]
        errors += [told["columns"][what]["model"], *(r["scores"][what]["error"] for r in rivals.values())]
        print(f"| {what} | " + " | ".join(f"{e:.4f}" for e in errors) + " |")
    quality = [told["sdmetrics"], *(r["sdmetrics"] for r in rivals.values())]
    print(f"SDMetrics' quality: {quality}")
    for table, one in told["alone"].items():
        print(
            f"{table} alone: mixture with half the budget {one['mixture']:.4f}, related {one['related']:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
