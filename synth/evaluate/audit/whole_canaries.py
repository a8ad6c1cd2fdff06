"""The standard canaries of the whole way: neighbouring tables as files, each made to show one kind of fault.

Every fault that was ever found before the noise has its canary here, so that it is looked for again in every audit. Of
related tables, and of persons who keep their rows, the tables differ by one root with everything below it.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pandas as pd

from synth.errors import UsageError
from synth.evaluate.audit.neighbours import FACTS
from synth.privacy.relation import Relation
from synth.schema.dataset import Dataset, parse_any, taken
from synth.schema.table import Schema
from synth.sources.engines.engine import Engine

Rows = Sequence[Sequence[Any]]
Tables = Mapping[str, Rows]
LARGE = 10**18  # whole numbers here are 128 apart in double precision
TEXTS = 2_000  # distinct texts, from which on a reader might choose another way
PERSON_ROWS = 64  # rows of a person that are kept, where an audit names no other number
LONG = 1 << 20  # characters
TABLE, PERSON = "table", "person"

COLUMNS: dict[str, Any] = FACTS["columns"]  # type: ignore[assignment]
TWO = {"kind": COLUMNS["kind"], "flag": COLUMNS["flag"]}
DAY = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-08"}
COMPOSED = [
    f"od{e}{unseen} {seven}"
    for e in ("\u00e9", "e\u0301")
    for unseen in ("", "\u00ad", "\u200b", "\u2060", "\ufeff")
    for seven in ("7", "\uff17")
]
SPELLINGS = {"a person in two spellings": ("odd", "odd" + " " * 300), "a person in spellings of Unicode": COMPOSED}
LATE = "errors that one cell brings about after the spend"
DECIDING = "a way of reading that the number of texts decides; cells placed together"
TOLD = "counts, sizes or words that tell of them"
SHOWS = {  # by canary the kind of fault that it is made for
    "a row more": "noise or sensitivity that is not as claimed",
    "a row moved in a sorted file": "answers that follow the order of the rows",
    "a blank among large numbers": "numbers read together",
    "the 2,001st text": DECIDING,
    "the 2,001st text, in a database": DECIDING,
    "a person with many rows in front": "kept rows that others' rows decide",
    "a person with equal rows": "too small a sensitivity for several rows",
    "a person in two spellings": "identifiers compared before they are canonical",
    "a person in spellings of Unicode": "spellings of Unicode that are several persons",
    "two columns that differ in capitals": "one column read in the place of another",
    "the table in an earlier release": "a prior that is not what was released",
    "cells that cannot be read": "messages, exit codes and files that tell of cells",
    "a text of a million characters": "memory and errors that the longest cell decides",
    "a longer decimal, in a frame": "a type inferred from all cells",
    "the earliest of all dates, in Parquet": LATE,
    "a date without an end, in a database": LATE,
    "a formula and a clock, in a workbook": "a type that a sheet's other cells decide",
    "a root with all its children": "children that weigh more than their root",
    "a root with as many as are kept": "a weight that is not shared by its rows",
    "a root alone": "roots without children",
    "a key that stands many times": "rows of one key that count as several roots",
    "cells and keys that cannot be read": TOLD,
    "children of nobody": "rows without a parent that are seen",
    "a person with many rows": "a weight that is not shared by a person's rows",
    "a person with as many rows as are kept": "rows that weigh more than their person",
    "a person whose own values differ": "words or choices that tell which value was taken",
    "a person's cells that cannot be read": TOLD,
}

BOUND, MANY = 2, 5  # children of a parent that are kept; that the odd roots have
HOMES, PERSONS = 10, 10  # of a root's company
KEPT, MANY_ROWS = 5, 8  # rows of a person that are kept; that the odd one has
LETTERS = ["a", "b", "c", "d"]
KEY = {"type": "identifier"}
KIND = {"type": "categorical", "categories": LETTERS}
NTH = {"type": "integer", "min": 0, "max": 7}
TREES: dict[str, Any] = {
    "tables": {
        "homes": {"columns": {"home": KEY, "kind": KIND}},
        "people": {"columns": {"person": KEY, "home": KEY, "kind": KIND, "nth": NTH}},
        "visits": {"columns": {"person": KEY, "kind": KIND}},
    },
    "keys": [
        {"parent": "homes", "child": "people", "columns": ["home"], "most_children": BOUND, "order": "nth"},
        {"parent": "people", "child": "visits", "columns": ["person"], "most_children": BOUND},
    ],
}
OF_PERSONS: dict[str, Any] = {
    "unit": PERSON,
    "max_rows": KEPT,
    "order": "nth",
    "columns": {PERSON: KEY, "group": {**KIND, "of": "unit"}, "kind": KIND, "nth": NTH},
}


@dataclass(frozen=True, kw_only=True)
class Canary:
    """Two neighbouring tables, or folders of them: ``company``, in front of which stands ``odd``; or, under
    replace_one, ``instead``, which stands behind it where ``last``. All are rows by table.

    ``shows``: the kind of fault that it is made for. ``facts``: the public schema as JSON data. ``kind``: csv, parquet,
    frame (of Python objects), duckdb, xlsx, an engine's name, folder, or file of persons. ``source``: the engine's
    address. ``header``: columns of the only table, where they are not the schema's. ``refused``: whether no reader
    takes either table. ``prior``: whether it also lies, in place of what was released, in the earlier release that is
    the run's prior.
    """

    name: str
    shows: str
    facts: Mapping[str, Any]
    company: Tables = field(repr=False)
    odd: Tables = field(repr=False)
    instead: Tables = field(repr=False)
    kind: str = "csv"
    source: str | None = field(default=None, repr=False)
    header: Sequence[str] = ()
    last: bool = False
    refused: bool = False
    prior: bool = False

    @property
    def schema(self) -> Schema | Dataset:
        """The public schema."""
        return parse_any(self.facts)

    @property
    def tree(self) -> bool:
        """Whether rows belong to roots, or to persons who keep them."""
        return taken(self.schema).tree is not None

    @property
    def max_rows(self) -> int:
        """Rows of the unit that are kept; a root with all below it counts as one."""
        return 1 if self.tree else int(self.facts.get("max_rows", 1))

    @property
    def unit(self) -> str:
        """What the unit is named by."""
        row = "row" if self.max_rows == 1 else "person"
        return (str(self.facts.get("unit") or self.facts["keys"][0]["parent"])) if self.tree else row

    def columns(self, table: str) -> list[str]:
        """Of a table of the file or folder."""
        return list(self.header or self.facts.get("tables", {}).get(table, self.facts)["columns"])

    def tables(self, relation: Relation) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
        """Both sides, each as frames by table; every cell is kept as the object that it is."""
        gone = self.instead if relation is Relation.REPLACE_ONE else {}
        one = {t: [*self.odd.get(t, ()), *rows] for t, rows in self.company.items()}
        other = {
            t: [*rows, *gone.get(t, ())] if self.last else [*gone.get(t, ()), *rows] for t, rows in self.company.items()
        }
        return self._frames(one), self._frames(other)

    def _frames(self, tables: Tables) -> dict[str, pd.DataFrame]:
        return {
            t: pd.DataFrame(
                {n: pd.Series([row[j] for row in rows], dtype=object) for j, n in enumerate(self.columns(t))}
            )
            for t, rows in tables.items()
        }


def _one(name: str, columns: Mapping[str, Any], *rows: Rows, most: int = 1, **how: Any) -> Canary:
    """A canary of one table. ``most``: rows of a person that are kept, where there are persons;
    ``rows``: of its company, the odd ones, and those instead."""
    facts: dict[str, Any] = {"columns": dict(columns)}
    if most > 1:
        facts = {"columns": {PERSON: KEY, **columns}, "unit": PERSON, "max_rows": most}
    sides = {side: {TABLE: each} for side, each in zip(("company", "odd", "instead"), rows, strict=True)}
    return Canary(**{"name": name, "shows": SHOWS.get(name, ""), "facts": facts, **sides, **how})


def _crowd(persons: int, each: int) -> Rows:
    """Ordinary persons with so many rows each."""
    return [(f"person {i // each}", "ab"[i % 2], "no") for i in range(persons * each)]


def standard(max_rows: int = 1) -> list[Canary]:
    """All canaries of one table. ``max_rows``: of the persons among them; 1 for ``PERSON_ROWS``."""
    most = max_rows if max_rows > 1 else PERSON_ROWS
    twice, amounts = 2 * most, [("a", "0", "no"), ("b", "1", "no")] * 6
    row = amounts, [("d", "7", "yes")], [("c", "4", "no")]
    moved = [("a", "no"), ("b", "yes")] * 30, [("b", "yes")], [("a", "no")]
    texts, ordinary = [(f"text {i}", "no") for i in range(TEXTS)], [("a", "no"), ("b", "no")] * 20
    large = str(LARGE + 65)
    numbers = {"number": {"type": "integer", "min": LARGE, "max": LARGE + 255}, "flag": COLUMNS["flag"]}
    pushing = 3 * most - 1 + most % 2  # odd, and one less is even

    def alike(value: str, size: int, flag: str = "yes") -> tuple[Rows, Rows]:
        """An odd person's rows, and another's in their place."""
        return [("odd", value, flag)] * size, [("new", "c", "no")] * (size - (flag == "no"))

    def capital(persons: Sequence[int], amount: int) -> Rows:
        return [(10**6 * amount + i, p, amount) for i, p in enumerate(persons)]

    persons = [([(s, "d", "yes") for s in spelled] * twice, spelled) for spelled in SPELLINGS.values()]
    capitals = (capital([i // 3 for i in range(12)], 0), capital([7] * 20 * most, 6), capital([8] * 20 * most, 4))
    amount, crowd = {"amount": COLUMNS["amount"]}, _crowd(max(1280 // most, 20), twice)
    file: dict[str, Any] = {"kind": "parquet", "header": ("PERSON", PERSON, "amount"), "refused": True}
    return [
        _one("a row more", COLUMNS, *row),
        # every row between the old place and the new one is unlike the next
        _one("a row moved in a sorted file", TWO, *moved, last=True),
        _one("a blank among large numbers", numbers, [(large, "no")] * 200, [("", "no")], [(large, "no")]),
        *(
            _one(name, TWO, texts, [("one more", "no")], [("text 0", "no")], kind=kind)
            for name, kind in (("the 2,001st text", "csv"), ("the 2,001st text, in a database", "duckdb"))
        ),
        _one("a person with many rows in front", TWO, crowd, *alike("d", pushing, "no"), most=most),
        _one("a person with equal rows", TWO, _crowd(4, 3), *alike("d", twice), most=most),
        *(
            _one(name, TWO, _crowd(4, 3), odd, [("new", "c", "no")] * (twice * len(spelled)), most=most)
            for name, (odd, spelled) in zip(SPELLINGS, persons, strict=True)
        ),
        # a table that every reader refuses: PERSON says of each row another person
        _one("two columns that differ in capitals", amount, *capitals, most=most, **file),
        # the private table stands in an earlier release, which is the prior, and which nothing takes therefore
        _one("the table in an earlier release", COLUMNS, *row, prior=True, refused=True),
        *_of_cells(amounts, ordinary),
    ]


def _of_cells(amounts: Rows, ordinary: Rows) -> list[Canary]:
    """Cells that a reader, a type or a spreadsheet may stumble over, each with ordinary cells in their place."""
    moment = pd.Timestamp("2020-01-02")
    prices = {**TWO, "kind": {"type": "categorical", "categories": ["1.10", "7.125", "9.5", "11.25"]}}
    decimals = [[(Decimal(d), "no")] * n for d, n in (("1.10", 100), ("7.125", 1), ("9.50", 1))]
    earliest = [(moment, "no")] * 12, [(pd.Timestamp.min, "no")], [(pd.Timestamp("2020-01-05"), "no")]
    endless = [(str(moment), "no")] * 12, [("-infinity", "no")], [("2020-01-05", "no")]
    days, dated = {"day": DAY, "flag": COLUMNS["flag"]}, {**COLUMNS, "day": DAY}
    reads = [("=CANARY", "CANARY 1e999", "", "-infinity")], [("c", "4", "no", "2020-01-05")]
    sheet = [("a", 0, "no", moment.to_pydatetime()), ("b", 1, "no", moment.to_pydatetime())] * 6
    clock = [("=CANARY()", "CANARY _xD800_ 1e999", True, dt.time(1))], [("c", 4, "no", dt.datetime(2020, 1, 5))]
    return [
        _one("cells that cannot be read", dated, [(*r, "2020-01-02") for r in amounts], *reads),
        _one("a text of a million characters", TWO, ordinary, [("x" * LONG, "no")], [("c", "no")]),
        _one("a longer decimal, in a frame", prices, *decimals, kind="frame"),
        _one("the earliest of all dates, in Parquet", days, *earliest, kind="parquet"),
        _one("a date without an end, in a database", days, *endless, kind="duckdb"),
        # a formula without a stored result, half a character in a text, a clock among dates
        _one("a formula and a clock, in a workbook", dated, sheet, *clock, kind="xlsx"),
    ]


def in_engine(source: str) -> Canary:
    """The canary of a database or cluster: what no type of its columns was made for. Errors: UsageError."""
    kind = Engine(source).dialect.name
    last, day = "infinity" if kind == "postgres" else dt.date(9999, 12, 31), dt.date(2020, 1, 2)
    company = [("a", 0.0, "no", day), ("b", 1.0, "no", day)] * 6
    odd, instead = [("'=\u2028CANARY " + "x" * 5000, math.inf, None, last)], [("c", 4.0, "no", dt.date(2020, 1, 5))]
    name, shows = f"cells at the ends of their types, in {kind}", "cells that an engine fails at"
    return _one(name, {**COLUMNS, "day": DAY}, company, odd, instead, kind=kind, source=source, shows=shows)


def _tree(home: str, kind: str, people: int, visits: int) -> dict[str, Rows]:
    """One home with people who have visits, all of one kind."""
    persons = [f"{home}-{i}" for i in range(people)]
    return {
        "homes": [(home, kind)],
        "people": [(p, home, kind, str(i % 8)) for i, p in enumerate(persons)],
        "visits": [(p, kind) for p in persons for _ in range(visits)],
    }


def trees() -> list[Canary]:
    """All canaries of related tables, among ordinary homes of two people with a visit each."""
    ordinary = [_tree(f"h{i}", LETTERS[i % 2], 2, 1) for i in range(HOMES)]
    company = {t: [row for home in ordinary for row in home[t]] for t in TREES["tables"]}
    plain, large, long = _tree("x", "c", 1, 1), _tree("odd", "d", MANY, MANY), "CANARY " + "k" * LONG
    unreadable: dict[
        str, Rows
    ] = {  # cells that no schema knows, one key of a mebibyte, one empty, and keys that repeat
        "homes": [(long, "=CANARY()")],
        "people": [("", long, "CANARY", "-1e400"), ("odd", long, "", "CANARY"), ("odd", long, "1e999", "99999")],
        "visits": [(p, "CANARY") for p in ("odd", "odd", "nobody", "")],
    }
    odd: dict[str, Tables] = {
        "a root with all its children": large,
        "a root with as many as are kept": _tree("odd", "d", BOUND, BOUND),
        "a root alone": _tree("odd", "d", 0, 0),
        "a key that stands many times": {**large, "homes": [("odd", "d")] * MANY},
        "cells and keys that cannot be read": unreadable,
        "children of nobody": {"people": _tree("nobody", "d", MANY, 0)["people"]},
    }
    how: dict[str, Any] = {"facts": TREES, "company": company, "kind": "folder"}
    return [Canary(name=n, shows=SHOWS[n], odd=o, instead=plain if "homes" in o else {}, **how) for n, o in odd.items()]


def persons_canaries() -> list[Canary]:
    """All canaries of one table whose persons keep their rows: one person with all rows in front of the others."""
    company = [(f"p{i}", LETTERS[i % 2], LETTERS[i % 2], str(j)) for i in range(PERSONS) for j in range(2)]
    several = [("odd", "d", "d", str(i)) for i in range(MANY_ROWS)]
    unreadable = [("CANARY " + "k" * LONG, "=CANARY()", "CANARY", "1e999"), ("", "d", "", "-1e400")]
    odd: dict[str, Rows] = {
        "a person with many rows": several,
        "a person with as many rows as are kept": several[:KEPT],
        "a person whose own values differ": [("odd", LETTERS[i % 4], "d", "0") for i in range(MANY_ROWS)],
        "a person's cells that cannot be read": [*unreadable, *[("odd", "", "CANARY", "99999")] * 2],
    }
    how: dict[str, Any] = {"facts": OF_PERSONS, "company": {PERSON: company}, "kind": "file of persons"}
    how["instead"] = {PERSON: [("x", "c", "c", "0")]}
    return [Canary(name=n, shows=SHOWS[n], odd={PERSON: o}, **how) for n, o in odd.items()]


def chosen(
    names: Sequence[str], *, related: bool = False, max_rows: int = 1, sources: Sequence[str] = ()
) -> list[Canary]:
    """The canaries of these names; all without any. ``related``: of related tables and of persons; else of one table,
    with ``sources``, engines that have one each besides the standard ones.

    Errors: UsageError for a name that none has, and for an address of no known engine.
    """
    listed = [*trees(), *persons_canaries()] if related else [*standard(max_rows), *map(in_engine, sources)]
    unknown = [n for n in names if n not in {c.name for c in listed}]
    if unknown:
        raise UsageError(f"`only={unknown[0]}`: no such canary; choose among {'; '.join(c.name for c in listed)}")
    return [c for c in listed if not names or c.name in names]
