"""How files are read and drafted: shown in words for confirmation, with ways to change it and to draft again."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.session import frame, state, words
from app.session.state import Wizard, dataset, facts_of, opened, own, several, start, tables, wizard
from app.table import facts, intake
from app.table.stored import Plain
from synth import app_api
from synth.languages import Texts, _, prose

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


def section() -> None:
    """In words how the file of the table that is open is read, and how to change it; nothing for what is no CSV."""
    w = wizard()
    dialect, single = own(w).get("dialect") or {}, not several(w)
    csv = w.table is not None and not w.source and w.table.name.lower().endswith((".csv", ".csv.gz"))
    if not (csv if single else dialect):
        return
    known, _problem = state.parsed(own(w), complete=False)
    reported = prose(known.dialect.in_words()) if known is not None and known.dialect is not None else _(PLAIN)
    waiting = dialect.get("source") == "unconfirmed"
    said = _("**We read it so:** {reported}; correct?") if waiting else _("**We read it so:** {reported}.")
    details = _details(w) if single else []
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.markdown(said.format(reported=frame.escape("; ".join([reported, *details]))))
    for line in w.suggestions:
        if single and QUESTION in line:
            st.warning(frame.escape(line.split(" state it with")[0]), icon=":material/help:")
    if waiting and st.button(_("Yes, that is right"), key="read_right", type="primary", icon=":material/check:"):
        plain = {**own(w), "dialect": {**dialect, "source": "declared"}}
        intake.replace_own(plain, _("How the file is read is confirmed on your word."))
    if single and w.place is not None and w.table != frame.SAMPLE:
        with (
            right.container(horizontal=True, horizontal_alignment="right"),
            st.popover(_("No: read it in another way"), icon=":material/edit_document:", type="tertiary"),
        ):
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
    picked: dict[str, Any] = {}
    choices: list[tuple[str, str, Mapping[Any, str], str | None, str]] = [
        ("encoding", _("Text"), ENCODINGS, "utf-8", _("How letters are stored; wrong when ä, é, ß look odd.")),
        ("delimiter", _("Between cells"), DELIMITERS, ",", _("What divides a line into columns.")),
        ("decimal", _("Decimal mark"), DECIMALS, ".", _("What stands before the fraction of a number.")),
        ("thousands", _("Between thousands"), THOUSANDS, None, _("The mark in long numbers.")),
    ]
    for box, (fact, label, known, usual, said) in zip([*st.columns(2), *st.columns(2)], choices, strict=True):
        options, now, key = list(known), dialect.get(fact, usual), f"read_{fact}_{edition}"
        at = options.index(now) if now in options else 0
        picked[fact] = box.selectbox(label, options, at, known.__getitem__, key=key, help=said)
    formats = st.text_area(
        _("Formats of columns, one a line"),
        "\n".join(f"{n}={c['format']}" for n, c in w.plain["columns"].items() if c.get("format")),
        key=f"read_formats_{edition}",
        placeholder=_("born=dd.mm.yyyy"),
        help=_("COLUMN=dd.mm.yyyy, mm/dd/yyyy or dd.mm.yyyy HH:MM for dates; COLUMN=1.234,5 for numbers."),
    )
    st.caption(_("The description is drafted again; nothing is spent."))
    if st.button(_("Read it so"), key="read_so"):
        redraft(w, {"dialect": picked, "formats": _written(formats)})


def _written(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


READ = "read as "  # how the draft says in which way it read the file; the page The table asks about that


def code_book() -> None:
    """A code book for one column, as its publisher gives it."""
    w = wizard()
    if w.place is not None and w.table != frame.SAMPLE:
        frame.fold(_("Take a column's values from a code book"), "code_book", lambda: _book(w))


def _book(w: Wizard) -> None:
    left, right = st.columns(2)
    names, said = facts.readable(w.plain["columns"]), _("A header value,label and a line for each value.")
    column = left.selectbox(_("Column"), names, key="book_column", help=_("The column that the code book is about."))
    book = right.file_uploader(_("Code book (CSV)"), type=["csv"], key=f"book_{w.uploads}", help=said)
    if st.button(_("Take these values"), key="take_book", disabled=book is None) and book and column:
        try:
            w.suggestions = intake.booked(w, column, book)
        finally:
            intake.forget(book)
        said = _("The values of {column} are those of the code book, on your word.")
        intake.replace(w.plain, said.format(column=frame.escape(column)))


def notes() -> None:
    """What the draft says of columns that the page does not ask about, in one place."""
    w = wizard()
    asked = (*words.ASKED_ABOVE, *([facts.FEW] if facts.doubted(w) else []))
    lines = [s for s in w.suggestions if READ not in s and not any(p in s for p in asked)]
    dash = "- " * (len(lines) > 1)
    message = "\n".join(f"{dash}{frame.escape(frame.sentence(words.plain(line)))}" for line in lines)
    if message and state.apart(w):  # beside what is to be decided it is no news that must be read
        with st.expander(_("Notes on the draft ({number})").format(number=len(lines)), icon=":material/lightbulb:"):
            st.markdown(message)
    elif message:
        st.info(message, icon=":material/lightbulb:")


def draft_again(*, asked: bool = False) -> None:
    """A new draft with what the steward knows; open where that of several tables is not sound, unless that is
    ``asked`` about on its own."""
    w, title, unsound = wizard(), _("Draft again from the table, with hints"), False
    if w.place is None or w.table == frame.SAMPLE:
        return
    if several(w):
        title, unsound = _("Draft again from the tables, with hints"), facts_of(w, complete=False)[0] is None
    frame.fold(title, "hints", lambda: _hints(w, unsound=unsound), expanded=unsound and not asked)


def _hints(w: Wizard, *, unsound: bool) -> None:
    many = several(w)
    if many:  # what the draft leaves to be decided or looked at, but for what the page asks about itself
        asked_above = (*words.ASKED_ABOVE, "proposed from the rows", "long lists, or values that few rows have")
        left = w.plain.get("open", ()) if unsound else ()
        for line in [*left, *(s for s in w.suggestions if not any(a in s for a in asked_above))]:
            st.markdown(f"- {frame.escape(words.plain(line))}")
    about = _("It replaces the description above. Drafting reads the rows but spends nothing: a draft stays with you.")
    st.caption(about)
    hints: Plain = _of_several(w) if many else {}
    said = _("Texts that mean a missing value anywhere in the table.")
    missing = st.text_input(_("Missing codes"), key="hint_missing", placeholder="N, ?, -9", help=said)
    hints["missing"] = facts.read_codes(missing)
    asked = {
        "categorical": (_("Columns of codes"), _("Whole numbers that stand for categories.")),
        "ordinal": (_("Columns of ordered codes"), _("Categories with an order, such as school grades.")),
        "identifier": (_("Identifiers"), _("Names, numbers, keys: never learnt.")),
    }
    columns = [start(t) + n for t, s in tables(w).items() for n in s["columns"]]
    for name, (label, said) in asked.items():
        hints[name] = st.multiselect(label, columns, key=f"hint_{name}", help=said, placeholder=_("Choose columns"))
    if st.button(_("Draft again"), key="draft_again"):
        redraft(w, hints)


def redraft(w: Wizard, hints: Plain) -> None:
    """A new draft with these hints, in place of the description."""
    with frame.told(_("Reading the table")):
        plain, w.suggestions = intake.redraft(w, hints)
        plain["dataset"] = dataset(w) or None
        if not several(w) and state.answered(w) and _fits(w.plain, plain):
            plain |= {k: w.plain.get(k) for k in ("unit", "max_rows", "unit_source", "linked", "order")}
        w.left_out = []
        intake.replace(plain, _("A new draft is made. Nobody has confirmed it yet."))


def _fits(before: Plain, plain: Plain) -> bool:
    """Whether an answer on the rows of one person holds for a new draft: read otherwise, a file has other columns."""
    order = before.get("order")
    ordered = order is None or plain["columns"].get(order, {}).get("type") in facts.ORDERED
    same = list(before["columns"]) == list(plain["columns"])
    return same and ordered and before.get("unit") in ("row", *facts.identifiers(plain))


def _of_several(w: Wizard) -> Plain:
    """The units' table, public ones, and keys."""
    assert w.table is not None
    public = [n for n in w.plain.get("public") or () if n not in w.plain["tables"]]
    names = [*w.plain["tables"], *public] if w.source else list(app_api.tables_in(w.table))
    left, right = st.columns(2)
    said, drafted = (
        _("One key of it, with all below, is what privacy protects: a patient, a household."),
        _("as drafted"),
    )
    root = left.selectbox(_("Table of those it protects"), names, None, key="hint_root", placeholder=drafted, help=said)
    said = _("Tables that everybody may have, such as a list of districts: copied into the release as they are.")
    public = right.multiselect(_("Public tables"), names, key="hint_public", placeholder=_("none"), help=said)
    said = _("CHILD.COLUMN=PARENT.COLUMN; several columns with + between. Keys of one column are chosen above.")
    label, example = _("Keys of several columns, one a line"), _("stays.ward+bed=beds.ward+bed")
    key = st.text_area(label, key="hint_keys", height=80, placeholder=example, help=said)
    return {"root": root, "public": public, "key": _written(key)}


def table_choice() -> None:
    """Which table's description is open."""
    w = wizard()
    names = list(w.plain["tables"])
    result = st.pills(
        _("Table"),
        names,
        default=opened(w),
        key=f"shown_{w.edition}",
        on_change=_switched,
        args=(w,),
        format_func=lambda n: f"{n}{' ✓' if not _waits(w, n) else ''}",
        label_visibility="collapsed",
        help=_("A tick: somebody has confirmed all of it."),
    )
    w.at = result or opened(w)
    st.markdown(_("**{shown}**, {number} columns").format(shown=frame.escape(opened(w)), number=len(own(w)["columns"])))


def _switched(w: Wizard) -> None:
    w.at = st.session_state.get(f"shown_{w.edition}") or w.at
    w.edition += 1  # the grid begins anew with what stands in the description by now
    w.editing = None


def _waits(w: Wizard, table: str) -> bool:
    plain = state.effective(w)["tables"][table]
    open_facts = any(c.get("source") == "unconfirmed" for c in plain["columns"].values())
    unread = (plain.get("dialect") or {}).get("source") == "unconfirmed"
    return open_facts or unread or any(n.startswith(f"{table}.") for n in state.apart(w))
