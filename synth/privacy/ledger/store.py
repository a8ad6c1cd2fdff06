"""What the ledger asks of the place that holds it: a file of SQLite (sqlite.py) or a PostgreSQL server (server.py).

The lines, their hashes, sums and rules are the same wherever they lie (entries.py, accounts.py, policy.py): statements
are written once, in the SQL that both have, with ``?`` for values. Only what differs stands behind these two classes.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol


class Connection(Protocol):
    """A connection of one operation. Its faults come out as InputError and LedgerLostError.

    ``secret``: the ledger's key, where this machine has it; accounts are sealed with it, and not used without.
    """

    secret: bytes | None

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """One statement: a cursor, whose rows are known by their columns' names and by their places."""

    def locked(self) -> AbstractContextManager[None]:
        """A transaction that no other writer can enter; committed at the end, undone by an exception."""

    def snapshot(self) -> AbstractContextManager[None]:
        """A transaction that changes nothing and sees the ledger at one moment."""

    def now(self) -> str:
        """The time of a line that is added now, in ISO form and UTC, by one clock for all who write here."""

    def check_writable(self) -> None:
        """Errors: InputError where it can be known before a line is written that none may be."""

    def has_accounts(self) -> bool:
        """Whether the tables of accounts.py are there."""

    def remake_accounts(self) -> None:
        """Empty tables of accounts, with indexes, in the place of what was there. Inside a writer's transaction."""

    def guard_problem(self) -> str | None:
        """Which guard against changes is missing or altered; None where all are whole."""

    def account_problem(self) -> str | None:
        """What is missing or altered of accounts and indexes beside their figures; None where all is whole."""


class Store(ABC):
    """A place for one ledger. ``shown``: what messages call it; never more of a server than that it is one.

    ``folder``, ``stem``: where files of this machine lie that belong to it, and how their names begin.
    """

    shown: str
    folder: Path
    stem: str
    shares: bool = False  # whether several machines write to it, so that notes must lie in it and not beside it

    @abstractmethod
    def create(self) -> None:
        """Makes the ledger unless it is there. Errors: InputError where that may not be or what is there is none."""

    @abstractmethod
    def there(self) -> bool:
        """Whether a ledger was made at this place and is still there; yes where that cannot be found out now."""

    @abstractmethod
    def connection(self) -> AbstractContextManager[Connection]:
        """A connection of its own to a ledger that is there: one that vanished must not start anew during a run."""

    @abstractmethod
    def check(self, db: Connection) -> None:
        """Refuses a place that must not be written to. Errors: LedgerLostError."""

    @abstractmethod
    def changed(self) -> float:
        """When a line was last added, in seconds of this machine's clock; 0 where there is none."""

    def beside(self, ending: str) -> Path:
        """A file of this machine that belongs to the ledger."""
        return self.folder / f"{self.stem}{ending}"
