"""Step 3: how much privacy to give up at most."""

from math import exp, log

import streamlit as st

from app.run import caps, forecast, learning, prior
from app.run.forecast import budget, delta_note, short_by
from app.session import access, frame, words
from app.session.state import dataset, facts_of, several, wizard
from app.table import unit
from synth import app_api
from synth.languages import _, phrase

LOW, HIGH, STOPS, MOST = 0.05, 10.0, 54, 1000
DELTAS = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9]
SAFE = 0.1  # of a row: what may be published whole, on average, under a delta that is proposed


def _grid() -> list[float]:
    """Stops of the slider, at equal ratios and of two digits."""
    raw = [LOW * exp(log(HIGH / LOW) * i / (STOPS - 1)) for i in range(STOPS)]
    return sorted({float(f"{v:.2g}") for v in raw} | {0.1, 0.5, 1.0, 2.0, 3.0, 5.0})


GRID = _grid()


def page() -> None:
    """Epsilon, what it means, what is hidden, and what is left."""
    frame.head(
        "budget",
        _("How much may the result reveal at most? **Nothing is spent on this page.**"),
    )
    if not frame.needs("budget", _("Finish the description first: every column needs somebody to vouch."), "describe"):
        return
    _epsilon()
    _meaning()
    _details()
    place = st.container()
    with place:
        prior.worth()
    uses = st.container()
    _onward(_left() or _blocked())
    prior.worth_later(place)
    forecast.uses_later(uses)


def _blocked() -> str:
    w = wizard()
    if not 0 < w.epsilon < MOST:
        return _("First choose an epsilon above 0.")
    if not w.rows:
        return _("First state roughly how many rows there are.")
    if delta_note(w):
        return _("First choose a smaller delta.")
    return _("First correct what the red box says.") if short_by(w) else ""


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


def _details() -> None:
    w = wizard()
    left, right = st.columns(2)
    choices = list(words.RELATIONS)
    w.relation = left.selectbox(
        _("What is hidden"),
        choices,
        index=choices.index(w.relation) if w.relation in choices else 0,
        key="relation",
        format_func=lambda r: words.RELATIONS.get(r, r),
        help=_(words.RELATION_HELP),
    )
    tables = facts_of(w)[0] if several(w) else None
    left.caption(
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
    with right:
        learning.size(w)
    with right:
        _delta()


def _delta() -> None:
    """The allowance, with a smaller one a click away where it is too large for that many rows."""
    w = wizard()
    st.session_state.setdefault("delta", w.delta)
    w.delta = st.selectbox(
        _("Allowance (delta)"), DELTAS, key="delta", format_func=words.small, help=_(words.DELTA_HELP)
    )
    if note := delta_note(w):
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
    total = budget(w)
    if (held := rules.budget(name)) is not None and (total is None or total.policy is None):
        # written with the first run, not for every name that is typed here
        return _by_rules(name, held[0], total.epsilon if total else 0.0)
    spent = (
        _("epsilon {epsilon:g} spent in {runs}").format(epsilon=total.epsilon, runs=words.runs(total.runs))
        if total and total.runs
        else _("nothing spent")
    )
    if not caps.decided(name):
        return _choice(
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
    if reason := short_by(w):
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


def _choice(lead: str, spent: float) -> str:
    st.markdown(lead)
    cap = st.session_state["chosen_cap"] = caps.ask("cap", spent=spent)
    if cap is not None and wizard().epsilon > cap - spent:
        return _("The cap of {cap:g} would not allow this run. Lower epsilon, or choose a larger cap.").format(cap=cap)
    st.caption(_("Recorded in the ledger: {words}.").format(words=caps.words(cap)))
    return ""


def _onward(blocked: str) -> None:
    """The way on; where the cap is to be chosen, the same click records what the controls show."""
    name = dataset(wizard())
    if caps.decided(name) or not caps.may_set(name):
        frame.onward("budget", blocked=frame.escape(blocked))
        return
    cap = st.session_state.get("chosen_cap")
    label = _(", without a cap") if cap is None else _(", with a cap of {cap:g}").format(cap=cap)
    frame.onward("budget", blocked=frame.escape(blocked), label=label, first=lambda: caps.put(name, cap))


page()
