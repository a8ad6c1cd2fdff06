"""A ledger in a file: one append-only, hash-chained SQLite table; its connections and transactions.

Every operation opens its own connection: SQLite connections survive neither a fork nor a change of thread. The file is
never opened by other means here, since closing such a handle would drop SQLite's locks. Nor does it lie on a file
system that other machines write to, whose locks cannot be relied on."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil

from synth.errors import InputError, LedgerLostError
from synth.files import regular_files
from synth.languages import Said
from synth.privacy.ledger.accounts import INDEXES, TABLES
from synth.privacy.ledger.entries import GUARDS, TABLE
from synth.privacy.ledger.store import Connection, Store

SWITCH = "SYNTH_LEDGER_NETWORK"
# Names, in the table of mounts, of file systems that are shared by machines, FUSE's among them.
NETWORK = (
    *("nfs", "smb", "cifs", "afs", "ceph", "lustre", "gpfs", "beegfs", "orangefs", "pvfs2", "coda", "gfs2", "ocfs2"),
    *("sshfs", "glusterfs", "s3fs", "rclone", "gcsfuse", "blobfuse", "davfs", "juicefs"),
)


def check_links(path: Path) -> None:
    """Refuses a file with several names (hard links): each would have a mark, a key and a journal of its own.

    Errors: LedgerLostError, since a run that charged the file before may be under way.
    """
    try:
        links = os.stat(path).st_nlink
    except OSError:
        return
    if links > 1:
        raise LedgerLostError(
            "ledger {}: the file has {} names (hard links), each with a mark of its own; remove all but one",
            path,
            links,
        )


def network_kind(path: Path) -> str | None:
    """The kind of network file system that holds the path (or its nearest folder), None for a local or unknown one."""
    nearest = next((p for p in (path, *path.parents) if p.exists()), Path("/")).resolve()
    mounts = [m for m in psutil.disk_partitions(all=True) if nearest.is_relative_to(m.mountpoint)]
    kind = sorted(mounts, key=lambda m: len(m.mountpoint))[-1].fstype.lower() if mounts else ""
    return kind if any(name in kind for name in NETWORK) else None


APPLICATION, VERSION = 0x46_61_63_73, 1  # "Facs" in the file's header
MOVED = 0x46_61_63_6D  # "Facm": of a file whose lines a server has taken over
TAKEN = "ledger {}: its lines are on a server, which alone takes spends; name that one"
WAIT = 120.0  # seconds to wait for other writers


FAULTS = {
    sqlite3.SQLITE_NOTADB: "not a ledger file; name another file",
    sqlite3.SQLITE_READONLY: "cannot be written; give write permission to the file and its folder",
    sqlite3.SQLITE_PERM: "permission denied; give write permission to the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that it is a file that you may read and write",
    sqlite3.SQLITE_BUSY: "held by another process for too long; try again when that has ended",
    sqlite3.SQLITE_FULL: "the disk is full, so nothing was recorded; make room and try again",
    sqlite3.SQLITE_CORRUPT: "damaged; restore it from a backup",
}


class File(Store):
    """A ledger in one file of this machine."""

    def __init__(self, path: str | Path) -> None:
        """``path``: where the file itself lies behind every link; by an alias it would have a mark of its own."""
        try:
            self.path = Path(path).expanduser().resolve()
        except (OSError, RuntimeError):  # in a circle
            raise InputError("ledger {}: its link leads to no file; name the file itself", path) from None
        self.shown, self.folder, self.stem = str(self.path), self.path.parent, self.path.name

    def create(self) -> None:
        """Makes the file (and its folder) unless it is there.

        Errors: InputError when it is no ledger, or on a network file system.
        """
        path = self.path
        if (kind := network_kind(path)) is not None and os.environ.get(SWITCH) != "allow":
            raise InputError(
                "ledger {}: it lies on a network file system ({}), whose locks do not keep two machines from "
                "spending one budget twice; put it on a local disk, or set {}=allow where one machine alone uses it",
                path,
                kind,
                SWITCH,
            )
        check_links(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                "ledger {}: its folder cannot be made ({}); name a writable place, for instance in SYNTH_LEDGER",
                path,
                error,
            ) from None
        with connection(path, mode="rwc") as db:
            if not is_ledger(db, path):
                with db.locked():
                    if not is_ledger(db, path):
                        build(db, path)

    def there(self) -> bool:
        """Whether the file is there."""
        return self.path.exists()

    def connection(self) -> AbstractContextManager["FileConnection"]:
        """As the function ``connection``."""
        return connection(self.path)

    def check(self, db: Connection) -> None:
        """Refuses a file with several names, and one that a server has taken over. Errors: LedgerLostError."""
        check_links(self.path)
        if db.execute("PRAGMA application_id").fetchone()[0] == MOVED:
            raise LedgerLostError(TAKEN, self.path)

    def changed(self) -> float:
        """When the file was changed."""
        return self.path.stat().st_mtime if self.path.exists() else 0.0


class FileConnection(sqlite3.Connection):
    """A connection to the file, with what SQLite does in its own way."""

    secret: bytes | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """A writer's transaction."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self.in_transaction:
                self.execute("ROLLBACK")
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A reader's transaction."""
        self.execute("BEGIN")
        try:
            yield
        finally:
            if self.in_transaction:
                self.execute("ROLLBACK")

    def now(self) -> str:
        """By the clock of this machine, which alone writes to the file."""
        return datetime.now(UTC).isoformat(timespec="milliseconds")

    def check_writable(self) -> None:
        """Nothing: only writing shows whether a file can be written."""

    def has_accounts(self) -> bool:
        """Whether both tables are there."""
        sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('account', 'account_end')"
        return bool(self.execute(sql).fetchone()[0] == len(TABLES))

    def remake_accounts(self) -> None:
        """Drops and makes tables and indexes."""
        for kind, made in (("TABLE", TABLES), ("INDEX", INDEXES)):
            for name, statement in made.items():
                self.execute(f"DROP {kind} IF EXISTS {name}")
                self.execute(statement)

    def guard_problem(self) -> str | None:
        """Whether table and triggers are word for word as they were made."""
        for name, fate in self._changed({"ledger": TABLE, **GUARDS}):
            return f"the guard {name} against changes was {fate}"
        return None

    def account_problem(self) -> str | None:
        """Whether tables and indexes are as they were made, and the file's pages agree."""
        for name, fate in self._changed({**TABLES, **INDEXES}):
            return f"the index {name} was {fate}; `synth.Ledger.rebuild` makes it again"
        whole = self.execute("PRAGMA integrity_check(1)").fetchone()[0]
        return None if whole == "ok" else "the file's pages do not agree with one another"

    def _changed(self, made: dict[str, str]) -> Iterator[tuple[str, str]]:
        present = {row["name"]: row["sql"] for row in self.execute("SELECT name, sql FROM sqlite_master")}
        for name, sql in made.items():
            if present.get(name) != sql:
                yield name, "altered" if name in present else "removed"


def is_ledger(db: FileConnection, path: Path) -> bool:
    """Whether the file is a ledger of a version that is known here. Errors: InputError for a newer or a moved one."""
    kind = db.execute("PRAGMA application_id").fetchone()[0]
    if kind == MOVED:
        raise InputError(TAKEN, path)
    if kind != APPLICATION:
        return False
    if db.execute("PRAGMA user_version").fetchone()[0] > VERSION:
        raise InputError("ledger {}: written by a newer version of this library; update the library", path)
    return True


def moved(path: Path) -> bool:
    """Whether a server has taken the file's lines over."""
    try:
        with connection(path) as db:
            return bool(db.execute("PRAGMA application_id").fetchone()[0] == MOVED)
    except InputError:  # damaged, or not there
        return False


def build(db: FileConnection, path: Path) -> None:
    """Makes the table in an empty file. Errors: InputError for one that holds something else."""
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise InputError("ledger {}: a database of another program; name another file", path)
    for statement in (TABLE, *GUARDS.values()):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def connection(path: Path, *, mode: str = "rw") -> Iterator[FileConnection]:
    """A connection of its own; SQLite's faults come out as InputError.

    A mode of ``rw`` never makes a file: a ledger that vanished must not start anew half-way through a run. Where it
    is gone, damaged or no ledger any more, the error is a LedgerLostError.
    """
    try:
        regular_files.check(path.stat(), path)
    except (FileNotFoundError, NotADirectoryError, PermissionError, IsADirectoryError):
        pass  # SQLite names these
    except OSError as error:
        lost = LedgerLostError("ledger {}: {}; name another file", path, error)
        lost.exit_code = InputError.exit_code  # a pipe or a folder was named: the request is at fault
        raise lost from None
    try:
        address = f"{path.as_uri()}?mode={mode}"
        with closing(sqlite3.connect(address, uri=True, timeout=WAIT, factory=FileConnection)) as db:
            db.isolation_level = None
            db.row_factory = sqlite3.Row
            # bytes that are no text, which only damage leaves, read as signs of it: the line's hash tells
            db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            # EXTRA is FULL plus a sync of the folder: else a power cut could bring a finished journal back to
            # life, and with it undo a committed spend.
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("PRAGMA recursive_triggers = ON")
            yield db
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        gone = code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT) or not path.exists()
        fault = FAULTS.get(code, Said("{}; check it with `synth.Ledger.verify`, restore it from a backup", error))
        raise (LedgerLostError if gone else InputError)("ledger {}: {}", path, fault) from None
    except (UnicodeDecodeError, IndexError):  # of a message of SQLite's that quotes the file; a column that is gone
        raise LedgerLostError("ledger {}: damaged; restore it from a backup", path) from None
