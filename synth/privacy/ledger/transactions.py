"""The two ways into a ledger: one writer at a time, and looks at one moment.

**Guarantee**: when ``writing`` ends without an error, what was added is on the disk of the place that answers under the
ledger's name; where that is not known, the error is an UnsettledError, and whoever charged must count it as spent.
"""

import contextlib
import time
from collections.abc import Iterator
from contextlib import contextmanager

from synth.errors import InputError, LedgerLostError, UnsettledError
from synth.privacy.ledger import accounts, checkpoint
from synth.privacy.ledger.store import Connection, Store

PATIENCE = (0.2, 1.0, 3.0)  # seconds before each look at whether a line whose connection was lost is there


@contextmanager
def writing(store: Store) -> Iterator[Connection]:
    """A connection inside a transaction of its own: what is read and what is added belong together.

    Errors: LedgerLostError for a ledger that is older than its mark, or that was replaced by another file or copy while
    the transaction was under way: then what was added is lost, and nothing may be read on its account. InputError where
    the connection was lost and the line is not there; UnsettledError where nobody can say whether it is.
    """
    added, settled = None, True
    try:
        with store.connection() as db, db.locked():
            store.check()
            checkpoint.check(db, store)
            accounts.follow(db)
            yield db
            added = checkpoint.last(db)
    except UnsettledError:
        settled = False
    if settled or _settled(store, added):
        _seal(store, added)


@contextmanager
def reading(store: Store) -> Iterator[Connection]:
    """A connection whose statements all see the ledger at one moment."""
    with store.connection() as db, db.snapshot():
        yield db


def _settled(store: Store, added: tuple[int, str] | None) -> bool:
    """Whether what was added is there although its connection was lost at the commit.

    Asked under the lock, which the lost transaction holds until it has ended either way. Errors: InputError where it is
    not there; UnsettledError where the server cannot be asked.
    """
    if added is None:
        return True
    for seconds in PATIENCE:
        time.sleep(seconds)
        result: bool | None = None
        with contextlib.suppress(InputError), store.connection() as db, db.locked():
            result = _holds(db, added)
        if result is False:
            raise InputError(f"ledger {store.shown}: the connection was lost before the line was written; run again")
        if result:
            return True
    raise UnsettledError(UNSETTLED.format(store.shown))


UNSETTLED = (
    "ledger {}: the connection was lost while a line was being written, and the server does not answer; the line may "
    "be there, so it counts as spent: look with `synth.Ledger.summary` once the server answers"
)


def _holds(db: Connection, line: tuple[int, str]) -> bool:
    row = db.execute("SELECT hash FROM ledger WHERE number = ?", (line[0],)).fetchone()
    return row is not None and row["hash"] == line[1]


def _seal(store: Store, added: tuple[int, str] | None) -> None:
    """After the commit: sees by a new connection that the place holds what was added, and moves the mark."""
    if added is None:
        return
    try:
        with store.connection() as here, here.locked():
            if _holds(here, added):
                checkpoint.advance(here, store)
                return
    except InputError:
        if store.there():  # held by others for long, or a full disk: the commit stands
            return
    raise LedgerLostError(
        f"ledger {store.shown}: it was replaced while a line was added, and the line is lost; run again"
    )
