"""Whose table it is: a visitor reads what he stored, what the installation offers him, and nothing else."""

from pathlib import Path

import synth
from app.session import access, tour
from app.session.state import Wizard
from app.table import work
from synth import app_api
from synth.app_api import Visitor, jobs
from synth.languages import _


def open_to(who: Visitor, table: Path, source: str | None) -> bool:
    """Whether the visitor may read this table. No database is asked. Errors: InputError for a faulty file of them."""
    if who.alone:
        return True
    if source is not None:
        return any(f"@{d.name}" == source and d.open_to(who.name) for d in app_api.databases.databases())
    if table == tour.SAMPLE:
        return True
    if table.parent.parent == work.folder():
        return work.owner(table.parent) == who.name
    return table in work.mounted()


def allow(action: str, table: Path | None, source: str | None) -> Visitor:
    """The visitor, where he may do it to this table. Errors: UsageError."""
    who = access.visitor()
    owned = who is not None and table is not None and open_to(who, table, source)
    return access.allow(action, who.name if who is not None and owned else None)


def database(action: str, source: str) -> Visitor:
    """The visitor, where he may do it at this database: one that is offered to him, or any for the only user.

    Errors: UsageError, InputError.
    """
    who = access.allow(action if source.startswith("@") else "read_address")
    if not open_to(who, Path(), source):
        raise synth.UsageError(
            _("{source}: no database of this name is open to you; choose one that is offered").format(source=source)
        )
    return who


def place(action: str, folder: Path) -> Visitor:
    """The visitor, where he may do it to a stored table's folder. Errors: UsageError."""
    return access.allow(action, work.owner(folder) if folder.parent == work.folder() else None)


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
