"""Databases and clusters reached through Ibis: where they are, how to ask them, and what stays unsaid about it.

A password may stand in the address; it is used and never shown: not in a name, a representation, a message or a log.
Better leave it out: PostgreSQL's ~/.pgpass and PGPASSWORD are read by the driver.
"""

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, unquote, urlsplit

import pyarrow as pa

from synth.errors import InputError, UsageError, need
from synth.sources.engines import addresses, duckdb, spark_session
from synth.sources.engines.duckdb import MEMORY, present
from synth.sources.engines.sql import DIALECTS, SqlDialect
from synth.sources.formats import arrow_text, files
from synth.sources.formats.files import parquet_files

SCHEMES = {"postgres": "postgres", "postgresql": "postgres", "duckdb": "duckdb", "spark": "spark"}
KNOWN = "postgres://user@host/database, duckdb:///file.duckdb, sqlite:///file.db (to read), spark, or spark://host:7077"
EXTRAS = {"databases": ("ibis", "psycopg"), "spark": ("pyspark",)}  # what each brings
REMEDY = {
    "duckdb": "it must be a file of DuckDB that nobody writes to meanwhile, nor reads where rows are put there",
    "spark": "look whether its master and workers run, and whether Java 17 is here",
}
FETCH = 1 << 16  # rows fetched at a time


@dataclass(frozen=True)
class Engine:
    """An engine named by its address. Nothing is connected to before it is asked.

    Without ``writing`` the connection refuses to write. ``files``: those that DuckDB may read beside its database.

    >>> Engine("postgres://ann:secret@db.example:5433/census?sslmode=require").shown
    'postgres://db.example:5433/census'
    """

    address: str = field(repr=False)
    writing: bool = False
    files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        """Errors: UsageError for an address of no known engine."""
        if self._parts.scheme not in SCHEMES:
            raise UsageError(f"`source=`: no engine of this kind is known; write {KNOWN}")
        if self._parts.scheme == "spark" and self._parts.path.strip("/"):
            raise UsageError("`source=`: a cluster's address has no path; write spark://host:7077, or spark alone")

    def __repr__(self) -> str:
        """Without user and password."""
        return f"Engine({self.shown!r})"

    @property
    def _parts(self) -> SplitResult:
        try:
            text = addresses.address(self.address) or self.address
            result = urlsplit(text if ":" in text else f"{text}:")
            _ = result.port  # it is only looked at now
        except ValueError:
            raise UsageError(f"`source=`: the address cannot be read; write {KNOWN}") from None
        return result

    @property
    def dialect(self) -> SqlDialect:
        """How the engine writes SQL; its name is the engine's."""
        return DIALECTS[SCHEMES[self._parts.scheme]]

    @property
    def shown(self) -> str:
        """The address without user, password and options: fit for a ledger, a card, a log."""
        parts = self._parts
        if self.dialect.name == "spark" and not parts.netloc:
            return "spark"
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
        return f"{self.dialect.name}://{host}{port}{parts.path}"

    @property
    def identity(self) -> str:
        """What the address stands for, the same however it is written (addresses.py); without user and password."""
        name = self.dialect.name
        if name == "spark":  # whichever cluster reads it, a table is the same
            return name
        if name == "duckdb" and self._parts.path:
            return f"duckdb://{addresses.file(unquote(self._parts.path))}"
        return addresses.postgres(self._parts) if name == "postgres" else self.shown

    @cached_property
    def backend(self) -> Any:
        """Ibis' connection. Errors: InputError when there is none; UsageError without the extra that it needs."""
        for extra, modules in EXTRAS.items():
            if extra == "databases" or self.dialect.name == extra:
                need(f"source {self.shown}", extra, *modules)
        try:
            import ibis

            return getattr(self, f"_{self.dialect.name}")(ibis)
        except (InputError, UsageError):
            raise
        except Exception:  # drivers raise many kinds, and their texts may repeat the address
            remedy = REMEDY.get(self.dialect.name, "check its address, user and password (~/.pgpass or PGPASSWORD)")
            raise InputError(f"source {self.shown}: cannot be connected to; {remedy}") from None

    def _postgres(self, ibis: Any) -> Any:
        parts = self._parts
        options = dict(p.split("=", 1) for p in parts.query.split("&") if "=" in p)
        given = {
            "host": parts.hostname,
            "port": parts.port,
            "user": _plain(parts.username),
            "password": _plain(parts.password),
            "database": unquote(parts.path.lstrip("/")) or None,
        }
        result = ibis.postgres.connect(**{n: v for n, v in given.items() if v is not None}, **options)
        with result.con.cursor() as cursor:  # dates as text are those of ISO 8601, whatever the server's manners
            cursor.execute("SET datestyle TO ISO, YMD")
            if not self.writing:
                cursor.execute("SET default_transaction_read_only = on")
        result.con.commit()
        return result

    def _duckdb(self, ibis: Any) -> Any:
        path = unquote(self._parts.path)
        if path and not os.path.exists(path):
            raise InputError(f"source {self.shown}: no such file; check the name")
        # what a load holds until it is committed goes to the disk beyond this
        con = duckdb.connected(**({"memory_limit": MEMORY} if self.writing else {}))
        if path:
            duckdb.attach(con, Path(path), writing=self.writing)
        result = ibis.duckdb.from_connection(con)  # it sets the time zone: before settings are locked
        duckdb.close_off(con, self.files)
        return result

    def _spark(self, ibis: Any) -> Any:
        return ibis.pyspark.connect(
            spark_session.session(f"spark://{self._parts.netloc}" if self._parts.netloc else None)
        )

    def beside(self, path: Path) -> Self:
        """This engine with leave to read a Parquet file, or those of a folder."""
        return replace(self, files=tuple(parquet_files(path)))

    def parquet(self, path: Path, *, view: str) -> Any:
        """A Parquet file, or those of a folder, as an Ibis table; signs in the name stand for themselves.

        Errors: InputError, also where a file has two columns that are one to an engine.
        """
        for part in parquet_files(path):
            files.header(part)
        if self.dialect.name == "duckdb":
            present(self.backend.con, parquet_files(path), view=view)
            return self.backend.table(view)
        listed = [str(p) for p in parquet_files(path)]
        read = self.backend._session.read.option("__globPaths__", "false").parquet(*listed)
        read.createOrReplaceTempView(view)
        return self.backend.table(view)

    def rows(self, query: str) -> Iterator[list[tuple]]:
        """What a query answers, some rows at a time. Errors: InputError, never the engine's words."""
        with self.answering():
            if self.dialect.name == "postgres":
                with self.backend.con.cursor() as cursor:
                    cursor.execute(query)
                    while result := cursor.fetchmany(FETCH):
                        yield result
            elif self.dialect.name == "duckdb":
                cursor = self.backend.con.execute(query)
                while result := cursor.fetchmany(FETCH):
                    yield result
            else:
                for batch in self.backend.raw_sql(query).toArrow().to_batches():
                    yield list(zip(*(c.to_pylist() for c in batch.columns), strict=True))

    def batches(self, query: Any) -> Iterator[pa.RecordBatch]:
        """An Ibis table, some rows at a time. Errors: as ``rows``."""
        with self.answering():
            if self.dialect.name == "duckdb":  # Ibis 12 asks DuckDB 2 for a method that is gone
                yield from self.backend.con.sql(self.backend.compile(query)).to_arrow_reader(FETCH)
            elif self.dialect.name == "spark":  # Ibis collects the whole table
                yield from self._partitions(query)
            else:
                yield from self.backend.to_pyarrow_batches(query, chunk_size=FETCH)

    def _partitions(self, query: Any) -> Iterator[pa.RecordBatch]:
        """Rows of an Ibis table on Spark, of which the driver holds one partition at a time: as Arrow's bytes, or row
        by row where executors have no Python."""
        types, session = query.schema().to_pyarrow(), self.backend._session
        frame = self.backend.raw_sql(self.backend.compile(query))
        if spark_session.has_python(session):
            for batch in spark_session.fetched(session, frame):
                cells = [arrow_text.valid_cells(pa.chunked_array([c])).chunk(0) for c in batch.columns]
                yield pa.record_batch([c.cast(f.type) for c, f in zip(cells, types, strict=True)], schema=types)
            return
        waiting = frame.toLocalIterator(prefetchPartitions=False)
        while rows := list(islice(waiting, FETCH)):
            columns = zip(*rows, strict=True)
            yield pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, types, strict=True)], schema=types)

    def tables(self, schema: str | None = None) -> list[str]:
        """Names of the tables and views of the user's own schema, or of another, sorted. Errors: as ``rows``."""
        if self.dialect.name == "spark":
            with self.answering():
                return sorted(self.backend.list_tables(**({"database": schema} if schema else {})))
        where = self.dialect.text(schema) if schema else "current_schema()"
        listed = f"SELECT table_name FROM information_schema.tables WHERE table_schema = {where}"
        return sorted(str(row[0]) for part in self.rows(listed) for row in part)

    def split(self, name: str) -> tuple[str | None, str]:
        """(schema, table) of a name such as ``public.people``; (None, name) where a table has it, point and all.

        On Spark the schema may be that of a further catalogue, ``census.public``. Errors: as ``rows``.
        """
        schema, _, table = name.rpartition(".") if self.dialect.name == "spark" else name.partition(".")
        return (None, name) if not (schema and table) or name in self.tables() else (schema, table)

    def qualified(self, schema: str | None, table: str) -> str:
        """The table's name in a query."""
        schemas = (schema or "").split(".") if self.dialect.name == "spark" else [schema]
        return ".".join(self.dialect.identifier(part) for part in (*schemas, table) if part)

    def store(self, name: str, parts: Iterable[Mapping[str, pa.Array]]) -> None:
        """A new table with the parts' rows, each part sent as it comes: all of them, or no table (Spark: or some rows).

        Errors: InputError, also where there is such a table.

        ``name``: as it is for a run, ``people`` or ``public.people``. The connection that reads is closed before, since
        DuckDB opens a file for writing once.
        """
        self.close()
        writer = replace(self, writing=True)
        try:
            writer._store(name, parts)
        finally:
            writer.close()

    def close(self) -> None:
        """Ends the connection; the next question makes a new one. Spark's session stays: it is the whole process's."""
        if self.dialect.name != "spark" and (backend := self.__dict__.pop("backend", None)) is not None:
            backend.con.close()

    def _store(self, name: str, parts: Iterable[Mapping[str, pa.Array]]) -> None:
        with self.answering(), self._transaction():
            schema, table = self.split(name)
            there = {"database": schema} if schema else {}
            if table in self.tables(schema):
                raise InputError(f"source {self.shown}: a table {name!r} exists already; choose another name")
            for number, columns in enumerate(parts):
                rows = pa.table(dict(columns))
                if number == 0:
                    self.backend.create_table(table, schema=_ibis_schema(rows.schema), **there)
                if self.dialect.name == "spark":
                    self.backend.insert(table, rows, **there)
                else:
                    load = self._copy if self.dialect.name == "postgres" else self._insert
                    load(self.qualified(schema, table), rows)

    def _copy(self, relation: str, table: pa.Table) -> None:
        """PostgreSQL's bulk load, not committed."""
        quoted = ", ".join(self.dialect.identifier(n) for n in table.column_names)
        load = f"COPY {relation} ({quoted}) FROM STDIN (FORMAT csv)"
        with self.backend.con.cursor() as cursor, cursor.copy(load) as copy:
            for batch in table.to_batches(FETCH):
                copy.write(_as_csv(batch))

    def _insert(self, relation: str, table: pa.Table) -> None:
        """An Arrow table into DuckDB, which forgets it (Ibis would keep every part in memory)."""
        self.backend.con.from_arrow(table).insert_into(relation)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Whatever is written is there at the end, and nothing of it if there is no end; Spark has no such thing."""
        if self.dialect.name == "spark":
            yield
        elif self.dialect.name == "postgres":
            with self.backend.con.transaction():
                yield
        else:
            self.backend.con.begin()
            yield
            self.backend.con.commit()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While the engine is asked: whatever goes wrong is said without its words. Errors: InputError."""
        attended = spark_session.attended(self.backend._session) if self.dialect.name == "spark" else nullcontext()
        try:
            with attended:
                yield
        except (InputError, UsageError, GeneratorExit):
            raise
        except Exception:
            raise InputError(f"source {self.shown}: the engine could not answer; look into its own log") from None


def _ibis_schema(types: pa.Schema) -> Any:
    import ibis

    return ibis.schema({f.name: ibis.dtype(f.type) for f in types})


def _plain(text: str | None) -> str | None:
    return unquote(text) if text is not None else None


def _as_csv(rows: pa.RecordBatch) -> str:
    """Rows without a header; every text is quoted, and what is not there is nothing, which COPY takes for NULL."""
    from pyarrow import csv

    out = io.BytesIO()
    csv.write_csv(rows, out, csv.WriteOptions(include_header=False))
    return out.getvalue().decode()
