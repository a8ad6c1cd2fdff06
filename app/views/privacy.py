"""Privacy and accuracy: how much may be learnt of anybody, what that buys, and the button that makes the table."""

from collections.abc import Callable
from math import exp, log
from typing import Any

import streamlit as st

import synth
from app.result import export
from app.run import caps, forecast, learning, options, prior, recent, runs
from app.session import access, charts, frame, words, workers
from app.session.state import (
    Wizard,
    dataset,
    facts_of,
    lacks,
    linked,
    ready,
    several,
    together,
    view,
    wizard,
)
from app.table import unit
from synth import app_api
from synth.app_api import jobs
from synth.languages import _, ngettext, phrase

LOW, HIGH, STOPS, MOST = 0.05, 10.0, 54, 1000
DELTAS = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9]
SAFE = 0.1  # of a row: what may be published whole, on average, under a delta that is proposed
POLL = 1.0  # seconds between looks at a run
AT_EASE = 1.0  # seconds in which the next page is drawn, before the bundle is packed


def _grid() -> list[float]:
    """Stops of the slider, at equal ratios and of two digits."""
    raw = [LOW * exp(log(HIGH / LOW) * i / (STOPS - 1)) for i in range(STOPS)]
    return sorted({float(f"{v:.2g}") for v in raw} | {0.1, 0.5, 1.0, 2.0, 3.0, 5.0})


GRID = _grid()


def page() -> None:
    """Epsilon and what it buys, or how the run goes."""
    w = wizard()
    frame.head("privacy", _lead_of(w))
    job = None if w.job is None else access.job("watch", w.job)
    if job is not None and not job.status().final:
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
    if job is not None:
        _ended(w, job)
    if not ready(w)["privacy"]:
        if job is None:
            frame.needs("privacy", *lacks(w))
        recent.table()
        return
    _choose(w)


def _choose(w: Wizard) -> None:
    """The slider, what it buys, what is left, and the button that spends."""
    _epsilon()
    _meaning()
    left, right = st.columns([3, 2])
    with right:
        short = _left()
        learning.size(w)
    blocked = short or _blocked()
    with left:
        st.subheader(_("What to expect"), anchor=False)
        draw = _expected(w) if not blocked else _nothing
        uses = st.container()
        prior.worth()
        worth = st.container()
    with right:
        frame.fold(_("Experts: what is hidden, delta, other methods"), "experts", lambda: _experts(w))
        costs = st.container()
    fits = together(w) or _fits(w)
    if not fits:
        blocked = blocked or _("Choose a method that fits first.")
    _person(w)
    twins = learning.same_choice(w)
    if barred := _barred(w) or prior.barred(w):
        st.error(frame.escape(barred), icon=":material/block:")
    blocked = blocked or barred
    frame.onward("privacy", blocked=frame.escape(blocked), beside=lambda: None if twins or blocked else _spend(w))
    recent.table()
    draw()
    if not blocked:
        known = w.method == words.RECOMMENDED or together(w)
        workers.then(
            forecast.begun(w),
            costs,
            lambda: _price(w, known=known),
            about=_("Noise, time and memory are being worked out"),
        )
    prior.worth_later(worth)
    forecast.uses_later(uses)


def _experts(w: Wizard) -> None:
    """What is hidden, the allowance, the method and its options, and how the table is written."""
    _hides(w)
    _delta()
    if together(w):
        forecast.joined_head(w)
    else:
        _choice(w)
    if not several(w):
        options.written_choice(w)


def _lead_of(w: Wizard) -> str:
    """What the page is for; another fit to a stored release is charged nothing."""
    if w.job is not None and access.job("watch", w.job).request().get("free"):
        return _("Fits another model to a stored release: **it costs nothing** and reads no row. It can be cancelled.")
    return _("How much may the result reveal at most? **Nothing is read or spent before you press the button.**")


def _blocked() -> str:
    w = wizard()
    if not 0 < w.epsilon < MOST:
        return _("First choose an epsilon above 0.")
    if not w.rows:
        return _("First state roughly how many rows there are.")
    if forecast.delta_note(w):
        return _("First choose a smaller delta.")
    return _("First correct what the red box says.") if forecast.short_by(w) else ""


def _epsilon() -> None:
    w = wizard()
    if "epsilon_number" not in st.session_state:
        st.session_state["epsilon_number"] = w.epsilon
        st.session_state["epsilon_slider"] = w.epsilon
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.select_slider(
        _("Privacy loss (epsilon)"),
        _stops(),
        key="epsilon_slider",
        format_func=lambda e: f"{e:g}",
        on_change=_from_slider,
        help=_(words.EPSILON_HELP),
    )
    right.number_input(
        _("Exact epsilon"),
        step=0.1,
        format="%.4g",
        key="epsilon_number",
        on_change=_from_number,
        help=_("The same figure, to type in. Usual values lie between 0.1 and 10."),
    )
    with left.container(horizontal=True, horizontal_alignment="distribute"):
        st.caption(_("◀ more private"), width="content")
        st.caption(_("more accurate ▶"), width="content")


def _stops() -> list[float]:
    """The slider's stops, with the epsilon that was typed among them: beyond an end too."""
    return sorted({*GRID, float(st.session_state["epsilon_slider"])})


def _from_slider() -> None:
    wizard().epsilon = st.session_state["epsilon_number"] = st.session_state["epsilon_slider"]


def _from_number() -> None:
    wizard().epsilon = typed = float(st.session_state["epsilon_number"])
    if 0 < typed < MOST:
        st.session_state["epsilon_slider"] = typed


def _meaning() -> None:
    w = wizard()
    if not 0 < w.epsilon < MOST:
        st.error(
            _("Epsilon must be a number above 0 and below 1000; values between 0.1 and 10 are usual."),
            icon=":material/error:",
        )
        return
    level, text = words.caution(w.epsilon)
    about = "person" if unit.person(w) else "row"
    meaning = frame.escape(phrase(app_api.meaning(w.epsilon, about=about, relation=w.relation)))
    said = _("**Epsilon {epsilon:g}:** {meaning}, but for a probability of delta. {text}").format(
        epsilon=w.epsilon, meaning=meaning, text=text
    )
    show = {"none": st.info, "note": st.info, "careful": st.warning, "strong": st.error}[level]
    icons = {"none": "shield", "note": "info", "careful": "warning", "strong": "dangerous"}
    show(said, icon=f":material/{icons[level]}:")


def _hides(w: Wizard) -> None:
    """What nobody can tell of the tables."""
    choices = list(words.RELATIONS)
    w.relation = st.selectbox(
        _("What is hidden"),
        choices,
        index=choices.index(w.relation) if w.relation in choices else 0,
        key="relation",
        format_func=lambda r: words.RELATIONS.get(r, r),
        help=_(words.RELATION_HELP),
    )
    tables = facts_of(w)[0] if several(w) else None
    st.caption(
        words.RELATION_NOTES.get(w.relation, "")
        + (
            _(" “Row” means all rows of one person, at most {max_rows}.").format(max_rows=w.plain["max_rows"])
            if unit.person(w)
            else ""
        )
        + (
            _(" “Row” means {unit_in_words}.").format(unit_in_words=frame.escape(phrase(tables.unit_in_words)))
            if tables is not None
            else ""
        )
    )


def _delta() -> None:
    """The allowance, with a smaller one a click away where it is too large for that many rows."""
    w = wizard()
    st.session_state.setdefault("delta", w.delta)
    w.delta = st.selectbox(
        _("Allowance (delta)"), DELTAS, key="delta", format_func=words.small, help=_(words.DELTA_HELP)
    )
    if note := forecast.delta_note(w):
        st.warning(note, icon=":material/warning:")
        enough = next((d for d in DELTAS if d * w.rows <= SAFE), DELTAS[-1])
        st.button(
            _("Use {enough}").format(enough=words.small(enough)), key="smaller_delta", on_click=_use, args=(enough,)
        )
    elif w.rows:
        well = "well " * (w.delta * w.rows <= SAFE)
        st.caption(
            _("{one_in}: {well}below 1 in {rows:,} rows.").format(one_in=words.one_in(w.delta), well=well, rows=w.rows)
        )


def _use(delta: float) -> None:
    wizard().delta = st.session_state["delta"] = delta


def _left() -> str:
    """What is left, and the choice of a cap before the first spend; why there is no way on, empty where there is."""
    w, rules, name = wizard(), access.rules(), dataset(wizard())
    st.subheader(_("Budget of this dataset"), anchor=False)
    if not rules.may_spend(access.me(), name):
        st.info(
            _("{name} is not yours to spend of. Ask whoever keeps the file of roles.").format(name=frame.escape(name)),
            icon=":material/lock:",
        )
        return ""
    total = forecast.budget(w)
    if (held := rules.budget(name)) is not None and (total is None or total.policy is None):
        # written with the first run, not for every name that is typed here
        return _by_rules(name, held[0], total.epsilon if total else 0.0)
    spent = (
        _("epsilon {epsilon:g} spent in {runs}").format(epsilon=total.epsilon, runs=words.runs(total.runs))
        if total and total.runs
        else _("nothing spent")
    )
    if not caps.decided(name):
        return _cap(
            _("**{name}**: {spent} so far. How much may all runs spend together?").format(
                name=frame.escape(name), spent=spent
            ),
            total.epsilon if total else 0.0,
        )
    if total is None or total.remaining_epsilon is None:
        st.markdown(
            _(
                "**{name}**: {spent} so far. It was decided that it has **no cap**; the page Ledger says by "
                "whom, and sets one."
            ).format(name=frame.escape(name), spent=spent)
        )
        return ""
    cap = total.policy.max_epsilon
    st.progress(
        min(1.0, total.epsilon / cap),
        text=(
            _(
                "{name}: epsilon {epsilon:g} of {cap:g} spent in {runs}, **{remaining_epsilon:g} left**; delta "
                "{remaining_delta} left"
            ).format(
                name=frame.escape(name),
                epsilon=total.epsilon,
                cap=cap,
                runs=words.runs(total.runs),
                remaining_epsilon=total.remaining_epsilon,
                remaining_delta=words.small(total.remaining_delta),
            )
        ),
    )
    if rules.budget(name) is not None:
        st.caption(_("The cap is set by the file of roles of this installation."))
    if reason := forecast.short_by(w):
        st.error(reason, icon=":material/block:")
    return ""


def _by_rules(name: str, cap: float, spent: float) -> str:
    """The cap of the file of roles, before the ledger has it; why there is no way on."""
    left = max(cap - spent, 0.0)
    st.markdown(
        _("**{name}**: epsilon {spent:g} of {cap:g} spent so far.").format(
            name=frame.escape(name), spent=spent, cap=cap
        )
    )
    st.caption(_("The cap is set by the file of roles of this installation."))
    if wizard().epsilon <= left:
        return ""
    reason = _(
        "The cap on this dataset leaves epsilon {left:g}, and this run asks for {epsilon:g}. Lower epsilon."
    ).format(left=left, epsilon=wizard().epsilon)
    st.error(reason, icon=":material/block:")
    return reason


def _cap(lead: str, spent: float) -> str:
    st.markdown(lead)
    cap = st.session_state["chosen_cap"] = caps.ask("cap", spent=spent)
    if cap is not None and wizard().epsilon > cap - spent:
        return _("The cap of {cap:g} would not allow this run. Lower epsilon, or choose a larger cap.").format(cap=cap)
    st.caption(_("Recorded in the ledger: {words}.").format(words=caps.words(cap)))
    return ""


def _fits(w: Wizard) -> bool:
    """Whether the chosen method has a guarantee for what is hidden."""
    return any(m["name"] == w.method and w.relation in m["relations"] for m in forecast.methods())


def _choice(w: Wizard) -> bool:
    """The menu of methods; returns whether the chosen one has a guarantee for what is hidden."""
    about = {m["name"]: m for m in forecast.methods()}
    names = sorted(about, key=lambda n: n != words.RECOMMENDED)
    if w.method not in names:
        w.method, w.options = names[0], {}
    frame.fold(
        _("All {number} methods side by side").format(number=len(names)),
        "methods",
        lambda: _side_by_side(w, [about[n] for n in names]),
    )
    chosen = st.selectbox(
        _("Method"),
        names,
        index=names.index(w.method),
        key="method",
        help=_(words.METHOD_HELP),
        format_func=lambda n: f"{n}{_(' (recommended)') * (n == words.RECOMMENDED)}: {words.method(about[n])}",
    )
    if chosen != w.method:
        w.method, w.options = chosen, {}
    result = about[w.method]
    terms = _("In the terms of the field: {summary}.").format(summary=result["summary"])
    if w.method == words.RECOMMENDED:
        st.caption(_(words.REASON), help=terms)
    else:
        st.caption(
            _("Recommended is {recommended}: {lower}{reason}").format(
                recommended=words.RECOMMENDED, lower=words.REASON[:1].lower(), reason=words.REASON[1:]
            ),
            help=terms,
        )
    _keeps(w)
    if w.relation not in result["relations"]:
        st.error(
            _(
                "{method} gives no guarantee for “{relations}”. Choose another method here, or change what is "
                "hidden on the page Privacy and accuracy."
            ).format(method=w.method, relations=words.RELATIONS[w.relation]),
            icon=":material/block:",
        )
        return False
    if result["options"]:
        frame.fold(_("Options of the method"), "options", lambda: _options(w, result["options"]))
    return True


def _side_by_side(w: Wizard, about: list[dict[str, Any]]) -> None:
    """What each method does, what it retention on public tables, and whether it has a promise for what is hidden."""
    asked: dict[str, Any] = {"epsilon": w.epsilon, "rows": w.rows}
    held = [app_api.retention(m["name"], **asked) for m in about]
    st.dataframe(
        {
            _("Method"): [m["name"] for m in about],
            _("What it does"): [words.method(m) for m in about],
            _("Keeps, as measured"): [_("not measured") if h is None else phrase(h.in_words) for h in held],
            _("Time"): [_("forecast below") if forecast.timed(m["name"]) else _("trained: minutes") for m in about],
            _("For what is hidden"): [_("yes") if w.relation in m["relations"] else _("no promise") for m in about],
        },
        hide_index=True,
        height=420,
    )


def _options(w: Wizard, defaults: dict[str, Any]) -> None:
    w.options = options.ask(defaults, w.options, key=f"option_{w.method}")


def _keeps(w: Wizard) -> None:
    """What the method was measured to keep at this epsilon; a warning where that is nothing between columns."""
    asked: dict[str, Any] = {"epsilon": w.epsilon, "rows": w.rows}
    held, warned = app_api.retention(w.method, **asked), app_api.retention_warning(w.method, **asked)
    if warned:
        st.warning(frame.escape(frame.sentence(f"{warned}.")), icon=":material/link_off:")
    elif held:
        st.caption(
            _("On public tables, at epsilon {epsilon:g}, it kept: {in_words}.").format(
                epsilon=held.epsilon, in_words=phrase(held.in_words)
            ),
            help=_(
                "Measured with its default options, where rows and epsilon together were no more than yours. "
                "Pairs: nearer than independent columns by a tenth at least. Target: a model trained on the "
                "synthetic rows learns at least half of what it learns of real ones."
            ),
        )


def _expected(w: Wizard) -> Callable[[], None]:
    """What a run will reach; returns what draws the rest."""
    try:
        if w.method == words.RECOMMENDED and not together(w):
            return forecast.reach(w)
        if not together(w):
            _keeps(w)
    except synth.SynthError as error:
        frame.tell(error)
    return _nothing


def _nothing() -> None:
    """There is no more to draw."""


def _price(w: Wizard, *, known: bool) -> None:
    """Noise, time and memory, and what is asked in which stage. Errors: UsageError, InputError."""
    forecast.joined_shown(w) if together(w) else _costs(w, known)
    plan = forecast.planned(w)
    if plan is not None:
        steps = forecast.joined_stages(plan) if together(w) else _stages(plan)
        with st.expander(_("Stages of the spend ({number})").format(number=len(next(iter(steps.values()))))):
            st.table(steps, hide_index=True)


def _stages(plan: Any) -> dict[str, list[str]]:
    return {
        _("Asks for"): words.asks([s.purpose for s in plan.steps]),
        _("Tables"): [f"{s.tables:,}" for s in plan.steps],
        _("Cells"): [f"{s.cells:,}" for s in plan.steps],
        _("Noise"): [_span(words.count(s.sigma_least), words.count(s.sigma_most)) for s in plan.steps],
    }


def _span(least: str, most: str) -> str:
    return least if least == most else _("{least} to {most}").format(least=least, most=most)


def _costs(w: Wizard, known: bool) -> None:
    """Noise, time and memory. Errors: UsageError, InputError."""
    plan = forecast.planned(w)
    if plan is None:
        st.info(
            _("This method takes too long to forecast here. It can be run all the same; nothing was spent."),
            icon=":material/hourglass_empty:",
        )
        return
    _figures(plan, noise_alone=not known)


def _figures(plan: Any, *, noise_alone: bool) -> None:
    """Cards of what noise alone does, and of what the run takes."""
    many = [s for s in plan.steps if s.cells > 1] or plan.steps  # the row count alone may be noisier, and harmlessly so
    held = f"{'' if forecast.timed(plan.method) else '> '}{words.short_seconds(forecast.seconds(plan))}"
    noise: list[tuple[str, str, str]] = [
        (
            _("Columns, noise alone"),
            words.at_most(plan.error_one_way),
            _("Share of rows that noise alone puts into the wrong group of a column's counts, on average, at most."),
        ),
    ]
    if plan.error_two_way is not None:
        noise.append(
            (
                _("Pairs, noise alone"),
                words.at_most(plan.error_two_way),
                _("The same for tables of two columns, at most."),
            )
        )
    costs = [
        (
            _("Noise in a count, in rows"),
            f"± {words.count(max(s.sigma_most for s in many))}",
            _(
                "The standard deviation of the noise in a count of rows (or in a sum), at most. Much larger "
                "groups of people come out well."
            ),
        ),
        (
            _("Time"),
            held,
            _("On this computer; a forecast, not a promise. “>”: reading and counting only, without the training."),
        ),
        (
            _("Memory"),
            _("{peak_mib:.1f} GiB").format(peak_mib=plan.peak_mib / 1024),
            _("Of the process that makes the table, at its peak."),
        ),
    ]
    with st.container(horizontal=True):
        for label, value, explained in [*(noise if noise_alone else []), *costs]:
            st.metric(label, value, border=True, width=175, help=explained)


def _person(w: Wizard) -> None:
    """What becomes of a person with several rows, and which prior knowledge is used."""
    if not several(w) and unit.person(w) and (most := w.plain.get("max_rows") or 1) > 1:
        st.caption(unit.joined(most) if linked(w) else unit.alone(most))
    if known_names := prior.line(w):
        st.caption(_("**Prior knowledge:** {names}").format(names=known_names))


def _spend(w: Wizard) -> None:
    """What will be charged, and the button."""
    total = forecast.budget(w)
    name = frame.escape(dataset(w))
    with st.popover(_("What will be charged"), icon=":material/receipt_long:", type="tertiary"):
        st.markdown(
            _("**Will be charged to {name}: epsilon {epsilon:g}, delta {delta}**, {after}.").format(
                name=name, epsilon=w.epsilon, delta=words.small(w.delta), after=_after(total)
            )
        )
        st.markdown(_("**What is hidden:** {hidden}{line}").format(hidden=_hidden(w), line=_line()))
        st.caption(
            _(
                "The charge is written before the table is read and is not given back, also when the run fails "
                "later or you dislike the result. Running again is charged again, and choosing the best of "
                "several results adds up all of them."
            )
        )
    if st.button(_label(w), key="spend", type="primary", icon=":material/play_arrow:"):
        if not caps.decided(dataset(w)) and caps.may_set(dataset(w)):
            caps.put(dataset(w), st.session_state.get("chosen_cap"))
        if not learning.charged_elsewhere(w):
            w.job = runs.start(w).path
            w.watched = True
        st.rerun()


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


def _label(w: Wizard) -> str:
    if access.rules().needs_approval(dataset(w), w.epsilon):
        return _("Ask a reviewer to spend epsilon {epsilon:g} of {dataset}").format(
            epsilon=w.epsilon, dataset=dataset(w)
        )
    if caps.decided(dataset(w)) or not caps.may_set(dataset(w)):
        return _("Spend epsilon {epsilon:g} and make the table").format(epsilon=w.epsilon)
    cap = st.session_state.get("chosen_cap")
    if cap is None:
        return _("Set no cap, spend epsilon {epsilon:g} and make the table").format(epsilon=w.epsilon)
    return _("Cap it at {cap:g}, spend epsilon {epsilon:g} and make the table").format(cap=cap, epsilon=w.epsilon)


def _barred(w: Wizard) -> str:
    """Why this visitor may not spend, or not yet; empty when he may."""
    who, name = access.me(), dataset(w)
    if not access.rules().may_spend(who, name):
        return _("{name} may not spend of {name2}. Ask whoever keeps the file of roles.").format(
            name=who.name, name2=name
        )
    if not caps.decided(name) and not caps.may_set(name):
        return _("Nobody has chosen a cap on {name} yet. Ask whoever keeps the file of roles.").format(name=name)
    return ""


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
    except Exception as error:
        frame.tell(error)


def _bar(job: jobs.Job, status: jobs.Status) -> None:
    asked, free = job.cancel_asked, bool(job.request().get("free"))
    st.progress(status.fraction, text=runs.in_progress(job, status))
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


def _ended(w: Wizard, job: jobs.Job) -> None:
    """How the run ended; a table that is ready is shown at once to whoever waited for it."""
    status = job.status()
    if status.state == "done":
        workers.soon(lambda: export.begun(job), seconds=AT_EASE)
        if w.watched:
            w.watched = False
            st.switch_page(view("result"))
        left, right = st.columns([3, 1], vertical_alignment="center")
        left.success(_("The synthetic table is ready."), icon=":material/check_circle:")
        with right:
            if st.button(_("Next: The result"), key="to_result", icon=":material/arrow_forward:"):
                st.switch_page(view("result"))
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
