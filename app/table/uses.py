"""What the table is for: lines in plain words, or a pasted research plan, by which the budget is divided."""

from typing import Any

import streamlit as st

import synth
from app.session import frame, labels
from app.session.state import effective_own, own, with_own, wizard
from app.table import intake
from synth import app_api
from synth.languages import _, ngettext

Plain = dict[str, Any]
SHOWN = 5  # lines of a plan that are shown as not understood


def section() -> None:
    """The uses there are, and a field for more."""
    uses = list(own(wizard()).get("uses") or [])
    frame.fold(_("What the table is for (optional)"), "uses", lambda: _uses(uses))
    if uses:  # not in the panel's name: with another name it would close
        st.caption(ngettext("{n} use named.", "{n} uses named.", len(uses)))


def _uses(uses: list[Plain]) -> None:
    st.caption(
        _(
            "What will be looked at in the synthetic table gets more of the budget, and the reports answer in these "
            "words. Nothing more is spent. What you name here is public, and goes with the result."
        )
    )
    for i, use in enumerate(uses):
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.markdown(f"{i + 1}. {frame.escape(sentence(use))}")
        if right.button(_("Remove"), key=f"drop_use_{i}", help=_("Takes this use out of the description.")):
            _retain([u for k, u in enumerate(uses) if k != i], _("The use is removed."))
    text = st.text_area(
        _("One use a line, or a research plan"),
        key=f"uses_{len(uses)}",
        placeholder=_(
            "age by sex by district\nincome ~ age + sex*education\ncompare income across sex\npredict income"
        ),
        help=_(
            "Tables of two to four columns (age by sex), regressions (income ~ age), groups (compare income across "
            "sex), targets (predict income), columns that matter, correlations. A sentence that names two to four "
            "columns asks for their table."
        ),
    )
    known = list(effective_own(wizard())["columns"])
    result, rest = app_api.uses_of_plan(text or "", known)
    for line in rest[:SHOWN]:
        st.caption(_("Not understood, and left out: {line}").format(line=frame.escape(line)))
    if len(rest) > SHOWN:
        st.caption(ngettext("and {n} more line.", "and {n} more lines.", len(rest) - SHOWN))
    new = [u for u in (use.model_dump(mode="json", exclude_none=True) for use in result) if u not in uses]
    for use in new:
        st.markdown(_("**It will say:** {sentence}").format(sentence=frame.escape(sentence(use))))
    if st.button(_("Add these uses"), key="add_uses", disabled=not new, icon=":material/add:"):
        try:
            app_api.with_uses(
                synth.Schema.parse(
                    {**effective_own(wizard()), "uses": [*uses, *new]}, name="description", complete=False
                ),
                (),
            )
        except synth.SynthError as error:
            st.error(frame.escape(labels.plain(str(error))), icon=":material/error:")
            return
        _retain([*uses, *new], _("The uses are added."))


def _retain(uses: list[Plain], notice: str) -> None:
    w = wizard()
    intake.replace(with_own(w, {**own(w), "uses": uses or None}), notice)


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
        "prediction": lambda: _("predicting {names}").format(names=names),
        "columns": lambda: _("columns that matter more: {names}").format(names=names),
        "correlation": lambda: _("correlations of {names}").format(names=names),
    }[use["kind"]]()
    return words if weight == 1 else _("{use}; weight {weight:g}").format(use=words, weight=weight)
