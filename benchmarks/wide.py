"""A thousand columns: time, memory, errors of 1,000 random pairs beside `independent`, a bootstrap and a fresh draw.

    python benchmarks/wide.py                       # 1,000 columns x 100,000 rows, epsilon 1, delta 1e-6
    python benchmarks/wide.py --columns 300 --rows 20000 --json /tmp/wide.json

Simulated, since a real table of a thousand columns is not at hand: 2 to 12 categories of uneven weight; of the first
six tenths of the columns every second one follows the one before it alone, one half by a correlation of 0.6 to 0.9, the
other by any other value for each of its values in half to nine tenths of the rows;
all else are weak causes. Each run is a process of its own. Errors are total
variations over the categories, pairs drawn from a fixed seed; `dependent` are the 200 that depend most among 20,000
others, `strongest` the 300 that depend most of all, by a fresh draw. ``mixture, uses`` has ten tables of three columns
named, whose errors are those of `named`. Written to benchmarks/results/wide_columns.json.
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
from scaling import described, staged

CAUSES = 5
PAIRS, SOUGHT, DEPENDENT = 1000, 20_000, 200
STRONG, LOOKED = 300, 20_000  # pairs, and rows of a fresh draw by which they are the strongest
EPSILON, DELTA = 1.0, 1e-6
NAMED = "mixture, uses"
METHODS = ("independent", "mixture", NAMED)


def categories(columns: int) -> np.ndarray:
    """How many each column has, (columns,)."""
    return np.random.default_rng(1).integers(2, 13, columns)


def draw(rows: int, columns: int, seed: int) -> np.ndarray:
    """Codes (rows, columns) uint8: two strong pairs of every ten columns, but for the last four tenths; weak causes."""
    law, rng = np.random.default_rng(2), np.random.default_rng(seed)
    sizes = categories(columns)
    causes = rng.standard_normal((CAUSES, rows), dtype=np.float32)
    codes, before = np.empty((rows, columns), dtype=np.uint8), np.empty(0)
    for j in range(columns):
        weak, strength = law.uniform(0.0, 0.15), law.uniform(0.6, 0.9)
        cuts, other = np.sort(law.standard_normal(sizes[j] - 1)), law.permutation(sizes[j])
        value = weak * causes[j % CAUSES] + np.sqrt(1 - weak**2) * rng.standard_normal(rows, dtype=np.float32)
        child = j % 2 == 1 and j < 0.6 * columns
        if child and j % 4 == 1:
            value = strength * before + np.sqrt(1 - strength**2) * value
        codes[:, j] = np.searchsorted(cuts, value)
        if child and j % 4 == 3:
            copied = rng.random(rows) < strength * 4 / 3 - 0.3
            codes[copied, j] = other[np.minimum(codes[copied, j - 1], sizes[j] - 1)]
        before = value
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

    schema, how = synth.Schema.load(folder / "schema.json"), {"epsilon": EPSILON, "delta": DELTA}
    how |= {"method": method.partition(",")[0], "uses": named(len(schema.columns)) if method == NAMED else []}
    rows = pq.ParquetFile(folder / "table.parquet").metadata.num_rows
    start = time.process_time()
    reported = synth.plan(schema, rows=rows, **how)
    forecast = {n: getattr(reported, n) for n in ("seconds", "peak_mib", "error_two_way")}
    forecast["took"] = time.process_time() - start
    start = time.process_time()
    result = staged(folder, num_rows=rows, out=folder / method, **how)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"forecast": forecast, "processor": time.process_time() - start} | result | {"peak_mib": peak}


def tables(columns: int) -> np.ndarray:
    """Ten tables of three columns that follow each other, (10, 3)."""
    return np.linspace(0, columns - 3, 10).astype(int)[:, None] + np.arange(3)


def named(columns: int) -> list[str]:
    """The same as uses."""
    return [" by ".join(f"c{j:04d}" for j in table) for table in tables(columns).tolist()]


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


def strongest(codes: np.ndarray) -> np.ndarray:
    """The pairs that depend most in these rows, (300, 2): by total variation beyond chance."""
    rows, columns = codes.shape
    ends = np.cumsum([0, *(codes.max(0).astype(int) + 1)])
    marks = np.zeros((rows, ends[-1]), dtype=np.float32)
    marks[np.arange(rows)[:, None], codes + ends[:-1]] = 1
    single = marks.mean(0)
    off = np.abs(marks.T @ marks / rows - np.outer(single, single)) - np.sqrt(np.outer(single, single) / rows)
    whole = np.add.reduceat(np.add.reduceat(off, ends[:-1], axis=0), ends[:-1], axis=1)
    left, right = np.triu_indices(columns, 1)
    best = np.argsort(-whole[left, right], kind="stable")[: min(STRONG, len(left))]
    return np.stack([left[best], right[best]], axis=1)


def triples(real: np.ndarray, others: dict[str, np.ndarray]) -> dict[str, float]:
    """Mean total variation of the named tables."""

    def shares_of(codes: np.ndarray) -> list[np.ndarray]:
        flat = (codes[:, t].astype(np.int64) @ [256, 16, 1] for t in tables(codes.shape[1]))
        return [np.bincount(f, minlength=4096) / len(codes) for f in flat]

    goal = shares_of(real)
    each = {n: [np.abs(a - b).sum() / 2 for a, b in zip(shares_of(c), goal, strict=True)] for n, c in others.items()}
    return {n: float(np.mean(e)) for n, e in each.items()}


def errors(real: np.ndarray, others: dict[str, np.ndarray], strong: np.ndarray) -> dict[str, Any]:
    """Mean total variation of random, of dependent and of the strongest pairs, by the table compared."""
    rng, columns = np.random.default_rng(3), real.shape[1]
    some = np.stack([rng.choice(columns, 2, replace=False) for _ in range(PAIRS + SOUGHT)])
    rest = some[PAIRS:]
    strength = np.array([depends(t) for t in shares(real[:5000], rest)])
    kinds = {"random": some[:PAIRS], "dependent": rest[np.argsort(-strength)[:DEPENDENT]], "strongest": strong}
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
        folder, drawn = Path(name), {"columns": given.columns}
        prepare(folder, given.rows, **drawn)
        row: Row = {**drawn, "rows": given.rows, "epsilon": EPSILON, "delta": DELTA}
        row |= {method: sure(apart(measured, folder, method)) for method in METHODS}
        real, fresh = draw(given.rows, seed=0, **drawn), draw(given.rows, seed=5, **drawn)
        again = real[np.random.default_rng(4).integers(0, len(real), len(real))]
        others = {m: rows_of(folder, m) for m in METHODS} | {"bootstrap": again, "fresh": fresh}
        row["errors"] = errors(real, others, strongest(draw(LOOKED, seed=6, **drawn)))
        row["errors"]["named"] = triples(real, others)
    tell(given.json, row)


if __name__ == "__main__":
    start(main, json="wide_columns", columns=1000, rows=100_000)
