"""Which ledger is meant; a copy of one, what a backup gives back, and a file whose lines a server takes over.

A backup is a ledger's file, taken while others spend, wherever the ledger itself lies. A restore puts it in the place
of a lost or damaged ledger, without giving any budget back. A server takes over a file's lines as they are, its key and
its notes; the file takes no spend then."""

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
from synth.files import regular_files, whole_files
from synth.privacy.ledger import accounts, checkpoint, entries, hash_chain, server, sqlite, transactions
from synth.privacy.ledger.checkpoint import EXACT, Mark, Spent
from synth.privacy.ledger.policy import user
from synth.privacy.ledger.server import Server
from synth.privacy.ledger.sqlite import File
from synth.privacy.ledger.store import Connection, Store
from synth.privacy.ledger.transactions import reading


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


def backup(place: str | Path | Store, out: str | Path) -> int:
    """Writes the ledger as it is at one moment to the file ``out``, and its key beside it; how many lines it has.

    Both are readable by their owner alone. The copy of a ledger is what ``restore`` takes. Errors: InputError where
    there is no ledger or it cannot be written there; UsageError for a file that is there already.

    Privacy: released answers only; the key is for whoever keeps the ledger.
    """
    store, out = at(place), Path(out)
    key = out.with_name(out.name + ".key")
    if isinstance(store, File) and not store.path.is_file():
        raise InputError(f"ledger {store.shown}: no such file; there is nothing to back up")
    try:
        for file in (out, key):
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        if isinstance(store, File):  # page by page
            with sqlite.connection(store.path) as db, closing(sqlite3.connect(out)) as copy:
                if not sqlite.is_ledger(db, store.path):
                    raise InputError(f"ledger {store.path}: not a ledger file; name another file")
                db.backup(copy)
                lines = int(copy.execute("SELECT count(*) FROM ledger").fetchone()[0])
        else:  # its lines, as they are, into a new file
            with reading(store) as rows, sqlite.connection(out.absolute(), mode="rwc") as made, made.locked():
                sqlite.build(made, out)
                for line in rows.execute("SELECT * FROM ledger ORDER BY number"):
                    entries.put(made, dict(line))
                lines = entries.count(made)
        key.write_bytes(transactions.key(store))
    except FileExistsError as error:
        raise UsageError(f"backup {error.filename}: exists already; name a new file") from None
    except OSError as error:
        raise InputError(f"backup {out}: {error.strerror or 'cannot be written'}; name a writable place") from None
    return lines


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
    store, source = at(place), File(backup)
    lines = _lines(source, "backup", remedy="use another copy", marked=False)
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
        with source.connection() as lines_of, lines_of.snapshot(), store.connection() as db, db.locked():
            added(lines_of, db)  # UsageError where the server's has lines of its own
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
    larger_of_both = dict(one)
    for name, b in other.items():
        a = larger_of_both.get(name, b)
        larger_of_both[name] = Spent(
            epsilon=max(a.epsilon, b.epsilon), delta=max(a.delta, b.delta), relation=a.relation, unit=a.unit
        )
    return larger_of_both


def _lines(file: File, thing: str, *, remedy: str, marked: bool = True) -> int:
    """How many lines a file has, which is there and verifies. Errors: InputError."""
    if not file.path.is_file():
        raise InputError(f"{thing} {file.shown}: no such file; name the file that holds the lines")
    with file.connection() as db:
        if not sqlite.is_ledger(db, file.path):
            raise InputError(f"{thing} {file.shown}: not a ledger file; name another file")
    verified = hash_chain.verify(file, marked=marked)
    if not verified.ok:
        raise InputError(f"{thing} {file.shown}: it does not verify ({verified.problem}); {remedy}")
    return verified.lines


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
        marked = checkpoint.read(store).spent  # read under the lock: spends that came in between are in it
        there = checkpoint.sums(db, of=lambda e: since is None or e["number"] <= since or e["engine"] == ENGINE)
        for name, known in sorted(marked.items()):
            epsilon, delta = (_missing(known, there.get(name, Spent()), what) for what in ("epsilon", "delta"))
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


def _missing(known: Spent, there: Spent, what: str) -> float:
    """By how much an account falls short, as a float that is not below it."""
    short: Decimal = EXACT.subtract(getattr(known, what), getattr(there, what))
    if short <= 0:
        return 0.0
    missing = float(short)
    return missing if Decimal(repr(missing)) >= short else nextafter(missing, inf)


NOTES = ".looks"  # the ending of a file of notes (release/chosen.py)


def take_over(place: str | Path | Store, old: str | Path) -> int:
    """Adds a file's lines to the ledger on a server, which must be new or hold an earlier part of them; how many.

    The file is locked meanwhile and is no ledger afterwards, wherever its mark lies and whatever name it is given: it
    takes no spend any more, and no backup is restored over it. Done again after a kill, it goes on. Errors: UsageError
    for a ledger that is not on a server, or has lines of its own; InputError for a file that is no whole ledger, or
    another key on the server.

    **Guarantee**: every line of the file is on the server before the file is no ledger any more, and none is there
    alone.
    Privacy: released answers only.
    """
    store, file = at(place), File(old)
    if not store.shares:
        raise UsageError("ledger: name a server's with `ledger=`; a file is copied by a backup")
    if sqlite.moved(file.path):
        raise UsageError(sqlite.TAKEN.format(file.shown))
    _lines(file, "ledger", remedy="restore it from a backup first")
    store.create()
    with file.connection() as source, source.locked():
        file.check(source)
        checkpoint.check(source, file)
        _take_key(store, file)
        with store.connection() as db, db.locked():
            checkpoint.check(db, store)
            ours = checkpoint.last(db)
            theirs = checkpoint.last(source)
            if ours is not None and (theirs is None or ours[0] > theirs[0]):
                raise UsageError("ledger: the server's has lines of its own; take a new database")
            added(source, db)
            _take_notes(db, file)
        with store.connection() as db, db.locked(), checkpoint.following(store) as mark:
            mark.draft(db)
            mark.place()
            if (theirs := checkpoint.last(source)) != checkpoint.last(db):
                raise InputError(f"ledger {store.shown}: the lines did not arrive; run again")
        source.execute(f"PRAGMA application_id = {sqlite.MOVED}")
    return theirs[0] if theirs else 0


def _take_key(store: Store, file: File) -> None:
    """The file's key for the server's ledger. Errors: InputError where that has another one."""
    old, new = transactions.key_place(file), transactions.key_place(store)
    if not old.exists():
        return
    try:
        if not new.exists():
            new.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            whole_files.write(new, old.read_bytes(), private=True)
        same = new.read_bytes() == old.read_bytes()
    except OSError as error:
        raise InputError(f"ledger key {new}: {error.strerror or 'refused'}; make it writable for you alone") from None
    if not same:
        raise InputError(f"ledger key {new}: not the key {old}, under which rows were marked; put that in its place")
    transactions.key(store)


def _take_notes(db: Connection, file: File) -> None:
    """The notes beside the file, each once. Errors: InputError."""
    try:
        lines = regular_files.text(file.beside(NOTES), most=regular_files.ENDLESS).splitlines()
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{file.beside(NOTES)}: cannot be read; restore it from a backup") from None
    known = {row["note"] for row in db.execute("SELECT note FROM ledger_note")}
    for line in lines:
        if line.strip() and line not in known:
            db.execute("INSERT INTO ledger_note (note) VALUES (?)", (line,))
