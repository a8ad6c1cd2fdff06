"""SDV metadata, read and written.

Nothing here sees a row. What the metadata do not say, bounds and most categories, stays absent from the schema.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

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


class Exchanged(NamedTuple):
    """A schema, and sentences on what was not taken over as it stood; columns and public codes only."""

    schema: Schema
    notes: list[str]


class Metadata(NamedTuple):
    """The tables of metadata, how they refer to each other, and sentences on what was not taken over as it stood."""

    tables: dict[str, Schema]
    references: list[Reference]
    notes: list[str]

    @property
    def schema(self) -> Schema:
        """That of the only table."""
        (schema,) = self.tables.values()
        return schema


def read_sdv(path: str | Path) -> Any:
    """The JSON data of a file of SDV metadata. Errors: InputError."""
    try:
        return json.loads(regular_files.text(path, encoding="utf-8-sig"))
    except OSError as error:
        raise InputError("metadata {}: {}; check the name", path, error) from None
    except UnicodeDecodeError:
        raise InputError("metadata {}: not UTF-8 text; save it as UTF-8 JSON", path) from None
    except (ValueError, RecursionError):
        raise InputError("metadata {}: not JSON; save it with SDV's metadata.save_to_json", path) from None


def is_schema(plain: object) -> bool:
    """Whether data describe columns as a schema of this library does, not as SDV's metadata do.

    >>> is_schema({"columns": {"a": {"type": "integer"}}}), is_schema({"columns": {"a": {"sdtype": "id"}}})
    (True, False)
    """
    columns = plain.get("columns") if isinstance(plain, dict) else None
    return isinstance(columns, dict) and any(isinstance(c, dict) and "type" in c for c in columns.values())


def from_sdv(plain: object, *, table_name: str | None = None, name: str = "metadata") -> Metadata:
    """The kinds that SDV metadata state, version V1 or the older single- and multi-table form.

    Of one table, that of ``table_name`` where there are several; without it, of all that relationships join, whose
    columns of keys are identifiers. SDV holds no bounds and rarely categories: such facts are absent, so the schema is
    one to complete, to draft the rest of (``merge``) or to learn. Columns of personal data (sdtype email, address,
    unknown...) become identifiers. Errors: InputError naming table, column or relationship, and rule; UsageError for a
    table name that the metadata do not have.

    >>> found = from_sdv({"columns": {"AGE": {"sdtype": "numerical", "computer_representation": "Int64"}}})
    >>> found.schema.columns["AGE"].type, found.schema.columns["AGE"].min is None
    ('integer', True)
    """
    if not isinstance(plain, dict):
        raise InputError("{}: not SDV metadata, which is one JSON object", name)
    if table_name is None and "tables" in plain and plain.get("relationships"):
        return _related(plain, name)
    version = plain.get("METADATA_SPEC_VERSION", "V1")
    if version not in VERSIONS:
        raise InputError(
            "{}: its METADATA_SPEC_VERSION is none of {}; save it as V1 metadata", name, ", ".join(VERSIONS)
        )
    table = plain
    if "tables" in plain:
        tables = plain["tables"]
        if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()) or not tables:
            raise InputError("{}: `tables` must map at least one name to its columns", name)
        if table_name is None and len(tables) > 1:
            listed = ", ".join(tables)
            raise InputError("{}: it describes {} tables; choose one with `table_name=`: {}", name, len(tables), listed)
        table_name = next(iter(tables)) if table_name is None else table_name
        if table_name not in tables:
            listed = ", ".join(tables)
            raise UsageError("`table_name={}`: the metadata have no such table; they have {}", table_name, listed)
        table = tables[table_name]
    elif table_name is not None:
        raise UsageError("`table_name={}`: the metadata give their only table no name; leave it out", table_name)
    columns = table.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise InputError("{}: it describes no columns; `columns` must map names to their sdtype", name)
    notes = [f"{part}: not taken over" for part in UNUSED if plain.get(part) or table.get(part)]
    if isinstance(key := table.get("sequence_key"), str):
        notes.append(f"{key}: the sequence key; to protect it as a person use `unit=` and `max_rows=`")
    made = {column: _column(column, meta, notes, name) for column, meta in columns.items()}
    key = table.get("primary_key")
    if isinstance(key, str) and key in made and made[key].type != "identifier":
        notes.append(f"{key}: the primary key, taken as an identifier")
        made[key] = _key(key, columns[key].get("regex_format"), notes)
    schema = Schema(dataset=table_name, columns=made).model_dump(exclude_none=True)
    return Metadata({table_name or "": parse(schema, name=name, complete=False)}, [], notes)


def _related(plain: Mapping[str, Any], name: str) -> Metadata:
    """All tables of the metadata, with their relationships."""
    references = [_reference(r, name) for r in plain["relationships"]]
    if not isinstance(plain["tables"], Mapping) or len(plain["tables"]) < 2:
        raise InputError("{}: relationships are between two or more tables; `tables` must map their names", name)
    tables, notes = {}, []
    for table in plain["tables"]:
        one = from_sdv({**plain, "relationships": []}, table_name=table, name=f"{name}: table {table}")
        tables[table] = one.schema.model_copy(update={"dataset": None})
        notes += [f"{table}: {line}" for line in one.notes]
    for reference in references:
        for table, columns in ((reference.child, reference.columns), (reference.parent, reference.parent_columns)):
            if table not in tables:
                raise InputError("{}: relationship {}: {} is not among the tables", name, reference, table)
            own = tables[table].columns
            if absent := [c for c in columns if c not in own]:
                raise InputError("{}: relationship {}: {} has no column {}", name, reference, table, absent[0])
            forms = {c: own[c].pattern if table == reference.parent else None for c in columns}  # which that one states
            keyed = {c: Column(type="identifier", pattern=form) for c, form in forms.items()}
            tables[table] = tables[table].model_copy(update={"columns": {**own, **keyed}})
    return Metadata(tables, references, notes)


def _reference(plain: object, name: str) -> Reference:
    if not isinstance(plain, Mapping) or any(p not in plain for p in PARTS):
        raise InputError("{}: a relationship needs {}", name, ", ".join(PARTS))
    parent, theirs, child, own = (plain[p] for p in PARTS)
    sides = [[c] if isinstance(c, str) else c if isinstance(c, list) else [] for c in (own, theirs)]
    columns, others = (tuple(c for c in side if isinstance(c, str)) for side in sides)
    if not (isinstance(parent, str) and isinstance(child, str) and columns and len(columns) == len(others)):
        raise InputError("{}: a relationship joins a column, or a list of them, with as many of its parent", name)
    return Reference(child=child, columns=columns, parent=parent, parent_columns=others, declared=True)


def _column(column: str, meta: object, notes: list[str], name: str) -> Column:
    """The facts that the metadata state of a column."""
    if not isinstance(meta, dict) or not isinstance(meta.get("sdtype"), str):
        raise InputError("{}: column {} has no sdtype; give it one", name, column)
    sdtype = meta["sdtype"]
    if sdtype == "numerical":
        whole = re.fullmatch(r"U?Int\d+", str(meta.get("computer_representation")))
        return Column(type="integer" if whole else "float")
    if sdtype in ("categorical", "ordinal"):
        order = meta.get("order")
        if isinstance(order, list) and order:
            return Column(type="ordinal", categories=tuple(str(value) for value in order if value is not None))
        return Column(type="ordinal" if meta.get("order_by") or sdtype == "ordinal" else "categorical")
    if sdtype == "boolean":
        return Column(type="boolean")
    if sdtype == "datetime":
        if not isinstance(form := meta.get("datetime_format"), str):
            return Column(type="datetime")
        if not ISO_FORMAT.fullmatch(form):
            notes.append(f"{column}: dates written as {form} are not read; convert them to dates like 2020-01-31")
        return Column(type="datetime", resolution="second" if "%S" in form else "minute" if "%M" in form else "day")
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
    return Exchanged(parse(whole.model_dump(exclude_none=True)), notes)


def _merged(name: str, stated: Column, drafted: Column, notes: list[str]) -> Column:
    if stated.type == "identifier":
        return stated
    if drafted.type == "omitted":
        notes.append(f"{name}: {stated.type} in the metadata; {RISKS[str(drafted.risk)]}, so it is left out")
        return drafted
    if stated.categories:
        codes = {canonical(code) for code in drafted.missing_codes}
        categories = tuple(c for c in stated.categories if canonical(c) not in codes)
        source = UNCONFIRMED if drafted.missing_codes else stated.source
        return drafted.model_copy(
            update={"type": stated.type, "categories": categories, "source": source, "risk": None}
        )
    if stated.type == "boolean" and len(drafted.categories or ()) <= 2:
        return drafted.model_copy(update={"type": "boolean"})
    if stated.type in NUMERIC and drafted.type in ("categorical", "boolean", "datetime") and drafted.size > 1:
        raise InputError(
            "column {}: the metadata say numerical, but not all cells are numbers; name texts that mean missing "
            "with `missing=`, or correct the metadata",
            name,
        )
    if drafted.type != stated.type:
        notes.append(f"{name}: {stated.type} in the metadata, {drafted.type} by its rows")
    return drafted


def to_sdv(schema: Schema | Dataset, *, table_name: str | None = None) -> dict[str, Any]:
    """SDV metadata (V1) of the tables as this library writes them; bounds, missing codes, labels and orders have no
    place there.

    The primary key of a table is that to which others refer, else its identifier where there is exactly one that does
    not stand for a person with several rows. ``table_name``: what the only table is called.

    Privacy: public only.

    >>> from synth.schema.table import parse
    >>> schema = parse({"columns": {"ID": {"type": "identifier"}, "AGE": {"type": "integer", "min": 0, "max": 99}}})
    >>> to_sdv(schema, table_name="people")["tables"]["people"]["primary_key"]
    'ID'
    """
    tables: dict[str, Any] = {}
    for name, one in schema.tables.items():
        columns = one.retained().columns
        table: dict[str, Any] = {"columns": {n: _sdtype(column) for n, column in columns.items()}}
        keys = [n for n, column in columns.items() if column.type == "identifier"]
        if len(keys) == 1 and keys[0] != one.person:
            table["primary_key"] = keys[0]
        if below := schema.keys_below(name):
            table["primary_key"] = _one_or_list(below[0].referred)
        tables[name if schema.several else table_name or one.dataset or "table"] = table
    keyed = [(k.parent, _one_or_list(k.referred), k.child, _one_or_list(k.columns)) for k in schema.keys]
    joined = {"relationships": [dict(zip(PARTS, key, strict=True)) for key in keyed]} if keyed else {}
    return {"METADATA_SPEC_VERSION": "V1", "tables": tables, **joined}


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


def _one_or_list(columns: tuple[str, ...]) -> str | list[str]:
    return columns[0] if len(columns) == 1 else list(columns)
