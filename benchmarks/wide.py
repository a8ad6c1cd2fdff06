"""A thousand columns: time, memory, errors of 1,000 random pairs beside `independent`, a bootstrap and a fresh draw.

    python benchmarks/wide.py                       # 1,000 columns x 100,000 rows, epsilon 1, delta 1e-6
    python benchmarks/wide.py --columns 300 --rows 20000 --json /tmp/wide.json

Simulated, since a real table of a thousand columns is not at hand: each column follows one of five causes shared by two
hundred columns, three in ten also one of a block of thirty, and every twentieth is a neighbour's noisy copy; 2 to 12
categories of uneven weight. Each run is a process of its own. Errors are total variations over the categories, pairs
drawn from a fixed seed; `dependent` are the 200 that depend most among 20,000 others. Written to
benchmarks/results/wide_columns.json.
"""

import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from runner import Row, apart, start, sure, tell
from staged import described, staged

CAUSES, SHARED, BLOCK, COPIED = 5, 200, 30, 20
PAIRS, SOUGHT, DEPENDENT = 1000, 20_000, 200
EPSILON, DELTA = 1.0, 1e-6
METHODS = ("independent", "mixture")


def categories(columns: int) -> np.ndarray:
    """How many each column has, (columns,)."""
    return np.random.default_rng(1).integers(2, 13, columns)


def draw(rows: int, columns: int, seed: int) -> np.ndarray:
    """Codes (rows, columns) uint8; the law is the same for every seed."""
    law, rng = np.random.default_rng(2), np.random.default_rng(seed)
    sizes = categories(columns)
    causes = rng.standard_normal((CAUSES, rows), dtype=np.float32)
    blocks = rng.standard_normal((columns // BLOCK + 1, rows), dtype=np.float32)
    codes = np.empty((rows, columns), dtype=np.uint8)
    for j in range(columns):
        shared, own = law.uniform(0.2, 0.6), law.uniform(0.4, 0.7) * (law.random() < 0.3)
        cuts = np.sort(law.standard_normal(sizes[j] - 1))
        rest = np.sqrt(max(1 - shared**2 - own**2, 0.0))
        value = shared * causes[(j // SHARED) % CAUSES] + own * blocks[j // BLOCK]
        value = value + rest * rng.standard_normal(rows, dtype=np.float32)
        codes[:, j] = np.searchsorted(cuts, value)
        if j % COPIED == 1:
            copied = rng.random(rows) < 0.8
            codes[copied, j] = np.minimum(codes[copied, j - 1], sizes[j] - 1)
    return codes


def prepare(folder: Path, rows: int, columns: int) -> None:
    """The table and its schema."""
    codes, names = draw(rows, columns, 0), [f"c{j:04d}" for j in range(columns)]
    pq.write_table(pa.table({n: codes[:, j].astype(np.int16) for j, n in enumerate(names)}), folder / "table.parquet")
    texts = {n: [str(v) for v in range(k)] for n, k in zip(names, categories(columns).tolist(), strict=True)}
    facts = {n: {"type": "categorical", "categories": t} for n, t in texts.items()}
    described(folder, {"dataset": "simulated", "columns": facts})


def measured(folder: Path, method: str) -> Row:
    """A forecast, then a run by the library."""
    import synth

    schema, how = synth.Schema.load(folder / "schema.json"), {"epsilon": EPSILON, "delta": DELTA, "method": method}
    rows = pq.ParquetFile(folder / "table.parquet").metadata.num_rows
    start = time.process_time()
    reported = synth.plan(schema, rows=rows, **how)
    forecast = {n: getattr(reported, n) for n in ("seconds", "peak_mib", "error_two_way")}
    forecast["took"] = time.process_time() - start
    start = time.process_time()
    result = staged(folder, num_rows=rows, out=folder / method, **how)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"forecast": forecast, "processor": time.process_time() - start} | result | {"peak_mib": peak}


def rows_of(folder: Path, method: str) -> np.ndarray:
    """The synthetic table as codes."""
    from pyarrow import csv

    table = csv.read_csv(folder / method / "synthetic.csv")
    return np.column_stack([table[n].to_numpy().astype(np.uint8) for n in table.column_names])


def shares(codes: np.ndarray, pairs: np.ndarray) -> list[np.ndarray]:
    """Relative tables of pairs, 16 x 16."""
    flat = (codes[:, i].astype(np.int64) * 16 + codes[:, j] for i, j in pairs)
    return [np.bincount(f, minlength=256).reshape(16, 16) / len(codes) for f in flat]


def depends(table: np.ndarray) -> float:
    """Total variation to independence."""
    return float(np.abs(table - np.outer(table.sum(1), table.sum(0))).sum() / 2)


def errors(real: np.ndarray, others: dict[str, np.ndarray]) -> dict[str, Any]:
    """Mean total variation of random and of dependent pairs, by the table compared."""
    rng, columns = np.random.default_rng(3), real.shape[1]
    some = np.stack([rng.choice(columns, 2, replace=False) for _ in range(PAIRS + SOUGHT)])
    rest = some[PAIRS:]
    strength = np.array([depends(t) for t in shares(real[:5000], rest)])
    kinds = {"random": some[:PAIRS], "dependent": rest[np.argsort(-strength)[:DEPENDENT]]}
    out: dict[str, Any] = {}
    for kind, pairs in kinds.items():
        goal = shares(real, pairs)
        out[kind] = {"dependence": float(np.mean([depends(t) for t in goal]))}
        for name, codes in others.items():
            each = [np.abs(a - b).sum() / 2 for a, b in zip(shares(codes, pairs), goal, strict=True)]
            out[kind][name] = float(np.mean(each))
    return out


def main(given) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, given.rows, given.columns)
        row: Row = {"columns": given.columns, "rows": given.rows, "epsilon": EPSILON, "delta": DELTA}
        row |= {method: sure(apart(measured, folder, method)) for method in METHODS}
        real = draw(given.rows, given.columns, 0)
        again = real[np.random.default_rng(4).integers(0, len(real), len(real))]
        others = {m: rows_of(folder, m) for m in METHODS}
        row["errors"] = errors(real, {**others, "bootstrap": again, "fresh": draw(given.rows, given.columns, 5)})
    tell(given.json, row)


if __name__ == "__main__":
    start(main, json="wide_columns", columns=1000, rows=100_000)
