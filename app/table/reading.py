"""How files are read and drafted: shown in words for confirmation, with ways to change it and to draft again."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.session import access, frame, words
from app.session.state import (
    TABLES,
    Wizard,
    answered,
    apart,
    dataset,
    effective,
    facts_of,
    opened,
    own,
    several,
    take_table,
    view,
    wizard,
)
from app.table import facts, intake, stored
from app.table.stored import Plain
from synth import app_api
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
    result, _other = facts_of(w)
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
        stored.allow_table("use_table", w.table, w.source)
        access.allow("describe")
        w.plain["dialect"] = {**w.plain["dialect"], "source": "declared"}
        w.notice = _("How the file is read is confirmed on your word.")
        if any(QUESTION in line for line in w.suggestions):
            st.rerun()
        st.switch_page(view("describe"))
    if w.place is not None and w.table != frame.SAMPLE:
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
            file = stored.keep(book, f"codes-{w.uploads}.csv", w.place)
            plain, notes = stored.booked(w.plain, column, file, w.place)
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
    asked = (*words.ASKED_ABOVE, *([facts.FEW] if facts.doubted(w) else []))
    lines = [s for s in w.suggestions if READ not in s and not any(p in s for p in asked)]
    dash = "- " * (len(lines) > 1)
    message = "\n".join(f"{dash}{frame.escape(frame.sentence(words.plain(line)))}" for line in lines)
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


FOLDER = "tables"  # in the place of tables that were uploaded together


def tables_uploaded(tables: list[Any], given: Any) -> None:
    """Tables uploaded together. Errors: InputError, UsageError; then nothing is kept."""
    place = stored.new_place(access.allow("upload").name)
    folder = place / FOLDER
    try:
        folder.mkdir(mode=0o700)
        for table in tables:
            stored.keep(table, table.name, folder)
            intake.drop(table)
        _take(folder, place, given, label=_("{number} tables").format(number=len(tables)), dataset="")
    except synth.SynthError as error:
        stored.discard(place)
        raise synth.InputError(str(error).replace(f"{folder}/", "").replace(f"{folder}: ", "")) from None
    finally:
        intake.forget(*tables, given)


def folder_from_server(folder: Path, given: Any) -> None:
    """A folder of tables that stays where it is. Errors: InputError, UsageError; then nothing is kept."""
    who = access.allow("read_offered" if folder in stored.mounted() else "read_path")
    place = stored.new_place(who.name)
    try:
        _take(
            folder, place, given, label=_("{name} (a folder of tables)").format(name=folder.name), dataset=folder.name
        )
    except synth.SynthError as error:
        stored.discard(place)
        raise synth.InputError(str(error).replace(f"{place}/", "")) from None
    finally:
        intake.forget(given)


def all_from_database(source: str, given: Any) -> None:
    """All tables of a database, which stay there. Errors: InputError, UsageError; then nothing is kept."""
    who = stored.allow_database("read_database", source)
    place = stored.new_place(who.name)
    try:
        label = _("{name} (a database)").format(name=source.removeprefix("@"))
        _take(TABLES, place, given, label=label, dataset="", source=source)
    except synth.SynthError as error:
        stored.discard(place)
        raise synth.InputError(str(error).replace(f"{place}/", "")) from None
    finally:
        intake.forget(given)


def _take(folder: Path, place: Path, given: Any, *, label: str, dataset: str, source: str | None = None) -> None:
    plain, notes = _described(folder, place, intake.read_json(given), source)
    plain["dataset"] = plain.get("dataset") or dataset or _name(plain)
    take_table(wizard(), folder, label=label, plain=plain, place=place, rows=0, suggestions=notes, source=source)
    stored.remember(wizard())


def _name(plain: Plain) -> str | None:
    """What the budget is kept under until the steward says otherwise: the first table that belongs to no other."""
    below = {k["child"] for k in plain.get("keys", ())}
    return next((t for t in plain["tables"] if t not in below), None)


def _described(folder: Path, place: Path, result: Plain | None, source: str | None = None) -> tuple[Plain, list[str]]:
    if result is None:
        return stored.draft_related(folder, place, source=source)
    if "keys" not in result and intake.is_sdv(result):
        if source is not None:
            raise synth.UsageError(_("SDV metadata are completed from files; draft from the database instead"))
        metadata = place / "metadata.json"
        app_api.jobs.write_file(metadata, json.dumps(result))
        return stored.imported(metadata, folder, place, books={})
    plain: Plain = json.loads(app_api.parse_related(result, name="description", complete=False).to_json())
    stored.check(folder, plain, place, source=source)
    return plain, []


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
        help=_("A tick: somebody vouches for all of it."),
    )
    w.at = result or opened(w)
    st.markdown(_("**{shown}**, {number} columns").format(shown=frame.escape(opened(w)), number=len(own(w)["columns"])))


def _switched(w: Wizard) -> None:
    w.at = st.session_state.get(f"shown_{w.edition}") or w.at
    w.edition += 1  # the grid begins anew with what stands in the description by now
    w.editing = None


def _waits(w: Wizard, table: str) -> bool:
    plain = effective(w)["tables"][table]
    open_facts = any(c.get("source") == "unconfirmed" for c in plain["columns"].values())
    unread = (plain.get("dialect") or {}).get("source") == "unconfirmed"
    return open_facts or unread or any(n.startswith(f"{table}.") for n in apart(w))


def table_reading() -> None:
    """How the open table's file is read, where that is not the plain way."""
    w = wizard()
    dialect = own(w).get("dialect")
    if not dialect:
        return
    result = synth.Schema.parse({**own(w), "columns": own(w)["columns"]}, name="description", complete=False).dialect
    reported = phrase(result.in_words()) if result is not None else _(PLAIN)
    st.markdown(_("**We read it so:** {reported}.").format(reported=frame.escape(reported)))


def draft_tables_again() -> None:
    """A new draft with what the steward knows: the units' table, public ones, keys, codes."""
    w = wizard()
    with st.expander(_("Draft again from the tables, with hints"), expanded=facts_of(w, complete=False)[0] is None):
        for line in _notes(w):
            st.markdown(f"- {frame.escape(words.plain(line))}")
        st.caption(_("A new draft replaces the descriptions above. Drafting reads the rows but spends nothing."))
        assert w.table is not None
        names = _names(w)
        columns = [f"{t}.{c}" for t, s in w.plain["tables"].items() for c in s["columns"]]
        left, right = st.columns(2)
        root = left.selectbox(
            _("Table of the units"),
            names,
            index=None,
            key="hint_root",
            placeholder=_("as drafted"),
            help=_(
                "One key of it, with everything below it, is what privacy protects: the patient, the household, "
                "the account."
            ),
        )
        public = right.multiselect(
            _("Public tables"),
            names,
            key="hint_public",
            placeholder=_("none"),
            help=_("Tables that everybody may have, such as a list of districts: copied into the release as they are."),
        )
        key = st.text_area(
            _("Keys of several columns, one a line"),
            key="hint_keys",
            height=80,
            placeholder=_("stays.ward+bed=beds.ward+bed"),
            help=_("CHILD.COLUMN=PARENT.COLUMN; several columns with + between. Keys of one column are chosen above."),
        )
        missing = st.text_input(
            _("Missing codes"),
            key="hint_missing",
            placeholder="N, ?, -9",
            help=_("Texts that mean a missing value anywhere."),
        )
        hints = {
            "root": [root] if root else [],
            "public": public,
            "key": [line.strip() for line in key.splitlines() if line.strip()],
            "categorical": st.multiselect(
                _("Columns of codes"),
                columns,
                key="hint_categorical",
                help=_("Whole numbers that stand for categories."),
                placeholder=_("Choose columns"),
            ),
            "missing": facts.read_codes(missing),
        }
        if st.button(_("Draft again"), key="draft_again"):
            draft_tables(w, hints)


def _names(w: Wizard) -> list[str]:
    """All tables that are there; of a database those that the draft has."""
    assert w.table is not None
    if w.source is None:
        return list(app_api.tables_in(w.table))
    return [*w.plain["tables"], *(n for n in w.plain.get("public") or () if n not in w.plain["tables"])]


def _notes(w: Wizard) -> list[str]:
    """What the draft leaves to be decided or looked at, but for what the page asks about itself."""
    asked = (*words.ASKED_ABOVE, "proposed from the rows", "long lists, or values that few rows have")
    left = w.plain.get("open", ()) if facts_of(w, complete=False)[0] is None else ()
    return [*left, *(s for s in w.suggestions if not any(a in s for a in asked))]


def draft_tables(w: Wizard, hints: dict[str, list[str]]) -> None:
    """A new draft of the tables with these hints."""
    assert w.table is not None
    assert w.place is not None
    stored.allow_table("draft", w.table, w.source)
    try:
        with st.spinner(_("Reading the tables")):
            plain, w.suggestions = stored.draft_related(w.table, w.place, hints=hints, source=w.source)
    except synth.SynthError as error:
        frame.tell(error)
        return
    plain["dataset"] = dataset(w) or None
    w.left_out = []
    intake.replace(plain, _("A new draft is made. Nobody has vouched for it yet."))


def is_folder(path: Path) -> bool:
    """Whether a folder holds several tables, and not the parts of one."""
    return path.is_dir() and app_api.is_folder_of_tables(path) and len(app_api.tables_in(path)) > 1


def summary(w: Wizard) -> str:
    """What was chosen, in words."""
    return (
        _("{number} tables").format(number=len(w.plain["tables"]))
        if several(w)
        else _("{number} columns").format(number=len(w.plain.get("columns", {})))
    )
