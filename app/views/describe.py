"""Step 2: what is publicly known of the table, and who vouches for it."""

import json
from typing import Any

import pandas as pd
import streamlit as st

import synth
from app.run import learning
from app.session import access, frame, tour, words
from app.session.state import Wizard, alone, answered, dataset, effective, is_read, schema, wizard
from app.table import constraints, facts, intake, lists, owning, work

HEIGHT = 35
COLUMNS = {
    "use": st.column_config.CheckboxColumn("Use", help="Untick a column to leave it out of the result.", width=60),
    "column": st.column_config.TextColumn("Column", disabled=True, pinned=True),
    "kind": st.column_config.SelectboxColumn(
        "Kind", width=165, options=list(words.KINDS), format_func=lambda k: words.KINDS[str(k)], required=True,
        help="What the cells are. Codes such as 1, 2, 9 are categories, not numbers. An identifier (name, number) "
        "is never learnt: the result counts from 1.",
    ),
    "min": st.column_config.TextColumn("Smallest", help="The smallest value possible, not the smallest in the table."),
    "max": st.column_config.TextColumn("Largest", help="The largest value possible. Larger ones count as this one."),
    "step": st.column_config.TextColumn(
        "Step", help="Distance between neighbouring values: 1, 10 or 0.1; for dates second, minute, hour or day."
    ),
    "values": st.column_config.TextColumn("Values", disabled=True, help="How many categories; edit them below."),
    "empty": st.column_config.CheckboxColumn("May be empty", width=110, help="Whether an empty cell means missing."),
    "missing": st.column_config.TextColumn(
        "Missing codes", help="Other texts that mean a missing value, with commas between: N, ?, -9."
    ),
    "description": st.column_config.TextColumn("Note", help="For readers of the result. Optional."),
}  # fmt: skip


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
    _whole_table()
    _unit()
    _grid()
    _problems()
    _vouch()
    _lists()
    learning.section()
    _vouchers()
    _values()
    constraints.section()
    if w.place is not None and w.table != tour.SAMPLE:
        _books()
        _again()
    plain = json.dumps(effective(w), indent=2, ensure_ascii=False) + "\n"
    st.download_button("Save this description", plain, "schema.json", "application/json", key="save_schema",
                       icon=":material/download:", on_click="ignore",
                       help="A JSON file that holds no rows. Upload it next time.")  # fmt: skip
    frame.onward("describe", blocked=_blocked())


def _whole_table() -> None:
    w = wizard()
    left, right = st.columns(2)
    name = left.text_input(
        "Name of the dataset", value=dataset(w), key="dataset", max_chars=200,
        help="The privacy budget is kept under this name. Tables about the same people (other years, versions, parts) "
        "must share one name: what is learnt from each adds up.",
    )  # fmt: skip
    w.plain["dataset"] = name.strip() or None
    choices = [
        None,
        *(n for n, c in w.plain["columns"].items() if c["type"] not in facts.UNREAD and n not in w.left_out),
    ]
    current = w.plain.get("target")
    target = right.selectbox(
        "Column to predict (optional)", choices, index=choices.index(current) if current in choices else 0,
        format_func=lambda n: "none" if n is None else n, key="target",
        help="If the table will be used to predict one column, more care is given to how others relate to it.",
    )  # fmt: skip
    if target != current:
        w.plain["target"] = target
        w.plain.pop("positive", None)


def _unit() -> None:
    """Whose privacy is protected: a row's, or a person's with several rows. A draft waits for an answer."""
    w = wizard()
    names = [n for n, c in w.plain["columns"].items() if c["type"] == "identifier"]
    asked = not answered(w)
    stated = w.plain.get("unit") if w.plain.get("unit") in names else "row"
    options = ["row", *names]
    if asked and w.plain.get("unit") in names:
        most = w.plain.get("max_rows")
        st.info(f"In the table {frame.escape(str(stated))} repeats. If it names persons, keeping {most} rows of each "
                "keeps 95 % of the rows.", icon=":material/group:")  # fmt: skip
    left, right = st.columns(2)
    unit = left.selectbox(
        "Can a person appear in more than one row?", options, index=None if asked else options.index(stated),
        key=f"unit_{w.edition}", placeholder="Please answer",
        format_func=lambda n: "No: each row is one person" if n == "row" else f"Yes: {n} tells persons apart",
        help="If a person can have several rows (visits, payments), name the column that tells persons apart; make it "
        "an identifier first. Then the promise covers all rows of a person together.",
    )  # fmt: skip
    if unit is None:
        return
    if asked or unit != (w.plain.get("unit") or "row"):
        w.plain["unit_source"] = "declared"
    if unit == "row":
        w.plain["unit"] = "row" if w.plain.get("unit_source") else None
        w.plain["max_rows"] = None
        return
    w.plain["unit"] = unit
    w.plain["max_rows"] = int(right.number_input(
        "Rows kept of one person", min_value=1, value=int(w.plain.get("max_rows") or 3), key=f"max_rows_{w.edition}",
        help="Of a person with more rows, this many are drawn at random. More rows need more noise.",
    ))  # fmt: skip


def _vouchers() -> None:
    """Who stands behind the facts, at a glance."""
    told = [c.get("source", "declared") for c in effective(wizard())["columns"].values()]
    parts = [f"{told.count(s)} {words.VOUCHED[s]}" for s in words.VOUCHED if s in told]
    price = wizard().plain.get("learnt")
    cost = (
        f" Learning them cost epsilon {price['epsilon']:g} (line {price['ledger_entry']} of the ledger)."
        if price
        else ""
    )
    st.caption(f"Columns: {', '.join(parts)}.{cost}")


def _books() -> None:
    """A code book for one column, as its publisher gives it."""
    w = wizard()
    with st.expander("Take a column's values from a code book"):
        names = [n for n, c in w.plain["columns"].items() if c["type"] not in facts.UNREAD]
        left, right = st.columns(2)
        column = left.selectbox("Column", names, key="book_column", help="The column that the code book is about.")
        book = right.file_uploader("Code book (CSV)", type=["csv"], key=f"book_{w.uploads}",
                                   help="A header value,label and a line for each value.")  # fmt: skip
        if st.button("Take these values", key="take_book", disabled=book is None) and book and w.place and column:
            try:
                file = work.keep(book, f"codes-{w.uploads}.csv", w.place)
                plain, notes = work.booked(w.plain, column, file, w.place)
            finally:
                intake.forget(book)
            w.suggestions = notes
            _replace(plain, f"The values of {frame.escape(column)} are those of the code book, on your word.")


def _grid() -> None:
    """The editor works on a fixed copy; what it returns is the description from now on."""
    w = wizard()
    held = st.session_state.get("grid_base")
    if held is None or held[0] != w.edition:
        held = (w.edition, dict(w.plain), facts.grid(w.plain, w.left_out))
        st.session_state["grid_base"] = held
    _, plain, base = held
    st.caption("Click a cell to change it. Point at a heading to see what it means.")
    edited = st.data_editor(
        base, column_config=_config(base), hide_index=True, key=f"grid_{w.edition}",
        height=min(620, HEIGHT * (len(base) + 1) + 3), placeholder="",
    )  # fmt: skip
    found, w.left_out = facts.apply(plain, base, edited)
    w.plain["columns"] = found["columns"]


def _config(base: pd.DataFrame) -> dict[str, Any]:
    """The grid's columns; nobody can say that a fact was learnt with budget where it was not."""
    sources = [s for s in words.SOURCES if s != "private" or (base["source"] == "private").any()]
    return {**COLUMNS, "source": _source(sources)}


def _source(options: list[str]) -> Any:
    return st.column_config.SelectboxColumn(
        "Who vouches", width=125, options=options, required=True, format_func=lambda s: words.SOURCES[str(s)],
        help="Somebody must answer for each column's facts being public knowledge.",
    )  # fmt: skip


def _problems() -> None:
    found, problem = schema(wizard())
    if found is None:
        st.error(frame.escape(words.plain(problem)), icon=":material/error:")


def _open(w: Wizard) -> list[str]:
    """The columns that wait and may be confirmed together."""
    apart = alone(w)
    return [n for n, c in effective(w)["columns"].items() if c.get("source") == "unconfirmed" and n not in apart]


def _lists() -> None:
    decided = lists.section()
    if decided is not None:
        _replace(*decided)


def _vouch() -> None:
    w = wizard()
    waiting = _open(w)
    if not waiting:
        return
    with st.container(border=True):
        st.markdown(f"**{len(waiting)} of {len(effective(w)['columns'])} columns are waiting for somebody to vouch.**")
        st.markdown(words.NOT_FREE)
        st.caption("Waiting: " + frame.escape(", ".join(waiting[:12])) + (" …" if len(waiting) > 12 else ""))
        mine = st.checkbox("I have checked them, and I vouch that these are public facts", key=f"mine_{w.edition}",
                           help="Your name stands for these facts. Without it the way on stays closed.")  # fmt: skip
        if st.button("Confirm all columns", key="confirm_all", disabled=not mine, type="primary"):
            _replace(facts.confirm(w.plain, waiting), "All columns are confirmed on your word.")


def _values() -> None:
    """One column's categories as lines, and its own confirmation."""
    w = wizard()
    names = list(effective(w)["columns"])
    if not names:
        return
    with st.expander("One column: its list of values, and confirming it alone"):
        index = names.index(w.editing) if w.editing in names else 0
        name = st.selectbox("Column", names, index=index, key="editing", help="The column to look at.")
        w.editing = name
        column = w.plain["columns"][name]
        if column["type"] in facts.WORDED:
            _lines(name, column)
        else:
            st.caption(f"{words.KINDS[column['type']].capitalize()}: it has no list of values.")
        if name in alone(w):
            st.caption("It is confirmed above, alone and with a reason.")
        elif column.get("source") == "unconfirmed":
            if st.button("I vouch for this column", key="confirm_one"):
                _replace(facts.confirm(w.plain, [name]), f"{frame.escape(name)} is confirmed on your word.")
        else:
            st.caption(f"Who vouches: {words.SOURCES[column.get('source', 'declared')]}.")


def _lines(name: str, column: dict) -> None:
    values = list(column.get("categories") or ())
    if len(values) > facts.SHOWN_VALUES or any("\n" in v for v in values):
        st.caption(f"{len(values)} values: too many to edit here. Save the description, edit the file and upload it.")
        return
    text = st.text_area(
        "Possible values, one a line", "\n".join(values), height=240, key=f"lines_{wizard().edition}_{name}",
        help="Every value the column can take. For an ordered category, from lowest to highest.",
    )  # fmt: skip
    if st.button("Keep these values", key="keep_values"):
        _replace(facts.with_values(wizard().plain, name, text), f"The values of {frame.escape(name)} are changed.")


def _again() -> None:
    """A new draft with what the steward knows about the codes."""
    w = wizard()
    with st.expander("Draft again from the table, with hints", expanded=bool(w.suggestions)):
        for line in (s for s in w.suggestions if not any(p in s for p in words.ASKED_ABOVE)):
            st.markdown(f"- {frame.escape(words.plain(line))}")
        st.caption("A new draft replaces the description above. Drafting reads the rows but spends nothing: a draft "
                   "stays with you, and only confirmed facts are used.")  # fmt: skip
        names = list(w.plain["columns"])
        missing = st.text_input("Missing codes", key="hint_missing", placeholder="N, ?, -9",
                                help="Texts that mean a missing value anywhere in the table.")  # fmt: skip
        hints = {
            "categorical": st.multiselect("Columns of codes", names, key="hint_categorical",
                                          help="Whole numbers that stand for categories."),
            "ordinal": st.multiselect("Columns of ordered codes", names, key="hint_ordinal",
                                      help="Categories with an order, such as school grades."),
            "identifier": st.multiselect("Identifiers", names, key="hint_identifier",
                                         help="Names, numbers, keys: never learnt."),
            "missing": facts.read_codes(missing),
        }  # fmt: skip
        if st.button("Draft again", key="draft_again") and w.table is not None and w.place is not None:
            with st.spinner("Reading the table"):
                plain, w.suggestions = intake.redraft(w, hints)
            plain["dataset"] = dataset(w)
            if answered(w) and w.plain.get("unit") in ("row", *_keys(plain)):
                plain |= {k: w.plain.get(k) for k in ("unit", "max_rows", "unit_source")}
            w.left_out = []
            _replace(plain, "A new draft is made. Nobody has vouched for it yet.")


def _keys(plain: dict) -> list[str]:
    return [n for n, c in plain["columns"].items() if c["type"] == "identifier"]


def _replace(plain: dict, notice: str) -> None:
    w = wizard()
    owning.allow("use_table", w.table, w.source)
    access.allow("describe")
    w.plain, w.notice = plain, notice
    w.edition += 1
    st.rerun()


def _blocked() -> str:
    w = wizard()
    if schema(w)[0] is None:
        return "First mend what the red box says."
    if not is_read(w):
        return "First confirm on the page Data how the file is read."
    if _open(w):
        return "First confirm the columns that are waiting."
    if waiting := alone(w):
        return f"First learn, group, leave out or vouch for {frame.escape(', '.join(waiting))}."
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
