"""Every dataset's account: what its lines add up to, kept beside the lines so that a check need not read them all.

The lines are the truth. An account carries a seal over its figures and the hash of its dataset's last line; it is used
only where the seal holds, that line is still the dataset's last one and no account is missing. Else all are derived
again from every line. The seal is made with the ledger's key, which lies in no table: whoever may write the accounts
and no more cannot make one, and a machine without the key derives all. So no account that was altered, damaged, lost or
left behind makes a dataset's spend smaller than its lines say; ``verify`` derives all of them and compares.

An account is found by the canonical form of its name (names.py). Ledgers made before there was one form may hold
several spellings of a name: they are one account, and their spends add up.
"""

import hmac
import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any

from synth.errors import InputError, LedgerLostError
from synth.privacy.ledger import checkpoint
from synth.privacy.ledger.checkpoint import EXACT
from synth.privacy.ledger.store import Connection
from synth.schema import names

DAMAGED = "ledger: a line was damaged or altered; check it with `synth.Ledger.verify`"
TABLES = {
    "account": "CREATE TABLE account (name TEXT PRIMARY KEY, spellings TEXT NOT NULL, lines INTEGER NOT NULL,"
    " runs INTEGER NOT NULL, policies INTEGER NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, mu2 REAL,"
    " relation TEXT, unit TEXT, last INTEGER NOT NULL, seal TEXT NOT NULL)",
    "account_end": "CREATE TABLE account_end (number INTEGER NOT NULL, hash TEXT NOT NULL, accounts INTEGER NOT NULL)",
}
INDEXES = {
    "ledger_by_dataset": "CREATE INDEX ledger_by_dataset ON ledger (dataset)",
    "ledger_by_kind": "CREATE INDEX ledger_by_kind ON ledger (kind, dataset)",
    "ledger_by_run": "CREATE INDEX ledger_by_run ON ledger (run)",
}
COLUMNS = ("name", "spellings", "lines", "runs", "policies", "epsilon", "delta", "mu2", "relation", "unit", "last")
SAVE = (
    f"INSERT INTO account VALUES ({', '.join('?' * (len(COLUMNS) + 1))}) ON CONFLICT (name) DO UPDATE SET "
    + ", ".join(f"{c} = excluded.{c}" for c in (*COLUMNS[1:], "seal"))
)
LINES = (
    "SELECT number, dataset, kind, epsilon, delta, relation, unit, question FROM ledger NOT INDEXED WHERE number > ?"
    " ORDER BY number"
)
# Every dataset's name, by as many looks into the index as there are names.
DATASETS = """WITH RECURSIVE known (name) AS (SELECT min(dataset) FROM ledger
    UNION ALL SELECT (SELECT min(dataset) FROM ledger WHERE dataset > name) FROM known WHERE name IS NOT NULL)
    SELECT name FROM known WHERE name IS NOT NULL"""


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
    last: int = 0

    @property
    def known(self) -> bool:
        """Whether anything was charged to it, or a policy was set."""
        return self.runs + self.policies > 0

    def take(self, line: Any) -> None:
        """Adds a line. Errors: InputError for a figure that no line may carry."""
        if line["dataset"] not in self.spellings:
            self.spellings = (*self.spellings, line["dataset"])
        self.lines += 1
        self.last = line["number"]
        self.policies += line["kind"] == "policy"
        if line["kind"] == "spend":
            self.epsilon = EXACT.add(self.epsilon, decimal(line["epsilon"]))
            self.delta = EXACT.add(self.delta, decimal(line["delta"]))
            if not self.runs:
                self.relation, self.unit = line["relation"], line["unit"]
            try:
                mu = json.loads(str(line["question"])).get("mu")
            except (ValueError, AttributeError, RecursionError):
                mu = None
            mu = float(mu) if isinstance(mu, int | float) and isfinite(mu) else None
            alike = (self.relation, self.unit) == (line["relation"], line["unit"])
            self.mu2 = None if mu is None or self.mu2 is None or not alike else self.mu2 + mu * mu
            self.runs += 1


def decimal(value: object) -> Decimal:
    """A figure as written. Errors: InputError where it is no finite number."""
    if not (isinstance(value, int | float) and isfinite(value)):
        raise InputError(DAMAGED)
    return Decimal(repr(value))


def derive(
    db: Connection, *, since: int = 0, before: Callable[[str], Account | None] | None = None
) -> dict[str, Account]:
    """The accounts of all datasets with a line after number ``since``, added to what each was ``before``.

    Errors: InputError for altered lines; LookupError where what was before cannot be trusted.
    """
    accounts: dict[str, Account] = {}
    forms: dict[str, str] = {}
    for line in db.execute(LINES, (since,)):
        spelling = line["dataset"]
        if not isinstance(spelling, str):
            raise InputError(DAMAGED)
        if spelling not in forms:
            forms[spelling] = names.canonical(spelling)
        form = forms[spelling]
        if form not in accounts:
            begun = Account(name=form) if before is None else before(form)
            if begun is None:
                raise LookupError
            accounts[form] = begun
        accounts[form].take(line)
    return accounts


def follow(db: Connection) -> None:
    """Brings the accounts up to the last line; makes them in a ledger that has none. Inside a writer's transaction.

    Errors: LedgerLostError where lines that were accounted for are gone.
    """
    if not db.has_accounts():
        rebuild(db)
        return
    end, last = _end(db), checkpoint.last(db) or (0, "")
    if end == last:
        return
    if end is None or not _holds(db, end):
        raise LedgerLostError(CUT)
    if db.secret is None:  # whoever has the key makes it up
        return
    try:
        if not _complete(db):
            raise LookupError
        _save(db, derive(db, since=end[0], before=lambda form: _stored(db, form, end=end[0])).values())
        _mark_end(db)
    except LookupError:  # what was kept is damaged: from the lines again
        rebuild(db)


def rebuild(db: Connection) -> None:
    """Makes accounts and indexes anew from the lines, where their seals can be made. Inside a writer's transaction."""
    if db.secret is None:
        return
    db.remake_accounts()
    _save(db, derive(db).values())
    _mark_end(db)


CUT = "ledger: lines that were written are not there; bring the whole file back, or run `synth ledger restore`"


def problem(db: Connection) -> str | None:
    """How the accounts differ from the lines, in a few words; None where they agree or there are none."""
    if not db.has_accounts():
        return None
    end = _end(db)
    if end is None or not _holds(db, end):
        return "the last lines were removed: the accounts tell of more"
    rows = db.execute("SELECT * FROM account").fetchall()
    ours = db.secret is not None and any(str(row["seal"]).startswith(SEALED) for row in rows)  # else none is used
    stored = {row["name"]: _row(db, row) for row in rows}
    if not _complete(db) or (ours and end == (checkpoint.last(db) or (0, "")) and stored != derive(db)):
        return "the accounts do not agree with the lines; `synth.Ledger.rebuild` derives them again"
    return db.account_problem()


def of(db: Connection, dataset: str) -> Account:
    """The dataset's account, an empty one where it has no line. Errors: InputError for altered lines."""
    form = names.canonical(dataset)
    if _current(db) and (account := _stored(db, form)) is not None:
        return account
    return derive(db).get(form, Account(name=form))


def every(db: Connection) -> list[Account]:
    """All accounts, by name. Errors: InputError for altered lines."""
    stored = [_row(db, row) for row in db.execute("SELECT * FROM account").fetchall()] if _current(db) else [None]
    sound = [account for account in stored if account is not None]
    return sorted(sound if len(sound) == len(stored) else derive(db).values(), key=lambda a: a.name)


def spellings(db: Connection) -> list[str]:
    """The first spelling of every name in the ledger."""
    return [account.spellings[0] for account in every(db)]


def _current(db: Connection) -> bool:
    """Whether the accounts were brought up to the last line, and none is missing."""
    try:
        if db.secret is None or not db.has_accounts() or (end := _end(db)) is None:
            return False
        return end == (checkpoint.last(db) or (0, "")) and _complete(db)
    except (sqlite3.OperationalError, LookupError):  # a table of the accounts was removed or changed
        return False


def _complete(db: Connection) -> bool:
    """Whether no account was removed or put in."""
    count = db.execute("SELECT accounts FROM account_end").fetchone()[0]
    return bool(count == db.execute("SELECT count(*) FROM account").fetchone()[0])


def _stored(db: Connection, form: str, *, end: int = 1 << 62) -> Account | None:
    """The account of that form up to line ``end``, an empty one for a new name; None where it cannot be trusted."""
    row = db.execute("SELECT * FROM account WHERE name = ?", (form,)).fetchone()
    if row is not None:
        return _row(db, row, end=end)
    spelt = tuple(name for (name,) in db.execute(DATASETS) if names.canonical(str(name)) == form)
    return None if _latest(db, spelt, end) else Account(name=form)


def _row(db: Connection, row: Any, *, end: int = 1 << 62) -> Account | None:
    """An account as it was kept; None where its seal is broken, or where its dataset has a later line."""
    try:
        plain = {name: row[name] for name in COLUMNS}
        spellings = tuple(json.loads(plain["spellings"]))
        if (
            not hmac.compare_digest(str(row["seal"]).encode(), _seal(db, plain).encode())
            or _latest(db, spellings, end) != plain["last"]
        ):
            return None
        figures = {what: Decimal(plain[what]) for what in ("epsilon", "delta")}
        return Account(**{**plain, **figures, "spellings": spellings})
    except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, sqlite3.InterfaceError):
        return None


def _latest(db: Connection, spelt: tuple[str, ...], end: int) -> int:
    sql = "SELECT max(number) FROM ledger WHERE dataset = ? AND number <= ?"
    numbers = (db.execute(sql, (one, end)).fetchone()[0] for one in spelt)
    return max((number for number in numbers if number is not None), default=0)


SEALED = "key:"  # how a seal begins; older ones, which anybody could make, are not used


def _seal(db: Connection, plain: dict[str, Any]) -> str:
    """With the ledger's key; nobody's where this machine does not have it."""
    line = db.execute("SELECT hash FROM ledger WHERE number = ?", (plain["last"],)).fetchone()
    text = json.dumps([*plain.values(), None if line is None else line["hash"]], ensure_ascii=True)
    return SEALED + hmac.new(db.secret or secrets.token_bytes(32), text.encode(), "sha256").hexdigest()


def _save(db: Connection, accounts: Iterable[Account]) -> None:
    for account in accounts:
        plain = {name: getattr(account, name) for name in COLUMNS}
        plain |= {"spellings": json.dumps(account.spellings), "epsilon": str(account.epsilon)}
        plain["delta"] = str(account.delta)
        db.execute(SAVE, (*plain.values(), _seal(db, plain)))


def _mark_end(db: Connection) -> None:
    db.execute("DELETE FROM account_end")
    db.execute("INSERT INTO account_end SELECT ?, ?, count(*) FROM account", checkpoint.last(db) or (0, ""))


def _end(db: Connection) -> tuple[int, str] | None:
    row = db.execute("SELECT number, hash FROM account_end").fetchone()
    return None if row is None else (row["number"], row["hash"])


def _holds(db: Connection, end: tuple[int, str]) -> bool:
    row = db.execute("SELECT hash FROM ledger WHERE number = ?", (end[0],)).fetchone()
    return end == (0, "") or (row is not None and row["hash"] == end[1])
