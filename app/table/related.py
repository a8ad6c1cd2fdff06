"""Tables that belong together: taken in from a folder or several files, described one at a time, drafted again."""

import json
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.session import access, frame, labels, words
from app.session.state import (
    TABLES,
    Wizard,
    apart,
    dataset,
    effective,
    opened,
    own,
    several,
    take_table,
    wizard,
)
from app.session.state import facts as facts_of
from app.table import facts, intake, keys, owning, stored, work
from app.table.reading import PLAIN
from app.table.work import Plain
from synth import app_api
from synth.languages import _, phrase

FOLDER = "tables"  # in the place of tables that were uploaded together


def uploaded(tables: list[Any], given: Any) -> None:
    """Tables uploaded together. Errors: InputError, UsageError; then nothing is kept."""
    place = work.new_place(access.allow("upload").name)
    folder = place / FOLDER
    try:
        folder.mkdir(mode=0o700)
        for table in tables:
            work.keep(table, table.name, folder)
            intake.drop(table)
        _take(folder, place, given, label=_("{number} tables").format(number=len(tables)), dataset="")
    except synth.SynthError as error:
        work.discard(place)
        raise synth.InputError(str(error).replace(f"{folder}/", "").replace(f"{folder}: ", "")) from None
    finally:
        intake.forget(*tables, given)


def from_server(folder: Path, given: Any) -> None:
    """A folder of tables that stays where it is. Errors: InputError, UsageError; then nothing is kept."""
    who = access.allow("read_offered" if folder in work.mounted() else "read_path")
    place = work.new_place(who.name)
    try:
        _take(
            folder, place, given, label=_("{name} (a folder of tables)").format(name=folder.name), dataset=folder.name
        )
    except synth.SynthError as error:
        work.discard(place)
        raise synth.InputError(str(error).replace(f"{place}/", "")) from None
    finally:
        intake.forget(given)


def from_database(source: str, given: Any) -> None:
    """All tables of a database, which stay there. Errors: InputError, UsageError; then nothing is kept."""
    who = owning.database("read_database", source)
    place = work.new_place(who.name)
    try:
        label = _("{name} (a database)").format(name=source.removeprefix("@"))
        _take(TABLES, place, given, label=label, dataset="", source=source)
    except synth.SynthError as error:
        work.discard(place)
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
        return work.draft_related(folder, place, source=source)
    if "keys" not in result and intake.is_sdv(result):
        if source is not None:
            raise synth.UsageError(_("SDV metadata are completed from files; draft from the database instead"))
        metadata = place / "metadata.json"
        app_api.jobs.write_file(metadata, json.dumps(result))
        return work.imported(metadata, folder, place, books={})
    plain: Plain = json.loads(app_api.parse_related(result, name="description", complete=False).to_json())
    work.check(folder, plain, place, source=source)
    return plain, []


def choice() -> None:
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
    st.markdown(_("**{shown}**, {number} columns").format(shown=keys.shown(w), number=len(own(w)["columns"])))


def _switched(w: Wizard) -> None:
    w.at = st.session_state.get(f"shown_{w.edition}") or w.at
    w.edition += 1  # the grid begins anew with what stands in the description by now
    w.editing = None


def _waits(w: Wizard, table: str) -> bool:
    plain = effective(w)["tables"][table]
    open_facts = any(c.get("source") == "unconfirmed" for c in plain["columns"].values())
    unread = (plain.get("dialect") or {}).get("source") == "unconfirmed"
    return open_facts or unread or any(n.startswith(f"{table}.") for n in apart(w))


def reading() -> None:
    """How the open table's file is read, where that is not the plain way."""
    w = wizard()
    dialect = own(w).get("dialect")
    if not dialect:
        return
    result = synth.Schema.parse({**own(w), "columns": own(w)["columns"]}, name="description", complete=False).dialect
    reported = phrase(result.in_words()) if result is not None else _(PLAIN)
    st.markdown(_("**We read it so:** {reported}.").format(reported=frame.escape(reported)))


def draft_again() -> None:
    """A new draft with what the steward knows: the units' table, public ones, keys, codes."""
    w = wizard()
    with st.expander(_("Draft again from the tables, with hints"), expanded=facts_of(w, complete=False)[0] is None):
        for line in _notes(w):
            st.markdown(f"- {frame.escape(labels.plain(line))}")
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
            draft(w, hints)


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


def draft(w: Wizard, hints: dict[str, list[str]]) -> None:
    """A new draft of the tables with these hints."""
    assert w.table is not None
    assert w.place is not None
    owning.allow("draft", w.table, w.source)
    try:
        with st.spinner(_("Reading the tables")):
            plain, w.suggestions = work.draft_related(w.table, w.place, hints=hints, source=w.source)
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
