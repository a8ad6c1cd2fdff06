"""A schema drafted from the rows. What it states was read off private cells, so each fact waits for a person.

The rules look at the distinct texts of a column and at how many rows have each, never at what the texts of real codes
mean: whole numbers stay numbers until somebody names the column as categorical or ordinal. What looks like a key, a
note, or a long list is drafted so that nothing of it is published (``synth.sources.draft_risks``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from synth.errors import UsageError, meant
from synth.schema import coarsening
from synth.schema.column import RISKS
from synth.schema.table import MAX_CATEGORIES, UNCONFIRMED, Column, Schema, parse
from synth.sources import draft_risks, named_databases
from synth.sources.draft_cells import Notes, cells_of
from synth.sources.draft_kinds import kind_of
from synth.sources.draft_risks import named_like_key
from synth.sources.draft_unit import ProposedUnit, persons
from synth.sources.formats import sniff_formats
from synth.sources.formats.text_table import Table, from_frame

__all__ = ["Drafted", "draft", "named_like_key"]
SMALL_TABLE = draft_risks.SMALL_TABLE


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """A schema of unconfirmed facts, sentences that name columns worth a second look, and who may have several rows."""

    schema: Schema
    suggestions: list[str]
    persons: ProposedUnit | None = None


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
    is a constant. ``categorical``, ``ordinal``, ``identifier`` and ``datetime_`` name columns of a kind. A list of
    values that may identify persons has a ``risk``, so that it is not vouched for together with others. ``group``:
    columns whose values are grouped by so many first characters, with a public list of groups. ``unit``, ``max_rows``:
    whether a person has several rows, as of ``synth.run``; where a key repeats and nobody says, a proposal. ``target``,
    ``dataset``: written into the schema.
    Errors: UsageError for a name that is no column; InputError for text with more than ``max_categories`` values.

    Privacy: reads rows, exact: for the steward alone until somebody vouches for each fact.

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
    lines: list[str] = []
    if isinstance(table, str | Path):
        table, lines = named_databases.whole(table, None)
    table = from_frame(table) if isinstance(table, pd.DataFrame) else table
    named = _named(table, options)
    notes = Notes()
    reported = sniff_formats.sniffed(table, named=named, missing=missing, stated=formats)
    read = DraftRules(table=table, sniffed=reported, missing=missing, named=named, limit=max_categories, notes=notes)
    columns = {name: read.column(name, (group or {}).get(name)) for name in table.names}
    result = persons(table, columns)
    facts = {"unit": result.unit, "max_rows": result.max_rows, "unit_source": UNCONFIRMED}
    if unit is not None:
        facts = {"unit": unit, "max_rows": max_rows, "unit_source": "declared"}
    stated = {"dataset": dataset, "target": _target(target, columns), "dialect": reported.stated_dialect}
    schema = Schema.model_validate({**stated, "columns": columns, **facts})
    sentences = [*lines, *reported.lines, *notes.sentences(), *([] if unit else result.sentences())]
    return Drafted(schema=parse(schema.model_dump(exclude_none=True)), suggestions=sentences, persons=result)


@dataclass(frozen=True, kw_only=True)
class DraftRules:
    """What is known of all columns before one is drafted. ``sniffed``: how texts are written; ``limit``: of texts."""

    table: Table
    sniffed: sniff_formats.Sniffed
    missing: Sequence[str]
    named: Mapping[str, str]
    limit: int
    notes: Notes

    def column(self, name: str, length: int | None) -> Column:
        """A column's facts. ``length``: first characters that its values are grouped by, None for values as they are.

        Errors: InputError, UsageError.
        """
        codes, kind = [*self.missing, *self.sniffed.missing.get(name, ())], self.named.get(name)
        cells = cells_of(self.sniffed.table, name, codes)
        if name in self.sniffed.spelt:
            read = kind_of(cells, kind=kind, limit=self.limit, notes=Notes())
            cells = cells_of(self.table, name, codes) if self.sniffed.misread(name, read) else cells
        column = self.sniffed.column(name, kind_of(cells, kind=kind, limit=self.limit, notes=self.notes))
        return column if length is None else _grouped(name, column, length)


def _target(target: str | None, columns: Mapping[str, Column]) -> str | None:
    """The target where it can be predicted. Errors: UsageError for one that is drafted as never learnt."""
    if target is not None and columns[target].type in ("identifier", "omitted"):
        risk = columns[target].risk
        why = RISKS[risk] if risk else "it looks like a key"
        raise UsageError(f"`target={target}`: {why}; name it with `categorical=` if it is what shall be predicted")
    return target


def _named(table: Table, options: dict[str, Sequence[str]]) -> dict[str, str]:
    """The kind that each named column was given."""
    kinds: dict[str, str] = {}
    for option, names in options.items():
        keyword = {"datetime": "datetime_"}.get(option, option)
        for name in names:
            if name not in table.names:
                raise UsageError(f"`{keyword}={name}`: the table has no such column; {meant(name, table.names)}")
            if option == "target":
                continue
            if option == "group":
                kinds.setdefault(name, "categorical")
                continue
            if kinds.setdefault(name, option) != option:
                raise UsageError(f"`{keyword}={name}`: already named with `{kinds[name]}=`; keep one")
    return kinds


def _grouped(name: str, column: Column, length: int) -> Column:
    """Errors: UsageError where the values' first characters are of no plain form."""
    result = coarsening.coarser(column, length) if column.categories else None
    if result is None:
        raise UsageError(
            f"`group={name}={length}`: no public list of groups; the first characters must be digits or "
            f"letters, with at most {coarsening.MOST_GROUPS} groups in all"
        )
    return result
