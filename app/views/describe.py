"""Step 2: what is publicly known of the table, and who vouches for it."""

import json

import streamlit as st

import synth
from app.run import learning
from app.session import frame, labels, tour, words
from app.session.state import (
    Wizard,
    alone,
    answered,
    apart,
    dataset,
    effective,
    effective_own,
    is_read,
    own,
    several,
    wizard,
)
from app.session.state import facts as checked
from app.table import codes, constraints, facts, grid, intake, keys, lists, redraft, related, rules_across, unit


def page() -> None:
    """The grid, one column's values, who vouches, target and name."""
    frame.head(
        "describe",
        "What anyone may know about the table **without looking at its rows**: kinds of columns, possible values, "
        "codes. The result is built on these facts, so they must be right and public.",
    )
    if not frame.needs("describe", "Choose a table first: the description belongs to one.", "data"):
        return
    w = wizard()
    _belonging() if several(w) else _alone()
    plain = json.dumps(effective(w), indent=2, ensure_ascii=False) + "\n"
    st.download_button(
        "Save this description",
        plain,
        "schema.json",
        "application/json",
        key="save_schema",
        icon=":material/download:",
        on_click="ignore",
        help="A JSON file that holds no rows. Upload it next time.",
    )
    frame.onward("describe", blocked=_blocked())


def _alone() -> None:
    """The description of one table."""
    w = wizard()
    choices = _weights(w)
    places = st.columns(3 if choices else 2)
    with places[0]:
        _name()
    with places[1]:
        _target()
    if choices:
        with places[2]:
            _weight(choices)
    unit.section()
    codes.section()
    grid.section()
    _problems()
    _vouch()
    _lists()
    learning.section()
    _vouchers()
    _values()
    constraints.section()
    if w.place is not None and w.table != tour.SAMPLE:
        redraft.code_book()
        redraft.draft_again()


def _belonging() -> None:
    """The descriptions of several tables, one at a time, below what holds them together."""
    w = wizard()
    _name()
    keys.section()
    if not keys.undecided(w):
        rules_across.section()
        _problems()
    if w.place is not None:
        related.draft_again()
    st.subheader("One table at a time", anchor=False)
    related.choice()
    related.reading()
    grid.section()
    _vouch()
    _lists()
    _vouchers()
    _values()
    constraints.section()


def _name() -> None:
    w = wizard()
    name = st.text_input(
        "Name of the dataset",
        value=dataset(w),
        key="dataset",
        max_chars=200,
        help="The privacy budget is kept under this name. Tables about the same people (other years, versions, parts) "
        "must share one name: what is learnt from each adds up.",
    )
    w.plain["dataset"] = name.strip() or None


def _target() -> None:
    w = wizard()
    choices = [
        None,
        *(n for n, c in w.plain["columns"].items() if c["type"] not in facts.UNREAD and n not in w.left_out),
    ]
    current = w.plain.get("target")
    target = st.selectbox(
        "Column to predict (optional)",
        choices,
        index=choices.index(current) if current in choices else 0,
        format_func=lambda n: "none" if n is None else n,
        key="target",
        help="If the table will be used to predict one column, more care is given to how others relate to it.",
    )
    if target != current:
        w.plain["target"] = target
        w.plain.pop("positive", None)


def _weights(w: Wizard) -> list[str | None]:
    """The numbers that may say for how many a row stands, and none of them; empty where there is no number."""
    numbers = [
        n
        for n, c in w.plain["columns"].items()
        if c["type"] in ("integer", "float") and n not in w.left_out and n != w.plain.get("target")
    ]
    return [None, *numbers] if numbers or w.plain.get("weight") is not None else []


def _weight(choices: list[str | None]) -> None:
    """Which number says for how many a row stands."""
    w = wizard()
    current = w.plain.get("weight")
    weight = st.selectbox(
        "Weight of a row (optional)",
        choices,
        index=choices.index(current) if current in choices else 0,
        format_func=lambda n: "none" if n is None else n,
        key="weight",
        help="In a survey, the number of people that a row represents. Its smallest and largest value must "
        "be known, not learnt. Comparisons then show how close weighted rows come.",
    )
    if weight != current:
        w.plain["weight"] = weight


def _vouchers() -> None:
    """Who stands behind the facts, at a glance."""
    told = [c.get("source", "declared") for c in effective_own(wizard())["columns"].values()]
    parts = [f"{told.count(s)} {words.VOUCHED[s]}" for s in words.VOUCHED if s in told]
    price = wizard().plain.get("learnt")
    cost = (
        f" Learning them cost epsilon {price['epsilon']:g} (line {price['ledger_entry']} of the ledger)."
        if price
        else ""
    )
    st.caption(f"Columns: {', '.join(parts)}.{cost}")


def _problems() -> None:
    found, problem = checked(wizard())
    if found is None:
        st.error(frame.escape(labels.plain(problem)), icon=":material/error:")


def _open(w: Wizard) -> list[str]:
    """The columns that wait and may be confirmed together."""
    lists_alone = alone(w)
    columns = effective_own(w)["columns"].items()
    return [n for n, c in columns if c.get("source") == "unconfirmed" and n not in lists_alone]


def _lists() -> None:
    decided = lists.section()
    if decided is not None:
        intake.replace_own(*decided)


def _vouch() -> None:
    w = wizard()
    waiting = _open(w)
    if not waiting:
        return
    with st.container(border=True):
        count = len(effective_own(w)["columns"])
        st.markdown(f"**{len(waiting)} of {count} columns are waiting for somebody to vouch.**")
        st.markdown(words.NOT_FREE)
        st.caption("Waiting: " + frame.escape(", ".join(waiting[:12])) + (" …" if len(waiting) > 12 else ""))
        asked = bool(codes.asked(w))
        if asked:
            st.caption("First answer “Numbers, or codes?” above: it decides what these columns may hold.")
        mine = st.checkbox(
            "I have checked them, and I vouch that these are public facts",
            key=f"mine_{w.edition}",
            disabled=asked,
            help="Your name is recorded with these facts. Without it you cannot go on.",
        )
        if st.button("Confirm all columns", key="confirm_all", disabled=asked or not mine, type="primary"):
            intake.replace_own(facts.confirm(own(w), waiting), "All columns are confirmed on your word.")


def _values() -> None:
    """One column's categories as lines, and its own confirmation."""
    if effective_own(wizard())["columns"]:
        frame.fold("One column: its list of values, and confirming it alone", "one_column", _one)


def _one() -> None:
    w = wizard()
    names = list(effective_own(w)["columns"])
    index = names.index(w.editing) if w.editing in names else 0
    name = st.selectbox("Column", names, index=index, key="editing", help="The column to look at.")
    w.editing = name
    column = own(w)["columns"][name]
    if column["type"] in facts.WORDED:
        _lines(name, column)
    else:
        st.caption(f"{words.KINDS[column['type']].capitalize()}: it has no list of values.")
    if name in alone(w):
        st.caption("It is confirmed above, alone and with a reason.")
    elif column.get("source") == "unconfirmed":
        if st.button("I vouch for this column", key="confirm_one"):
            intake.replace_own(facts.confirm(own(w), [name]), f"{frame.escape(name)} is confirmed on your word.")
    else:
        st.caption(f"Who vouches: {words.SOURCES[column.get('source', 'declared')]}.")


def _lines(name: str, column: dict) -> None:
    values = list(column.get("categories") or ())
    if len(values) > facts.SHOWN_VALUES or any("\n" in v for v in values):
        st.caption(f"{len(values)} values: too many to edit here. Save the description, edit the file and upload it.")
        return
    text = st.text_area(
        "Possible values, one a line",
        "\n".join(values),
        height=240,
        key=f"lines_{wizard().edition}_{name}",
        help="Every value the column can take. For an ordered category, from lowest to highest.",
    )
    if st.button("Keep these values", key="keep_values"):
        intake.replace_own(
            facts.with_values(own(wizard()), name, text), f"The values of {frame.escape(name)} are changed."
        )


def _blocked() -> str:
    w = wizard()
    if several(w) and keys.undecided(w):
        return "First say which table each belongs to."
    if checked(w)[0] is None:
        return "First correct what the red box says."
    if several(w):
        if waiting := related.waiting(w):
            return waiting
    elif not is_read(w):
        return "First confirm on the page Data how the file is read."
    if codes.asked(w):
        return "First say which columns hold numbers, and which codes."
    if _open(w):
        return "First confirm the columns that are waiting."
    if lists_left := apart(w):
        return f"First learn, group, leave out or vouch for {frame.escape(', '.join(lists_left))}."
    if not answered(w):
        return "First say whether a person can appear in more than one row."
    if not dataset(w):
        return "First give the dataset a name."
    try:
        synth.Ledger().summary(dataset(w))
    except synth.SynthError as error:
        return frame.told(error)
    return ""


page()
