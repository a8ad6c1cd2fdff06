"""The secret bytes beside a ledger, under which the marks of rows in it are kept."""

import secrets
from pathlib import Path

from synth.errors import InputError
from synth.files import regular_files, whole_files
from synth.privacy.ledger.sqlite import writing

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
    whole_files.write(place, secrets.token_bytes(KEY_BYTES), private=True)
