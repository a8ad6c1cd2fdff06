"""The tables of canaries, written where a run takes them from: files, a frame, or an engine that the caller names."""

import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from synth.errors import InputError
from synth.evaluate.audit.observed_runs import PRIOR
from synth.evaluate.audit.whole_canaries import TABLE, Canary
from synth.pipeline.run import run as synthesise
from synth.sources.engines.engine import Engine

TYPES = {"amount": ("double precision", pa.float64()), "day": ("date", pa.date32())}
TEXT = ("text", pa.string())


@contextmanager
def placed(canary: Canary, tables: Mapping[str, pd.DataFrame], place: Path) -> Iterator[tuple[Any, str | None]]:
    """One of the canary's sides as what `synth.run` takes, (table, source); in a database it is gone afterwards.

    Of related tables a folder with a file for each; of persons who keep their rows the only file.

    ``place``: a folder for files. Errors: InputError where the engine cannot be reached, or makes no table.
    """
    ((only, table), *others) = tables.items()
    if canary.tree:
        (place / "tables").mkdir(exist_ok=True)
        for name, one in tables.items():
            one.to_csv(place / "tables" / f"{name}.csv", index=False)
        yield place / "tables" if others else place / "tables" / f"{only}.csv", None
    elif canary.kind == "postgres":
        assert canary.source is not None
        name = f"facsimile_audit_{secrets.token_hex(6)}"
        engine = Engine(canary.source, writing=True)
        _store(engine, name, table)
        try:
            yield name, canary.source
        finally:
            _executed(engine, f"DROP TABLE {name}")
    elif canary.source is not None:  # Spark and DuckDB read Parquet files
        kinds = pa.schema([(n, TYPES.get(n, TEXT)[1]) for n in table.columns])
        pq.write_table(pa.Table.from_pandas(table, schema=kinds, preserve_index=False), place / "table.parquet")
        yield place / "table.parquet", canary.source
    else:
        if canary.prior:
            _swapped(canary, table, place)
        yield _written(table, canary.kind, place)


def _swapped(canary: Canary, table: pd.DataFrame, place: Path) -> None:
    """An earlier release, of other rows, in which the table stands where the synthetic one was."""
    synthesise(
        pd.DataFrame([*canary.instead[TABLE]] * len(table), columns=table.columns),
        schema=canary.schema,
        epsilon=1.0,
        delta=1e-5,
        method="independent",
        dataset="before",
        ledger=place / "ledger.sqlite",
        out=place / PRIOR,
        num_rows=len(table),
    )
    table.to_csv(place / PRIOR / "synthetic.csv", index=False)


def _written(table: pd.DataFrame, kind: str, place: Path) -> tuple[Any, str | None]:
    if kind == "frame":
        return table, None
    if kind == "csv":
        table.to_csv(place / "table.csv", index=False)
        return place / "table.csv", None
    if kind == "parquet":
        table.infer_objects().to_parquet(place / "table.parquet", index=False)
        return place / "table.parquet", None
    if kind == "xlsx":
        return _workbook(table, place), None
    import duckdb

    with duckdb.connect(place / "table.duckdb") as con:
        kinds = {n: "TIMESTAMP" if n == "day" else "VARCHAR" for n in table.columns}
        con.execute(f"CREATE TABLE audited ({', '.join(f'{n} {k}' for n, k in kinds.items())})")
        con.register("given", table)
        con.execute("INSERT INTO audited SELECT * FROM given")
    return "audited", f"duckdb:///{place / 'table.duckdb'}"


def _workbook(table: pd.DataFrame, place: Path) -> Path:
    """A workbook in whose texts an escape such as ``_xD800_`` stands for a character, as a text of Excel's does."""
    table.to_excel(place / "escaped.xlsx", index=False)
    with zipfile.ZipFile(place / "escaped.xlsx") as plain, zipfile.ZipFile(place / "table.xlsx", "w") as book:
        for name in plain.namelist():
            book.writestr(name, plain.read(name).replace(b"_x005F_", b"_"))
    (place / "escaped.xlsx").unlink()
    return place / "table.xlsx"


def _store(engine: Engine, name: str, table: pd.DataFrame) -> None:
    """A new table of PostgreSQL."""
    _executed(engine, f"CREATE TABLE {name} ({', '.join(f'{n} {TYPES.get(n, TEXT)[0]}' for n in table.columns)})")
    with engine.backend.con.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
        for row in table.itertuples(index=False, name=None):
            copy.write_row(row)
    engine.backend.con.commit()


def _executed(engine: Engine, statement: str) -> None:
    """Errors: InputError, never the engine's words."""
    try:
        with engine.backend.con.cursor() as cursor:
            cursor.execute(statement)
        engine.backend.con.commit()
    except InputError:
        raise
    except Exception:
        raise InputError(
            f"source {engine.shown}: this account may not create a table for the audit; use one that may"
        ) from None
