"""The mark beside a ledger: its last line and what was spent by then, so that an older copy is not taken for it.

Before each commit the mark that is to follow it is on the disk under another name, so that a full or read-only disk
refuses the line; after it, it takes its place, under the ledger's own lock, and nobody goes on until it has: no row is
read on account of a line that the mark does not tell of. So it lags behind the ledger only where a process was killed
between the two, and never runs ahead: a ledger without the marked line is an older copy. Whoever may write the ledger
may also write the mark: it stops accidents, not administrators; a head that was exported does more.
``SYNTH_LEDGER_MARK`` puts it elsewhere, so that one restored folder does not bring back both.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact
from pathlib import Path
from typing import Any

from synth.errors import MACHINE, InputError, LedgerLostError, UnsettledError
from synth.files import regular_files, whole_files
from synth.privacy.ledger.store import Connection, Store

EXACT = Context(prec=2000, traps=[Inexact])  # wide enough for any sum of floats, digit by digit
ELSEWHERE = "SYNTH_LEDGER_MARK"
LAST = "SELECT number, hash FROM ledger ORDER BY number DESC LIMIT 1"
SPENT = (
    "SELECT number, dataset, epsilon, delta, relation, unit, engine FROM ledger NOT INDEXED WHERE kind = 'spend'"
    " AND number > ? ORDER BY number"
)


@dataclass(frozen=True)
class Spent:
    """What a dataset has spent, exactly, and for which neighbouring tables (of its first spend)."""

    epsilon: Decimal = Decimal(0)
    delta: Decimal = Decimal(0)
    relation: str | None = None
    unit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The line that a ledger must hold, and the sums of all spends up to it, by dataset."""

    number: int = 0
    hash: str = ""
    spent: Mapping[str, Spent] = field(default_factory=dict)


def place(store: Store) -> Path:
    """Where the mark of a ledger lies."""
    return Path(named).absolute() if (named := os.environ.get(ELSEWHERE)) else store.beside(".mark")


def read(store: Store) -> Mark:
    """The ledger's mark; an empty one where there is none.

    Errors: LedgerLostError where there is one that cannot be read: it may have told of spends that this ledger lacks.
    """
    try:
        text = regular_files.text(place(store), most=regular_files.ENDLESS)
    except FileNotFoundError:
        return Mark()
    except (OSError, UnicodeDecodeError):
        raise LedgerLostError(DAMAGED, store.shown, place(store)) from None
    try:
        plain = json.loads(text)
        spent = {}
        for name, of in plain["spent"].items():
            one = Spent(Decimal(of["epsilon"]), Decimal(of["delta"]), of.get("relation"), of.get("unit"))
            if not (one.epsilon.is_finite() and one.delta.is_finite()):
                raise ValueError("a sum is not finite")
            spent[name] = one
        number, seal = plain["number"], plain["hash"]
        if not (isinstance(number, int) and isinstance(seal, str) and (len(seal) == 64 or (number, seal) == (0, ""))):
            raise ValueError("no line")
        return Mark(number=number, hash=seal, spent=spent)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ArithmeticError):
        raise LedgerLostError(DAMAGED, store.shown, place(store)) from None


DAMAGED = (
    "ledger {}: its mark {} is damaged, so nothing shows that this is no older copy; bring the mark back, or run "
    "`synth ledger restore` with a backup (a copy of this file will do where you know it to be the newest)"
)


def problem(db: Connection, store: Store) -> str | None:
    """How the ledger differs from its mark, in a few words; None when it holds the marked line."""
    try:
        mark = read(store)
    except LedgerLostError:
        return f"its mark {place(store)} is damaged, so nothing shows that this is no older copy"
    if mark.number == 0:
        return (
            f"{place(store)} tells of spends that a restore was to charge, and it was cut short" if mark.spent else None
        )
    line = db.execute("SELECT hash FROM ledger WHERE number = ?", (mark.number,)).fetchone()
    if line is not None and line["hash"] == mark.hash:
        return None
    return f"line {mark.number} of {place(store)} is not there: it was cut short, or an older copy was put back"


def check(db: Connection, store: Store) -> None:
    """Refuses to add to a ledger that is older than its mark, or whose mark is damaged.

    Errors: LedgerLostError with the way out.
    """
    read(store)
    if reason := problem(db, store):
        raise LedgerLostError(
            "ledger {}: {}; bring the newer one back, or run `synth ledger restore` with a backup, which charges what "
            "is missing",
            store.shown,
            reason,
        )


def last(db: Connection) -> tuple[int, str] | None:
    """Number and hash of the last line."""
    line = db.execute(LAST).fetchone()
    return (int(line["number"]), str(line["hash"])) if line else None


@contextlib.contextmanager
def following(store: Store) -> Iterator["Follower"]:
    """The mark that follows a commit. Errors: InputError where it cannot be written, before anything is."""
    with contextlib.ExitStack() as drafts:
        yield Follower(store, drafts)


class Follower:
    """A mark on its way: on the disk before the commit (``draft``), in its place after it (``place``)."""

    def __init__(self, store: Store, drafts: contextlib.ExitStack) -> None:
        self._store, self._drafts = store, drafts
        self._follow: Callable[[], None] | None = None
        self._number = 0

    def draft(self, db: Connection) -> None:
        """Puts what the ledger holds now on the disk, unless the mark says it. Under the lock. Errors: InputError."""
        before, now = read(self._store), last(db)
        if now is None or now[0] <= before.number:
            return
        with writing(self._store):
            text = _text(Mark(number=now[0], hash=now[1], spent=sums(db, before)))
            self._follow = self._drafts.enter_context(whole_files.drafted(_folder(self._store), text))
        self._number = now[0]

    def place(self) -> None:
        """Puts it into its place, unless a later one is there. Under the lock, after the commit.

        Errors: UnsettledError: the line is there and counts, and nothing may be read on its account.
        """
        if self._follow is None or self._number <= read(self._store).number:
            return
        try:
            self._follow()
        except OSError as error:
            raise UnsettledError(UNPLACED, self._store.shown, place(self._store), error) from None


UNPLACED = (
    "ledger {}: the line is there, and its mark {} could not be written after it ({}), so that the line counts as "
    "spent and no row was read; make the mark's folder writable"
)


def sums(db: Connection, before: Mark | None = None, *, of: Callable[[Any], bool] = lambda _: True) -> dict[str, Spent]:
    """What every dataset has spent, beginning with the sums of an earlier mark, by the lines that are meant."""
    mark = before or Mark()
    spent = dict(mark.spent)
    for line in filter(of, db.execute(SPENT, (mark.number,)).fetchall()):
        old = spent.get(line["dataset"], Spent(relation=line["relation"], unit=line["unit"]))
        spent[line["dataset"]] = Spent(
            epsilon=EXACT.add(old.epsilon, Decimal(repr(line["epsilon"]))),
            delta=EXACT.add(old.delta, Decimal(repr(line["delta"]))),
            relation=old.relation,
            unit=old.unit,
        )
    return spent


def write(store: Store, mark: Mark) -> None:
    """Replaces the mark whole. Errors: InputError."""
    with writing(store):
        whole_files.write(_folder(store), _text(mark))


@contextlib.contextmanager
def writing(store: Store) -> Iterator[None]:
    """For work on the mark's file. Errors: InputError."""
    try:
        yield
    except OSError as error:
        refused = InputError(
            "ledger {}: its mark {} cannot be written ({}), so nothing was recorded; make room, and its folder "
            "writable",
            store.shown,
            place(store),
            error,
        )
        refused.exit_code = MACHINE
        raise refused from None


def _folder(store: Store) -> Path:
    """The mark's place, in a folder that is there."""
    place(store).parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # of a server's ledger nothing is there yet
    return place(store)


def _text(mark: Mark) -> str:
    spent = {
        name: {"epsilon": str(s.epsilon), "delta": str(s.delta), "relation": s.relation, "unit": s.unit}
        for name, s in mark.spent.items()
    }
    return json.dumps({"number": mark.number, "hash": mark.hash, "spent": spent})
