"""How the chosen CSV file is read: shown in words for confirmation, with a way to change it."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

import synth
from app.session import access, frame, tour
from app.session.state import Wizard, dataset, facts, view, wizard
from app.table import intake, owning
from synth.languages import Texts, _, phrase

ENCODINGS = Texts(
    {
        "utf-8": "UTF-8",
        "utf-8-sig": "UTF-8 with a byte-order mark",
        "utf-16": "UTF-16",
        "utf-16-le": "UTF-16, little-endian",
        "utf-16-be": "UTF-16, big-endian",
        "windows-1252": "Windows-1252 (Western European)",
    }
)
DELIMITERS = Texts({",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"})
DECIMALS = Texts({".": "point", ",": "comma"})
THOUSANDS = Texts({None: "none", ".": "point", ",": "comma", "'": "apostrophe", " ": "space"})
PLAIN = "UTF-8 text, commas between cells, decimal point"
QUESTION = "which is right?"


def asks(w: Wizard) -> bool:
    """Whether somebody should look at how the file is read before going on."""
    dialect = w.plain.get("dialect") or {}
    return dialect.get("source") == "unconfirmed" or any(QUESTION in line for line in w.suggestions)


def section() -> None:
    """In words what the draft result, and how to change it; nothing for tables that are no CSV files."""
    w = wizard()
    if w.table is None or w.source or not w.table.name.lower().endswith((".csv", ".csv.gz")):
        return
    result, _other = facts(w)
    reported = phrase(result.dialect.in_words()) if result is not None and result.dialect is not None else _(PLAIN)
    waiting = (w.plain.get("dialect") or {}).get("source") == "unconfirmed"
    st.markdown(
        (_("**We read it so:** {reported}; correct?") if waiting else _("**We read it so:** {reported}.")).format(
            reported=frame.escape(reported)
        )
    )
    for line in _details(w):
        st.markdown(f"- {frame.escape(line)}")
    for line in w.suggestions:
        if QUESTION in line:
            st.warning(frame.escape(line.split(" state it with")[0]), icon=":material/help:")
    if waiting and st.button(_("Yes, that is right"), key="read_right", type="primary", icon=":material/check:"):
        owning.allow("use_table", w.table, w.source)
        access.allow("describe")
        w.plain["dialect"] = {**w.plain["dialect"], "source": "declared"}
        w.notice = _("How the file is read is confirmed on your word.")
        if any(QUESTION in line for line in w.suggestions):
            st.rerun()
        st.switch_page(view("describe"))
    if w.place is not None and w.table != tour.SAMPLE:
        _change(w)


def _details(w: Wizard) -> list[str]:
    """Formats and missing codes, a line for each kind."""
    columns = w.plain["columns"].items()
    by: dict[str, list[str]] = {}
    for name, column in columns:
        if column.get("format"):
            what = _("dates as {format}") if "y" in column["format"] else _("numbers as {format}")
            by.setdefault(what.format(format=column["format"]), []).append(name)
        codes = [c for c in column.get("missing") or () if c]
        if codes:
            by.setdefault(_("missing: {codes}").format(codes=", ".join(codes)), []).append(name)
    return [_("{what} in {names}").format(what=what, names=", ".join(names)) for what, names in by.items()]


def _change(w: Wizard) -> None:
    dialect, edition = w.plain.get("dialect") or {}, w.edition
    with st.expander(_("No: read it in another way")):
        picked: dict[str, Any] = {}
        choices: list[tuple[str, str, Mapping[Any, str], str | None, str]] = [
            ("encoding", _("Text"), ENCODINGS, "utf-8", _("How letters are stored; wrong when ä, é, ß look odd.")),
            ("delimiter", _("Between cells"), DELIMITERS, ",", _("What divides a line into columns.")),
            ("decimal", _("Decimal mark"), DECIMALS, ".", _("What stands before the fraction of a number.")),
            ("thousands", _("Between thousands"), THOUSANDS, None, _("The mark in long numbers.")),
        ]
        for box, (fact, label, known, usual, said) in zip(st.columns(4), choices, strict=True):
            options = list(known)
            now = dialect.get(fact, usual)
            picked[fact] = box.selectbox(
                label,
                options,
                index=options.index(now) if now in options else 0,
                key=f"read_{fact}_{edition}",
                format_func=known.__getitem__,
                help=said,
            )
        lines = "\n".join(f"{n}={c['format']}" for n, c in w.plain["columns"].items() if c.get("format"))
        formats = st.text_area(
            _("Formats of columns, one a line"),
            lines,
            key=f"read_formats_{edition}",
            placeholder=_("born=dd.mm.yyyy"),
            help=_("COLUMN=dd.mm.yyyy, mm/dd/yyyy or dd.mm.yyyy HH:MM for dates; COLUMN=1.234,5 for numbers."),
        )
        st.caption(_("The description is drafted again; nothing is spent."))
        if st.button(_("Read it so"), key="read_so"):
            _read_so(w, picked, [line.strip() for line in formats.splitlines() if line.strip()])


def _read_so(w: Wizard, picked: dict[str, Any], formats: list[str]) -> None:
    names: dict[str, Mapping[Any, str]] = {"delimiter": DELIMITERS, "decimal": DECIMALS, "thousands": THOUSANDS}
    hints = {fact: [str(names[fact][v]) if fact in names else str(v)] for fact, v in picked.items()}
    try:
        with st.spinner(_("Reading the table")):
            plain, w.suggestions = intake.redraft(w, {**hints, "format": formats})
    except synth.SynthError as error:
        frame.tell(error)
        return
    plain["dataset"] = dataset(w)
    w.plain, w.left_out = plain, []
    w.notice = _("The table is read anew. Nobody has vouched for the new draft yet.")
    w.edition += 1
    st.rerun()
