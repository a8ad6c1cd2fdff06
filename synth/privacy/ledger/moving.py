"""A ledger's file taken over by a server: its lines as they are, its key, its notes; the file takes no spend then."""

from dataclasses import dataclass
from pathlib import Path

from synth.errors import InputError, UsageError
from synth.files import regular_files, whole_files
from synth.privacy.ledger import checkpoint, hash_chain, places, secret_key, sqlite, transactions
from synth.privacy.ledger.restore import added
from synth.privacy.ledger.sqlite import File
from synth.privacy.ledger.store import Connection, Store

NOTES = ".looks"  # the ending of a file of notes (release/comparison_notes.py)


@dataclass(frozen=True, kw_only=True)
class TakenOver:
    """What was taken over: how many ``lines``."""

    lines: int


def take_over(place: str | Path | Store, old: str | Path) -> TakenOver:
    """Adds a file's lines to the ledger on a server, which must be new or hold an earlier part of them.

    The file is locked meanwhile and is no ledger afterwards, wherever its mark lies and whatever name it is given: it
    takes no spend any more, and no backup is restored over it. Done again after a kill, it goes on. Errors: UsageError
    for a ledger that is not on a server, or has lines of its own; InputError for a file that is no whole ledger, or
    another key on the server.

    **Guarantee**: every line of the file is on the server before the file is no ledger any more, and none is there
    alone.
    Privacy: released answers only.
    """
    store, file = places.at(place), File(old)
    if not store.shares:
        raise UsageError("ledger: name a server's with `ledger=`; a file is copied by a backup")
    if not file.path.is_file():
        raise InputError(f"ledger {file.shown}: no such file; name the file that is to be taken over")
    if sqlite.moved(file.path):
        raise UsageError(sqlite.TAKEN.format(file.shown))
    result = hash_chain.verify(file)
    if not result.ok:
        raise InputError(f"ledger {file.shown}: it does not verify ({result.problem}); restore it from a backup first")
    store.create()
    with file.connection() as source, source.locked():
        file.check(source)
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
        with store.connection() as db, db.locked(), checkpoint.following(store) as mark:
            mark.draft(db)
            mark.place()
            if (theirs := checkpoint.last(source)) != checkpoint.last(db):
                raise InputError(f"ledger {store.shown}: the lines did not arrive; run again")
        source.execute(f"PRAGMA application_id = {sqlite.MOVED}")
    return TakenOver(lines=theirs[0] if theirs else 0)


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
    transactions.key(store)


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
