"""The table of one table in which persons keep their rows, from benchmarks/results/persons.json and related.json."""

from collections.abc import Sequence
from typing import Any

from markdown_tables import figure, table

KINDS = {
    "columns of one stay": "child",
    "a patient's own columns with a stay's": "across, roots alike",
    "number of stays by a patient's column": "number by parent",
    "siblings, the same column": "siblings, same column, roots alike",
    "siblings, any two columns": "siblings, roots alike",
    "from one row to the next": "steps, roots alike",
}


def markdown(persons: Sequence[dict[str, Any]], related: Sequence[dict[str, Any]]) -> str:
    """Means over runs of the error of the tables made, divided by that of independent columns without noise."""
    ways = [persons, [r for r in related if r["table"] == "hospital"]]

    def mean(rows: Sequence[dict[str, Any]], what: str) -> str:
        errors = [r["scores"][what]["error"] / max(r["scores"][what]["independent"], 1e-9) for r in rows]
        return figure(sum(errors) / len(errors), 2) if errors else "-"

    def of(rows: Sequence[dict[str, Any]], name: str, digits: int) -> str:
        values = [r[name] for r in rows if name in r]
        return figure(sum(values) / len(values), digits) if values else "-"

    lines = [[label, *(mean(rows, what) for rows in ways)] for label, what in KINDS.items()]
    constant = of(persons, "constant", 3)
    lines += [["patients with one race and one gender, share", constant, "1"]]
    lines += [["runs", *(str(len(rows)) for rows in ways)]]
    return table(("what", "one table, persons kept", "two tables"), lines)
