"""A whole run of `mixture` on Spark as a program: what it answers, and what the engine did for it.

    python -m tests.whole_on_spark FOLDER SOURCE [--faults] [--observed [--unsealed]]
        [--table NAME] [--drawn ROWS]

The table and its schema lie in FOLDER (`prepared`); SOURCE is an address of Spark, or `here` for none. The noise is
seeded, so that two runs are equal where nothing but chance was to differ. Prints the stages as they begin, and at the
end JSON. ``--faults``: tasks that count fail after they have answered, and dawdle so that others are started beside
them. ``--observed``: with an event log and a talkative log, as an administrator's session may be; ``--unsealed``: and
files on disk that are not encrypted.
"""

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PLANTED = "planted-cell"  # a text outside the schema, of which every row of one column in a hundred has one
PERSON = "planted-person"
CATEGORIES = [2, 3, 5, 7, 9, 12, 4, 6, 8, 10, 3, 5]


FEW = ("c00", "c03", "t0", "n0")  # enough for the ways that cells are encoded


def prepared(folder: Path, *, rows: int, files: int = 12, persons: bool = False, few: bool = False) -> None:
    """A table of 20 columns, or of ``FEW``, in Parquet files, with planted cells, and its schema."""
    table = folder / "table"
    table.mkdir(parents=True)
    for part in range(files):
        drawn = _part(rows // files, part, persons=persons)
        chosen = [n for n in drawn.column_names if not few or n in (*FEW, "who")]
        pq.write_table(drawn.select(chosen), table / f"{part:03d}.parquet")
    facts: dict[str, Any] = {
        f"c{i:02d}": {"type": "categorical", "categories": [str(v) for v in range(w)]} for i, w in enumerate(CATEGORIES)
    }
    facts |= {f"t{i}": {"type": "categorical", "categories": ["a", "b", "c", "d"], "nullable": True} for i in range(3)}
    facts |= {f"n{i}": {"type": "integer", "min": 0, "max": 999} for i in range(2)}
    facts |= {f"x{i}": {"type": "float", "min": 0, "max": 100, "decimals": 1} for i in range(2)}
    facts["day"] = {"type": "datetime", "min": "2000-01-01", "max": "2019-12-31"}
    schema: dict[str, Any] = {"columns": {n: f for n, f in facts.items() if not few or n in FEW}}
    if persons:
        schema |= {"unit": "who", "max_rows": 2, "linked": False}
        schema["columns"]["who"] = {"type": "identifier"}
    (folder / "schema.json").write_text(json.dumps(schema))


def _part(rows: int, number: int, *, persons: bool) -> pa.Table:
    rng = np.random.default_rng(number)
    hidden = rng.random(rows)
    columns: dict[str, Any] = {
        f"c{i:02d}": pa.array(((0.7 * hidden + 0.3 * rng.random(rows)) * w).astype(np.int16))
        for i, w in enumerate(CATEGORIES)
    }
    for i in range(3):
        texts = np.array(["a", "b", "c", "d"], dtype=object)[rng.integers(0, 4, rows)]
        odd = np.flatnonzero(rng.random(rows) < 0.01)
        texts[odd] = [f"{PLANTED}-{i}-{number}-{at}" for at in odd]
        columns[f"t{i}"] = pa.array(texts, pa.string())
    columns |= {f"n{i}": (hidden * 700 + rng.integers(0, 300, rows)).astype(np.int32) for i in range(2)}
    columns |= {f"x{i}": np.round(rng.random(rows) * 100, 1) for i in range(2)}
    columns["day"] = pa.array((10957 + rng.integers(0, 7000, rows)).astype(np.int32), pa.int32()).cast(pa.date32())
    if persons:
        columns["who"] = pa.array([f"{PERSON}-{v:07d}" for v in rng.integers(0, rows * 4, rows)])
    return pa.table(columns)


class Said:
    """A reporter that prints each stage as it begins."""

    def stage(self, name: str) -> None:
        """A line of the standard output."""
        print(f"stage {name}", flush=True)

    def progress(self, fraction: float) -> None:
        """Ignored."""

    def note(self, message: str) -> None:
        """Ignored."""


def observed(folder: Path, source: str, *, sealed: bool) -> None:
    """A session as somebody may have set it up: it writes an event log, and a log of everything."""
    from pyspark.sql import SparkSession

    (folder / "events").mkdir()
    settings = {
        "spark.master": source,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(folder / "events"),
        "spark.eventLog.compress": "false",
        "spark.log.level": "INFO",
        "spark.executor.syncLogLevel.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.io.encryption.enabled": str(sealed).lower(),
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    builder.getOrCreate()


def with_faults() -> None:
    """From now on a worker's first try at every second part fails when it has answered; others take seconds."""
    from pyspark import cloudpickle

    from synth.sources.rows import block_counts

    plain = block_counts.worker
    cloudpickle.register_pickle_by_value(sys.modules[__name__])

    def worker(plan: Any) -> Any:
        work = plain(plan)
        if not plan.blocks:
            return work

        def faulty(batches: Any) -> Any:
            from pyspark import TaskContext

            context = TaskContext.get()
            first = context is not None and context.attemptNumber() == 0
            part = context.partitionId() if context is not None else 0
            yield from work(batches)
            if first and part % 2:
                raise RuntimeError("a fault after the answer")
            if first and part == 0:
                time.sleep(20)

        return faulty

    block_counts.worker = worker


def main() -> int:
    """The run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("source")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--observed", action="store_true")
    parser.add_argument("--unsealed", action="store_true")
    parser.add_argument("--table", default="", help="a table of Spark's instead of FOLDER's")
    parser.add_argument("--drawn", type=int, default=0)
    given = parser.parse_args()
    from synth.errors import SynthError
    from synth.pipeline import run as pipeline
    from synth.pipeline.sample import sample_to
    from synth.privacy.noise import SeededNoise
    from synth.schema.table import load

    source, out = None if given.source == "here" else given.source, given.folder / "out"
    if given.observed:
        observed(given.folder, given.source, sealed=not given.unsealed)
    if given.faults:
        with_faults()
    began = time.time()
    try:
        result = pipeline.run(
            given.table or str(given.folder / "table"),
            schema=load(given.folder / "schema.json"),
            epsilon=1.0,
            delta=1e-6,
            method="mixture",
            source=source,
            seed=1,
            num_rows=1000,
            noise=SeededNoise(1),
            reporter=Said(),
            dataset="people",
            ledger=given.folder / "ledger.sqlite",
            out=out,
        )
        if given.drawn and source:
            print("stage draw", flush=True)
            sample_to(out, given.folder / "drawn", num_rows=given.drawn, seed=2, source=source)
    except SynthError as error:
        print(json.dumps({"failed": str(error)}), flush=True)
        return error.exit_code
    answer = hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()
    done: dict[str, Any] = {"answer": answer, "seconds": time.time() - began, "stages": result.seconds}
    if source:
        from tests import spark_work

        done |= spark_work.done()
    print(json.dumps(done), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
