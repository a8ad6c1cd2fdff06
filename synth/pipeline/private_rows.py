"""Where a run's private rows are, and the name under which they are charged; nothing is read here."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from synth.errors import UsageError
from synth.privacy.ledger.ledger import Ledger
from synth.schema.naming import dataset_of
from synth.schema.table import Schema
from synth.sources import named_databases
from synth.sources.table_source import FilePlace, Place, place_of

Source: TypeAlias = str | Path | pd.DataFrame | Place


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Where the private rows are, and which columns of them are wanted; nothing is read before it is asked for."""

    place: Place
    columns: list[str]

    @classmethod
    def of(cls, place: Place, schema: Schema) -> "Rows":
        """What a run under this schema needs of the table there."""
        return cls(place=place.under(schema), columns=[*schema.measured(), *([schema.person] if schema.person else [])])

    def check_form(self, *, learns: bool = False) -> None:
        """Finds faults of form, ``learns``: of reading it whole too, and keeps no value. Errors: InputError."""
        self.place.check_form(self.columns)
        if learns:
            self.place.check_whole(self.columns)


def place_at(table: Source, source: str | None = None) -> Place:
    """Where the table lies, at a source where one is named. Errors: UsageError, InputError."""
    if source is None:
        return table if isinstance(table, Place) else place_of(table)
    if not isinstance(table, str | Path):
        raise UsageError("--source: TABLE must be the name of a table there")
    return named_databases.placed(named_databases.address(source), str(table))


def dataset_name(table: Source, declared: str | None, *, book: Ledger | None = None) -> str:
    """The name a table is charged under: declared, else that of its file up to the first point; a database's own.

    ``book``: where the ledger knows the file under its whole path, as all files once were, that name stays.
    Errors: UsageError for a frame.

    >>> dataset_name("data/town_survey.csv.gz", None)
    'town_survey'
    """
    if declared:
        return declared
    if isinstance(table, pd.DataFrame) or (isinstance(table, Place) and table.name is None):
        raise UsageError("a data frame has no name; give dataset=..., or name the dataset in the schema")
    if isinstance(table, Place) and not isinstance(table, FilePlace):
        return str(table.name)
    return dataset_of(table.path if isinstance(table, FilePlace) else Path(table), book=book)
