"""The files of a release: written whole or not at all, read back with every part checked."""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from synth.errors import EmptyTableError, InputError, UsageError
from synth.files import whole_files
from synth.generators import load_model as rebuild
from synth.generators.base import Setting
from synth.generators.core.product import check_model, check_numbers
from synth.languages import with_said
from synth.mechanisms import linked
from synth.privacy.relation import Adjacency, relation_named
from synth.questions import LinkedRelease, PublicLinked, Release
from synth.questions.linked import placed
from synth.release import dialect_copy, store
from synth.release.card.card import Card
from synth.schema import codec, csv_injection
from synth.schema import dataset as datasets
from synth.schema import table as schemas
from synth.schema.column import Column
from synth.schema.dataset import ONE, Dataset, as_tables
from synth.schema.dialect import Dialect
from synth.schema.table import Schema
from synth.sources.formats import files
from synth.sources.formats.cell_formats import Writing
from synth.sources.formats.text_table import Table

ONE_TABLE = "one_table"  # beside the format of a release whose tree of tables is written as one
RELATED = "related-"  # begins the kinds of files of related tables
OWN = ("schema.json", "card.json", "release.json", "release.safetensors", "model.json", "model.safetensors")
NAMES = (f"{ONE}.csv", *OWN)
MARK = "synthetic"  # a column that says so, on wish


def write(
    out: Path,
    *,
    tables: Mapping[str, Iterable[Mapping[str, pa.Array]]],
    method: str,
    model: Any,
    releases: Sequence[Release],
    setting: Setting,
    card: Card,
    options: Mapping[str, Any] | None = None,
    public: Mapping[str, Table | Path] | None = None,
    raw_text: bool = False,
    dialect: str = "plain",
    note: Callable[[str], None] = print,
) -> dict[str, str]:
    """Writes the files of a release into ``out``: a CSV file of each table, of a single one its twin in the schema's
    dialect (dialect_copy.py), schema.json, card.json, release.* and model.*; returns their paths. They appear there
    once all of them are whole. ``public``: tables, or their files in a release, that are copied as they are, for
    synthetic rows refer to them.

    The card gains the tables' SHA-256, so that another table beside it is noticed, and what became of text that a
    spreadsheet would take for a formula: ``raw_text`` writes it as it is (csv_injection.py).
    """
    tree, results = setting.tree, None
    facts = setting.schema if tree is None else tree
    with whole_files.folder(out) as draft:
        names = write_tables(draft, tables, facts, raw_text=raw_text)
        names |= {n: _copied(draft, n, table, raw_text=raw_text) for n, table in (public or {}).items()}
        card["csv_text"] = csv_injection.RAW if raw_text else csv_injection.MARKED
        hashes = {name: _digest(draft / file) for name, file in names.items()}
        if facts.several:
            card["tables_sha256"] = hashes
        else:
            card["synthetic_sha256"] = hashes[ONE]
            card.pop(dialect_copy.DIGEST, None)  # of the release that is refitted
            results = dialect_copy.write(draft, facts.written[ONE], dialect, note, raw_text=raw_text)
            card |= {dialect_copy.DIGEST: results} if results else {}
        packed, arrays = store.pack(releases)
        state, weights = model.state()
        kind = "facsimile-" if tree is None else f"facsimile-{RELATED}"
        about = {"method": method, "card": with_said(card), "schema": json.loads(facts.to_json())}
        reported = about if tree is not None else {"method": method, "options": dict(options or {}), **about}
        given = ("mu", "sensitivity", "signed", "public_rows") if tree is None else ("mu",)
        marked = {ONE_TABLE: True} if facts.one_table else {}
        reported = {
            "format": f"{kind}release/1",
            **marked,
            **reported,
            "setting": {n: getattr(setting, n) for n in given},
            **packed,
        }
        whole_files.write(draft / "schema.json", facts.to_json())
        whole_files.write(draft / "card.json", json.dumps(with_said(card), indent=2, ensure_ascii=False) + "\n")
        store.save(draft / "release.json", reported, arrays)
        store.save(draft / "model.json", {"format": f"{kind}model/1", **marked, **about, "model": state}, weights)
    if facts.several:
        own = {n: str(out / f"{n}.json") for n in ("schema", "card", "release", "model")}
        return {**own, **{f"table {n}": str(out / file) for n, file in names.items()}}
    if not results:
        (out / dialect_copy.NAME).unlink(missing_ok=True)  # of an earlier release there
    files_there = (*NAMES, dialect_copy.NAME) if results else NAMES
    return {n.removesuffix(".json").removesuffix(".csv").replace(".", "_"): str(out / n) for n in files_there}


def write_tables(
    out: Path, tables: Mapping[str, Iterable[Mapping[str, pa.Array]]], schema: Schema | Dataset, *, raw_text: bool
) -> dict[str, str]:
    """A CSV file for each table; returns their names."""
    out.mkdir(parents=True, exist_ok=True)
    for name, blocks in tables.items():
        write_blocks(out / f"{name}.csv", blocks, schema.written[name], raw_text=raw_text)
    return {name: f"{name}.csv" for name in tables}


def _copied(out: Path, name: str, table: Table | Path, *, raw_text: bool) -> str:
    """A public table as a CSV file; returns its name."""
    if isinstance(table, Path):
        shutil.copyfile(table, out / f"{name}.csv")
        return f"{name}.csv"
    cells = {
        n: pa.array([str(v) for v in t.values], type=pa.string()).take(pa.array(t.codes))
        for n in table.names
        if (t := table.column(n))
    }
    listed = {n: frozenset(str(v) for v in table.column(n).values) for n in cells}
    files.write(out / f"{name}.csv", cells if raw_text else _safe(cells, listed))
    return f"{name}.csv"


def public_beside(path: str | Path, stored: "StoredModel | StoredRelease") -> dict[str, Path]:
    """By name the public tables that lie beside what is stored as they were released; one that is gone is left out.

    Errors: InputError for a file that was changed since. Privacy: public only.
    """
    place, results = Path(path), {}
    hashes = stored.card.get("tables_sha256", {})
    for name in stored.schema.public or {}:
        file = (place if place.is_dir() else place.parent) / f"{name}.csv"
        if name in hashes and file.is_file():
            if file.is_symlink() or _digest(file) != hashes[name]:
                raise InputError("{}: not the public table as it was released; put that back, or take it away", file)
            results[name] = file
    return results


def released(path: str | Path, stored: "StoredModel") -> dict[str, pa.Array]:
    """The rows of a release of one table that lie beside its stored model. Errors: InputError where they were changed.

    Privacy: released answers only.
    """
    file = (Path(path) if Path(path).is_dir() else Path(path).parent) / f"{ONE}.csv"
    if not file.is_file() or _digest(file) != stored.card.get("synthetic_sha256"):
        raise InputError("{}: not the table as it was released; put that back", file)
    return read_texts(file, stored.schema.written[ONE].retained())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_related(path: str | Path) -> bool:
    """Whether a model or release file, or the folder that holds model.json, is of related tables; refuses no file.

    That of one table whose persons keep their rows is, too (``is_one_table``).
    """
    return _marked_as(path, f'"facsimile-{RELATED}')


def is_one_table(path: str | Path) -> bool:
    """Whether a model or release is of one table whose persons keep their rows; refuses no file."""
    return is_related(path) and _marked_as(path, f'"{ONE_TABLE}": true')


def _marked_as(path: str | Path, words: str) -> bool:
    place = Path(path)
    place = place / "model.json" if place.is_dir() else place
    if not place.is_file():  # opening a pipe would wait for ever
        return False
    try:
        with place.open("rb") as file:
            return words.encode() in file.read(4096)
    except OSError:
        return False


def write_table(
    path: Path, texts: Mapping[str, pa.Array], schema: Schema, *, raw_text: bool = False, dialect: str = "plain"
) -> None:
    """A table file of the kind that its name says, which is marked as synthetic (``files.write_parts``): .csv, .csv.gz;
    .parquet, .xlsx, .dta, .sav and .xpt with typed numbers and dates.

    In CSV, which has no types, text that a spreadsheet would take for a formula is marked (csv_injection.py) unless
    ``raw_text``; an .xlsx holds it as text in any case. ``dialect``: ``same`` writes a CSV as the schema says that the
    private one is written.
    """
    write_blocks(path, [texts], schema, raw_text=raw_text, dialect=dialect)


def write_blocks(
    path: Path,
    blocks: Iterable[Mapping[str, pa.Array]],
    schema: Schema,
    *,
    raw_text: bool = False,
    dialect: str = "plain",
    mark: bool = False,
) -> None:
    """``write_table`` for a table that comes in blocks of rows, of which one is in memory at a time.

    ``mark``: with a column ``MARK`` that says yes in every row. Errors: UsageError where the table has one.
    """
    typed = files.kind(path) != "csv"
    if mark and MARK in schema.columns:
        raise UsageError("the table has a column {!r} of its own, so no mark of that name can be added", MARK)
    wanted = Writing.of(schema) if dialect == "same" and not typed else None
    reported = (texts if wanted is None else wanted.columns(texts) for texts in blocks)
    parts = (_as_written(texts, schema, typed=typed, raw_text=raw_text) for texts in reported)
    parts = ({**p, MARK: pa.repeat("yes", len(next(iter(p.values()))))} if mark else p for p in parts)
    labels = {
        n: dict(zip(c.categories, c.labels or [""] * len(c.categories), strict=True))
        for n, c in schema.retained().columns.items()
        if c.categories
    }
    titles = {n: c.description for n, c in schema.columns.items() if c.description}
    form = wanted.dialect if wanted else Dialect()
    files.write_parts(path, parts, dialect=form, synthetic=True, labels=labels, titles=titles)


def _as_written(
    texts: Mapping[str, pa.Array], schema: Schema, *, typed: bool, raw_text: bool
) -> Mapping[str, pa.Array]:
    if typed:
        return codec.typed(texts, schema)
    return texts if raw_text else _safe(texts, {n: known_texts(schema.columns[n]) for n in texts})


def _safe(texts: Mapping[str, pa.Array], known: Mapping[str, frozenset[str]]) -> dict[str, pa.Array]:
    """Columns with marks before what a spreadsheet would take for a formula; ``known``: texts that stay as they are."""
    return {csv_injection.marked(n, texts): _marked(a, known[n]) for n, a in texts.items()}


def read_texts(path: str | Path, schema: Schema) -> dict[str, pa.Array]:
    """A CSV that ``write_table`` wrote in the plain way: by column its cells, without the marks before risky text."""
    try:
        table = files.read(Path(path), columns=list(schema.columns))
    except EmptyTableError:  # of related tables one may have no row
        return {n: pa.array([], type=pa.string()) for n in schema.columns}
    return {n: unmarked(table.column(n), known_texts(c)) for n, c in schema.columns.items()}


def read_positions(path: str | Path, schema: Schema, names: Iterable[str]) -> dict[str, np.ndarray]:
    """As ``read_texts``, some columns' positions (n,); -1 for a value that the schema does not know."""
    texts, rows = read_texts(path, schema), {}
    for name in names:
        coded = texts[name].dictionary_encode()
        places, _ = codec.known(schema.columns[name], np.asarray(coded.dictionary.to_pylist(), dtype=object))
        rows[name] = places[coded.indices.to_numpy(zero_copy_only=False)]
    return rows


def unmarked(column: codec.TextColumn, known: frozenset[str]) -> pa.Array:
    """A column's cells, without the marks that stand before risky text in CSV."""
    values = np.array([csv_injection.read(text, known) for text in column.values], dtype=object)
    return pa.array(values[column.codes], type=pa.string())


def known_texts(column: Column) -> frozenset[str]:
    """Every text that stands for something in a column of categories or missing codes."""
    return frozenset([*(column.categories or ()), *column.missing_codes])


def _marked(texts: pa.Array, known: frozenset[str]) -> pa.Array:
    """The cells with risky texts marked; distinct texts are looked at once."""
    coded = texts.dictionary_encode()
    words = [csv_injection.marked(t, known) for t in coded.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(coded.indices, pa.array(words, type=pa.string())).cast(pa.string())


def check_steward_log(path: Path | None) -> None:
    """Refuses a log that cannot be written, before anything is spent. Errors: UsageError."""
    if path is None:
        return
    try:
        new = not os.path.lexists(path)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, 0o600))  # a pipe is not waited for
        if new:
            os.unlink(path)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or "no name of a file"
        raise UsageError("steward log {}: cannot be written ({}); name a file you may write to", path, reason) from None


def write_steward_log(path: Path, encoded: codec.Encoded) -> None:
    """Counts of cells outside the schema. Private: for the steward, never beside the output."""
    result = {"clamped": dict(encoded.clamped), "unreadable": dict(encoded.unreadable)}
    reported = {"private": "for the steward only; never release", **result}
    whole_files.write(path, json.dumps(reported, indent=1), private=True)


@dataclass(frozen=True, kw_only=True)
class StoredRelease:
    """A release as read back; ``setting``: all that another fit to it may know."""

    method: str
    options: dict[str, Any]
    card: Card
    schema: Any
    setting: Any
    releases: list[Any]


@dataclass(frozen=True, kw_only=True)
class StoredModel:
    """A model as read back."""

    card: Card
    schema: Any
    model: Any


def _loaded(path: str | Path, what: str, tree: bool | None) -> tuple[dict[str, Any], dict[str, np.ndarray], Any]:
    """JSON data, arrays and schema of a ``what`` of one table or of a ``tree``; None: either. Errors: InputError."""
    place = Path(path)
    if tree is False and is_related(place):
        raise InputError(
            "{}: rows of this {} belong together, and what was asked for is there for rows that stand alone "
            "(docs/related-tables.md lists what related tables lack)",
            path,
            what,
        )
    several = is_related(place) if tree is None else tree
    file = place / f"{what}.json" if place.is_dir() else place
    plain, arrays = store.load(file, kind=RELATED + what if several else what)
    if several and not plain.get(ONE_TABLE):
        return plain, arrays, datasets.parse_related(plain.get("schema"), name=f"{path}: schema")
    schema = schemas.parse(plain.get("schema"), name=f"{path}: schema")
    return plain, arrays, as_tables(schema) if several else schema


def load_release(path: str | Path, *, tree: bool | None = False) -> StoredRelease:
    """A stored release (release.json or its folder); ``tree``: of related tables, None where both will do.

    Errors: InputError when it is missing or damaged.
    """
    plain, arrays, schema = _loaded(path, "release", tree)
    check_numbers(arrays, what="release")
    releases = store.unpack(plain, arrays)
    try:
        tree = schema.tree
        if tree is not None and not all(isinstance(r, LinkedRelease | PublicLinked) for r in releases):
            raise TypeError
        for release in releases:
            _check_columns(store.bins_of(release), schema, what="release")
        card, given = Card(plain["card"]), plain["setting"]
        if tree is not None:
            shifted = linked.sensitivity(Adjacency(relation=relation_named(str(card["relation"])), unit=schema.root))
            root = schema.as_measured(schema.root)
            setting = Setting(schema=root, tree=schema, mu=float(given["mu"]), sensitivity=shifted)
        else:
            public = None if given["public_rows"] is None else int(given["public_rows"])
            numbers: dict[str, Any] = {n: float(given[n]) for n in ("mu", "sensitivity", "signed")}
            setting = Setting(schema=schema, public_rows=public, **numbers)
            card["relation"], card["rows"]["source_count"], card["dataset"], plain["options"]
        return StoredRelease(
            method=str(plain["method"]),
            options=dict(plain.get("options", {})),
            card=card,
            schema=schema,
            setting=setting,
            releases=releases,
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise InputError("{}: the release is damaged; make it again or use another copy", path) from None


def _check_columns(parts: Iterable[Any], schema: Schema | Dataset, *, what: str) -> None:
    """Whether all parts that stand on one column's positions fit the schema. Errors: InputError."""
    for part in parts:
        name, known = part.column, schema.tables[schema.root].measured()
        if schema.tree is not None:
            table, name, _ = placed(part.column)
            known = schema.tree.as_asked(table).columns
        column = known.get(name)
        if column is None or column.cells != part.cells:
            raise InputError("the {} is damaged: it does not fit column {} of its own schema", what, name)


def load_model(path: str | Path, *, tree: bool | None = False) -> StoredModel:
    """A stored model (model.json or its folder); ``tree``: as of ``load_release``.

    Errors: InputError when it is missing or damaged.
    """
    plain, arrays, schema = _loaded(path, "model", tree)
    try:
        model = rebuild(plain["model"], arrays, schema.tree)
        if schema.tree is None:  # a nested mixture checks itself
            _check_columns(model.axes, schema, what="model")
            check_model(model)
        return StoredModel(card=Card(plain["card"]), schema=schema, model=model)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise InputError("{}: the model is damaged; make it again or use another copy", path) from None


def check_out(out: Path | None, schema: Schema | Dataset | None = None) -> None:
    """Refuses an output folder that cannot be written, before anything is spent. Errors: UsageError.

    By trying: a file is made in it and removed again, folders that were not there too.
    """
    if out is None:
        return
    tables = [] if schema is None else [f"{n}.csv" for n in (*schema.written, *(schema.public or {}))]
    try:
        made = [p for p in (out, *out.absolute().parents) if not p.exists()]
        if not made and not out.is_dir():
            raise UsageError("`out={}`: is a file; name a folder", out)
        taken = [
            p.name
            for p in (out / n for n in (*NAMES, dialect_copy.NAME, *tables))
            if p.exists() and not (p.is_file() and os.access(p, os.W_OK))
        ]
        if taken:
            raise UsageError("`out={}`: {} there cannot be written over; name another folder", out, taken[0])
        try:
            out.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=out, prefix="." + max(NAMES, key=len)) as file:
                file.write(b"x")
        finally:
            for folder in made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
    except UsageError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or "no name of a folder"
        raise UsageError("`out={}`: cannot be written ({}); choose a folder you may write to", out, reason) from None


def check_room(out: Path, schema: Schema, num_rows: int | None) -> None:
    """Refuses a CSV that the disk cannot hold, were each cell as short as can be. Errors: UsageError."""
    if num_rows is None:
        return
    nearest = next(p for p in (out, *out.absolute().parents) if p.exists())
    cells = [(*(c.categories or ("x" if c.is_numeric else "",)), *c.missing_codes) for c in schema.columns.values()]
    shortest = len(cells) + sum(min(len(t.encode()) for t in texts) for texts in cells)  # bytes of a row
    least, free = num_rows * shortest, shutil.disk_usage(nearest).free
    if least > free:
        raise UsageError(
            "`num_rows={}`: take {:.3g} GB at least, and {:.3g} GB are free there; ask for fewer rows",
            num_rows,
            least / 1e9,
            free / 1e9,
        )
