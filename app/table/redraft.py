"""A description made again from files: a column's code book, or a new draft with hints."""

import streamlit as st

from app.session import frame, labels, words
from app.session.state import answered, dataset, wizard
from app.table import codes, facts, intake, work
from synth.languages import _

READ = "read as "  # how the draft says in which way it read the file; the page Data asks about that


def code_book() -> None:
    """A code book for one column, as its publisher gives it."""
    frame.fold(_("Take a column's values from a code book"), "code_book", _book)


def _book() -> None:
    w = wizard()
    names = [n for n, c in w.plain["columns"].items() if c["type"] not in facts.UNREAD]
    left, right = st.columns(2)
    column = left.selectbox(_("Column"), names, key="book_column", help=_("The column that the code book is about."))
    book = right.file_uploader(
        _("Code book (CSV)"),
        type=["csv"],
        key=f"book_{w.uploads}",
        help=_("A header value,label and a line for each value."),
    )
    if st.button(_("Take these values"), key="take_book", disabled=book is None) and book and w.place and column:
        try:
            file = work.keep(book, f"codes-{w.uploads}.csv", w.place)
            plain, notes = work.booked(w.plain, column, file, w.place)
        finally:
            intake.forget(book)
        w.suggestions = notes
        intake.replace(
            plain,
            _("The values of {column} are those of the code book, on your word.").format(column=frame.escape(column)),
        )


def notes() -> None:
    """What the draft says of columns that the page does not ask about, in one place."""
    w = wizard()
    asked = (*words.ASKED_ABOVE, *([codes.FEW] if codes.doubted(w) else []))
    lines = [s for s in w.suggestions if READ not in s and not any(p in s for p in asked)]
    dash = "- " * (len(lines) > 1)
    message = "\n".join(f"{dash}{frame.escape(frame.sentence(labels.plain(line)))}" for line in lines)
    if message:
        st.info(message, icon=":material/lightbulb:")


def draft_again() -> None:
    """A new draft with what the steward knows about the codes."""
    frame.fold(_("Draft again from the table, with hints"), "hints", _hints)


def _hints() -> None:
    w = wizard()
    st.caption(
        _(
            "A new draft replaces the description above. Drafting reads the rows but spends nothing: a draft "
            "stays with you, and only confirmed facts are used."
        )
    )
    names = list(w.plain["columns"])
    missing = st.text_input(
        _("Missing codes"),
        key="hint_missing",
        placeholder="N, ?, -9",
        help=_("Texts that mean a missing value anywhere in the table."),
    )
    hints = {
        "categorical": st.multiselect(
            _("Columns of codes"),
            names,
            key="hint_categorical",
            help=_("Whole numbers that stand for categories."),
            placeholder=_("Choose columns"),
        ),
        "ordinal": st.multiselect(
            _("Columns of ordered codes"),
            names,
            key="hint_ordinal",
            help=_("Categories with an order, such as school grades."),
            placeholder=_("Choose columns"),
        ),
        "identifier": st.multiselect(
            _("Identifiers"),
            names,
            key="hint_identifier",
            help=_("Names, numbers, keys: never learnt."),
            placeholder=_("Choose columns"),
        ),
        "missing": facts.read_codes(missing),
    }
    if st.button(_("Draft again"), key="draft_again") and w.table is not None and w.place is not None:
        with st.spinner(_("Reading the table")):
            plain, w.suggestions = intake.redraft(w, hints)
        plain["dataset"] = dataset(w)
        if answered(w) and w.plain.get("unit") in ("row", *_keys(plain)):
            plain |= {k: w.plain.get(k) for k in ("unit", "max_rows", "unit_source", "linked", "order")}
        w.left_out = []
        intake.replace(plain, _("A new draft is made. Nobody has vouched for it yet."))


def _keys(plain: dict) -> list[str]:
    return [n for n, c in plain["columns"].items() if c["type"] == "identifier"]
