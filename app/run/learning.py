"""Facts learnt from the rows with budget; before any charge, whether the same rows were charged before."""

import json
from typing import Any

import streamlit as st

import synth
from app.run import caps, runs
from app.session import access, frame, state, tasks, workers
from app.session.state import Wizard, answered, dataset, effective, facts_of, linked, several, start, tables, wizard
from app.table import facts, keys, lists, stored
from synth.app_api import jobs
from synth.languages import _

COMPARING = 1800.0  # seconds that a pass over the rows may take; at most 2,097,152 rows are compared
TOO_LONG = (
    "checking whether these rows were charged under another name took more than half an hour, so nothing was "
    "started or charged; try again when this computer is less busy, or start the run with `synth run`, which waits"
)


def charged_elsewhere(w: Wizard) -> bool:
    """Whether rows that this visitor may see were charged under another name, and nothing was said of it.

    Errors: InputError where no answer came: a run that could not be compared is not started.
    """
    known, _other = facts_of(w)
    if w.separate == dataset(w) or known is None or w.table in (None, frame.SAMPLE):
        return False
    if not {t.dataset for t in synth.Ledger().summary()} - {dataset(w)}:
        return False
    asked: dict[str, Any] = {"dataset": dataset(w), "source": w.source}
    with st.spinner(_("Checking whether these rows were charged before")):
        w.twins = workers.ask(
            tasks.charged_before,
            None if several(w) and w.source else str(w.table),
            known.to_json(),
            access.me().name,
            seconds=COMPARING,
            late=_(TOO_LONG),
            **asked,
        )
    return bool(w.twins)


def same_choice(w: Wizard) -> bool:
    """The choice, where one is open; returns whether it is."""
    if not w.twins or w.separate == dataset(w):
        return False
    names = " and ".join(w.twins)
    said = _(
        "**These rows, or nearly all of them, were charged to {names} before.** What is learnt about the "
        "same people adds up, so they should have one budget. Nothing is charged yet."
    )
    st.warning(said.format(names=frame.escape(names)), icon=":material/content_copy:")
    with st.container(horizontal=True):
        for i, name in enumerate(w.twins):
            said = _("Both tables then share one budget and one cap.")
            label = _("Charge {name} instead")
            if st.button(label.format(name=name), key=f"same_{i}", type="primary", icon=":material/merge:", help=said):
                w.plain["dataset"], w.twins = name, []
                st.rerun()
        said = _("State this only if you know it. It is recorded with the charge.")
        if st.button(_("No person is in both"), key="separate", icon=":material/call_split:", help=said):
            w.separate, w.twins = dataset(w), []
            st.rerun()
    return True


COUNTING = 600.0  # seconds that the counting may take
HELP = "For the forecast and the check of delta only: a public figure or a guess. It is not taken from the table."
PUBLIC = (
    "Only where the number of rows is no secret, for instance because a report states it. It is then taken from the "
    "table, to two digits. Where the number must stay secret, type a guess."
)


def size(w: Wizard) -> None:
    """The question, and the table's own size for whoever says that it is public."""
    st.session_state.setdefault("rows", w.rows or None)
    root = facts_of(w)[0] if several(w) else None
    about = _("About how many persons are there?") if linked(w) else _("About how many rows are there?")
    if root is not None:
        about = _("About how many rows has {root}?").format(root=root.root)
    typed = st.number_input(
        about, min_value=1, value=None, step=1000, key="rows", placeholder=_("for instance 40000"), help=_(HELP)
    )
    w.rows = int(typed or 0)
    if not w.rows:
        label, icon = _("The number is public: take it from the table"), ":material/table_rows:"
        st.button(label, key="rows_of_file", help=_(PUBLIC), on_click=_count, args=(w,), type="tertiary", icon=icon)


def _count(w: Wizard) -> None:
    assert w.table is not None
    late = _("counting takes too long here; type about how many rows there are")
    with frame.told():
        stored.allow_table("use_table", w.table, w.source)
        text = state.checked(w).to_json()
        result = workers.ask(tasks.rough_rows, str(w.table), text, w.source, seconds=COUNTING, late=late)
        w.rows = st.session_state["rows"] = max(result, 1)


USUAL = 0.1
Plain = dict[str, Any]


def section() -> None:
    """Which facts to learn, what it costs, and one button that spends."""
    w = wizard()
    if w.learning is not None:
        said = _("Learns facts of the description, for the epsilon that was chosen.")
        runs.follow(str(w.learning), _taken, about=said)
        return
    if same_choice(w):
        return
    described = tables(w, effective(w))
    names = [start(t) + n for t, s in described.items() for n in facts.readable(s["columns"])]
    learnt = lists.to_learn(w)
    answers = not keys.waiting(w) if several(w) else answered(w) or facts.proposed(w)
    frame.fold(
        _("Learn values or bounds privately, with budget"),
        f"learn_{w.edition}_{bool(learnt) and answers}",
        lambda: _ask(w, names, learnt, answers=answers),
        expanded=bool(learnt) and answers,
    )


def _ask(w: Wizard, names: list[str], learnt: list[str], *, answers: bool) -> None:
    about = _(
        "For columns whose possible values nobody knows from elsewhere: they are learnt from the rows under "
        "noise; rare values are not learnt. It is charged to the dataset on its own, and the card of every "
        "result made with this description states the charge."
    )
    st.caption(about)
    if several(w):
        about = _(
            "Of each that is protected one row is looked at in each table, drawn at random, so that whoever has many "
            "rows is protected like any other. A value that few have is not learnt, however often they have it."
        )
        st.caption(about)
    columns = st.multiselect(
        _("Columns"),
        names,
        default=learnt,
        key=f"learn_columns_{w.edition}_{len(learnt)}",
        placeholder=_("Choose columns"),
        help=_("Their values, bounds and missing codes are taken out and learnt."),
    )
    epsilon, delta = caps.amounts("learn", _("learning"), usual=USUAL, delta=1e-6)
    first, cap = _cap(w)
    blocked = not columns or not dataset(w) or w.table is None or not answers
    if not answers:
        keyed = _("First confirm the keys and their bounds below.")
        st.caption(keyed if several(w) else _("First answer whether a person can appear in more than one row."))
    said = _("Spend epsilon {epsilon:g} and learn")
    if first:
        said = _("Set the cap of {cap:g}, spend epsilon {epsilon:g} and learn")
        said = _("Set no cap, spend epsilon {epsilon:g} and learn") if cap is None else said
    if st.button(said.format(epsilon=epsilon, cap=cap), key="learn", disabled=blocked, icon=":material/school:"):
        facts.take_person(w)
        if charged_elsewhere(w):
            st.rerun()
        with frame.told():
            if first:
                caps.put(dataset(w), cap)
            runs.learn(w, columns, epsilon=epsilon, delta=delta)
            st.rerun()


def _cap(w: Wizard) -> tuple[bool, float | None]:
    """What the cap leaves; before the first spend the choice of one: whether it is asked for, and what was chosen."""
    budget = caps.of(dataset(w))
    if budget.name and not budget.decided and caps.may_set(budget.name):
        return True, caps.ask("learn_cap")
    st.caption(
        _("It was decided that this dataset has no cap.")
        if budget.left is None
        else _("The cap on this dataset leaves epsilon {left_over:g}.").format(left_over=budget.left)
    )
    return False, None


def _taken(job: jobs.Job, status: jobs.Status) -> None:
    """Takes the learnt facts over, or says why there are none."""
    w = wizard()
    w.learning = None
    names = ", ".join(job.request().get("learns", []))
    if status.state == "done":
        parsed = json.loads(runs.learnt(job).read_text(encoding="utf-8"))
        own = parsed.get("tables", {"": parsed})  # a table whose columns were not asked for is not in it
        described = {t: _with(s, own[t]["columns"]) if t in own else s for t, s in tables(w).items()}
        w.plain = {**w.plain, **({"tables": described} if several(w) else described[""]), "learnt": parsed["learnt"]}
        w.notice = _("Learnt privately: {names}. The charge is in the ledger.").format(names=frame.escape(names))
    else:
        unsure, w.failed = status.exit_code in (None, 1, 5), True
        spent = _("The page Ledger shows whether the budget was charged.") if unsure else _("Nothing was spent.")
        w.notice = _("Nothing was learnt: {message}. ").format(message=frame.escape(runs.why(job))) + spent
    w.edition += 1


def _with(plain: Plain, columns: Plain) -> Plain:
    """The description of a table with these columns in place of its own."""
    return {**plain, "columns": {n: columns.get(n, c) for n, c in plain["columns"].items()}}
