"""Runs that outlive the page: offered again after a reload."""

from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st

import synth
from app.session import access, frame, words
from app.session.state import EARLIER, STEPS, TABLES, ready, view, wizard
from app.table import stored
from synth.app_api import jobs
from synth.languages import Texts, _

SHOWN = 10
LABELS = Texts(
    {
        "held": "waits for a reviewer",
        "queued": "waiting",
        "running": "running",
        "done": "done",
        "failed": "failed",
        "cancelled": "cancelled",
    }
)


Recent = tuple[jobs.Job, dict, jobs.Status]


def paid_jobs() -> list[Recent]:
    """The newest runs on private tables, with request and status; unreadable ones are left out."""
    results = []
    for job in jobs.listing():
        try:
            request, status = job.request(), job.status()
        except synth.SynthError:
            continue
        if "epsilon" in request and "table" in request and jobs.looks.makes_rows(job) and access.mine(job):
            results.append((job, request, status))
        if len(results) == SHOWN:
            break
    return results


def offer() -> None:
    """On the first page of a new session: what is running, and what has finished."""
    if wizard().table is not None or wizard().job is not None:
        return
    result = paid_jobs()
    running = [f for f in result if not f[2].final]
    done = [f for f in result if f[2].state == "done"]
    if running:
        with st.container(border=True):
            st.markdown(_("**A run is under way:** {named}").format(named=_named(running[0])))
            if st.button(_("Watch it"), key="watch", type="primary"):
                wizard().job = access.job("watch", running[0][0].path).path
                wizard().watched = True  # he who waits for it is shown the table, also where it is ready by then
                st.switch_page(view("privacy"))
    elif done:
        with st.container(border=True):
            st.markdown(_("**Your latest result:** {named}").format(named=_named(done[0])))
            if st.button(_("Open it"), key="open_latest"):
                wizard().job = access.job("watch", done[0][0].path).path
                st.switch_page(view("result"))


def come_back() -> None:
    """A page that was reloaded under its own address: goes on with the visitor's last table, and its run where it has.

    The first page of all does not: there one chooses.
    """
    w, name = wizard(), urlsplit(st.context.url or "").path.strip("/")
    if (
        w.page
        or w.table is not None
        or w.job is not None
        or (EARLIER.get(name, name) not in STEPS[1:] and name != "describe")
    ):
        return
    retained = stored.stored_tables()
    if not retained:
        return
    place, table, reported = retained[0]
    stored.resume(w, place, table, reported)
    last = next((f for f in paid_jobs() if str(f[1]["table"] or TABLES) == str(table)), None)
    if (
        EARLIER.get(name, name) != "table"
        and last is not None
        and (EARLIER.get(name, name) == "result" or not last[2].final)
    ):
        w.job = access.job("watch", last[0].path).path
    w.notice = _("Went on with the last table: {label}.").format(label=frame.escape(w.label))


def chosen(name: str) -> jobs.Job | None:
    """The run that a page is about; None where there is no result yet, which the page then says."""
    w = wizard()
    if not ready(w)[name] or w.job is None:
        frame.needs(name, _("There is no result yet. A run makes one."), "privacy" if ready(w)["privacy"] else "table")
        table()
        return None
    return access.job("watch", w.job)


def table() -> None:
    """All recent runs, each with a button to open it."""
    result = paid_jobs()
    if result:
        frame.fold(_("All runs ({number})").format(number=len(result)), "all_runs", lambda: _all(result))


def _all(founds: list[Recent]) -> None:
    for i, (job, request, status) in enumerate(founds):
        left, right = st.columns([4, 1], vertical_alignment="center")
        ended = _ended(status)
        left.markdown(_("{named}  \n:small[{ended}]").format(named=_named((job, request, status)), ended=ended))
        target = "result" if status.state == "done" else "privacy"
        if right.button(_("Open"), key=f"open_{i}"):
            wizard().job = access.job("watch", job.path).path
            st.switch_page(view(target))


def _ended(status: jobs.Status) -> str:
    """How a run stands, with the reason of a failure where the worker lived to tell it."""
    if status.state != "failed" or status.exit_code is None:
        return LABELS[status.state]
    return _("failed: {get}").format(get=words.ENDS.get(status.exit_code, "see the page Privacy and accuracy"))


def named(job: jobs.Job) -> str:
    """A run in a few words, for menus and headings."""
    request = job.request()
    free = _(", refitted") if request.get("free") else ""
    return _("{get}, epsilon {epsilon:g}{free}, {when}").format(
        get=request.get("method"), epsilon=request["epsilon"], free=free, when=when(job)
    )


def label(job: Path | None) -> str:
    """Of which table a run is, for whoever opened its result in a later visit; empty without one."""
    try:
        return "" if job is None else _table(jobs.Job(job).request())
    except synth.SynthError:
        return ""


def _table(request: dict) -> str:
    return str(request.get("label") or request.get("dataset") or str(request["table"]).rsplit("/", 1)[-1])


def _named(result: Recent) -> str:
    job, request, _other = result
    name = _table(request)
    free = _(", refitted free") if request.get("free") else ""
    return _("{name}, {get}, epsilon {epsilon:g}{free}, {when}").format(
        name=frame.escape(str(name)), get=request.get("method"), epsilon=request["epsilon"], free=free, when=when(job)
    )


def when(job: jobs.Job) -> str:
    """When a job was made, in local time."""
    made = (job.path / "request.json").stat().st_mtime
    return datetime.fromtimestamp(made).strftime("%d %b %Y %H:%M")
