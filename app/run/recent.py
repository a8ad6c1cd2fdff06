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
    running = next((f for f in result if not f[2].final), None)
    done = next((f for f in result if f[2].state == "done"), None)
    if running or done:
        with st.container(border=True):
            if running:
                st.markdown(_("**A run is under way:** {named}").format(named=_named(running)))
                if st.button(_("Watch it"), key="watch", type="primary"):
                    wizard().watched = True  # he who waits for it is shown the table, also where it is ready by then
                    _open(running[0], "privacy")
            elif done:
                st.markdown(_("**Your latest result:** {named}").format(named=_named(done)))
                if st.button(_("Open it"), key="open_latest"):
                    _open(done[0], "result")


def _open(job: jobs.Job, page: str) -> None:
    wizard().job = access.job("watch", job.path).path
    st.switch_page(view(page))


def come_back() -> None:
    """A page that was reloaded under its own address: goes on with the visitor's last table, and its run where it has.

    The first page of all does not: there one chooses.
    """
    w, name = wizard(), urlsplit(st.context.url or "").path.strip("/")
    page = EARLIER.get(name, name)
    if w.page or w.table is not None or w.job is not None or (page not in STEPS[1:] and name != "describe"):
        return
    if not (retained := stored.stored_tables()):
        return
    place, table, reported = retained[0]
    stored.resume(w, place, table, reported)
    last = next((f for f in paid_jobs() if str(f[1]["table"] or TABLES) == str(table)), None)
    if page != "table" and last is not None and (page == "result" or not last[2].final):
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
    if result := paid_jobs():
        frame.fold(_("All runs ({number})").format(number=len(result)), "all_runs", lambda: _all(result))


def _all(founds: list[Recent]) -> None:
    for i, (job, request, status) in enumerate(founds):
        left, right = st.columns([4, 1], vertical_alignment="center")
        ended = LABELS[status.state]
        if status.state == "failed" and status.exit_code is not None:  # the worker lived to tell why
            ended = _("failed: {get}").format(get=words.ENDS.get(status.exit_code, _("see its page")))
        left.markdown(_("{named}  \n:small[{ended}]").format(named=_named((job, request, status)), ended=ended))
        if right.button(_("Open"), key=f"open_{i}"):
            _open(job, "result" if status.state == "done" else "privacy")


def named(job: jobs.Job) -> str:
    """A run in a few words, for menus and headings."""
    request = job.request()
    free = _(", refitted free") if request.get("free") else ""
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
    return frame.escape(f"{_table(result[1])}, {named(result[0])}")


def when(job: jobs.Job) -> str:
    """When a job was made, in local time."""
    return words.moment(datetime.fromtimestamp((job.path / "request.json").stat().st_mtime))
