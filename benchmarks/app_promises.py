"""Seconds that the application promises before a run beside those that it takes, on tables that nothing was fitted to.

    python benchmarks/app_promises.py [--tables town,adult_test,...] [--epsilon 2]

Each table is described by a draft, run once by `synth run` on one core, and timed by the processor's seconds too:
where other work runs beside, these are what an idle machine would take. Prints Markdown, writes
benchmarks/results/app_promises.json.
"""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from public_tables import SYNTH, call, texts
from runner import ROOT, SHARED, read, show, spent, start, write


def real(name: str, rows: slice = slice(None), columns: slice = slice(None)) -> pd.DataFrame:
    """A public table beside the checkout, or a part of it."""
    return texts(SHARED / "data" / name).iloc[rows, columns]


TABLES = {
    "town": lambda: texts(ROOT / "data" / "town_survey.csv.gz"),  # that the application offers: 20,000 rows
    "adult_test": lambda: real("adult_test.csv.gz"),
    "california": lambda: real("acs_income_ca_2018_sex_race_label.csv.gz"),
    "orders": lambda: real("relational_bank/order.csv"),
    "hospitals_few": lambda: real("diabetes_130_hospitals.csv.gz", slice(None, None, 20), slice(2, 32)),
    "five_years": lambda: real("acs_5yr_2013_2017_sample100k.csv.gz", slice(None, None, 5)),
}


def promised_and_taken(name: str, epsilon: float) -> dict[str, Any]:
    """Rows, columns, the promise, and the seconds by the clock and by the processor."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        table, schema = folder / "table.csv", folder / "schema.json"
        frame = TABLES[name]()
        frame.to_csv(table, index=False)
        env = {**os.environ, "SYNTH_LEDGER": str(folder / "ledger.sqlite"), "OMP_NUM_THREADS": "1"}
        ask = lambda *words: call(*SYNTH, *words, env=env)  # noqa: E731
        ask("schema", "init", table, "--out", schema)
        plain = json.loads(schema.read_text())
        for column in plain["columns"].values():  # as a steward would who knows the publisher's code book
            column |= {"source": "declared"} | ({"reason": "the publisher's code book"} if column.get("risk") else {})
        plain |= {"unit": "row", "unit_source": "declared", "max_rows": None, "dataset": name}
        schema.write_text(json.dumps(plain))
        reported = ask("plan", "--schema", schema, "--rows", len(frame), "--epsilon", epsilon, "--json")
        words = ("run", table, "--schema", schema, "--epsilon", epsilon, "--out", folder / "out", "--json")
        cost, done = spent(*SYNTH, *words, env=env)
    taken = {"taken": json.loads(done)["seconds_total"], "processor": cost["cpu_seconds"]}
    times = {"promised": json.loads(reported)["seconds"]} | taken
    return {"rows": len(frame), "columns": frame.shape[1]} | {n: round(t, 1) for n, t in times.items()}


def main(given) -> None:
    from docs_figures_speed import promising

    retained = read(given.json, {})
    for name in given.tables:
        retained[name] = promised_and_taken(name, given.epsilon)
        show({"table": name} | retained[name])
        write(given.json, retained)
    print(promising(lambda _: retained))


if __name__ == "__main__":
    start(main, json="app_promises", tables=",".join(TABLES), epsilon=2.0)
