"""A ledger's lines: the table that holds them, how one is hashed and added, how they are found.

Nothing here opens the place: a connection inside a transaction comes from transactions.py.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, TypeAlias

from synth.errors import InputError, UsageError
from synth.privacy.ledger import accounts, checkpoint
from synth.privacy.ledger.accounts import DAMAGED
from synth.privacy.ledger.store import Connection
from synth.schema import names

START = "0" * 64  # what the first line has in place of a previous hash
TABLE = """CREATE TABLE ledger (
    number INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('policy', 'spend', 'outcome', 'refusal', 'fingerprint')),
    run TEXT NOT NULL,
    dataset TEXT NOT NULL,
    actor TEXT,
    approved_by TEXT,
    relation TEXT,
    unit TEXT,
    epsilon REAL NOT NULL CHECK (epsilon >= 0 AND (kind = 'spend' OR epsilon = 0)),
    delta REAL NOT NULL CHECK (delta >= 0 AND (kind = 'spend' OR delta = 0)),
    engine TEXT,
    noise_source TEXT,
    question TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
)"""
# The third guard also stops INSERT OR REPLACE from programs that leave recursive triggers off.
GUARDS = {
    "ledger_no_update": "CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger BEGIN"
    " SELECT RAISE(ABORT, 'a ledger line cannot be altered'); END",
    "ledger_no_delete": "CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger BEGIN"
    " SELECT RAISE(ABORT, 'a ledger line cannot be removed'); END",
    "ledger_only_append": "CREATE TRIGGER ledger_only_append BEFORE INSERT ON ledger"
    " WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM ledger)"
    f" OR NEW.previous IS NOT coalesce((SELECT hash FROM ledger ORDER BY number DESC LIMIT 1), '{START}')"
    " BEGIN SELECT RAISE(ABORT, 'a ledger line can only be added at the end'); END",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the ledger. ``epsilon`` and ``delta`` are 0 unless ``kind`` is ``spend``."""

    number: int
    time: str
    kind: str
    run: str
    dataset: str
    actor: str | None
    approved_by: str | None
    relation: str | None
    unit: str | None
    epsilon: float
    delta: float
    engine: str | None
    noise_source: str | None
    question: dict[str, Any]
    previous: str
    hash: str


FIELDS = tuple(f.name for f in fields(Entry) if f.name != "hash")  # what a line's hash covers


def canonical_json(plain: object) -> str:
    """The one JSON text of plain data: keys sorted, ASCII, no spaces. Errors: UsageError.

    >>> canonical_json({"b": 1, "a": 0.1})
    '{"a":0.1,"b":1}'
    """
    try:
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError):
        rule = "must be JSON data (texts, finite numbers, lists, objects)"
        raise UsageError("ledger: question or detail {}", rule) from None


def digest(fields: dict[str, Any]) -> str:
    """SHA-256, in hexadecimal, of a line's fields, the previous line's hash among them."""
    text = canonical_json({name: fields[name] for name in FIELDS})
    return hashlib.sha256(text.encode()).hexdigest()


def append(db: Connection, *, kind: str, question: object, **more: Any) -> Entry:
    """Adds a line at the end of the chain. ``more``: run, dataset and other columns; no epsilon means 0."""
    number, previous = checkpoint.last(db) or (0, START)
    line: dict[str, Any] = dict.fromkeys(FIELDS) | {"epsilon": 0.0, "delta": 0.0} | more
    line |= {"kind": kind, "question": canonical_json(question)}
    line |= {"number": number + 1, "previous": previous}
    line["time"] = db.now()
    line["hash"] = digest(line)
    put(db, line)
    accounts.follow(db)
    return entry(line)


def put(db: Connection, line: Mapping[str, Any]) -> None:
    """Writes a line as it is, its number and its hash included."""
    names = ", ".join(line)
    db.execute(f"INSERT INTO ledger ({names}) VALUES ({', '.join('?' * len(line))})", tuple(line.values()))


Where: TypeAlias = str | Sequence[str]  # a column's value, or any of several


def asked(db: Connection, dataset: str | Collection[str] | None, kind: str | None) -> dict[str, Where]:
    """Which lines are asked for: of one dataset, several or (None) all, in any spelling.

    Where all lines are asked for anyway no dataset is named, and no index is needed.
    """
    where: dict[str, Where] = {} if kind is None else {"kind": kind}
    if dataset is None:
        return where
    if isinstance(dataset, str):
        found = [accounts.of(db, names.checked(dataset, "dataset"))]
    else:
        forms = {names.canonical(names.checked(one, "dataset")) for one in dataset}
        found = [account for account in accounts.every(db) if account.name in forms]
    if kind is not None or sum(account.lines for account in found) < count(db):
        where["dataset"] = [spelling for account in found for spelling in account.spellings]
    return where


def newest(db: Connection, *, up_to: int | None = None, **where: Where) -> Entry | None:
    """The last line whose columns have the given values, among those up to number ``up_to``."""
    test, values = _test(where, up_to)
    line = db.execute(f"SELECT * FROM ledger WHERE {test} ORDER BY number DESC LIMIT 1", values).fetchone()
    return None if line is None else entry(line)


def newest_question(
    db: Connection, *, up_to: int | None = None, **where: Where
) -> tuple[int, dict[str, Any], str, str] | None:
    """Number, question, run and actor of the line that ``newest`` finds, where thousands are looked through.

    Errors: InputError for a line that was damaged or altered.
    """
    test, values = _test(where, up_to)
    line = db.execute(
        f"SELECT number, question, run, actor FROM ledger WHERE {test} ORDER BY number DESC LIMIT 1", values
    ).fetchone()
    if line is None:
        return None
    try:
        question = json.loads(line["question"])
    except (ValueError, TypeError, RecursionError):
        question = None
    if not isinstance(question, dict) or not isinstance(line["number"], int):
        raise InputError(DAMAGED)
    return line["number"], question, str(line["run"]), str(line["actor"])


def page(db: Connection, where: Mapping[str, Where], *, size: int, skip: int) -> list[Entry]:
    """``size`` lines whose columns have the given values, newest first, after the newest ``skip``.

    Where they begin is found by the index alone, or by counting where numbers have no gaps; only they are read.
    """
    begin = None
    if skip and not where:
        begin = count(db) - skip
    elif skip:
        test, values = _test(where)
        looked = db.execute(f"SELECT number FROM ledger WHERE {test}", values)
        numbers = sorted(row[0] for row in looked)  # as runs in order, one a dataset: quicker than a sort by SQLite
        begin = numbers[-1 - skip] if skip < len(numbers) else 0
    if begin is not None and begin < 1:
        return []
    test, values = _test(where, begin)
    sql = f"SELECT * FROM ledger WHERE {test} ORDER BY number DESC LIMIT ?"
    return [entry(line) for line in db.execute(sql, (*values, size))]


def count(db: Connection, **where: Where) -> int:
    """How many lines have these values; of all, the last one's number, since numbers have no gaps."""
    if not where:
        return last[0] if (last := checkpoint.last(db)) else 0
    test, values = _test(where)
    return int(db.execute(f"SELECT count(*) FROM ledger WHERE {test}", values).fetchone()[0])


def _test(where: Mapping[str, Where], up_to: int | None = None) -> tuple[str, list[str | int]]:
    tests: list[str] = ["TRUE"] if up_to is None else ["number <= ?"]
    values: list[str | int] = [] if up_to is None else [up_to]
    for column, value in where.items():
        several = [value] if isinstance(value, str) else list(value)
        tests.append(_among(column, len(several)))
        values += several
    return " AND ".join(tests), values


def _among(column: str, count: int) -> str:
    """Whether a column has one of so many values; an empty list is none that both engines know."""
    return f"{column} IN ({', '.join('?' * count)})" if count > 1 else f"{column} = ?" if count else "FALSE"


def unlike(db: Connection, datasets: tuple[str, ...], column: str, value: str) -> Entry | None:
    """The first spend on these datasets whose column (relation, unit) has another value."""
    other = f"kind = 'spend' AND {_among('dataset', len(datasets))} AND {column} IS NOT ?"
    sql = f"SELECT * FROM ledger WHERE {other} ORDER BY number LIMIT 1"
    line = db.execute(sql, (*datasets, value)).fetchone()
    return None if line is None else entry(line)


def matching(db: Connection, **where: Where) -> list[Any]:
    """The lines, oldest first, whose columns have the given values."""
    test, values = _test(where)
    return db.execute(f"SELECT * FROM ledger WHERE {test} ORDER BY number", values).fetchall()


def entry(line: Any) -> Entry:
    """A line as a record, its question read from JSON. Errors: InputError for a line that was damaged or altered."""
    try:
        read = Entry(**{**dict(line), "question": json.loads(line["question"])})
        sound = isinstance(read.question, dict) and isfinite(read.epsilon) and isfinite(read.delta)
        sound = sound and all(isinstance(getattr(read, n), str) for n in ("time", "kind", "run", "dataset", "hash"))
    except (ValueError, TypeError, LookupError, RecursionError):
        sound = False
    if not sound:
        raise InputError(DAMAGED)
    return read
