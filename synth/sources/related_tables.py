"""Where related tables lie, and the way from there to a forest. Nothing is opened before it is asked for.

Public tables that private rows refer to are looked at whole, since everybody may have them; nothing private is. Of a
reference by several columns, the combinations that the public table's rows have are rules of the rows made.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from synth.errors import EmptyTableError, InputError, UsageError
from synth.files.regular_files import is_file, is_folder
from synth.schema.codec import Draws, Encoded
from synth.schema.column import canonical
from synth.schema.constraints import Fixed
from synth.schema.table import ONE, PublicTable, Schema, Tables
from synth.sources.formats.files import SUFFIXES
from synth.sources.formats.text_table import Table, Text
from synth.sources.named_databases import address, placed
from synth.sources.rows.encoding import Encoder
from synth.sources.rows.forest import TableRows
from synth.sources.rows.sketch import Sketch
from synth.sources.table_source import MOST_COMPARED, Place, place_of

ENDINGS = (*SUFFIXES, "")  # of a table's file; nothing: a folder of Parquet files


@dataclass(frozen=True, kw_only=True)
class Read:
    """One table's rows, the steward's counts of its unknown cells, and marks of its rows (None: too long, or none).

    ``digest``: with keys; ``alone``: of the measured columns, as a run on this table alone would mark it.
    """

    rows: TableRows
    encoded: Encoded
    digest: bytes | None
    alone: bytes | None


def places(
    tables: str | Path | Mapping[str, object] | None, schema: Tables, source: str | None = None
) -> dict[str, Place]:
    """Each table's place: in a folder the file of its name, at a source the table, or what is given under its name.

    Of one table it is that one. At a source ``tables`` is the database's schema
    (namespace) that holds them, None for the user's own, or a folder named with a slash, of which Spark and DuckDB read
    Parquet files and folders of them.
    Errors: UsageError, InputError naming the table that is absent, or there twice; UsageError for one too many.
    """
    if not schema.several and isinstance(tables, str | Path | pd.DataFrame | Place):
        return {ONE: tables if isinstance(tables, Place) else place_of(tables)}
    if source is not None:
        folder = folder_at(tables)
        named = {n: n if tables is None else f"{tables}.{n}" for n in schema.tables}
        addressed = named if folder is None else {n: str(_file(folder, n)) for n in schema.tables}
        return {n: placed(address(source), table) for n, table in addressed.items()}
    if tables is None:
        raise UsageError("`table=` is missing; name a folder with a file for each table, or a database with `source=`")
    if not isinstance(tables, Mapping):
        return {name: place_of(_file(Path(tables), name)) for name in schema.tables}
    if absent := [n for n in schema.tables if n not in tables]:
        raise UsageError("table {} of the schema is not given; give all of {}", absent[0], ", ".join(schema.tables))
    if more := [str(n) for n in tables if n not in schema.tables]:
        raise UsageError("table {} is not in the schema, which has {}", more[0], ", ".join(schema.tables))
    given = {name: tables[name] for name in schema.tables}
    for name, table in given.items():
        if not isinstance(table, Place | str | Path | pd.DataFrame):
            raise UsageError("table {}: give a frame or the path of a file", name)
    return {n: t if isinstance(t, Place) else place_of(t) for n, t in given.items()}


def folder_at(tables: object) -> Path | None:
    """The folder that is named beside a source; None where it is a database's schema. Privacy: public only."""
    return Path(tables) if isinstance(tables, str | Path) and "/" in str(tables) and is_folder(Path(tables)) else None


def _files(folder: Path, name: str) -> list[Path]:
    """What lies there under a table's name: files, and a folder of Parquet files."""
    there = (folder / f"{name}{end}" for end in ENDINGS)
    return [p for p in there if (is_folder(p) if p.name == name else is_file(p))]


def _file(folder: Path, name: str) -> Path:
    if not is_folder(folder):
        raise InputError("{}: is no folder; related tables are a folder with a file for each table", folder)
    if not (there := _files(folder, name)):
        raise InputError(
            "{}: has no file for table {}; name it {}.csv, {}.parquet or {}.xlsx", folder, name, name, name, name
        )
    if len(there) > 1:
        raise InputError("{}: table {} is there as {} and as {}; keep one", folder, name, there[0].name, there[1].name)
    return there[0]


def allowed_empty(schema: Tables, table: str) -> AbstractContextManager[None]:
    """Nothing is said of a table without a row below the root: whether there is one can hang on a single root."""
    return nullcontext() if not schema.several or table == schema.root else suppress(EmptyTableError)


def read(place: Place, schema: Schema, texts: Sequence[str], draws: Draws, *, key: bytes) -> Read:
    """All rows of a table, encoded; ``texts``: columns kept as text. ``key``: of the rows' mark.

    **Guarantee**: a row's positions depend on that row, the schema and draws of its own alone.
    """
    names = [*schema.measured(), *texts]
    digest = Sketch(key, names, most=MOST_COMPARED)
    alone = Sketch(key, schema.measured(), most=MOST_COMPARED)
    encoder = Encoder(schema, draws, digest=digest)
    parts_of: dict[str, list[Text]] = {n: [] for n in texts}
    with suppress(EmptyTableError):  # the check of the form refused an empty root
        for batch in place.batches(schema, texts):
            encoder.add(batch)
            if not batch.codes:
                alone.add(batch.table)
            for name in texts:
                column = batch.table.column(name)
                parts_of[name].append(Text(column.values, column.codes))
    place.feed(digest, names)
    place.feed(alone, list(schema.measured()))
    opened = TableRows(
        positions=encoder.spill,
        texts={n: _joined(parts) for n, parts in parts_of.items()},
        num_rows=encoder.spill.num_rows,
    )
    return Read(rows=opened, encoded=encoder.encoded, digest=digest.mark(), alone=alone.mark())


def whole(place: Place, columns: Sequence[str]) -> Table:
    """All rows of some columns, as text, in memory; of a table without a row below the root none."""
    with suppress(EmptyTableError):  # the check of the form refused an empty root
        return place.read(columns)
    return Table({n: pa.chunked_array([], pa.string()) for n in columns}, num_rows=0)


def _joined(parts: Sequence[Text]) -> Text:
    """One column of several batches; a text may be listed once for each of them."""
    firsts = np.cumsum([0] + [len(p.values) for p in parts])
    values = [np.asarray(p.values, dtype=object) for p in parts]
    codes = [np.asarray(p.codes, dtype=np.int64) + first for p, first in zip(parts, firsts, strict=False)]
    return Text(
        np.concatenate(values) if values else np.zeros(0, dtype=object),
        np.concatenate(codes) if codes else np.zeros(0, dtype=np.int64),
    )


def row_keys(table: Table, columns: tuple[str, ...], *, name: str) -> list[tuple[str, ...]]:
    """What tells a public table's rows apart, in its order: its cells of ``columns``.

    Errors: InputError where one is empty, or two rows have the same. Privacy: public only.
    """
    texts = [[str(text.values[i]).strip() for i in text.codes] for text in map(table.column, columns)]
    keys = list(zip(*texts, strict=True))
    if any(not all(line) for line in keys) or len(set(keys)) < len(keys):
        raise InputError(
            "public table {}: {} is empty somewhere, or alike in two rows; name the columns that tell its rows apart",
            name,
            ", ".join(columns),
        )
    return keys


def with_combinations(schema: Any, public: Mapping[str, Table]) -> Any:
    """The schema with a rule for each reference by several columns: only combinations of the public table occur.

    Errors: InputError where neither the table lies beside the others, nor a rule names the combinations.

    **Guarantee**: a row that is made refers to a row of the public table. Privacy: public only.
    """
    tables = dict(schema.tables)
    for name, facts in (schema.public or {}).items():
        for owner, columns in facts.references:
            if len(columns) > 1:
                tables[owner] = _ruled(tables[owner], owner, columns, name, facts, public)
    return schema.with_tables(tables)


def _ruled(
    table: Schema, owner: str, columns: tuple[str, ...], name: str, facts: PublicTable, public: Mapping[str, Table]
) -> Schema:
    rules = table.constraints or ()
    if any(r.kind == "fixed" and set(r.columns) == set(columns) for r in rules):
        return table
    if name not in public:
        raise InputError(
            "public table {}: {} refers by {}, so its file must lie beside the others, or a rule `fixed` with the "
            "combinations",
            name,
            owner,
            ", ".join(columns),
        )
    known = [{canonical(c) for c in table.columns[n].categories or ()} for n in columns]
    there = [
        line
        for line in row_keys(public[name], facts.keys, name=name)
        if all(canonical(v) in k for v, k in zip(line, known, strict=True))
    ]
    if not there:
        raise InputError(
            "public table {}: none of its combinations of {} is of categories of {}.{}; correct the table or the "
            "categories",
            name,
            ", ".join(facts.keys),
            owner,
            "+".join(columns),
        )
    rule = Fixed(kind="fixed", columns=columns, combinations=tuple(there))
    return table.model_copy(update={"constraints": (*rules, rule)})


def split_public(tables: Any, schema: Tables) -> tuple[Any, dict[str, Table]]:
    """The tables that are made, and the public ones that lie beside them, checked.

    Of a folder it is the file of the public table's name, if there is one. Errors: InputError, UsageError.
    """
    named = list(schema.public or {})
    if isinstance(tables, Mapping):
        there = {n: tables[n] for n in named if n in tables}
        made: Any = {n: t for n, t in tables.items() if n not in there}
    else:
        made, there = tables, {n: p for n in named for p in _files(Path(str(tables)), n)[:1]}
    public = {}
    for name, table in there.items():
        if not isinstance(table, str | Path | pd.DataFrame):
            raise UsageError("public table {}: give a frame or the path of a file", name)
        place = place_of(table).as_it_seems()
        public[name] = checked(place.read(place.header()), schema, name)
    return made, public


def checked(table: Table, schema: Tables, name: str) -> Table:
    """The table if every category that refers to it is one of its keys. Errors: InputError naming what is not.

    Privacy: public only.
    """
    public: PublicTable = (schema.public or {})[name]
    for key in public.keys:
        if key not in table.names:
            raise InputError("public table {}: it has no column {}, by which rows refer to it", name, key)
    lines = row_keys(table, public.keys, name=name)
    known = [{canonical(line[i]) for line in lines} for i in range(len(public.keys))]
    for owner, columns in public.references:
        for column, key, values in zip(columns, public.keys, known, strict=True):
            lost = [c for c in schema.tables[owner].columns[column].categories or () if canonical(c) not in values]
            if lost:
                raise InputError(
                    "public table {}: its {} has no {!r}, a category of {}.{}; correct the table or the categories",
                    name,
                    key,
                    lost[0],
                    owner,
                    column,
                )
    return table
