"""How a job stands, in words; one that a form waits for is looked at every second until it ends."""

from collections.abc import Callable

import streamlit as st

import synth
from app.run import runs
from app.session import access, frame, words
from synth.app_api import jobs
from synth.languages import _, phrase


@st.fragment(run_every=1.0)
def follow(path: str, ended: Callable[[jobs.Job, jobs.Status], None], *, about: str) -> None:
    """Says how it stands and lets it be cancelled; ``ended`` takes the outcome. ``about``: what it does."""
    try:
        job = access.job("watch", path)
        status = job.status()
        if status.final:
            ended(job, status)
            st.rerun()
        st.progress(status.fraction, text=now(job, status))
        st.caption(about)
        if st.button(
            _("Cancel"),
            key="cancel_beside",
            disabled=job.cancel_asked,
            icon=":material/stop_circle:",
            help=_("Nothing is spent before the charge is written; later it is not given back."),
        ):
            runs.cancel(job)
            st.rerun(scope="fragment")
    except synth.SynthError as error:
        frame.tell(error)


def now(job: jobs.Job, status: jobs.Status) -> str:
    """The stage, how far it is, and about how long it will take; in line, how many are before it."""
    if job.cancel_asked:
        return _("**Stopping at the next safe point**")
    if status.state == "held":
        return _("**Waiting for a reviewer to approve it**")
    if status.state == "queued" and (before := jobs.ahead(job)):
        return _("**Waiting for {runs} before it**").format(runs=words.runs(before))
    left = (
        ""
        if status.seconds_left is None
        else _(", {about_seconds} left").format(about_seconds=words.about_seconds(status.seconds_left))
    )
    return f"**{phrase(jobs.stage_in_words(status.stage))}**, {100 * status.fraction:.0f} %{left}"
