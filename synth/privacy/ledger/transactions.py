"""The two ways into a ledger: one writer at a time, and looks at one moment; and the secret bytes beside it.

**Guarantee**: when ``writing`` ends without an error, what was added is on the disk of the place that answers under the
ledger's name, and the mark beside it tells of it; where that is not known, the error is an UnsettledError, and whoever
charged must count it as spent.

Under the secret bytes the marks of rows in a ledger are kept, and its accounts sealed. A file's key lies beside it. A
server's key lies on every machine that writes there, never on the server: who reads the database must not learn which
rows are alike. All machines must have the same one, so the server has a digest of it.
"""

import hmac
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from synth.errors import InputError, LedgerLostError, UnsettledError
from synth.files import regular_files, whole_files
from synth.privacy.ledger import accounts, checkpoint
from synth.privacy.ledger.checkpoint import Follower
from synth.privacy.ledger.store import Connection, Store

KEY_BYTES, WHICH = 32, b"which key"
KEY_ELSEWHERE = "SYNTH_LEDGER_KEY"  # of a server's ledger: the key's file, from wherever secrets come


def key_place(store: Store) -> Path:
    """The file of a ledger's key."""
    named = os.environ.get(KEY_ELSEWHERE) if store.shares else None
    return Path(named).expanduser().absolute() if named else store.beside(".key")


def held_key(store: Store) -> bytes | None:
    """The key where this machine has one and may read it."""
    try:
        return _read_key(key_place(store))
    except InputError:
        return None


def told_key(db: Connection, store: Store) -> bytes | None:
    """The key; None where it is still to be drawn, or the server to be told of it. Errors: InputError for another."""
    row = db.execute("SELECT digest FROM ledger_key").fetchone() if store.shares else None
    known = None if row is None else str(row[0])
    if not key_place(store).exists():
        if known:
            raise InputError(OTHER_KEY, key_place(store))
        return None
    secret = _read_key(key_place(store))
    if known and not hmac.compare_digest(known, hmac.new(secret, WHICH, "sha256").hexdigest()):
        raise InputError(OTHER_KEY, key_place(store))
    return secret if known or not store.shares else None


def drawn_key(db: Connection, store: Store) -> bytes:
    """The key, made where there is none, and told to the server. Under the lock. Errors: InputError."""
    if (secret := told_key(db, store)) is None:
        if not key_place(store).exists():
            file = key_place(store)
            with _named(file):  # whole under another name first: no reader and no crash may meet half a key
                file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                whole_files.write(file, secrets.token_bytes(KEY_BYTES), private=True)
        secret = _read_key(key_place(store))
        if store.shares:
            db.execute("INSERT INTO ledger_key (digest) VALUES (?)", (hmac.new(secret, WHICH, "sha256").hexdigest(),))
    return secret


OTHER_KEY = (
    "ledger key {}: other machines that use this ledger have another key; copy theirs here, or name its file in "
    f"{KEY_ELSEWHERE}"
)


def _read_key(file: Path) -> bytes:
    with _named(file), regular_files.opened(file) as opened:
        secret = opened.read(KEY_BYTES + 1)
    if len(secret) != KEY_BYTES:
        raise InputError("ledger key {}: not {} bytes; restore it from a backup or remove it", file, KEY_BYTES)
    return secret


@contextmanager
def _named(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError("ledger key {}: {}; make it readable for you alone", file, error) from None


PATIENCE = (0.2, 1.0, 3.0)  # seconds before each look at whether a line whose connection was lost is there


@contextmanager
def writing(store: Store) -> Iterator[Connection]:
    """A connection inside a transaction of its own: what is read and what is added belong together.

    Errors: LedgerLostError for a ledger that is older than its mark, or that was replaced by another file or copy while
    the transaction was under way: then what was added is lost, and nothing may be read on its account. InputError where
    the connection was lost and the line is not there, or the mark cannot be written; UnsettledError where nobody can
    say whether it is, or the mark did not follow it.
    """
    added: tuple[int, str] | None = None
    answered = True
    with checkpoint.following(store) as mark:
        try:
            with store.connection() as db, db.locked():
                store.check(db)
                checkpoint.check(db, store)
                db.secret = held_key(store)
                if db.secret is None and not store.shares and not key_place(store).exists():
                    db.secret = drawn_key(db, store)  # a server's waits for who needs it: all machines must be given it
                accounts.follow(db)
                yield db
                mark.draft(db)
                added = checkpoint.last(db)
        except UnsettledError:
            if added is None:
                raise
            answered = False
        if added is not None:
            _seal(store, added, mark, answered)


@contextmanager
def reading(store: Store) -> Iterator[Connection]:
    """A connection whose statements all see the ledger at one moment."""
    with store.connection() as db, db.snapshot():
        db.secret = held_key(store)
        yield db


def key(store: Store) -> bytes:
    """The 32 secret bytes of the ledger, drawn on first use, readable by their owner alone.

    Errors: InputError when the key file is unreadable or cannot be made, or is not the one that other machines have.
    """
    with reading(store) as db:
        secret = told_key(db, store)
    if secret is None:
        with writing(store) as db:  # one process at a time decides whether a key is wanting
            secret = drawn_key(db, store)
    return secret


def _seal(store: Store, added: tuple[int, str], mark: Follower, answered: bool) -> None:
    """After the commit: sees by a new connection that the place holds what was added, and has the mark follow.

    ``answered``: whether the commit was. Looked at under the lock, which a lost transaction holds until it has ended
    either way. On a server nobody goes on until it was seen: another one may have taken the place of the one that
    answered.
    """
    arrived: bool | None = None
    for seconds in (0.0, *PATIENCE) if store.shares else (0.0,):
        time.sleep(seconds)
        if (arrived := _seen(store, added, mark)) is not None:
            break
    if arrived is None:
        raise UnsettledError(UNSETTLED if store.shares else HELD, store.shown)
    if arrived is False and not answered:
        raise InputError("ledger {}: the connection was lost before the line was written; run again", store.shown)
    if arrived is False:
        raise LedgerLostError(
            "ledger {}: it was replaced while a line was added, and the line is lost; run again", store.shown
        )


UNSETTLED = (
    "ledger {}: the connection was lost while a line was being written, and the server does not answer; the line may "
    "be there, so it counts as spent: look with `synth.Ledger.summary` once the server answers"
)
HELD = (
    "ledger {}: the line is there, and the file could not be opened again to see it and to mark it, so that it counts "
    "as spent and no row was read; run again"
)


def _seen(store: Store, line: tuple[int, str], mark: Follower) -> bool | None:
    """Whether the place holds the line; None where that cannot be found out now: held for long, a full disk."""
    try:
        with store.connection() as here, here.locked():
            row = here.execute("SELECT hash FROM ledger WHERE number = ?", (line[0],)).fetchone()
            if row is None or row["hash"] != line[1]:
                return False
            mark.place()
            return True
    except UnsettledError:
        raise
    except InputError:
        return None if store.there() else False
