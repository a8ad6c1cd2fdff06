"""Seconds and memory of the steward's report: ACSIncome with its held-out rows, and the same rows repeated.

    python benchmarks/report_time.py [--rows 1000000]

Needs the public tables in ../shared; says so and stops without them. The release is one of `independent` at epsilon 1;
each report is a process of its own, on one thread. Writes benchmarks/results/report_time.json and prints Markdown.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import flagship
import pandas as pd
from markdown_tables import figure, table

RESULTS = flagship.ROOT / "benchmarks" / "results" / "report_time.json"
SYNTH = (sys.executable, "-m", "synth")


def measured(folder: Path, real: str) -> dict:
    """One report's seconds by the clock, of the processor, and its most memory."""
    command = [
        "/usr/bin/time",
        "-f",
        "%e %U %S %M",
        "-o",
        str(folder / "time"),
        *SYNTH,
        "report",
        str(folder / "release"),
        "--real",
        str(folder / real),
        "--test",
        str(folder / "test.csv"),
        "--ledger",
        str(folder / "ledger.sqlite"),
        "--out",
        str(folder / "report.html"),
    ]
    flagship.call(*command)
    seconds, user, system, kib = map(float, (folder / "time").read_text().split())
    return {"seconds": seconds, "cpu_seconds": user + system, "peak_mib": kib / 1024}


def markdown(rows: list[dict]) -> str:
    """A line a table."""
    lines = [
        [
            r["table"],
            f"{r['rows']:,} x {r['columns']}",
            figure(r["seconds"], 0),
            figure(r["cpu_seconds"], 0),
            figure(r["peak_mib"], 0),
        ]
        for r in rows
    ]
    return table(("table", "rows x columns", "seconds", "processor", "peak MiB"), lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    flagship.need_tables()
    os.environ["OMP_NUM_THREADS"] = "1"
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = flagship.acs(folder)
        train, schema = folder / "train.csv", folder / "schema.json"
        flagship.call(*SYNTH, "schema", "init", train, "--out", schema, "--assume-public", *options)
        book = ("--out", folder / "release", "--ledger", folder / "ledger.sqlite")
        flagship.call(*SYNTH, "run", train, "--schema", schema, "--epsilon", 1, "--method", "independent", *book)
        rows = pd.read_csv(train, dtype=str, keep_default_na=False)
        times = -(-given.rows // len(rows))
        pd.concat([rows] * times).head(given.rows).to_csv(folder / "many.csv", index=False)
        for real, named, count in (
            ("train.csv", "ACSIncome Colorado, with held-out rows", len(rows)),
            ("many.csv", "the same rows repeated", given.rows),
        ):
            found.append({"table": named, "rows": count, "columns": rows.shape[1], **measured(folder, real)})
            print(found[-1], flush=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(markdown(found))


if __name__ == "__main__":
    main()
