"""A ledger's file taken over by a server: its lines as they are, its key, its notes; the file takes no spend then."""

import os
from dataclasses import dataclass
from pathlib import Path

from synth.errors import InputError, UsageError
from synth.files import regular_files, whole_files
from synth.privacy.ledger import checkpoint, hash_chain, places, secret_key
from synth.privacy.ledger.restore import added
from synth.privacy.ledger.sqlite import File
from synth.privacy.ledger.store import Connection, Store

NOTES = ".looks"  # the ending of a file of notes (release/comparison_notes.py)
ASIDE = ".moved"


@dataclass(frozen=True, kw_only=True)
class TakenOver:
    """What was taken over: how many ``lines``; ``aside``, the old file's new name."""

    lines: int
    aside: str


def take_over(place: str | Path | Store, old: str | Path) -> TakenOver:
    """Adds a file's lines to the ledger on a server, which must be new or hold an earlier part of them.

    The file is locked meanwhile and renamed afterwards; its mark stays, so that nothing can be charged under its name
    any more. Done again after a kill, it goes on. Errors: UsageError for a ledger that is not on a server, or has lines
    of its own; InputError for a file that is no whole ledger, or another key on the server.

    **Guarantee**: every line of the file is on the server before the file is put aside; none is on the server alone.
    Privacy: released answers only.
    """
    store, file = places.at(place), File(old)
    if not store.shares:
        raise UsageError("ledger: name a server's with `ledger=`; a file is copied by a backup")
    if not file.path.is_file():
        raise InputError(f"ledger {file.shown}: no such file; name the file that is to be taken over")
    result = hash_chain.verify(file)
    if not result.ok:
        raise InputError(f"ledger {file.shown}: it does not verify ({result.problem}); restore it from a backup first")
    store.create()
    aside = file.beside(ASIDE)
    if aside.exists():
        raise UsageError(f"ledger {aside}: exists already; give it another name")
    with file.connection() as source, source.locked():
        file.check()
        checkpoint.check(source, file)
        _take_key(store, file)
        with store.connection() as db, db.locked():
            checkpoint.check(db, store)
            ours = checkpoint.last(db)
            theirs = checkpoint.last(source)
            if ours is not None and (theirs is None or ours[0] > theirs[0]):
                raise UsageError("ledger: the server's has lines of its own; take a new database")
            added(source, db)
            _take_notes(db, file)
        with store.connection() as db, db.locked():
            checkpoint.advance(db, store)
            if (theirs := checkpoint.last(source)) != checkpoint.last(db):
                raise InputError(f"ledger {store.shown}: the lines did not arrive; run again")
        os.replace(file.path, aside)
    return TakenOver(lines=theirs[0] if theirs else 0, aside=str(aside))


def _take_key(store: Store, file: File) -> None:
    """The file's key for the server's ledger. Errors: InputError where that has another one."""
    old, new = secret_key.place(file), secret_key.place(store)
    if not old.exists():
        return
    try:
        if not new.exists():
            new.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            whole_files.write(new, old.read_bytes(), private=True)
        same = new.read_bytes() == old.read_bytes()
    except OSError as error:
        raise InputError(f"ledger key {new}: {error.strerror or 'refused'}; make it writable for you alone") from None
    if not same:
        raise InputError(f"ledger key {new}: not the key {old}, under which rows were marked; put that in its place")
    secret_key.key(store)


def _take_notes(db: Connection, file: File) -> None:
    """The notes beside the file, each once. Errors: InputError."""
    try:
        lines = regular_files.text(file.beside(NOTES), most=regular_files.ENDLESS).splitlines()
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{file.beside(NOTES)}: cannot be read; restore it from a backup") from None
    known = {row["note"] for row in db.execute("SELECT note FROM ledger_note")}
    for line in lines:
        if line.strip() and line not in known:
            db.execute("INSERT INTO ledger_note (note) VALUES (?)", (line,))
