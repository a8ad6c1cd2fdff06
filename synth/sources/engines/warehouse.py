"""Tables in a database or on a cluster: counted where they are, so that only counts come back.

Cells whose type sql.py compiles, and texts of columns with few categories, are encoded and counted by the engine.
Where a person is the unit, the engine also keeps the rows of each within the bound (bounded.py). What it cannot encode
faithfully, and questions that are no counts, are answered from rows fetched once, encoded and held in a spool. Schema
and types alone choose the way, never what stands in cells.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from synth.errors import InputError
from synth.files.regular_files import is_file, is_folder
from synth.schema import codec
from synth.schema.table import Schema
from synth.sources.engines.bounded import Bound
from synth.sources.engines.duckdb import overflows
from synth.sources.engines.engine import Engine
from synth.sources.engines.sql import Kind, named, position, worded
from synth.sources.engines.warehouse_rows import WarehouseRows
from synth.sources.formats.arrow_text import BEYOND
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.table_versions import parquet_files
from synth.sources.formats.text_table import Table, check_names
from synth.sources.rows.encoding import Batch, plain, tables
from synth.sources.table_source import Opened, ParquetPlace, Place

OWN = {"postgres": "public", "duckdb": "main", "spark": "default"}  # schemas that need not be named
PARQUET = (".parquet", ".pq")
SPELLING = 130000  # the version of PostgreSQL since which it has NFKC, and hashes of 64 bits


@dataclass(frozen=True)
class WarehousePlace(Place):
    """A table of an engine; for Spark and DuckDB also a Parquet file or a folder of them."""

    source: Engine
    table: str
    reading: Reading = PLAIN

    @property
    def engine(self) -> str:  # type: ignore[override]
        """The engine's name."""
        return self.source.dialect.name

    @property
    def name(self) -> str:
        """Address and table, without user and password; the schema that is a user's own by default is left out, so
        that a table is charged under one name."""
        if self._file is not None:
            return f"{self.source.identity}/{self._file.resolve()}"
        return f"{self.source.identity}/{self.table.removeprefix(OWN[self.engine] + '.')}"

    @cached_property
    def _file(self) -> Path | None:
        """The file or folder that the table's name is; None where it is a table, which wins over a file.

        Only a name with a slash or a Parquet ending can be a file: what lies in the working directory must not decide
        what ``people`` means.
        """
        path = Path(self.table)
        if self.engine == "postgres" or not ("/" in self.table or path.suffix.lower() in PARQUET):
            return None
        there = is_file(path) or is_folder(path)
        if not there or (self.engine == "spark" and "/" in self.table):
            return path if there else None  # Spark has no table of such a name
        schema, table = self.source.split(self.table)
        return None if table in self.source.tables(schema) else path

    @cached_property
    def asked(self) -> Engine:
        """The engine that answers about this table; DuckDB has leave to read the file, where it is one."""
        return self.source if self._file is None or self.engine != "duckdb" else self.source.beside(self._file)

    @property
    def expression(self) -> Any:
        """The table as Ibis sees it. Errors: InputError when there is none of this name."""
        return self._table_and_schema[0]

    @cached_property
    def _table_and_schema(self) -> tuple[Any, str | None]:
        """The table, and the schema (namespace) that its name tells: ``people``, or ``public.people``."""
        try:
            if self._file is not None:
                return self.asked.parquet(self._file, view=self._view), None
            schema, table = self.source.split(self.table)
            if self.engine == "duckdb" and table not in self.source.tables(schema):
                raise LookupError  # DuckDB would look for a file of this name
            return self.source.backend.table(table, **({"database": schema} if schema else {})), schema
        except InputError:
            raise
        except Exception:
            raise InputError(
                f"source {self.source.shown}: no table {self.table!r} is there; check the name, SCHEMA.TABLE for one "
                "that is not in the user's own schema, ./NAME for a Parquet file or a folder"
            ) from None

    @property
    def _view(self) -> str:
        """A name for files, the same for the same ones."""
        return "synth_" + hashlib.blake2b(str(Path(self.table).resolve()).encode(), digest_size=8).hexdigest()

    def check_form(self, columns: Sequence[str]) -> None:
        """Looks at names and types alone. Errors: InputError."""
        if self._file is not None:  # an engine would look at the first file, and take PID for pid
            ParquetPlace(self._file).types(columns)
        types = self.expression.schema()
        if self._file is not None and self.engine == "spark" and overflows(parquet_files(self._file)):
            raise InputError(
                f"source {self.source.shown}: {self.table!r} keeps times in milliseconds, which the engine cannot "
                "always read; write them in microseconds, or leave `source=` out"
            )
        check_names(types.names, thing=f"source {self.source.shown}: table {self.table!r}")
        for name in columns:
            if name not in types:
                raise InputError(f"source {self.source.shown}: table {self.table!r} has no column {name!r}")
            if types[name].is_nested() or types[name].is_binary() or getattr(types[name], "timezone", None):
                raise InputError(
                    f"column {name}: cells of this type are not supported; use numbers, text or plain dates"
                )

    def read(self, columns: Sequence[str]) -> Table:
        """The columns as text, in memory."""
        import pyarrow as pa

        parts = list(self.asked.batches(self._plainly(columns)))
        none = pa.schema([(n, pa.string()) for n in columns])
        whole = pa.Table.from_batches(parts) if parts else none.empty_table()
        return Table({n: whole.column(n) for n in columns}, num_rows=whole.num_rows).read_by(self.reading)

    def batches(self, schema: Schema, raw: Sequence[str]) -> Iterator[Batch]:
        """Rows as they are, for the codec."""
        parts = tables(self.asked.batches(self._plainly([*schema.measured(), *raw])))
        return plain(part.read_by(self.reading) for part in parts)

    def rows_there(self) -> int:
        """How many rows the table has, counted once: private."""
        return self._rows_there

    @cached_property
    def _rows_there(self) -> int:
        return int(next(iter(self.asked.rows(f"SELECT COUNT(*) FROM {self.relation}")))[0][0])

    def _plainly(self, columns: Sequence[str]) -> Any:
        """The columns with types that come over unchanged; others as the engine writes them.

        Dates come as text: a driver would fail at one that Python has no room for.
        """
        t, types = self.expression, self.expression.schema()
        return t.select(**{n: _fetched(t[n], types[n], self.engine) for n in columns})

    def encoded(
        self, schema: Schema, draws: codec.Draws, *, person: str | None, key: bytes, most: int | None = None
    ) -> Opened:
        """Rows that stay where they are, where every column can be encoded there; else fetched ones."""
        result = self.compiled(schema)
        who = self.person(person) if person else None
        if result is None or (person and (who is None or most is None)):
            return super().encoded(schema, draws, person=person, key=key, most=most)
        bound = None
        if who is not None and most is not None:
            bound = Bound(person=who, most=most, secret=int(draws.uniform_codes(1, high=2**63 - 1)[0]))
        rows = WarehouseRows(self, schema, draws, result, bound=bound)
        if bound is None:
            self.__dict__.setdefault("_rows_there", rows.num_rows)
        return Opened(rows.described(), None, None, bounded=bound is not None)

    def person(self, name: str) -> str | None:
        """Who a row is about in the engine's SQL (``cells.key``); None where only the codec tells."""
        kind = self.expression.schema()[name]
        if self.engine == "postgres":
            info = self.asked.backend.con.info
            if info.server_version < SPELLING or info.parameter_status("server_encoding") != "UTF8":
                return None
        if kind.is_integer():
            return named(name, "integer", self.source.dialect)
        return named(name, "text", self.source.dialect) if kind.is_string() else None

    def compiled(self, schema: Schema) -> dict[str, str] | None:
        """The position of each column in the engine's SQL."""
        result = {}
        for name, column in schema.measured().items():
            kind = kind_of(self.expression.schema()[name])
            sql = position(column, name, kind, self.source.dialect) if kind else None
            if self.expression.schema()[name].is_string():
                sql = worded(column, name, self.source.dialect)
            if sql is None:
                return None
            result[name] = sql
        return result

    @property
    def relation(self) -> str:
        """The table's name in a query."""
        expression, schema = self._table_and_schema
        return self.source.qualified(schema, expression.op().name)  # a view of files has a name of its own


def _fetched(cell: Any, kind: Any, engine: str) -> Any:
    """A cell of an Ibis type as it is fetched."""
    import ibis

    if kind.is_string() or kind.is_boolean() or kind.is_integer() or kind.is_float64():
        return cell
    if kind.is_date():
        first, last, seen = ibis.date("0001-01-01"), ibis.date("9999-12-31"), cell
    elif kind.is_timestamp() and kind.timezone is None:
        first, last = ibis.timestamp("0001-01-01 00:00:00"), ibis.timestamp("9999-12-31 23:59:59")
        seen = cell.try_cast("timestamp(6)") if engine == "duckdb" else cell  # none beyond microseconds
    else:
        return cell.cast("string")
    inside = ibis.cases((seen.between(first, last), seen), else_=ibis.null(seen.type()))  # no other can be written
    text = inside.cast("string").substr(0, 19).replace(" ", "T")
    return ibis.cases((cell.isnull(), ibis.null("string")), (inside.isnull(), BEYOND), else_=text)


def kind_of(kind: Any) -> Kind | None:
    """What sql.py calls cells of an Ibis type."""
    if kind.is_integer():
        return "integer"
    if kind.is_float64():
        return "double"
    if kind.is_date():
        return "date"
    return "time" if kind.is_timestamp() and kind.timezone is None and kind.scale in (None, 0, 3, 6) else None
