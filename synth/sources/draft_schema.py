"""A schema drafted from the rows. What it states was read off private cells, so each fact waits for a person.

The rules look at the distinct texts of a column and at how many rows have each, never at what the texts of real codes
mean: whole numbers stay numbers until somebody names the column as categorical or ordinal. What looks like a key, a
note, or a long list is drafted so that nothing of it is published (``synth.sources.draft_risks``). Whether a person may
have several rows is told by keys that repeat: exact counts of private rows, for the steward; how many rows are kept of
each person is a proposal until somebody confirms it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd

from synth.errors import InputError, UsageError, meant
from synth.languages import Said, joined
from synth.schema import coarsening, literals, round_bounds
from synth.schema.column import RISKS, Risk
from synth.schema.table import MAX_CATEGORIES, UNCONFIRMED, Column, Schema, canonical, parse
from synth.sources import draft_risks, named_databases
from synth.sources.draft_risks import FEW, ColumnTexts, named_like_key, names_person
from synth.sources.formats import sniff_formats
from synth.sources.formats.text_table import Table, canonical_texts, from_frame


def cells_of(table: Table, name: str, missing: Sequence[str]) -> ColumnTexts:
    """A column of the table. ``missing``: texts that mean that a value is missing, besides the empty one."""
    text = table.column(name)
    plain = np.array(canonical_texts(text.values), dtype=object)
    codes = {canonical(code): code for code in ("", *missing)}
    gone = np.array([value in codes for value in plain], dtype=bool)
    counts = np.bincount(text.codes, minlength=len(plain))
    values = sorted(set(plain[~gone]))
    index = {value: i for i, value in enumerate(values)}
    places = np.array([index[value] for value in plain[~gone]], dtype=np.int64)
    return ColumnTexts(
        name=name,
        values=values,
        counts=np.bincount(places, weights=counts[~gone], minlength=len(values)).astype(np.int64),
        missing=[code for key, code in codes.items() if key in set(plain[gone])],
    )


REASONS = {
    "codes": "few distinct whole numbers: if they are codes, name them with `categorical=`",
    "keys": "keys by their form, with repeats: drafted as identifiers, of which nothing is published",
    "notes": "free text, or values that hardly any two rows share: left out; nothing of it is read",
    "dates": "dates of a form that is not read here: left out; write them like 2020-01-31 to keep them",
    "mixed": "numbers besides a few words: if the words mean missing, name those with `missing=`",
    "order": "ordinal text in alphabetical order: put the categories in order in the schema",
    "empty": "no value in any row: drafted as a constant; leave the column out or state what it can hold",
}


class Notes(dict[str, list[str]]):
    """Columns worth a second look, gathered by reason."""

    def __init__(self) -> None:
        super().__init__({reason: [] for reason in REASONS})
        self.lists: dict[str, tuple[int, int | None]] = {}  # number of values, and how to group them

    def sentences(self) -> list[str]:
        """One sentence for each reason that applies; names only."""
        said: list[str] = [
            Said("{}: {}", ",".join(names), Said(text)) for reason, text in REASONS.items() if (names := self[reason])
        ]
        if not self.lists:
            return said
        message = joined(", ", (Said("{} has {} values", name, count) for name, (count, _) in self.lists.items()))
        ways = ",".join(f"{name}={length}" for name, (_, length) in self.lists.items() if length)
        group = Said("group them by first characters with `group={}`, or ", ways) if ways else ""
        return [
            *said,
            Said(
                "{}: long lists, or values that few rows have ({}): learn them privately with `learn_share=`, or "
                "{}confirm each alone with `assume_public=` and `reasons=`",
                ",".join(self.lists),
                message,
                group,
            ),
        ]


LIFE = 40  # years between the first and last of dates that are likely to be births


def kind_of(cells: ColumnTexts, *, kind: str | None, limit: int, notes: Notes) -> Column:
    """One column's facts: as named, or by the first rule that fits. ``kind``: the name's, if any; ``limit``: of texts.

    Errors: UsageError for a named date that is none; InputError for more texts than the limit.
    """
    if kind == "identifier":
        return _made(cells, "identifier")
    if not cells.values:
        notes["empty"].append(cells.name)
        return Column(type="categorical", categories=tuple(cells.missing), source=UNCONFIRMED)
    if kind in ("categorical", "ordinal"):
        return _categories(cells, kind, limit=limit, notes=notes)
    if kind != "datetime" and (column := _numbers(cells, limit, notes)) is not None:
        return column
    dates = literals.dates(cells.values)
    if dates is None and kind == "datetime":
        raise UsageError("`datetime_={}`: not all its cells are dates like 2020-01-31; convert them first", cells.name)
    if dates is not None:
        years = int(dates.last[:4]) - int(dates.first[:4])
        span = round_bounds.years(dates, births=draft_risks.named_like_birth(cells.name) or years > LIFE)
        return _made(cells, "datetime", min=span.first, max=span.last, resolution=span.resolution)
    # text: where it must not be published a counter, as keys are, else left out
    if literals.mostly_numbers(cells.values):
        notes["mixed"].append(cells.name)
    risk = draft_risks.risk_of_text(cells)
    if risk == "dates":
        return _other_dates(cells, notes)
    if risk == "key" or (risk == "unique" and not cells.repeats):
        return _keyed(cells, notes)
    if risk in ("text", "unique"):
        notes["notes"].append(cells.name)
        return _made(cells, "omitted", risk=risk)
    return _categories(cells, "boolean" if len(cells.values) == 2 else "categorical", limit=limit, notes=notes)


def _made(cells: ColumnTexts, kind: str, **facts: object) -> Column:
    """The column with its missing codes: an empty cell alone makes it nullable, other codes are listed."""
    missing = tuple(cells.missing) if any(cells.missing) else None
    plain = {"type": kind, **facts, "nullable": "" in cells.missing or None, "missing": missing, "source": UNCONFIRMED}
    return Column.model_validate(plain)


def _other_dates(cells: ColumnTexts, notes: Notes) -> Column:
    notes["dates"].append(cells.name)
    return _made(cells, "omitted", risk="dates")


def _keyed(cells: ColumnTexts, notes: Notes) -> Column:
    """A key becomes a counter: nothing of it is published."""
    if cells.repeats:
        notes["keys"].append(cells.name)
    return _made(cells, "identifier")


def _numbers(cells: ColumnTexts, limit: int, notes: Notes) -> Column | None:
    """A column of numbers alone, None for another: post codes are no quantities, and some numbers are dates or keys."""
    name, bounds = cells.name, literals.whole(cells.values)
    if bounds is not None:
        if draft_risks.PLACES & set(draft_risks.words(name)):
            return _categories(cells, "categorical", limit=limit, notes=notes)
        if len(cells.values) > FEW and draft_risks.dated(cells.values):  # written as 20200131
            return _other_dates(cells, notes)
        if draft_risks.key_of_numbers(cells):
            return _keyed(cells, notes)
        if named_like_key(name) or 1 < len(cells.values) <= FEW:
            notes["codes"].append(name)
        if max(-bounds[0], bounds[1]) < literals.MAX_WHOLE:
            numbers = pd.to_numeric(pd.Series(cells.values), errors="coerce").to_numpy()
            often = [bool(cells.counts[numbers == b].sum() >= round_bounds.COMMON) for b in bounds]
            wide = round_bounds.widened(*bounds, whole=True, common=(often[0], often[1]), step=1)
            low, high = round_bounds.within(draft_risks.words(name), bounds, wide)
            return _made(cells, "integer", min=low, max=high)
    if (grid := literals.decimal(cells.values)) is None:
        return None
    step = grid.resolution or 10.0**-grid.decimals
    wide = round_bounds.widened(grid.low, grid.high, whole=False, common=(False, False), step=step)
    low, high = round_bounds.within(draft_risks.words(name), (grid.low, grid.high), wide)
    return _made(cells, "float", min=low, max=high, decimals=grid.decimals, resolution=grid.resolution)


def _categories(cells: ColumnTexts, kind: str, *, limit: int, notes: Notes) -> Column:
    if len(cells.values) > limit:
        raise InputError(
            "column {}: more than {} distinct texts; name it with `identifier=` if it is a key, or raise "
            "`max_categories=`",
            cells.name,
            limit,
        )
    numbers = literals.sorted_numbers(cells.values)
    if kind == "ordinal" and numbers is None:
        notes["order"].append(cells.name)
    risk: Risk | None = draft_risks.risk_of_text(cells)
    if risk is not None:
        notes.lists[cells.name] = (len(cells.values), coarsening.offered(cells.values) if cells.long else None)
    return _made(cells, kind, categories=numbers or cells.values, risk=risk)


RETAINED = 0.95  # part of the rows that a proposed max_rows keeps


def persons(table: Table, columns: Mapping[str, Column]) -> tuple[str, int | None, list[str]]:
    """The unit that the identifiers of a draft suggest, how many rows of each to keep, and what is said of keys that
    repeat: the coarsest of them is the unit, one of persons before others; ``row`` where none does."""
    counts = {n: rows_by_key(table, [n]) for n, c in columns.items() if c.type == "identifier"}
    keys = {n: c for n, c in counts.items() if len(c) and c.max() > 1}
    if not keys:
        return "row", None, []
    unit = min(keys, key=lambda n: (not names_person(n), len(keys[n])))
    message = joined(
        ", ", (Said("{} has {} values in {} rows", name, len(c), int(c.sum())) for name, c in keys.items())
    )
    most = rows_retained(keys[unit])
    said = Said(
        "{}: keys that repeat ({}). Can a person appear in more than one row? Proposed: `unit={}` `max_rows={}`, "
        "which keeps {:.0%} of the rows; or answer `unit=row`: each row is one person",
        ",".join(keys),
        message,
        unit,
        most,
        RETAINED,
    )
    return unit, most, [said]


def rows_by_key(table: Table, columns: Sequence[str]) -> np.ndarray:
    """Rows with each key of some columns that is not missing, (keys,): private."""
    whole, filled = np.zeros(table.num_rows, dtype=np.int64), np.ones(table.num_rows, dtype=bool)
    for name in columns:
        text = table.column(name)
        filled &= np.array([bool(str(v).strip()) for v in text.values], dtype=bool)[text.codes]
        whole = np.unique(whole * len(text.values) + text.codes, return_inverse=True)[1]
    counts = np.bincount(whole[filled])
    return counts[counts > 0]


def rows_retained(counts: np.ndarray, *, part: float = RETAINED) -> int:
    """The smallest number of rows of each person that keeps this part of all rows.

    >>> rows_retained(np.array([1, 1, 1, 7])), rows_retained(np.array([2] * 50 + [30]))
    (7, 24)
    """
    wanted = ceil(part * int(counts.sum()))
    low, high = 1, int(counts.max())
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if int(np.minimum(counts, middle).sum()) >= wanted else (middle + 1, high)
    return low


__all__ = ["Drafted", "draft", "named_like_key"]
SMALL_TABLE = draft_risks.SMALL_TABLE


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """A schema of unconfirmed facts, and sentences that name columns worth a second look."""

    schema: Schema
    suggestions: list[str]


def draft(
    table: Table | pd.DataFrame | str | Path,
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
    group: Mapping[str, int] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
) -> Drafted:
    """Drafts the schema of a table: kinds, bounds, categories and missing codes, all ``unconfirmed``.

    How texts are written (marks in numbers, order of dates, NA or 999 for missing) is detected, with a line for each
    guess (sniff_formats.py); ``formats`` states it by column. Empty cells and those of ``missing`` are missing.
    ``table``: a frame, a file, or cells as text. Bounds are round numbers outside the values, since the smallest and
    the largest are persons' (round_bounds.py). Columns of whole or decimal numbers become integer or float, dates
    datetime, two texts boolean, keys identifier, notes ``omitted``, other text categorical; a column without any value
    is a constant. A column whose values all have labels in its file (Stata, SPSS) has the labelled codes as categories.
    ``categorical``, ``ordinal``, ``identifier`` and ``datetime_`` name columns of a kind. A list of values that may
    identify persons has a ``risk``, so that it is not confirmed together with others. ``group``: columns whose values
    are grouped by so many first characters, with a public list of groups. ``unit``, ``max_rows``: whether a person has
    several rows, as of ``synth.run``; where a key repeats and nobody says, a proposal. ``target``, ``dataset``: written
    into the schema. Errors: UsageError for a name that is no column; InputError for more than ``max_categories`` texts.

    Privacy: reads rows, exact: for the steward alone until somebody confirms each fact.

    >>> people = pd.DataFrame({"AGE": [30, 41, 35], "JOB": ["cook", "?", "nurse"]})
    >>> drafted = draft(people, missing=["?"])
    >>> drafted.schema.columns["AGE"].min, drafted.schema.columns["AGE"].max
    (30, 45)
    >>> drafted.schema.columns["JOB"].categories, drafted.schema.columns["JOB"].missing
    (('cook', 'nurse'), ('?',))
    """
    options = {
        "categorical": categorical,
        "ordinal": ordinal,
        "identifier": identifier,
        "datetime": datetime_,
        "group": list(group or {}),
        "target": [target] if target else [],
    }
    table, lines = named_databases.whole(table, None) if isinstance(table, str | Path) else (table, [])
    table = from_frame(table) if isinstance(table, pd.DataFrame) else table
    named = _named(table, options)
    notes = Notes()
    read = sniff_formats.sniffed(table, named=named, missing=missing, stated=formats)

    def column(name: str) -> Column:
        codes, kind = [*missing, *read.missing.get(name, ())], named.get(name)
        cells = cells_of(read.table, name, codes)
        if name in read.spelt:  # texts that were turned into numbers or dates, of a column that is a list of texts
            seems = kind_of(cells, kind=kind, limit=max_categories, notes=Notes()).type
            cells = cells_of(table, name, codes) if seems in ("categorical", "ordinal", "boolean") else cells
        labels = table.labels.get(name, {})
        if kind in (None, "categorical", "ordinal") and cells.values and {*cells.values} <= {*labels}:
            listed = {c: t for c, t in labels.items() if c not in cells.missing}
            return _made(cells, kind or "categorical", categories=tuple(listed), labels=tuple(listed.values()))
        made = read.column(name, kind_of(cells, kind=kind, limit=max_categories, notes=notes))
        return _grouped(name, made, group[name]) if group and name in group else made

    columns = {n: column(n).model_copy(update={"description": table.titles.get(n)}) for n in table.names}
    if target is not None and columns[target].type in ("identifier", "omitted"):
        risk = columns[target].risk
        why = Said(RISKS[risk] if risk else "it looks like a key")
        raise UsageError("`target={}`: {}; name it with `categorical=` if it is what shall be predicted", target, why)
    proposed, most, said = persons(table, columns)
    facts = {"unit": proposed, "max_rows": most, "unit_source": UNCONFIRMED}
    if unit is not None:
        facts = {"unit": unit, "max_rows": max_rows, "unit_source": "declared"}
    dialect = None if read.dialect is None or read.dialect.is_plain else read.dialect
    given = {"dataset": dataset, "target": target, "dialect": dialect}
    schema = Schema.model_validate({**given, "columns": columns, **facts})
    sentences = [*lines, *read.lines, *notes.sentences(), *([] if unit else said)]
    return Drafted(schema=parse(schema.model_dump(exclude_none=True)), suggestions=sentences)


def _grouped(name: str, column: Column, length: int) -> Column:
    """By the first characters. Errors: UsageError where those are of no plain form."""
    coarse = coarsening.coarser(column, length) if column.categories else None
    if coarse is None:
        raise UsageError(
            "`group={}={}`: no public list of groups; the first characters must be digits or letters, with at most "
            "{} groups in all",
            name,
            length,
            coarsening.MOST_GROUPS,
        )
    return coarse


def _named(table: Table, options: dict[str, Sequence[str]]) -> dict[str, str]:
    """The kind that each named column was given."""
    kinds: dict[str, str] = {}
    for option, names in options.items():
        keyword = {"datetime": "datetime_"}.get(option, option)
        for name in names:
            if name not in table.names:
                raise UsageError("`{}={}`: the table has no such column; {}", keyword, name, meant(name, table.names))
            if option == "target":
                continue
            if option == "group":
                kinds.setdefault(name, "categorical")
                continue
            if kinds.setdefault(name, option) != option:
                raise UsageError("`{}={}`: already named with `{}=`; keep one", keyword, name, kinds[name])
    return kinds
