"""Counting where rows do not fit in memory: seconds and memory against bare DuckDB.

    python benchmarks/rows.py                      # 100 million rows x 20 columns; 5 GB of temporary files
    python benchmarks/rows.py --rows 10000000 --no-run
    python benchmarks/rows.py --rows 1000000000 --drawn 100000000 --sizes 100000000 --no-run
        # ten files of 10^7 rows under ten names each; 30 GB of temporary files, an hour and more
    python benchmarks/rows.py --drawn 10000000 --sizes 1000000,10000000 --no-bare \
        --json benchmarks/results/rows_runs.json   # ours alone: counting, the check of the files' form, whole runs
    python benchmarks/rows.py --csv 400,2000       # `run` on CSV files of so many megabytes

Every measurement is a process of its own, so that its peak of resident memory is its own. Ratios are within one run.
"""

import os
import time
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
from runner import RESULTS, Row, start, sure, write
from runner import apart as in_its_own_process

QUIET = "SET preserve_insertion_order = false; SET enable_progress_bar = false; SET memory_limit = "
WIDTHS = [2, 3, 5, 7, 9, 12, 16, 20, 24, 30, 40, 52]  # values of the twelve whole-number columns
TEXTS = [4, 9, 15]
NUMBERS = {  # minimum, maximum, decimals, bins; and how it is drawn
    "age": (0, 99, 0, 20, "CAST(floor(random() * 90) + random() * 5 AS INTEGER)"),
    "weight": (0, 4999, 0, 25, "CAST(floor(random() * 5000) AS INTEGER)"),
    "worked": (0, 1000, 1, 20, "round(random() * 1000, 1)"),
    "income": (0, 30000, 2, 30, "round(exp(random() * 6 + 4), 2)"),
}
DAYS = 9000


def columns() -> dict[str, str]:
    """SQL that draws each column."""
    drawn = {f"c{i:02d}": f"CAST(floor(pow(random(), 2) * {w}) AS TINYINT)" for i, w in enumerate(WIDTHS)}
    drawn |= {f"t{i}": f"'v' || CAST(floor(random() * {w}) AS INTEGER)" for i, w in enumerate(TEXTS)}
    drawn |= {n: sql for n, (*_, sql) in NUMBERS.items()}
    return drawn | {"started": f"DATE '2000-01-01' + CAST(floor(random() * {DAYS}) AS INTEGER)"}


def schema() -> dict[str, Any]:
    """The public facts of the drawn table."""
    facts: dict[str, Any] = {
        f"c{i:02d}": {"type": "categorical", "categories": [str(v) for v in range(w)]} for i, w in enumerate(WIDTHS)
    }
    facts |= {f"t{i}": {"type": "categorical", "categories": [f"v{v}" for v in range(w)]} for i, w in enumerate(TEXTS)}
    for name, (low, high, decimals, _, _) in NUMBERS.items():
        kind = {"type": "float", "decimals": decimals} if decimals else {"type": "integer"}
        facts[name] = {**kind, "min": low, "max": high}
    facts["started"] = {"type": "datetime", "min": "2000-01-01", "max": "2024-08-22"}
    return {"dataset": "drawn", "columns": facts}


def draw(folder: Path, rows: int) -> None:
    """The table as Parquet files of at most ten million rows."""
    folder.mkdir()
    chosen = ", ".join(f"{sql} AS {name}" for name, sql in columns().items())
    with duckdb.connect() as con:
        con.execute(QUIET + "'2GB'")
        for part, start in enumerate(range(0, rows, 10**7)):
            size = min(10**7, rows - start)
            con.execute(f"COPY (SELECT {chosen} FROM range({size})) TO '{folder}/part-{part:03d}.parquet'")


def repeat(folder: Path, times: int) -> None:
    """Every file of the folder under ``times`` names: as many rows more, and no more room on the disk."""
    for path in sorted(folder.iterdir()):
        for again in range(1, times):
            os.link(path, folder / f"{path.stem}-{again:03d}.parquet")


def form(folder: Path) -> Row:
    """The check of the files' form, which goes before a run's spend."""
    from synth.sources.table_source import place_of

    started = time.perf_counter()
    place_of(folder).check_form(list(columns()))
    return {"seconds": time.perf_counter() - started}


def draw_csv(path: Path, megabytes: int) -> int:
    """The table as one CSV file of about this size; returns its rows."""
    rows = megabytes * 10**6 // 68
    chosen = ", ".join(f"{sql} AS {name}" for name, sql in columns().items())
    with duckdb.connect() as con:
        con.execute(QUIET + "'2GB'")
        con.execute(f"COPY (SELECT {chosen} FROM range({rows})) TO '{path}'")
    return rows


def bare(folder: Path) -> dict[str, Any]:
    """DuckDB alone: counts of all pairs, binned as ours, by one GROUP BY a pair."""
    bins = {n: n for n in columns()}
    for name, (low, high, decimals, count, _) in NUMBERS.items():
        width = (high - low + 10.0**-decimals) / count
        bins[name] = f"CAST(floor(({name} - {low}) / {width}) AS INTEGER)"
    bins["started"] = f"(started - DATE '2000-01-01') // {DAYS // 30}"
    names = list(bins)
    rows = f"(SELECT {', '.join(f'{sql} AS {n}' for n, sql in bins.items())} FROM read_parquet('{folder}/*.parquet'))"
    with duckdb.connect() as con:
        con.execute(QUIET + "'3GB'; SET threads = 2")
        started = time.perf_counter()
        cells = sum(
            len(con.execute(f"SELECT {a}, {b}, count(*) FROM {rows} GROUP BY 1, 2").fetchall())
            for a, b in combinations(names, 2)
        )
        return {"seconds": time.perf_counter() - started, "pairs": len(names) * (len(names) - 1) // 2, "cells": cells}


def groupings(facts: Any) -> dict[str, Any]:
    """The bins of every column that are counted."""
    from synth.questions import Bins

    bins = {}
    for name, column in facts.measured().items():
        count = NUMBERS[name][3] if name in NUMBERS else 30 if name == "started" else column.cells
        starts = np.unique(np.linspace(0, column.cells, count, endpoint=False).astype(np.int64))
        bins[name] = Bins(column=name, cells=column.cells, starts=starts, groups=np.arange(len(starts)))
    return bins


def counted(folder: Path) -> dict[str, Any]:
    """Ours: the same pairs of a folder, encoded and counted."""
    from synth.privacy.noise import SystemNoise
    from synth.schema.table import parse
    from synth.sources.rows.encoding import Encoder
    from synth.sources.table_source import place_of

    facts = parse(schema())
    bins = groupings(facts)
    started = time.perf_counter()
    encoder = Encoder(facts, SystemNoise())
    for batch in place_of(folder).batches(facts, []):
        encoder.add(batch)
    encoded = time.perf_counter()
    tables = encoder.spill.counts(list(combinations(bins.values(), 2)))
    done = time.perf_counter()
    return {
        "seconds": done - started,
        "encode": encoded - started,
        "count": done - encoded,
        "pairs": len(tables),
        "rows": int(tables[0].sum()),
    }


def fitted(folder: Path) -> dict[str, Any]:
    """`synth run` with the flagship: a fitted mixture and a million rows drawn from it."""
    from synth.pipeline import run as pipeline
    from synth.schema.table import parse

    with TemporaryDirectory() as home:
        began = time.perf_counter()
        retained = {"out": Path(home) / "out", "ledger": Path(home) / "ledger.sqlite", "seed": 1}
        result = pipeline.run(folder, schema=parse(schema()), epsilon=1, delta=1e-5, num_rows=10**6, **retained)
        return {"seconds": time.perf_counter() - began, "seconds_after_form_check": result.seconds}


WORK = {"ours": counted, "form": form, "group by": bare, "run": fitted}


def apart(what: str, place: Path, rows: int) -> Row:
    """A measurement in a process of its own, with its peak of resident memory."""
    result = sure(in_its_own_process(WORK[what], place))
    wall, busy, peak = result["seconds"], result["cpu_seconds"], result["peak_mib"]
    print(f"{rows:>11,} rows  {what:10s} {wall:8.1f} s  {busy:8.1f} s of processor  {peak:6.0f} MiB", flush=True)
    return result


def of_csv(megabytes: int) -> Row:
    """`run` on a CSV file."""
    with TemporaryDirectory() as home:
        path = Path(home) / "drawn.csv"
        rows = draw_csv(path, megabytes)
        return {"rows": rows, "bytes": path.stat().st_size, **apart("run", path, rows)}


def of_sizes(sizes: list[int], rows: int, *, drawn: int, run: bool, beside: bool) -> dict[str, Any]:
    """Tables of these sizes and of ``rows``, of which at most ``drawn`` are drawn.

    ``run``: the largest is fitted as well. ``beside``: all are counted by bare DuckDB too; else all are fitted.
    """
    results = {}
    for size in sorted({*(s for s in sizes if s <= rows), rows}):
        with TemporaryDirectory() as home:
            folder, times = Path(home) / "drawn", size // min(size, drawn)
            draw(folder, min(size, drawn))
            repeat(folder, times)
            wanted = ["ours", "form", *["group by"] * beside]
            wanted += ["run"] * (run and (size == rows or not beside))
            results[str(size)] = {"times": times} | {what: apart(what, folder, size) for what in wanted}
    return results


def main(given) -> None:
    into = lambda name: given.json or RESULTS / f"{name}.json"  # noqa: E731
    if given.csv:
        write(into("rows_csv"), {str(megabytes): of_csv(megabytes) for megabytes in given.csv})
    else:
        how = {"drawn": given.drawn or given.rows, "run": not given.no_run, "beside": not given.no_bare}
        sizes = of_sizes(given.sizes, given.rows, **how)
        results = {"cores": len(os.sched_getaffinity(0)), "columns": len(columns()), "sizes": sizes}
        write(into("rows"), results)


if __name__ == "__main__":
    few = {"no_run": False, "no_bare": False, "csv": [int]}
    start(main, rows=10**8, sizes=[10**5, 10**6, 10**7], drawn=0, **few)
