"""A paid private selection: noisy counts decide which of several compared runs may leave."""

from pathlib import Path

import streamlit as st

import synth
from app.run import recent, runs
from app.run.follow import follow
from app.session import access, frame, words
from app.session.aside import worker
from app.table import real
from synth.app_api import jobs, looks
from synth.languages import _

USUAL, USUAL_DELTA, SHOWN = 0.1, 1e-6, 3
PATIENCE = 300.0  # seconds that counting synthetic rows may take


def section(job: jobs.Job, others: list[jobs.Job]) -> None:
    """The form that spends, the wait, and the outcome, for a run and the others that were compared with real rows."""
    candidates = [job, *others]
    if not all(access.mine(one) for one in others):
        return  # somebody else's runs were compared too: no counts of this visitor's may decide about them
    with st.expander(_("Or let noisy counts decide, for a charge")):
        st.caption(
            _(
                "Some tables of counts are asked of the real rows under noise. The application chooses the run "
                "that comes nearest to them, and that one may leave: epsilon covers such a choice, since it "
                "rests on the noisy counts alone. Choose the columns by what the table is for, not by what the "
                "comparison showed; the decision is made once."
            ),
            help=_("In the terms of the field: a paid private selection."),
        )
        running = _latest(job)
        if running is not None and not running.status().final:
            follow(str(running.path), _settle, about=_("Counts the columns under noise; these counts decide."))
            return
        if running is not None:
            _outcome(running)
        if looks.decided(job, others):
            return
        if job.request().get("source") or not real.there(job):
            st.info(_("This needs the real table as a file on this computer."), icon=":material/info:")
            return
        _form(job, candidates)


def _latest(job: jobs.Job) -> jobs.Job | None:
    """The newest decision that this run took part in."""
    for item in jobs.listing():
        try:
            if job.path.name in item.request().get("decides", ()) and access.mine(item):
                return item
        except synth.SynthError:
            continue
    return None


def _form(job: jobs.Job, candidates: list[jobs.Job]) -> None:
    places = [str(runs.release(c)) for c in candidates]
    names, _other = worker.ask("decidable", places, seconds=PATIENCE)
    columns = st.multiselect(
        _("Columns"),
        names,
        default=names[:SHOWN],
        key="decide_columns",
        help=_("What matters to you: their pairs are counted."),
        placeholder=_("Choose columns"),
    )
    left, right = st.columns(2)
    epsilon = left.number_input(
        _("Epsilon for deciding"),
        min_value=0.01,
        value=USUAL,
        step=0.05,
        key="decide_epsilon",
        help=_("It is charged in addition to the runs. A larger epsilon decides more reliably."),
    )
    delta = right.selectbox(
        _("Delta for deciding"),
        [1e-5, USUAL_DELTA, 1e-7],
        index=1,
        key="decide_delta",
        format_func=words.small,
        help=_(words.DELTA_HELP),
    )
    if not st.button(
        _("Spend epsilon {epsilon:g} and decide").format(epsilon=epsilon),
        key="decide",
        disabled=not columns,
        icon=":material/how_to_vote:",
    ):
        return
    try:
        _other, asked = worker.ask("decidable", places, columns, seconds=PATIENCE)
        runs.decide(job, candidates, asked, epsilon=float(epsilon), delta=float(delta))
    except synth.SynthError as error:
        frame.tell(error)
        return
    st.rerun()


def _settle(job: jobs.Job, status: jobs.Status) -> None:
    """Records the winner: the run whose synthetic table is nearest to the noisy counts; none without counts."""
    if status.state != "done":
        return
    folder, who = job.path.parent, access.allow("decide", job.request().get("owner"))
    candidates = [access.job("decide", folder / name) for name in job.request()["decides"]]
    places = [str(runs.release(c)) for c in candidates]
    gaps = worker.ask("decided", str(runs.counted(job)), places, seconds=PATIENCE, keep=False)
    winner = candidates[gaps.index(min(gaps))]
    line = runs.charged_line(job) if job.run else None
    looks.decide(winner, [c for c in candidates if c.path != winner.path], by=who.name, line=line.number if line else 0)


def counts(job: jobs.Job, others: list[jobs.Job]) -> Path:
    """The noisy counts that decided between exactly these runs. Errors: InputError where they are gone."""
    part = sorted(one.path.name for one in (job, *others))
    for item in jobs.listing():
        try:
            if sorted(item.request().get("decides", ())) == part and runs.counted(item).exists():
                return runs.counted(item)
        except synth.SynthError:
            continue
    raise synth.InputError(_("the noisy counts that decided are no longer there; release all of these runs together"))


def _outcome(job: jobs.Job) -> None:
    status = job.status()
    if status.state != "done":
        st.error(f"{frame.escape(runs.why(job))}.", icon=":material/error:")
        return
    for name in job.request()["decides"]:
        one = jobs.Job(job.path.parent / name)
        if (looks.choice(one) or {}).get("how") == "private":
            st.info(
                _("Noisy counts chose {named}. Open it under “All runs” to download it.").format(
                    named=frame.escape(recent.named(one))
                ),
                icon=":material/how_to_vote:",
            )
            return
    _settle(job, status)
    st.rerun()
