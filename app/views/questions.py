"""Questions about the real table behind a release: asked, priced beforehand, decided on, answered under noise."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

import synth
from app.result import asking
from app.run import caps, runs
from app.session import access, frame, words
from synth import app_api
from synth.app_api import jobs
from synth.languages import Texts, _, numerals, prose

STATES = Texts(
    waits="waits for the steward's decision",
    refused="refused",
    withdrawn="withdrawn",
    held="answered by the steward; waits for a reviewer's signature",
    queued="waits in line",
    running="is being answered",
    done="answered",
    failed="failed",
    cancelled="refused by a reviewer",
    gone="its answer was removed",
)
LEVELS, USUAL = ("0.05", "0.1", "0.2", "0.5", "1"), 0.2
MOST_SHOWN = 20
UNDER_WAY = ("waits", "held", "queued", "running")
LOOK = 2.0  # seconds between looks at questions that are under way
FEW = 3  # terms of which each has a column
THOUSAND = 1000  # from which on a figure is shown whole
LEAST = 1e-4  # below which it is the arithmetic's own


def page() -> None:
    """Asking, what waits for a decision, and what was answered."""
    said = _(
        "Does the real table say the same as its synthetic one? What a question costs is free to see; it is "
        "answered under noise, and charged, where its steward agrees."
    )
    frame.head("questions", said)
    result = asking.seen()
    waiting = [a for a in result if asking.decides(a) and a.state() in ("waits", *jobs.asked.AGAIN)]
    if waiting:
        st.subheader(_("For you to decide"), anchor=False)
        for a in waiting[:MOST_SHOWN]:
            _decision(a)
    if access.me().may("ask_question") and waiting:
        frame.fold(_("Ask"), "ask", _ask)  # what waits comes first, and on one page
    elif access.me().may("ask_question"):
        st.subheader(_("Ask"), anchor=False)
        _ask()
    _reserve()
    st.subheader(_("Questions and answers"), anchor=False)
    if not result:
        st.info(_("Nothing was asked yet."))
    for a in result[:MOST_SHOWN]:
        _asked(a)
    states = {a.name: a.state() for a in result}
    if set(states.values()) & set(UNDER_WAY):
        _watch(states)


@st.fragment(run_every=LOOK)
def _watch(states: dict[str, str]) -> None:
    """Draws the page again once a question stands otherwise."""
    with frame.told():
        if {a.name: a.state() for a in asking.seen()} != states:
            st.rerun()


def _ask() -> None:
    """A new question: about which release, what, at which price, why."""
    held = asking.releases()
    if not held:
        st.info(_("There is no release to ask about yet. A steward makes a table, and a reviewer releases it."))
        return
    with st.container(border=True):
        i = st.selectbox(
            _("About which release"),
            range(len(held)),
            key="q_release",
            format_func=lambda n: f"{held[n].request()['dataset']}: {runs.named(held[n])}",
            help=_("The question is tried on its synthetic rows; the answer comes from the real ones."),
        )
        job = held[i]
        place = runs.release(job)
        plain = asking.form(place)
        several = st.session_state.setdefault("q_several", [])
        if several:
            st.caption(_("Asked together, sharing one epsilon evenly:"))
            for one in several:
                st.markdown(f"- {frame.escape(asking.in_words(one))}")
        request = {"questions": [*several, plain]} if several else plain
        said = _("Questions of one request share its epsilon.")
        if st.button(_("Ask another one with it"), key="add_question", help=said):
            synth.Release(place).question(plain)  # is refused here, before another one is written
            several.append(plain)
            st.rerun()
        epsilon = _epsilon("q_epsilon", USUAL)
        if not _price(place, request, job, epsilon):
            return
        said = _("The steward reads it, and so does whoever signs.")
        why = st.text_area(_("Why it is asked"), key="q_why", help=said, max_chars=2000)
        if st.button(_("Ask the steward"), key="ask_question", type="primary", icon=":material/send:"):
            asking.ask(job, request, epsilon=epsilon, why=why)
            st.session_state["q_several"] = []
            st.rerun()


def _epsilon(key: str, usual: float) -> float:
    said = _("All questions of the request share it. Smaller protects better, and widens the intervals.")
    label = _("Epsilon of the answer")
    return float(st.number_input(label, 0.001, 10.0, usual, step=0.05, format="%g", key=key, help=said))


@st.cache_data(max_entries=200, show_spinner=False)
def _priced(place: str, plain: str, relation: str, epsilon: float, _changed: float) -> dict[str, Any]:
    """The price, from the release alone: it is the same for everybody who may see the release."""
    levels = sorted({*(float(e) for e in LEVELS), epsilon})
    asked = synth.Release(place).question(json.loads(plain))
    return asked.price(delta=asking.DELTA, relation=relation, epsilons=levels)


def _price(place: Path, request: Any, job: jobs.Job, epsilon: float) -> bool:
    """What an answer would look like, from the synthetic rows alone; whether the question can be asked."""
    asked = (str(place), json.dumps(request), job.request()["relation"], epsilon)
    try:
        with st.spinner(_("Trying it on the synthetic rows ...")):
            price = _priced(*asked, (place / "release.json").stat().st_mtime)
    except synth.SynthError as error:
        st.info(frame.escape(frame.message_of(error)), icon=":material/edit:")
        return False
    said = _(
        "Expected width of the 95 % interval by epsilon, beside the width that sampling alone has. It comes from "
        "the synthetic rows, and costs nothing."
    )
    st.caption(said)
    _table(price)
    return True


def _table(price: dict[str, Any]) -> None:
    """Widths by epsilon: a line for each, so that it fits a telephone; of many terms a line for each term."""
    several, columns = "prices" in price, dict[str, dict[str, Any]]()
    for i, one in enumerate(price.get("prices", [price]), 1):
        for name, term in one["terms"].items():
            columns[f"{i}: {name}" if several else name] = {
                _("synthetic"): term["synthetic"],
                **{_("epsilon {e}").format(e=numerals(str(e))): w for e, w in term["widths"].items()},
                _("sampling"): term["sampling_width"],
            }
    if len(columns) > FEW:
        _frame([{_("term"): name, **of} for name, of in columns.items()])
    else:
        _frame([{"": line, **{n: of[line] for n, of in columns.items()}} for line in next(iter(columns.values()))])


def _frame(rows: list[dict[str, Any]]) -> None:
    """Figures in four digits, thousands whole; a dash where there is none."""
    table = pd.DataFrame([{n: _figure(v) for n, v in row.items()} for row in rows])
    st.dataframe(table.fillna("-"), hide_index=True)


def _figure(value: Any) -> Any:
    """
    >>> _figure(20041.3), _figure(0.12345), _figure("count"), _figure(2.4e-9)
    ('20,041', '0.1235', 'count', '0')
    """
    if not isinstance(value, float) or value != value:
        return value
    shown = value if abs(value) >= LEAST else 0.0
    return numerals(f"{shown:,.0f}" if abs(value) >= THOUSAND else f"{shown:.4g}")


def _about(a: asking.Asked) -> None:
    """Who asks what about which release, and why."""
    named = (str(a.run.request()["dataset"]), runs.named(a.run), a.by or _("the only user"))
    dataset, run, who = map(frame.escape, named)
    said, when = _("**{dataset}**, {run}: asked by {who}, {when}"), words.moment(datetime.fromisoformat(a.time))
    st.markdown(said.format(dataset=dataset, run=run, who=who, when=when))
    for one in _listed(a.questions):
        st.markdown(f"- {frame.escape(asking.in_words(one))}")
    if a.why:
        st.caption(_("Why: {why}").format(why=frame.escape(a.why)))


def _listed(plain: Any) -> list[Any]:
    listed = plain.get("questions", plain) if isinstance(plain, dict) else plain
    return listed if isinstance(listed, list) else [listed]


def _decision(a: asking.Asked) -> None:
    """What the steward decides on: the question, its price, what is left."""
    with st.container(border=True):
        _about(a)
        about = a.run.request()
        name = str(about["dataset"])
        st.caption(_("Epsilon {epsilon:g} was asked for. {left}").format(epsilon=a.epsilon, left=_left(name)))
        if a.state() in jobs.asked.AGAIN:
            st.warning(_ended(a), icon=":material/warning:")
        epsilon = _epsilon(f"grant_{a.name}", a.epsilon)
        meaning = frame.escape(prose(app_api.meaning(epsilon, relation=about["relation"])))
        st.caption(_("It means: {meaning}.").format(meaning=meaning))
        _price(runs.release(a.run), a.questions, a.run, epsilon)
        reviewed = access.rules().needs_approval(name, epsilon)
        said = _("Whoever asked reads it. A refusal spends nothing.")
        why = st.text_input(_("Reason of a refusal"), key=f"reason_{a.name}", help=said)
        with st.container(horizontal=True):
            label = _("Ask a reviewer to sign") if reviewed else _("Spend and answer")
            if st.button(label, key=f"answer_{a.name}", type="primary", icon=":material/check:"):
                asking.answer(a, epsilon=epsilon)
                st.rerun()
            if st.button(_("Refuse"), key=f"decline_{a.name}", icon=":material/close:"):
                asking.decline(a, why)
                st.rerun()


def _left(name: str) -> str:
    budget = caps.of(name)
    if budget.left is None:
        return _("No cap holds for {name}.").format(name=frame.escape(name))
    if budget.reserve is not None:
        return _("Of the reserve for questions {b.reserve:g} is left, of the whole cap {b.left:g}.").format(b=budget)
    if budget.by_rules:
        return _("Of the cap in the file of roles {left:g} is left.").format(left=budget.left)
    return _("Of the cap {left:g} is left; nothing of it is kept for questions.").format(left=budget.left)


def _reserve() -> None:
    """A part of the cap that questions alone may spend."""
    who = access.me()
    if not who.may("set_reserve"):
        return
    mine = {
        str(j.request()["dataset"]) for j in asking.releases() if who.may("answer_question", j.request().get("owner"))
    }
    capped = {t.dataset: t.policy for t in synth.Ledger().summary() if t.dataset in mine and t.policy is not None}
    capped = {n: p for n, p in capped.items() if p.max_epsilon and access.rules().may_spend(who, n)}
    if not capped:
        return
    with st.expander(_("Reserve for questions")):
        st.caption(_("A part of the cap that answers alone may spend, and no more than it."))
        name = st.selectbox(_("Dataset"), list(capped), key="reserve_of", help=_("Whose cap it is a part of."))
        cap = float(capped[name].max_epsilon or 0.0)
        label, said = _("Reserve, of a cap of {cap:g}").format(cap=cap), _("0: questions and runs share the cap.")
        held = capped[name].reserve
        value = st.number_input(label, 0.0, cap, held, step=0.1, format="%g", key=f"reserve_{name}", help=said)
        if st.button(_("Keep this much"), key="reserve_set"):
            asking.reserve(name, float(value))
            st.rerun()


def _asked(a: asking.Asked) -> None:
    """A question and what became of it."""
    state = a.state()
    with st.container(border=True):
        try:
            _about(a)
        except synth.SynthError:
            st.markdown(_("The release that this question was about is gone."))
        st.markdown(_("**{state}**").format(state=STATES[state]))
        decision = a.decision or {}
        if state == "refused" and decision.get("why"):
            st.caption(_("Reason: {why}").format(why=frame.escape(decision["why"])))
        if state in ("failed", "cancelled"):
            st.caption(_ended(a))
        mine = state == "waits" and access.me().may("withdraw_question", a.by)
        if mine and st.button(_("Withdraw it"), key=f"withdraw_{a.name}", icon=":material/undo:"):
            asking.withdraw(a)
            st.rerun()
        if state == "done" and (asking.decides(a) or access.me().may("read_answer", a.by)):
            _answer(a)


def _ended(a: asking.Asked) -> str:
    """Why the answer did not come, for whoever may know it."""
    try:
        said = runs.why(a.answer) if a.answer else ""
    except synth.SynthError:
        said = ""
    return frame.escape(said or STATES[a.state()])


def _answer(a: asking.Asked) -> None:
    """Figures, a picture, and the files."""
    result = json.loads(asking.part(a, app_api.ANSWER))
    for one in app_api.answers_of(result):
        picture, tall = app_api.answer_picture(one["terms"], level=f"{100 * result['level']:g} %")
        st.iframe(str(picture), height=tall, alt=_("Synthetic and verified values"))
        rows = []
        for name, t in one["terms"].items():
            ends = "-" if t["low"] is None else f"{_figure(t['low'])} – {_figure(t['high'])}"
            figures = {_("synthetic"): t["synthetic"], _("verified"): t["estimate"], _("interval"): ends}
            rows.append({_("term"): name, **figures})
        _frame(rows)
        for name, term in one["terms"].items():
            st.markdown(frame.escape(_beside(name, term)))
        for name, said in one.get("within", {}).items():
            st.markdown(_within(name, said))
    card = result["card"]
    about = _(
        "Dot: verified, line: its 95 % interval, box: the interval of the private table itself, bar: synthetic. "
        "Guarantee: epsilon {epsilon:g}, delta {delta}; it may be published."
    )
    st.caption(about.format(epsilon=card["epsilon"], delta=words.small(card["delta"])))
    with st.container(horizontal=True):
        said = _("Noisy figures alone: it may be shared.")
        label, file = _("Answer with its card (.json)"), app_api.ANSWER
        access.offer(label, file, f"get_answer_{a.name}", asking.part, a, file, help=said)
        access.offer(_("Page (.html)"), "answer.html", f"get_page_{a.name}", asking.page, a, help=said)


def _beside(name: str, term: dict[str, Any]) -> str:
    """Where the synthetic figure stands beside the verified one.

    >>> _beside("mean", {"synthetic": 5.0, "low": 3.0, "high": 4.0})
    'mean: the synthetic figure is above the interval, by 25 %.'
    """
    made, low, high = term["synthetic"], term["low"], term["high"]
    if low is None or made is None:
        return _("{name}: there is no interval to compare with.").format(name=name)
    if low <= made <= high:
        return _("{name}: the synthetic figure lies within the interval.").format(name=name)
    end, said = (high, _("{name}: the synthetic figure is above the interval, by {off:.2g} %."))
    if made < low:
        end, said = (low, _("{name}: the synthetic figure is below the interval, by {off:.2g} %."))
    return said.format(name=name, off=100 * abs(made - end) / (abs(end) or 1.0))


def _within(name: str, said: dict[str, Any]) -> str:
    if said["within"] is None:
        return _("{name}: the noise does not settle it.").format(name=frame.escape(name))
    text = _("{name}: yours is within.") if said["within"] else _("{name}: yours is not within.")
    return text.format(name=frame.escape(name)) + " " + _("Wrong with chance {error:.2g}.").format(error=said["error"])


page()
