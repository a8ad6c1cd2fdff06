"""Privacy and accuracy: how much may be learnt of anybody, what that buys, and the button that makes the table."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

import synth
from app.result import export
from app.run import caps, forecast, learning, options, prior, runs
from app.session import access, charts, frame, state, tasks, words, workers
from app.session.state import Wizard, dataset, view, wizard
from app.table import facts
from synth import app_api
from synth.app_api import jobs
from synth.languages import _, ngettext, numerals, prose

LOW, HIGH, STOPS, MOST = 0.05, 10.0, 54, 1000
DELTAS = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9]
SAFE = 0.1  # of a row: what may be published whole, on average, under a delta that is proposed
VECTORS = {"slices", "embedding"}  # kinds of answers of methods that add up rows as vectors
AT_EASE = 1.0  # seconds in which the next page is drawn, before the bundle is packed
EPSILONS = ("epsilon_slider", "epsilon_number")  # keys of the two fields


GRID = {float(f"{LOW * (HIGH / LOW) ** (i / (STOPS - 1)):.2g}") for i in range(STOPS)}  # stops of the slider
GRID |= {0.1, 0.5, 1.0, 2.0, 3.0, 5.0}


SHOWN = {"none": (st.info, "shield"), "note": (st.info, "info"), "careful": (st.warning, "warning")}
SHOWN["strong"] = (st.error, "dangerous")  # how each level of caution is shown


def page() -> None:
    """Epsilon and what it buys, or how the run goes."""
    w = wizard()
    job = None if w.job is None else access.job("watch", w.job)
    free = job is not None and job.request().get("free")
    frame.head(
        "privacy",
        _("Fits another model to a stored release: **it costs nothing** and reads no row. It can be cancelled.")
        if free
        else _("How much may the result reveal at most? **Nothing is read or spent before you press the button.**"),
    )
    if job is not None and not job.status().final:
        runs.follow(str(w.job), about=_under_way, label=_("Cancel the run"))
        said = _("This run goes on; another one waits in line until it is done.")
        if st.button(_("Leave it running and prepare another run"), key="another", icon=":material/add:", help=said):
            w.job = None
            st.rerun()
        runs.all_runs()
        return
    if job is not None:
        _ended(w, job)
    if state.ready(w)["privacy"]:
        _choose(w)
        return
    if job is None:
        frame.needs(*state.lacks(w))
    runs.all_runs()


def _choose(w: Wizard) -> None:
    """The slider, what it buys, what is left, and the button that spends."""
    listed = forecast.methods(tree=state.together(w))
    if not any(m["name"] == w.method for m in listed):  # none of those that make rows that belong together, or none now
        w.method, w.options = words.RECOMMENDED, {}
    _epsilon(w)
    left, right = st.columns([3, 2])
    with right:
        short = _left(w)
        learning.size(w)
    blocked = short or _blocked(w)
    with left:
        st.subheader(_("What to expect"), anchor=False)
        draw = _expected(w) if not blocked else None
        uses = st.container()
        prior.worth()
        worth, costs = st.container(), st.container()  # of related tables the errors are all that is expected
    with right:
        frame.fold(_("Experts: what is hidden, delta, other methods"), "experts", lambda: _experts(w))
        costs = costs if state.together(w) else st.container()
    if not any(m["name"] == w.method and w.relation in m["relations"] for m in listed):
        blocked = blocked or _("Choose a method that fits first.")
    if not state.several(w) and facts.of_persons(w) and (most := w.plain.get("max_rows") or 1) > 1:
        st.caption(facts.rows_together(most) if state.linked(w) else facts.rows_apart(most))
    if names := prior.line(w):
        st.caption(_("**Public data:** {names}").format(names=names))
    twins = learning.same_choice(w)
    if barred := _barred(w) or prior.barred(w):
        st.error(frame.escape(barred), icon=":material/block:")
    blocked = blocked or barred
    frame.onward("privacy", blocked=frame.escape(blocked), beside=lambda: None if twins or blocked else _spend(w))
    runs.all_runs()
    if draw is not None:
        draw()
    if not blocked:
        about = _("Noise, time and memory are being worked out")
        workers.then([forecast.begun(w)], costs, lambda: _costs(w), about=about)
    prior.worth_later(worth)
    forecast.uses_later(w, uses)


def _experts(w: Wizard) -> None:
    """What is hidden, the allowance, the method and its options, how the table is written, and on what machine."""
    _hides(w)
    _delta(w)
    _choice(w, tree=state.together(w))
    if not state.several(w):
        options.written_choice(w)
    options.device_choice(w)


def _blocked(w: Wizard) -> str:
    if not 0 < w.epsilon < MOST:
        return _("First choose an epsilon above 0.")
    if not w.rows:
        return _("First state roughly how many rows there are.")
    if forecast.delta_note(w):
        return _("First choose a smaller delta.")
    return _("First correct what the red box says.") if forecast.short_by(w) else ""


def _epsilon(w: Wizard) -> None:
    """The slider, the same figure to type in, and what it means."""
    if "epsilon_number" not in st.session_state:
        st.session_state["epsilon_number"] = st.session_state["epsilon_slider"] = w.epsilon
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    slider, number = (dict[str, Any](key=key, on_change=_set_epsilon, args=(key,)) for key in EPSILONS)
    stops = sorted({*GRID, float(st.session_state["epsilon_slider"])})  # what was typed too, also beyond an end
    label, said = _("Privacy loss (epsilon)"), _(words.EPSILON_HELP)
    left.select_slider(label, stops, format_func=lambda e: numerals(f"{e:g}"), help=said, **slider)
    label, said = _("Exact epsilon"), _("The same figure, to type in. Usual values lie between 0.1 and 10.")
    right.number_input(label, step=0.1, format="%.4g", help=said, **number)
    with left.container(horizontal=True, horizontal_alignment="distribute"):
        st.caption(_("◀ more private"), width="content")
        st.caption(_("more accurate ▶"), width="content")
    if not 0 < w.epsilon < MOST:
        st.error(_("Epsilon must be a number above 0 and below 1000; values between 0.1 and 10 are usual."))
        return
    level, text = words.caution(w.epsilon)
    about, tables = "person" if facts.of_persons(w) else "row", state.facts_of(w)[0]
    if state.several(w) and tables is not None:
        about = tables.unit_in_words
    meaning = frame.escape(prose(app_api.meaning(w.epsilon, about=about, relation=w.relation)))
    said = _("**Epsilon {epsilon:g}:** {meaning}, but for a probability of delta. {text}")
    show, icon = SHOWN[level]
    show(said.format(epsilon=w.epsilon, meaning=meaning, text=text), icon=f":material/{icon}:")


def _set_epsilon(name: str) -> None:
    wizard().epsilon = value = float(st.session_state[name])
    if 0 < value < MOST:
        st.session_state["epsilon_number"] = st.session_state["epsilon_slider"] = value


def _hides(w: Wizard) -> None:
    """What of the tables epsilon limits the knowledge of."""
    choices, label, said = list(words.RELATIONS), _("What is hidden"), _(words.RELATION_HELP)
    at = choices.index(w.relation) if w.relation in choices else 0
    w.relation = st.selectbox(label, choices, at, words.RELATIONS.__getitem__, key="relation", help=said)
    said = words.RELATION_NOTES[w.relation]
    if facts.of_persons(w):
        said += _(" “Row” means all rows of one person, at most {max_rows}.").format(max_rows=w.plain["max_rows"])
    if state.several(w) and (tables := state.facts_of(w)[0]) is not None:
        said += _(" “Row” means {unit_in_words}.").format(unit_in_words=frame.escape(prose(tables.unit_in_words)))
    st.caption(said)


def _delta(w: Wizard) -> None:
    """The allowance, with a smaller one a click away where it is too large for that many rows."""
    st.session_state.setdefault("delta", w.delta)
    label = _("Allowance (delta)")
    w.delta = st.selectbox(label, DELTAS, key="delta", format_func=words.small, help=_(words.DELTA_HELP))
    if note := forecast.delta_note(w):
        st.warning(note, icon=":material/warning:")
        enough = next((d for d in DELTAS if d * w.rows <= SAFE), DELTAS[-1])
        label = _("Use {enough}").format(enough=words.small(enough))
        st.button(label, key="smaller_delta", on_click=_use, args=(enough,))
    elif w.rows:
        said = _("{one_in}: {well}below 1 in {rows:,} rows.")
        well = _("well ") if w.delta * w.rows <= SAFE else ""
        st.caption(said.format(one_in=app_api.chance(w.delta), well=well, rows=w.rows))


def _use(delta: float) -> None:
    wizard().delta = st.session_state["delta"] = delta


def _left(w: Wizard) -> str:
    """What is left, and the choice of a cap before the first spend; why there is no way on, empty where there is."""
    name, budget = frame.escape(dataset(w)), caps.of(dataset(w))
    st.subheader(_("Budget of this dataset"), anchor=False)
    if not access.rules().may_spend(access.me(), dataset(w)):
        said = _("{name} is not yours to spend of. Ask whoever keeps the file of roles.")
        st.info(said.format(name=name), icon=":material/lock:")
        return ""
    spent = _("nothing spent")
    if budget.runs:
        spent = _("epsilon {epsilon:g} spent in {runs}").format(epsilon=budget.epsilon, runs=words.runs(budget.runs))
    if not budget.decided:
        said = _("**{name}**: {spent} so far. How much may all runs spend together?")
        st.markdown(said.format(name=name, spent=spent))
        cap = st.session_state["chosen_cap"] = caps.ask("cap", spent=budget.epsilon)
        if cap is not None and w.epsilon > cap - budget.epsilon:
            said = _("The cap of {cap:g} would not allow this run. Lower epsilon, or choose a larger cap.")
            return said.format(cap=cap)
        chosen = _("no cap") if cap is None else _("epsilon {cap:g}, delta 1e-3").format(cap=cap)
        st.caption(_("Will be recorded with the first run: {words}.").format(words=chosen))
        return ""
    if budget.cap is None:
        said = _("**{name}**: {spent} so far. It was decided that it has **no cap**; the page Ledger can set one.")
        st.markdown(said.format(name=name, spent=spent))
        return ""
    said = _("{name}: {spent}; **{b.left:g} left** of {b.cap:g}; delta {delta} left")
    said = said.format(name=name, spent=spent, b=budget, delta=words.small(budget.left_delta or 0.0))
    st.progress(min(1.0, budget.epsilon / budget.cap), text=said)
    if budget.by_rules:
        st.caption(_("The cap is set by the file of roles of this installation."))
    if reason := forecast.short_by(w):
        st.error(reason, icon=":material/block:")
    return ""


def _choice(w: Wizard, *, tree: bool) -> None:
    """The menu of methods, what the chosen one is measured to keep, and its options; ``tree``: of those that make rows
    that belong together."""
    about = {m["name"]: m for m in forecast.methods(tree=tree)}
    names = sorted(about, key=lambda n: n != words.RECOMMENDED)
    if not tree:
        many = _("All {number} methods side by side").format(number=len(names))
        frame.fold(many, "methods", lambda: _side_by_side(w, [about[n] for n in names]))

    def named(n: str) -> str:
        return f"{n}{_(' (recommended)') * (n == words.RECOMMENDED)}: {words.method(about[n], tree=tree)}"

    chosen = st.selectbox(_("Method"), names, names.index(w.method), named, key="method", help=_(words.METHOD_HELP))
    if chosen != w.method:
        w.method, w.options = chosen, {}
    result, reason = about[w.method], _(words.JOINED_REASON) if tree else _(words.REASON)
    if w.method != words.RECOMMENDED:
        reason = _("Recommended is {recommended}: {lower}{reason}").format(
            recommended=words.RECOMMENDED, lower=reason[:1].lower(), reason=reason[1:]
        )
    st.caption(reason, help=_("In the terms of the field: {summary}.").format(summary=prose(result["summary"])))
    if not tree:
        _keeps(w)
    if w.relation not in result["relations"]:
        said = _("{method} gives no guarantee for “{relations}”. Choose another method, or change what is hidden.")
        said = said.format(method=w.method, relations=words.RELATIONS[w.relation])
        st.error(said, icon=":material/block:")
        return
    if result["options"]:

        def draw() -> None:
            w.options = options.ask(result, w.options, key=f"option_{w.method}")

        frame.fold(_("Options of the method"), "options", draw)
    if VECTORS & set(result["reads"]):
        frame.fold(_("What the method sees of a row"), "vectors", lambda: _vectors(w))


def _side_by_side(w: Wizard, about: list[dict[str, Any]]) -> None:
    """What each method does, what it keeps on public tables, and whether it has a promise for what is hidden."""
    held = [app_api.retention(m["name"], epsilon=w.epsilon, rows=w.rows) for m in about]
    st.dataframe(
        {
            _("Method"): [m["name"] for m in about],
            _("What it does"): [words.method(m) for m in about],
            _("Keeps, as measured"): [_("not measured") if h is None else prose(h.in_words) for h in held],
            _("Time"): [_("forecast below") if forecast.timed(m["name"]) else _("trained: minutes") for m in about],
            _("For what is hidden"): [_("yes") if w.relation in m["relations"] else _("no promise") for m in about],
        },
        hide_index=True,
        height=420,
    )


def _vectors(w: Wizard) -> None:
    """What the method sees of a row, shown on one that is made up from the description."""
    asked: dict[str, Any] = {"relation": w.relation, "method": w.method, "options": w.options}
    asked |= {"epsilon": w.epsilon, "delta": w.delta}
    try:
        with st.spinner(_("Making up a row")):
            width, norm, sensitivity, columns = workers.ask(
                tasks.vectors, state.checked(w).to_json(), seconds=forecast.PATIENCE, **asked
            )
    except synth.SynthError as error:
        st.caption(frame.escape(frame.message_of(error)))
        return
    said = _(
        "What {method} adds up, in a rehearsal on made-up rows: your table is not read. Vectors have length 1 at "
        "most, so that one person moves a sum by no more than the sensitivity."
    )
    st.caption(said.format(method=w.method))
    said = _("**{width:,} coordinates**, length at most {norm:.3f}, sensitivity **{sensitivity:.3f}**.")
    st.markdown(said.format(width=width, norm=norm, sensitivity=sensitivity))
    heads = (_("Column"), _("Encoded as"), _("Coordinates"), _("Length, at most"), _("A made-up value"))
    cells = [(name, prose(form), width, f"{most:.3f}", value or "–") for name, form, width, most, value in columns]
    st.dataframe(pd.DataFrame(cells, columns=list(heads)), hide_index=True, height=min(300, 38 + 35 * len(cells)))


def _keeps(w: Wizard) -> None:
    """What the method was measured to keep at this epsilon; a warning where that is nothing between columns."""
    asked: dict[str, Any] = {"epsilon": w.epsilon, "rows": w.rows}
    held, warned = app_api.retention(w.method, **asked), app_api.retention_warning(w.method, **asked)
    if warned:
        st.warning(frame.escape(f"{frame.sentence(warned)}."), icon=":material/link_off:")
    elif held:
        said = _("On public tables, at epsilon {epsilon:g}, it kept: {in_words}.")
        about = _(
            "Measured with its default options, where rows and epsilon together were no more than yours. "
            "Pairs: nearer than independent columns by a tenth at least. Target: a model trained on the "
            "synthetic rows learns at least half of what it learns of real ones."
        )
        st.caption(said.format(epsilon=held.epsilon, in_words=prose(held.in_words)), help=about)


def _expected(w: Wizard) -> Callable[[], None] | None:
    """What a run will reach; returns what draws the rest."""
    with frame.told():
        if w.method == words.RECOMMENDED and not state.together(w):
            return forecast.reach(w)
        if not state.together(w):
            _keeps(w)
    return None


def _costs(w: Wizard) -> None:
    """What noise alone does, and what the run takes; what is asked in which stage. Errors: UsageError, InputError."""
    plan, joined = forecast.planned(w), state.together(w)
    if plan is None:
        st.info(_("This method takes too long to forecast here. It can be run all the same; nothing was spent."))
        return
    if joined:
        forecast.joined_shown(w, plan)
    else:
        _figures(plan, noise_alone=w.method != words.RECOMMENDED)
    asks = [f"{a.table}: {a.purpose}" for a in plan.steps] if joined else words.asks([s.purpose for s in plan.steps])
    lines = []
    for ask, step in zip(asks, plan.steps, strict=True):
        least, most = words.count(step.sigma_least), words.count(step.sigma_most)
        noise = least if least == most else _("{least} to {most}").format(least=least, most=most)
        lines.append((ask, numerals(f"{step.tables:,}"), numerals(f"{step.cells:,}"), noise))
    with st.expander(_("Stages of the spend ({number})").format(number=len(plan.steps))):
        frame.table((_("Asks for"), _("Tables"), _("Cells"), _("Noise")), lines)


def _figures(plan: Any, *, noise_alone: bool) -> None:
    """Cards of what noise alone does, and of what the run takes."""
    many = [s for s in plan.steps if s.cells > 1] or plan.steps  # the row count alone may be noisier, and harmlessly so
    # Python starts twice and loads the library, and the page looks every second
    seconds = words.short_seconds(float(plan.seconds) + forecast.ROUND_IT)
    of_rows = _("Share of rows that noise alone puts into a wrong group of the counts, on average, at most.")
    noise = f"± {words.count(max(s.sigma_most for s in many))}"
    said = _("The noise's standard deviation in a count of rows, or a sum, at most: far larger groups come out well.")
    timed = _("On this computer; a forecast, not a promise. “>”: reading and counting only, without the training.")
    gib = _("{peak_mib:.1f} GiB").format(peak_mib=plan.peak_mib / 1024)
    cards = [
        (_("Columns, noise alone"), words.at_most(plan.error_one_way), of_rows, noise_alone),
        (_("Pairs, noise alone"), words.at_most(plan.error_two_way), of_rows, noise_alone and plan.error_two_way),
        (_("Noise, in rows"), noise, said, True),
        (_("Time"), seconds if forecast.timed(plan.method) else f"> {seconds}", timed, True),
        (_("Memory"), gib, _("Of the process that makes the table, at its peak."), True),
    ]
    with st.container(horizontal=True):
        for label, value, explained, shown in cards:
            if shown:
                st.metric(label, value, border=True, width=175, help=explained)


def _spend(w: Wizard) -> None:
    """What will be charged, and the button."""
    budget, name = caps.of(dataset(w)), dataset(w)
    after = _("which has no cap, as was decided") if budget.decided else _("whose cap is still to be chosen")
    if budget.left is not None:
        after = _("which has epsilon {remaining_epsilon:g} left").format(remaining_epsilon=budget.left)
    waiting = sum(not status.final and status.state != "held" for _job, status in jobs.each(jobs.Job.status))
    line = ngettext(", after {n} run that is in line", ", after {n} runs that are in line", waiting) if waiting else ""
    with st.popover(_("What will be charged"), icon=":material/receipt_long:", type="tertiary"):
        said = _("**Will be charged to {name}: epsilon {w.epsilon:g}, delta {delta}**, {after}.")
        st.markdown(said.format(name=frame.escape(name), w=w, delta=words.small(w.delta), after=after))
        st.markdown(_("**What is hidden:** {hidden}{line}").format(hidden=_hidden(w), line=line))
        said = _(
            "The charge is written before the table is read and is not given back, also when the run fails "
            "later or you dislike the result. Running again is charged again, and choosing the best of "
            "several results adds up all of them."
        )
        st.caption(said)
    to_choose, cap = not budget.decided and caps.may_set(name), st.session_state.get("chosen_cap")
    label = _("Spend epsilon {epsilon:g} and make the table")
    if access.rules().needs_approval(name, w.epsilon):
        label = _("Ask a reviewer to spend epsilon {epsilon:g} of {dataset}")
    elif to_choose and cap is None:
        label = _("Set no cap, spend epsilon {epsilon:g} and make the table")
    elif to_choose:
        label = _("Cap it at {cap:g}, spend epsilon {epsilon:g} and make the table")
    said = label.format(epsilon=w.epsilon, dataset=name, cap=cap or 0.0)
    if st.button(said, key="spend", type="primary", icon=":material/play_arrow:"):
        if to_choose:
            caps.put(name, cap)
        if not learning.charged_elsewhere(w):
            runs.start(w)
            w.watched = True
        st.rerun()


def _hidden(w: Wizard) -> str:
    """What is hidden: of a person with several rows all that are kept, of several tables a whole unit."""
    short, whole = words.RELATIONS_SHORT[w.relation], ""
    if state.several(w):
        result, _problem = state.facts_of(w)
        whole = "" if result is None else frame.escape(prose(result.unit_in_words))
    elif facts.of_persons(w):
        most = w.plain.get("max_rows") or 1
        whole = ngettext("one person with {n} row", "one person with up to {n} rows", most)
    return short.replace(_("one row"), whole) if whole else short


def _barred(w: Wizard) -> str:
    """Why this visitor may not spend, or not yet; empty when he may."""
    who, name = access.me(), dataset(w)
    if not access.rules().may_spend(who, name):
        said = _("{name} may not spend of {name2}. Ask whoever keeps the file of roles.")
        return said.format(name=who.name, name2=name)
    if not caps.of(name).decided and not caps.may_set(name):
        return _("Nobody has chosen a cap on {name} yet. Ask whoever keeps the file of roles.").format(name=name)
    return ""


def _under_way(job: jobs.Job, status: jobs.Status) -> None:
    """What the run has cost so far, and how its training goes."""
    free = bool(job.request().get("free"))
    paid = status.state == "running" and status.stage not in ("", "check")
    st.caption(_("You may close this window: the run goes on, and this page finds it again."))
    said = _("This costs nothing: it starts from a stored release.") if free else _("Nothing is charged yet.")
    st.caption(_("The budget has been charged; cancelling now does not give it back.") if paid and not free else said)
    if len(status.losses) > 1:
        charts.draw(st, charts.losses(status.losses), key="losses")
        said = _("Training loss, now {losses:.4g}. It is computed from the release alone.")
        st.caption(said.format(losses=status.losses[-1][1]))


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
        if right.button(_("Next: The result"), key="to_result", icon=":material/arrow_forward:"):
            st.switch_page(view("result"))
        return
    message = frame.escape(runs.why(job))
    if status.state == "cancelled":
        st.warning(f"{message}.", icon=":material/stop_circle:")
    else:
        known = words.ENDS.get(status.exit_code, "") if status.exit_code is not None else ""
        lead = _("The run failed: {known}. ").format(known=known) if known else _("The run failed. ")
        st.error(f"{lead}{message}", icon=":material/error:")
    st.caption(_spent(job, status))


def _spent(job: jobs.Job, status: jobs.Status) -> str:
    if job.request().get("free") or status.exit_code in (2, 3, 4, 130) or status.pid is None:
        return _("Nothing was spent. The rows were not used.")
    try:
        line = runs.charged_line(job)
    except synth.InputError as error:
        said = _("Whether it was charged is not known here: {plain}.")
        return said.format(plain=frame.escape(words.plain(error.said)))
    if line is None:
        return _("Nothing was spent: the ledger holds no charge by this run.")
    said = _("The charge stands: epsilon {line.epsilon:g} of {dataset}, line {line.number}; rows may have been read.")
    return said.format(line=line, dataset=frame.escape(line.dataset))


page()
