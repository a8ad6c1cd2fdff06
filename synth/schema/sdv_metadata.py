"""SDV metadata, read and written.

Nothing here sees a row. What the metadata do not say, bounds and most categories, stays absent from the schema.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from synth.errors import InputError, UsageError
from synth.files import regular_files
from synth.schema import key_pattern
from synth.schema.column import RISKS
from synth.schema.dataset import Dataset
from synth.schema.related_names import Reference
from synth.schema.table import NUMERIC, UNCONFIRMED, Column, Schema, canonical, parse

VERSIONS = ("V1", "SINGLE_TABLE_V1", "MULTI_TABLE_V1")
ISO_FORMAT = re.compile(r"%Y-%m-%d([T ]%H:%M(:%S(\.%f)?)?Z?)?")
TRUTH = {"true", "false"}
PARTS = ("parent_table_name", "parent_primary_key", "child_table_name", "child_foreign_key")
UNUSED = ("relationships", "column_relationships", "constraints")


@dataclass(frozen=True, kw_only=True)
class Exchanged:
    """A schema, and sentences on what was not taken over as it stood; columns and public codes only."""

    schema: Schema
    notes: list[str]


def load_sdv(path: str | Path, *, table_name: str | None = None) -> Exchanged:
    """The schema in a file of SDV metadata, as ``from_sdv`` makes it. Errors: InputError, UsageError."""
    return from_sdv(read_sdv(path), table_name=table_name, name=f"metadata {path}")


def read_sdv(path: str | Path) -> Any:
    """The JSON data of a file of SDV metadata. Errors: InputError."""
    try:
        return json.loads(regular_files.text(path, encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"metadata {path}: {error.strerror or 'cannot be read'}; check the name") from None
    except UnicodeDecodeError:
        raise InputError(f"metadata {path}: not UTF-8 text; save it as UTF-8 JSON") from None
    except (ValueError, RecursionError):
        raise InputError(f"metadata {path}: not JSON; save it with SDV's metadata.save_to_json") from None


def is_schema(plain: object) -> bool:
    """Whether data describe columns as a schema of this library does, not as SDV's metadata do.

    >>> is_schema({"columns": {"a": {"type": "integer"}}}), is_schema({"columns": {"a": {"sdtype": "id"}}})
    (True, False)
    """
    columns = plain.get("columns") if isinstance(plain, dict) else None
    return isinstance(columns, dict) and any(isinstance(c, dict) and "type" in c for c in columns.values())


def from_sdv(plain: object, *, table_name: str | None = None, name: str = "metadata") -> Exchanged:
    """The kinds that SDV metadata state, version V1 or the older single- and multi-table form.

    SDV holds no bounds and rarely categories: such facts are absent, so the schema is one to complete, to draft the
    rest of (``merge``) or to learn. Columns of personal data (sdtype email, address, unknown...) become identifiers.
    Errors: InputError naming table, column and rule; UsageError for a table name that the metadata do not have.

    >>> found = from_sdv({"columns": {"AGE": {"sdtype": "numerical", "computer_representation": "Int64"}}})
    >>> found.schema.columns["AGE"].type, found.schema.columns["AGE"].min is None
    ('integer', True)
    """
    if not isinstance(plain, dict):
        raise InputError(f"{name}: not SDV metadata, which is one JSON object")
    label, table = _table(plain, table_name, name)
    columns = table.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise InputError(f"{name}: it describes no columns; `columns` must map names to their sdtype")
    notes = [f"{part}: not taken over" for part in UNUSED if plain.get(part) or table.get(part)]
    if isinstance(table.get("sequence_key"), str):
        notes.append(
            f"{table['sequence_key']}: the sequence key; to protect it as a person use `unit=` and `max_rows=`"
        )
    result = {column: _column(column, meta, notes, name) for column, meta in columns.items()}
    key = table.get("primary_key")
    if isinstance(key, str) and key in result and result[key].type != "identifier":
        notes.append(f"{key}: the primary key, taken as an identifier")
        result[key] = _key(key, columns[key].get("regex_format"), notes)
    schema = Schema(dataset=label, columns=result)
    return Exchanged(schema=parse(schema.model_dump(exclude_none=True), name=name, complete=False), notes=notes)


def _table(plain: dict[str, Any], wanted: str | None, name: str) -> tuple[str | None, dict[str, Any]]:
    """Name (None in the single-table form) and description of the one table that is meant."""
    version = plain.get("METADATA_SPEC_VERSION", "V1")
    if version not in VERSIONS:
        raise InputError(f"{name}: its METADATA_SPEC_VERSION is none of {', '.join(VERSIONS)}; save it as V1 metadata")
    if "tables" not in plain:
        if wanted is not None:
            raise UsageError(f"`table_name={wanted}`: the metadata give their only table no name; leave it out")
        return None, plain
    tables = plain["tables"]
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()) or not tables:
        raise InputError(f"{name}: `tables` must map at least one name to its columns")
    known = ", ".join(tables)
    if wanted is None and len(tables) > 1:
        raise InputError(f"{name}: it describes {len(tables)} tables; choose one with `table_name=`: {known}")
    if wanted is not None and wanted not in tables:
        raise UsageError(f"`table_name={wanted}`: the metadata have no such table; they have {known}")
    label = wanted if wanted is not None else next(iter(tables))
    return label, tables[label]


def _column(column: str, meta: object, notes: list[str], name: str) -> Column:
    """The facts that the metadata state of a column."""
    if not isinstance(meta, dict) or not isinstance(meta.get("sdtype"), str):
        raise InputError(f"{name}: column {column} has no sdtype; give it one")
    sdtype = meta["sdtype"]
    if sdtype == "numerical":
        whole = re.fullmatch(r"U?Int\d+", str(meta.get("computer_representation")))
        return Column(type="integer" if whole else "float")
    if sdtype in ("categorical", "ordinal"):
        return _categories(meta)
    if sdtype == "boolean":
        return Column(type="boolean")
    if sdtype == "datetime":
        return _date(column, meta.get("datetime_format"), notes)
    if sdtype != "id":
        public = meta.get("pii") is False
        notes.append(f"{column}: sdtype {sdtype}, taken as {'categorical' if public else 'an identifier'}")
        return Column(type="categorical" if public else "identifier")
    return _key(column, meta.get("regex_format"), notes)


def _key(column: str, form: object, notes: list[str]) -> Column:
    """A key, in the form that the metadata state where made-up keys can be written in it."""
    if not isinstance(form, str):
        return Column(type="identifier")
    if (problem := key_pattern.problem(form)) is not None:
        notes.append(f"{column}: keys are counted up, not written as {form}; {problem}")
        return Column(type="identifier")
    return Column(type="identifier", pattern=form)


def _categories(meta: Mapping[str, Any]) -> Column:
    order = meta.get("order")
    if isinstance(order, list) and order:
        return Column(type="ordinal", categories=tuple(str(value) for value in order if value is not None))
    return Column(type="ordinal" if meta.get("order_by") or meta["sdtype"] == "ordinal" else "categorical")


def _date(column: str, form: object, notes: list[str]) -> Column:
    if not isinstance(form, str):
        return Column(type="datetime")
    if not ISO_FORMAT.fullmatch(form):
        notes.append(f"{column}: dates written as {form} are not read; convert them to dates like 2020-01-31")
    step: Literal["second", "minute", "day"] = "second" if "%S" in form else "minute" if "%M" in form else "day"
    return Column(type="datetime", resolution=step)


def kinds(schema: Schema) -> dict[str, Any]:
    """The kinds to be named when the rest of an imported schema is drafted: options of ``synth.draft``, each a list."""
    named: dict[str, Any] = {"categorical": [], "ordinal": [], "identifier": [], "datetime_": []}
    options = {"boolean": "categorical", "datetime": "datetime_"}
    for name, column in schema.columns.items():
        if column.type not in NUMERIC:  # whether all numbers are whole is for the rows to say
            option = "categorical" if column.categories else options.get(column.type, column.type)
            named[option].append(name)
    return named


def merge(stated: Schema, drafted: Schema) -> Exchanged:
    """An imported schema with its absent facts drafted: what came from rows keeps its column ``unconfirmed``.

    Errors: InputError where the rows of a column that is said to hold numbers hold none.
    """
    notes: list[str] = []
    columns = {n: _merged(n, column, drafted.columns[n], notes) for n, column in stated.columns.items()}
    whole = stated.model_copy(update={"columns": columns, "dialect": drafted.dialect})
    return Exchanged(schema=parse(whole.model_dump(exclude_none=True)), notes=notes)


def _merged(name: str, stated: Column, drafted: Column, notes: list[str]) -> Column:
    if stated.type == "identifier":
        return stated
    if drafted.type == "omitted":
        notes.append(f"{name}: {stated.type} in the metadata; {RISKS[str(drafted.risk)]}, so it is left out")
        return drafted
    if stated.categories:
        codes = {canonical(code) for code in drafted.missing_codes}
        retained = tuple(c for c in stated.categories if canonical(c) not in codes)
        source = UNCONFIRMED if drafted.missing_codes else stated.source
        return drafted.model_copy(update={"type": stated.type, "categories": retained, "source": source, "risk": None})
    if stated.type == "boolean" and len(drafted.categories or ()) <= 2:
        return drafted.model_copy(update={"type": "boolean"})
    if stated.type in NUMERIC and drafted.type in ("categorical", "boolean", "datetime") and drafted.size > 1:
        raise InputError(
            f"column {name}: the metadata say numerical, but not all cells are numbers; name texts that mean missing "
            "with `missing=`, or correct the metadata"
        )
    if drafted.type != stated.type:
        notes.append(f"{name}: {stated.type} in the metadata, {drafted.type} by its rows")
    return drafted


def to_sdv(schema: Schema, *, table_name: str | None = None) -> dict[str, Any]:
    """SDV metadata (V1) of the table as this library writes it; bounds, missing codes and labels have no place there.

    The primary key is the identifier where there is exactly one that does not stand for a person with several rows.

    >>> from synth.schema.table import parse
    >>> schema = parse({"columns": {"ID": {"type": "identifier"}, "AGE": {"type": "integer", "min": 0, "max": 99}}})
    >>> to_sdv(schema, table_name="people")["tables"]["people"]["primary_key"]
    'ID'
    """
    schema = schema.retained()
    table: dict[str, Any] = {"columns": {name: _sdtype(column) for name, column in schema.columns.items()}}
    keys = [name for name, column in schema.columns.items() if column.type == "identifier"]
    if len(keys) == 1 and keys[0] != schema.person:
        table["primary_key"] = keys[0]
    return {"METADATA_SPEC_VERSION": "V1", "tables": {table_name or schema.dataset or "table": table}}


def _sdtype(column: Column) -> dict[str, Any]:
    if column.type == "identifier":
        return {"sdtype": "id", **({"regex_format": column.pattern} if column.pattern else {})}
    if column.type in NUMERIC:
        return {"sdtype": "numerical", "computer_representation": "Int64" if column.type == "integer" else "Float"}
    if column.type == "datetime":
        days = (column.resolution or "day") == "day"
        return {"sdtype": "datetime", "datetime_format": "%Y-%m-%d" if days else "%Y-%m-%d %H:%M:%S"}
    if column.type == "boolean" and {c.lower() for c in column.categories or ()} <= TRUTH:
        return {"sdtype": "boolean"}  # to SDV only True and False are
    ordered = column.type == "ordinal" and column.categories
    return {"sdtype": "categorical", **({"order": list(column.categories or ())} if ordered else {})}


@dataclass(frozen=True, kw_only=True)
class ExchangedTables:
    """The tables and references of metadata, and sentences on what was not taken over as it stood."""

    tables: dict[str, Schema]
    references: list[Reference]
    notes: list[str]


def is_related(plain: object) -> bool:
    """Whether metadata describe tables that relationships join.

    >>> is_related({"tables": {"a": {}, "b": {}}, "relationships": [{}]}), is_related({"tables": {"a": {}}})
    (True, False)
    """
    return isinstance(plain, Mapping) and "tables" in plain and bool(plain.get("relationships"))


def from_sdv_related(plain: Mapping[str, Any], *, name: str = "metadata") -> ExchangedTables:
    """The kinds of all tables, as ``from_sdv`` takes them, and the relationships; columns of keys are identifiers.

    Errors: InputError naming table, column or relationship, and rule.
    """
    tables, notes = {}, []
    references = [_reference(r, name) for r in plain["relationships"]]
    if not isinstance(plain["tables"], Mapping) or len(plain["tables"]) < 2:
        raise InputError(f"{name}: relationships are between two or more tables; `tables` must map their names")
    for table in plain["tables"]:
        result = from_sdv({**plain, "relationships": []}, table_name=table, name=f"{name}: table {table}")
        tables[table] = result.schema.model_copy(update={"dataset": None})
        notes += [f"{table}: {line}" for line in result.notes]
    for reference in references:
        for table, columns in ((reference.child, reference.columns), (reference.parent, reference.parent_columns)):
            if table not in tables:
                raise InputError(f"{name}: relationship {reference}: {table} is not among the tables")
            if absent := [c for c in columns if c not in tables[table].columns]:
                raise InputError(f"{name}: relationship {reference}: {table} has no column {absent[0]}")
            own = tables[table].columns  # the parent's column states how keys are written
            forms = [own[c].pattern if table == reference.parent else None for c in columns]
            keyed = {c: Column(type="identifier", pattern=f) for c, f in zip(columns, forms, strict=True)}
            tables[table] = tables[table].model_copy(update={"columns": {**tables[table].columns, **keyed}})
    return ExchangedTables(tables=tables, references=references, notes=notes)


def _reference(plain: object, name: str) -> Reference:
    if not isinstance(plain, Mapping) or any(p not in plain for p in PARTS):
        raise InputError(f"{name}: a relationship needs {', '.join(PARTS)}")
    parent, theirs, child, own = (plain[p] for p in PARTS)
    columns, others = _several(own), _several(theirs)
    if not (isinstance(parent, str) and isinstance(child, str) and columns and len(columns) == len(others)):
        raise InputError(f"{name}: a relationship joins a column, or a list of them, with as many of its parent")
    return Reference(child=child, columns=columns, parent=parent, parent_columns=others, declared=True)


def _several(columns: object) -> tuple[str, ...]:
    result = [columns] if isinstance(columns, str) else columns if isinstance(columns, list) else []
    return tuple(c for c in result if isinstance(c, str))


def to_sdv_related(schema: Dataset) -> dict[str, Any]:
    """SDV metadata (V1) of related tables as this library writes them; bounds and orders have no place there.

    Privacy: public only.
    """
    tables = {}
    for name, table in schema.tables.items():
        reported = to_sdv(table, table_name=name)["tables"][name]
        if below := schema.keys_below(name):
            reported["primary_key"] = _one_or_list(below[0].referred)
        tables[name] = reported
    relationships = [
        {
            "parent_table_name": k.parent,
            "parent_primary_key": _one_or_list(k.referred),
            "child_table_name": k.child,
            "child_foreign_key": _one_or_list(k.columns),
        }
        for k in schema.keys
    ]
    return {"METADATA_SPEC_VERSION": "V1", "tables": tables, "relationships": relationships}


def _one_or_list(columns: tuple[str, ...]) -> str | list[str]:
    return columns[0] if len(columns) == 1 else list(columns)


def check_kinds(stated: Mapping[str, Schema], headers: Mapping[str, list[str]]) -> None:
    """Errors: UsageError for a table or column of the metadata that the folder does not have."""
    for name, schema in stated.items():
        if name not in headers:
            raise UsageError(f"table {name} of the metadata is not there; there are {', '.join(headers)}")
        if lost := [c for c in schema.columns if c not in headers[name]]:
            raise UsageError(f"table {name} has no column {lost[0]}, which the metadata name")
