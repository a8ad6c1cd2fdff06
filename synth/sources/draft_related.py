"""A schema of related tables drafted from a folder or a database: each table as alone, and the keys between them.

Which keys there are is guessed from names, or declared in the database: public facts. How many rows of one parent are
kept is read off the rows, so it is a proposal that waits for the steward, as a person's ``max_rows`` is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import InputError, UsageError
from synth.files.regular_files import is_folder
from synth.languages import Said
from synth.schema.dataset import written
from synth.schema.names import FILE_NAME
from synth.schema.related_names import Reference, Tree, guessed, shared, sure, tree
from synth.schema.table import MOST_CHILDREN, UNCONFIRMED, Column, Key, PublicTable, Schema
from synth.sources import named_databases
from synth.sources.draft_risks import named_like_birth
from synth.sources.draft_schema import draft, rows_by_key, rows_retained
from synth.sources.formats import files
from synth.sources.formats.files import is_delta
from synth.sources.formats.text_table import Table
from synth.sources.related_tables import ENDINGS, row_keys
from synth.sources.table_source import place_of

Rows = Callable[[str], tuple[Table, list[str]]]  # a table's rows for a draft, and notes on them


@dataclass(frozen=True, kw_only=True)
class DraftedTables:
    """The draft: ``plain`` beside the ``tables``, which may break rules that ``open`` tells; notes for the steward."""

    tables: dict[str, Schema]
    plain: dict[str, Any]
    notes: list[str]

    def to_json(self) -> str:
        """The draft as the text of a file."""
        return written(self.plain, self.tables)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the steward says of related tables. ``most_children``: by child; ``options``: of ``draft``, by table.

    Privacy: public only.
    """

    root: str | None = None
    public: Sequence[str] = ()
    keys: Sequence[Reference] = ()
    most_children: Mapping[str, int] | None = None
    options: Mapping[str, Mapping[str, Any]] | None = None
    dataset: str | None = None


def draft_related(
    headers: Mapping[str, Sequence[str]], rows: Rows, wanted: Wanted, *, declared: Sequence[Reference] | None = None
) -> DraftedTables:
    """Drafts related tables. ``headers``: columns by table; ``declared``: the keys that a database states.

    Every fact waits for somebody to confirm it, but for the categories of a reference to a table that is named as
    public: they are that table's own. Errors: UsageError, InputError.

    Privacy: reads rows, exact: for the steward alone until somebody confirms each fact.
    """
    check(headers, wanted)
    said = {(k.child, k.columns) for k in wanted.keys}
    joined = {(k.child, k.parent) for k in wanted.keys if k.parent not in wanted.public}
    found = guessed(headers) if declared is None else list(declared)
    if declared is None:
        below = {r.child for r in [*wanted.keys, *found]}  # tables without a parent may share a key with one
        found += [r for r in sure(shared(headers)) if r.child not in below]
    others = (r for r in found if (r.child, r.columns) not in said and (r.child, r.parent) not in joined)
    references = [*wanted.keys, *others]
    made = tree(list(headers), references, public=wanted.public, root=wanted.root)
    tables = [t for t in headers if t not in wanted.public and t not in made.aside]
    read = _Read(rows, made, wanted)
    schemas = {t: read.drafted(t) for t in tables}
    keys = [read.key(k) for k in made.keys]
    public = {t: read.public(t) for t in wanted.public if any(r.parent == t for r in made.public)}
    if unused := [t for t in wanted.public if t not in public]:
        read.notes.append(Said("{}: public, and no table refers to it by name; left out", ", ".join(unused)))
    if made.aside:
        read.notes.append(Said("{}: not below {}, so left out", ", ".join(made.aside), wanted.root))
    orphans = {t: c for t, c in headers.items() if t not in {k.child for k in made.keys}}
    either = shared(orphans) if len(orphans) > 1 else []  # names do not tell which is the parent
    asked = [
        Said(
            "{} and {} share {}: say which belongs to which, `keys={}` or the other way round.",
            r.child,
            r.parent,
            r.columns[0],
            r,
        )
        for r in either
        if r not in sure(either) and r.child < r.parent
    ]
    plain = {
        "dataset": wanted.dataset,
        "keys": [k.model_dump(mode="json", exclude_none=True, exclude_defaults=True) for k in keys],
        "public": {n: p.model_dump(mode="json", exclude_none=True) for n, p in public.items()},
        "open": [*made.open, *asked, *read.open],
    }
    return DraftedTables(tables=schemas, plain={n: v for n, v in plain.items() if v}, notes=read.notes)


class _Read:
    """Drafts of tables, each read once; of a parent nothing is read for its children's sake."""

    def __init__(self, rows: Rows, made: Tree, wanted: Wanted) -> None:
        self._rows, self._tree, self._wanted = rows, made, wanted
        self.notes: list[str] = []
        self.open: list[str] = []
        self._counts: dict[str, np.ndarray | None] = {}
        self._orders: dict[str, str | None] = {}

    def drafted(self, name: str) -> Schema:
        """A table's schema, its unit left out: that is a key of the root with everything below it."""
        table, notes = self._rows(name)
        above = [k for k in self._tree.keys if k.child == name]
        keyed = [c for k in above for c in k.columns]
        keyed += [c for k in self._tree.keys if k.parent == name for c in k.parent_columns]
        options = dict((self._wanted.options or {}).get(name, {}))
        options["identifier"] = list(dict.fromkeys([*options.get("identifier", ()), *keyed]))
        drafted = draft(table, unit="row", **options)
        columns = dict(drafted.schema.columns)
        for reference in (
            r for r in self._tree.public if r.child == name
        ):  # its categories are the public table's keys
            if len(reference.columns) > 1:
                raise UsageError(
                    "`public={}`: {} is a key of several columns; a reference to a public table is by one column",
                    reference.parent,
                    reference,
                )
            public, _ = self._rows(reference.parent)
            values = tuple(key for (key,) in row_keys(public, reference.parent_columns, name=reference.parent))
            columns[reference.columns[0]] = Column(type="categorical", categories=values, nullable=True)
        self.notes += [Said("{}: {}", name, line) for line in [*notes, *drafted.suggestions]]
        self._counts[name] = None if notes else rows_by_key(table, keyed[: len(above[0].columns)]) if above else None
        dates = [n for n, c in columns.items() if c.type == "datetime" and not named_like_birth(n)]
        self._orders[name] = dates[0] if len(dates) == 1 else None
        return drafted.schema.model_copy(update={"columns": columns, "unit": None, "unit_source": None})

    def public(self, name: str) -> PublicTable:
        """What the schema says of a public table."""
        to = [r for r in self._tree.public if r.parent == name]
        by = tuple(f"{r.child}.{r.columns[0]}" for r in to)
        if len({r.parent_columns for r in to}) > 1:
            self.open.append(Said("{} is referred to by different columns of it; keep references to one.", name))
        self.notes.append(
            Said("{}: public on your word; {} may be empty (nullable) until you say otherwise", name, ", ".join(by))
        )
        return PublicTable(key=to[0].parent_columns[0], referred_by=by, source="declared")

    def key(self, key: Reference) -> Key:
        """A key with its bound: as stated, or a proposal that waits."""
        stated = (self._wanted.most_children or {}).get(key.child)
        counts, most = self._counts[key.child], stated or 0
        if stated is None and (counts is None or not len(counts)):
            self.open.append(
                Said(
                    "most_children of {} is to be stated (`most_children={}=N`): too many rows, or none, to propose it "
                    "from.",
                    key.child,
                    key.child,
                )
            )
        elif stated is None and counts is not None:
            most = min(rows_retained(counts), MOST_CHILDREN)
            retained = np.minimum(counts, most).sum() / counts.sum()
            self.notes.append(
                Said(
                    "{}: proposed from the rows to keep at most {} of one row of {}, {:.0%} of all; answer with "
                    "`most_children={}=N`",
                    key.child,
                    most,
                    key.parent,
                    retained,
                    key.child,
                )
            )
        order = self._orders[key.child] if most > 1 else None
        if order is not None:
            self.notes.append(
                Said("{}: events in the order of {}, its only date; take `order` out if not", key.child, order)
            )
        return Key(
            parent=key.parent,
            child=key.child,
            columns=key.columns,
            parent_columns=None if key.columns == key.parent_columns else key.parent_columns,
            order=order,
            source="declared" if stated is not None else UNCONFIRMED,
            **({"most_children": most} if most else {}),
        )


def check(headers: Mapping[str, Sequence[str]], wanted: Wanted) -> None:
    """Errors: UsageError for a statement about a table or column that is not there."""
    stated = {
        "root": [wanted.root] if wanted.root else [],
        "public": wanted.public,
        "most_children": list(wanted.most_children or ()),
    }
    for option, tables in stated.items():
        for name in tables:
            if name not in headers:
                raise UsageError("`{}={}`: no such table; there are {}", option, name, ", ".join(headers))
    if wanted.root in wanted.public:
        raise UsageError("`root={}`: it is named as public too; the units' table is private", wanted.root)
    for key in wanted.keys:
        for table, columns in ((key.child, key.columns), (key.parent, key.parent_columns)):
            absent = [c for c in columns if c not in headers.get(table, ())]
            if table not in headers or absent:
                what = Said("has no column {}", absent[0]) if absent else Said("is no table")
                raise UsageError("`keys={}`: {} {}", key, table, what)
    for table, options in (wanted.options or {}).items():
        if table not in headers:
            raise UsageError("{}.{}: no such table; write TABLE.COLUMN", table, next(iter(options)))


@dataclass(frozen=True, kw_only=True)
class LocatedTables:
    """Columns by table, how a table's rows are had, and the keys that a database declares (None: a folder's)."""

    headers: dict[str, list[str]]
    rows: Rows
    declared: list[Reference] | None


def is_folder_of_tables(path: Path) -> bool:
    """Whether the folder ``path`` holds several tables, not the parts of one: Parquet files of one header are parts.

    Errors: InputError for a file that cannot be read. Privacy: public only (names and headers of files).
    """
    if not is_folder(path) or is_delta(path):
        return False
    parts = _parts(path)
    if (len(parts) > 1 or len(tables_in(path)) == 1) and len({tuple(files.header(p)) for p in parts}) == 1:
        return False
    return bool(tables_in(path))


def tables_in(folder: Path) -> dict[str, Path]:
    """The files of a folder that are tables, and its folders of Parquet files, by table; others are passed over.

    Errors: InputError for a table that is there twice, or whose name cannot be a file's everywhere.

    Privacy: public only (names of files).
    """
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        end = next(e for e in sorted(ENDINGS, key=len, reverse=True) if path.name.endswith(e))
        if path.name.startswith((".", "_")) or not ((path.is_file() and end) or (path.is_dir() and _parts(path))):
            continue
        name = path.name.removesuffix(end)
        if not FILE_NAME.fullmatch(name):
            raise InputError(
                "{}: {}: a table's name is of letters, digits, - and _; rename the file", folder, path.name
            )
        if name in files:
            raise InputError(
                "{}: table {} is there as {} and as {}; keep one", folder, name, files[name].name, path.name
            )
        files[name] = path
    return files


def _parts(folder: Path) -> list[Path]:
    return [p for p in folder.iterdir() if p.name.endswith((".parquet", ".pq"))]


def in_folder(folder: Path, *, stated: Mapping[str, str | None] | None = None) -> LocatedTables:
    """The tables of a folder. ``stated``: how its CSV files are written. Errors: InputError."""
    at = tables_in(folder)
    if len(at) < 2:
        raise InputError(
            "{}: it holds {} tables; related tables are two or more files ({}) or folders of Parquet files",
            folder,
            len(at),
            ", ".join(files.SUFFIXES),
        )

    def rows(name: str) -> tuple[Table, list[str]]:
        return named_databases.whole(at[name], None, stated=stated)

    headers = {n: place_of(p).as_it_seems(**(stated or {})).header() for n, p in at.items()}
    return LocatedTables(headers=headers, rows=rows, declared=None)


def in_database(source: str) -> LocatedTables:
    """The tables of a database's own schema and the keys declared there. Errors: InputError, UsageError."""
    source = named_databases.address(source)
    database = named_databases.database(source)

    def rows(name: str) -> tuple[Table, list[str]]:
        return named_databases.whole(name, source)

    headers = {t: named_databases.placed(source, t).header() for t in database.tables()}
    return LocatedTables(headers=headers, rows=rows, declared=database.declared_keys())
