"""Whether the rows about to be charged were charged under another name: asked before the spend, by who may know it.

**Guarantee**: the answer is exact, so it is about tables that whoever asks may open himself, charged to datasets on
which he may spend. Of any other nothing is said or recorded that depends on it.
"""

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import SynthError, UsageError
from synth.jobs import listing, roles
from synth.pipeline.private_rows import PrivateRows
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.ledger.row_marks import EVERYBODY, NOBODY, Audience
from synth.schema.table import Schema
from synth.sources import named_databases
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.formats.text_table import Table
from synth.sources.rows.sketch import NOTHING, RETAINED, RowSketch, Sketch
from synth.sources.table_source import MOST_COMPARED, ParquetPlace

SAME = (
    "these rows, or nearly all of them, were charged to {} before, and one person has one budget: charge it with "
    "`dataset={}`, or say with `separate=` that no person is in both"
)


CHARGED = (
    "{}: its rows, or nearly all of them, were charged to this ledger as private ones; what is made of them is not "
    "public. Take another table, or a release of that one"
)


def audience_of(person: str | None) -> Audience:
    """Whoever may open the ledger's file may know all of it; with a file of roles a ``person`` of a role there.

    He may open the tables of his own runs, and those that the installation offers him. Without a person nothing is
    compared, rather than told to somebody who may not know it. Errors: InputError for a faulty file of roles.

    Privacy: public only.
    """
    place = roles.place()
    if place is None:
        return EVERYBODY
    rules = roles.load(place)
    visitor = rules.visitor(person) if person else None
    if visitor is None:
        return NOBODY
    known: dict[str, dict[str, Any]] = {}

    def opens(run: str, actor: str) -> bool:
        if not known:
            known[""] = {}  # looked up once, and only where marks are compared
            for job in listing():
                with suppress(SynthError):
                    known[str(job.run)] = job.request()
        about = known.get(run, {})
        own = visitor.name in (actor.lower(), str(about.get("owner") or "").lower())
        table, source = about.get("table"), about.get("source")
        if own or source is not None:  # or offered to everybody, or to this person among others
            return own or any(f"@{d.name}" == source and d.open_to(visitor.name) for d in named_databases.databases())
        places = [Path(p).expanduser().absolute() for p in os.environ.get("SYNTH_TABLES", "").split(os.pathsep) if p]
        return table is not None and any(Path(table).is_relative_to(place) for place in places)

    return Audience(spends=lambda name: rules.may_spend(visitor, name), opens=opens)


def refuse(names: Sequence[str]) -> None:
    """Errors: UsageError, naming the datasets to which the same rows were charged, where there are any."""
    if names:
        raise UsageError(SAME, " and ".join(map(repr, names)), repr(names[0]))


def others(rows: PrivateRows, book: Ledger, *, dataset: str, audience: Audience) -> list[str]:
    """The datasets, as far as the ``audience`` may know, to which rows like these were charged before the charge."""
    if not audience.spends(dataset) or not any(n != dataset and audience.spends(n) for n in book.marked()):
        return []
    (mark,) = marks([rows], book.row_key())
    return [] if mark is None else book.twins(mark, dataset=dataset, audience=audience, alike=are_alike)


def check_public(forms: Sequence[PrivateRows | Table], book: Ledger, *, what: str, audience: Audience) -> None:
    """Errors: UsageError for a ``what`` that is called public and holds rows that this ledger charged, as far as the
    ``audience`` may know. ``forms``: in which its rows are known again.

    Privacy: reads rows, exact: of a public table, held against marks of private ones that the audience may know.
    """
    key = book.row_key()
    for form in forms:
        if isinstance(form, PrivateRows):
            (mark,) = marks([form], key)
        else:
            sketch = Sketch(key, form.names, most=MOST_COMPARED)
            sketch.add(form)
            mark = sketch.mark()
        if mark is not None and book.twins(mark, dataset=None, audience=audience, alike=are_alike):
            raise UsageError(CHARGED, what)


def marks(forms: Sequence[PrivateRows], key: bytes) -> list[bytes | None]:
    """The marks of the rows' cells in several forms of one place's rows, the first of which has all columns; read once.

    None for what is too long to be compared, empty, or not to be read: a cell that stops the reading is no reason for
    another end of the run.
    """
    sketches = [Sketch(key, form.columns, most=MOST_COMPARED) for form in forms]
    try:
        _fill(sketches, forms[0])
    except Exception:  # whatever a private cell brought about stays unsaid
        return [None for _ in forms]
    return [sketch.mark() for sketch in sketches]


def alike(rows: PrivateRows, other: PrivateRows, key: bytes) -> bool:
    """Whether two tables hold the same rows, or nearly all of them; False where either is too long to be compared.

    Privacy: reads rows, exact: the answer is for who may see both.
    """
    one, two = (marks([r], key)[0] for r in (rows, other))
    return None not in (one, two) and are_alike(one, two)  # type: ignore[arg-type]


def unlike(rows: PrivateRows) -> bytes:
    """A mark of the same length that no table's is like. Privacy: public only."""
    nothing = np.full(RETAINED, NOTHING, np.uint64)
    return RowSketch(secrets.token_bytes(32), 0, nothing, np.zeros(len(rows.columns), np.uint64)).packed()


def _fill(sketches: Sequence[Sketch], rows: PrivateRows) -> None:
    place, columns = rows.place, rows.columns
    if isinstance(place, ParquetPlace):
        for sketch in sketches:
            place.feed(sketch, columns)
        return
    if isinstance(place, WarehousePlace) and place.rows_there > MOST_COMPARED:
        for sketch in sketches:
            sketch.give_up()
        return
    nothing = Schema.model_construct(columns={})
    for batch in place.batches(nothing, columns):
        for sketch in sketches:
            sketch.add(batch.table)
        if sketches[0].full:
            return


def are_alike(one: bytes, other: bytes) -> bool:
    """Whether two marks are of the same rows, or nearly all of them."""
    try:
        return RowSketch.read(one).like(RowSketch.read(other))
    except ValueError:
        return False
