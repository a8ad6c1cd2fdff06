"""What the tables are for: lines in plain words, a pasted research plan, or chosen columns; it divides the budget."""

from collections.abc import Collection
from typing import Any

import streamlit as st

import synth
from app.session import frame, labels
from app.session.state import facts, several, wizard
from app.table import intake
from synth import app_api
from synth.languages import Texts, _, ngettext

Plain = dict[str, Any]
SHOWN = 5  # lines of a plan that are shown as not understood
KINDS = Texts(
    {
        "table": "are looked at together",
        "correlation": "are looked at pair by pair",
        "prediction": "will be predicted",
        "columns": "matter more than others",
    }
)
FEWEST = {"table": 2, "correlation": 2}  # columns; else one


def section() -> None:
    """The uses there are, and fields for more."""
    uses = list(wizard().plain.get("uses") or [])
    title = _("What the tables are for (optional)") if several(wizard()) else _("What the table is for (optional)")
    frame.fold(title, "uses", lambda: _uses(uses))
    if uses:  # not in the panel's name: with another name it would close
        st.caption(ngettext("{n} use named.", "{n} uses named.", len(uses)))


def _uses(uses: list[Plain]) -> None:
    st.caption(
        _(
            "What will be looked at in the synthetic result gets more of the budget, and the reports answer in these "
            "words. Nothing more is spent. What you name here is public, and goes with the result."
        )
    )
    for i, use in enumerate(uses):
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.markdown(f"{i + 1}. {frame.escape(sentence(use))}")
        if right.button(_("Remove"), key=f"drop_use_{i}", help=_("Takes this use out of the description.")):
            _retain([u for k, u in enumerate(uses) if k != i], _("The use is removed."))
    known = facts(wizard(), complete=False)[0]
    if known is None:
        st.caption(_("First correct what the red box says."))
        return
    result, rest = app_api.uses_of_plan(_text(len(uses)), known)
    for line in rest[:SHOWN]:
        st.caption(_("Not understood, and left out: {line}").format(line=frame.escape(line)))
    if len(rest) > SHOWN:
        st.caption(ngettext("and {n} more line.", "and {n} more lines.", len(rest) - SHOWN))
    asked = [use.model_dump(mode="json", exclude_none=True) for use in result]
    asked += _chosen(app_api.columns_for_uses(known), len(uses))
    new = [u for u in asked if u not in uses]
    for use in new:
        st.markdown(_("**It will say:** {sentence}").format(sentence=frame.escape(sentence(use))))
    if st.button(_("Add these uses"), key="add_uses", disabled=not new, icon=":material/add:"):
        try:
            app_api.with_uses(known, new)
        except synth.SynthError as error:
            st.error(frame.escape(labels.plain(str(error))), icon=":material/error:")
            return
        _retain([*uses, *new], _("The uses are added."))


def _text(number: int) -> str:
    """What is written or pasted."""
    about = _(
        "Tables of two to four columns (age by sex), regressions (income ~ age), groups (compare income across "
        "sex), targets (predict income), columns that matter, correlations. A sentence that names two to four "
        "columns asks for their table."
    )
    shown = _("age by sex by district\nincome ~ age + sex*education\ncompare income across sex\npredict income")
    if several(wizard()):
        about += " " + _(
            "Columns are written as table.column; one that a single table has may stand alone. A use names columns of "
            "one table and of those above it."
        )
        shown = _("stays.ward by patients.sex\nstays.days ~ patients.age + stays.ward\npredict stays.days")
    key = f"uses_{number}"
    return st.text_area(_("One use a line, or a research plan"), key=key, placeholder=shown, help=about) or ""


def _chosen(known: Collection[str], number: int) -> list[Plain]:
    """The use of the columns that are chosen from a list; none before there are enough of them."""
    left, middle, right = st.columns([3, 2, 1])
    kind = middle.selectbox(
        _("These columns"),
        list(KINDS),
        format_func=lambda k: KINDS[k],
        key=f"use_kind_{number}",
        help=_("What will be done with the chosen columns."),
    )
    names = left.multiselect(
        _("Or choose columns"),
        list(known),
        key=f"use_columns_{number}",
        placeholder=_("Choose columns"),
        help=_("Of several tables as table.column, in the order of the tables; type to find one."),
    )
    weight = right.number_input(
        _("Weight"),
        min_value=0.1,
        value=1.0,
        step=1.0,
        key=f"use_weight_{number}",
        help=_("How much more than others it matters; behind a line it is written as (weight 2)."),
    )
    if len(names) < FEWEST.get(kind, 1):
        return []
    return [{"kind": kind, "columns": names, "weight": float(weight)}]


def _retain(uses: list[Plain], notice: str) -> None:
    intake.replace({**wizard().plain, "uses": uses or None}, notice)


def sentence(use: Plain) -> str:
    """A use in words.

    >>> sentence({"kind": "table", "columns": ["age", "sex"], "weight": 2.0})
    'the table of age, sex; weight 2'
    >>> sentence({"kind": "regression", "formula": "income ~ age", "weight": 1.0})
    'the regression income ~ age'
    """
    names = ", ".join(use.get("columns", ()))
    weight = use.get("weight", 1.0)
    words = {
        "table": lambda: _("the table of {names}").format(names=names),
        "regression": lambda: _("the regression {formula}").format(formula=use["formula"]),
        "comparison": lambda: _("how {of} differs across {groups}").format(
            of=", ".join(use["of"]), groups=", ".join(use["groups"])
        ),
        "means": lambda: _("averages of {of} by {groups}").format(
            of=", ".join(use["of"]), groups=", ".join(use["groups"])
        ),
        "prediction": lambda: _("predicting {names}").format(names=names),
        "columns": lambda: _("columns that matter more: {names}").format(names=names),
        "correlation": lambda: _("correlations of {names}").format(names=names),
    }[use["kind"]]()
    return words if weight == 1 else _("{use}; weight {weight:g}").format(use=words, weight=weight)
