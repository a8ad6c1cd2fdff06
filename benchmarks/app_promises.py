"""Seconds that the application promises before a run beside those that it takes, on tables that nothing was fitted to.

    python benchmarks/app_promises.py [--tables town,adult_test,...] [--epsilon 2] [--json FILE]

Each table is described by a draft, run once by `synth run` on one core, and timed by the processor's seconds too:
where other work runs beside, these are what an idle machine would take. Prints Markdown, writes
benchmarks/results/app_promises.json.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
RESULTS = ROOT / "benchmarks" / "results" / "app_promises.json"
SYNTH = (sys.executable, "-m", "synth")
HALF = slice(None, None, 2)  # rows of a table of which another half was seen


def town() -> pd.DataFrame:
    """The simulated survey that the application offers: 20,000 rows."""
    return pd.read_csv(ROOT / "data" / "town_survey.csv.gz", dtype=str, keep_default_na=False)


def real(name: str, rows: slice = slice(None), columns: slice = slice(None)) -> pd.DataFrame:
    """A public table beside the checkout, or a part of it."""
    return pd.read_csv(SHARED / name, dtype=str, keep_default_na=False).iloc[rows, columns]


TABLES = {
    "town": town,
    "adult_test": lambda: real("adult_test.csv.gz"),
    "california": lambda: real("acs_income_ca_2018_sex_race_label.csv.gz"),
    "orders": lambda: real("relational_bank/order.csv"),
    "hospitals_few": lambda: real("diabetes_130_hospitals.csv.gz", slice(None, None, 20), slice(2, 32)),
    "five_years": lambda: real("acs_5yr_2013_2017_sample100k.csv.gz", slice(None, None, 5)),
}


def promised_and_taken(name: str, epsilon: float) -> dict[str, Any]:
    """Rows, columns, the promise, and the seconds by the clock and by the processor."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        table, schema = folder / "table.csv", folder / "schema.json"
        frame = TABLES[name]()
        frame.to_csv(table, index=False)
        env = {**os.environ, "SYNTH_LEDGER": str(folder / "ledger.sqlite"), "OMP_NUM_THREADS": "1"}
        ask(env, "schema", "init", table, "--out", schema)
        plain = json.loads(schema.read_text())
        for column in plain["columns"].values():  # as a steward would who knows the publisher's code book
            column |= {"source": "declared"} | ({"reason": "the publisher's code book"} if column.get("risk") else {})
        plain |= {"unit": "row", "unit_source": "declared", "max_rows": None, "dataset": name}
        schema.write_text(json.dumps(plain))
        told = ask(env, "plan", "--schema", schema, "--rows", len(frame), "--epsilon", epsilon, "--json")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = ask(env, "run", table, "--schema", schema, "--epsilon", epsilon, "--out", folder / "out", "--json")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "rows": len(frame),
        "columns": frame.shape[1],
        "promised": round(json.loads(told)["seconds"], 1),
        "taken": round(json.loads(done)["seconds_total"], 1),
        "processor": round(busy, 1),
    }


def ask(env: dict[str, str], *words: object) -> str:
    done = subprocess.run([*SYNTH, *map(str, words)], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--json", type=Path, default=RESULTS)
    asked = parser.parse_args()
    kept = json.loads(asked.json.read_text()) if asked.json.exists() else {}
    print("| table | rows | columns | promised, s | taken, s | processor, s | promised by processor |")
    print("|---|---|---|---|---|---|---|")
    for name in asked.tables.split(","):
        found = kept[name] = promised_and_taken(name, asked.epsilon)
        cells = [name, f"{found['rows']:,}", *(found[k] for k in ("columns", "promised", "taken", "processor"))]
        print(f"| {' | '.join(map(str, cells))} | {found['promised'] / found['processor']:.2f} |", flush=True)
        asked.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
