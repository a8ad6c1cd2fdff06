"""The one gate for all that leaves: what is read of a release for others is what its card names, and may leave.

Bundle, prior, series, sample to others, report: each asks here. A file is read through ``content`` or not at all: it is
a regular file in the folder, no link, and its SHA-256 is that of the card; a file of which the card names none stays.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synth.errors import InputError, reading
from synth.files import regular_files
from synth.jobs.looks import signature
from synth.privacy.noise import SeededNoise
from synth.release import chosen, dialect_copy, folder
from synth.release.card import verify
from synth.release.card.card import UNCOVERED, Card
from synth.release.folder import StoredRelease
from synth.schema import codec
from synth.schema.dataset import ONE, Dataset, load_any
from synth.schema.table import Schema, Tables
from synth.sources.formats import files
from synth.sources.formats.cell_formats import PLAIN, Reading
from synth.sources.formats.text_table import Table

AS_STORED = ("schema.json", "release.json", "release.safetensors", "model.json", "model.safetensors")
FAULT = "this release was made with seeded noise, which protects nothing; run it again without a seeded noise source"
SCORES = (
    f"{UNCOVERED}: this release was chosen by its comparison with the real rows, which no epsilon covers; release all "
    "candidates, or one that was chosen otherwise"
)
LINK = "{}: {} is a link, which is never followed; put the file itself there"
NO_FILE = "{}: {} is no file; use another copy"
NAMELESS = "{}: the card names no SHA-256 of {}, so nothing shows that it was released; make the release again"
OTHER = "{}: {} is not the table that the card names; use another copy"


def may_leave(place: str | Path, *, settled: Callable[[], Card] | None = None, ledger: Any = None) -> StoredRelease:
    """The release in a folder, if it may leave, every part read and held against the others, keys and bounds too.

    ``settled``: makes the card that says how it was chosen and what that costs, which is then the release's; default
    the one in the folder, with what is noted beside the ``ledger`` that paid. Errors: InputError for a release that was
    made with seeded noise or of public rows for a preview, was chosen in a way that no epsilon covers, or has a part
    that is missing, a link, damaged or another than the card names.

    **Guarantee**: that of the release. Privacy: released answers only.
    """
    held = Path(place)
    held = held.parent if held.suffix == ".json" else held
    signature(held)
    single = [] if folder.is_related(held) and not folder.is_one_table(held) else [f"{ONE}.csv"]
    for name in (*single, *AS_STORED, "card.json"):
        _check_file(held, name)
    stored, model = folder.load_release(held, tree=None), folder.load_model(held, tree=None)
    card = verify.load(held)
    if any(c.seeded for c in (stored.card, model.card, card)):
        raise InputError(FAULT)
    verify.check(card.own)
    for what, other in (("release.json", stored.card), ("model.json", model.card)):
        if card.claims != other.claims:
            raise InputError("{}: card.json and {} make different claims; use another copy", held, what)
    text = load_any(held / "schema.json").to_json()
    if hashlib.sha256(text.encode()).hexdigest() != card["schema_sha256"]:
        raise InputError("{}: schema.json is not the schema that the card names; use another copy", held)
    if stored.schema.to_json() != text or model.schema.to_json() != text:
        raise InputError("{}: the schemas of release and model differ from schema.json; use another copy", held)
    for name in named(stored.schema, card):
        content(held, name, card)
    made = stored.schema.written
    rows = card.row_counts
    tables = {name: _read(held / f"{name}.csv", schema, rows=int(rows[name])) for name, schema in made.items()}
    for problem in broken(stored.schema, tables):
        raise InputError("{}: {}; use another copy", held, problem)
    if dialect_copy.NAME in named(stored.schema, card):
        _check_twin(held, made[ONE], tables[ONE], rows=int(rows[ONE]))
    card = chosen.noted(held, ledger=ledger) if settled is None else settled()
    check_card(card)
    return replace(stored, card=card)


def check_drawn(place: str | Path, card: Card, *, ledger: Any = None) -> None:
    """Whether rows drawn from what is stored may leave: by its own ``card`` and, where one is there, that beside it.

    Errors: InputError, as of ``may_leave``. Privacy: released answers only.
    """
    held = Path(place) if Path(place).is_dir() else Path(place).parent
    signature(held)
    check_card(card)
    if (alone := not (held / "card.json").exists()) and "ledger_entry" not in card:
        return
    check_card(chosen.noted(held, card=card if alone else None, ledger=ledger))


def check_card(card: Card) -> None:
    """Whether a card is of something that may leave, whatever else is there. Errors: InputError.

    Privacy: public only.
    """
    if card.seeded:
        raise InputError(FAULT)
    if card.uncovered:
        raise InputError(SCORES)


def _check_file(held: Path, name: str) -> None:
    """Errors: InputError where it is missing, a link, or no file."""
    try:
        mode = os.lstat(held / name).st_mode
    except OSError:
        raise InputError("{}: {} is missing; make the release again or use another copy", held, name) from None
    if not stat.S_ISREG(mode):
        raise InputError(LINK if stat.S_ISLNK(mode) else NO_FILE, held, name)


def content(place: Path, name: str, card: Card) -> bytes:
    """A file of a release that its card names, whole. Errors: InputError for a link, and for another file."""
    reported = card.digests.get(name)
    if not isinstance(reported, str):
        raise InputError(NAMELESS, place, name)
    whole = untouched(place, name)
    if hashlib.sha256(whole).hexdigest() != reported:
        raise InputError(OTHER, place, name)
    return whole


def untouched(place: Path, name: str) -> bytes:
    """A file of a release, whole, that is no link. Errors: InputError."""
    _check_file(place, name)
    with reading(place, "release"), regular_files.opened(place / name, follow=False) as file:
        return file.read()


def named(schema: Schema | Dataset, card: Card) -> tuple[str, ...]:
    """The files of synthetic tables and of public ones that went with them: all that ``content`` reads."""
    known = card.digests
    there = [f"{n}.csv" for n in schema.public or {} if f"{n}.csv" in known]
    twin = [dialect_copy.NAME] if dialect_copy.NAME in known else []
    return (*(f"{n}.csv" for n in schema.written), *there, *twin)


def _check_twin(folder: Path, schema: Schema, table: Table | None, *, rows: int) -> None:
    """The table in the schema's dialect holds the same rows."""
    again = _read(folder / dialect_copy.NAME, schema, rows=rows, reading=Reading.of(schema, delimited=True))
    both = [{} if t is None else _encoded(t, schema).positions for t in (table, again)]
    if any(not np.array_equal(both[0][n], both[1][n]) for n in both[0]):
        raise InputError("{}: {} holds other rows than synthetic.csv; use another copy", folder, dialect_copy.NAME)


def _read(place: Path, schema: Schema, *, rows: int, reading: Reading = PLAIN) -> Table | None:
    """A table: every cell is one that the schema knows, and no column is there that it does not name.

    None where it has no row.
    """
    if files.header(place, dialect=reading.dialect) != list(schema.columns):
        raise InputError("{}: its columns are not the schema's; use another copy", place)
    if not rows:
        return None
    table = files.read(place, columns=list(schema.columns), reading=reading)
    result = _encoded(table, schema)
    strange = sum(result.clamped.values()) + sum(result.unreadable.values())
    if table.num_rows != rows or strange:
        reason = f"{strange} cells that its schema does not know" if strange else f"{table.num_rows} rows, not {rows}"
        remedy = "make it again with `synth.Release.refit`" if place.name.startswith(ONE) else "use another copy"
        raise InputError("{}: damaged ({}); {}", place, reason, remedy)
    return table


def _encoded(table: Table, schema: Schema) -> codec.Encoded:
    return codec.encode(table, schema, SeededNoise(0))  # no privacy noise: the table is synthetic


def broken(schema: Tables, tables: Mapping[str, Table | None]) -> Iterator[str]:
    """A sentence for each key that the tables break: it finds no parent, stands twice above, or has too many rows.

    Privacy: released answers only.
    """
    if schema.one_table:
        yield from _broken_persons(schema, tables[ONE])
    for key in schema.keys if schema.several else ():
        child, parent = tables[key.child], tables[key.parent]
        if child is None:
            continue
        below = _keys(child, key.columns)
        above = below[:0] if parent is None else _keys(parent, key.referred)
        if above.has_duplicates:
            yield f"{key.parent}: a key stands twice"
        if not below.isin(above).all():
            yield f"{key.child}: a row's key is not one of {key.parent}"
        most = int(below.value_counts().iloc[0])
        if most > key.most_children:
            yield f"{key.child}: a row of {key.parent} has {most} rows, more than {key.most_children}"


def _broken_persons(schema: Tables, table: Table | None) -> Iterator[str]:
    """A person has too many rows, or two values where one is a person's own."""
    key = schema.keys[0]
    if table is None:
        return
    person, named = _keys(table, key.columns), key.columns[0]
    if int(person.value_counts().iloc[0]) > key.most_children:
        yield f"a {named} has more than {key.most_children} rows"
    for name in schema.tables[schema.root].measured():
        if pd.MultiIndex.from_arrays([person, _keys(table, [name])]).unique().size > person.unique().size:
            yield f"a {named} has several values of {name}, of which it should have one"


def _keys(table: Table, columns: Sequence[str]) -> pd.Index:
    """The key of each row, (rows,)."""
    texts = [np.asarray(table.column(c).values, dtype=object)[table.column(c).codes] for c in columns]
    return pd.Index(texts[0]) if len(texts) == 1 else pd.MultiIndex.from_arrays(texts)
