"""Which ledger is meant: a file's path, or an address of PostgreSQL."""

import os
from pathlib import Path

from synth.privacy.ledger import server
from synth.privacy.ledger.server import Server
from synth.privacy.ledger.sqlite import File
from synth.privacy.ledger.store import Store


def default_path() -> str | Path:
    """Where the ledger lies: ``$SYNTH_LEDGER``, else in the user's data folder (``$XDG_DATA_HOME``)."""
    if named := os.environ.get("SYNTH_LEDGER"):
        return server.address(named) or Path(named)
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "facsimile" / "ledger.sqlite"


def at(place: str | Path | Store | None = None) -> Store:
    """The place of a ledger, None for the default one. Nothing is opened. Errors: UsageError for an unusable address.

    >>> at("/tmp/ledger.sqlite").shown
    '/tmp/ledger.sqlite'
    """
    if isinstance(place, Store):
        return place
    named = place if place is not None else default_path()
    address = server.address(os.fspath(named))
    return File(named) if address is None else Server(address)


def check_bare(place: str | None) -> None:
    """Errors: UsageError for an address with a password in it, which would be stored with a request."""
    if place is not None and (address := server.address(place)):
        server.check_bare(address)
