"""Counting where the data are, against counting here: seconds in the engine, and bytes that come back.

    python benchmarks/spread.py [--rows 1000000] [--engines here,duckdb,postgres,spark]

The drawn table of rows.py, its 190 pairs and ten tables of three and four columns as one question. *here*: Parquet
files read, encoded and counted by this process (`synth run TABLE.parquet`). *duckdb* and *spark*: the same files;
*postgres*: the same rows in a cluster of its own. Two processors allowed; Spark in two threads, with the settings that
it comes with, its Java and its workers started before. Opening the table (row count and lost cells) and the question
in seconds by the clock, and of the processor by this process and all of the engine's; the share of the question's
seconds in which this process waits for the engine; and the bytes of the tables that come back, beside those of the
encoded rows, which do not. Counts are compared with those of *here*, cell by cell. Written to
benchmarks/results/spread.json.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import rows as drawn
from app_server import used
from runner import Row, show, start, write


def question(facts: Any) -> list[tuple]:
    """All pairs, and ten tables of three and four columns."""
    bins = list(drawn.groupings(facts).values())
    pairs = list(combinations(bins, 2))
    return [*pairs, *(tuple(bins[i : i + 3]) for i in range(5)), *(tuple(bins[i : i + 4]) for i in range(5))]


@contextmanager
def place_in(engine: str, folder: Path) -> Iterator[Any]:
    """The drawn table in an engine."""
    from synth.sources.engines.engine import Engine
    from synth.sources.engines.warehouse import WarehousePlace
    from synth.sources.table_source import place_of
    from tests.engines import postgres

    if engine == "here":
        yield place_of(folder)
    elif engine == "postgres":
        with postgres() as server:
            load(server, folder)
            yield WarehousePlace(server, "drawn")
    else:
        yield WarehousePlace(spark() if engine == "spark" else Engine("duckdb"), str(folder))


def spark() -> Any:
    """Spark as it comes, which starts Java and its workers before: it counts a few rows."""
    import pyspark
    from pyspark.sql import SparkSession

    from synth.sources.engines.engine import Engine

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(Path(pyspark.__file__).parent)}
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    quiet = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    for name, value in quiet.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.range(1000, numPartitions=2).mapInArrow(lambda parts: parts, "id long").count()
    return Engine("spark")


def load(server: Any, folder: Path) -> None:
    """The files as a table of PostgreSQL, with the types that they have."""
    types = {"c": "smallint", "t": "text"}
    named = {n: types.get(n[0], "double precision") for n in drawn.columns()}
    named |= {"age": "integer", "weight": "integer", "started": "date"}
    with server.backend.con.cursor() as cursor:
        cursor.execute(f"CREATE TABLE drawn ({', '.join(f'{n} {t}' for n, t in named.items())})")
    server.backend.con.commit()
    for path in sorted(folder.glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(1 << 18):
            server._copy("drawn", pa.Table.from_batches([batch]))
    with server.backend.con.cursor() as cursor:
        cursor.execute("ANALYZE drawn")
    server.backend.con.commit()


def measured(engine: str, folder: Path) -> tuple[dict[str, float], list[np.ndarray]]:
    """Seconds, and the counts."""
    from synth.privacy.noise import SystemNoise
    from synth.schema.table import parse

    facts = parse(drawn.schema())
    with place_in(engine, folder) as place, waiting() as waits:
        start, busy = time.perf_counter(), processor()
        rows = place.encoded(facts, SystemNoise(), person=None, key=b"k" * 16).encoded.positions
        opened, spent = time.perf_counter(), processor()
        before = dict(waits)
        tables = rows.counts(question(facts))
        done, end = time.perf_counter(), processor()
    reported = {"open": opened - start, "open_cpu": spent - busy, "count": done - opened, "count_cpu": end - spent}
    reported |= {name: waits[key] - before[key] for name, key in (("in_engine", "seconds"), ("bytes_back", "bytes"))}
    return reported, tables


def processor() -> float:
    """Seconds of the processor: of this process, of those that it started, and of a PostgreSQL of its own."""
    master = Path(f"/tmp/facsimile-pg-{os.getpid()}/data/postmaster.pid")
    own = [int(master.read_text().split()[0])] if master.exists() else []
    return sum(used(whole=True, also=tuple(own)).values())


@contextmanager
def waiting() -> Iterator[dict[str, float]]:
    """Seconds that this process waits for an engine, and bytes of what it tells, while it counts."""
    from synth.sources.engines import one_pass

    waits = {"seconds": 0.0, "bytes": 0.0}
    plain = {n: getattr(one_pass, n) for n in ("by_keys", "arrow", "mapped")}

    def timed(name: str) -> Any:
        def parts(*given: Any) -> Iterator[Any]:
            results, start = plain[name](*given), time.perf_counter()
            for part in results:
                waits["seconds"] += time.perf_counter() - start
                yield part
                start = time.perf_counter()
            waits["seconds"] += time.perf_counter() - start

        def whole(*given: Any) -> Any:
            start = time.perf_counter()
            result = plain[name](*given)
            waits["seconds"] += time.perf_counter() - start
            waits["bytes"] += sum(a.nbytes for a in result)  # as they are held here; on the way they are narrower
            return result

        return parts if name == "arrow" else whole

    for name in plain:
        setattr(one_pass, name, timed(name))
    try:
        yield waits
    finally:
        for name, method in plain.items():
            setattr(one_pass, name, method)


def main(given) -> None:
    row: Row = {"rows": given.rows, "load": os.getloadavg()[0], "engines": {}}
    with TemporaryDirectory() as name:
        folder = Path(name) / "drawn"
        drawn.draw(folder, given.rows)
        widths = {"weight": 2, "worked": 2, "started": 2, "income": 4}
        row["encoded_bytes"] = given.rows * sum(widths.get(n, 1) for n in drawn.columns())
        here: list[np.ndarray] | None = None
        for engine in given.engines:
            reported, tables = measured(engine, folder)
            here = here or tables
            reported["cells"] = float(sum(len(t) for t in tables))
            if not all(np.array_equal(a, b) for a, b in zip(here, tables, strict=True)):
                raise SystemExit(f"{engine}: other counts")
            row["engines"][engine] = reported
            show({"engine": engine, **reported})
    write(given.json, row)


if __name__ == "__main__":
    start(main, json="spread", rows=10**6, engines="here,duckdb,postgres,spark")
