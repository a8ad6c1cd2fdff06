"""Every dataset's account: what its lines add up to, kept beside the lines so that a check need not read them all.

The lines are the truth. An account is used only where it agrees with what the index over the spends counts and adds
up, line count and last line included; else it is derived again from every line. So no account, altered or lost, can
make a dataset's spend smaller than its lines say; ``verify`` derives all of them and compares.

An account is found by the canonical form of its name (names.py). Ledgers made before there was one form may hold
several spellings of a name: they are one account, and their spends add up.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from math import isclose, isfinite
from typing import Any

from synth import names
from synth.errors import InputError, LedgerLostError
from synth.privacy.ledger_mark import EXACT, LAST

DAMAGED = "ledger: a line was damaged or altered; check it with `synth ledger verify`"
TABLES = {
    "account": "CREATE TABLE account (name TEXT PRIMARY KEY, spellings TEXT NOT NULL, lines INTEGER NOT NULL,"
    " runs INTEGER NOT NULL, policies INTEGER NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, mu2 REAL,"
    " relation TEXT, unit TEXT)",
    "account_end": "CREATE TABLE account_end (number INTEGER NOT NULL, hash TEXT NOT NULL)",
}
INDEXES = {
    "ledger_by_dataset": "CREATE INDEX ledger_by_dataset ON ledger (dataset)",
    "ledger_by_kind": "CREATE INDEX ledger_by_kind ON ledger (kind, dataset)",
    "ledger_by_run": "CREATE INDEX ledger_by_run ON ledger (run)",
    "ledger_spends": "CREATE INDEX ledger_spends ON ledger (dataset, epsilon, delta) WHERE kind = 'spend'",
    "ledger_prints": "CREATE INDEX ledger_prints ON ledger (question) WHERE kind = 'fingerprint'",
}
COLUMNS = ("name", "spellings", "lines", "runs", "policies", "epsilon", "delta", "mu2", "relation", "unit")
LINES = "SELECT dataset, kind, epsilon, delta, relation, unit, question FROM ledger WHERE number > ? ORDER BY number"
CLOSE = 1e-9  # relative error of SQLite's sum of so many floats, and far more


@dataclass(kw_only=True)
class Account:
    """What a dataset's lines add up to. ``mu2``: the sum of its runs' mu**2, None where they do not compose.

    ``relation`` and ``unit`` are those of its first spend.
    """

    name: str
    spellings: tuple[str, ...] = ()
    lines: int = 0
    runs: int = 0
    policies: int = 0
    epsilon: Decimal = Decimal(0)
    delta: Decimal = Decimal(0)
    mu2: float | None = 0.0
    relation: str | None = None
    unit: str | None = None

    @property
    def known(self) -> bool:
        """Whether anything was charged to it, or a policy was set."""
        return self.runs + self.policies > 0

    def take(self, line: sqlite3.Row | dict[str, Any]) -> None:
        """Adds a line. Errors: InputError for a figure that no line may carry."""
        if line["dataset"] not in self.spellings:
            self.spellings = (*self.spellings, line["dataset"])
        self.lines += 1
        self.policies += line["kind"] == "policy"
        if line["kind"] == "spend":
            self.epsilon = EXACT.add(self.epsilon, decimal(line["epsilon"]))
            self.delta = EXACT.add(self.delta, decimal(line["delta"]))
            if not self.runs:
                self.relation, self.unit = line["relation"], line["unit"]
            mu = _mu(line["question"])
            alike = (self.relation, self.unit) == (line["relation"], line["unit"])
            self.mu2 = None if mu is None or self.mu2 is None or not alike else self.mu2 + mu * mu
            self.runs += 1


def decimal(value: object) -> Decimal:
    """A figure as written. Errors: InputError where it is no finite number."""
    if not (isinstance(value, int | float) and isfinite(value)):
        raise InputError(DAMAGED)
    return Decimal(repr(value))


def _mu(question: object) -> float | None:
    try:
        mu = json.loads(str(question)).get("mu")
    except (ValueError, AttributeError, RecursionError):
        return None
    return float(mu) if isinstance(mu, int | float) and isfinite(mu) else None


def derive(db: sqlite3.Connection, *, since: int = 0, accounts: dict[str, Account] | None = None) -> dict[str, Account]:
    """All accounts from the lines after number ``since``, added to those given. Errors: InputError."""
    found = {} if accounts is None else accounts
    forms: dict[str, str] = {}
    for line in db.execute(LINES, (since,)):
        spelling = line["dataset"]
        if not isinstance(spelling, str):
            raise InputError(DAMAGED)
        if spelling not in forms:
            forms[spelling] = names.canonical(spelling)
        form = forms[spelling]
        if form not in found:
            found[form] = _kept(db, form) if accounts is not None else Account(name=form)
        found[form].take(line)
    return found


def follow(db: sqlite3.Connection) -> None:
    """Brings the accounts up to the last line; makes them in a ledger that has none. Inside a writer's transaction.

    Errors: LedgerLostError where lines that were accounted for are gone.
    """
    if not _there(db):
        rebuild(db)
    else:
        end, last = _end(db), _last(db)
        if end == last:
            return
        if end is None or last is None or not _holds(db, end):
            raise LedgerLostError(CUT)
        _save(db, derive(db, since=end[0], accounts={}).values())
    _mark_end(db)


def rebuild(db: sqlite3.Connection) -> None:
    """Makes accounts and indexes anew from the lines. Inside a writer's transaction."""
    for kind, made in (("TABLE", TABLES), ("INDEX", INDEXES)):
        for name, statement in made.items():
            db.execute(f"DROP {kind} IF EXISTS {name}")
            db.execute(statement)
    _save(db, derive(db).values())
    _mark_end(db)


CUT = "ledger: lines that were written are not there; bring the whole file back, or run `synth ledger restore`"


def problem(db: sqlite3.Connection) -> str | None:
    """How the accounts differ from the lines, in a few words; None where they agree or there are none."""
    if not _there(db):
        return None
    end = _end(db)
    if end is None or not _holds(db, end):
        return "the last lines were removed: the accounts tell of more"
    kept = {row["name"]: _row(row) for row in db.execute("SELECT * FROM account")}
    if end == _last(db) and kept != derive(db):
        return "the accounts do not agree with the lines; `synth ledger verify --rebuild` derives them again"
    present = {row["name"]: row["sql"] for row in db.execute("SELECT name, sql FROM sqlite_master")}
    for name, sql in {**TABLES, **INDEXES}.items():
        if present.get(name) != sql:
            fate = "altered" if name in present else "removed"
            return f"the index {name} was {fate}; `synth ledger verify --rebuild` makes it again"
    whole = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    return None if whole == "ok" else "the file's pages do not agree with one another"


def of(db: sqlite3.Connection, dataset: str) -> Account:
    """The dataset's account, an empty one where it has no line. Errors: InputError for altered lines."""
    form = names.canonical(dataset)
    if _current(db):
        kept = _kept(db, form)
        sums = {"": (0, 0.0, 0.0)} if not kept.spellings else _sums(db, kept.spellings)
        if _agrees(kept, sums.values()):
            return kept
    return derive(db).get(form, Account(name=form))


def every(db: sqlite3.Connection) -> list[Account]:
    """All accounts, by name. Errors: InputError for altered lines."""
    if _current(db):
        kept = [_row(row) for row in db.execute("SELECT * FROM account")]
        sums = _sums(db)
        if all(_agrees(a, [sums[s] for s in a.spellings if s in sums]) for a in kept):
            return sorted(kept, key=lambda a: a.name)
    return sorted(derive(db).values(), key=lambda a: a.name)


def spellings(db: sqlite3.Connection) -> list[str]:
    """The first spelling of every name in the ledger."""
    if _current(db):
        return [json.loads(row["spellings"])[0] for row in db.execute("SELECT spellings FROM account")]
    return [a.spellings[0] for a in derive(db).values()]


def _there(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'account_end'").fetchone()[0] == 1


def _current(db: sqlite3.Connection) -> bool:
    """Whether the accounts hold every line: the last one, and as many spends as there are."""
    try:
        if not _there(db) or _end(db) != _last(db):
            return False
        runs = db.execute("SELECT total(runs) FROM account").fetchone()[0]
        return bool(runs == db.execute("SELECT count(*) FROM ledger WHERE kind = 'spend'").fetchone()[0])
    except sqlite3.OperationalError:  # a table of the accounts was removed or changed
        return False


def _sums(db: sqlite3.Connection, only: tuple[str, ...] | None = None) -> dict[str, tuple[int, float, float]]:
    """Number of spends and float sums by spelling, from the index alone."""
    test = "" if only is None else f" AND dataset IN ({', '.join('?' * len(only))})"
    found = db.execute(
        "SELECT dataset, count(*), total(epsilon), total(delta) FROM ledger WHERE kind = 'spend'"
        f"{test} GROUP BY dataset", only or (),
    )  # fmt: skip
    return {row[0]: (row[1], row[2], row[3]) for row in found}


def _agrees(account: Account, sums: Iterable[tuple[int, float, float]]) -> bool:
    runs, epsilon, delta = (
        (sum(column) for column in zip(*sums, strict=True)) if (sums := list(sums)) else (0, 0.0, 0.0)
    )
    close = isclose(account.epsilon, epsilon, rel_tol=CLOSE) and isclose(account.delta, delta, rel_tol=CLOSE)
    return account.runs == runs and close


def _kept(db: sqlite3.Connection, form: str) -> Account:
    row = db.execute("SELECT * FROM account WHERE name = ?", (form,)).fetchone()
    return Account(name=form) if row is None else _row(row)


def _row(row: sqlite3.Row) -> Account:
    plain = {name: row[name] for name in COLUMNS}
    try:
        told = json.loads(plain["spellings"])
        figures = {what: Decimal(plain[what]) for what in ("epsilon", "delta")}
    except (ValueError, TypeError, ArithmeticError):
        return Account(name=str(plain["name"]), runs=-1)  # agrees with nothing
    return Account(**{**plain, **figures, "spellings": tuple(map(str, told))})


def _save(db: sqlite3.Connection, accounts: Iterable[Account]) -> None:
    for account in accounts:
        plain = {name: getattr(account, name) for name in COLUMNS}
        plain |= {"spellings": json.dumps(account.spellings), "epsilon": str(account.epsilon)}
        plain["delta"] = str(account.delta)
        db.execute(f"INSERT OR REPLACE INTO account VALUES ({', '.join('?' * len(COLUMNS))})", tuple(plain.values()))


def _mark_end(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM account_end")
    if last := _last(db):
        db.execute("INSERT INTO account_end VALUES (?, ?)", last)
    else:
        db.execute("INSERT INTO account_end VALUES (0, '')")


def _end(db: sqlite3.Connection) -> tuple[int, str] | None:
    row = db.execute("SELECT number, hash FROM account_end").fetchone()
    return None if row is None else (row["number"], row["hash"])


def _last(db: sqlite3.Connection) -> tuple[int, str]:
    row = db.execute(LAST).fetchone()
    return (0, "") if row is None else (row["number"], row["hash"])


def _holds(db: sqlite3.Connection, end: tuple[int, str]) -> bool:
    row = db.execute("SELECT hash FROM ledger WHERE number = ?", (end[0],)).fetchone()
    return end == (0, "") or (row is not None and row["hash"] == end[1])
