"""The reviewer's page: spends above the threshold, and results that wait to be released."""

import streamlit as st

from app.result import export, releasing
from app.run import caps, runs
from app.session import frame, words
from synth import app_api
from synth.app_api import jobs, looks
from synth.languages import _, prose


def page() -> None:
    """What waits for a decision."""
    frame.head("approve", _("Runs that spend more than a steward may alone, and results that stewards ask to release."))
    held = list(jobs.those(lambda job: job.status().state == "held"))
    asked = list(jobs.those(lambda job: releasing.asked(job) is not None and looks.released(job) is None))
    st.subheader(_("Spends"), anchor=False)
    if not held:
        st.info(_("No spend waits for approval. Runs above the threshold of this installation appear here."))
    for i, job in enumerate(held):
        _spend(i, job)
    st.subheader(_("Releases"), anchor=False)
    if not asked:
        st.info(_("No result waits to be released. What stewards ask to release appears here."))
    for i, job in enumerate(asked):
        _release(i, job)
    said = _("Shows what was asked for meanwhile.")
    st.button(_("Look again"), key="look_again", icon=":material/refresh:", help=said)


def _spend(i: int, job: jobs.Job) -> None:
    request = job.request()
    with st.container(border=True):
        left = caps.of(request["dataset"]).left
        said = _("**{dataset}**: epsilon {epsilon:g}, delta {delta}, {method}; asked by {get}. Budget: {left}.")
        names = {n: frame.escape(request[n]) for n in ("dataset", "method")}
        names["get"] = frame.escape(request.get("owner") or _("nobody"))
        budget = _("no cap") if left is None else _("{remaining_epsilon:g} left").format(remaining_epsilon=left)
        delta = words.small(request["delta"])
        st.markdown(said.format(epsilon=request["epsilon"], delta=delta, left=budget, **names))
        st.caption(
            _("It means: {meaning}. {caution}").format(
                meaning=frame.escape(prose(app_api.meaning(request["epsilon"], relation=request["relation"]))),
                caution=words.caution(request["epsilon"])[1],
            )
        )
        with st.container(horizontal=True):
            if st.button(_("Approve and run"), key=f"approve_{i}", type="primary", icon=":material/check:"):
                runs.approve(job)
                st.rerun()
            if st.button(_("Refuse"), key=f"refuse_{i}", icon=":material/close:"):
                runs.refuse(job)
                st.rerun()


def _release(i: int, job: jobs.Job) -> None:
    with st.container(border=True):
        st.markdown(f"**{frame.escape(str(job.request()['dataset']))}**: {frame.escape(runs.named(job))}")
        export.shown(job)
        group, seen = releasing.together(job), st.session_state.get(f"seen_{job.path.name}")
        st.session_state[f"seen_{job.path.name}"] = releasing.to_sign(job)
        missing = [one for one in group if releasing.asked(one) is None and looks.released(one) is None]
        if missing:
            st.error(
                _("{sentence}. {runs} of these nobody has asked to release yet.").format(
                    sentence=frame.escape(frame.sentence(releasing.barrier(job))), runs=words.runs(len(missing))
                ),
                icon=":material/block:",
            )
        elif st.button(
            _("Release it") if len(group) == 1 else _("Release all {number} together").format(number=len(group)),
            key=f"release_{i}",
            type="primary",
            icon=":material/check:",
        ):
            releasing.release_all(job, seen=seen)
            st.rerun()


page()
