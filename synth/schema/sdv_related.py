"""SDV's metadata of several tables, read and written: tables as alone, relationships as keys.

Nothing here sees a row. How many children of a parent are kept stands in no metadata and stays absent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth.errors import InputError, UsageError
from synth.schema.dataset import Dataset
from synth.schema.related_names import Reference
from synth.schema.sdv_metadata import from_sdv, to_sdv
from synth.schema.table import Column, Schema

PARTS = ("parent_table_name", "parent_primary_key", "child_table_name", "child_foreign_key")


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
