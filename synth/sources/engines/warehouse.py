"""Tables in a database or on a cluster: counted where they are, so that only counts come back, one pass a question.

Cells whose type sql.py compiles, and texts of columns with few categories, are encoded and counted by the engine.
Where a person is the unit, the engine also keeps the rows of each within the bound (sql.py). What it cannot encode
faithfully, and questions that are no counts, are answered from rows fetched once, encoded and held in a spool. Schema
and types alone choose the way, never what stands in cells.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from synth.errors import InputError
from synth.files.regular_files import is_file, is_folder
from synth.schema import codec
from synth.schema.table import Schema
from synth.sources.engines.duckdb import overflows
from synth.sources.engines.engine import DuckDb, Engine, Postgres, Spark
from synth.sources.engines.sql import LOST, Bound, Kind, named, position, settled, worded
from synth.sources.formats.arrow_text import BEYOND
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.files import known, parquet_files
from synth.sources.formats.text_table import Table, check_names
from synth.sources.rows.block_counts import CountedAxis, CountPlan
from synth.sources.rows.encoded import EncodedRows, Tables
from synth.sources.rows.encoding import Batch, Encoder
from synth.sources.rows.marginals import joint_tables
from synth.sources.rows.spill import Spill
from synth.sources.table_source import Opened, ParquetPlace, StreamedPlace

DRAWN = 1 << 20  # cells placed at random at a time


class MarkCounts(Mapping[str, int]):
    """How many cells of each column have a mark, asked of the engine when they are looked at. As private as rows."""

    def __init__(self, rows: "WarehouseRows", mark: str) -> None:
        self._rows, self._mark = rows, mark

    def __repr__(self) -> str:
        """Columns only."""
        return f"MarkCounts({len(self)} columns)"

    def __getitem__(self, name: str) -> int:
        return self._rows.mark_counts[name, self._mark]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class WarehouseRows(EncodedRows):
    """Encoded rows that stay in the engine; ``positions``: each column's expression (sql.py).

    ``bound``: where a person is the unit, which rows of each are kept; no other is ever told of.
    """

    def __init__(
        self,
        place: "WarehousePlace",
        schema: Schema,
        draws: codec.Draws,
        positions: Mapping[str, str],
        *,
        bound: Bound | None = None,
    ) -> None:
        self._place, self._schema, self._draws, self._positions = place, schema, draws, dict(positions)
        self._bound = bound
        self._held: str | None = None  # the name of what Spark's executors hold

    def __repr__(self) -> str:
        """Columns only."""
        return f"WarehouseRows({len(self._positions)} columns)"

    def __iter__(self) -> Iterator[str]:
        """The columns' names."""
        return iter(self._positions)

    def __getitem__(self, name: str) -> np.ndarray:
        """A column's positions, fetched."""
        return self._local[name]

    @cached_property
    def num_rows(self) -> int:
        """Rows of the table when it was first looked at."""
        query = f"SELECT COUNT(*) FROM {self._marked(list(self)[:1])}"
        return int(next(iter(self._place.asked.rows(query)))[0][0])

    def release(self) -> None:
        """Lets go of what executors hold; a later question reads the table again."""
        if self._held is not None and isinstance(self._place.asked, Spark):
            self._place.asked.release(self._held)
        self._held = None

    def described(self) -> codec.Encoded:
        """These rows, with the counts of clamped and unreadable cells, which are the steward's alone.

        They are counted where somebody looks at them: it takes a third as long as to encode the rows.
        """
        return codec.Encoded(self, MarkCounts(self, "< -1"), MarkCounts(self, "= -1"))

    @cached_property
    def mark_counts(self) -> dict[tuple[str, str], int]:
        """How many cells of a column have such a mark, counted once: private."""
        asked = [(n, i, m) for i, n in enumerate(self) for m in ("< -1", "= -1")]
        sums = ", ".join(f"SUM(CASE WHEN p{i} {m} THEN 1 ELSE 0 END)" for _, i, m in asked)
        counts = next(iter(self._place.asked.rows(f"SELECT {sums} FROM {self._marked(list(self))}")))[0]
        return {(n, m): int(v or 0) for (n, _, m), v in zip(asked, counts, strict=True)}

    def batches(self, columns: Iterable[str], step: int) -> Iterator[dict[str, np.ndarray]]:
        """Fetched rows, some at a time."""
        return self._local.batches(columns, step)

    @cached_property
    def _local(self) -> Spill:
        """The rows, fetched once: as the engine has encoded those that a bound keeps, the ones that it counts."""
        encoder = Encoder(self._schema, self._draws)
        if self._bound is None:
            for batch in self._place.batches(self._schema, []):
                encoder.add(batch)
            return encoder.spill
        names = list(self)
        listed = ", ".join(f"p{i}" for i in range(len(names)))
        for some in self._place.asked.positions(f"SELECT {listed} FROM {self._settled(names)}"):
            codes = {n: np.ascontiguousarray(some[:, i]) for i, n in enumerate(names)}
            encoder.add(Batch(table=Table({}, num_rows=len(some)), codes=codes))
        return encoder.spill

    def counts(self, tables: Tables) -> list[np.ndarray]:
        """Exact counts by the engine, in one pass over its rows for all tables (engine.py).

        A cell that no position is known for, in a column that is never missing, comes back as such and is placed at
        random here, for each table anew: the law of a table is that of rows placed one by one.
        """

        def ask(names: Sequence[str], plan: CountPlan) -> list[np.ndarray]:
            return self._place.asked.counted(self._settled(names), plan)

        return joint_tables(tables, ask, self._place_lost)

    def _settled(self, names: Sequence[str]) -> str:
        """Columns of the table as positions, or ``LOST`` in a column that is never missing."""
        columns = self._schema.columns
        whole = ", ".join(
            f"CAST({settled(f'p{i}', columns[n])} AS {self._place.asked.dialect.whole(columns[n].cells)}) AS p{i}"
            for i, n in enumerate(names)
        )
        return f"(SELECT {whole} FROM {self._marked(names)}) AS settled_rows"

    def _marked(self, names: Sequence[str]) -> str:
        """Columns of the table as positions or marks, named p0, p1, ...; on Spark the table is read once for them."""
        engine, every = self._place.asked, list(self)
        if not isinstance(engine, Spark):
            return self._placed(names)
        if self._held is None:
            cells = [self._schema.columns[n].cells for n in every]
            chosen = ", ".join(f"CAST(p{i} AS {engine.dialect.whole(c)}) AS p{i}" for i, c in enumerate(cells))
            self._held = engine.hold(f"SELECT {chosen} FROM {self._placed(every)}")
        chosen = ", ".join(f"p{every.index(n)} AS p{i}" for i, n in enumerate(names))
        return f"(SELECT {chosen} FROM {self._held}) AS marked_rows"

    def _placed(self, names: Sequence[str]) -> str:
        """As ``_marked``, from the table itself."""
        marks = {n: f"COALESCE({sql}, {LOST})" for n, sql in self._positions.items()}
        relation = self._place.relation
        if self._bound is None:
            chosen = ", ".join(f"{marks[n]} AS p{i}" for i, n in enumerate(names))
            return f"(SELECT {chosen} FROM {relation}) AS marked_rows"
        kept = self._bound.retained(list(marks.values()), relation, self._place.asked.dialect)
        chosen = ", ".join(f"p{list(marks).index(n)} AS p{i}" for i, n in enumerate(names))
        return f"(SELECT {chosen} FROM {kept}) AS marked_rows"

    def _place_lost(self, table: np.ndarray, column: str, axis: CountedAxis) -> None:
        """Moves the counts (rows, bins) of the last bin to bins of positions drawn uniformly."""
        size, codes = self._schema.columns[column].size, axis.codes()
        for index in np.flatnonzero(table[:, -1]).tolist():
            left = int(table[index, -1])
            table[index, -1] = 0
            for start in range(0, left, DRAWN):
                drawn = codes(self._draws.uniform_codes(min(DRAWN, left - start), high=size))
                table[index] += np.bincount(drawn, minlength=table.shape[1])


PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class WarehousePlace(StreamedPlace):
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
        return f"{self.source.identity}/{self.table.removeprefix(self.source.own + '.')}"

    @cached_property
    def _file(self) -> Path | None:
        """The file or folder that the table's name is; None where it is a table, which wins over a file.

        Only a name with a slash or a Parquet ending can be a file: what lies in the working directory must not decide
        what ``people`` means.
        """
        path = Path(self.table)
        if not self.source.reads_files or not ("/" in self.table or path.suffix.lower() in PARQUET):
            return None
        there = is_file(path) or is_folder(path)
        if not there or (isinstance(self.source, Spark) and "/" in self.table):
            return path if there else None  # Spark has no table of such a name
        schema, table = self.source.split(self.table)
        return None if table in self.source.tables(schema) else path

    @cached_property
    def asked(self) -> Engine:
        """The engine that answers about this table; DuckDB has leave to read the file, where it is one."""
        if self._file is None or not isinstance(self.source, DuckDb):
            return self.source
        return replace(self.source, files=tuple(parquet_files(self._file)))

    @property
    def expression(self) -> Any:
        """The table as Ibis sees it. Errors: InputError when there is none of this name."""
        return self._table_and_schema[0]

    @cached_property
    def _table_and_schema(self) -> tuple[Any, str | None]:
        """The table, and the schema (namespace) that its name tells: ``people``, or ``public.people``."""
        try:
            if self._file is not None:
                where = str(Path(self.table).resolve()).encode()  # a name for files, the same for the same ones
                view = f"synth_{hashlib.blake2b(where, digest_size=8).hexdigest()}"
                return self.asked.parquet(self._file, view=view), None
            schema, table = self.source.split(self.table)
            if isinstance(self.source, DuckDb) and table not in self.source.tables(schema):
                raise LookupError  # DuckDB would look for a file of this name
            return self.source.backend.table(table, **({"database": schema} if schema else {})), schema
        except InputError:
            raise
        except Exception:
            raise InputError(
                "source {}: no table {!r} is there; check the name, SCHEMA.TABLE for one that is not in the user's "
                "own schema, ./NAME for a Parquet file or a folder",
                self.source.shown,
                self.table,
            ) from None

    def check_form(self, columns: Sequence[str]) -> None:
        """Looks at names and types alone. Errors: InputError."""
        if self._file is not None:  # an engine would look at the first file, and take PID for pid
            ParquetPlace(self._file).types(columns)
        types = self.expression.schema()
        if self._file is not None and isinstance(self.source, Spark) and overflows(parquet_files(self._file)):
            raise InputError(
                "source {}: {!r} keeps times in milliseconds, which the engine cannot always read; write them in "
                "microseconds, or leave `source=` out",
                self.source.shown,
                self.table,
            )
        thing = f"source {self.source.shown}: table {self.table!r}"
        check_names(types.names, thing=thing)
        for name in known(columns, types.names, thing=thing):
            if types[name].is_nested() or types[name].is_binary() or getattr(types[name], "timezone", None):
                raise InputError(
                    "column {}: cells of this type are not supported; use numbers, text or plain dates", name
                )

    def header(self) -> list[str]:
        """The column names."""
        return list(self.expression.schema().names)

    def parts(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Rows with types that come over unchanged; others as the engine writes them.

        Dates come as text: a driver would fail at one that Python has no room for.
        """
        t, types = self.expression, self.expression.schema()
        return self.asked.batches(t.select(**{n: _fetched(t[n], types[n], self.source) for n in columns}))

    @cached_property
    def rows_there(self) -> int:
        """How many rows the table has, counted once: private."""
        return int(next(iter(self.asked.rows(f"SELECT COUNT(*) FROM {self.relation}")))[0][0])

    def encoded(
        self, schema: Schema, draws: codec.Draws, *, person: str | None, key: bytes, most: int | None = None
    ) -> Opened:
        """Rows that stay where they are, where every column can be encoded there; else fetched ones."""
        positions = self.compiled(schema)
        who = self.person(person) if person else None
        if positions is None or (person and (who is None or most is None)):
            return super().encoded(schema, draws, person=person, key=key, most=most)
        bound = None
        if who is not None and most is not None:
            bound = Bound(person=who, most=most, secret=int(draws.uniform_codes(1, high=2**63 - 1)[0]))
        rows = WarehouseRows(self, schema, draws, positions, bound=bound)
        if bound is None:
            self.__dict__.setdefault("rows_there", rows.num_rows)
        return Opened(rows.described(), None, None, bounded=bound is not None)

    def person(self, name: str) -> str | None:
        """Who a row is about in the engine's SQL (``cells.key``); None where only the codec tells."""
        kind = self.expression.schema()[name]
        if isinstance(self.asked, Postgres) and not self.asked.spells_names:
            return None
        if kind.is_integer():
            return named(name, "integer", self.source.dialect)
        return named(name, "text", self.source.dialect) if kind.is_string() else None

    def compiled(self, schema: Schema) -> dict[str, str] | None:
        """The position of each column in the engine's SQL."""
        positions = {}
        for name, column in schema.measured().items():
            kind = kind_of(self.expression.schema()[name])
            sql = position(column, name, kind, self.source.dialect) if kind else None
            if self.expression.schema()[name].is_string():
                sql = worded(column, name, self.source.dialect)
            if sql is None:
                return None
            positions[name] = sql
        return positions

    @property
    def relation(self) -> str:
        """The table's name in a query."""
        expression, schema = self._table_and_schema
        return self.source.qualified(schema, expression.op().name)  # a view of files has a name of its own


def _fetched(cell: Any, kind: Any, engine: Engine) -> Any:
    """A cell of an Ibis type as it is fetched."""
    import ibis

    if kind.is_string() or kind.is_boolean() or kind.is_integer() or kind.is_float64():
        return cell
    if kind.is_date():
        first, last, seen = ibis.date("0001-01-01"), ibis.date("9999-12-31"), cell
    elif kind.is_timestamp() and kind.timezone is None:
        first, last = ibis.timestamp("0001-01-01 00:00:00"), ibis.timestamp("9999-12-31 23:59:59")
        seen = cell.try_cast("timestamp(6)") if isinstance(engine, DuckDb) else cell  # None beyond microseconds
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
