"""The check of a ledger's chain: are all lines there, unaltered and in the order of writing?"""

import sqlite3
from dataclasses import dataclass
from typing import Any

from synth.errors import UsageError
from synth.privacy.ledger import accounts, checkpoint
from synth.privacy.ledger.entries import FIELDS, START, count, digest, matching
from synth.privacy.ledger.store import Connection, Store
from synth.privacy.ledger.transactions import reading


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Outcome of a check. ``problem`` names the first bad line and what befell it; None when ``ok``."""

    ok: bool
    lines: int
    head: str
    problem: str | None


def verify(store: Store, *, head: str | None = None, marked: bool = True) -> Verification:
    """Checks every line, the guards of the table, the mark beside it and, where given, an exported ``head``.

    ``marked``: with the mark; a backup has none, and the one that the environment names is the ledger's own.
    A ledger that has grown since the head was exported passes; one that lost a line written before fails.
    Errors: InputError when it cannot be opened.
    """
    with reading(store) as db:
        try:
            number, last, problem = _walk(db)
            problem = problem or db.guard_problem() or (checkpoint.problem(db, store) if marked else None)
            problem = problem or accounts.problem(db)
            met = head is None or head == START or count(db, hash=head) > 0
        except (sqlite3.DatabaseError, LookupError, UnicodeDecodeError) as error:  # or the table lost a column
            problem = f"the table cannot be read ({type(error).__name__})"
            return Verification(ok=False, lines=0, head=START, problem=problem)
    if problem is None and not met:
        problem = "head differs: no line carries it; the last lines were removed or an older copy restored"
    return Verification(ok=problem is None, lines=number, head=last, problem=problem)


def fault(db: Connection) -> str | None:
    """What befell the first bad line or guard; None where the chain holds."""
    return _walk(db)[2] or db.guard_problem()


def _digest(line: dict[str, Any]) -> str | None:
    """The line's hash; None where an alteration left what no line can hold (bytes, an infinity)."""
    try:
        return digest(line)
    except UsageError:
        return None


def _walk(db: Connection) -> tuple[int, str, str | None]:
    """How many lines there are, the last one's hash, and what befell the first bad line.

    Each line is read once. A hash covers number and previous hash, so each tells its tale.
    """
    last, problem, seen, end = START, None, 0, START
    for seen, row in enumerate(db.execute("SELECT * FROM ledger ORDER BY number"), start=1):
        line, end = dict(row), str(row["hash"])
        if problem is None:
            problem = _line_problem(db, line, number=seen, last=last)
        last = line["hash"]
    return seen, end, problem


def _line_problem(db: Connection, line: dict[str, Any], *, number: int, last: object) -> str | None:
    if line["number"] != number:
        return f"line {number}: removed"
    if _digest(line) != line["hash"]:
        return f"line {number}: {_fate(line, [dict(other) for other in matching(db)])}"
    if line["previous"] != last:
        before = f"line {number - 1}" if number > 1 else "the start of the chain"
        return f"line {number}: does not continue {before}; one of them was altered, removed or reordered"
    return None


def _fate(line: dict[str, Any], lines: list[dict[str, Any]]) -> str:
    """Why a line's hash is not its own: moved whole from another place, or changed within.

    A line that was moved fits its hash under its former number. Its links moved with it or stayed.
    """
    number, hashes = line["number"], {START} | {other["hash"] for other in lines}
    for former in range(1, len(lines) + 2):
        shifted = {**{name: line[name] for name in FIELDS}, "number": former}
        if former != number and _digest(shifted) == line["hash"]:
            return f"reordered (written as line {former})" if line["previous"] in hashes else "removed"
    return "altered"
