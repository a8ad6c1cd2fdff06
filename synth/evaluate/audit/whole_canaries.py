"""The standard canaries of the whole way: neighbouring tables as files, each made to show one kind of fault.

Every fault that was ever found before the noise has its canary here, so that it is looked for again in every audit.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pandas as pd

from synth.errors import UsageError
from synth.evaluate.audit.neighbours import FACTS
from synth.privacy.relation import Relation
from synth.sources.engines.engine import Engine

Cells = Mapping[str, Sequence[Any]]
LARGE = 10**18  # whole numbers here are 128 apart in double precision
TEXTS = 2_000  # distinct texts, from which on a reader might choose another way
PERSON_ROWS = 64  # rows of a person that are kept, where an audit names no other number
LONG = 1 << 20  # characters

COLUMNS: dict[str, Any] = FACTS["columns"]  # type: ignore[assignment]
KIND, FLAG = COLUMNS["kind"], COLUMNS["flag"]
DAY = {"type": "datetime", "min": "2020-01-01", "max": "2020-01-08"}
SPACED = ("odd", "odd" + " " * 300)
COMPOSED = [
    f"od{e}{unseen} {seven}"
    for e in ("\u00e9", "e\u0301")
    for unseen in ("", "\u00ad", "\u200b", "\u2060", "\ufeff")
    for seven in ("7", "\uff17")
]


@dataclass(frozen=True, kw_only=True)
class Canary:
    """Two neighbouring tables: ``company``, in front of which stands ``odd``; or, under replace_one, ``instead``, which
    stands behind it where ``last``.

    ``shows``: the kind of fault that it is made for. ``kind``: csv, parquet, frame (of Python objects), duckdb,
    xlsx, or an engine's name. ``source``: the engine's address. ``max_rows``: rows of a person that are kept, where the
    tables have persons. ``refused``: whether no reader takes either table. ``prior``: whether it also
    lies, in place of what was released, in the earlier release that is the run's prior.
    """

    name: str
    shows: str
    columns: Mapping[str, Any]
    company: Cells = field(repr=False)
    odd: Cells = field(repr=False)
    instead: Cells = field(repr=False)
    kind: str = "csv"
    source: str | None = field(default=None, repr=False)
    max_rows: int = 1
    last: bool = False
    refused: bool = False
    prior: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """The public schema as JSON data."""
        if self.max_rows == 1:
            return {"columns": dict(self.columns)}
        return {
            "columns": {"person": {"type": "identifier"}, **self.columns},
            "unit": "person",
            "max_rows": self.max_rows,
        }

    def tables(self, relation: Relation) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Both tables; every cell is kept as the object that it is."""
        gone = self.instead if relation is Relation.REPLACE_ONE else {n: [] for n in self.odd}
        with_odd = {n: [*self.odd[n], *c] for n, c in self.company.items()}
        without = {n: [*c, *gone[n]] if self.last else [*gone[n], *c] for n, c in self.company.items()}
        joined = (with_odd, without)
        one, other = (pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in cells.items()}) for cells in joined)
        return one, other


def standard(max_rows: int = 1) -> list[Canary]:
    """All canaries. ``max_rows``: of the persons among them; 1 for ``PERSON_ROWS``."""
    most = max_rows if max_rows > 1 else PERSON_ROWS
    return [
        _row(),
        _relocated(),
        _blank(),
        *_texts(),
        _pushing(most),
        _equal(most),
        _spelled("a person in two spellings", "identifiers compared before they are canonical", SPACED, most),
        _spelled("a person in spellings of Unicode", "spellings of Unicode that are several persons", COMPOSED, most),
        _capitals(most),
        _prior(),
        _unreadable(),
        _long(),
        _decimals(),
        *_dates(),
        _workbook(),
    ]


def chosen(names: Sequence[str], *, max_rows: int = 1, sources: Sequence[str] = ()) -> list[Canary]:
    """The canaries of these names; all without any. ``sources``: engines that have one each besides the standard ones.

    Errors: UsageError for a name that none has, and for an address of no known engine.
    """
    listed = [*standard(max_rows), *map(in_engine, sources)]
    unknown = [n for n in names if n not in {c.name for c in listed}]
    if unknown:
        raise UsageError(f"`only={unknown[0]}`: no such canary; choose among {'; '.join(c.name for c in listed)}")
    return [c for c in listed if not names or c.name in names]


def in_engine(source: str) -> Canary:
    """The canary of a database or cluster: what no type of its columns was made for. Errors: UsageError."""
    kind = Engine(source).dialect.name
    last = "infinity" if kind == "postgres" else dt.date(9999, 12, 31)
    return Canary(
        name=f"cells at the ends of their types, in {kind}",
        shows="cells that an engine fails at",
        columns={**COLUMNS, "day": DAY},
        kind=kind,
        source=source,
        company={**_common(12), "amount": [0.0, 1.0] * 6, "day": [dt.date(2020, 1, 2)] * 12},
        odd={"kind": ["'=\u2028CANARY " + "x" * 5000], "amount": [math.inf], "flag": [None], "day": [last]},
        instead={"kind": ["c"], "amount": [4.0], "flag": ["no"], "day": [dt.date(2020, 1, 5)]},
    )


def _common(size: int) -> dict[str, list[str]]:
    """Ordinary rows."""
    return {"kind": ["a", "b"] * (size // 2), "flag": ["no"] * size}


def _row() -> Canary:
    company = {**_common(12), "amount": ["0", "1"] * 6}
    return Canary(
        name="a row more",
        shows="noise or sensitivity that is not as claimed",
        columns=COLUMNS,
        company=company,
        odd={"kind": ["d"], "amount": ["7"], "flag": ["yes"]},
        instead={"kind": ["c"], "amount": ["4"], "flag": ["no"]},
    )


def _relocated() -> Canary:
    """Every row between the old place and the new one is unlike the next."""
    return Canary(
        name="a row moved in a sorted file",
        shows="answers that follow the order of the rows",
        columns={"kind": KIND, "flag": FLAG},
        company={"kind": ["a", "b"] * 30, "flag": ["no", "yes"] * 30},
        odd={"kind": ["b"], "flag": ["yes"]},
        instead={"kind": ["a"], "flag": ["no"]},
        last=True,
    )


def _spelled(name: str, shows: str, spellings: Sequence[str], most: int) -> Canary:
    size = 2 * most * len(spellings)
    return Canary(
        name=name,
        shows=shows,
        columns={"kind": KIND, "flag": FLAG},
        max_rows=most,
        company={"person": _people([3] * 4), **_common(12)},
        odd={"person": list(spellings) * (2 * most), "kind": ["d"] * size, "flag": ["yes"] * size},
        instead={"person": ["new"] * size, "kind": ["c"] * size, "flag": ["no"] * size},
    )


def _capitals(most: int) -> Canary:
    """A table that every reader refuses: PERSON says of each row another person."""
    size = 20 * most

    def rows(persons: Sequence[int], amount: int) -> Cells:
        first = 10**6 * amount
        cells = {"PERSON": [first + i for i in range(len(persons))], "person": persons}
        return {**cells, "amount": [amount] * len(persons)}

    return Canary(
        name="two columns that differ in capitals",
        shows="one column read in the place of another",
        columns={"amount": COLUMNS["amount"]},
        kind="parquet",
        max_rows=most,
        refused=True,
        company=rows([i // 3 for i in range(12)], 0),
        odd=rows([7] * size, 6),
        instead=rows([8] * size, 4),
    )


def _prior() -> Canary:
    """The private table stands in an earlier release, which is the prior, and which nothing takes therefore."""
    return replace(
        _row(),
        name="the table in an earlier release",
        shows="a prior that is not what was released",
        prior=True,
        refused=True,
    )


def _blank() -> Canary:
    columns = {"number": {"type": "integer", "min": LARGE, "max": LARGE + 255}, "flag": FLAG}
    company = {"number": [str(LARGE + 65)] * 200, "flag": ["no"] * 200}
    there, gone = ({"number": [n], "flag": ["no"]} for n in ("", str(LARGE + 65)))
    return Canary(
        name="a blank among large numbers",
        shows="numbers read together",
        columns=columns,
        company=company,
        odd=there,
        instead=gone,
    )


def _texts() -> list[Canary]:
    company = {"kind": [f"text {i}" for i in range(TEXTS)], "flag": ["no"] * TEXTS}
    odd, instead = ({"kind": [t], "flag": ["no"]} for t in ("one more", "text 0"))
    shows = "a way of reading that the number of texts decides; cells placed together"
    more: dict[str, Any] = {
        "columns": {"kind": KIND, "flag": FLAG},
        "company": company,
        "odd": odd,
        "instead": instead,
        "shows": shows,
    }
    return [
        Canary(name="the 2,001st text", **more),
        Canary(name="the 2,001st text, in a database", kind="duckdb", **more),
    ]


def _people(sizes: Sequence[int], first: int = 0) -> list[str]:
    return [f"person {first + i}" for i, size in enumerate(sizes) for _ in range(size)]


def _pushing(most: int) -> Canary:
    each, persons = 2 * most, max(1280 // most, 20)
    company = {"person": _people([each] * persons), **_common(each * persons)}
    odd, instead = 3 * most - 1 + most % 2, 3 * most - 2 + most % 2  # odd and even
    return Canary(
        name="a person with many rows in front",
        shows="kept rows that others' rows decide",
        columns={"kind": KIND, "flag": FLAG},
        max_rows=most,
        company=company,
        odd={"person": ["odd"] * odd, "kind": ["d"] * odd, "flag": ["no"] * odd},
        instead={"person": ["new"] * instead, "kind": ["c"] * instead, "flag": ["no"] * instead},
    )


def _equal(most: int) -> Canary:
    size = 2 * most
    return Canary(
        name="a person with equal rows",
        shows="too small a sensitivity for several rows",
        columns={"kind": KIND, "flag": FLAG},
        max_rows=most,
        company={"person": _people([3] * 4), **_common(12)},
        odd={"person": ["odd"] * size, "kind": ["d"] * size, "flag": ["yes"] * size},
        instead={"person": ["new"] * size, "kind": ["c"] * size, "flag": ["no"] * size},
    )


def _unreadable() -> Canary:
    company = {**_common(12), "amount": ["0", "1"] * 6, "day": ["2020-01-02"] * 12}
    return Canary(
        name="cells that cannot be read",
        shows="messages, exit codes and files that tell of cells",
        columns={**COLUMNS, "day": DAY},
        company=company,
        odd={"kind": ["=CANARY"], "amount": ["CANARY 1e999"], "flag": [""], "day": ["-infinity"]},
        instead={"kind": ["c"], "amount": ["4"], "flag": ["no"], "day": ["2020-01-05"]},
    )


def _long() -> Canary:
    return Canary(
        name="a text of a million characters",
        shows="memory and errors that the longest cell decides",
        columns={"kind": KIND, "flag": FLAG},
        company=_common(40),
        odd={"kind": ["x" * LONG], "flag": ["no"]},
        instead={"kind": ["c"], "flag": ["no"]},
    )


def _decimals() -> Canary:
    columns = {"kind": {"type": "categorical", "categories": ["1.10", "7.125", "9.5", "11.25"]}, "flag": FLAG}
    return Canary(
        name="a longer decimal, in a frame",
        shows="a type inferred from all cells",
        columns=columns,
        company={"kind": [Decimal("1.10")] * 100, "flag": ["no"] * 100},
        kind="frame",
        odd={"kind": [Decimal("7.125")], "flag": ["no"]},
        instead={"kind": [Decimal("9.50")], "flag": ["no"]},
    )


def _dates() -> list[Canary]:
    shows = "errors that one cell brings about after the spend"
    moment = pd.Timestamp("2020-01-02")
    company = {"day": [moment] * 12, "flag": ["no"] * 12}
    instead = {"day": [pd.Timestamp("2020-01-05")], "flag": ["no"]}
    words = {"day": [str(moment)] * 12, "flag": ["no"] * 12}
    return [
        Canary(
            name="the earliest of all dates, in Parquet",
            shows=shows,
            columns={"day": DAY, "flag": FLAG},
            company=company,
            odd={"day": [pd.Timestamp.min], "flag": ["no"]},
            instead=instead,
            kind="parquet",
        ),
        Canary(
            name="a date without an end, in a database",
            shows=shows,
            columns={"day": DAY, "flag": FLAG},
            company=words,
            odd={"day": ["-infinity"], "flag": ["no"]},
            instead={"day": ["2020-01-05"], "flag": ["no"]},
            kind="duckdb",
        ),
    ]


def _workbook() -> Canary:
    """A formula without a stored result, half a character in a text, a clock among dates, in a workbook."""
    company: Cells = {**_common(12), "amount": [0, 1] * 6, "day": [dt.datetime(2020, 1, 2)] * 12}
    return Canary(
        name="a formula and a clock, in a workbook",
        shows="a type that a sheet's other cells decide",
        columns={**COLUMNS, "day": DAY},
        company=company,
        kind="xlsx",
        odd={"kind": ["=CANARY()"], "amount": ["CANARY _xD800_ 1e999"], "flag": [True], "day": [dt.time(1)]},
        instead={"kind": ["c"], "amount": [4], "flag": ["no"], "day": [dt.datetime(2020, 1, 5)]},
    )
