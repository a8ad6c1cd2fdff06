"""Spark as a cluster of two executors, processes of their own, one of which may be killed while it counts.

    python tests/cluster.py kill|keep

A program of its own: Spark's Java belongs to the process that started it. Prints JSON.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, FILES, COLUMNS = 20_000, 12, 6
WAIT = 120.0  # seconds until the executor must be at work


def table(folder: Path) -> None:
    """A folder of files, each a partition of its own."""
    for part in range(FILES):
        rng = np.random.default_rng(part)
        columns = {f"c{j}": pa.array(rng.integers(0, 7, ROWS).astype(np.int16)) for j in range(COLUMNS)}
        pq.write_table(pa.table({**columns, "who": rng.integers(0, 9_000, ROWS)}), folder / f"{part:03d}.parquet")


def session() -> Any:
    """Two executors of one core each, and Spark set to go on when one is lost."""
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # one that does not find this package: what executors count with must come with the question
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "2",
        "spark.task.maxFailures": "8",
        "spark.sql.files.openCostInBytes": str(1 << 28),
        "spark.python.worker.reuse": "true",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,900]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def executors() -> list[int]:
    """Process ids of the executors that this process's Java started."""
    reported = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in reported.splitlines()[1:]]
    parent = {int(pid): int(ppid) for pid, ppid, _ in lines}

    def ours(pid: int) -> bool:
        while pid in parent and pid != os.getpid():
            pid = parent[pid]
        return pid == os.getpid()

    return [int(pid) for pid, _, args in lines if "CoarseGrainedExecutorBackend" in args and ours(int(pid))]


def kill_one(spark: Any, killed: list[int], stop: threading.Event) -> None:
    """Kills an executor as soon as some, not all, of a stage's tasks are done."""
    tracker, end = spark.sparkContext.statusTracker(), time.monotonic() + WAIT
    while time.monotonic() < end and not stop.is_set():
        for stage in tracker.getActiveStageIds():
            result = tracker.getStageInfo(stage)
            if result and result.numTasks >= FILES // 2 and 0 < result.numCompletedTasks < result.numTasks:
                pid = executors()[0]
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
        time.sleep(0.01)


def counts(folder: Path, *, person: bool) -> list[list[int]]:
    """Tables of one, two, three and four columns, through the library."""
    from synth.privacy.noise import SeededNoise
    from synth.questions import Bins
    from synth.schema.table import parse
    from synth.sources.engines.engine import Engine
    from synth.sources.engines.warehouse import WarehousePlace, WarehouseRows

    columns: dict[str, Any] = {f"c{j}": {"type": "integer", "min": 0, "max": 6} for j in range(COLUMNS)}
    bound = {"unit": "who", "max_rows": 3} if person else {}
    columns |= {"who": {"type": "identifier"}} if person else {}
    schema = parse({**bound, "columns": columns})
    opened = WarehousePlace(Engine("spark"), str(folder)).encoded(
        schema, SeededNoise(1), person="who" if person else None, key=b"k" * 16, **({"most": 3} if person else {})
    )
    rows = opened.encoded.positions
    assert isinstance(rows, WarehouseRows)
    bins = [Bins.each(f"c{j}", 7) for j in range(COLUMNS)]
    tables = [t for size in (1, 2, 3, 4) for t in combinations(bins, size)]
    return [t.tolist() for t in rows.counts(tables)]


def main(how: str, *, person: bool) -> None:
    """Counts, with both executors or with one that is killed meanwhile."""
    with tempfile.TemporaryDirectory() as name:
        table(Path(name))
        spark = session()
        before = set(executors())
        killed: list[int] = []
        stop = threading.Event()
        killer = threading.Thread(target=kill_one, args=(spark, killed, stop), daemon=True)
        if how == "kill":
            killer.start()
        start = time.perf_counter()
        result = counts(Path(name), person=person)
        seconds = time.perf_counter() - start
        stop.set()
        print(json.dumps({"counts": result, "killed": killed, "of": sorted(before), "seconds": seconds}))
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], person="persons" in sys.argv[2:])
