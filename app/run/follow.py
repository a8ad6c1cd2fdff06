"""A run that a form waits for, looked at every second until it ends."""

from collections.abc import Callable

import streamlit as st

import synth
from app.session import access, frame, words
from synth import jobs


@st.fragment(run_every=1.0)
def follow(path: str, ended: Callable[[jobs.Job, jobs.Status], None], *, waits: str, runs: str) -> None:
    """Says how it stands; ``ended`` takes the outcome. ``waits``, ``runs``: what is told while it does."""
    try:
        job = access.job("watch", path)
        status = job.status()
        if status.final:
            ended(job, status)
            st.rerun()
    except synth.SynthError as error:
        frame.tell(error)
        return
    ahead = jobs.ahead(job)
    st.info(f"{waits} {words.runs(ahead)} before it." if ahead else runs, icon=":material/hourglass_top:")
