"""A cluster of processes on this machine: whole runs by workers; rows drawn; bytes moved.

    python benchmarks/cluster.py [--workers 1,2,3] [--rows 1000000] [--what whole,drawn]
    python benchmarks/cluster.py --what drawn --workers 2,0 --rows 100000000

Spark standalone, a master and workers of one core and 640 MiB each (tests/standalone.py), on the drawn table of
rows.py, 20 columns in twelve files. *whole*: a run of `mixture` at epsilon 1, 1,000 rows drawn. *drawn*: a release's
model draws so many rows into a folder, by the workers; 0 workers: by one process here. Processor seconds are those of
all processes of the cluster and of the driver, looked at twice a second. Lines in benchmarks/results/cluster.json.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("OMP_NUM_THREADS", "1")
import psutil
import rows as drawn_table
from runner import Clock, Row, apart, grid, measured, start, sure

FILES = 12
MOST = 3000.0  # seconds of one measurement


def table(folder: Path, rows: int) -> None:
    """The drawn table of rows.py in twelve files, each of which is a task."""
    import duckdb

    folder.mkdir()
    chosen = ", ".join(f"{sql} AS {name}" for name, sql in drawn_table.columns().items())
    with duckdb.connect() as con:
        con.execute(drawn_table.QUIET + "'2GB'")
        for part in range(FILES):
            con.execute(f"COPY (SELECT {chosen} FROM range({rows // FILES})) TO '{folder}/part-{part:03d}.parquet'")


def whole(folder: str, address: str) -> Row:
    """A run of `mixture`."""
    from synth.pipeline import run as pipeline
    from synth.schema.table import parse
    from tests import spark_work

    with TemporaryDirectory() as home:
        began, clock = time.perf_counter(), Clock()
        how = {"epsilon": 1.0, "delta": 1e-6, "num_rows": 1000, "source": address, "reporter": clock}
        places = {"out": Path(home) / "out", "ledger": Path(home) / "ledger.sqlite"}
        pipeline.run(folder, schema=parse(drawn_table.schema()), **how, **places)
        seconds = time.perf_counter() - began
        by_stage = {n: s["seconds"] for n, s in clock.reported().items()}
    done = spark_work.done()
    stages = done["stages_done"]
    sums = {n: sum(s[n] for s in stages) for n in ("records", "bytes", "shuffled", "answered", "spilled")}
    # reading and asking grow with the rows; the rest does not
    counting = sum(by_stage.get(n, 0.0) for n in ("check", "read", "measure"))
    return {"seconds": seconds, "by_stage": by_stage, "counting": counting, "jobs": done["jobs"], **sums}


def released(folder: Path) -> Path:
    """A release from which rows can be drawn: of `mixture`, on a table of a million rows."""
    from synth.pipeline import run as pipeline
    from synth.schema.table import parse

    table(folder / "small", 1_000_000)
    how = {"epsilon": 1.0, "delta": 1e-6, "num_rows": 1000, "out": folder / "out", "ledger": folder / "ledger.sqlite"}
    pipeline.run(folder / "small", schema=parse(drawn_table.schema()), **how)
    return folder / "out"


def drew(model: str, out: str, rows: int, address: str | None) -> Row:
    """So many rows into a folder with checksums."""
    from synth.pipeline import sample_parts
    from synth.pipeline.sample import sample_to
    from synth.release.folder import load_model

    began = time.perf_counter()
    if address is None:
        sample_parts.write(model, load_model(model), Path(out), num_rows=rows, seed=1, where={}, allowed={}, workers=1)
    else:
        sample_to(model, out, num_rows=rows, seed=1, source=address)
    files = list(Path(out).glob("*.parquet"))
    found = {"seconds": time.perf_counter() - began, "parts": len(files)}
    sums = (Path(out) / "_SHA256SUMS").read_text().splitlines()
    return found | {"written": sum(f.stat().st_size for f in files), "sums": len(sums)}


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """Processor seconds and memory of all processes below this one, by what is seen of them twice a second."""
    seen: dict[tuple[int, float], float] = {}
    spent = {"cpu_seconds": 0.0, "peak_mib": 0.0}
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.5):
            held = 0
            for process in psutil.Process().children(recursive=True):
                try:
                    used, memory = process.cpu_times(), process.memory_info().rss
                except psutil.Error:
                    continue
                seen[process.pid, process.create_time()] = used.user + used.system
                held += memory
            spent["peak_mib"] = max(spent["peak_mib"], held / 2**20)

    watcher = threading.Thread(target=work, daemon=True)
    watcher.start()
    try:
        yield spent
    finally:
        stop.set()
        watcher.join()
        spent["cpu_seconds"] = sum(seen.values())


def one(place: Path, cell: Row) -> Row:
    """A measurement on a cluster of its own."""
    from tests import standalone

    folder = place / f"table-{cell['rows']}"
    if cell["what"] != "drawn" and not folder.exists():
        table(folder, cell["rows"])
    model = place / "model" / "out"
    if cell["what"] == "drawn" and not model.exists():
        released(place / "model")
    with TemporaryDirectory(dir=place) as home:
        if not cell["workers"]:
            with watched() as spent:
                result = apart(drew, str(model), str(Path(home) / "rows"), cell["rows"], None, most=MOST)
            return {**sure(result), **spent, "load": os.getloadavg()[0]}
        settings = {"spark.speculation": "false", "spark.network.timeout": "120s"}
        with standalone.Standalone(Path(home) / "cluster", workers=cell["workers"], settings=settings) as cluster:
            with watched() as spent:
                how = {"most": MOST, "env": cluster.environment}
                if cell["what"] == "drawn":
                    result = apart(drew, str(model), str(Path(home) / "rows"), cell["rows"], cluster.address, **how)
                else:
                    result = apart(whole, str(folder), cluster.address, **how)
            return {**sure(result), **spent, "load": os.getloadavg()[0]}


def main(given) -> None:
    cells = grid(what=given.what, rows=given.rows, workers=given.workers)
    with TemporaryDirectory() as name:
        (Path(name) / "model").mkdir()
        measured(given, [c for c in cells if c["workers"] or c["what"] == "drawn"], lambda _, c: one(Path(name), c))


if __name__ == "__main__":
    start(main, json="cluster", rows=[10**6], workers=[1, 2, 3], what="whole,drawn")
