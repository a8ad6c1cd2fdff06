"""All joint tables of a question in one pass over an engine's rows; only counts leave the engine.

DuckDB runs inside this process: its rows are counted as it hands them over, a few at a time. On Spark each executor
counts its own partitions (block_counts.py) and Spark adds them; where executors have no Python, and in PostgreSQL, one
query makes of every row one key for each joint table and counts keys. Partial counts are exact whole numbers whose sum
does not depend on their order: an executor that is lost costs its work, which Spark does again, and nothing else.
"""

from collections.abc import Sequence

import numpy as np

from synth.sources.engines.engine import Engine
from synth.sources.engines.sql_branches import binned
from synth.sources.rows import block_counts
from synth.sources.rows.block_counts import Plan

BATCH = 1 << 17  # rows that DuckDB hands over, and Spark gives its Python, at a time
KEYS = {"postgres": "unnest(ARRAY[{0}])", "spark": "explode(array({0}))", "duckdb": "unnest([{0}])"}
# PostgreSQL would else put each use of a position in the place of its name, and reckon it once for every use
BARRIER = {"postgres": " OFFSET 0"}


def joints(engine: Engine, rows: str, plan: Plan) -> list[np.ndarray]:
    """Flat joint counts of ``rows``, a query's relation whose columns p0, p1, ... are positions, or -1.

    Errors: InputError, never the engine's words.
    """
    query = f"SELECT {', '.join(f'p{i}' for i in columns_of(plan))} FROM {rows}"
    if engine.dialect.name == "duckdb":
        parts = engine.arrow(query, BATCH)
        return block_counts.counted(([c.to_numpy(zero_copy_only=False) for c in b.columns] for b in parts), plan)
    if engine.dialect.name == "spark" and engine.has_python():
        return block_counts.split(*engine.mapped(query, plan, BATCH), plan)
    return by_keys(engine, rows, plan)


def columns_of(plan: Plan) -> range:
    """The numbers of the columns that a plan names: all from the first on."""
    return range(1 + max(axis.column for axis in plan.axes))


def by_keys(engine: Engine, rows: str, plan: Plan) -> list[np.ndarray]:
    """Flat joint counts by one query that counts keys."""
    barrier = BARRIER.get(engine.dialect.name, "")
    bins = ", ".join(f"{_binned(plan, i)} AS g{i}" for i in range(len(plan.axes)))
    keys = ", ".join(_keys(plan))
    found = f"(SELECT {bins} FROM (SELECT * FROM {rows}{barrier}) AS held_rows{barrier}) AS binned_rows"
    each = KEYS[engine.dialect.name].format(keys)
    query = f"SELECT k, COUNT(*) FROM (SELECT {each} AS k FROM {found}) AS keyed_rows GROUP BY k"
    told = [np.array(part, dtype=np.int64) for part in engine.rows(query)]
    places, counts = np.concatenate(told).T if told else np.zeros((2, 0), dtype=np.int64)
    return block_counts.split(places, counts, plan)


def _binned(plan: Plan, at: int) -> str:
    axis = plan.axes[at]
    return binned(f"p{axis.column}", axis.cells, axis.starts, axis.bins[:-1], lost=int(axis.bins[-1]))


def _keys(plan: Plan) -> Sequence[str]:
    """For each block the place of a row's cell among all cells."""
    keys, first = [], 0
    for at, length in enumerate(plan.lengths()):
        flat = "CAST(0 AS BIGINT)"
        for i, size in zip(plan.blocks[at], plan.shape(at), strict=True):
            flat = f"({flat}) * {size} + g{i}"
        keys.append(f"{flat} + {first}")
        first += length
    return keys
