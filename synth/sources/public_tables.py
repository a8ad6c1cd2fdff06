"""Public tables that private rows refer to: looked at whole, since everybody may have them; nothing private is.

Of a reference by several columns, the combinations that the public table's rows have are rules of the rows made.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from synth.errors import InputError, UsageError
from synth.files.regular_files import is_file
from synth.schema.column import canonical
from synth.schema.constraints import Fixed
from synth.schema.table import PublicTable, Schema, Tables
from synth.sources.draft_related import public_keys
from synth.sources.formats import files
from synth.sources.formats.cell_formats import Reading
from synth.sources.formats.csv_files import sniffed
from synth.sources.formats.text_table import Table, from_frame
from synth.sources.table_source import CsvPlace, ParquetPlace, place_of


def combinations(table: Table, columns: tuple[str, ...], *, name: str) -> list[tuple[str, ...]]:
    """What several columns of a public table hold together, in its order. Errors: InputError where one stands twice.

    Privacy: public only.
    """
    texts = [[str(text.values[i]).strip() for i in text.codes] for text in map(table.column, columns)]
    result = list(zip(*texts, strict=True))
    if any(not all(line) for line in result) or len(set(result)) < len(result):
        raise InputError(
            f"public table {name}: columns {', '.join(columns)} are empty somewhere or have a combination twice; name "
            "those that tell its rows apart"
        )
    return result


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
            f"public table {name}: {owner} refers by {', '.join(columns)}, so its file must lie beside the others, "
            "or a rule `fixed` with the combinations"
        )
    known = [{canonical(c) for c in table.columns[n].categories or ()} for n in columns]
    there = [
        line
        for line in combinations(public[name], facts.keys, name=name)
        if all(canonical(v) in k for v, k in zip(line, known, strict=True))
    ]
    if not there:
        raise InputError(
            f"public table {name}: none of its combinations of {', '.join(facts.keys)} is of categories of "
            f"{owner}.{'+'.join(columns)}; correct the table or the categories"
        )
    rule = Fixed(kind="fixed", columns=columns, combinations=tuple(there))
    return table.model_copy(update={"constraints": (*rules, rule)})


ENDINGS = (".csv", ".csv.gz", ".parquet", ".xlsx")


def split(tables: Any, schema: Tables) -> tuple[Any, dict[str, Table]]:
    """The tables that are made, and the public ones that lie beside them, checked.

    Of a folder it is the file of the public table's name, if there is one. Errors: InputError, UsageError.
    """
    named = list(schema.public or {})
    if isinstance(tables, Mapping):
        there = {n: tables[n] for n in named if n in tables}
        made: Any = {n: t for n, t in tables.items() if n not in there}
    else:
        made, there = tables, {n: p for n in named if (p := _file(Path(str(tables)), n)) is not None}
    return made, {n: checked(_read(t, n), schema, n) for n, t in there.items()}


def _file(folder: Path, name: str) -> Path | None:
    return next((p for e in ENDINGS if is_file(p := folder / f"{name}{e}")), None)


def _read(table: object, name: str) -> Table:
    if isinstance(table, pd.DataFrame):
        return from_frame(table)
    if not isinstance(table, str | Path):
        raise UsageError(f"public table {name}: give a frame or the path of a file")
    place = place_of(table)
    if isinstance(place, ParquetPlace):
        return place.read(files.header(place.paths[0]))
    dialect = sniffed(place.path) if isinstance(place, CsvPlace) else None
    return files.read(Path(table), reading=Reading(dialect=dialect))


def checked(table: Table, schema: Tables, name: str) -> Table:
    """The table if every category that refers to it is one of its keys. Errors: InputError naming what is not.

    Privacy: public only.
    """
    public: PublicTable = (schema.public or {})[name]
    for key in public.keys:
        if key not in table.names:
            raise InputError(f"public table {name}: it has no column {key}, by which rows refer to it")
    if len(public.keys) == 1:
        there = [public_keys(table, public.keys[0], name=name)]
    else:
        there = [tuple(column) for column in zip(*combinations(table, public.keys, name=name), strict=True)]
    known = [{canonical(v) for v in values} for values in there]
    for owner, columns in public.references:
        for column, key, values in zip(columns, public.keys, known, strict=True):
            lost = [c for c in schema.tables[owner].columns[column].categories or () if canonical(c) not in values]
            if lost:
                raise InputError(
                    f"public table {name}: its {key} has no {lost[0]!r}, a category of {owner}.{column}; "
                    "correct the table or the categories"
                )
    return table
