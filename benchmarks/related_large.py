"""Related tables of many rows: seconds and peak memory of the whole command, from files or a database to a release.

    python benchmarks/related_large.py [--roots 1000000] [--children 5] [--columns 12] [--epsilon 3.2] [--runs 1]
                                       [--kind parquet|csv|postgres]

Makes as many roots, each with up to twice ``--children`` rows below it, both tables with ``--columns`` columns that
depend on each other and across the tables; runs ``synth run`` on them as a process of its own. ``--folder`` keeps
them, or takes those that are there. ``postgres``: in a PostgreSQL that is started for it, whose own memory is not
counted; of either kind the last runs stay in the file. Prints Markdown, writes benchmarks/results/related_large.json.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from markdown_tables import filled
from public_tables import SYNTH
from runner import Row, read, spent, start, write

SIZES = (2, 3, 5, 6, 8, 10, 12, 16, 20, 24, 30, 40)  # categories of the columns, in turn
CLASSES = 16  # of roots, which columns of both tables follow


def names(columns: int) -> list[str]:
    """The columns' names, the same in both tables."""
    return [f"c{i:02d}" for i in range(columns)]


def cells(owner: np.ndarray, columns: int, rng: np.random.Generator) -> dict[str, pa.Array]:
    """Columns (n,) of categories: half follow the root's class, every one its neighbour's in part."""
    results, before = {}, owner
    for i, name in enumerate(names(columns)):
        size = SIZES[i % len(SIZES)]
        own = (rng.random(len(owner)) ** 2 * size).astype(np.int16)
        follow = rng.random(len(owner)) < 0.5
        codes = np.where(follow, (before * (i + 3)) % size, own).astype(np.int16)
        before = codes if i % 2 else owner
        values = pa.array([f"v{k}" for k in range(size)])
        results[name] = pa.DictionaryArray.from_arrays(pa.array(codes), values).cast(pa.string())
    return results


def make(folder: Path, *, roots: int, children: int, columns: int, kind: str) -> None:
    """Both tables as files, and their schema."""
    rng = np.random.default_rng(7)
    owner = rng.integers(0, CLASSES, roots).astype(np.int16)
    many = rng.binomial(2 * children, 0.3 + 0.4 * owner / (CLASSES - 1))
    parent = np.repeat(np.arange(roots), many)
    rng.shuffle(parent)
    whole = {
        "roots": {"id": pa.array(np.arange(roots)), **cells(owner, columns, rng)},
        "events": {"id": pa.array(parent), **cells(owner[parent], columns, rng)},
    }
    lists = {n: [f"v{k}" for k in range(SIZES[i % len(SIZES)])] for i, n in enumerate(names(columns))}
    facts = {n: {"type": "categorical", "categories": texts} for n, texts in lists.items()}
    for name, table in whole.items():
        if kind == "parquet":
            pq.write_table(pa.table(table), folder / f"{name}.parquet")
        else:
            pyarrow.csv.write_csv(pa.table(table), folder / f"{name}.csv")
    schema = {
        "dataset": "large",
        "tables": {n: {"columns": {"id": {"type": "identifier"}, **facts}} for n in whole},
        "keys": [{"parent": "roots", "child": "events", "columns": ["id"], "most_children": 2 * children}],
    }
    (folder / "schema.json").write_text(json.dumps(schema))


@contextmanager
def given_as(folder: Path, kind: str) -> Iterator[list]:
    """The words that name the tables: their folder, or a database that has them as text."""
    if kind != "postgres":
        yield [folder]
        return
    from tests.engines import QUOTED, Engine, postgres_server

    with postgres_server(Path("/tmp") / f"facsimile-large-{os.getpid()}", "-c fsync=off") as (port, _):
        address = f"postgres://steward:{QUOTED}@127.0.0.1:{port}/postgres"
        connection = Engine(address, writing=True).backend.con
        for path in sorted(folder.glob("*.csv")):
            with connection.cursor() as cursor, path.open("rb") as rows:
                header = rows.readline().decode().strip()
                named = [n.strip('"') for n in header.split(",")]
                cursor.execute(f'CREATE TABLE "{path.stem}" ({", ".join(f"{n} text" for n in named)})')
                with cursor.copy(f'COPY "{path.stem}" FROM STDIN WITH (FORMAT csv)') as copy:
                    while block := rows.read(1 << 20):
                        copy.write(block)
        connection.commit()
        connection.close()
        yield ["--source", address]


def run(folder: Path, tables: list, epsilon: float) -> Row:
    """One command: what it took."""
    with TemporaryDirectory() as out:
        words = [*SYNTH, "run", *tables, "--schema", folder / "schema.json", "--epsilon", epsilon, "--delta", 1e-6]
        words += ["--out", f"{out}/release", "--ledger", f"{out}/ledger.sqlite", "--json"]
        cost, said = spent(*words)
    return cost | {"rows": json.loads(said)["num_rows"]}


def main(given) -> None:
    """Makes, runs, prints, writes."""
    about = {"roots": given.roots, "columns": given.columns, "kind": given.kind}
    with TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "schema.json").exists():
            make(folder, children=given.children, **about)
        with given_as(folder, given.kind) as tables:
            results = [
                {**about, "epsilon": given.epsilon, **run(folder, tables, given.epsilon)} for _ in range(given.runs)
            ]
    sizes = [" + ".join(f"{n:,} {t}" for t, n in r["rows"].items()) for r in results]
    rows = [r | {"size": s, "gib": r["peak_mib"] / 1024} for r, s in zip(results, sizes, strict=True)]
    cells = "{size}|{seconds:.0f}|{cpu_seconds:.0f}|{gib:.2f} GiB"
    print(filled(rows, "rows|seconds|seconds of processor|peak memory", cells))
    write(given.json, [r for r in read(given.json, []) if r["kind"] != given.kind] + results)


if __name__ == "__main__":
    usual = {"roots": 1_000_000, "children": 5, "columns": 12, "epsilon": 3.2, "runs": 1}
    start(main, json="related_large", kind=("parquet", "csv", "postgres"), folder=Path, **usual)
