"""The file under the ledger: one append-only, hash-chained SQLite table; its connections and transactions.

Every operation opens its own connection: SQLite connections survive neither a fork nor a change of thread.
The file is never opened by other means here, since closing such a handle would drop SQLite's locks.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from synth.errors import InputError, LedgerLostError
from synth.files import regular_files
from synth.privacy.ledger import accounts, checkpoint, filesystem
from synth.privacy.ledger.entries import GUARDS, TABLE

APPLICATION, VERSION = 0x46_61_63_73, 1  # "Facs" in the file's header
WAIT = 120.0  # seconds to wait for other writers


def create(path: Path) -> None:
    """Makes the file (and its folder) unless it is there.

    Errors: InputError when it is no ledger, or on a network file system (filesystem.py).
    """
    filesystem.check(path)
    filesystem.check_links(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or "refused"
        way = "name a writable place, for instance in SYNTH_LEDGER"
        raise InputError(f"ledger {path}: its folder cannot be made ({reason}); {way}") from None
    with connection(path, mode="rwc") as db:
        if not is_ledger(db, path):
            with locked(db):
                if not is_ledger(db, path):
                    _build(db, path)


def is_ledger(db: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is a ledger of a version that is known here. Errors: InputError for a newer one."""
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        return False
    if db.execute("PRAGMA user_version").fetchone()[0] > VERSION:
        raise InputError(f"ledger {path}: written by a newer version of this library; update the library")
    return True


def _build(db: sqlite3.Connection, path: Path) -> None:
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise InputError(f"ledger {path}: a database of another program; name another file")
    for statement in (TABLE, *GUARDS.values()):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def connection(path: Path, *, mode: str = "rw") -> Iterator[sqlite3.Connection]:
    """A connection of its own; SQLite's faults come out as InputError.

    A mode of ``rw`` never makes a file: a ledger that vanished must not start anew half-way through a run. Where it
    is gone, damaged or no ledger any more, the error is a LedgerLostError.
    """
    try:
        regular_files.check(path.stat(), path)
    except (FileNotFoundError, NotADirectoryError, PermissionError, IsADirectoryError):
        pass  # SQLite names these
    except OSError as error:
        lost = LedgerLostError(f"ledger {path}: {error.strerror or 'cannot be read'}; name another file")
        lost.exit_code = InputError.exit_code  # a pipe or a folder was named: the request is at fault
        raise lost from None
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=WAIT)) as db:
            db.isolation_level = None
            db.row_factory = sqlite3.Row
            db.text_factory = _text
            # EXTRA is FULL plus a sync of the folder: else a power cut could bring a finished journal back to
            # life, and with it undo a committed spend.
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("PRAGMA recursive_triggers = ON")
            yield db
    except sqlite3.Error as error:
        raise _kind(error, path)(f"ledger {path}: {_fault(error)}") from None
    except (UnicodeDecodeError, IndexError):  # of a message of SQLite's that quotes the file; a column that is gone
        raise LedgerLostError(f"ledger {path}: damaged; restore it from a backup") from None


def _kind(error: sqlite3.Error, path: Path) -> type[InputError]:
    lost = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
    return LedgerLostError if lost or not path.exists() else InputError


def _text(raw: bytes) -> str:
    """Bytes that are no text, which only damage leaves, read as signs of it: the line's hash tells."""
    return raw.decode("utf-8", "replace")


def _fault(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    known = {
        sqlite3.SQLITE_NOTADB: "not a ledger file; name another file",
        sqlite3.SQLITE_READONLY: "cannot be written; give write permission to the file and its folder",
        sqlite3.SQLITE_PERM: "permission denied; give write permission to the file and its folder",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that it is a file that you may read and write",
        sqlite3.SQLITE_BUSY: "held by another process for too long; try again when that has ended",
        sqlite3.SQLITE_FULL: "the disk is full, so nothing was recorded; make room and try again",
        sqlite3.SQLITE_CORRUPT: "damaged; restore it from a backup",
    }
    return known.get(code, f"{error}; check it with `synth.Ledger.verify`, restore it from a backup")


@contextmanager
def locked(db: sqlite3.Connection) -> Iterator[None]:
    """A transaction that no other writer can enter; committed at the end, undone by an exception."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection inside a transaction of its own: what is read and what is added belong together.

    Errors: LedgerLostError for a ledger that is older than its mark, or that was replaced by another file or copy while
    the transaction was under way: then what was added is lost, and nothing may be read on its account.
    """
    with connection(path) as db:
        with locked(db):
            filesystem.check_links(path)
            checkpoint.check(db, path)
            accounts.follow(db)
            yield db
            added = checkpoint.last(db)
        _seal(path, added)


def _seal(path: Path, added: tuple[int, str] | None) -> None:
    """After the commit: sees that the file at the path holds what was added, and moves the mark."""
    if added is None:
        return
    try:
        with connection(path) as here, locked(here):
            line = here.execute("SELECT hash FROM ledger WHERE number = ?", (added[0],)).fetchone()
            if line is not None and line["hash"] == added[1]:
                checkpoint.advance(here, path)
                return
    except InputError:
        if path.exists():  # held by others for long, or a full disk: the commit stands
            return
    raise LedgerLostError(f"ledger {path}: it was replaced while a line was added, and the line is lost; run again")


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection whose statements all see the ledger at one moment."""
    with connection(path) as db:
        db.execute("BEGIN")
        try:
            yield db
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
