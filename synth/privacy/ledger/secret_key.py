"""The secret bytes beside a ledger, under which the marks of rows in it are kept, and its accounts sealed.

A file's key lies beside it. A server's key lies on every machine that writes there, never on the server: who reads the
database must not learn which rows are alike. All machines must have the same one, so the server has a digest of it.
"""

import hmac
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from synth.errors import InputError
from synth.files import regular_files, whole_files
from synth.privacy.ledger.store import Connection, Store

KEY_BYTES = 32
ELSEWHERE = "SYNTH_LEDGER_KEY"  # of a server's ledger: the key's file, from wherever secrets come


def place(store: Store) -> Path:
    """The file of a ledger's key."""
    named = os.environ.get(ELSEWHERE) if store.shares else None
    return Path(named).expanduser().absolute() if named else store.beside(".key")


def held(store: Store) -> bytes | None:
    """The key where this machine has one and may read it."""
    try:
        return _read(place(store))
    except InputError:
        return None


def first(db: Connection, store: Store) -> bytes | None:
    """The key of a file that has none yet, drawn. A server's waits for who needs it: all machines must be given it."""
    return None if store.shares or place(store).exists() else drawn(db, store)


def told(db: Connection, store: Store) -> bytes | None:
    """The key; None where it is still to be drawn, or the server to be told of it. Errors: InputError for another."""
    known = _known(db) if store.shares else None
    if not place(store).exists():
        if known:
            raise InputError(OTHER.format(place(store)))
        return None
    secret = _read(place(store))
    if known and not hmac.compare_digest(known, _digest(secret)):
        raise InputError(OTHER.format(place(store)))
    return secret if known or not store.shares else None


def drawn(db: Connection, store: Store) -> bytes:
    """The key, made where there is none, and told to the server. Under the lock. Errors: InputError."""
    if (secret := told(db, store)) is None:
        if not place(store).exists():
            _make_key(place(store))
        secret = _read(place(store))
        if store.shares:
            db.execute("INSERT INTO ledger_key (digest) VALUES (?)", (_digest(secret),))
    return secret


OTHER = (
    "ledger key {}: other machines that use this ledger have another key; copy theirs here, or name its file in "
    f"{ELSEWHERE}"
)


def _known(db: Connection) -> str | None:
    row = db.execute("SELECT digest FROM ledger_key").fetchone()
    return None if row is None else str(row[0])


def _digest(secret: bytes) -> str:
    return hmac.new(secret, b"which key", "sha256").hexdigest()


def _read(file: Path) -> bytes:
    with _named(file), regular_files.opened(file) as opened:
        secret = opened.read(KEY_BYTES + 1)
    if len(secret) != KEY_BYTES:
        raise InputError(f"ledger key {file}: not {KEY_BYTES} bytes; restore it from a backup or remove it")
    return secret


def _make_key(file: Path) -> None:
    """Writes a complete key under another name first: no reader and no crash may meet half a key."""
    with _named(file):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        whole_files.write(file, secrets.token_bytes(KEY_BYTES), private=True)


@contextmanager
def _named(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or "refused"
        raise InputError(f"ledger key {file}: {reason}; make it readable for you alone") from None
