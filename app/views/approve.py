"""The reviewer's page: spends above the threshold, and results that wait to be released."""

import streamlit as st

import synth
from app.result import export, releasing
from app.run import recent, runs
from app.session import frame, words
from synth import app_api
from synth.app_api import jobs, looks


def page() -> None:
    """What waits for a decision."""
    frame.head("approve", "Runs that spend more than a steward may alone, and results that stewards ask to release.")
    held = [j for j in jobs.listing() if _state(j) == "held"]
    asked = [j for j in jobs.listing() if releasing.asked(j) is not None and looks.released(j) is None]
    st.subheader("Spends", anchor=False)
    if not held:
        st.info(
            "No spend waits for approval. Runs above the threshold of this installation appear here.",
            icon=":material/info:",
        )
    for i, job in enumerate(held):
        _spend(i, job)
    st.subheader("Releases", anchor=False)
    if not asked:
        st.info("No result waits to be released. What stewards ask to release appears here.", icon=":material/info:")
    for i, job in enumerate(asked):
        _release(i, job)
    st.button("Look again", key="look_again", icon=":material/refresh:", help="Shows what was asked for meanwhile.")


def _state(job: jobs.Job) -> str:
    try:
        return job.status().state
    except synth.SynthError:
        return ""


def _spend(i: int, job: jobs.Job) -> None:
    request = job.request()
    with st.container(border=True):
        total = next(iter(synth.Ledger().summary(request["dataset"])), None)
        left = "no cap" if total is None or total.remaining_epsilon is None else f"{total.remaining_epsilon:g} left"
        st.markdown(
            f"**{frame.escape(request['dataset'])}**: epsilon {request['epsilon']:g}, delta "
            f"{words.small(request['delta'])}, {frame.escape(request['method'])}; asked by "
            f"{frame.escape(request.get('owner') or 'nobody')}. Budget: {left}."
        )
        st.caption(
            f"It means: {frame.escape(app_api.meaning(request['epsilon'], relation=request['relation']))}. "
            f"{words.caution(request['epsilon'])[1]}"
        )
        with st.container(horizontal=True):
            if st.button("Approve and run", key=f"approve_{i}", type="primary", icon=":material/check:"):
                runs.approve(job)
                st.rerun()
            if st.button("Refuse", key=f"refuse_{i}", icon=":material/close:"):
                runs.refuse(job)
                st.rerun()


def _release(i: int, job: jobs.Job) -> None:
    with st.container(border=True):
        st.markdown(f"**{frame.escape(str(job.request()['dataset']))}**: {frame.escape(recent.named(job))}")
        export.shown(job)
        group = releasing.together(job)
        missing = [one for one in group if releasing.asked(one) is None and looks.released(one) is None]
        if missing:
            st.error(
                f"{frame.escape(frame.sentence(releasing.barrier(job)))}. {words.runs(len(missing))} of these "
                "nobody has asked to release yet.",
                icon=":material/block:",
            )
        elif st.button(
            "Release it" if len(group) == 1 else f"Release all {len(group)} together",
            key=f"release_{i}",
            type="primary",
            icon=":material/check:",
        ):
            releasing.release_all(job)
            st.rerun()


page()
