"""Rules across tables that belong together: a form for each kind, a sentence for each rule."""

from typing import Any

import streamlit as st

import synth
from app.session import frame, labels
from app.session.state import effective, wizard
from app.table import intake
from synth import app_api
from synth.languages import Texts, _, ngettext

Plain = dict[str, Any]
NUMBERS = ("integer", "float")
KINDS = Texts(
    {
        "equal": "Repeats the column above",
        "order": "Never above another",
        "count": "Counts the rows below",
        "total": "Adds up the rows below",
    }
)
ABOUT = Texts(
    {
        "equal": "A column that holds what a table above holds already, such as the region of an order and its "
        "account's.",
        "order": "A number or date that is at most one of a table above or below, such as birth and admission.",
        "count": "A column that is the number of rows below, such as the number of stays.",
        "total": "A column that is the sum of a column of the rows below, such as the sum of orders.",
    }
)


def section() -> None:
    """The rules there are, and a form for one more."""
    rules = list(wizard().plain.get("constraints") or [])
    frame.fold(_("Rules across tables (optional)"), "rules_across", lambda: _rules(rules))
    if rules:  # not in the panel's name: with another name it would close
        st.caption(ngettext("{n} rule across tables.", "{n} rules across tables.", len(rules)))


def _rules(rules: list[Plain]) -> None:
    st.caption(
        _(
            "What holds between a row and the rows above or below it, whoever is in the tables. Synthetic rows "
            "are changed to keep these rules. They cost nothing: they are facts that you vouch for."
        )
    )
    for i, rule in enumerate(rules):
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.markdown(f"{i + 1}. {frame.escape(sentence(rule))}")
        if right.button(_("Remove"), key=f"drop_across_{i}", help=_("Takes this rule out of the description.")):
            _keep([r for k, r in enumerate(rules) if k != i], _("The rule is removed."))
    _form(rules)


def _form(rules: list[Plain]) -> None:
    kind = st.selectbox(
        _("New rule across tables"),
        list(KINDS),
        format_func=lambda k: KINDS[k],
        key="across_kind",
        help=_("What kind of rule to add."),
    )
    st.caption(ABOUT[kind])
    rule = _asked(kind, f"across_{len(rules)}_{kind}")
    if rule is not None:
        st.markdown(_("**It will say:** {sentence}").format(sentence=frame.escape(sentence(rule))))
    if (
        st.button(_("Add this rule"), key="add_across", disabled=rule is None, icon=":material/add:")
        and rule is not None
    ):
        try:
            reported = {**effective(wizard()), "constraints": [*rules, rule], "open": None}
            app_api.parse_related(reported, name="description", complete=False)
        except synth.InputError as error:
            st.error(frame.escape(labels.plain(str(error))), icon=":material/error:")
            return
        _keep([*rules, rule], _("The rule is added."))


def _keep(rules: list[Plain], notice: str) -> None:
    retained = {k: v for k, v in wizard().plain.items() if k != "constraints"}
    intake.replace({**retained, "constraints": rules} if rules else retained, notice)


def _asked(kind: str, key: str) -> Plain | None:
    """The rule as far as it is filled in; which columns go together, the library says."""
    plain = effective(wizard())
    first, second = {"equal": ("child", "parent"), "order": ("low", "high")}.get(kind, ("parent", "child"))
    labels = {"child": _("This column below"), "low": _("This column"), "high": _("is at most this one")}
    left, right = st.columns(2)
    one = left.selectbox(
        labels.get(first, _("This column above")),
        _columns(plain, kind),
        index=None,
        key=f"{key}_one",
        format_func=frame.escape,
        help=_("As table.column."),
    )
    below = [k["child"] for k in plain["keys"] if one and k["parent"] == one.partition(".")[0]]
    others = below if kind == "count" else [n for n in _columns(plain, kind) if one and n != one]
    reported = {"equal": _("repeats this one"), "count": _("is the number of rows of"), "total": _("is the sum of")}
    other = right.selectbox(
        reported.get(kind, labels["high"]),
        others,
        index=None,
        key=f"{key}_other",
        format_func=frame.escape,
        help=_("Of a table above or below it."),
    )
    return {"kind": kind, first: one, second: other} if one and other else None


def _columns(plain: Plain, kind: str) -> list[str]:
    """Columns that a rule of this kind may name, as TABLE.COLUMN."""
    types = {"order": (*NUMBERS, "datetime"), "count": ("integer",), "total": NUMBERS}.get(kind)
    return [
        f"{t}.{n}"
        for t, s in plain["tables"].items()
        for n, c in s["columns"].items()
        if (c["type"] in types if types else c["type"] not in ("identifier", "omitted"))
    ]


def sentence(rule: Plain) -> str:
    """A rule in words.

    >>> sentence({"kind": "count", "parent": "patients.stays", "child": "stays"})
    'patients.stays is the number of rows of stays.'
    >>> sentence({"kind": "order", "low": "patients.born", "high": "stays.day"})
    'patients.born is at most stays.day, unless one of them is missing.'
    """
    if rule["kind"] == "order":
        return _("{low} is at most {high}, unless one of them is missing.").format(low=rule["low"], high=rule["high"])
    if rule["kind"] == "equal":
        return _("{child} repeats {parent}.").format(child=rule["child"], parent=rule["parent"])
    what = _("the number of rows of") if rule["kind"] == "count" else _("the sum of")
    return _("{parent} is {what} {child}.").format(parent=rule["parent"], what=what, child=rule["child"])
