"""How near each stage comes to what the machine can do at most, what it costs, and what a cluster would take.

    python benchmarks/roofline.py [--rows 100000]      # minutes; --no-curves: the ceilings and stages alone

All in one process on one core, by seconds of the processor (the disk by the clock), so that ceilings and stages are of
the same machine under the same load. Ceilings: a copy in memory, reads and writes of the disk, a product of
single-precision matrices, and `np.bincount` into a table of 2^10 cells. A stage's work is what it cannot do without,
counted beside it; the least time is that of the ceiling that its work meets first. 10 simulated columns of 20
categories (benchmarks/columns.py), `mixture` at epsilon 1; ``--rows`` are those of the fit. Curves: `mixture` again,
with one of epsilon, rows, columns and categories varied. `paper` reckons 10^11 rows on 100 executors from these rates.
Written to benchmarks/results/roofline.json and docs/pictures/roofline.svg.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
import columns
import numpy as np
import roofline_picture
from runner import busy, pictures, read, show, start, write
from staged import STAGES, described, staged

COLUMNS, CATEGORIES, MIB = 10, 20, 2**20
LINEAR, BLOCK = 2_000_000, 2**20  # rows read and counted; rows drawn and written
PAPER = {"rows": 10**11, "executors": 100, "cores": 4, "network": 1e9}  # bytes a second into the driver: assumed
BASE = {"rows": 30_000, "columns": 8, "categories": 20, "epsilon": 1.0}
CURVES: dict[str, tuple[float, ...]] = {
    "epsilon": (0.2, 1.0, 5.0),
    "rows": (3_000, 30_000, 300_000),
    "columns": (4, 8, 16),
    "categories": (5, 20, 200),
}


def disk(folder: Path) -> tuple[float, float]:
    """Bytes a second written and synced, and read again with nothing of them in memory."""
    block, path = os.urandom(16 * MIB), folder / "disk"
    start = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for _ in range(16):
            file.write(block)
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    written = time.perf_counter() - start
    start = time.perf_counter()
    with path.open("rb", buffering=0) as file:
        while file.read(16 * MIB):
            pass
    took = time.perf_counter() - start
    path.unlink()
    return 16 * len(block) / written, 16 * len(block) / took


def ceilings(folder: Path) -> dict[str, float]:
    """Bytes a second of memory and disk; multiplications and additions, and increments of counts, a second."""
    source = np.ones(32 * MIB, dtype=np.float64)
    into = np.empty_like(source)
    square = np.ones((2048, 2048), dtype=np.float32)
    places = np.random.default_rng(0).integers(0, 2**10, 2**18)
    disk_write, disk_read = disk(folder)
    return {
        "memory": 2 * source.nbytes / busy(lambda: np.copyto(into, source)),
        "disk_write": disk_write,
        "disk_read": disk_read,
        "arithmetic": 2 * 2048**3 / busy(lambda: square @ square),
        "increments": len(places) / busy(lambda: np.bincount(places, minlength=2**10), times=20),
    }


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """Counts the work of counting and of the fit while a run goes on."""
    from synth.generators.marginals import surface
    from synth.sources.rows import marginals

    done = {"operations": 0.0, "table_bytes": 0.0, "code_bytes": 0.0, "increments": 0.0, "cells": 0.0}
    step, add, counter = surface.Surface._tables, marginals.add, marginals.MarginalCounter.add

    def counted_step(self: Any, views: Any, share: Any, some: Any) -> Any:
        for number in some or range(len(self.blocks)):
            block = self.blocks[number]
            done["operations"] += (4 if block.mirrored else 6) * block.y.numel() * share.numel()
            done["table_bytes"] += 8 * block.y.numel()
        return step(self, views, share, some)

    def counted_add(codes: Any, shape: Any, joint: Any) -> None:
        done["increments"] += len(codes[0])
        add(codes, shape, joint)

    def counted_batch(self: Any, batch: Any) -> None:
        done["code_bytes"] += sum(batch[n].nbytes for n in self.columns)
        done["cells"] = max(done["cells"], float(sum(len(j) for j in self._joint)))
        counter(self, batch)

    surface.Surface._tables, marginals.add = counted_step, counted_add  # type: ignore[method-assign]
    marginals.MarginalCounter.add = counted_batch  # type: ignore[method-assign]
    try:
        yield done
    finally:
        surface.Surface._tables, marginals.add = step, add  # type: ignore[method-assign]
        marginals.MarginalCounter.add = counter  # type: ignore[method-assign]


def run(folder: Path, rows: int, columns_: int, categories: int, epsilon: float = 1.0) -> dict[str, float]:
    """A run of `mixture`, a thousand rows drawn: processor seconds of its stages."""
    described(folder, columns.schema_of(columns_, categories))
    columns.draw(folder / "table.parquet", rows, columns_, categories)
    reported = staged(folder, epsilon=epsilon)["stages"]
    show({"rows": rows, "columns": columns_} | {n: t["cpu_seconds"] for n, t in reported.items()})
    return {n: reported[n]["cpu_seconds"] for n in STAGES}


def stages(folder: Path, rows: int) -> tuple[dict[str, dict[str, Any]], float]:
    """Seconds, work and rows of each stage; cells of the joint tables."""
    from synth.release import folder as bundle

    with watched() as done:
        reported = run(folder, rows, COLUMNS, CATEGORIES)
    work = {"memory": done["table_bytes"], "arithmetic": done["operations"]}
    fit = {"seconds": reported["fit"], "rows": rows, "work": work}
    reading, counting, cells = counted(folder)
    drawing, writing = drawn(folder, bundle.load_model(folder / "out"))
    return {"reading": reading, "counting": counting, "fitting": fit, "drawing": drawing, "writing": writing}, cells


def counted(folder: Path) -> tuple[dict[str, Any], dict[str, Any], float]:
    """Reading and encoding a table, and counting all its pairs."""
    from itertools import combinations

    import synth
    from synth.privacy.noise import SystemNoise
    from synth.questions import Bins
    from synth.sources.rows.encoding import Encoder
    from synth.sources.table_source import place_of

    schema, path = synth.Schema.load(folder / "schema.json"), folder / "long.parquet"
    columns.draw(path, LINEAR, COLUMNS, CATEGORIES)
    encoder = Encoder(schema, SystemNoise())

    def read() -> None:
        for batch in place_of(path).batches(schema, []):
            encoder.add(batch)

    seconds = busy(read, times=1)
    bins = [Bins.each(n, c.cells) for n, c in schema.measured().items()]
    with watched() as done:
        took = busy(lambda: encoder.spill.counts(list(combinations(bins, 2))), times=1)
    own = LINEAR * COLUMNS
    reading = {"disk_read": path.stat().st_size, "memory": 3 * own}
    counting = {"memory": done["code_bytes"], "increments": done["increments"]}
    reported = [{"seconds": s, "rows": LINEAR, "work": w} for s, w in ((seconds, reading), (took, counting))]
    return reported[0], reported[1], done["cells"]


def drawn(folder: Path, stored: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A block of rows drawn, and drawn and written."""
    from synth.pipeline import sample_parts

    stored.model.sample(BLOCK, rng=np.random.default_rng(0))  # what is prepared once is no row's time
    draw = busy(lambda: stored.model.sample(BLOCK, rng=np.random.default_rng(0)), times=1)
    start = time.process_time()
    sample_parts.write(folder / "out", stored, folder / "rows", num_rows=BLOCK, seed=1, where={}, allowed={}, workers=1)
    whole = time.process_time() - start
    size, cells = sum(f.stat().st_size for f in (folder / "rows").glob("*.parquet")), BLOCK * COLUMNS
    drawing = {"seconds": draw, "rows": BLOCK, "work": {"memory": 8 * cells, "increments": cells}}
    writing = {"seconds": max(whole - draw, 1e-3), "rows": BLOCK, "work": {"disk_write": size, "memory": 8 * cells}}
    return drawing, writing


def against(stage: dict[str, Any], most: dict[str, float]) -> None:
    """Notes for a stage the least seconds by each ceiling, and the share of the one that it meets first."""
    stage["least"] = {n: w / most[n] for n, w in stage["work"].items()}
    stage["bound"] = max(stage["least"], key=stage["least"].get)
    stage["share"] = stage["least"][stage["bound"]] / stage["seconds"]


def curves(result: list[dict[str, Any]], keep: Callable[[], None]) -> None:
    """Runs with one thing varied and the others at ``BASE``; those found before are not run again."""
    done = {tuple(r[n] for n in BASE): r["stages"] for r in result}
    known = {(r["vary"], r[r["vary"]]) for r in result}
    for vary, values in CURVES.items():
        for value in values:
            shape: dict[str, Any] = {**BASE, vary: value}
            if (vary, value) in known:
                continue
            reported = done.get(tuple(shape.values()))  # the one that all curves go through is run once
            if reported is None:
                with TemporaryDirectory() as name:
                    order = ("rows", "columns", "categories", "epsilon")
                    reported = run(Path(name), *(shape[n] for n in order))
            done[tuple(shape.values())] = reported
            result.append({"vary": vary, **shape, "stages": reported})
            print(json.dumps(result[-1]), flush=True)
            keep()


def paper(result: dict[str, Any]) -> dict[str, float]:
    """Seconds of each stage for many rows on many machines such as this one.

    Assumed: rows spread evenly, each core as fast as this one while its neighbours work, each executor with a disk as
    fast as this one, the fit on one core of the driver (it reads no row), and every executor's joint tables of 8 bytes
    a cell sent to the driver over its network one after the other.
    """
    cores, reported = PAPER["executors"] * PAPER["cores"], {}
    for name, stage in result["stages"].items():
        factor = PAPER["rows"] / stage["rows"]
        on_disk = max((stage["least"].get(d, 0.0) for d in ("disk_read", "disk_write")), default=0.0)
        busiest = max(stage["seconds"] * factor / cores, on_disk * factor / PAPER["executors"])
        reported[name] = stage["seconds"] if name == "fitting" else busiest
    reported["tables to the driver"] = PAPER["executors"] * 8 * result["cells"] / PAPER["network"]
    return reported


def main(given) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    with TemporaryDirectory() as name:
        result: dict[str, Any] = {"rows": given.rows, "columns": COLUMNS, "load": os.getloadavg()[0], "assumed": PAPER}
        run(Path(name), 1000, 3, 3)  # what is loaded once is nobody's time
    with TemporaryDirectory() as name:
        result["ceilings"] = ceilings(Path(name))
        result["stages"], result["cells"] = stages(Path(name), given.rows)
    for stage in result["stages"].values():
        against(stage, result["ceilings"])
    result["paper"] = paper(result)
    print(json.dumps(result, indent=1), flush=True)
    result["curves"] = [] if given.fresh else read(given.json, {}).get("curves", [])
    write(given.json, result)
    if not given.no_curves:
        curves(result["curves"], lambda: write(given.json, result))
    roofline_picture.draw(result, pictures(given.json) / "roofline.svg")


if __name__ == "__main__":
    start(main, json="roofline", rows=100_000, no_curves=False)
