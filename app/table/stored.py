"""Tables on disk: taken in once, each in a folder of its own, whose they are, and found again after a reload.

A folder has a note of who made it, for whom, and in which process. It becomes a stored table when its description
stands beside it; until then it is of use only to the process that made it.
"""

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import streamlit as st

import synth
from app.session import access, frame
from app.session.state import EARLIER, Wizard, ready, take_table, view, wizard
from synth import app_api
from synth.app_api import Visitor, jobs
from synth.languages import _

NOTE = "wizard.json"  # the description and choices of a stored table
MAKER = "maker.json"


def folder() -> Path:
    """Where uploaded tables lie, readable by this user alone."""
    place = jobs.home().parent / "uploads"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def new_place(owner: str = "") -> Path:
    """A private folder for one table's copy and description. Errors: InputError when there is no room."""
    place = folder() / secrets.token_hex(8)
    with room(_("the table"), place):
        place.mkdir(mode=0o700)
        maker = {"owner": owner, "pid": os.getpid(), "pid_started": jobs.identity()}
        jobs.write_file(place / MAKER, json.dumps(maker))
    return place


@contextmanager
def room(what: str, place: Path) -> Iterator[None]:
    """Errors: InputError where there is no room for what is written within; then a table's folder is gone."""
    try:
        yield
    except OSError as error:
        discard(place)
        reason = error.strerror or _("the disk refused it")
        said = _("{what} could not be stored ({reason}); free some space and try again")
        raise synth.InputError(said.format(what=what, reason=reason)) from None


def discard(place: Path) -> None:
    """Removes an uploaded table's folder; anything else is left alone."""
    if place.parent == folder():
        shutil.rmtree(place, ignore_errors=True)


def owner(place: Path) -> str | None:
    """Whose table the folder holds, None where nobody can tell: then it is nobody's."""
    for name in (NOTE, MAKER):
        if isinstance(named := (jobs.read_json(place / name) or {}).get("owner"), str):
            return str(named)
    return None


def sweep() -> int:
    """Removes what no stored table needs and no living process uses; how many things. For a server's start.

    A process killed in the middle leaves an upload without a description, or a copy for a comparison.
    """
    left = [place for place in folder().iterdir() if not _is_stored(place) and not _in_use(place)]
    for place in left:
        if place.is_dir() and not place.is_symlink():
            gone = place.with_name(f".gone-{secrets.token_hex(8)}")  # a worker that outlived its server finds nothing
            place.rename(gone)
            shutil.rmtree(gone)
        else:
            place.unlink(missing_ok=True)
    return len(left)


def _is_stored(place: Path) -> bool:
    return place.name.startswith("sample-") or "plain" in (jobs.read_json(place / NOTE) or {})


def _in_use(place: Path) -> bool:
    maker = jobs.read_json(place / MAKER) or {}
    return isinstance(maker.get("pid"), int) and jobs.alive(maker["pid"], maker.get("pid_started"))


CHUNK = 1 << 20
SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq", ".xlsx", ".sav", ".dta", ".xpt")
KINDS = [suffix.rpartition(".")[2] for suffix in SUFFIXES]
PARTS = (".parquet", ".pq")
MOST_LISTED = 500
MOST_TOGETHER = 20  # files of a folder that may be tables that belong together
Plain = dict[str, Any]


def safe_name(name: str) -> str:
    """A file name without surprises.

    >>> safe_name("../My table (1).csv"), safe_name(".csv")
    ('My_table_1_.csv', 'csv')
    """
    return re.sub(r"[^\w.-]+", "_", Path(name).name).lstrip(".") or "table.csv"


def sample_place(visitor: str) -> Path:
    """The folder of a visitor's note on the sample table, of which nothing is copied. Errors: InputError."""
    place = folder() / f"sample-{sha256(visitor.encode()).hexdigest()[:16]}"
    with room(_("the sample"), place):
        place.mkdir(mode=0o700, exist_ok=True)
    return place


def keep(source: BinaryIO, name: str, place: Path) -> Path:
    """Writes an upload to disk, once. Errors: InputError when there is no room."""
    table = place / safe_name(name)
    with room(name, place), open(os.open(table, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        shutil.copyfileobj(source, out, CHUNK)
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


def open_to(who: Visitor, table: Path, source: str | None) -> bool:
    """Whether the visitor may read this table. No database is asked. Errors: InputError for a faulty file of them."""
    if who.alone:
        return True
    if source is not None:
        return any(f"@{d.name}" == source and d.open_to(who.name) for d in app_api.databases.databases())
    if table == frame.SAMPLE:
        return True
    if table.parent.parent == folder():
        return owner(table.parent) == who.name
    return table in mounted()


def allow_table(action: str, table: Path | None, source: str | None) -> Visitor:
    """The visitor, where he may do it to this table. Errors: UsageError."""
    who = access.visitor()
    owned = who is not None and table is not None and open_to(who, table, source)
    return access.allow(action, who.name if who is not None and owned else None)


def allow_database(action: str, source: str) -> Visitor:
    """The visitor, where he may do it at this database: one that is offered to him, or any for the only user.

    Errors: UsageError, InputError.
    """
    who = access.allow(action if source.startswith("@") else "read_address")
    if not open_to(who, Path(), source):
        raise synth.UsageError(
            _("{source}: no database of this name is open to you; choose one that is offered").format(source=source)
        )
    return who


def allow_place(action: str, stored: Path) -> Visitor:
    """The visitor, where he may do it to a stored table's folder. Errors: UsageError."""
    return access.allow(action, owner(stored) if stored.parent == folder() else None)


def forget_others(w: Wizard) -> None:
    """A session that holds a table or run of somebody else's, however it came there, lets go of it."""
    who = access.me()
    if w.table is not None and not open_to(who, w.table, w.source):
        w.__dict__.update(Wizard(uploads=w.uploads + 1, edition=w.edition + 1, page=w.page).__dict__)
    w.job = w.job if w.job is None or _mine(w.job) else None
    w.learning = w.learning if w.learning is None or _mine(w.learning) else None
    w.refit = w.refit if w.refit is None or _mine(w.refit) else None


def _mine(path: Path) -> bool:
    try:
        return access.mine(jobs.Job(path))
    except synth.SynthError:
        return access.me().alone  # a run that is gone; the only user is told so by the page


CHOICES = ("epsilon", "delta", "relation", "method", "options", "rows", "left_out", "left_at", "priors")  # of all pages


def remember(w: Wizard) -> None:
    """Keeps description and choices beside the uploaded table or for a table elsewhere. Public facts and file names."""
    if w.table is None or w.place is None or not w.place.is_dir():
        return
    reported = {name: getattr(w, name) for name in CHOICES}
    reported |= {
        "label": w.label,
        "plain": w.plain,
        "suggestions": w.suggestions,
        "owner": access.me().name,
        "source": w.source,
        "table": None if w.uploaded else str(w.table),
        "file": w.table.name if w.uploaded else None,
    }
    note, text = w.place / NOTE, json.dumps(reported, ensure_ascii=False)
    if not note.exists() or note.read_text(encoding="utf-8") != text:
        jobs.write_file(note, text)  # a torn note would make its table one that nobody stored


def resume(w: Wizard, place: Path, table: Path, reported: dict[str, Any]) -> str:
    """Goes on with a stored table where it was left; returns the page to open. Errors: UsageError."""
    allow_place("resume_table", place)
    take_table(
        w,
        table,
        label=reported["label"],
        plain=reported["plain"],
        place=place,
        rows=int(reported["rows"]),
        source=reported.get("source"),
        suggestions=list(reported["suggestions"]),
    )
    for name in CHOICES:
        if name in reported:
            setattr(w, name, reported[name])
    w.left_at = EARLIER.get(w.left_at, w.left_at)
    return w.left_at if ready(w).get(w.left_at) else "table"


def stored_tables() -> list[tuple[Path, Path, dict[str, Any]]]:
    """Stored descriptions of this visitor: folder, table and note, newest first; damaged ones are left out."""
    results, who = [], access.me()
    for note in sorted(folder().glob(f"*/{NOTE}"), key=lambda p: -p.stat().st_mtime):
        try:
            parsed = json.loads(note.read_text(encoding="utf-8"))
            own = note.parent / (parsed.get("file") or safe_name(parsed["label"]))
            table = Path(parsed["table"]) if parsed.get("table") else own
        except (OSError, ValueError, KeyError, TypeError):
            continue
        source = parsed.get("source")  # a database is not asked, only whether the visitor may use it
        there = open_to(who, table, source) and (source is not None or table.is_file() or table.is_dir())
        if there and who.may("resume_table", parsed.get("owner")):
            results.append((note.parent, table, parsed))
    return results


def size(plain: dict[str, Any]) -> str:
    """How much a description is of, in words."""
    if "tables" in plain:
        return _("{number} tables").format(number=len(plain["tables"]))
    return _("{number} columns").format(number=len(plain.get("columns", {})))


def remove(place: Path) -> None:
    """Removes a stored table with its description. Errors: UsageError for somebody else's."""
    allow_place("remove_table", place)
    discard(place)


def offer() -> None:
    """Stored tables of earlier visits: to go on with, or to remove."""
    w = wizard()
    results = [f for f in stored_tables() if f[0] != w.place]
    if not results:
        return
    with st.expander(_("Tables of earlier visits ({number})").format(number=len(results))):
        said = _("Uploaded copies and descriptions lie in a private folder on this computer until you remove them.")
        st.caption(said)
        for i, (place, table, reported) in enumerate(results):
            st.markdown(f"{frame.escape(reported['label'])}, {size(reported['plain'])}")
            with st.container(horizontal=True):
                if st.button(_("Go on with it"), key=f"use_{i}"):
                    st.switch_page(view(resume(w, place, table, reported)))
                if st.button(_("Remove it"), key=f"remove_{i}", icon=":material/delete:"):
                    remove(place)
                    w.notice = _("The stored table is removed.")
                    st.rerun()
