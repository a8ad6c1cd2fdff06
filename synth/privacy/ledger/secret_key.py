"""The secret bytes beside a ledger, under which the marks of rows in it are kept."""

import os
import secrets
from pathlib import Path

from synth.errors import InputError
from synth.privacy.ledger.sqlite import writing
from synth.schema import regular_files

KEY_BYTES = 32


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
