"""Where a run's private rows are, and the name under which they are charged; nothing is read here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import pandas as pd

from synth.errors import UsageError
from synth.privacy.ledger.ledger import Ledger
from synth.schema.dataset import ONE, Dataset
from synth.schema.names import dataset_of
from synth.schema.table import Schema
from synth.sources import named_databases
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.formats.text_table import Table
from synth.sources.related_tables import folder_at, places, split_public
from synth.sources.table_source import FilePlace, Place, place_of

Source: TypeAlias = str | Path | pd.DataFrame | Place


@dataclass(frozen=True, kw_only=True)
class PrivateRows:
    """Where the private rows are, and which columns of them are wanted; nothing is read before it is asked for."""

    place: Place
    columns: list[str]

    @classmethod
    def of(cls, place: Place, schema: Schema) -> "PrivateRows":
        """What a run under this schema needs of the table there."""
        return cls(place=place.under(schema), columns=[*schema.measured(), *([schema.person] if schema.person else [])])


def wanted(located: Mapping[str, Place], schema: Schema | Dataset) -> dict[str, PrivateRows]:
    """What a run needs of each table."""
    columns = {n: dict.fromkeys([*s.measured(), *schema.texts(n)]) for n, s in schema.written.items()}
    return {n: PrivateRows(place=p.under(schema.written[n]), columns=list(columns[n])) for n, p in located.items()}


def marked(rows: Mapping[str, PrivateRows], schema: Schema | Dataset) -> Iterator[tuple[str, PrivateRows]]:
    """The forms in which each table's rows are known again: of related ones also that of a run on one alone."""
    for name, own in rows.items():
        yield name, own
        measured = list(schema.tables[name].measured()) if schema.several else []
        if measured:  # else nothing of the table is asked: learning looks at one below it
            yield name, PrivateRows(place=own.place, columns=measured)


def located(
    tables: Any, schema: Schema | Dataset, source: str | None, *, given: bool
) -> tuple[dict[str, Place], dict[str, Table]]:
    """Where each private table lies, and the public ones beside them; ``given``: they are in memory.

    Errors: UsageError, InputError.
    """
    if not schema.several:
        if isinstance(tables, Mapping):
            raise UsageError("several tables need a schema of related tables, with their keys (parse_related)")
        if tables is None:
            raise UsageError("`table=` is missing; name a file, or a table at `source=`")
        return {ONE: place_at(tables, source)}, {}
    if given and not isinstance(tables, Mapping):
        raise UsageError("related tables are a folder with a file for each, or frames and paths by table")
    if source is not None and given:
        raise UsageError("`source=`: the tables are those there; give none beside it")
    if source is not None or tables is None:
        return places(tables, schema, source), {}
    private, public = split_public(tables, schema)
    return places(private, schema), public


def place_at(table: Source, source: str | None = None) -> Place:
    """Where the table lies, at a source where one is named. Errors: UsageError, InputError."""
    if source is None:
        return table if isinstance(table, Place) else place_of(table)
    if not isinstance(table, str | Path):
        raise UsageError("`table=`: must be the name of a table at `source=`")
    return named_databases.placed(named_databases.address(source), str(table))


def charged_to(
    tables: Any,
    located: Mapping[str, Place],
    schema: Schema | Dataset,
    dataset: str | None,
    source: str | None,
    book: Ledger,
) -> str:
    """The name under which tables are charged. Errors: UsageError where they have none."""
    declared = dataset or schema.dataset
    if not schema.several:
        return dataset_name(located[ONE], declared, book=book)
    if declared:
        return declared
    if source is not None:
        folder = folder_at(tables)
        where = tables if folder is None else folder.resolve()
        return named_databases.identity(source) + (f"/{where}" if where else "")
    if isinstance(tables, Mapping):
        raise UsageError(
            "tables given one by one have no common name; give dataset=..., or name the dataset in the schema"
        )
    return Path(tables).resolve().name


def check_known(name: str, book: Ledger) -> None:
    """Errors: UsageError for a place in a database that the ledger does not know, where it knows others or a cap.

    An address says little about whose rows there are: a view, a copy or another server may hold persons that were
    charged before, and long tables are not compared. It is asked of tables of any length, for how long they are is
    private.
    """
    if not book.known(name) and book.summary():
        raise UsageError(
            "nothing was charged to {} before, and other datasets were or have a cap: if its persons are in one of "
            "them, name that one with `dataset=` (`synth.Ledger.summary` lists them); if not, give it a name of its "
            "own with `dataset=`",
            name,
        )


def _same_place(known: str, name: str) -> bool:
    """Whether a name that was charged once is another spelling of ``name``, which is canonical."""
    if known == name:
        return True
    source, _, table = known.rpartition("/")
    aim, _, wanted = name.rpartition("/")
    try:
        place = named_databases.placed(source, table)
        if place.name == name:
            return True
        files = [Path(urlsplit(s).path) for s in (str(place.name).rpartition("/")[0], aim)]
        return table == wanted and all(f.is_file() for f in files) and files[0].samefile(files[1])  # a hard link
    except (UsageError, OSError, ValueError):
        return False


def dataset_name(table: Source, declared: str | None, *, book: Ledger | None = None) -> str:
    """The name a table is charged under: declared, else that of its file up to the first point; a database's own.

    ``book``: where the ledger knows the file under its whole path, as all files once were, or a database's table under
    another spelling of its address, that name stays. Errors: UsageError for a frame.

    >>> dataset_name("data/town_survey.csv.gz", None)
    'town_survey'
    """
    if declared:
        return declared
    if isinstance(table, pd.DataFrame) or (isinstance(table, Place) and table.name is None):
        raise UsageError("a data frame has no name; give dataset=..., or name the dataset in the schema")
    if isinstance(table, Place) and not isinstance(table, FilePlace):
        known = [] if book is None else [t.dataset for t in book.summary() if "://" in t.dataset]
        return next((n for n in known if _same_place(n, str(table.name))), str(table.name))
    return dataset_of(table.path if isinstance(table, FilePlace) else Path(table), book=book)


def rough_rows(table: str | Path, *, schema: Schema, source: str | None = None) -> int:
    """The number of rows, rounded to two digits; 0 of an empty table. ``schema``, ``source``: as of
    ``synth.run``.

    Errors: UsageError, InputError for a table that cannot be read.

    Privacy: reads rows, exact: only for a steward who confirms that the number of rows is public.
    """
    rows = PrivateRows.of(place_at(str(table), source), schema)
    if isinstance(rows.place, WarehousePlace):
        return rounded(rows.place.rows_there)
    nothing = Schema.model_construct(columns={})
    return rounded(sum(batch.table.num_rows for batch in rows.place.batches(nothing, rows.columns[:1])))


def rounded(count: int) -> int:
    """To two digits.

    >>> rounded(41_188), rounded(7), rounded(0), rounded(99_999)
    (41000, 7, 0, 100000)
    """
    return round(count, 1 - floor(log10(count))) if count else 0
