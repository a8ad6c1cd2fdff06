"""References by several columns to a public table: the combinations that its rows have, as rules of the rows made."""

from collections.abc import Mapping
from typing import Any

from synth.errors import InputError
from synth.schema.column import canonical
from synth.schema.constraints import Fixed
from synth.schema.table import Schema
from synth.schema.tree import PublicTable
from synth.sources.formats.text_table import Table


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
