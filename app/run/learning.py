"""Facts learnt from the rows with budget, where nobody can vouch for them."""

import json
from typing import Any

import streamlit as st

import synth
from app.run import caps, runs, same
from app.run.follow import follow
from app.run.forecast import budget
from app.session import frame, words
from app.session.state import Wizard, answered, dataset, effective, several, start, tables, wizard
from app.table import facts, keys, lists, unit
from synth.app_api import jobs
from synth.languages import _

USUAL = 0.1
Plain = dict[str, Any]


def section() -> None:
    """Which facts to learn, what it costs, and one button that spends."""
    w = wizard()
    if w.learning is not None:
        follow(str(w.learning), _taken, about=_("Learns facts of the description, for the epsilon that was chosen."))
        return
    if same.choice(w):
        return
    described = {t: effective(w)["tables"][t] if t else effective(w) for t in tables(w)}
    names = [
        start(t) + n for t, s in described.items() for n, c in s["columns"].items() if c["type"] not in facts.UNREAD
    ]
    learnt = lists.to_learn(w)
    answers = not keys.waiting(w) if several(w) else answered(w) or unit.proposed(w)
    frame.fold(
        _("Learn values or bounds privately, with budget"),
        f"learn_{w.edition}_{bool(learnt) and answers}",
        lambda: _ask(w, names, learnt, answers=answers),
        expanded=bool(learnt) and answers,
    )


def _ask(w: Wizard, names: list[str], learnt: list[str], *, answers: bool) -> None:
    st.caption(
        _(
            "For columns whose possible values nobody knows from elsewhere: they are learnt from the rows under "
            "noise; rare values are not learnt. It is charged to the dataset on its own, and the card of every "
            "result made with this description states the charge."
        )
    )
    if several(w):
        st.caption(
            _(
                "One row of each unit is looked at in each table, drawn at random, so that a unit with many rows is "
                "protected like any other. A value that few units have is not learnt, however often they have it."
            )
        )
    columns = st.multiselect(
        _("Columns"),
        names,
        default=learnt,
        key=f"learn_columns_{w.edition}_{len(learnt)}",
        placeholder=_("Choose columns"),
        help=_("Their values, bounds and missing codes are taken out and learnt."),
    )
    left, right = st.columns(2)
    epsilon = left.number_input(
        _("Epsilon for learning"),
        min_value=0.01,
        value=USUAL,
        step=0.05,
        key="learn_epsilon",
        help=_("A tenth of what the run itself gets is usual."),
    )
    delta = right.selectbox(
        _("Delta for learning"),
        [1e-5, 1e-6, 1e-7],
        index=1,
        key="learn_delta",
        format_func=words.small,
        help=_(words.DELTA_HELP),
    )
    first, cap = _cap(w)
    blocked = not columns or not dataset(w) or w.table is None or not answers
    if not answers and several(w):
        st.caption(_("First vouch below for the keys and their bounds."))
    elif not answers:
        st.caption(_("First answer above whether a person can appear in more than one row."))
    said = _("Spend epsilon {epsilon:g} and learn")
    if first:
        said = (
            _("Set no cap, spend epsilon {epsilon:g} and learn")
            if cap is None
            else _("Set the cap of {cap:g}, spend epsilon {epsilon:g} and learn")
        )
    if st.button(
        said.format(epsilon=epsilon, cap=cap),
        key="learn",
        disabled=blocked,
        icon=":material/school:",
    ):
        unit.take(w)
        if same.asks(w):
            st.rerun()
        try:
            if first:
                caps.put(dataset(w), cap)
            w.learning = runs.learn(w, columns, epsilon=float(epsilon), delta=float(delta)).path
        except synth.UsageError as error:
            frame.tell(error)
            return
        st.rerun()


def _cap(w: Wizard) -> tuple[bool, float | None]:
    """What the cap leaves; before the first spend the choice of one: whether it is asked for, and what was chosen."""
    name = dataset(w)
    if name and not caps.decided(name) and caps.may_set(name):
        return True, caps.ask("learn_cap")
    left_over = getattr(budget(w) if name else None, "remaining_epsilon", None)
    st.caption(
        _("It was decided that this dataset has no cap.")
        if left_over is None
        else _("The cap on this dataset leaves epsilon {left_over:g}.").format(left_over=left_over)
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
        spent = status.exit_code in (None, 1, 5)
        w.failed = True
        w.notice = _("Nothing was learnt: {message}. ").format(message=frame.escape(runs.why(job))) + (
            _("The page Ledger shows whether the budget was charged.") if spent else _("Nothing was spent.")
        )
    w.edition += 1


def _with(plain: Plain, columns: Plain) -> Plain:
    """The description of a table with these columns in place of its own."""
    return {**plain, "columns": {n: columns.get(n, c) for n, c in plain["columns"].items()}}
