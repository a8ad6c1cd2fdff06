"""A schema drafted from the rows. What it states was read off private cells, so each fact waits for a person.

The rules look at the distinct texts of a column and at how many rows have each, never at what the texts of real codes
mean: whole numbers stay numbers until somebody names the column as categorical or ordinal. What looks like a key, a
note, or a long list is drafted so that nothing of it is published (``synth.sources.draft_risks``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from synth.errors import InputError, UsageError
from synth.schema import coarsening, literals
from synth.schema.column import RISKS, Risk
from synth.schema.table import MAX_CATEGORIES, UNCONFIRMED, Column, Schema, canonical, parse
from synth.sources import draft_risks
from synth.sources.draft_risks import FEW, named_like_key
from synth.sources.draft_unit import Persons, persons
from synth.sources.formats import sniff_formats
from synth.sources.formats.text_table import Table, canonical_texts

__all__ = ["Drafted", "draft", "named_like_key"]
SMALL_TABLE = draft_risks.SMALL_TABLE
LIFE = 40  # years between the first and last of dates that are likely to be births


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """A schema of unconfirmed facts, sentences that name columns worth a second look, and who may have several rows."""

    schema: Schema
    suggestions: list[str]
    persons: Persons | None = None


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
    group: Mapping[str, int] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
) -> Drafted:
    """Drafts the schema of a table: kinds, bounds, categories and missing codes, all ``unconfirmed``.

    How texts are written (marks in numbers, order of dates, NA or 999 for missing) is found from them and said in a
    line each (format_sniff.py); ``formats`` states it by column. Cells that are empty or equal to a code are missing.
    Columns of whole or decimal numbers become integer or float, dates datetime, two texts boolean, keys identifier,
    other text categorical; naming a column decides its kind. A column without any value is drafted as the constant it
    is.
    Columns that look like keys are identifiers, notes are ``omitted``; a list of values that tells of persons carries
    a ``risk``, so that it is not vouched for together with others. ``group``: columns whose values are grouped by so
    many first characters, with a public list of groups. ``unit``, ``max_rows``: whether a person has several rows, as
    of ``synth.run``; where a key repeats and nobody says, a proposal that waits for an answer.
    Errors: UsageError for a name that is no column; InputError for text with more than ``max_categories`` values.

    >>> import pandas as pd
    >>> from synth.sources.formats.text_table import from_frame
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
        "group": list(group or {}),
        "target": [target] if target else [],
    }
    named = _named(table, options)
    notes = Notes()
    columns = {}
    told = sniff_formats.found(table, named=named, missing=missing, stated=formats)
    for name in table.names:
        codes, kind = [*missing, *told.missing.get(name, ())], named.get(name)
        cells = _cells(told.table, name, codes)
        if name in told.spelt and told.misread(name, _column(cells, kind=kind, limit=max_categories, notes=Notes())):
            cells = _cells(table, name, codes)
        column = told.column(name, _column(cells, kind=kind, limit=max_categories, notes=notes))
        columns[name] = _grouped(name, column, group[name]) if group and name in group else column
    found = persons(table, columns)
    facts = {"unit": found.unit, "max_rows": found.max_rows, "unit_source": UNCONFIRMED}
    if unit is not None:
        facts = {"unit": unit, "max_rows": max_rows, "unit_source": "declared"}
    schema = Schema.model_validate(
        {
            "dataset": dataset,
            "target": _target(target, columns),
            "columns": columns,
            "dialect": told.stated_dialect,
            **facts,
        }
    )
    sentences = [*told.lines, *notes.sentences(), *([] if unit else found.sentences())]
    return Drafted(schema=parse(schema.model_dump(exclude_none=True)), suggestions=sentences, persons=found)


def _target(target: str | None, columns: Mapping[str, Column]) -> str | None:
    """The target where it can be predicted. Errors: UsageError for one that is drafted as never learnt."""
    if target is not None and columns[target].type in ("identifier", "omitted"):
        risk = columns[target].risk
        why = RISKS[risk] if risk else "it looks like a key"
        raise UsageError(f"--target {target}: {why}; name it with --categorical if it is what shall be predicted")
    return target


@dataclass(frozen=True, kw_only=True)
class Cells:
    """What the rules see of a column: distinct canonical values that are not missing, and counts."""

    name: str
    values: list[str]
    counts: np.ndarray  # rows with each value
    missing: list[str]  # the codes that occur, "" among them

    @property
    def rows(self) -> int:
        """Rows with a value."""
        return int(self.counts.sum())

    @property
    def seen(self) -> draft_risks.Seen:
        """The values and their counts, as the rules of risk want them."""
        return draft_risks.Seen(name=self.name, values=self.values, counts=self.counts)


@dataclass(kw_only=True)
class Notes:
    """Columns worth a second look, gathered by reason."""

    codes: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    lists: dict[str, tuple[int, int | None]] = field(default_factory=dict)  # number of values, and how to group them
    order: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        """One sentence for each reason that applies; names only."""
        parts = [
            (self.codes, "few distinct whole numbers: if they are codes, name them with --categorical"),
            (self.keys, "look like keys, with repeats: drafted as identifiers, of which nothing is published"),
            (self.notes, "free text, or values that hardly any two rows share: left out; nothing of it is read"),
            (self.dates, "dates of a form that is not read here: left out; write them like 2020-01-31 to keep them"),
            (self.mixed, "numbers besides a few words: if the words mean missing, name those with --missing"),
            (self.order, "ordinal text in alphabetical order: put the categories in order in the schema"),
            (self.empty, "no value in any row: drafted as a constant; drop the column or state what it can hold"),
        ]
        said = [f"{','.join(names)}: {text}" for names, text in parts if names]
        return [*said, *self._long()]

    def _long(self) -> list[str]:
        """What can be done about lists of values that tell of persons."""
        if not self.lists:
            return []
        told = ", ".join(f"{name} has {count} values" for name, (count, _) in self.lists.items())
        ways = ",".join(f"{name}={length}" for name, (_, length) in self.lists.items() if length)
        group = f", group them by first characters with --group {ways}" if ways else ""
        return [f"{','.join(self.lists)}: long lists, or values that few rows have ({told}): learn them privately with "
                f"--learn-share{group}, or vouch for each alone with --assume-public and --reason"]  # fmt: skip


def _named(table: Table, options: dict[str, Sequence[str]]) -> dict[str, str]:
    """The kind that each named column was given."""
    kinds: dict[str, str] = {}
    for option, names in options.items():
        for name in names:
            if name not in table.names:
                raise UsageError(f"--{option} {name}: the table has no such column; check the spelling")
            if option == "target":
                continue
            if option == "group":
                kinds.setdefault(name, "categorical")
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
    values = sorted(set(plain[~gone]))
    index = {value: i for i, value in enumerate(values)}
    places = np.array([index[value] for value in plain[~gone]], dtype=np.int64)
    return Cells(
        name=name,
        values=values,
        counts=np.bincount(places, weights=counts[~gone], minlength=len(values)).astype(np.int64),
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
        lambda: _places(cells, limit, notes),
        lambda: _whole_dates(cells, notes),
        lambda: _integers(cells, notes),
        lambda: _floats(cells),
        lambda: _dates(cells),
        lambda: _unpublished(cells, notes),
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


def _places(cells: Cells, limit: int, notes: Notes) -> Column | None:
    """Post codes are no quantities, even where all are whole numbers."""
    if not draft_risks.named_like_place(cells.name) or literals.whole(cells.values) is None:
        return None
    return _categories(cells, "categorical", limit=limit, notes=notes)


def _whole_dates(cells: Cells, notes: Notes) -> Column | None:
    """Dates written as 20200131."""
    whole = len(cells.values) > FEW and literals.whole(cells.values) is not None
    return _other_dates(cells, notes) if whole and draft_risks.dated(cells.values) else None


def _other_dates(cells: Cells, notes: Notes) -> Column:
    notes.dates.append(cells.name)
    return _made(cells, "omitted", risk="dates")


def _keyed(cells: Cells, notes: Notes) -> Column:
    """A key becomes a counter: nothing of it is published."""
    if cells.seen.repeats:
        notes.keys.append(cells.name)
    return _made(cells, "identifier")


def _integers(cells: Cells, notes: Notes) -> Column | None:
    bounds = literals.whole(cells.values)
    if bounds is None:
        return None
    if draft_risks.key_of_numbers(cells.seen):
        return _keyed(cells, notes)
    if named_like_key(cells.name) or 1 < len(cells.values) <= FEW:
        notes.codes.append(cells.name)
    if max(-bounds[0], bounds[1]) >= literals.MAX_WHOLE:
        return None
    return _made(cells, "integer", min=bounds[0], max=bounds[1])


def _floats(cells: Cells) -> Column | None:
    grid = literals.decimal(cells.values)
    if grid is None:
        return None
    facts = {"decimals": grid.decimals, "resolution": grid.resolution}
    return _made(cells, "float", min=grid.low, max=grid.high, **facts)


def _dates(cells: Cells) -> Column | None:
    span = literals.dates(cells.values)
    if span is None:
        return None
    years = int(span.last[:4]) - int(span.first[:4])
    if draft_risks.named_like_birth(cells.name) or years > LIFE:
        span = literals.decades(span)  # the oldest person's birthday is that person's
    return _made(cells, "datetime", min=span.first, max=span.last, resolution=span.resolution)


def _no_dates(cells: Cells) -> Column:
    raise UsageError(f"--datetime {cells.name}: not all its cells are dates like 2020-01-31; convert them first")


def _unpublished(cells: Cells, notes: Notes) -> Column | None:
    """Text that must not be published: a counter where it is a key, else left out. None for lists of categories."""
    if literals.mostly_numbers(cells.values):
        notes.mixed.append(cells.name)
    seen = cells.seen
    risk = draft_risks.risk_of_text(seen)
    if risk == "dates":
        return _other_dates(cells, notes)
    if risk == "key" or (risk == "unique" and not seen.repeats):
        return _keyed(cells, notes)
    if risk in ("text", "unique"):
        notes.notes.append(cells.name)
        return _made(cells, "omitted", risk=risk)
    return None


def _categories(cells: Cells, kind: str, *, limit: int, notes: Notes) -> Column:
    if len(cells.values) > limit:
        raise InputError(
            f"column {cells.name}: more than {limit} distinct texts; name it with --identifier if it is a key, "
            "or raise --max-categories"
        )
    numbers = literals.sorted_numbers(cells.values)
    if kind == "ordinal" and numbers is None:
        notes.order.append(cells.name)
    risk: Risk | None = draft_risks.risk_of_text(cells.seen)
    if risk is not None:
        notes.lists[cells.name] = (len(cells.values), coarsening.offered(cells.values) if cells.seen.long else None)
    return _made(cells, kind, categories=numbers or cells.values, risk=risk)


def _grouped(name: str, column: Column, length: int) -> Column:
    """Errors: UsageError where the values' first characters are of no plain form."""
    found = coarsening.coarser(column, length) if column.categories else None
    if found is None:
        raise UsageError(f"--group {name}={length}: no public list of groups; the first characters must be digits or "
                         f"letters, with at most {coarsening.MOST_GROUPS} groups in all")  # fmt: skip
    return found
