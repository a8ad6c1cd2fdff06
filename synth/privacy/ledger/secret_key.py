"""The secret bytes beside a ledger, under which the marks of rows in it are kept.

A file's key lies beside it. A server's key lies on every machine that writes there, never on the server: who reads the
database must not learn which rows are alike. All machines must have the same one, so the server has a digest of it.
"""

import hmac
import os
import secrets
from pathlib import Path

from synth.errors import InputError
from synth.files import regular_files, whole_files
from synth.privacy.ledger.store import Connection, Store
from synth.privacy.ledger.transactions import reading, writing

KEY_BYTES = 32
ELSEWHERE = "SYNTH_LEDGER_KEY"  # of a server's ledger: the key's file, from wherever secrets come


def place(store: Store) -> Path:
    """The file of a ledger's key."""
    named = os.environ.get(ELSEWHERE) if store.shares else None
    return Path(named).expanduser().absolute() if named else store.beside(".key")


def key(store: Store) -> bytes:
    """The 32 secret bytes of the ledger, drawn on first use, readable by their owner alone.

    Errors: InputError when the key file is unreadable or cannot be made, or is not the one that other machines have.
    """
    file = place(store)
    try:
        if not file.exists():
            with writing(store) as db:  # one process at a time decides whether a key is wanting
                if not file.exists():
                    _check_unmade(db, store, file)
                    _make_key(file)
                    _agree(db, store, file)
        secret = _read(file)
    except OSError as error:
        reason = error.strerror or "refused"
        raise InputError(f"ledger key {file}: {reason}; make it readable for you alone") from None
    if store.shares:
        with reading(store) as db:
            known = _known(db)
        if not known:
            with writing(store) as db:
                _agree(db, store, file)
        elif not hmac.compare_digest(known, _digest(secret)):
            raise InputError(OTHER.format(file))
    return secret


OTHER = (
    "ledger key {}: other machines that use this ledger have another key; copy theirs here, or name its file in "
    f"{ELSEWHERE}"
)


def _check_unmade(db: Connection, store: Store, file: Path) -> None:
    if store.shares and _known(db):
        raise InputError(OTHER.format(file))


def _agree(db: Connection, store: Store, file: Path) -> None:
    """Tells the server which key it is, unless one was told before. Under the lock. Errors: InputError for another."""
    if not store.shares:
        return
    known, ours = _known(db), _digest(_read(file))
    if known is None:
        db.execute("INSERT INTO ledger_key (digest) VALUES (?)", (ours,))
    elif not hmac.compare_digest(known, ours):
        raise InputError(OTHER.format(file))


def _known(db: Connection) -> str | None:
    row = db.execute("SELECT digest FROM ledger_key").fetchone()
    return None if row is None else str(row[0])


def _digest(secret: bytes) -> str:
    return hmac.new(secret, b"which key", "sha256").hexdigest()


def _read(file: Path) -> bytes:
    with regular_files.opened(file) as opened:
        secret = opened.read(KEY_BYTES + 1)
    if len(secret) != KEY_BYTES:
        raise InputError(f"ledger key {file}: not {KEY_BYTES} bytes; restore it from a backup or remove it")
    return secret


def _make_key(file: Path) -> None:
    """Writes a complete key under another name first: no reader and no crash may meet half a key."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    whole_files.write(file, secrets.token_bytes(KEY_BYTES), private=True)
