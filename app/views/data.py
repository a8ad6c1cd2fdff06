"""Step 1: which table."""

import json
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

import synth
from app import frame, recent, stored, work
from app.state import take_table, view, wizard

GUESS = 10_000


def page() -> None:
    """The sample table or an upload."""
    frame.head(
        "data",
        "Facsimile turns a table about people into a **synthetic** one that can be shared: made-up rows with the same "
        "patterns, and a mathematical limit on what they can tell about any one person.",
    )
    recent.offer()
    _chosen()
    _sample()
    _upload()
    stored.offer()
    w = wizard()
    frame.onward("data", blocked="" if w.table else "Choose a table first.")


def _chosen() -> None:
    w = wizard()
    if w.table is None:
        return
    with st.container(border=True):
        count = len(w.plain.get("columns", {}))
        st.markdown(f"**Chosen:** {frame.escape(w.label)}, {count} columns")
        if not w.uploaded:
            return
        st.caption("Stored in a private folder on this computer until you remove it.")
        if st.button("Remove the stored copy", key="discard", icon=":material/delete:"):
            work.discard(w.table)
            w.table, w.label, w.plain = None, "", {}
            w.notice = "The stored copy is removed."
            st.rerun()


def _sample() -> None:
    st.subheader("Try it on the sample table", anchor=False)
    st.markdown(
        "A simulated survey of a town: 20,000 people, 15 columns. Nobody in it exists, so nothing can go wrong."
    )
    if not work.SAMPLE.exists():
        st.info("The sample table is not installed here. Upload a table below.")
    elif st.button("Use the sample table", key="use_sample", icon=":material/table_chart:"):
        facts = json.loads(synth.load(work.SAMPLE_SCHEMA).to_json())
        take_table(wizard(), work.SAMPLE, label="Town survey (sample)", plain=facts, uploaded=False,
                   rows=work.SAMPLE_ROWS, suggestions=[])  # fmt: skip
        st.switch_page(view("describe"))


def _upload() -> None:
    w = wizard()
    st.subheader("Or upload your own table", anchor=False)
    st.markdown("The file stays on this computer: the application runs here and sends nothing anywhere.")
    left, right = st.columns(2)
    table = left.file_uploader(
        "Table (CSV, .csv.gz or Parquet)", type=["csv", "gz", "parquet", "pq"], key=f"table_{w.uploads}",
        help="One row for each person, a first line of column names, commas between cells, UTF-8 text.",
    )  # fmt: skip
    given = right.file_uploader(
        "Description (optional, JSON)", type=["json"], key=f"schema_{w.uploads}",
        help="A description saved earlier on the page Describe. Without one, a draft is made from the table "
        "and you confirm it in the next step.",
    )  # fmt: skip
    if st.button("Load this table", key="load", disabled=table is None, icon=":material/upload_file:") and table:
        try:
            with st.spinner("Storing the file and looking at its columns"):
                _load(table, given)
        except synth.SynthError as error:
            frame.tell(error)
            return
        st.switch_page(view("describe"))


def _load(table: Any, given: Any) -> None:
    """Stores the upload and reads or drafts its description. Errors: InputError; then nothing is kept."""
    w = wizard()
    plain = _read_schema(given)
    path = work.keep(table, table.name)
    try:
        if plain is None:
            plain, notes = work.draft(path, {})
            plain["dataset"] = plain.get("dataset") or path.name.split(".")[0]
        else:
            work.check(path, plain)
            notes = []
    except synth.SynthError as error:
        work.discard(path)
        raise synth.InputError(str(error).replace(str(path), table.name)) from None
    finally:
        _forget(table, given)
    take_table(w, path, label=table.name, plain=plain, uploaded=True, rows=GUESS, suggestions=notes)
    stored.remember(w)


def _read_schema(given: Any) -> dict[str, Any] | None:
    if given is None:
        return None
    try:
        found = json.loads(given.getvalue().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise synth.InputError(f"{given.name}: not a JSON file; upload a description saved here, or none") from None
    return json.loads(synth.parse(found, name=given.name).to_json())


def _forget(*uploads: Any) -> None:
    """Gives the memory of uploads back; the widgets start empty again."""
    context = get_script_run_ctx()
    remove = getattr(getattr(context, "uploaded_file_mgr", None), "remove_file", None)
    for upload in uploads:
        if upload is not None and remove is not None and context is not None:
            remove(session_id=context.session_id, file_id=upload.file_id)
    wizard().uploads += 1


page()
