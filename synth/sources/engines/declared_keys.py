"""The foreign keys that a database declares between its tables: facts of its catalogue, no row is read."""

from collections.abc import Iterable

from synth.errors import UsageError
from synth.schema.related_names import Reference
from synth.sources.engines.engine import Engine

POSTGRES = """
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
DUCKDB = """
SELECT constraint_index, table_name, unnest(constraint_column_names), referenced_table, unnest(referenced_column_names)
FROM duckdb_constraints()
WHERE constraint_type = 'FOREIGN KEY' AND database_name = current_database() AND schema_name = current_schema()
ORDER BY table_name, constraint_index
"""
QUERIES = {"postgres": POSTGRES, "duckdb": DUCKDB}


def declared_keys(engine: Engine) -> list[Reference]:
    """The foreign keys of the user's own schema. Errors: UsageError for an engine that has none; InputError."""
    query = QUERIES.get(engine.dialect.name)
    if query is None:
        raise UsageError(
            f"source {engine.shown}: it declares no keys; name a folder of files, or state keys with `keys=`"
        )
    return grouped(row for part in engine.rows(query) for row in part)


def grouped(rows: Iterable[tuple]) -> list[Reference]:
    """References from rows of (key's number, child, its column, parent, its column), a key's columns in order."""
    result: dict[tuple, list[tuple[str, str]]] = {}
    for number, child, column, parent, other in rows:
        result.setdefault((number, child, parent), []).append((column, other))
    return [
        Reference(
            child=child,
            columns=tuple(c for c, _ in pairs),
            parent=parent,
            parent_columns=tuple(o for _, o in pairs),
            declared=True,
        )
        for (_, child, parent), pairs in result.items()
    ]
