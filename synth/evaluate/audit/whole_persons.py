"""Canaries of one table whose persons keep their rows: neighbouring files that differ by one person with all rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from synth.errors import UsageError
from synth.evaluate.audit.whole_trees import KEY, KIND, LETTERS, LONG, Tables, TreeCanary, trees
from synth.schema import table as schemas
from synth.schema.table import Schema

COMPANY = 10  # persons beside the odd one
BOUND, MANY = 5, 8  # rows of a person that are kept; that the odd one has
PERSON = "person"  # the unit, and the name of the file
FACTS: dict[str, Any] = {
    "unit": PERSON,
    "max_rows": BOUND,
    "order": "nth",
    "columns": {
        PERSON: KEY,
        "group": {**KIND, "of": "unit"},
        "kind": KIND,
        "nth": {"type": "integer", "min": 0, "max": 7},
    },
}


@dataclass(frozen=True, kw_only=True)
class PersonsCanary(TreeCanary):
    """Two neighbouring files: ``company``, and ``odd``, one person with all rows, in front of it."""

    kind: str = "file of persons"

    @property
    def facts(self) -> dict[str, Any]:
        """The public schema as JSON data."""
        return FACTS

    @property
    def schema(self) -> Schema:
        """The public schema of the one table."""
        return schemas.parse(FACTS)

    @property
    def unit(self) -> str:
        """The column that names the unit."""
        return PERSON

    @property
    def columns(self) -> dict[str, list[str]]:
        """The columns of the file."""
        return {PERSON: list(FACTS["columns"])}


def persons_canaries() -> list[TreeCanary]:
    """All canaries of such a table."""
    several = [["odd", "d", "d", str(i)] for i in range(MANY)]
    differing = [["odd", LETTERS[i % 4], "d", "0"] for i in range(MANY)]
    unreadable = [
        ["CANARY " + "k" * LONG, "=CANARY()", "CANARY", "1e999"],
        ["", "d", "", "-1e400"],
        *[["odd", "", "CANARY", "99999"]] * 2,
    ]
    return [
        _canary("a person with many rows", "a weight that is not shared by a person's rows", several),
        _canary("a person with as many rows as are kept", "rows that weigh more than their person", several[:BOUND]),
        _canary("a person whose own values differ", "words or choices that tell which value was taken", differing),
        _canary("a person's cells that cannot be read", "counts, sizes or words that tell of them", unreadable),
    ]


def chosen_trees(names: Sequence[str]) -> list[TreeCanary]:
    """The canaries of related tables, and of persons, of these names; all without any.

    Errors: UsageError for a name that none has.
    """
    listed = [*trees(), *persons_canaries()]
    unknown = [n for n in names if n not in {c.name for c in listed}]
    if unknown:
        raise UsageError(f"`only={unknown[0]}`: no such canary; choose among {'; '.join(c.name for c in listed)}")
    return [c for c in listed if not names or c.name in names]


def _canary(name: str, shows: str, odd: Sequence[Sequence[str]]) -> PersonsCanary:
    company = [[f"p{i}", LETTERS[i % 2], LETTERS[i % 2], str(j)] for i in range(COMPANY) for j in range(2)]
    columns = list(FACTS["columns"])

    def file(rows: Sequence[Sequence[str]]) -> Tables:
        return {PERSON: {n: [row[j] for row in rows] for j, n in enumerate(columns)}}

    instead = [["x", "c", "c", "0"]]
    return PersonsCanary(name=name, shows=shows, company=file(company), odd=file(odd), instead=file(instead))
