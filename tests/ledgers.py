"""A PostgreSQL for ledgers: its address as those write it who use it, and its doors for those who strike at it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.engines import PASSWORD, postgres_server

__all__ = ["PASSWORD", "Cluster", "started", "strike"]
NUMBERS = count()


class Cluster:
    """A server with two roles: ``steward`` owns what it makes and may do anything, ``clerk`` has no right yet."""

    def __init__(self, port: int, control: Any) -> None:
        self.port, self.control = port, control
        with self.door("postgres") as db:
            db.execute(f"CREATE ROLE clerk LOGIN PASSWORD '{PASSWORD}'")

    def address(self, database: str, user: str = "steward") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def new(self) -> str:
        """The address of a new, empty database."""
        name = f"secret_place_{next(NUMBERS)}"
        with self.door("postgres") as db:
            db.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def clerk(self, address: str) -> str:
        """The same database for the role that may only add lines."""
        return address.replace("steward@", "clerk@")

    def door(self, database: str) -> Any:
        """A connection past the ledger's code, of the one who may do anything."""
        import psycopg

        return psycopg.connect(self.address(database.rpartition("/")[2]), password=PASSWORD, autocommit=True)


@contextmanager
def started() -> Iterator[Cluster]:
    """In memory where that is possible: a disk's forty milliseconds a line would be the tests' time."""
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() and os.access(memory, os.W_OK) else Path("/tmp")
    with postgres_server(place / f"facsimile-ledgers-{os.getpid()}", "-c fsync=on") as (port, control):
        yield Cluster(port, control)


def strike(cluster: Cluster, address: str, *statements: str, guarded: bool = False) -> None:
    """Does as a person who owns the tables would: switches the guards off, changes lines, switches them on again."""
    with cluster.door(address) as db:
        db.execute("SET search_path = facsimile_ledger")
        if not guarded:
            db.execute("ALTER TABLE ledger DISABLE TRIGGER USER")
        for statement in statements:
            db.execute(statement)
        if not guarded:
            for name in ("ledger_no_change", "ledger_only_append"):
                db.execute(f"ALTER TABLE ledger ENABLE ALWAYS TRIGGER {name}")
