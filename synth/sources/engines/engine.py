"""Databases and clusters reached through Ibis, a class each with what differs: how to ask them, and what stays unsaid.

A password may stand in the address; it is used and never shown: not in a name, a representation, a message or a log.
Better leave it out: PostgreSQL's ~/.pgpass and PGPASSWORD are read by the driver.

All joint tables of a question are counted in one pass over an engine's rows; only counts leave the engine. DuckDB runs
inside this process: its rows are counted as it hands them over, a few at a time. On Spark each executor counts its own
partitions (block_counts.py) and Spark adds them; where executors have no Python, and in PostgreSQL, one query makes of
every row one key for each joint table and counts keys. Partial counts are exact whole numbers whose sum does not depend
on their order: an executor that is lost costs its work, which Spark does again, and nothing else.
"""

import io
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import SplitResult, unquote, urlsplit

import numpy as np
import pyarrow as pa

from synth.errors import InputError, UsageError, need
from synth.schema.related_names import Reference
from synth.sources.engines import addresses, duckdb, spark_session
from synth.sources.engines.spark_session import ANSWER, sent
from synth.sources.engines.sql import DUCKDB, POSTGRES, SPARK, SqlDialect, binned
from synth.sources.formats import arrow_text, files
from synth.sources.rows import block_counts
from synth.sources.rows.block_counts import CountPlan

KNOWN = "postgres://user@host/database, duckdb:///file.duckdb, sqlite:///file.db (to read), spark, or spark://host:7077"
FETCH = 1 << 16  # rows fetched at a time
MOST_BINS = 400  # columns of bins of a query: PostgreSQL has room for 1,664, and tables beyond take another pass
SPELLING = 130000  # the version of PostgreSQL since which it has NFKC, and hashes of 64 bits
POSTGRES_KEYS = """
SELECT c.oid::bigint, child.relname, a.attname, parent.relname, b.attname
FROM pg_constraint c
JOIN pg_class child ON child.oid = c.conrelid
JOIN pg_class parent ON parent.oid = c.confrelid
JOIN pg_namespace n ON n.oid = child.relnamespace
CROSS JOIN LATERAL unnest(c.conkey, c.confkey) WITH ORDINALITY AS k(own, theirs, place)
JOIN pg_attribute a ON a.attrelid = child.oid AND a.attnum = k.own
JOIN pg_attribute b ON b.attrelid = parent.oid AND b.attnum = k.theirs
WHERE c.contype = 'f' AND n.nspname = current_schema() AND parent.relnamespace = child.relnamespace
ORDER BY child.relname, c.oid, k.place
"""
DUCKDB_KEYS = """
SELECT constraint_index, table_name, unnest(constraint_column_names), referenced_table, unnest(referenced_column_names)
FROM duckdb_constraints()
WHERE constraint_type = 'FOREIGN KEY' AND database_name = current_database() AND schema_name = current_schema()
ORDER BY table_name, constraint_index
"""


def _parts(address: str) -> SplitResult:
    """The parts of an address. Errors: UsageError."""
    try:
        text = addresses.address(address) or address
        result = urlsplit(text if ":" in text else f"{text}:")
        _ = result.port  # it is only looked at now
    except ValueError:
        raise UsageError("`source=`: the address cannot be read; write {}", KNOWN) from None
    return result


@dataclass(frozen=True)
class Engine:
    """An engine named by its address, of that address's class. Nothing is connected to before it is asked.

    Without ``writing`` the connection refuses to write. ``files``: those that DuckDB may read beside its database.
    ``own``: the schema that need not be named. ``keys``: a query for the keys that tables declare. ``reads_files``:
    whether a table may be Parquet files. ``catalogues``: whether a schema may be that of a further catalogue,
    ``census.public``. ``identity``: what the address stands for, the same however it is written (addresses.py), without
    user and password. Errors: UsageError for an address of no known engine, or a cluster's with a path.

    >>> Engine("postgres://ann:secret@db.example:5433/census?sslmode=require").shown
    'postgres://db.example:5433/census'
    """

    address: str = field(repr=False)
    writing: bool = False
    files: tuple[Path, ...] = ()
    dialect: ClassVar[SqlDialect]
    own: ClassVar[str]
    keys: ClassVar[str] = ""
    remedy: ClassVar[str] = "check its address, user and password (~/.pgpass or PGPASSWORD)"
    reads_files: ClassVar[bool] = True
    catalogues: ClassVar[bool] = False
    identity: ClassVar[Any]

    # of each kind: connecting, files as a view, rows into a table, the query that counts keys, and the whole numbers
    # that a query answers, (n, columns), some rows at a time
    _connected: ClassVar[Any]
    _present: ClassVar[Any]
    _load: ClassVar[Any]
    _keyed: ClassVar[Any]
    positions: ClassVar[Any]

    def __new__(cls, address: str = "", *_: Any, **__: Any) -> Self:
        """Of the class that the address is for."""
        known = {"postgres": Postgres, "postgresql": Postgres, "duckdb": DuckDb, "spark": Spark}
        kind = known.get((parts := _parts(address)).scheme) if cls is Engine else cls
        if kind is None:
            raise UsageError("`source=`: no engine of this kind is known; write {}", KNOWN)
        if kind is Spark and parts.path.strip("/"):
            raise UsageError("`source=`: a cluster's address has no path; write spark://host:7077, or spark alone")
        return object.__new__(kind)  # type: ignore[return-value]

    def __repr__(self) -> str:
        """Without user and password."""
        return f"Engine({self.shown!r})"

    @property
    def _parts(self) -> SplitResult:
        return _parts(self.address)

    @property
    def shown(self) -> str:
        """The address without user, password and options: fit for a ledger, a card, a log."""
        parts = self._parts
        port = f":{parts.port}" if parts.port else ""
        return f"{self.dialect.name}://{parts.hostname or ''}{port}{parts.path}"

    @cached_property
    def backend(self) -> Any:
        """Ibis' connection. Errors: InputError when there is none; UsageError without the extra that it needs."""
        need(f"source {self.shown}", "databases", "ibis", "psycopg")
        try:
            return self._connected()
        except (InputError, UsageError):
            raise
        except Exception:  # drivers raise many kinds, and their texts may repeat the address
            remedy = self.remedy
            raise InputError("source {}: cannot be connected to; {}", self.shown, remedy) from None

    def parquet(self, path: Path, *, view: str) -> Any:
        """A Parquet file, or those of a folder, as an Ibis table; signs in the name stand for themselves.

        Errors: InputError, also where a file has two columns that are one to an engine.
        """
        for part in files.parquet_files(path):
            files.header(part)
        self._present(files.parquet_files(path), view)
        return self.backend.table(view)

    def rows(self, query: str) -> Iterator[list[tuple]]:
        """What a query answers, some rows at a time. Errors: InputError, never the engine's words."""
        with self.answering(), self.backend.con.cursor() as cursor:
            cursor.execute(query)
            while rows := cursor.fetchmany(FETCH):
                yield rows

    def batches(self, query: Any) -> Iterator[pa.RecordBatch]:
        """An Ibis table, some rows at a time. Errors: as ``rows``."""
        with self.answering():
            yield from self.backend.to_pyarrow_batches(query, chunk_size=FETCH)

    def tables(self, schema: str | None = None) -> list[str]:
        """Names of the tables and views of the user's own schema, or of another, sorted. Errors: as ``rows``."""
        where = self.dialect.text(schema) if schema else "current_schema()"
        listed = f"SELECT table_name FROM information_schema.tables WHERE table_schema = {where}"
        return sorted(str(row[0]) for part in self.rows(listed) for row in part)

    def split(self, name: str) -> tuple[str | None, str]:
        """(schema, table) of a name such as ``public.people``; (None, name) where a table has it, point and all.

        Errors: as ``rows``.
        """
        schema, _, table = name.rpartition(".") if self.catalogues else name.partition(".")
        return (None, name) if not (schema and table) or name in self.tables() else (schema, table)

    def qualified(self, schema: str | None, table: str) -> str:
        """The table's name in a query."""
        parts = [*(schema or "").split("."), table] if self.catalogues else [schema, table]
        return ".".join(self.dialect.identifier(part) for part in parts if part)

    def declared_keys(self) -> list[Reference]:
        """The foreign keys that the user's own schema declares: facts of the catalogue, no row is read.

        Errors: UsageError for an engine that has none; InputError.
        """
        if not self.keys:
            raise UsageError(
                "source {}: it declares no keys; name a folder of files, or state keys with `keys=`", self.shown
            )
        return grouped(row for part in self.rows(self.keys) for row in part)

    def store(self, name: str, parts: Iterable[Mapping[str, pa.Array]]) -> None:
        """A new table with the parts' rows, each part sent as it comes: all of them, or no table (Spark: or some rows).

        Errors: InputError, also where there is such a table.

        ``name``: as it is for a run, ``people`` or ``public.people``. The connection that reads is closed before, since
        DuckDB opens a file for writing once.
        """
        import ibis

        self.close()
        writer = replace(self, writing=True)
        try:
            with writer.answering(), writer._transaction():
                schema, table = writer.split(name)
                there = {"database": schema} if schema else {}
                if table in writer.tables(schema):
                    raise InputError("source {}: a table {!r} exists already; choose another name", self.shown, name)
                for number, columns in enumerate(parts):
                    rows = pa.table(dict(columns))
                    if number == 0:
                        types = ibis.schema({f.name: ibis.dtype(f.type) for f in rows.schema})
                        writer.backend.create_table(table, schema=types, **there)
                    writer._load(schema, table, rows)
        finally:
            writer.close()

    def close(self) -> None:
        """Ends the connection; the next question makes a new one. Spark's session stays: it is the whole process's."""
        if (backend := self.__dict__.pop("backend", None)) is not None:
            backend.con.close()

    def _transaction(self) -> AbstractContextManager[Any]:
        """Whatever is written is there at the end, and nothing of it if there is no end; Spark has no such thing."""
        return nullcontext()

    def _attended(self) -> AbstractContextManager[Any]:
        """While the engine works."""
        return nullcontext()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While the engine is asked: whatever goes wrong is said without its words. Errors: InputError."""
        try:
            with self._attended():
                yield
        except (InputError, UsageError, GeneratorExit):
            raise
        except Exception:
            raise InputError("source {}: the engine could not answer; look into its own log", self.shown) from None

    def counted(self, rows: str, plan: CountPlan) -> list[np.ndarray]:
        """The plan's tables, flat, of ``rows``, a relation whose columns p0, p1, ... are positions, or -1.

        Rows that weigh have the number of parts in one more column (CountPlan), and are counted where Python is.

        Errors: InputError, never the engine's words.
        """
        if plan.unit:
            raise ValueError("rows that weigh are counted where Python is")
        firsts = np.cumsum([0, *plan.lengths()]).tolist()
        whole = np.zeros(firsts[-1], dtype=np.int64)  # the cells of all blocks, one after the other
        for blocks in together(plan):  # by queries that count keys: one, unless there are very many groupings
            bins, keys = [], []
            for i in sorted({i for at in blocks for i in plan.blocks[at]}):
                axis = plan.axes[i]
                groups, lost = axis.bins[: len(axis.starts)], int(axis.bins[-1])
                bins.append(f"{binned(f'p{axis.column}', axis.cells, axis.starts, groups, lost=lost)} AS g{i}")
            for at in blocks:  # the place of a row's cell among all cells
                flat = "CAST(0 AS BIGINT)"
                for i, size in zip(plan.blocks[at], plan.shape(at), strict=True):
                    flat = f"({flat}) * {size} + g{i}"
                keys.append(f"{flat} + {firsts[at]}")
            for part in self.rows(self._keyed(rows, ", ".join(bins), ", ".join(keys))):
                places, counts = np.array(part, dtype=np.int64).T
                np.add.at(whole, places, counts)
        return block_counts.summed(np.split(whole, firsts[1:-1]), plan) if plan.blocks else []


def together(plan: CountPlan) -> list[list[int]]:
    """The blocks of each query, by their numbers: as many as ``MOST_BINS`` groupings allow."""
    queries: list[list[int]] = []
    bins: set[int] = set()
    for at, block in enumerate(plan.blocks):
        if not queries or len(bins | set(block)) > MOST_BINS:
            queries.append([])
            bins = set()
        queries[-1].append(at)
        bins |= set(block)
    return queries


def _listed(rows: str, plan: CountPlan) -> str:
    """The query of the columns that a plan is about."""
    columns = range(1 + max(axis.column for axis in plan.axes) + (plan.unit > 0))
    return f"SELECT {', '.join(f'p{i}' for i in columns)} FROM {rows}"


class Postgres(Engine):
    """A database of a PostgreSQL server."""

    dialect, own, keys, reads_files = POSTGRES, "public", POSTGRES_KEYS, False

    @property
    def identity(self) -> str:
        """By the driver's own rules."""
        return addresses.postgres(self._parts)

    def _connected(self) -> Any:
        import ibis

        parts = self._parts
        options = dict(p.split("=", 1) for p in parts.query.split("&") if "=" in p)
        given = {
            "host": parts.hostname,
            "port": parts.port,
            "user": parts.username and unquote(parts.username),
            "password": None if parts.password is None else unquote(parts.password),
            "database": unquote(parts.path.lstrip("/")) or None,
        }
        backend = ibis.postgres.connect(**{n: v for n, v in given.items() if v is not None}, **options)
        with backend.con.cursor() as cursor:  # dates as text are those of ISO 8601, whatever the server's manners
            cursor.execute("SET datestyle TO ISO, YMD")
            if not self.writing:
                cursor.execute("SET default_transaction_read_only = on")
        backend.con.commit()
        return backend

    def positions(self, query: str) -> Iterator[np.ndarray]:
        """As they come: the server holds what is not fetched."""
        con = self.backend.con
        with self.answering(), con.transaction(), con.cursor(name="synth_positions") as cursor:
            cursor.execute(query)
            while rows := cursor.fetchmany(FETCH):
                yield np.array(rows, dtype=np.int64)

    @property
    def spells_names(self) -> bool:
        """Where it has NFKC, in UTF-8."""
        info = self.backend.con.info
        return info.server_version >= SPELLING and info.parameter_status("server_encoding") == "UTF8"

    def _load(self, schema: str | None, table: str, rows: pa.Table) -> None:
        """Its bulk load, not committed. Every text is quoted, and what is not there is nothing, which is NULL to it."""
        from pyarrow import csv

        quoted = ", ".join(self.dialect.identifier(n) for n in rows.column_names)
        load = f"COPY {self.qualified(schema, table)} ({quoted}) FROM STDIN (FORMAT csv)"
        with self.backend.con.cursor() as cursor, cursor.copy(load) as copy:
            for batch in rows.to_batches(FETCH):
                out = io.BytesIO()
                csv.write_csv(batch, out, csv.WriteOptions(include_header=False))
                copy.write(out.getvalue().decode())

    def _transaction(self) -> AbstractContextManager[Any]:
        return self.backend.con.transaction()

    def _keyed(self, rows: str, bins: str, keys: str) -> str:
        """OFFSET 0: it would else put each use of a position in the place of its name, and reckon it for every use."""
        binned = f"(SELECT {bins} FROM (SELECT * FROM {rows} OFFSET 0) AS held_rows OFFSET 0) AS binned_rows"
        each = f"SELECT unnest(ARRAY[{keys}]) AS k FROM {binned}"
        return f"SELECT k, COUNT(*) FROM ({each}) AS keyed_rows GROUP BY k"


class DuckDb(Engine):
    """A file of DuckDB, or DuckDB alone, in this process."""

    dialect, own, keys = DUCKDB, "main", DUCKDB_KEYS
    remedy = "it must be a file of DuckDB that nobody writes to meanwhile, nor reads where rows are put there"

    @property
    def identity(self) -> str:
        """By where the file really lies."""
        path = unquote(self._parts.path)
        return f"duckdb://{addresses.file(path)}" if path else self.shown

    def _connected(self) -> Any:
        import ibis

        path = unquote(self._parts.path)
        if path and not os.path.exists(path):
            raise InputError("source {}: no such file; check the name", self.shown)
        # what a load holds until it is committed goes to the disk beyond this
        con = duckdb.connected(**({"memory_limit": duckdb.MEMORY} if self.writing else {}))
        if path:
            duckdb.attach(con, Path(path), writing=self.writing)
        backend = ibis.duckdb.from_connection(con)  # it sets the time zone: before settings are locked
        duckdb.close_off(con, self.files)
        return backend

    def _present(self, paths: list[Path], view: str) -> None:
        duckdb.present(self.backend.con, paths, view=view)

    def rows(self, query: str) -> Iterator[list[tuple]]:
        """As the connection itself tells them."""
        with self.answering():
            cursor = self.backend.con.execute(query)
            while rows := cursor.fetchmany(FETCH):
                yield rows

    def batches(self, query: Any) -> Iterator[pa.RecordBatch]:
        """By DuckDB's own reader: Ibis 12 asks DuckDB 2 for a method that is gone."""
        yield from self._arrow(self.backend.compile(query), FETCH)

    def _arrow(self, query: str, rows: int) -> Iterator[pa.RecordBatch]:
        with self.answering(), self.backend.con.sql(query).to_arrow_reader(rows) as reader:
            yield from reader

    def positions(self, query: str) -> Iterator[np.ndarray]:
        """As Arrow holds them."""
        for part in self._arrow(query, FETCH):
            yield np.column_stack([c.to_numpy(zero_copy_only=False) for c in part.columns])

    def counted(self, rows: str, plan: CountPlan) -> list[np.ndarray]:
        """By this process, a few rows at a time."""
        parts = self._arrow(_listed(rows, plan), plan.step)
        arrays = ([c.to_numpy(zero_copy_only=False) for c in b.columns] for b in parts)
        return block_counts.summed(block_counts.counted(arrays, plan), plan)

    def _load(self, schema: str | None, table: str, rows: pa.Table) -> None:
        """An Arrow table into DuckDB, which forgets it (Ibis would keep every part in memory)."""
        self.backend.con.from_arrow(rows).insert_into(self.qualified(schema, table))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.backend.con.begin()
        yield
        self.backend.con.commit()


class Spark(Engine):
    """A cluster of Spark's, or Spark as it is set up here. Whichever cluster reads it, a table is the same."""

    dialect, own, catalogues, identity = SPARK, "default", True, SPARK.name
    remedy = "look whether its master and workers run, and whether Java 17 is here"

    @property
    def shown(self) -> str:
        """``spark`` alone, where it is the one that is set up."""
        return super().shown if self._parts.netloc else "spark"

    def _connected(self) -> Any:
        need(f"source {self.shown}", "spark", "pyspark")
        import ibis

        netloc = self._parts.netloc
        return ibis.pyspark.connect(spark_session.session(f"spark://{netloc}" if netloc else None))

    def close(self) -> None:
        """Nothing."""

    def _attended(self) -> AbstractContextManager[Any]:
        return spark_session.attended(self.backend._session)

    def _present(self, paths: list[Path], view: str) -> None:
        read = self.backend._session.read.option("__globPaths__", "false").parquet(*map(str, paths))
        read.createOrReplaceTempView(view)

    def tables(self, schema: str | None = None) -> list[str]:
        """As Ibis lists them."""
        with self.answering():
            return sorted(self.backend.list_tables(**({"database": schema} if schema else {})))

    def _load(self, schema: str | None, table: str, rows: pa.Table) -> None:
        self.backend.insert(table, rows, **({"database": schema} if schema else {}))

    def rows(self, query: str) -> Iterator[list[tuple]]:
        """By Arrow's batches."""
        with self.answering():
            for batch in self.backend.raw_sql(query).toArrow().to_batches():
                yield list(zip(*(c.to_pylist() for c in batch.columns), strict=True))

    def batches(self, query: Any) -> Iterator[pa.RecordBatch]:
        """Of which the driver holds one partition at a time, where Ibis collects the whole table."""
        with self.answering():
            types, frame = query.schema().to_pyarrow(), self.backend.raw_sql(self.backend.compile(query))
            for batch in self._fetched(frame, types):
                cells = [arrow_text.valid_cells(pa.chunked_array([c])).chunk(0) for c in batch.columns]
                yield pa.record_batch([c.cast(f.type) for c, f in zip(cells, types, strict=True)], schema=types)

    def positions(self, query: str) -> Iterator[np.ndarray]:
        """As ``batches``."""
        with self.answering():
            frame = self.backend.raw_sql(query)
            for batch in self._fetched(frame, pa.schema([(n, pa.int64()) for n in frame.columns])):
                yield np.column_stack([c.to_numpy(zero_copy_only=False) for c in batch.columns]).astype(np.int64)

    def _fetched(self, frame: Any, types: pa.Schema) -> Iterator[pa.RecordBatch]:
        """A data frame's rows, some at a time: as Arrow's bytes, or row by row where executors have no Python."""
        if spark_session.has_python(self.backend._session):
            yield from spark_session.fetched(self.backend._session, frame)
            return
        waiting = frame.toLocalIterator(prefetchPartitions=False)
        while rows := list(islice(waiting, FETCH)):
            cells = zip(*rows, strict=True)
            yield pa.record_batch([pa.array(c, t) for c, t in zip(cells, types.types, strict=True)], schema=types)

    def hold(self, query: str) -> str:
        """A query's rows, held by the executors from the first question about them on; returns their name.

        What does not fit in the executors' memory lies on their disks; a lost executor's part is read again. Errors:
        InputError.
        """
        name = f"synth_held_{secrets.token_hex(8)}"
        with self.answering():
            self.backend._session.sql(query).persist().createOrReplaceTempView(name)
        return name

    def release(self, name: str) -> None:
        """Lets go of rows that executors hold. Errors: none; a session that was lost has let go of them."""
        with suppress(Exception):
            self.backend._session.table(name).unpersist()
            self.backend._session.catalog.dropTempView(name)

    def counted(self, rows: str, plan: CountPlan) -> list[np.ndarray]:
        """By the executors, each its own part, and added by them."""
        if not spark_session.has_python(self.backend._session):
            return super().counted(rows, plan)
        with self.answering():
            self.backend._session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(plan.step))
            own = self.backend._session.sql(_listed(rows, plan)).mapInArrow(sent(block_counts.worker(plan)), ANSWER)
            whole = own.repartition("k").mapInArrow(sent(block_counts.adder()), ANSWER).toArrow()
        return block_counts.joined(whole.column(0).to_pylist(), whole.column(1).to_pylist(), plan)

    def _keyed(self, rows: str, bins: str, keys: str) -> str:
        binned = f"(SELECT {bins} FROM {rows}) AS binned_rows"
        return f"SELECT k, COUNT(*) FROM (SELECT explode(array({keys})) AS k FROM {binned}) AS keyed_rows GROUP BY k"


def grouped(rows: Iterable[tuple]) -> list[Reference]:
    """References from rows of (key's number, child, its column, parent, its column), a key's columns in order."""
    columns: dict[tuple, list[tuple[str, str]]] = {}
    for number, child, column, parent, other in rows:
        columns.setdefault((number, child, parent), []).append((column, other))
    return [
        Reference(
            child=child,
            columns=tuple(c for c, _ in pairs),
            parent=parent,
            parent_columns=tuple(o for _, o in pairs),
            declared=True,
        )
        for (_, child, parent), pairs in columns.items()
    ]
