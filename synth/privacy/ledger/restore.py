"""Putting a backup in the place of a lost or damaged ledger, without giving any budget back."""

import os
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from decimal import Decimal
from math import inf, nextafter
from pathlib import Path

from synth.errors import InputError, LedgerLostError, UsageError
from synth.privacy.ledger import accounts, checkpoint, entries, hash_chain, places, sqlite
from synth.privacy.ledger.checkpoint import EXACT, Mark, Spent
from synth.privacy.ledger.policy import user
from synth.privacy.ledger.sqlite import File
from synth.privacy.ledger.store import Connection, Store

ENGINE, SOURCE = "restored", "not known"


@dataclass(frozen=True, kw_only=True)
class Restored:
    """What a restore did: lines taken over, and by dataset the epsilon and delta that were charged for lost lines.

    ``mark_lost``: the mark was damaged and told nothing, so lines may be missing that nothing tells of.
    """

    lines: int
    charged: dict[str, tuple[float, float]]
    aside: str | None
    mark_lost: bool = False


def restore(place: str | Path | Store, backup: str | Path) -> Restored:
    """Fills the ledger with a backup's lines, and charges what the lost lines had spent as far as that is known.

    Known is what the present ledger still tells, and what its mark tells (checkpoint.py). A file that is no database
    any more is kept under another name. On a server lines are only ever added: it must be new, or hold an older state
    of the same ledger. Errors: InputError for a backup that is no ledger or does not verify; UsageError when the
    present ledger holds every line of the backup, so that nothing is to be restored, or lines of its own on a server.

    **Guarantee**: no dataset's sums are lower afterwards than the larger of what backup, present ledger and mark say.
    """
    store, source = places.at(place), File(backup)
    lines = _checked(source)
    if not isinstance(store, File):
        store.create()
    elif sqlite.moved(store.path):
        raise UsageError(sqlite.TAKEN.format(store.shown))
    if _holds(store, source):
        raise UsageError(
            f"ledger {store.shown}: it verifies and holds every line of {source.shown}; there is nothing to restore"
        )
    mark, mark_lost = _mark(store)
    aside = None
    if isinstance(store, File):
        # No line is marked until all is charged: a restore cut short leaves a ledger that takes no spend.
        _close(store, mark)
        aside = _fill(store.path, source.path)
        charged = _charge(store)
    else:
        _grow(store, source)
        charged = _charge(store, since=lines)
    return Restored(lines=lines, charged=charged, aside=str(aside) if aside else None, mark_lost=mark_lost)


def _mark(store: Store) -> tuple[Mark, bool]:
    """The ledger's mark, and whether it was damaged; a damaged one is kept under another name."""
    try:
        return checkpoint.read(store), False
    except LedgerLostError:
        place = checkpoint.place(store)
        with checkpoint.writing(store):
            os.replace(place, place.with_name(f"{place.name}.damaged-{secrets.token_hex(3)}"))
        return Mark(), True


def larger(one: Mapping[str, Spent], other: Mapping[str, Spent]) -> dict[str, Spent]:
    """By dataset the larger epsilon and the larger delta of two accounts."""
    result = dict(one)
    for name, b in other.items():
        a = result.get(name, b)
        result[name] = Spent(
            epsilon=max(a.epsilon, b.epsilon), delta=max(a.delta, b.delta), relation=a.relation, unit=a.unit
        )
    return result


def _checked(backup: File) -> int:
    if not backup.path.is_file():
        raise InputError(f"backup {backup.shown}: no such file; name a copy of the ledger")
    with backup.connection() as db:
        if not sqlite.is_ledger(db, backup.path):
            raise InputError(f"backup {backup.shown}: not a ledger file; name another file")
    result = hash_chain.verify(backup, marked=False)
    if not result.ok:
        raise InputError(f"backup {backup.shown}: it does not verify ({result.problem}); use another copy")
    return result.lines


def _holds(store: Store, backup: File) -> bool:
    """Whether the present ledger verifies and has all lines of the backup."""
    try:
        with backup.connection() as db:
            end = checkpoint.last(db)
        if not store.there() or not hash_chain.verify(store).ok:
            return False
        return end is None or hash_chain.verify(store, head=end[1]).ok
    except InputError:
        return False


def _close(store: Store, mark: Mark) -> None:
    """Marks what the present ledger still tells beside its ``mark``, under the lock of writers: none comes between."""
    spent = dict(mark.spent)
    try:
        with store.connection() as db, db.locked():
            with suppress(sqlite3.Error, IndexError, ArithmeticError, ValueError):  # no ledger, or a damaged line
                spent = larger(checkpoint.read(store).spent, checkpoint.sums(db))
            checkpoint.write(store, Mark(spent=spent))
    except LedgerLostError:  # it is no database any more, so that nobody writes to it
        checkpoint.write(store, Mark(spent=spent))


def _grow(store: Store, backup: File) -> None:
    """Adds to a server's ledger the lines that it lacks. Errors: UsageError where it has lines of its own."""
    with backup.connection() as source, source.snapshot(), store.connection() as db, db.locked():
        added(source, db)


def added(source: Connection, db: Connection) -> int:
    """How many lines of ``source`` were added to ``db``, all that it lacked. Under the lock.

    Errors: UsageError where neither of both begins with the other's lines.
    """
    ours, theirs = checkpoint.last(db) or (0, entries.START), checkpoint.last(source) or (0, entries.START)
    shorter, longer = (ours, source) if ours[0] <= theirs[0] else (theirs, db)
    row = longer.execute("SELECT hash FROM ledger WHERE number = ?", (shorter[0],)).fetchone()
    if shorter[0] and (row is None or row["hash"] != shorter[1]):
        raise UsageError("ledger: the server's has lines of its own; take a new database, or the backup of this one")
    count = 0
    for line in source.execute("SELECT * FROM ledger WHERE number > ? ORDER BY number", (ours[0],)):
        entries.put(db, dict(line))
        count += 1
    if count:
        accounts.rebuild(db)
    return count


def _fill(path: Path, backup: Path) -> Path | None:
    """Overwrites the ledger in its place, where others may hold it open; a file beyond that is moved aside first."""
    aside = None
    try:
        try:
            _copy(backup, path)
        except sqlite3.DatabaseError:
            if path.is_file():
                aside = path.with_name(f"{path.name}.damaged-{secrets.token_hex(3)}")
                os.replace(path, aside)
            for ending in ("-journal", "-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)
            _copy(backup, path)
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"ledger {path}: cannot be written ({error}); see that its folder can be written") from None
    return aside


def _copy(backup: Path, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        closing(sqlite3.connect(f"{backup.as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(path, timeout=sqlite.WAIT)) as target,
    ):
        source.backup(target)


def _charge(store: Store, *, since: int | None = None) -> dict[str, tuple[float, float]]:
    """Adds a spend for every dataset whose mark tells of more than the backup does, and marks the new end.

    ``since``: the backup's last line. Other machines may have spent since it was put in place, which the mark does not
    know of: those spends are none of the missing ones.
    """
    charged = {}
    with store.connection() as db, db.locked():
        head = checkpoint.last(db)
        reported = checkpoint.read(store).spent  # read under the lock: spends that came in between are in it
        held = checkpoint.sums(db, of=lambda e: since is None or e["number"] <= since or e["engine"] == ENGINE)
        for name, known in sorted(reported.items()):
            epsilon, delta = (_missing(known, held.get(name, Spent()), what) for what in ("epsilon", "delta"))
            if epsilon or delta:
                question = {"restored": {"backup_head": head[1] if head else entries.START}}
                entries.append(
                    db,
                    kind="spend",
                    question=question,
                    run=f"restore-{secrets.token_hex(8)}",
                    dataset=name,
                    epsilon=epsilon,
                    delta=delta,
                    relation=known.relation,
                    unit=known.unit,
                    engine=ENGINE,
                    noise_source=SOURCE,
                    actor=user(),
                )
                charged[name] = (epsilon, delta)
        end = checkpoint.last(db) or (0, "")
        now = Mark(number=end[0], hash=end[1], spent=checkpoint.sums(db))
    checkpoint.write(store, now)
    return charged


def _missing(known: Spent, held: Spent, what: str) -> float:
    """By how much an account falls short, as a float that is not below it."""
    short: Decimal = EXACT.subtract(getattr(known, what), getattr(held, what))
    if short <= 0:
        return 0.0
    result = float(short)
    return result if Decimal(repr(result)) >= short else nextafter(result, inf)
