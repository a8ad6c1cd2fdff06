"""The file under the ledger: one append-only, hash-chained SQLite table, and the key beside it.

Every operation opens its own connection: SQLite connections survive neither a fork nor a change of thread.
The file is never opened by other means here, since closing such a handle would drop SQLite's locks.
"""

import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from synth.errors import InputError, LedgerLostError, UsageError
from synth.privacy.ledger import accounts, checkpoint, filesystem
from synth.privacy.ledger.accounts import DAMAGED
from synth.schema import regular_files

START = "0" * 64  # what the first line has in place of a previous hash
FIELDS = (
    "number", "time", "kind", "run", "dataset", "actor", "approved_by", "relation", "unit",
    "epsilon", "delta", "engine", "noise_source", "question", "previous",
)  # fmt: skip
APPLICATION, VERSION = 0x46_61_63_73, 1  # "Facs" in the file's header
WAIT = 120.0  # seconds to wait for other writers
KEY_BYTES = 32

TABLE = """CREATE TABLE ledger (
    number INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('policy', 'spend', 'outcome', 'refusal', 'fingerprint')),
    run TEXT NOT NULL,
    dataset TEXT NOT NULL,
    actor TEXT,
    approved_by TEXT,
    relation TEXT,
    unit TEXT,
    epsilon REAL NOT NULL CHECK (epsilon >= 0 AND (kind = 'spend' OR epsilon = 0)),
    delta REAL NOT NULL CHECK (delta >= 0 AND (kind = 'spend' OR delta = 0)),
    engine TEXT,
    noise_source TEXT,
    question TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
)"""
# The third guard also stops INSERT OR REPLACE from programs that leave recursive triggers off.
GUARDS = {
    "ledger_no_update": "CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger BEGIN"
    " SELECT RAISE(ABORT, 'a ledger line cannot be altered'); END",
    "ledger_no_delete": "CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger BEGIN"
    " SELECT RAISE(ABORT, 'a ledger line cannot be removed'); END",
    "ledger_only_append": "CREATE TRIGGER ledger_only_append BEFORE INSERT ON ledger"
    " WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM ledger)"
    f" OR NEW.previous IS NOT coalesce((SELECT hash FROM ledger ORDER BY number DESC LIMIT 1), '{START}')"
    " BEGIN SELECT RAISE(ABORT, 'a ledger line can only be added at the end'); END",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the ledger. ``epsilon`` and ``delta`` are 0 unless ``kind`` is ``spend``."""

    number: int
    time: str
    kind: str
    run: str
    dataset: str
    actor: str | None
    approved_by: str | None
    relation: str | None
    unit: str | None
    epsilon: float
    delta: float
    engine: str | None
    noise_source: str | None
    question: dict[str, Any]
    previous: str
    hash: str


def canonical_json(plain: object) -> str:
    """The one JSON text of plain data: keys sorted, ASCII, no spaces. Errors: UsageError.

    >>> canonical_json({"b": 1, "a": 0.1})
    '{"a":0.1,"b":1}'
    """
    try:
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError):
        rule = "must be JSON data (texts, finite numbers, lists, objects)"
        raise UsageError(f"ledger: question or detail {rule}") from None


def digest(fields: dict[str, Any]) -> str:
    """SHA-256, in hexadecimal, of a line's fields, the previous line's hash among them."""
    text = canonical_json({name: fields[name] for name in FIELDS})
    return hashlib.sha256(text.encode()).hexdigest()


def create(path: Path) -> None:
    """Makes the file (and its folder) unless it is there.

    Errors: InputError when it is no ledger, or on a network file system (ledger_place.py).
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
        raise LedgerLostError(f"ledger {path}: {error.strerror or 'cannot be read'}; name another file") from None
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
    return known.get(code, f"{error}; check it with `synth ledger verify`, restore it from a backup")


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
    raise LedgerLostError(f"ledger {path}: it was replaced while a line was added, which is lost; run again")


def append(db: sqlite3.Connection, *, kind: str, question: object, **more: Any) -> Entry:
    """Adds a line at the end of the chain. ``more``: run, dataset and other columns; no epsilon means 0."""
    last = db.execute("SELECT number, hash FROM ledger ORDER BY number DESC LIMIT 1").fetchone()
    line: dict[str, Any] = dict.fromkeys(FIELDS) | {"epsilon": 0.0, "delta": 0.0} | more
    line |= {"kind": kind, "question": canonical_json(question)}
    line["number"] = last["number"] + 1 if last else 1
    line["previous"] = last["hash"] if last else START
    line["time"] = datetime.now(UTC).isoformat(timespec="milliseconds")
    line["hash"] = digest(line)
    names = ", ".join(line)
    db.execute(f"INSERT INTO ledger ({names}) VALUES ({', '.join('?' * len(line))})", tuple(line.values()))
    accounts.follow(db)
    return entry(line)


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


Where: TypeAlias = str | Sequence[str]  # a column's value, or any of several


def newest(db: sqlite3.Connection, **where: Where) -> Entry | None:
    """The last line whose columns have the given values."""
    test, values = _test(where)
    line = db.execute(f"SELECT * FROM ledger WHERE {test} ORDER BY number DESC LIMIT 1", values).fetchone()
    return None if line is None else entry(line)


def page(db: sqlite3.Connection, where: Mapping[str, Where], *, size: int, skip: int) -> list[Entry]:
    """``size`` lines whose columns have the given values, newest first, after the newest ``skip``."""
    test, values = _test(where)
    sql = f"SELECT * FROM ledger WHERE {test} ORDER BY number DESC LIMIT ? OFFSET ?"
    return [entry(line) for line in db.execute(sql, (*values, size, skip))]


def count(db: sqlite3.Connection, **where: Where) -> int:
    """How many lines have these values; of all, the last one's number, since numbers have no gaps."""
    if not where:
        return last[0] if (last := checkpoint.last(db)) else 0
    test, values = _test(where)
    return int(db.execute(f"SELECT count(*) FROM ledger WHERE {test}", values).fetchone()[0])


def _test(where: Mapping[str, Where]) -> tuple[str, list[str]]:
    tests, values = ["1"], []
    for column, value in where.items():
        several = [value] if isinstance(value, str) else list(value)
        tests.append(f"{column} = ?" if len(several) == 1 else f"{column} IN ({', '.join('?' * len(several))})")
        values += several
    return " AND ".join(tests), values


def unlike(db: sqlite3.Connection, datasets: tuple[str, ...], column: str, value: str) -> Entry | None:
    """The first spend on these datasets whose column (relation, unit) has another value."""
    some = ", ".join("?" * len(datasets))
    other = f"kind = 'spend' AND dataset IN ({some}) AND {column} IS NOT ?"
    sql = f"SELECT * FROM ledger WHERE {other} ORDER BY number LIMIT 1"
    line = db.execute(sql, (*datasets, value)).fetchone()
    return None if line is None else entry(line)


def lines(db: sqlite3.Connection, **where: Where) -> list[sqlite3.Row]:
    """The lines, oldest first, whose columns have the given values."""
    test, values = _test(where)
    return db.execute(f"SELECT * FROM ledger WHERE {test} ORDER BY number", values).fetchall()


def entry(line: sqlite3.Row | dict[str, Any]) -> Entry:
    """A line as a record, its question read from JSON. Errors: InputError for a line that was damaged or altered."""
    try:
        found = Entry(**{**dict(line), "question": json.loads(line["question"])})
        sound = isinstance(found.question, dict) and isfinite(found.epsilon) and isfinite(found.delta)
        sound = sound and all(isinstance(getattr(found, n), str) for n in ("time", "kind", "run", "dataset", "hash"))
    except (ValueError, TypeError, LookupError, RecursionError):
        sound = False
    if not sound:
        raise InputError(DAMAGED)
    return found


def key(path: Path) -> bytes:
    """The 32 secret bytes beside the ledger, drawn on first use, readable by their owner alone.

    Errors: InputError when the key file is unreadable or cannot be made.
    """
    place = path.with_name(path.name + ".key")
    try:
        if not place.exists():
            with writing(path):  # one process at a time decides whether a key is wanting
                if not place.exists():
                    _make_key(place)
        with regular_files.opened(place) as file:
            secret = file.read(KEY_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "refused"
        raise InputError(f"ledger key {place}: {reason}; make it readable for you alone") from None
    if len(secret) != KEY_BYTES:
        raise InputError(f"ledger key {place}: not {KEY_BYTES} bytes; restore it from a backup or remove it")
    return secret


def _make_key(place: Path) -> None:
    """Writes a complete key under another name first: no reader and no crash may meet half a key."""
    draft = place.with_name(f"{place.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, place)
