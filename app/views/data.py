"""Step 1: which table."""

from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.run import recent
from app.session import access, frame
from app.session.state import is_read, several, view, wizard
from app.table import database, intake, keys, reading, stored
from synth.languages import _


def page() -> None:
    """The sample table, an upload, a file on the server, or a table in a database."""
    frame.head(
        "data",
        _(
            "Facsimile turns a table about people into a **synthetic** one that can be shared: made-up rows with "
            "the same patterns, and a mathematical limit on what they can tell about any one person."
        ),
    )
    recent.offer()
    _chosen()
    _sample()
    _upload()
    _server()
    database.section(_description)
    stored.offer()
    frame.onward("data", blocked=_blocked())


def _blocked() -> str:
    w = wizard()
    if w.table is None:
        return _("Choose a table first.")
    return "" if several(w) or is_read(w) else _("First confirm above how the file is read.")


def _chosen() -> None:
    w = wizard()
    if w.table is None:
        return
    with st.container(border=True):
        at = _(" at {source}").format(source=frame.escape(w.source)) if w.source else ""
        st.markdown(
            _("**Chosen:** {label}{at}, {summary}").format(
                label=frame.escape(w.label), at=at, summary=reading.summary(w)
            )
        )
        if several(w):
            keys.picture(w.plain)
        else:
            reading.section()
        if not w.uploaded or w.place is None:
            return
        st.caption(_("Stored in a private folder on this computer until you remove it."))
        if st.button(_("Remove the stored copy"), key="discard", icon=":material/delete:"):
            stored.remove(w.place)
            w.table, w.label, w.plain, w.place = None, "", {}, None
            w.notice = _("The stored copy is removed.")
            st.rerun()


def _sample() -> None:
    st.subheader(_("Try it on the sample table"), anchor=False)
    st.markdown(
        _(
            "A simulated survey of a town: 20,000 people, 15 columns. Nobody in it exists, so nothing can go "
            "wrong. Hints lead through all steps in two minutes."
        )
    )
    if not frame.SAMPLE.exists():
        st.info(_("The sample table is not installed here. Upload a table below."))
    elif st.button(
        _("Use the sample table"),
        key="use_sample",
        icon=":material/table_chart:",
        type="secondary" if wizard().table else "primary",
    ):
        intake.sample()
        st.switch_page(view("describe"))


def _upload() -> None:
    w = wizard()
    st.subheader(_("Or upload your own table"), anchor=False)
    st.markdown(_("The file stays on the computer that runs this application, which sends nothing anywhere."))
    left, right = st.columns(2)
    tables = left.file_uploader(
        _("Table (CSV, Parquet or Excel), or several that belong together"),
        type=["csv", "gz", "parquet", "pq", "xlsx"],
        key=f"table_{w.uploads}",
        accept_multiple_files=True,
        help=_(
            "One row for each person or event, a first line of column names. CSV: commas between cells, UTF-8 "
            "text, also as .csv.gz. Excel: the first sheet of an .xlsx workbook. Several files at once, such as "
            "patients and their stays, are tables that refer to each other by keys. Larger files: see below."
        ),
    )
    with right:
        given, books = _description(f"up_{w.uploads}")
    label = _("Load these {number} tables").format(number=len(tables)) if len(tables) > 1 else _("Load this table")
    if st.button(label, key="load", disabled=not tables, icon=":material/upload_file:") and tables:
        _go(lambda: _load(list(tables), given, books), _("Storing the files and looking at their columns"))


def _load(tables: list[Any], given: Any, books: list[Any]) -> None:
    if len(tables) == 1:
        intake.uploaded(tables[0], given, books)
        return
    _no_books(books)
    reading.tables_uploaded(tables, given)


def _take(chosen: Any, given: Any, books: list[Any]) -> None:
    folder = Path(chosen).expanduser().absolute()
    if not reading.is_folder(folder):
        intake.from_server(chosen, given, books)
        return
    _no_books(books)
    reading.folder_from_server(folder, given)


def _no_books(books: list[Any]) -> None:
    """Errors: UsageError."""
    if books:
        raise synth.UsageError(_(intake.NO_BOOKS))


def _description(key: str) -> tuple[Any, list[Any]]:
    """What the steward already has in writing: a description and code books."""
    given = st.file_uploader(
        _("Description (optional, JSON)"),
        type=["json"],
        key=f"schema_{key}",
        help=_(
            "A description saved earlier on the page Describe, or SDV metadata. Without one, a draft is made "
            "from the table and you confirm it in the next step."
        ),
    )
    with st.popover(
        _("Code books"),
        help=_("Lists of a column's values and what they mean, as the publisher gives them."),
        icon=":material/menu_book:",
    ):
        books = st.file_uploader(
            _("Code books (optional, CSV)"),
            type=["csv"],
            accept_multiple_files=True,
            key=f"books_{key}",
            help=_(
                "One file for each column, named after it (sex.csv), with the header value,label. Whoever hands "
                "it over vouches for the values."
            ),
        )
    return given, list(books)


def _server() -> None:
    """Files that already lie on the server: any size, nothing is copied."""
    files, alone = stored.mounted(), access.me().alone
    if not files and not alone:
        return
    with st.expander(_("Or a file or folder that is already on this computer (any size, nothing is copied)")):
        path = None
        if files:
            path = st.selectbox(
                _("File"),
                files,
                index=None,
                key="server_file",
                format_func=lambda p: _shown(p, files),
                placeholder=_("Choose a table"),
                help=_(
                    "Tables in the folders that this installation offers; a folder of Parquet files is one "
                    "table, a folder of other files several that belong together."
                ),
            )
        else:
            st.caption(
                _(
                    "No folder of tables is offered here: name one in the environment variable SYNTH_TABLES when "
                    "you start the application, or type the path of a file."
                )
            )
        typed = (
            st.text_input(
                _("Path"),
                key="server_path",
                placeholder=_("/data/people.parquet"),
                help=_(
                    "The full path of a file, or of a folder of tables, on the computer that runs this application."
                ),
            )
            if alone
            else ""
        )
        chosen = typed.strip() or path
        given, books = _description("server")
        if st.button(_("Use this file"), key="use_file", disabled=not chosen, icon=":material/dns:") and chosen:
            _go(lambda: _take(chosen, given, books), _("Looking at the columns"))


def _shown(path: Any, files: list[Any]) -> str:
    same = [p for p in files if p.name == path.name]
    shown = str(path.name if len(same) == 1 else path)
    return _("{shown} (folder)").format(shown=shown) if path.is_dir() else shown


def _go(load: Any, message: str) -> None:
    try:
        with st.spinner(message):
            load()
    except synth.SynthError as error:
        frame.tell(error)
        return
    if not several(wizard()) and reading.asks(wizard()):
        st.rerun()
    st.switch_page(view("describe"))


page()
