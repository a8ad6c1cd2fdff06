"""What is said of a ledger's server that fails: in our words, since its own name host, user, database, or quote a line.

**Guarantee**: no message says where the server is or who asked.
"""

from typing import TYPE_CHECKING

from synth.errors import MACHINE, InputError, LedgerLostError
from synth.languages import Said

if TYPE_CHECKING:
    import psycopg

SHOWN = "on PostgreSQL"
PASSWORD_FILE = "SYNTH_LEDGER_PASSWORD_FILE"
UNREACHED = {  # by what libpq says where there is no connection
    "password": "user or password is refused; put the password into ~/.pgpass or into the password file",
    "pg_hba": "this machine or user may not connect; have the server's pg_hba.conf allow it",
    "translate host": "the server's name is not known here; check the address",
    "does not exist": "there is no such user or database; check the address",
    "certificate": "its certificate cannot be verified; check sslmode and sslrootcert in the address",
    "SSL": "no encrypted connection could be made; check sslmode in the address",
    "too many": "all its connections are taken; allow more, or try again",
}
SILENT = "the server does not answer; check the address, and that it runs"
DENIED = "this role may not add lines; have the tables' owner run `synth.Ledger.grant`"
STANDBY = "it is a standby, which takes no lines; name the primary"
LOST = "the connection was lost, and nothing was recorded; run again"
FAULTS = {  # by SQLSTATE or its class
    "25006": STANDBY,
    "3D": "there is no such database; check the address",
    "42501": DENIED,
    "53": "the server has no room for more (disk, memory or connections), so nothing was recorded; make room",
    "55P03": "held by another process for too long; try again when that has ended",
    "57": "the server ended the connection, so nothing was recorded; run again when it is back",
}
GONE = ("42P01", "42703", "3F000", "42883", "XX001", "XX002")  # tables, columns, schema, guards; damaged pages


def unreached(said: str) -> InputError:
    """Why there is no connection, by what libpq ``said``."""
    return machine(next((ours for theirs, ours in UNREACHED.items() if theirs in said), SILENT))


def machine(words: str) -> InputError:
    """An error of the machine's, not of the request's."""
    error = InputError(Said("ledger {}: {}", SHOWN, words))
    error.exit_code = MACHINE
    return error


def fault(error: "psycopg.Error", *, lost: bool) -> InputError:
    """The server's fault in our words. ``lost``: whether the connection is gone."""
    state = error.sqlstate or ""
    if state in GONE:
        return LedgerLostError(Said("ledger {}: its tables are not those of a ledger; restore it from a backup", SHOWN))
    if words := FAULTS.get(state) or FAULTS.get(state[:2]):
        return machine(words)
    if lost or state.startswith("08"):
        return machine(LOST)
    return machine(Said("the server refused ({}); check it with `synth.Ledger.verify`", type(error).__name__))
