"""Rules across columns: a form for each kind, a sentence for each rule."""

from typing import Any

import pandas as pd
import streamlit as st

import synth
from app.session import frame, labels
from app.session.state import effective_own, opened, own, with_own, wizard
from app.table import conditions, intake
from app.table.facts import WORDED
from synth.languages import Texts, _, ngettext

Plain = dict[str, Any]
KINDS = Texts(
    {
        "impossible": "Never together",
        "order": "Never above another",
        "missing": "Empty when",
        "fixed": "Only these combinations",
        "function": "Follows from others",
    }
)
ABOUT = Texts(
    {
        "impossible": "Values that cannot occur in one row, such as age 0 to 14 with married.",
        "order": "A number or date that is at most another one, such as start and end.",
        "missing": "A cell that is always empty under a condition, such as the wage of a child.",
        "fixed": "Columns of which only some combinations exist, such as towns and their districts.",
        "function": "A column that others decide, such as an age group. Where it is given for every row, no budget is "
        "spent on it.",
    }
)


def section() -> None:
    """The rules there are, and a form for one more."""
    rules = list(own(wizard()).get("constraints") or [])
    frame.fold(_("Rules across columns (optional)"), "rules", lambda: _rules(rules))
    if rules:  # not in the panel's name: with another name it would close
        st.caption(ngettext("{n} rule across columns.", "{n} rules across columns.", len(rules)))


def _rules(rules: list[Plain]) -> None:
    st.caption(
        _(
            "What cannot occur, whoever is in the table. Every synthetic row keeps these rules, and they cost "
            "nothing, because they are facts that you vouch for."
        )
    )
    for i, rule in enumerate(rules):
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.markdown(f"{i + 1}. {frame.escape(sentence(rule))}")
        if right.button(_("Remove"), key=f"drop_rule_{i}", help=_("Takes this rule out of the description.")):
            _keep([r for k, r in enumerate(rules) if k != i], _("The rule is removed."))
    _form(rules)


def _form(rules: list[Plain]) -> None:
    kind = st.selectbox(
        _("New rule"), list(KINDS), format_func=lambda k: KINDS[k], key="rule_kind", help=_("What kind of rule to add.")
    )
    st.caption(ABOUT[kind])
    columns = effective_own(wizard())["columns"]
    w = wizard()
    table = f"{opened(w)}_".lstrip("_")
    rule = FORMS[kind](columns, f"rule_{table}{len(rules)}_{kind}")
    if rule is None:
        st.caption(_("Fill in the fields above to see the rule as a sentence."))
    else:
        st.markdown(_("**It will say:** {sentence}").format(sentence=frame.escape(sentence(rule))))
    if st.button(_("Add this rule"), key="add_rule", disabled=rule is None, icon=":material/add:") and rule is not None:
        try:
            synth.Schema.parse(
                {**effective_own(wizard()), "constraints": [*rules, rule]}, name="description", complete=False
            )
        except synth.InputError as error:
            st.error(frame.escape(labels.plain(str(error))), icon=":material/error:")
            return
        _keep([*rules, rule], _("The rule is added."))


def _keep(rules: list[Plain], notice: str) -> None:
    w = wizard()
    intake.replace(with_own(w, {**own(w), "constraints": rules or None}), notice)


def _impossible(columns: dict[str, Plain], key: str) -> Plain | None:
    when = conditions.ask(
        columns, key=key, label=_("Columns"), help_text=_("At least two columns, each with a condition.")
    )
    return {"kind": "impossible", "rows": when} if len(when) > 1 else None


def _order(columns: dict[str, Plain], key: str) -> Plain | None:
    names = [n for n, c in columns.items() if c["type"] in ("integer", "float", "datetime")]
    left, right = st.columns(2)
    low = left.selectbox(_("This column"), names, index=None, key=f"{key}_low", help=_("The smaller or earlier one."))
    same = [
        n
        for n in names
        if low and n != low and (columns[n]["type"] == "datetime") == (columns[low]["type"] == "datetime")
    ]
    high = right.selectbox(
        _("is at most this one"), same, index=None, key=f"{key}_high", help=_("The larger or later one.")
    )
    return {"kind": "order", "low": low, "high": high} if low and high else None


def _missing(columns: dict[str, Plain], key: str) -> Plain | None:
    names = [
        n
        for n, c in columns.items()
        if c["type"] not in ("identifier", "omitted") and (c.get("nullable") or c.get("missing"))
    ]
    if not names:
        st.info(_("No column may be empty so far: tick “May be empty” in the table above first."))
        return None
    column = st.selectbox(
        _("This column is empty"), names, index=None, key=f"{key}_what", help=_("A column that may be empty.")
    )
    others = {n: c for n, c in columns.items() if n != column}
    when = conditions.ask(others, key=key, label=_("when"), help_text=_("All of these conditions together."))
    only = st.checkbox(
        _("and never otherwise"), key=f"{key}_only", help=_("Tick it if the cell is filled in every other row.")
    )
    return {"kind": "missing", "column": column, "when": when, "only": only} if column and when else None


def _fixed(columns: dict[str, Plain], key: str) -> Plain | None:
    names = [n for n, c in columns.items() if c["type"] not in ("identifier", "omitted")]
    chosen = st.multiselect(
        _("Columns"), names, key=f"{key}_columns", help=_("Two or more columns."), placeholder=_("Choose columns")
    )
    if len(chosen) < 2:
        return None
    lines = _lines(chosen, columns, f"{key}_{'_'.join(chosen)}")
    return {"kind": "fixed", "columns": chosen, "combinations": lines} if lines else None


def _function(columns: dict[str, Plain], key: str) -> Plain | None:
    names = [n for n, c in columns.items() if c["type"] not in ("identifier", "omitted")]
    left, right = st.columns(2)
    column = left.selectbox(_("This column"), names, index=None, key=f"{key}_what", help=_("The column that follows."))
    of = right.multiselect(
        _("follows from"),
        [n for n in names if n != column],
        key=f"{key}_of",
        help=_("The columns that decide it."),
        placeholder=_("Choose columns"),
    )
    if not column or not of:
        return None
    lines = _lines([*of, column], columns, f"{key}_{column}_{'_'.join(of)}")
    offered = list(columns[column].get("categories") or ())
    if offered:
        other = st.selectbox(
            _("In all other rows"),
            [None, *offered],
            key=f"{key}_other",
            format_func=lambda v: _("the rule says nothing") if v is None else v,
            help=_("With a value the column is given for every row and costs no budget."),
        )
    else:
        other = (
            st.text_input(
                _("In all other rows"),
                key=f"{key}_other",
                placeholder=_("the rule says nothing"),
                help=_("With a value here the column is given for every row."),
            ).strip()
            or None
        )
    if not lines:
        return None
    return {"kind": "function", "column": column, "of": of, "table": lines} | ({"otherwise": other} if other else {})


def _lines(names: list[str], columns: dict[str, Plain], key: str) -> list[list[str]]:
    """A table to fill in: a line for each combination, all of its cells filled."""
    st.caption(_("One line for each combination. A cell holds a value, several as a|b, or a range as 0..14."))
    config: dict[str, Any] = {
        n: st.column_config.SelectboxColumn(n, options=list(columns[n].get("categories") or ()))
        if columns[n]["type"] in WORDED and n == names[-1]
        else st.column_config.TextColumn(n)
        for n in names
    }
    empty = pd.DataFrame({n: pd.Series([None], dtype=object) for n in names})
    result = st.data_editor(empty, num_rows="dynamic", hide_index=True, key=key, column_config=config)
    lines = result.astype(object).where(result.notna(), "").astype(str).to_numpy().tolist()
    return [[c.strip() for c in line] for line in lines if all(c.strip() for c in line)]


FORMS = {"impossible": _impossible, "order": _order, "missing": _missing, "fixed": _fixed, "function": _function}


def sentence(rule: Plain) -> str:
    """A rule in words.

    >>> sentence({"kind": "order", "low": "start", "high": "end"})
    'start is at most end, unless one of them is missing.'
    >>> sentence({"kind": "impossible", "rows": {"age": "0..14", "married": "yes"}})
    'Never together: age from 0 to 14 and married yes.'
    """
    kind = rule["kind"]
    if kind == "impossible":
        return _("Never together: {in_words}.").format(in_words=conditions.in_words(rule["rows"]))
    if kind == "order":
        return _("{low} is at most {high}, unless one of them is missing.").format(low=rule["low"], high=rule["high"])
    if kind == "missing":
        only = _(", and only then") if rule.get("only") else ""
        return _("{column} is empty when {in_words}{only}.").format(
            column=rule["column"], in_words=conditions.in_words(rule["when"]), only=only
        )
    if kind == "fixed":
        names = ", ".join(rule["columns"])
        return _("Of {names} only {number} combinations occur{first}.").format(
            names=names, number=len(rule["combinations"]), first=_first(rule["combinations"])
        )
    other = _(", otherwise {otherwise}").format(otherwise=rule["otherwise"]) if rule.get("otherwise") else ""
    return _("{column} follows from {of}{first}{other}.").format(
        column=rule["column"], of=", ".join(rule["of"]), first=_first(rule["table"]), other=other
    )


def _first(lines: list[list[str]]) -> str:
    shown = "; ".join(", ".join(line) for line in lines[:2])
    return f" ({shown}{'; …' if len(lines) > 2 else ''})"
