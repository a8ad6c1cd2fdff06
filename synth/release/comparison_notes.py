"""Who compared which release with the real rows: a steward's note beside the ledger, never in a release's folder.

A ledger on a server has the notes in a table of its own, so that all machines see them.

A look leaves no trace in what may leave, and a release is known by the ledger's line that paid for it and by the hash
of its table, both of which its card names.
"""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from synth.errors import InputError
from synth.files import regular_files
from synth.privacy.ledger.copies import NOTES
from synth.privacy.ledger.store import Store


class Note(BaseModel):
    """``what``: look, or choice (then ``how``, and for a paid one the ledger's line in ``paid``, ``among`` tables)."""

    model_config = ConfigDict(frozen=True)

    what: str
    line: str
    table: str
    dataset: str
    by: str = ""
    how: str = ""
    paid: str = ""
    among: tuple[str, ...] = ()
    time: str = ""

    @property
    def release(self) -> tuple[str, str]:
        """By what the release is known: its line in the ledger, and its table."""
        return self.line, self.table


def place(ledger: Store) -> Path:
    """The file of notes beside a ledger's file."""
    return ledger.beside(NOTES)


def add(ledger: Store, note: Note) -> None:
    """Adds a note. Errors: InputError where it cannot be written: then nothing may be looked at."""
    line = note.model_copy(update={"time": datetime.now(UTC).isoformat(timespec="seconds")}).model_dump_json()
    if ledger.shares:
        with ledger.connection() as db, db.locked():
            db.execute("INSERT INTO ledger_note (note) VALUES (?)", (line,))
        return
    try:
        place(ledger).parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(place(ledger), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb", buffering=0) as file:
            file.write(f"{line}\n".encode())
            os.fsync(file.fileno())
    except OSError as error:
        reason = error.strerror or "refused"
        raise InputError(
            f"{place(ledger)}: {reason}, so this comparison cannot be recorded; name a writable ledger"
        ) from None


def notes(ledger: Store) -> list[Note]:
    """All notes, oldest first. Errors: InputError for a damaged file, which must not read as no look at all."""
    if ledger.shares:
        with ledger.connection() as db, db.snapshot():
            lines = [str(row["note"]) for row in db.execute("SELECT note FROM ledger_note ORDER BY number")]
        return _read(lines, f"ledger {ledger.shown}: its notes")
    try:
        lines = regular_files.text(place(ledger), most=regular_files.ENDLESS).splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{place(ledger)}: cannot be read; restore it from a backup") from None
    return _read(lines, str(place(ledger)))


def _read(lines: Sequence[str], whose: str) -> list[Note]:
    try:
        return [Note.model_validate_json(line) for line in lines if line.strip()]
    except ValueError:
        raise InputError(f"{whose}: damaged; restore it from a backup") from None
