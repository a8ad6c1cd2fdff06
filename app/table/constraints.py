"""Rules across columns: a form for each kind, a sentence for each rule."""

from typing import Any

import pandas as pd
import streamlit as st

import synth
from app.session import frame, labels
from app.session.state import effective_own, opened, own, with_own, wizard
from app.table import conditions, intake
from app.table.facts import WORDED

Plain = dict[str, Any]
KINDS = {
    "impossible": "Never together",
    "order": "Never above another",
    "missing": "Empty when",
    "fixed": "Only these combinations",
    "function": "Follows from others",
}
ABOUT = {
    "impossible": "Values that cannot occur in one row, such as age 0 to 14 with married.",
    "order": "A number or date that is at most another one, such as start and end.",
    "missing": "A cell that is always empty under a condition, such as the wage of a child.",
    "fixed": "Columns of which only some combinations exist, such as towns and their districts.",
    "function": "A column that others decide, such as an age group. Where it is given for every row, no budget is "
    "spent on it.",
}


def section() -> None:
    """The rules there are, and a form for one more."""
    rules = list(own(wizard()).get("constraints") or [])
    frame.fold("Rules across columns (optional)", "rules", lambda: _rules(rules))
    if rules:  # not in the panel's name: with another name it would close
        st.caption(f"{len(rules)} rule{'s' * (len(rules) > 1)} across columns.")


def _rules(rules: list[Plain]) -> None:
    st.caption(
        "What cannot occur, whoever is in the table. Every synthetic row keeps these rules, and they cost "
        "nothing, because they are facts that you vouch for."
    )
    for i, rule in enumerate(rules):
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.markdown(f"{i + 1}. {frame.escape(sentence(rule))}")
        if right.button("Remove", key=f"drop_rule_{i}", help="Takes this rule out of the description."):
            _keep([r for k, r in enumerate(rules) if k != i], "The rule is removed.")
    _form(rules)


def _form(rules: list[Plain]) -> None:
    kind = st.selectbox(
        "New rule", list(KINDS), format_func=lambda k: KINDS[k], key="rule_kind", help="What kind of rule to add."
    )
    st.caption(ABOUT[kind])
    columns = effective_own(wizard())["columns"]
    w = wizard()
    table = f"{opened(w)}_".lstrip("_")
    rule = FORMS[kind](columns, f"rule_{table}{len(rules)}_{kind}")
    if rule is None:
        st.caption("Fill in the fields above to see the rule as a sentence.")
    else:
        st.markdown(f"**It will say:** {frame.escape(sentence(rule))}")
    if st.button("Add this rule", key="add_rule", disabled=rule is None, icon=":material/add:") and rule is not None:
        try:
            synth.Schema.parse(
                {**effective_own(wizard()), "constraints": [*rules, rule]}, name="description", complete=False
            )
        except synth.InputError as error:
            st.error(frame.escape(labels.plain(str(error))), icon=":material/error:")
            return
        _keep([*rules, rule], "The rule is added.")


def _keep(rules: list[Plain], notice: str) -> None:
    w = wizard()
    intake.replace(with_own(w, {**own(w), "constraints": rules or None}), notice)


def _impossible(columns: dict[str, Plain], key: str) -> Plain | None:
    when = conditions.ask(columns, key=key, label="Columns", help_text="At least two columns, each with a condition.")
    return {"kind": "impossible", "rows": when} if len(when) > 1 else None


def _order(columns: dict[str, Plain], key: str) -> Plain | None:
    names = [n for n, c in columns.items() if c["type"] in ("integer", "float", "datetime")]
    left, right = st.columns(2)
    low = left.selectbox("This column", names, index=None, key=f"{key}_low", help="The smaller or earlier one.")
    same = [
        n
        for n in names
        if low and n != low and (columns[n]["type"] == "datetime") == (columns[low]["type"] == "datetime")
    ]
    high = right.selectbox("is at most this one", same, index=None, key=f"{key}_high", help="The larger or later one.")
    return {"kind": "order", "low": low, "high": high} if low and high else None


def _missing(columns: dict[str, Plain], key: str) -> Plain | None:
    names = [
        n
        for n, c in columns.items()
        if c["type"] not in ("identifier", "omitted") and (c.get("nullable") or c.get("missing"))
    ]
    if not names:
        st.info("No column may be empty so far: tick “May be empty” in the table above first.")
        return None
    column = st.selectbox(
        "This column is empty", names, index=None, key=f"{key}_what", help="A column that may be empty."
    )
    others = {n: c for n, c in columns.items() if n != column}
    when = conditions.ask(others, key=key, label="when", help_text="All of these conditions together.")
    only = st.checkbox(
        "and never otherwise", key=f"{key}_only", help="Tick it if the cell is filled in every other row."
    )
    return {"kind": "missing", "column": column, "when": when, "only": only} if column and when else None


def _fixed(columns: dict[str, Plain], key: str) -> Plain | None:
    names = [n for n, c in columns.items() if c["type"] not in ("identifier", "omitted")]
    chosen = st.multiselect(
        "Columns", names, key=f"{key}_columns", help="Two or more columns.", placeholder="Choose columns"
    )
    if len(chosen) < 2:
        return None
    lines = _lines(chosen, columns, f"{key}_{'_'.join(chosen)}")
    return {"kind": "fixed", "columns": chosen, "combinations": lines} if lines else None


def _function(columns: dict[str, Plain], key: str) -> Plain | None:
    names = [n for n, c in columns.items() if c["type"] not in ("identifier", "omitted")]
    left, right = st.columns(2)
    column = left.selectbox("This column", names, index=None, key=f"{key}_what", help="The column that follows.")
    of = right.multiselect(
        "follows from",
        [n for n in names if n != column],
        key=f"{key}_of",
        help="The columns that decide it.",
        placeholder="Choose columns",
    )
    if not column or not of:
        return None
    lines = _lines([*of, column], columns, f"{key}_{column}_{'_'.join(of)}")
    offered = list(columns[column].get("categories") or ())
    if offered:
        other = st.selectbox(
            "In all other rows",
            [None, *offered],
            key=f"{key}_other",
            format_func=lambda v: "the rule says nothing" if v is None else v,
            help="With a value the column is given for every row and costs no budget.",
        )
    else:
        other = (
            st.text_input(
                "In all other rows",
                key=f"{key}_other",
                placeholder="the rule says nothing",
                help="With a value here the column is given for every row.",
            ).strip()
            or None
        )
    if not lines:
        return None
    return {"kind": "function", "column": column, "of": of, "table": lines} | ({"otherwise": other} if other else {})


def _lines(names: list[str], columns: dict[str, Plain], key: str) -> list[list[str]]:
    """A table to fill in: a line for each combination, all of its cells filled."""
    st.caption("One line for each combination. A cell holds a value, several as a|b, or a range as 0..14.")
    config: dict[str, Any] = {
        n: st.column_config.SelectboxColumn(n, options=list(columns[n].get("categories") or ()))
        if columns[n]["type"] in WORDED and n == names[-1]
        else st.column_config.TextColumn(n)
        for n in names
    }
    empty = pd.DataFrame({n: pd.Series([None], dtype=object) for n in names})
    found = st.data_editor(empty, num_rows="dynamic", hide_index=True, key=key, column_config=config)
    lines = found.astype(object).where(found.notna(), "").astype(str).to_numpy().tolist()
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
        return f"Never together: {conditions.in_words(rule['rows'])}."
    if kind == "order":
        return f"{rule['low']} is at most {rule['high']}, unless one of them is missing."
    if kind == "missing":
        only = ", and only then" if rule.get("only") else ""
        return f"{rule['column']} is empty when {conditions.in_words(rule['when'])}{only}."
    if kind == "fixed":
        names = ", ".join(rule["columns"])
        return f"Of {names} only {len(rule['combinations'])} combinations occur{_first(rule['combinations'])}."
    other = f", otherwise {rule['otherwise']}" if rule.get("otherwise") else ""
    return f"{rule['column']} follows from {', '.join(rule['of'])}{_first(rule['table'])}{other}."


def _first(lines: list[list[str]]) -> str:
    shown = "; ".join(", ".join(line) for line in lines[:2])
    return f" ({shown}{'; …' if len(lines) > 2 else ''})"
