"""Seconds and memory of the steward's report: ACSIncome with its held-out rows, and the same rows repeated.

    python benchmarks/report_time.py [--rows 1000000]

The release is one of `independent` at epsilon 1; each report is a process of its own, on one thread. Writes
benchmarks/results/report_time.json and prints Markdown.
"""

import os
from functools import partial
from pathlib import Path

import pandas as pd
from markdown_tables import filled
from public_tables import SYNTH, call, prepared, texts
from runner import Row, measured, spent, start

TABLES = ("ACSIncome Colorado, with held-out rows", "the same rows repeated")
HEADS = "table|rows x columns|seconds|processor|peak MiB"
markdown = partial(
    filled, heads=HEADS, cells="{table}|{rows:,} x {columns}|{seconds:,.0f}|{cpu_seconds:,.0f}|{peak_mib:,.0f}"
)


def one(folder: Path, cell: Row, *, count: int) -> Row:
    """One report's seconds by the clock, of the processor, and its most memory."""
    ledger, rows = ("--ledger", folder / "ledger.sqlite"), texts(folder / "train.csv")
    if not (folder / "release").exists():
        schema = ("--schema", folder / "schema.json", "--epsilon", 1, "--method", "independent")
        call(*SYNTH, "run", folder / "train.csv", *schema, "--out", folder / "release", *ledger)
        pd.concat([rows] * -(-count // len(rows))).head(count).to_csv(folder / "many.csv", index=False)
    file, count = ("many.csv", count) if cell["table"] == TABLES[1] else ("train.csv", len(rows))
    words = [*SYNTH, "report", folder / "release", "--real", folder / file, *ledger]
    words += ["--test", folder / "test.csv", "--out", folder / "report.html"]
    return {"rows": count, "columns": rows.shape[1]} | spent(*words)[0]


def main(given) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    cells = [{"table": table} for table in TABLES]
    print(markdown(measured(given, cells, partial(one, count=given.rows), prepare=lambda: prepared("acs"), by=())))


if __name__ == "__main__":
    start(main, public=True, json="report_time", rows=1_000_000)
