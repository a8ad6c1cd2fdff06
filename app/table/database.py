"""A table in a database: read where it is, or copied for the moment; passwords are never typed or shown here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.session import access, frame, tasks, workers
from app.table import intake, stored
from synth import app_api
from synth.app_api import jobs
from synth.languages import _

LISTING = 60.0  # seconds that a database may take to list its tables
HELP = (
    "Without a password: it is taken from ~/.pgpass, from PGPASSWORD, or from the file of databases that SYNTH_SOURCES "
    "names when the application is started."
)


def offered(*, writing: bool = False) -> list[app_api.databases.Database]:
    """The databases that this visitor may use. Errors: InputError for a faulty file of them."""
    if not os.environ.get("SYNTH_SOURCES"):
        return []
    who = access.me()
    return [
        d for d in app_api.databases.databases() if (who.alone or d.open_to(who.name)) and (d.may_write or not writing)
    ]


def section(description: Any) -> None:
    """Which database, which table. ``description``: asks for what is known in writing."""
    results = offered()
    if not results and not access.me().alone:
        return
    with st.expander(_("Or a table in a database (it stays there)")):
        source = _source(results)
        if st.button(_("List its tables"), key="list_tables", disabled=not source, icon=":material/database:"):
            with frame.told(_("Asking the database")):
                stored.allow_database("list_database", source)
                late = _("the database does not answer; check its address and that it can be reached")
                found = workers.ask("app_api.databases.tables", source, seconds=LISTING, late=late)
                st.session_state["source_tables"] = (source, found)
        listed = st.session_state.get("source_tables", ("", []))
        if source and listed[0] == source:
            _choose(source, listed[1], description)


def _source(databases: list[app_api.databases.Database]) -> str:
    """The chosen database: @name, or the address that the only user types."""
    chosen = frame.offered_or_typed(
        databases,
        _("Database"),
        _("Address"),
        "source",
        show=lambda d: f"{d.name} ({d.shown})",
        example="postgres://ann@db.example/census",
        about=_(HELP),
    )
    if not isinstance(chosen, str):
        return f"@{chosen.name}" if chosen else ""
    with frame.told():
        app_api.databases.check_bare(chosen)
        return chosen
    return ""


def _choose(source: str, names: list[str], description: Any) -> None:
    if not names:
        st.info(_("This database has no table that its user may see."))
        return
    said = _("One row for each person or event.")
    table = st.selectbox(_("Table"), names, index=None, key="source_table", placeholder=_("Choose a table"), help=said)
    given, books = description("database")
    said = _(
        "Such as patients and their stays, that refer to each other by keys. Keys that the database declares "
        "are taken from it."
    )
    label = _("Use all {number} tables: they belong together")
    if len(names) > 1 and st.button(
        label.format(number=len(names)), key="use_tables", help=said, icon=":material/account_tree:"
    ):
        _use(source, None, given, books)
    if st.button(_("Use this table"), key="use_table", disabled=table is None, icon=":material/dns:") and table:
        _use(source, table, given, books)


def _use(source: str, table: str | None, given: Any, books: list[Any]) -> None:
    """A table of the database, or all as tables that belong together."""
    with frame.told(_("Looking at the table's columns") if table else _("Reading the tables")):
        intake.from_database(source, table, given, books)
        st.rerun()


PATIENCE = 600.0  # seconds that a copy may take
GONE = "the real table is no longer stored here, so there is nothing to compare with"


def real_there(job: jobs.Job) -> bool:
    """Whether the real table can still be had, as far as one sees without asking a database."""
    request = job.request()
    table = Path(str(request.get("table", "")))
    if not stored.open_to(access.me(), table, request.get("source")):
        return False
    return bool(request.get("source")) or table.is_file() or table.is_dir()


@contextmanager
def real(job: jobs.Job, release: Path) -> Iterator[Path]:
    """The real table of a run as a file, or its tables as a folder: themselves, or copies that are removed at the end.

    Errors: InputError.
    """
    request = job.request()
    if not real_there(job):
        raise synth.InputError(_(GONE))
    table, many = Path(str(request["table"])), isinstance(job.result().get("num_rows"), dict)
    if not request.get("source") and (many or table.is_file()):
        yield table
        return
    place = stored.new_place(access.me().name)  # with what else a copy needs meanwhile, so that all of it goes
    copy = place / ("copies" if many else "copy.parquet")
    if many:
        copy.mkdir(mode=0o700)
    try:
        asked = (request.get("source"), "" if many else str(table), str(copy), str(release / "schema.json"))
        late = _("copying the table from its database takes too long here")
        workers.ask(tasks.fetched, *asked, seconds=PATIENCE, late=late)
        yield copy
    finally:
        stored.discard(place)
