"""A ledger on a PostgreSQL server, for several application servers at once.

Every operation has a connection of its own and one transaction. Writers wait for one advisory lock, so that a check and
its charge are one step for all machines; each line is on the server's disk before its commit returns. Whatever goes
wrong with a connection at its commit may have been written: that is an UnsettledError, never "not written".

The tables are those of a file, in the server's types, with its guards and its rights. Lines are guarded twice: by
triggers, which refuse everybody a change, and by rights, where the tables belong to one role and lines are added by
another (``grant``), which may neither alter, remove nor own them.

**Guarantee**: no message, card or log says where the server is or who asked: what is said of one that fails is said in
our words, since its own name host, user, database, or quote a line. A password is never part of an address.
"""

import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from synth.errors import InputError, UnsettledError, UsageError, need
from synth.files import regular_files
from synth.jobs import home
from synth.privacy.ledger.accounts import INDEXES, TABLES
from synth.privacy.ledger.entries import START, TABLE
from synth.privacy.ledger.server_words import DENIED, PASSWORD_FILE, SHOWN, STANDBY, fault, machine, unreached
from synth.privacy.ledger.store import Connection, Store
from synth.sources.engines import addresses

SCHEMA, VERSION = "facsimile_ledger", 1
TYPES = ((" INTEGER", " BIGINT"), (" REAL", " DOUBLE PRECISION"), (" TEXT", ' TEXT COLLATE "C"'))


def translated(sql: str) -> str:
    """A statement for SQLite as PostgreSQL has it.

    >>> translated("SELECT a FROM ledger NOT INDEXED WHERE b IS NOT ?")
    'SELECT a FROM ledger WHERE b IS DISTINCT FROM %s'
    """
    sql = sql.replace(" NOT INDEXED", "").replace("IS NOT ?", "IS DISTINCT FROM ?")
    return sql.replace("?", "%s")


def made(sql: str) -> str:
    """The making of a table or an index, in the server's types. An index ends with the number, as SQLite's all do.

    >>> made("CREATE INDEX a ON ledger (dataset)")
    'CREATE INDEX a ON ledger (dataset, number)'
    """
    if sql.startswith("CREATE INDEX"):
        return sql.replace(")", ", number)")
    for ours, theirs in TYPES:
        sql = sql.replace(ours, theirs)
    return sql


FROZEN = " BEGIN RAISE EXCEPTION 'a ledger line cannot be altered or removed'; END "
APPENDED = f""" DECLARE
    last_number BIGINT;
    last_hash TEXT;
BEGIN
    SELECT number, hash INTO last_number, last_hash FROM {SCHEMA}.ledger ORDER BY number DESC LIMIT 1;
    IF NEW.number IS DISTINCT FROM coalesce(last_number, 0) + 1
        OR NEW.previous IS DISTINCT FROM coalesce(last_hash, '{START}') THEN
        RAISE EXCEPTION 'a ledger line can only be added at the end';
    END IF;
    RETURN NEW;
END """
# By name: when it acts, its function, and how the catalogue has it: bits of pg_trigger.tgtype (1 each row, 2 before,
# 4 insert, 8 delete, 16 update, 32 truncate). A statement's guard also stops a change that meets no row.
GUARDS: Final = {
    "ledger_no_change": ("BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger FOR EACH STATEMENT", FROZEN, 58),
    "ledger_only_append": ("BEFORE INSERT ON ledger FOR EACH ROW", APPENDED, 7),
}
BESIDE = {
    "ledger_version": "CREATE TABLE ledger_version (version BIGINT NOT NULL)",
    "ledger_key": "CREATE TABLE ledger_key (digest TEXT NOT NULL)",  # which key: never the key
    "ledger_note": "CREATE TABLE ledger_note (number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " note TEXT NOT NULL)",
}


def statements() -> list[str]:
    """What makes the ledger. ``ALWAYS``: also while a replica is filled, where other triggers rest."""
    tables_and_guards = [made(sql) for sql in (TABLE, *TABLES.values(), *INDEXES.values(), *BESIDE.values())]
    for name, (when, body, _) in GUARDS.items():
        tables_and_guards += [
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $${body}$$",
            f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()",
            f"ALTER TABLE ledger ENABLE ALWAYS TRIGGER {name}",
        ]
    begun = ["INSERT INTO account_end VALUES (0, '', 0)", f"INSERT INTO ledger_version VALUES ({VERSION})"]
    return [*tables_and_guards, *begun]


RIGHTS = {  # of a role that adds lines; sums are derived and sealed, so that an altered one is not used
    "SELECT, INSERT": ("ledger", "ledger_key", "ledger_note"),
    "SELECT, INSERT, UPDATE, DELETE": tuple(TABLES),
    "SELECT": ("ledger_version",),
}


MAY_WRITE = "SELECT " + " AND ".join(
    f"has_table_privilege('{table}', '{right}')"
    for rights, tables in RIGHTS.items()
    for right in rights.split(", ")
    for table in tables
)


COLUMNS = """SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type FROM pg_attribute a
    WHERE a.attrelid = 'ledger'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
TRIGGERS = """SELECT t.tgname AS name, t.tgtype AS type, t.tgenabled::text AS enabled, p.prosrc AS body
    FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
    WHERE t.tgrelid = 'ledger'::regclass AND NOT t.tgisinternal"""
HIDING = """SELECT c.relrowsecurity OR c.relkind <> 'r' OR EXISTS (SELECT 1 FROM pg_rewrite WHERE ev_class = c.oid)
    FROM pg_class c WHERE c.oid = 'ledger'::regclass"""
UNLOGGED = f"""SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = '{SCHEMA}' AND c.relkind IN ('r', 'S') AND c.relpersistence <> 'p'"""
KINDS = {"INTEGER": "bigint", "REAL": "double precision", "TEXT": "text"}  # as format_type calls them
EXPECTED = [(name, KINDS[kind]) for name, kind, *_ in (part.split() for part in TABLE.partition("(")[2].split(",\n"))]
CONSTRAINTS = "SELECT count(*) FROM pg_constraint WHERE conrelid = 'ledger'::regclass AND contype IN ('p', 'c')"
CONSTRAINED = TABLE.count(" CHECK ") + TABLE.count(" PRIMARY KEY")


if TYPE_CHECKING:
    import psycopg

UNSYNCED = "SYNTH_LEDGER_FSYNC"  # "allow" says that the server's disk cannot lose what was written
LOCK = 0x46_61_63_73  # "Facs": the advisory lock of all writers in a database
WAIT = 120  # seconds to wait for other writers, or for one of the server's connections to be free
TOGETHER = threading.BoundedSemaphore(8)  # connections of a process at once: servers have a hundred for everybody
LASTING = {"connect_timeout": "10", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3"}
LASTING |= {"tcp_user_timeout": "30000", "application_name": "facsimile ledger"}
SETTINGS = (
    f"SET LOCAL search_path = {SCHEMA}, pg_temp; SET LOCAL lock_timeout = '{WAIT}s'; SET LOCAL statement_timeout = 0;"
    " SET LOCAL timezone = 'UTC'"
)
# Of a writer: the commit waits for the disk (and for standbys that must have it), and whoever stands still lets go. It
# waits so where nothing else is written, since the message is: who only looks for a line learns that standbys have it.
WRITER = (
    f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {SETTINGS}; SET LOCAL synchronous_commit = on;"
    f" SET LOCAL idle_in_transaction_session_timeout = '{WAIT}s'; SET LOCAL client_min_messages = warning;"
    f" SELECT pg_advisory_xact_lock({LOCK}); SELECT pg_logical_emit_message(true, 'facsimile', '')"
)
READER = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {SETTINGS}"
NOW = """SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') || '+00:00'"""
AGE = """SELECT extract(epoch FROM clock_timestamp() - CAST(time AS timestamptz)) FROM ledger
    ORDER BY number DESC LIMIT 1"""
CROWDED = ("too many", "connection slots", "starting up")


def address(text: str) -> str | None:
    """The address of PostgreSQL that a ledger's place is; None for a file. Errors: UsageError for any other address."""
    named = addresses.address(text)
    if named is not None and not re.match(r"postgres(ql)?://", named):
        raise UsageError("ledger: an address begins with postgresql://user@host/database; anything else is a file")
    return named


def check_bare(address: str) -> None:
    """Errors: UsageError, which does not quote it, for an address with a password, or an unreadable one."""
    try:
        secret = addresses.has_password(address)
    except ValueError:
        raise UsageError("ledger: its address cannot be read; write postgresql://user@host/database") from None
    if secret:
        raise UsageError(
            "ledger: leave the password out of its address; put it into ~/.pgpass or a file that {} names",
            PASSWORD_FILE,
        )


class Server(Store):
    """A ledger in a database of a server, in a schema of its own."""

    shares = True

    def __init__(self, address: str) -> None:
        check_bare(address)
        need("a ledger on PostgreSQL", "databases", "psycopg")
        self._address, self.shown = address, SHOWN
        self.folder = home().parent
        parts = urlsplit(address)
        try:
            identity = addresses.postgres(parts)  # the same however the address is written
        except ValueError:  # several hosts with ports
            identity = f"postgres://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self.stem = f"ledger-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"

    def create(self) -> None:
        """Makes schema and tables where the role may. Errors: InputError with the way out."""
        with self.connection() as db, db.locked() if self._empty(db) else db.snapshot():
            settings = db.execute("SELECT current_setting('server_encoding'), current_setting('fsync')")
            encoding, synced = settings.fetchone()
            if encoding != "UTF8":
                raise InputError("ledger {}: its database is not in UTF8; make one that is", SHOWN)
            if synced != "on" and os.environ.get(UNSYNCED) != "allow":
                raise InputError(
                    "ledger {}: the server runs with fsync off, so that a power cut may undo a spend; switch it on",
                    SHOWN,
                )
            if named := db.execute(UNLOGGED).fetchone():
                raise InputError(
                    "ledger {}: its table {} is UNLOGGED, so that a power cut empties it; set it LOGGED",
                    SHOWN,
                    named[0],
                )
            if db.there("ledger_version"):
                version = db.execute("SELECT max(version) FROM ledger_version").fetchone()[0]
                if version != VERSION:
                    raise InputError("ledger {}: written by a newer version of this library; update the library", SHOWN)
                return
            db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            for statement in statements():
                db.execute(statement)

    def grant(self, role: str) -> None:
        """Lets a role add lines, and nothing else, by whoever owns the tables. Errors: InputError."""
        from psycopg import sql

        quoted = sql.Identifier(role).as_string()
        with self.connection() as db, db.locked():
            db.run(f"GRANT USAGE ON SCHEMA {SCHEMA} TO {quoted}")
            for rights, tables in RIGHTS.items():
                db.run(f"GRANT {rights} ON {', '.join(tables)} TO {quoted}")

    def there(self) -> bool:
        """Whether the server has the tables; yes where it does not answer."""
        try:
            with self.connection() as db:
                return not self._empty(db)
        except InputError:
            return True

    @contextmanager
    def connection(self) -> Iterator["ServerConnection"]:
        """A connection, closed at the end; its statements stand in ``locked`` or ``snapshot``.

        Faults of the server come out in our words. Errors: InputError.
        """
        import psycopg

        with TOGETHER, closing(_connected(self._address)) as plain:
            try:
                yield ServerConnection(plain)
            except psycopg.Error as error:
                raise fault(error, lost=plain.closed) from None
            except UnicodeError:
                raise InputError(
                    "ledger {}: a text cannot be stored there; write it in other characters", SHOWN
                ) from None

    def check(self, db: Connection) -> None:
        """Nothing: a server has one name, whichever address it is reached by."""

    def changed(self) -> float:
        """When the last line was added, by this machine's clock: its age is told by the server's."""
        with self.connection() as db, db.snapshot():
            last = db.execute(AGE).fetchone()
        return time.time() - float(last[0]) if last else 0.0

    def _empty(self, db: "ServerConnection") -> bool:
        with db.snapshot():
            return not db.there("ledger_version")


class ServerConnection:
    """A connection to the server, with what PostgreSQL does in its own way."""

    secret: bytes | None = None

    def __init__(self, plain: "psycopg.Connection[Any]") -> None:
        self._plain = plain

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """One statement, in the server's words."""
        return self._plain.execute(translated(sql), values or None)

    def run(self, sql: str) -> "psycopg.Cursor[Any]":
        """One statement, or several without values, as they are."""
        return self._plain.execute(sql)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """A writer's transaction, under the lock that all machines ask for.

        Errors: UnsettledError where its end is not known.
        """
        import psycopg

        with self._begun(WRITER):
            yield
        warned: list[Any] = []  # of a wait for standbys that was cut short, after which it says COMMIT all the same
        self._plain.add_notice_handler(warned.append)
        try:
            ended = self.run("COMMIT").statusmessage
        except psycopg.Error:
            ended = None
        if ended != "COMMIT" or warned:
            raise UnsettledError("ledger {}: the connection was lost while a line was being written", SHOWN)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A reader's transaction."""
        with self._begun(READER):
            yield
        self.run("ROLLBACK")

    @contextmanager
    def _begun(self, begin: str) -> Iterator[None]:
        import psycopg

        self.run(begin)
        try:
            yield
        except BaseException:
            with suppress(psycopg.Error):
                self.run("ROLLBACK")
            raise

    def now(self) -> str:
        """By the server's clock: machines that write here have clocks that differ."""
        return str(self.execute(NOW).fetchone()[0])

    def check_writable(self) -> None:
        """Whether the server takes lines, and from this role. Errors: InputError."""
        if self.execute("SELECT pg_is_in_recovery()").fetchone()[0]:
            raise machine(STANDBY)
        if not self.execute(MAY_WRITE).fetchone()[0]:
            raise machine(DENIED)

    def there(self, name: str) -> bool:
        """Whether a table or an index of that name is in the ledger's schema."""
        return bool(self.execute("SELECT to_regclass(?) IS NOT NULL", (f"{SCHEMA}.{name}",)).fetchone()[0])

    def has_accounts(self) -> bool:
        """Whether both tables are there."""
        return all(self.there(name) for name in TABLES)

    def remake_accounts(self) -> None:
        """Empties the tables; makes what is missing, which their owner may."""
        for name, statement in {**TABLES, **INDEXES}.items():
            if not self.there(name):
                self.execute(made(statement))
        for name in TABLES:
            self.execute(f"DELETE FROM {name}")

    def guard_problem(self) -> str | None:
        """Whether columns, constraints and triggers are as they were made, and nothing hides lines."""
        columns = [(row["name"], row["type"]) for row in self.execute(COLUMNS)]
        constrained = self.execute(CONSTRAINTS).fetchone()[0]
        if columns != EXPECTED or constrained != CONSTRAINED:
            return "the guard ledger against changes was altered"
        present = {row["name"]: (row["type"], row["enabled"], row["body"]) for row in self.execute(TRIGGERS)}
        for name, (_, body, kind) in GUARDS.items():
            if present.pop(name, None) != (kind, "A", body):
                return f"the guard {name} against changes was altered or removed"
        if named := self.execute(UNLOGGED).fetchone():
            return f"the table {named[0]} is UNLOGGED, so that a power cut empties it"
        if present or self.execute(HIDING).fetchone()[0]:
            return "a trigger, a rule or a policy that no ledger has stands before its lines"
        return None

    def account_problem(self) -> str | None:
        """Whether tables and indexes are there."""
        lacking = next((name for name in (*TABLES, *INDEXES) if not self.there(name)), None)
        return lacking and f"the index {lacking} was removed; `synth.Ledger.rebuild` makes it again"


class _Row(tuple[Any, ...]):
    """A row by names and by places, as SQLite's is."""

    places: dict[str, int]

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.places:
            raise IndexError(key)
        return super().__getitem__(self.places[key])

    def keys(self) -> list[str]:
        """The columns' names."""
        return list(self.places)


def _rows(cursor: Any) -> Callable[[Sequence[Any]], _Row]:
    places = {column.name: i for i, column in enumerate(cursor.description or ())}
    return type("Row", (_Row,), {"places": places})


def _connected(address: str) -> "psycopg.Connection[Any]":
    """A connection, waited for where the server has none to spare. Errors: InputError in our words."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        asked: dict[str, Any] = {**LASTING, **conninfo_to_dict(address), "client_encoding": "utf8"}
    except psycopg.Error:
        raise UsageError("ledger: its address cannot be read; write postgresql://user@host/database") from None
    if named := os.environ.get(PASSWORD_FILE):
        try:
            asked["password"] = regular_files.text(Path(named).expanduser()).rstrip("\n")
        except (OSError, UnicodeDecodeError):
            raise InputError("ledger: the file that {} names cannot be read; correct it", PASSWORD_FILE) from None
    until, pause = time.monotonic() + WAIT, 0.05
    while True:
        try:
            return psycopg.connect(**asked, autocommit=True, prepare_threshold=None, row_factory=_rows)
        except psycopg.Error as error:
            said = str(error)
            if time.monotonic() > until or not any(word in said for word in CROWDED):
                raise unreached(said) from None
        time.sleep(pause)
        pause = min(1.0, 2 * pause)
