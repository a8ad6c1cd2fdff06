"""Tables and their descriptions on disk; whatever reads a table runs in a process of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import synth
from app.session import aside
from app.session.copies import Ended, copyable
from app.table.stowing import discard, folder, new_place, owner
from synth import app_api
from synth.languages import _

CHUNK = 1 << 20
SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq", ".xlsx")
PARTS = (".parquet", ".pq")
MOST_LISTED = 500
MOST_TOGETHER = 20  # files of a folder that may be tables that belong together
PATIENCE = 86_400.0  # seconds; a command on a large table takes what it takes
Plain = dict[str, Any]
__all__ = ["discard", "folder", "new_place", "owner"]


def safe_name(name: str) -> str:
    """A file name without surprises.

    >>> safe_name("../My table (1).csv"), safe_name(".csv")
    ('My_table_1_.csv', 'csv')
    """
    return re.sub(r"[^\w.-]+", "_", Path(name).name).lstrip(".") or "table.csv"


def sample_place(visitor: str) -> Path:
    """The folder of a visitor's note on the sample table, of which nothing is copied. Errors: InputError."""
    place = folder() / f"sample-{sha256(visitor.encode()).hexdigest()[:16]}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise synth.InputError(
            _("the sample's folder cannot be made ({strerror}); free some space").format(strerror=error.strerror)
        ) from None
    return place


def keep(source: BinaryIO, name: str, place: Path) -> Path:
    """Writes an upload to disk, once. Errors: InputError when there is no room."""
    table = place / safe_name(name)
    try:
        with open(os.open(table, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            shutil.copyfileobj(source, out, CHUNK)
    except OSError as error:
        discard(place)
        reason = error.strerror or _("the disk refused it")
        raise synth.InputError(
            _("{name}: it could not be stored ({reason}); free some space and try again").format(
                name=name, reason=reason
            )
        ) from None
    return table


def mounted() -> list[Path]:
    """Tables in the folders that ``$SYNTH_TABLES`` names, two levels deep, at most ``MOST_LISTED``.

    A folder below them that holds several Parquet files is one table too, and listed as itself, as is every folder
    that holds a few files: they may be tables that belong together.
    """
    result: set[Path] = set()
    for top in filter(None, os.environ.get("SYNTH_TABLES", "").split(os.pathsep)):
        root = Path(top).expanduser().absolute()
        for pattern in ("*", "*/*", "*/*/*"):
            here = [p for p in root.glob(pattern) if p.name.lower().endswith(SUFFIXES) and p.is_file()]
            folders = {p.parent for p in here}
            result |= {*here, *(f for f in folders - {root} if is_parts(f)), *(f for f in folders if holds_tables(f))}
    return sorted(result)[:MOST_LISTED]


def holds_tables(folder: Path) -> bool:
    """Whether a folder holds several files that may be tables; which they are is asked when it is chosen."""
    return folder.is_dir() and 1 < sum(p.name.lower().endswith(SUFFIXES) for p in folder.iterdir()) <= MOST_TOGETHER


def is_parts(folder: Path) -> bool:
    """Whether a folder holds the parts of one table: at least two Parquet files."""
    return folder.is_dir() and sum(p.name.lower().endswith(PARTS) for p in folder.iterdir()) > 1


def draft(
    table: Path, place: Path, *, hints: dict[str, list[str]], books: dict[str, Path], source: str | None = None
) -> tuple[Plain, list[str]]:
    """A description drafted in another process, so that its memory is given back; and what to look at.

    ``books``: code books by column; ``source``: the database that holds the table. Errors: InputError with the reason.
    """
    joined = {n: ",".join(texts) for n, texts in hints.items() if texts and n != "format"}
    options = [x for name, text in joined.items() for x in (f"--{name}", text)]
    options += [x for text in hints.get("format", ()) for x in ("--format", text)]
    return _made(place, "schema", "init", str(table), *options, *_codes(books), *_at(source))


def draft_related(
    folder: Path, place: Path, *, hints: dict[str, list[str]] | None = None, source: str | None = None
) -> tuple[Plain, list[str]]:
    """As ``draft``, of the tables in a folder, or of all in a database. Errors: InputError with the reason."""
    reported = hints or {}
    options = [x for name in ("root", "key") for text in reported.get(name, ()) for x in (f"--{name}", text)]
    options += [x for text in reported.get("public", ()) for x in ("--public", text)]
    lists = {n: ",".join(reported[n]) for n in ("categorical", "missing") if reported.get(n)}
    options += [x for name, text in lists.items() for x in (f"--{name}", text)]
    return _made(place, "schema", "init", *([str(folder)] if source is None else _at(source)), *options)


def imported(
    metadata: Path, table: Path, place: Path, *, books: dict[str, Path], source: str | None = None
) -> tuple[Plain, list[str]]:
    """A description from SDV metadata, what they do not say drafted from the rows. Errors: InputError."""
    return _made(place, "schema", "import", str(metadata), "--table", str(table), *_codes(books), *_at(source))


def booked(plain: Plain, column: str, book: Path, place: Path) -> tuple[Plain, list[str]]:
    """The description with a column's values and labels from its code book. Errors: InputError."""
    beside = place / "given.schema.json"
    app_api.jobs.write_file(beside, json.dumps(plain))
    return _made(place, "schema", "codes", str(beside), column, str(book))


def _at(source: str | None) -> list[str]:
    return ["--source", source] if source else []


def _codes(books: dict[str, Path]) -> list[str]:
    return [x for column, file in books.items() for x in ("--codes", f"{column}={file}")]


ASKED_BY_PAGE = ("every fact is unconfirmed", "unconfirmed:", "unconfirmed facts", "to be decided:")


def _made(place: Path, *arguments: str) -> tuple[Plain, list[str]]:
    out = place / "draft.schema.json"
    done = _synth(*arguments, "--out", str(out))
    lines = [line for line in done.splitlines() if not line.startswith(ASKED_BY_PAGE)]
    return json.loads(out.read_text(encoding="utf-8")), lines


def check(table: Path, plain: Plain, place: Path, *, source: str | None = None) -> None:
    """Whether the table is in order and has the described columns. Errors: InputError with the reason."""
    beside = place / "given.schema.json"
    app_api.jobs.write_file(beside, json.dumps(plain))
    there = [] if source is not None and "tables" in plain else ["--table", str(table)]
    _synth("schema", "check", str(beside), *there, *_at(source))


def _synth(*arguments: str) -> str:
    """Runs the command line; returns what it said besides its answer."""
    return _ran(arguments)[2]


def answer(*arguments: str) -> str:
    """Runs the command line; returns its answer. Errors: InputError with the reason."""
    return _ran(arguments)[1]


def _ran(arguments: tuple[str, ...]) -> Ended:
    done = _copied(arguments) or _started(arguments)
    if done[0]:
        last = (done[2].strip().splitlines() or [_("the worker ended without a word")])[-1]
        raise synth.InputError(last.removeprefix("synth: "))
    return done


def _copied(arguments: tuple[str, ...]) -> Ended | None:
    """In a copy of the runner; None where that is at work or cannot be copied."""
    if aside.runner.busy or not copyable(arguments):
        return None
    try:
        return aside.runner.ask("commanded", arguments, _environment(), os.getcwd(), seconds=PATIENCE)
    except (synth.SynthError, RuntimeError, aside.TooLongError):
        return None


def _environment() -> dict[str, str]:
    """Ours, and that messages shall be as labels.py reads them."""
    return {**os.environ, "SYNTH_MESSAGES": "python"}


def _started(arguments: tuple[str, ...]) -> Ended:
    command = [sys.executable, "-m", "synth", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    return done.returncode, done.stdout, done.stderr
