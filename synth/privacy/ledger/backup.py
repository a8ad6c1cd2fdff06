"""A copy of a ledger, taken while others spend: a ledger's file, wherever the ledger itself lies."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from synth.errors import InputError, UsageError
from synth.privacy.ledger import entries, places, sqlite, transactions
from synth.privacy.ledger.sqlite import File
from synth.privacy.ledger.store import Store
from synth.privacy.ledger.transactions import reading


def backup(place: str | Path | Store, out: str | Path) -> int:
    """Writes the ledger as it is at one moment to the file ``out``, and its key beside it; how many lines it has.

    Both are readable by their owner alone. The copy of a ledger is what ``restore`` takes. Errors: InputError where
    there is no ledger or it cannot be written there; UsageError for a file that is there already.

    Privacy: released answers only; the key is for whoever keeps the ledger.
    """
    store, out = places.at(place), Path(out)
    key = out.with_name(out.name + ".key")
    if isinstance(store, File) and not store.path.is_file():
        raise InputError(f"ledger {store.shown}: no such file; there is nothing to back up")
    try:
        for file in (out, key):
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        lines = _copied(store.path, out) if isinstance(store, File) else _written(store, out)
        key.write_bytes(transactions.key(store))
    except FileExistsError as error:
        raise UsageError(f"backup {error.filename}: exists already; name a new file") from None
    except OSError as error:
        raise InputError(f"backup {out}: {error.strerror or 'cannot be written'}; name a writable place") from None
    return lines


def _copied(path: Path, out: Path) -> int:
    """A file, page by page."""
    with sqlite.connection(path) as db:
        if not sqlite.is_ledger(db, path):
            raise InputError(f"ledger {path}: not a ledger file; name another file")
        with closing(sqlite3.connect(out)) as copy:
            db.backup(copy)
            return int(copy.execute("SELECT count(*) FROM ledger").fetchone()[0])


def _written(store: Store, out: Path) -> int:
    """Another ledger's lines, as they are, into a new file."""
    with reading(store) as db, sqlite.connection(out.absolute(), mode="rwc") as copy, copy.locked():
        sqlite.build(copy, out)
        for line in db.execute("SELECT * FROM ledger ORDER BY number"):
            entries.put(copy, dict(line))
        return entries.count(copy)
