"""All joint tables of a question in one pass over an engine's rows; only counts leave the engine.

DuckDB runs inside this process: its rows are counted as it hands them over, a few at a time. On Spark each executor
counts its own partitions (block_counts.py) and Spark adds them; where executors have no Python, and in PostgreSQL, one
query makes of every row one key for each joint table and counts keys. Partial counts are exact whole numbers whose sum
does not depend on their order: an executor that is lost costs its work, which Spark does again, and nothing else.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

import numpy as np
import pyarrow as pa

from synth.sources.engines import spark_session
from synth.sources.engines.engine import FETCH, Engine
from synth.sources.engines.spark_session import ANSWER, sent
from synth.sources.engines.sql import binned
from synth.sources.rows import block_counts
from synth.sources.rows.block_counts import CountPlan

MOST_BINS = 400  # columns of bins of a query: PostgreSQL has room for 1,664, and tables beyond take another pass
KEYS = {"postgres": "unnest(ARRAY[{0}])", "spark": "explode(array({0}))"}
# PostgreSQL would else put each use of a position in the place of its name, and reckon it once for every use
BARRIER = {"postgres": " OFFSET 0"}


def tables(engine: Engine, rows: str, plan: CountPlan) -> list[np.ndarray]:
    """The plan's tables, flat, of ``rows``, a query's relation whose columns p0, p1, ... are positions, or -1.

    Rows that weigh have the number of parts in one more column (CountPlan), and are counted where Python is.

    Errors: InputError, never the engine's words.
    """
    columns = range(1 + max(axis.column for axis in plan.axes) + (plan.unit > 0))
    query = f"SELECT {', '.join(f'p{i}' for i in columns)} FROM {rows}"
    if engine.dialect.name == "duckdb":
        parts = arrow(engine, query, plan.step)
        arrays = ([c.to_numpy(zero_copy_only=False) for c in b.columns] for b in parts)
        return block_counts.summed(block_counts.counted(arrays, plan), plan)
    if engine.dialect.name == "spark" and has_python(engine):
        return mapped(engine, query, plan)
    if plan.unit:
        raise ValueError("rows that weigh are counted where Python is")
    return block_counts.summed(block_counts.split(*by_keys(engine, rows, plan), plan), plan)


def arrow(engine: Engine, query: str, rows: int) -> Iterator[pa.RecordBatch]:
    """What DuckDB answers, at most so many rows at a time. Errors: InputError."""
    with engine.answering(), engine.backend.con.sql(query).to_arrow_reader(rows) as reader:
        yield from reader


def has_python(engine: Engine) -> bool:
    """Whether Spark's executors can run Python on Arrow's batches: asked once, of one row that is nobody's.

    Errors: InputError where no executor is there.
    """
    return spark_session.has_python(engine.backend._session)


def hold(engine: Engine, query: str) -> str:
    """A query's rows, held by Spark's executors from the first question about them on; returns their name.

    What does not fit in the executors' memory lies on their disks; a lost executor's part is read again. Errors:
    InputError.
    """
    name = f"synth_held_{secrets.token_hex(8)}"
    with engine.answering():
        engine.backend._session.sql(query).persist().createOrReplaceTempView(name)
    return name


def release(engine: Engine, name: str) -> None:
    """Lets go of rows that executors hold. Errors: none; a session that was lost has let go of them."""
    with suppress(Exception):
        session = engine.backend._session
        session.table(name).unpersist()
        session.catalog.dropTempView(name)


def mapped(engine: Engine, query: str, plan: CountPlan) -> list[np.ndarray]:
    """The plan's tables of a query's rows, counted by Spark's executors, each its own part, and added by them.

    Errors: InputError.
    """
    session = engine.backend._session
    with engine.answering():
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(plan.step))
        own = session.sql(query).mapInArrow(sent(block_counts.worker(plan)), ANSWER)
        whole = own.repartition("k").mapInArrow(sent(block_counts.adder()), ANSWER).toArrow()
    return block_counts.joined(whole.column(0).to_pylist(), whole.column(1).to_pylist(), plan)


def by_keys(engine: Engine, rows: str, plan: CountPlan) -> tuple[np.ndarray, np.ndarray]:
    """The plan's blocks, by queries that count keys: places of cells and their counts.

    One query, unless there are very many groupings. Errors: InputError.
    """
    barrier = BARRIER.get(engine.dialect.name, "")
    reported = [np.zeros((0, 2), dtype=np.int64)]
    for blocks in together(plan):
        axes = sorted({i for at in blocks for i in plan.blocks[at]})
        bins = ", ".join(f"{_binned(plan, i)} AS g{i}" for i in axes)
        result = f"(SELECT {bins} FROM (SELECT * FROM {rows}{barrier}) AS held_rows{barrier}) AS binned_rows"
        each = KEYS[engine.dialect.name].format(", ".join(_keys(plan, blocks)))
        query = f"SELECT k, COUNT(*) FROM (SELECT {each} AS k FROM {result}) AS keyed_rows GROUP BY k"
        reported += [np.array(part, dtype=np.int64) for part in engine.rows(query)]
    places, counts = np.concatenate(reported).T
    return places, counts


def together(plan: CountPlan) -> list[list[int]]:
    """The blocks of each query, by their numbers: as many as ``MOST_BINS`` groupings allow."""
    queries: list[list[int]] = []
    held: set[int] = set()
    for at, block in enumerate(plan.blocks):
        if not queries or len(held | set(block)) > MOST_BINS:
            queries.append([])
            held = set()
        queries[-1].append(at)
        held |= set(block)
    return queries


def _binned(plan: CountPlan, at: int) -> str:
    axis = plan.axes[at]
    return binned(f"p{axis.column}", axis.cells, axis.starts, axis.bins[:-1], lost=int(axis.bins[-1]))


def _keys(plan: CountPlan, blocks: Sequence[int]) -> Iterator[str]:
    """For each of some blocks the place of a row's cell among all cells."""
    firsts = np.cumsum([0, *plan.lengths()]).tolist()
    for at in blocks:
        flat = "CAST(0 AS BIGINT)"
        for i, size in zip(plan.blocks[at], plan.shape(at), strict=True):
            flat = f"({flat}) * {size} + g{i}"
        yield f"{flat} + {firsts[at]}"


def positions(engine: Engine, query: str) -> Iterator[np.ndarray]:
    """The whole numbers that a query answers, (n, columns), some rows at a time. Errors: InputError."""
    with engine.answering():
        if engine.dialect.name == "duckdb":
            for part in arrow(engine, query, FETCH):
                yield np.column_stack([c.to_numpy(zero_copy_only=False) for c in part.columns])
        elif engine.dialect.name == "postgres":
            con = engine.backend.con  # the server holds what is not fetched
            with con.transaction(), con.cursor(name="synth_positions") as cursor:
                cursor.execute(query)
                while result := cursor.fetchmany(FETCH):
                    yield np.array(result, dtype=np.int64)
        elif has_python(engine):
            for batch in spark_session.fetched(engine.backend._session, engine.backend.raw_sql(query)):
                yield np.column_stack([c.to_numpy(zero_copy_only=False) for c in batch.columns]).astype(np.int64)
        else:
            waiting = engine.backend.raw_sql(query).toLocalIterator(prefetchPartitions=False)
            while rows := list(islice(waiting, FETCH)):
                yield np.array(rows, dtype=np.int64)
