"""Canaries of related tables: neighbouring folders that differ by one root with all its children, whole way round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from synth.privacy.relation import Relation
from synth.schema import dataset as datasets
from synth.schema.dataset import Dataset
from synth.schema.table import Schema

Cells = Mapping[str, Sequence[str]]
Tables = Mapping[str, Cells]
BOUND, MANY = 2, 5  # children of a parent that are kept; that the odd roots have
LETTERS = ["a", "b", "c", "d"]
KEY = {"type": "identifier"}
KIND = {"type": "categorical", "categories": LETTERS}
FACTS: dict[str, Any] = {
    "tables": {
        "homes": {"columns": {"home": KEY, "kind": KIND}},
        "people": {
            "columns": {"person": KEY, "home": KEY, "kind": KIND, "nth": {"type": "integer", "min": 0, "max": 7}}
        },
        "visits": {"columns": {"person": KEY, "kind": KIND}},
    },
    "keys": [
        {"parent": "homes", "child": "people", "columns": ["home"], "most_children": BOUND, "order": "nth"},
        {"parent": "people", "child": "visits", "columns": ["person"], "most_children": BOUND},
    ],
}
HOMES = 10  # of the root's company
LONG = 1 << 20  # characters of a key


@dataclass(frozen=True, kw_only=True)
class TreeCanary:
    """Two neighbouring folders: ``company``, and ``odd``, one root with everything below it, in front of it; under
    replace_one ``instead``.

    ``shows``: the kind of fault that it is made for. ``max_rows``: of the unit, which is one root.
    """

    name: str
    shows: str
    company: Tables = field(repr=False)
    odd: Tables = field(repr=False)
    instead: Tables = field(repr=False)
    kind: str = "folder"
    max_rows: int = 1

    @property
    def facts(self) -> dict[str, Any]:
        """The public schema as JSON data."""
        return FACTS

    @property
    def schema(self) -> Dataset | Schema:
        """The public schema."""
        return datasets.parse(FACTS)

    @property
    def unit(self) -> str:
        """What the unit is named by."""
        return str(FACTS["keys"][0]["parent"])

    @property
    def columns(self) -> dict[str, list[str]]:
        """The columns of each table."""
        return {t: list(facts["columns"]) for t, facts in FACTS["tables"].items()}

    def tables(self, relation: Relation) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
        """Both sides, each as frames of text by table."""
        gone = self.instead if relation is Relation.REPLACE_ONE else {}
        one, other = (
            {t: _joined(names, front.get(t), self.company[t]) for t, names in self.columns.items()}
            for front in (self.odd, gone)
        )
        return one, other


def _joined(columns: Sequence[str], front: Cells | None, company: Cells) -> pd.DataFrame:
    return pd.DataFrame({n: [*(front or {}).get(n, ()), *company[n]] for n in columns}, dtype=str)


def trees() -> list[TreeCanary]:
    """All canaries of related tables."""
    plain = _tree("x", kind="c", people=1, visits=1)
    return [
        TreeCanary(
            name="a root with all its children",
            shows="children that weigh more than their root",
            company=_company(),
            odd=_tree("odd", kind="d", people=MANY, visits=MANY),
            instead=plain,
        ),
        TreeCanary(
            name="a root with as many as are kept",
            shows="a weight that is not shared by its rows",
            company=_company(),
            odd=_tree("odd", kind="d", people=BOUND, visits=BOUND),
            instead=plain,
        ),
        TreeCanary(
            name="a root alone",
            shows="roots without children",
            company=_company(),
            odd=_tree("odd", kind="d", people=0, visits=0),
            instead=plain,
        ),
        TreeCanary(
            name="a key that stands many times",
            shows="rows of one key that count as several roots",
            company=_company(),
            odd=_twice(),
            instead=plain,
        ),
        TreeCanary(
            name="cells and keys that cannot be read",
            shows="counts, sizes or words that tell of them",
            company=_company(),
            odd=_unreadable(),
            instead=plain,
        ),
        TreeCanary(
            name="children of nobody",
            shows="rows without a parent that are seen",
            company=_company(),
            odd={"people": _tree("nobody", kind="d", people=MANY, visits=0)["people"]},
            instead={},
        ),
    ]


def _company() -> dict[str, dict[str, list[str]]]:
    """Ordinary homes of two people with a visit each."""
    result: dict[str, dict[str, list[str]]] = {}
    for i in range(HOMES):
        for table, cells in _tree(f"h{i}", kind=LETTERS[i % 2], people=2, visits=1).items():
            for name, texts in cells.items():
                result.setdefault(table, {}).setdefault(name, []).extend(texts)
    return result


def _tree(home: str, *, kind: str, people: int, visits: int) -> dict[str, dict[str, list[str]]]:
    """One home with people who have visits, all of one kind."""
    persons = [f"{home}-{i}" for i in range(people)]
    return {
        "homes": {"home": [home], "kind": [kind]},
        "people": {
            "person": persons,
            "home": [home] * people,
            "kind": [kind] * people,
            "nth": [str(i % 8) for i in range(people)],
        },
        "visits": {"person": [p for p in persons for _ in range(visits)], "kind": [kind] * (people * visits)},
    }


def _twice() -> dict[str, dict[str, list[str]]]:
    odd = _tree("odd", kind="d", people=MANY, visits=MANY)
    return {**odd, "homes": {"home": ["odd"] * MANY, "kind": ["d"] * MANY}}


def _unreadable() -> dict[str, dict[str, list[str]]]:
    """A root whose cells no schema knows, one key of a mebibyte, one empty, and children whose own keys repeat."""
    long = "CANARY " + "k" * LONG
    return {
        "homes": {"home": [long], "kind": ["=CANARY()"]},
        "people": {
            "person": ["", "odd", "odd"],
            "home": [long] * 3,
            "kind": ["CANARY", "", "1e999"],
            "nth": ["-1e400", "CANARY", "99999"],
        },
        "visits": {"person": ["odd", "odd", "nobody", ""], "kind": ["CANARY"] * 4},
    }
