"""All joint tables of a question in one pass over an engine's rows; only counts leave the engine.

DuckDB runs inside this process: its rows are counted as it hands them over, a few at a time. On Spark each executor
counts its own partitions (block_counts.py) and Spark adds them; where executors have no Python, and in PostgreSQL, one
query makes of every row one key for each joint table and counts keys. Partial counts are exact whole numbers whose sum
does not depend on their order: an executor that is lost costs its work, which Spark does again, and nothing else.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from synth.sources.engines.engine import FETCH, Engine
from synth.sources.engines.sql_branches import binned
from synth.sources.rows import block_counts
from synth.sources.rows.block_counts import CountPlan

MOST_BINS = 400  # columns of bins of a query: PostgreSQL has room for 1,664, and tables beyond take another pass
ANSWER = "k bigint, n bigint"
KEYS = {"postgres": "unnest(ARRAY[{0}])", "spark": "explode(array({0}))"}
# PostgreSQL would else put each use of a position in the place of its name, and reckon it once for every use
BARRIER = {"postgres": " OFFSET 0"}


def joints(engine: Engine, rows: str, plan: CountPlan) -> list[np.ndarray]:
    """Flat joint counts of ``rows``, a query's relation whose columns p0, p1, ... are positions, or -1.

    Errors: InputError, never the engine's words.
    """
    columns = range(1 + max(axis.column for axis in plan.axes))
    query = f"SELECT {', '.join(f'p{i}' for i in columns)} FROM {rows}"
    if engine.dialect.name == "duckdb":
        parts = arrow(engine, query, plan.step)
        return block_counts.counted(([c.to_numpy(zero_copy_only=False) for c in b.columns] for b in parts), plan)
    if engine.dialect.name == "spark" and has_python(engine):
        return block_counts.split(*mapped(engine, query, plan), plan)
    return block_counts.split(*by_keys(engine, rows, plan), plan)


def arrow(engine: Engine, query: str, rows: int) -> Iterator[pa.RecordBatch]:
    """What DuckDB answers, at most so many rows at a time. Errors: InputError."""
    with engine.answering(), engine.backend.con.sql(query).to_arrow_reader(rows) as reader:
        yield from reader


def has_python(engine: Engine) -> bool:
    """Whether Spark's executors can run Python on Arrow's batches: asked of one row that is nobody's."""
    session = engine.backend._session
    try:
        session.range(1).mapInArrow(_sent(CountPlan((), ())), ANSWER).collect()
    except Exception:  # no interpreter, or one without numpy or pyarrow
        return False
    return True


def mapped(engine: Engine, query: str, plan: CountPlan) -> tuple[np.ndarray, np.ndarray]:
    """A query's rows counted by Spark's executors, each its own part: places of cells and their counts.

    Errors: InputError.
    """
    session = engine.backend._session
    with engine.answering():
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(plan.step))
        own = session.sql(query).mapInArrow(_sent(plan), ANSWER)
        whole = own.groupBy("k").sum("n").toArrow()
    return whole.column(0).to_numpy(), whole.column(1).to_numpy()


def _sent(plan: CountPlan) -> Any:
    """A worker's task with its code, since workers need not have this package."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(block_counts)
    return block_counts.worker(plan)


def by_keys(engine: Engine, rows: str, plan: CountPlan) -> tuple[np.ndarray, np.ndarray]:
    """As ``mapped``, by queries that count keys: one, unless there are very many groupings. Errors: InputError."""
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
        else:
            waiting = engine.backend.raw_sql(query).toLocalIterator(prefetchPartitions=False)
            while rows := list(islice(waiting, FETCH)):
                yield np.array(rows, dtype=np.int64)
