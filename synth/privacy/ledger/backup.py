"""A copy of a ledger, taken while others spend."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from synth.errors import InputError, UsageError
from synth.privacy.ledger import filesystem, secret_key, sqlite


def backup(path: str | Path, out: str | Path) -> int:
    """Writes the ledger as it is at one moment to ``out``, and its key beside it; how many lines it has.

    Both are readable by their owner alone. The copy of a ledger is what ``restore`` takes. Errors: InputError where
    there is no ledger or it cannot be written there; UsageError for a file that is there already.

    Privacy: released answers only; the key is for whoever keeps the ledger.
    """
    path, out = filesystem.real(path), Path(out)
    key = out.with_name(out.name + ".key")
    if not path.is_file():
        raise InputError(f"ledger {path}: no such file; there is nothing to back up")
    try:
        for place in (out, key):
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with sqlite.connection(path) as db:
            if not sqlite.is_ledger(db, path):
                raise InputError(f"ledger {path}: not a ledger file; name another file")
            with closing(sqlite3.connect(out)) as copy:
                db.backup(copy)
                lines = copy.execute("SELECT count(*) FROM ledger").fetchone()[0]
        key.write_bytes(secret_key.key(path))
    except FileExistsError as error:
        raise UsageError(f"backup {error.filename}: exists already; name a new file") from None
    except OSError as error:
        raise InputError(f"backup {out}: {error.strerror or 'cannot be written'}; name a writable place") from None
    return int(lines)
