"""Rows of a stored model into one Parquet file, and into a folder of them on one and on two cores.

    python benchmarks/write.py [--rows 10000000] [--ways folder]

A `mixture` fitted to 20 simulated columns (benchmarks/columns.py), 20 categories each. Each measurement is
`synth sample` in a process of its own: its start and the loading of the model are part of it. Seconds of the processor
(all processes) stand beside those of the clock, since other work may keep the machine busy; the disk is synced before
and after, within the measurement. Written to benchmarks/results/write.json, where rows of other ways stay.
"""

import os
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import columns
from public_tables import SYNTH
from runner import Row, read, show, spent, start, write
from staged import described, staged

COLUMNS, CATEGORIES, FITTED = 20, 20, 20_000
WAYS = {
    "one file": ("1", ["--out", "rows.parquet"]),
    "folder, one core": ("1", ["--out", "rows1"]),
    "folder, two cores": ("2", ["--out", "rows2"]),
}


def model(folder: Path) -> None:
    """A fitted model."""
    described(folder, columns.schema_of(COLUMNS, CATEGORIES))
    columns.draw(folder / "table.parquet", FITTED, COLUMNS, CATEGORIES)
    staged(folder)


def measured(folder: Path, way: str, rows: int) -> Row:
    """Seconds, processor seconds and bytes of one way; what it wrote is removed."""
    cores, where = WAYS[way]
    only = ["taskset", "-c", ",".join(str(c) for c in sorted(os.sched_getaffinity(0))[: int(cores)])]
    command = [*only, *SYNTH, "sample", "out", "--num-rows", str(rows), "--seed", "1", *where]
    os.sync()
    began = time.perf_counter()
    cost, _ = spent(*command, cwd=folder)
    os.sync()
    cost["seconds"] = time.perf_counter() - began
    made = [p for p in folder.iterdir() if p.name.startswith("rows")]
    size = sum(f.stat().st_size for p in made for f in ([p] if p.is_file() else p.iterdir()))
    for path in made:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return {"rows": rows} | cost | {"bytes": size, "load": os.getloadavg()[0]}


def main(given) -> None:
    result = read(given.json, {})
    with TemporaryDirectory() as name:
        model(Path(name))
        for way in [w for w in WAYS if any(w.startswith(begins) for begins in given.ways)]:
            result[f"{way}, {given.rows}"] = {"way": way, **measured(Path(name), way, given.rows)}
            show(result[f"{way}, {given.rows}"])
    write(given.json, result)


if __name__ == "__main__":
    start(main, json="write", rows=10**7, ways=list(WAYS))
