"""A schema drafted from the rows. What it states was read off private cells, so each fact waits for a person.

The rules look at the distinct texts of a column, never at what the texts of real codes mean: whole numbers stay
numbers until somebody names the column as categorical or ordinal.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from synth import numerals
from synth.errors import InputError, UsageError
from synth.schema import MAX_CATEGORIES, UNCONFIRMED, Column, Schema, canonical, parse
from synth.sources import format_sniff
from synth.sources.frames import Table, canonical_texts

FEW = 20  # distinct whole numbers up to which a column may well hold codes
SMALL_TABLE = 20  # rows up to which distinct texts say nothing about a column being a key
ID_WORDS = {"id", "ids", "key", "uuid", "guid", "serialno", "serial", "nbr", "number", "no"}


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """A schema of unconfirmed facts, and sentences that name columns worth a second look."""

    schema: Schema
    suggestions: list[str]


def draft(
    table: Table,
    *,
    categorical: Sequence[str] = (),
    ordinal: Sequence[str] = (),
    identifier: Sequence[str] = (),
    datetime_: Sequence[str] = (),
    missing: Sequence[str] = (),
    target: str | None = None,
    dataset: str | None = None,
    max_categories: int = MAX_CATEGORIES,
    formats: Mapping[str, str] | None = None,
) -> Drafted:
    """Drafts the schema of a table: kinds, bounds, categories and missing codes, all ``unconfirmed``.

    How texts are written (marks in numbers, order of dates, NA or 999 for missing) is found from them and said in a
    line each (format_sniff.py); ``formats`` states it by column. Cells that are empty or equal to a code are missing.
    Columns of whole or decimal numbers become integer or float, dates datetime, two texts boolean, keys identifier,
    other text categorical; naming a column decides its kind. A column without any value is drafted as the constant it
    is.
    Errors: UsageError for a name that is no column; InputError for text with more than ``max_categories`` values.

    >>> import pandas as pd
    >>> from synth.sources.frames import from_frame
    >>> cells = from_frame(pd.DataFrame({"AGE": [30, 41, 35], "JOB": ["cook", "?", "nurse"]}))
    >>> drafted = draft(cells, missing=["?"])
    >>> drafted.schema.columns["AGE"].min, drafted.schema.columns["AGE"].max
    (30, 41)
    >>> drafted.schema.columns["JOB"].categories, drafted.schema.columns["JOB"].missing
    (('cook', 'nurse'), ('?',))
    """
    options = {
        "categorical": categorical,
        "ordinal": ordinal,
        "identifier": identifier,
        "datetime": datetime_,
        "target": [target] if target else [],
    }
    named = _named(table, options)
    notes = Notes()
    columns = {}
    told = format_sniff.found(table, named=named, missing=missing, stated=formats)
    for name in table.names:
        codes = [*missing, *told.missing.get(name, ())]
        cells = _cells(told.table, name, codes)
        column = _column(cells, kind=named.get(name), limit=max_categories, notes=notes)
        if told.misread(name, column):
            column = _column(_cells(table, name, codes), kind=named.get(name), limit=max_categories, notes=notes)
        columns[name] = told.column(name, column)
    schema = Schema(dataset=dataset, target=target, columns=columns, dialect=told.stated_dialect)
    return Drafted(schema=parse(schema.model_dump(exclude_none=True)), suggestions=[*told.lines, *notes.sentences()])


@dataclass(frozen=True, kw_only=True)
class Cells:
    """What the rules see of a column: distinct canonical values that are not missing, and counts."""

    name: str
    values: list[str]
    rows: int  # rows with a value
    missing: list[str]  # the codes that occur, "" among them


@dataclass(kw_only=True)
class Notes:
    """Columns worth a second look, gathered by reason."""

    codes: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        """One sentence for each reason that applies; names only."""
        parts = [
            (self.codes, "few distinct whole numbers: if they are codes, name them with --categorical"),
            (self.keys, "named like a key, with repeats: if they identify someone, name them with --identifier"),
            (self.mixed, "numbers besides a few words: if the words mean missing, name those with --missing"),
            (self.order, "ordinal text in alphabetical order: put the categories in order in the schema"),
            (self.empty, "no value in any row: drafted as a constant; drop the column or state what it can hold"),
        ]
        return [f"{','.join(names)}: {text}" for names, text in parts if names]


def _named(table: Table, options: dict[str, Sequence[str]]) -> dict[str, str]:
    """The kind that each named column was given."""
    kinds: dict[str, str] = {}
    for option, names in options.items():
        for name in names:
            if name not in table.names:
                raise UsageError(f"--{option} {name}: the table has no such column; check the spelling")
            if option == "target":
                continue
            if kinds.setdefault(name, option) != option:
                raise UsageError(f"--{option} {name}: already named with --{kinds[name]}; keep one")
    return kinds


def _cells(table: Table, name: str, missing: Sequence[str]) -> Cells:
    text = table.column(name)
    plain = np.array(canonical_texts(text.values), dtype=object)
    codes = {canonical(code): code for code in ("", *missing)}
    gone = np.array([value in codes for value in plain], dtype=bool)
    counts = np.bincount(text.codes, minlength=len(plain))
    found = set(plain[gone])
    return Cells(
        name=name,
        values=sorted(set(plain[~gone])),
        rows=int(counts[~gone].sum()),
        missing=[code for key, code in codes.items() if key in found],
    )


def _column(cells: Cells, *, kind: str | None, limit: int, notes: Notes) -> Column:
    """One column's facts: as named, or by the first rule that fits."""
    if kind == "identifier":
        return _made(cells, "identifier")
    if not cells.values:
        notes.empty.append(cells.name)
        return Column(type="categorical", categories=tuple(cells.missing), source=UNCONFIRMED)
    if kind in ("categorical", "ordinal"):
        return _categories(cells, kind, limit=limit, notes=notes)
    if kind == "datetime":
        return _dates(cells) or _no_dates(cells)
    rules: list[Callable[[], Column | None]] = [
        lambda: _integers(cells, notes),
        lambda: _floats(cells),
        lambda: _dates(cells),
        lambda: _key(cells, notes),
    ]
    for rule in rules:
        column = rule()
        if column is not None:
            return column
    return _categories(cells, "boolean" if len(cells.values) == 2 else "categorical", limit=limit, notes=notes)


def _made(cells: Cells, kind: str, **facts: object) -> Column:
    """The column with its missing codes: an empty cell alone makes it nullable, other codes are listed."""
    codes = cells.missing
    missing = tuple(codes) if any(codes) else None
    return Column.model_validate(
        {
            "type": kind,
            **facts,
            "nullable": "" in codes or None,
            "missing": missing,
            "source": UNCONFIRMED,
        }
    )


def _integers(cells: Cells, notes: Notes) -> Column | None:
    bounds = numerals.whole(cells.values)
    if bounds is None:
        return None
    unique, like_key = len(cells.values) == cells.rows, named_like_key(cells.name)
    if unique and like_key:
        return _made(cells, "identifier")
    if like_key and len(cells.values) * 10 > cells.rows > SMALL_TABLE:
        notes.keys.append(cells.name)
    elif like_key or 1 < len(cells.values) <= FEW:
        notes.codes.append(cells.name)
    if max(-bounds[0], bounds[1]) >= numerals.MAX_WHOLE:
        return None
    return _made(cells, "integer", min=bounds[0], max=bounds[1])


def _floats(cells: Cells) -> Column | None:
    grid = numerals.decimal(cells.values)
    if grid is None:
        return None
    facts = {"decimals": grid.decimals, "resolution": grid.resolution}
    return _made(cells, "float", min=grid.low, max=grid.high, **facts)


def _dates(cells: Cells) -> Column | None:
    span = numerals.dates(cells.values)
    if span is None:
        return None
    return _made(cells, "datetime", min=span.first, max=span.last, resolution=span.resolution)


def _no_dates(cells: Cells) -> Column:
    raise UsageError(f"--datetime {cells.name}: not all its cells are dates like 2020-01-31; convert them first")


def _key(cells: Cells, notes: Notes) -> Column | None:
    """Text in which no value comes twice identifies the row."""
    if numerals.mostly_numbers(cells.values):
        notes.mixed.append(cells.name)
    unique = len(cells.values) == cells.rows > SMALL_TABLE
    return _made(cells, "identifier") if unique else None


def _categories(cells: Cells, kind: str, *, limit: int, notes: Notes) -> Column:
    if len(cells.values) > limit:
        raise InputError(
            f"column {cells.name}: more than {limit} distinct texts; name it with --identifier if it is a key, "
            "or raise --max-categories"
        )
    numbers = numerals.sorted_numbers(cells.values)
    if kind == "ordinal" and numbers is None:
        notes.order.append(cells.name)
    return _made(cells, kind, categories=numbers or cells.values)


def named_like_key(name: str) -> bool:
    """Whether a column's name says that it identifies something.

    >>> [n for n in ("ID", "person_id", "HouseholdID", "serialno", "patient_nbr", "PAID") if named_like_key(n)]
    ['ID', 'person_id', 'HouseholdID', 'serialno', 'patient_nbr']
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    last = [w.lower() for w in words][-1:]
    return bool(last) and last[0] in ID_WORDS
