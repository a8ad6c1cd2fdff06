"""Step 4: confirm, watch, cancel."""

from typing import Any

import streamlit as st

import synth
from app import frame, recent, words, work
from app.forecast import budget, forecast, short_by
from app.state import dataset, ready, view, wizard
from synth import jobs

POLL = 1.0


def page() -> None:
    """What will be charged, or how the run goes."""
    frame.head("run", "Charges the budget, reads the table once, and makes the synthetic one. It can be cancelled.")
    w = wizard()
    if w.job is not None and not _settled(jobs.Job(w.job)):
        _progress(str(w.job))
        return
    if w.job is not None:
        _ended(jobs.Job(w.job))
    if not ready(w)["run"]:
        if w.job is None:
            frame.needs("run", "Choose and describe a table and a budget first.", "describe" if w.table else "data")
        recent.table()
        return
    _confirm()
    recent.table()


def _settled(job: jobs.Job) -> bool:
    return job.status().final


def _confirm() -> None:
    w = wizard()
    try:
        plan = forecast(w)
    except synth.SynthError as error:
        frame.tell(error)
        st.caption("Nothing was read or spent. Change it on the page Budget.")
        return
    total = budget(w)
    name = frame.escape(dataset(w))
    with st.container(border=True):
        st.markdown(
            f"**Table:** {frame.escape(w.label)}  \n**Method:** {frame.escape(w.method)}  \n"
            f"**What is hidden:** {words.RELATIONS.get(w.relation, w.relation)}  \n"
            f"**Takes:** {words.about_seconds(plan.seconds)}"
        )
        st.markdown(
            f"**Will be charged to {name}: epsilon {w.epsilon:g}, delta {words.small(w.delta)}**, {_after(total)}."
        )
        st.caption(
            "The charge is written before the table is read and is not given back, also when the run fails later or "
            "you dislike the result. Running again is charged again, and choosing the best of several results adds "
            "up all of them."
        )
    if reason := short_by(w):
        st.error(reason, icon=":material/block:")
    elif st.button(f"Spend epsilon {w.epsilon:g} of {dataset(w)} and run", key="spend",
                   type="primary" if w.job is None else "secondary",
                   icon=":material/play_arrow:"):  # fmt: skip
        w.job = work.start(w).path
        st.rerun()


def _after(total: Any) -> str:
    if total is None or total.remaining_epsilon is None:
        return "which has no cap"
    return f"which has epsilon {total.remaining_epsilon:g} left"


@st.fragment(run_every=POLL)
def _progress(path: str) -> None:
    """Looks at the job's folder each second; the page is built anew when the run has ended."""
    job = jobs.Job(path)
    try:
        status = job.status()
        if status.final:
            st.rerun()
        _bar(job, status)
    except Exception as error:
        frame.tell(error)


def _bar(job: jobs.Job, status: jobs.Status) -> None:
    asked = job.cancel_asked
    left = "" if status.seconds_left is None else f", {words.about_seconds(status.seconds_left)} left"
    stage = "Stopping at the next safe point" if asked else words.STAGES.get(status.stage, status.stage)
    st.progress(status.fraction, text=f"**{stage}**, {100 * status.fraction:.0f} %{left}")
    st.caption("You may close this window: the run goes on, and this page finds it again.")
    paid = status.stage not in ("", "check")
    st.caption("The budget has been charged; cancelling now does not give it back." if paid else
               "Nothing is charged yet.")  # fmt: skip
    if st.button("Cancel the run", key="cancel", disabled=asked, icon=":material/stop_circle:"):
        job.cancel()
        st.rerun(scope="fragment")


def _ended(job: jobs.Job) -> None:
    """How the run ended, and where to go from here."""
    w, status = wizard(), job.status()
    if status.state == "done":
        st.success("The synthetic table is ready.", icon=":material/check_circle:")
        if st.button("Next: Result", type="primary", key="to_result", icon=":material/arrow_forward:"):
            st.switch_page(view("result"))
        st.divider()
        st.subheader("Run again", anchor=False)
        return
    message = words.plain(status.message).replace(str(job.request().get("table")), w.label or "the table")
    message = frame.escape(frame.sentence(message))
    if status.state == "cancelled":
        st.warning(f"{message}.", icon=":material/stop_circle:")
    else:
        st.error(f"{_lead(status.exit_code)}{message}", icon=":material/error:")
    st.caption(_spent(status.exit_code))


def _lead(code: int | None) -> str:
    known = words.ENDS.get(code if code is not None else 1, "")
    return f"The run failed: {known}. " if known else "The run failed. "


def _spent(code: int | None) -> str:
    if code in (2, 3, 4, 130):
        return "Nothing was spent. The rows were not used."
    if code == 5:
        return "The charge stands, because the rows had been read. The page Ledger shows it."
    return "The page Ledger shows whether the budget was charged."


page()
