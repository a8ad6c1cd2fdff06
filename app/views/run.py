"""Step 5: confirm, watch, cancel."""

from typing import Any

import streamlit as st

import synth
from app.result import export
from app.run import background, caps, forecast, learning, options, prior, recent, runs
from app.run.forecast import begun, budget, planned, seconds, short_by, timed
from app.run.runs import in_progress
from app.session import access, charts, frame, words
from app.session.aside import planner, runner
from app.session.state import (
    Wizard,
    dataset,
    facts_of,
    joined_method,
    lacks,
    linked,
    ready,
    several,
    together,
    view,
    wizard,
)
from app.table import unit
from synth.app_api import jobs
from synth.languages import _, ngettext, phrase

POLL = 1.0
LAST = "write"  # a run's last stage: by then it has given back the memory of its fit
AT_EASE = 1.0  # seconds in which the next page is drawn, before the bundle is packed


def page() -> None:
    """What will be charged, or how the run goes."""
    w = wizard()
    frame.head("run", _lead_of(w))
    if w.job is not None and not access.job("watch", w.job).status().final:
        _progress(str(w.job))
        if st.button(
            _("Leave it running and prepare another run"),
            key="another",
            icon=":material/add:",
            help=_("This run goes on; another one waits in line until it is done."),
        ):
            w.job = None
            st.rerun()
        recent.table()
        return
    if w.job is not None:
        _ended(access.job("watch", w.job))
    if not ready(w)["run"]:
        if w.job is None:
            frame.needs("run", *lacks(w))
        recent.table()
        return
    waits = _confirm()
    recent.table()
    if waits:
        _await()


def _lead_of(w: Wizard) -> str:
    """What the page is for; another fit to a stored release is charged nothing."""
    if w.job is not None and access.job("watch", w.job).request().get("free"):
        return _("Fits another model to a stored release: **it costs nothing** and reads no row. It can be cancelled.")
    return _("Charges the budget, reads the table once, and makes the synthetic one. It can be cancelled.")


def _await() -> None:
    """Draws the page again once the forecast is there. It all stands by then, and a click ends the waiting."""
    wanted = begun(wizard())
    while not background.over(wanted, patience=background.LOOK):
        wizard()  # a click is heard where the session is looked at
    st.rerun()


def _confirm() -> bool:
    """What will be charged, and the button; returns whether its forecast is still being worked out."""
    w = wizard()
    try:
        waits = not background.over(begun(w), patience=0.0)
        plan = None if waits else planned(w)
    except synth.SynthError as error:
        frame.tell(error)
        st.caption(_("Nothing was read or spent. Change it on the pages Budget and Method."))
        return False
    total = budget(w)
    name = frame.escape(dataset(w))
    takes = _("not known beforehand") if plan is None or together(w) else words.about_seconds(seconds(plan))
    if plan is not None and not together(w) and not timed(w.method):
        takes = _("more than {seconds}: it is trained").format(seconds=words.short_seconds(seconds(plan)))
    takes = _("being worked out; go on meanwhile") if waits else takes
    method = (
        f"{frame.escape(w.method)}{_options(w.options)}"
        if not together(w)
        else _("{method}, of all tables together").format(method=joined_method(w))
        if several(w)
        else _("{method}, with the rows of one person together").format(method=joined_method(w))
    )
    with st.container(border=True):
        st.markdown(
            _(
                "**Table:** {label}  \n**Method:** {method}  \n**What is hidden:** {hidden}  \n**Takes:** {takes}{line}"
            ).format(label=frame.escape(w.label), method=method, hidden=_hidden(w), takes=takes, line=_line())
        )
        if known_names := prior.line(w):
            st.markdown(_("**Prior knowledge:** {names}").format(names=known_names))
        if plan is not None:
            steps = forecast.joined_stages(plan) if together(w) else _stages(plan)
            with st.expander(_("Stages of the spend ({number})").format(number=len(next(iter(steps.values()))))):
                st.table(steps, hide_index=True)
        st.markdown(
            _("**Will be charged to {name}: epsilon {epsilon:g}, delta {delta}**, {after}.").format(
                name=name, epsilon=w.epsilon, delta=words.small(w.delta), after=_after(total)
            )
        )
        st.caption(
            _(
                "The charge is written before the table is read and is not given back, also when the run fails "
                "later or you dislike the result. Running again is charged again, and choosing the best of "
                "several results adds up all of them."
            )
        )
    if not several(w):
        if unit.person(w) and (most := w.plain.get("max_rows") or 1) > 1:
            st.caption(unit.joined(most) if linked(w) else unit.alone(most))
        options.written_choice(w)
    if learning.same_choice(w):
        return waits
    if reason := short_by(w) or _barred() or _uncapped() or prior.barred(w):
        st.error(frame.escape(reason), icon=":material/block:")
    elif st.button(
        _label(), key="spend", type="primary" if w.job is None else "secondary", icon=":material/play_arrow:"
    ):
        if not learning.charged_elsewhere(w):
            w.job = runs.start(w).path
            planner.rest()
            runner.rest()
        st.rerun()
    return waits


def _hidden(w: Wizard) -> str:
    """What nobody can tell: of a person with several rows all that are kept, of several tables a whole unit."""
    short = words.RELATIONS_SHORT.get(w.relation, w.relation)
    if several(w):
        result, _other = facts_of(w)
        return short if result is None else short.replace(_("one row"), frame.escape(phrase(result.unit_in_words)))
    if not unit.person(w):
        return short
    most = w.plain.get("max_rows") or 1
    return short.replace(
        _("one row"),
        ngettext("one person with {n} row", "one person with up to {n} rows", most),
    )


def _label() -> str:
    w = wizard()
    if access.rules().needs_approval(dataset(w), w.epsilon):
        return _("Ask a reviewer to spend epsilon {epsilon:g} of {dataset}").format(
            epsilon=w.epsilon, dataset=dataset(w)
        )
    return _("Spend epsilon {epsilon:g} of {dataset} and run").format(epsilon=w.epsilon, dataset=dataset(w))


def _barred() -> str:
    """Why this visitor may not spend, empty when he may."""
    who, name = access.me(), dataset(wizard())
    if access.rules().may_spend(who, name):
        return ""
    return _("{name} may not spend of {name2}. Ask whoever keeps the file of roles.").format(name=who.name, name2=name)


def _uncapped() -> str:
    """Before the first spend somebody chooses a cap, or none: on the page Budget."""
    name = dataset(wizard())
    if caps.decided(name):
        return ""
    return _(
        "Nobody has chosen a cap on {name} yet. Choose one, or none, on the page Budget and go on from there."
    ).format(name=name)


def _line() -> str:
    """How many runs are before this one, where there are any."""
    waiting = [j for j in jobs.listing() if _waits(j)]
    return (
        ngettext(", after {n} run that is in line", ", after {n} runs that are in line", len(waiting))
        if waiting
        else ""
    )


def _waits(job: jobs.Job) -> bool:
    try:
        status = job.status()
    except synth.SynthError:
        return False
    return not status.final and status.state != "held"


def _options(options: dict[str, Any]) -> str:
    return f" ({frame.escape(', '.join(f'{n} {v}' for n, v in options.items()))})" if options else ""


def _stages(plan: Any) -> dict[str, list[str]]:
    return {
        _("Asks for"): words.asks([s.purpose for s in plan.steps]),
        _("Tables"): [f"{s.tables:,}" for s in plan.steps],
        _("Cells"): [f"{s.cells:,}" for s in plan.steps],
        _("Noise"): [_span(words.count(s.sigma_least), words.count(s.sigma_most)) for s in plan.steps],
    }


def _span(least: str, most: str) -> str:
    return least if least == most else _("{least} to {most}").format(least=least, most=most)


def _after(total: Any) -> str:
    if total is None or total.remaining_epsilon is None:
        return (
            _("which has no cap, as was decided")
            if caps.decided(dataset(wizard()))
            else _("whose cap is still to be chosen")
        )
    return _("which has epsilon {remaining_epsilon:g} left").format(remaining_epsilon=total.remaining_epsilon)


@st.fragment(run_every=POLL)
def _progress(path: str) -> None:
    """Looks at the job's folder each second; the page is built anew when the run has ended."""
    try:
        job = access.job("watch", path)
        status = job.status()
        if status.final:
            st.rerun()
        _bar(job, status)
        if status.stage == LAST:
            runner.warm()  # it packs the bundle
    except Exception as error:
        frame.tell(error)


def _bar(job: jobs.Job, status: jobs.Status) -> None:
    asked, free = job.cancel_asked, bool(job.request().get("free"))
    st.progress(status.fraction, text=in_progress(job, status))
    st.caption(_("You may close this window: the run goes on, and this page finds it again."))
    paid = status.state == "running" and status.stage not in ("", "check") and not free
    st.caption(
        _("This costs nothing: it starts from a stored release.")
        if free
        else _("The budget has been charged; cancelling now does not give it back.")
        if paid
        else _("Nothing is charged yet.")
    )
    if len(status.losses) > 1:
        st.altair_chart(charts.losses(status.losses), key="losses")
        st.caption(
            _("Training loss, now {losses:.4g}. It is computed from the release alone.").format(
                losses=status.losses[-1][1]
            )
        )
    if st.button(_("Cancel the run"), key="cancel", disabled=asked, icon=":material/stop_circle:"):
        runs.cancel(job)
        st.rerun(scope="fragment")


def _ended(job: jobs.Job) -> None:
    """How the run ended, and where to go from here."""
    status = job.status()
    if status.state == "done":
        st.success(_("The synthetic table is ready."), icon=":material/check_circle:")
        background.soon(lambda: export.begun(job), seconds=AT_EASE)
        if st.button(_("Next: Review"), type="primary", key="to_result", icon=":material/arrow_forward:"):
            st.switch_page(view("review"))
        st.divider()
        st.subheader(_("Run again"), anchor=False)
        return
    message = frame.escape(runs.why(job))
    if status.state == "cancelled":
        st.warning(f"{message}.", icon=":material/stop_circle:")
    else:
        st.error(f"{_lead(status.exit_code)}{message}", icon=":material/error:")
    st.caption(_spent(job, status))


def _lead(code: int | None) -> str:
    known = words.ENDS.get(code if code is not None else 1, "") if code is not None else ""
    return _("The run failed: {known}. ").format(known=known) if known else _("The run failed. ")


def _spent(job: jobs.Job, status: jobs.Status) -> str:
    if job.request().get("free") or status.exit_code in (2, 3, 4, 130) or status.pid is None:
        return _("Nothing was spent. The rows were not used.")
    try:
        line = runs.charged_line(job)
    except synth.InputError as error:
        return _("Whether it was charged is not known here: {plain}.").format(
            plain=frame.escape(words.plain(str(error)))
        )
    if line is None:
        return _("Nothing was spent: the ledger holds no charge by this run.")
    return _(
        "The charge stands: epsilon {epsilon:g} of {dataset}, line {number} of the ledger, because the rows "
        "may have been read."
    ).format(epsilon=line.epsilon, dataset=frame.escape(line.dataset), number=line.number)


page()
