"""The full report for the steward: made in the background, followed, cancelled, downloaded."""

from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.run import runs
from app.run.runs import follow
from app.session import access, frame
from app.session.state import TABLES, wizard
from app.table import intake, stored
from synth import app_api
from synth.app_api import jobs
from synth.languages import _, current

PAGE = "steward-only.html"
HELD_OUT = "held-out-"  # how the file of held-out rows begins in the report's folder, until it is read
SHADOWS = 200  # runs with a row and as many without: a leak is certain by then


def section(job: jobs.Job, release: Path) -> None:
    """The finished page, how far one is, or the button that begins it."""
    page, latest = job.path / PAGE, _latest(job)
    if latest is not None and latest.status().final:
        for left in latest.path.glob(f"{HELD_OUT}*"):
            left.unlink(missing_ok=True)  # of a report that was ended before it could read them
    if latest is not None and not latest.status().final:
        follow(str(latest.path), about=_("Writes the full report. It spends nothing, and you may leave this page."))
    elif page.exists():
        access.offer(
            _("Download the full report (steward only)"),
            page.name if len(_pages(job)) == 1 else "steward-only.zip",
            "get_steward",
            _read,
            job,
            help=_("It is marked on every page and stays with you."),
        )
    else:
        if latest is not None and latest.status().state == "failed":
            st.error(_("No report was written: {plain}.").format(plain=frame.escape(runs.why(latest))))
        if latest is not None and latest.status().state == "cancelled":
            st.caption(_("The last one was cancelled; nothing was written or spent."))
        frame.fold(_("The full report"), "full_report", lambda: _ask(job, release))


def _ask(job: jobs.Job, release: Path) -> None:
    joined = runs.is_joined(job)  # such a report tries no shadow runs and takes no held-out rows
    tried = not joined and st.checkbox(
        _("With membership attacks by shadow runs"),
        key="shadow_runs",
        help=_(
            "Runs the method {shadows} times on made-up rows, with and without one of them. Takes minutes, "
            "and longer the larger the method."
        ).format(shadows=2 * SHADOWS),
    )
    held = None if joined else _held_out(job)
    if st.button(
        _("Make the full report"),
        key="make_report",
        icon=":material/lab_profile:",
        help=_("Prediction, groups of people, copies, effects of chance; about a minute."),
    ):
        try:
            start(job, release, shadow_runs=SHADOWS if tried else 0, test=held)
        finally:
            intake.forget(held)
        st.rerun()


def _held_out(job: jobs.Job) -> Any:
    """Real rows that the run did not see, where the steward has some."""
    return st.file_uploader(
        _("Real rows that the run did not see (optional)"),
        type=stored.KINDS,
        key=f"held_out_{wizard().uploads}_{job.path.name}",
        help=_(
            "A file like the table, of other people. The three risks (singling out, linking, inferring) are then "
            "measured against them: what is as right about people who are not in the table tells nothing of those who "
            "are. The file is removed once the report has read it."
        ),
    )


def start(job: jobs.Job, release: Path, *, shadow_runs: int = 0, test: Any = None) -> jobs.Job:
    """Puts the full report on a run in line, and notes that somebody looked. ``test``: an upload of held-out rows.

    Errors: InputError, UsageError.
    """
    request = job.request()
    who = access.allow("compare", request.get("owner"))
    stored.allow_table("use_table", Path(str(request["table"])), request.get("source"))
    asked = app_api.ReportRequest(
        reports=job.path.name,
        release=str(release),
        table=str(request["table"] or TABLES),
        source=request.get("source"),
        out=str(job.path / PAGE),
        owner=who.name,
        shadow_runs=shadow_runs,
        language=current(),
        test="" if test is None else HELD_OUT + stored.safe_name(test.name),
    )
    report = jobs.create(asked.stored())
    if test is not None:
        try:
            stored.keep(test, asked.test, report.path)
        except synth.InputError:
            report.cancel()
            raise
    jobs.looks.look(job, by=who.name)
    return runs.queued(report)


def _latest(job: jobs.Job) -> jobs.Job | None:
    """The newest report that was asked for on this run."""
    for item in jobs.listing():
        try:
            if item.request().get("reports") == job.path.name and access.mine(item):
                return item
        except synth.SynthError:
            continue
    return None


def _read(job: jobs.Job) -> bytes:
    access.allow("compare", job.request().get("owner"))
    if len(_pages(job)) == 1:
        return (job.path / PAGE).read_bytes()
    return access.zipped(_pages(job))


def _pages(job: jobs.Job) -> list[Path]:
    """The report's pages: of several tables one across them, and one for each."""
    return sorted(job.path.glob(f"{Path(PAGE).stem}*.html"))
