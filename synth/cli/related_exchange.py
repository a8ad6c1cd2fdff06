"""`synth schema import` and `export` of related tables: SDV's metadata of several tables."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.cli.answer import tell, write_text
from synth.cli.related_schema import bounds, vouched

if TYPE_CHECKING:
    from synth.schema.sdv_related import ExchangedTables
    from synth.sources.draft_related import DraftedTables, Wanted


def import_related(
    plain: Mapping[str, Any],
    out: Path,
    *,
    name: str,
    table: Path | None,
    source: str | None,
    missing: list[str],
    root: str | None,
    public: Sequence[str] | None,
    most_children: Sequence[str] | None,
    assume_public: bool | Sequence[str],
    because: Mapping[str, str],
) -> None:
    """Writes the schema of metadata of several tables; absent facts are drafted where tables are given."""
    from synth.schema import sdv_related
    from synth.sources.draft_related import Wanted

    result = sdv_related.from_sdv_related(plain, name=name)
    wanted = Wanted(root=root, public=public or (), most_children=bounds(most_children))
    there = table is not None or source is not None
    drafted = _drafted(result, wanted, table, source, missing) if there else _stated(result, wanted)
    tell([*result.notes, *drafted.notes])
    drafted = vouched(drafted, assume_public=assume_public, because=because)
    write_text(out, drafted.to_json())
    print(f"{len(drafted.tables)} tables imported: {', '.join(drafted.tables)}: {out}")
    tell([f"to be decided: {line}" for line in drafted.plain.get("open", ())])


def _stated(exchanged_tables: "ExchangedTables", wanted: "Wanted") -> "DraftedTables":
    """What the metadata say; bounds that nobody states stay absent. Errors: UsageError."""
    from synth.errors import UsageError
    from synth.schema.related_names import tree
    from synth.sources.draft_related import DraftedTables, check

    if wanted.public:
        raise UsageError(
            "--public: the categories of a reference are the public table's keys, which must be read; "
            "name the tables with --table"
        )
    check({t: list(s.columns) for t, s in exchanged_tables.tables.items()}, wanted)
    made = tree(list(exchanged_tables.tables), exchanged_tables.references, public=(), root=wanted.root)
    keys = [
        {
            "parent": k.parent,
            "child": k.child,
            "columns": list(k.columns),
            **({"parent_columns": list(k.parent_columns)} if k.parent_columns != k.columns else {}),
            **({"most_children": most[k.child]} if k.child in (most := wanted.most_children or {}) else {}),
        }
        for k in made.keys
    ]
    notes = [
        f"{k['child']}: most_children is to be stated, how many rows of one row of {k['parent']} are kept "
        f"(--most-children {k['child']}=N)"
        for k in keys
        if "most_children" not in k
    ]
    tables = {t: s for t, s in exchanged_tables.tables.items() if t not in made.aside}
    plain: dict[str, Any] = {"keys": keys, **({"open": made.open} if made.open else {})}
    return DraftedTables(tables=tables, plain=plain, notes=notes)


def _drafted(
    exchanged_tables: "ExchangedTables", wanted: "Wanted", table: Path | None, source: str | None, missing: list[str]
) -> "DraftedTables":
    """The metadata's facts, and what they do not say drafted from rows."""
    from dataclasses import replace

    from synth.schema import sdv_metadata, sdv_related
    from synth.sources import tables_to_draft
    from synth.sources.draft_related import draft_related
    from synth.sources.formats.text_table import Table

    reported = tables_to_draft.in_folder(table) if table is not None else tables_to_draft.in_database(str(source))
    sdv_related.check_kinds(exchanged_tables.tables, reported.headers)

    def rows(name: str) -> tuple[Table, list[str]]:
        whole, notes = reported.rows(name)
        return whole.only(list(exchanged_tables.tables[name].columns)), notes

    options = {t: {**sdv_metadata.kinds(s), "missing": missing} for t, s in exchanged_tables.tables.items()}
    headers = {t: list(s.columns) for t, s in exchanged_tables.tables.items()}
    drafted = draft_related(headers, rows, replace(wanted, options=options), declared=exchanged_tables.references)
    tables, notes = {}, list(drafted.notes)
    referring = {r for p in drafted.plain.get("public", {}).values() for r in p["referred_by"]}
    for name, schema in drafted.tables.items():
        stated = exchanged_tables.tables[name]
        retained = {n: schema.columns[n] if f"{name}.{n}" in referring else c for n, c in stated.columns.items()}
        merged = sdv_metadata.merge(stated.model_copy(update={"columns": retained}), schema)
        tables[name] = merged.schema.model_copy(update={"unit": None, "unit_source": None})
        notes += [f"{name}: {line}" for line in merged.notes]
    return replace(drafted, tables=tables, notes=notes)


def export_related(schema: Path, out: Path) -> None:
    """Writes SDV metadata of related tables. Errors: InputError, UsageError."""
    from synth.schema import dataset as datasets
    from synth.schema import sdv_related

    plain = sdv_related.to_sdv_related(datasets.load(schema, complete=False))
    write_text(out, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
    print(f"SDV metadata of {len(plain['tables'])} tables written: {out}")
