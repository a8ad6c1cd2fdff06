"""A table and what is known of it in writing, taken in: stored once, described, or refused with nothing kept."""

import json
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

import synth
from app.session import access, frame, garbage
from app.session.state import Wizard, take_table, with_own, wizard
from app.table import stored
from app.table.stored import Plain
from synth import app_api
from synth.languages import _

LITTLE = 1 << 20  # bytes of an upload that nobody need hurry to give back
NO_BOOKS = "code books are of single tables; leave them out, and state the values on the page Describe"
NEITHER = "neither a description saved here nor SDV metadata; upload one of these, or none"


def sample() -> None:
    """The sample table, of which nothing is copied. Errors: InputError, UsageError."""
    who = access.allow("take_sample")
    facts = json.loads(synth.Schema.load(frame.SAMPLE_SCHEMA).to_json())
    take_table(
        wizard(),
        frame.SAMPLE,
        label=_("Town survey (sample)"),
        plain=facts,
        place=stored.sample_place(who.name),
        rows=frame.SAMPLE_ROWS,
        suggestions=[],
    )


def uploaded(table: Any, given: Any, books: list[Any]) -> None:
    """An uploaded table. Errors: InputError, UsageError; then nothing is kept."""
    place = stored.new_place(access.allow("upload").name)
    try:
        path = stored.keep(table, table.name, place)
        drop(table)  # before a second process reads the copy, so that the two do not add up
        _describe(path, place, given, books, label=table.name)
    except synth.SynthError as error:
        stored.discard(place)
        raise synth.InputError(_without(error, place, table.name)) from None
    finally:
        forget(table, given, *books)


def from_server(path: str | Path, given: Any, books: list[Any]) -> None:
    """A table that stays where it is. Errors: InputError, UsageError; then nothing is kept."""
    path = Path(path).expanduser().absolute()
    who = access.allow("read_offered" if path in stored.mounted() else "read_path")
    place = stored.new_place(who.name)
    try:
        if not path.is_file() and not stored.is_parts(path):
            raise synth.InputError(_("{name}: no such file on this computer; check the path").format(name=path.name))
        _describe(path, place, given, books, label=path.name)
    except synth.SynthError as error:
        stored.discard(place)
        raise synth.InputError(_without(error, place, path.name)) from None
    finally:
        forget(given, *books)


def from_database(source: str, table: str, given: Any, books: list[Any]) -> None:
    """A table that stays in its database. ``source``: @name, or an address without a password.

    Errors: InputError, UsageError; then nothing is kept.
    """
    who = stored.allow_database("read_database", source)
    place = stored.new_place(who.name)
    try:
        _describe(Path(table), place, given, books, label=table, source=source)
    except synth.SynthError as error:
        stored.discard(place)
        raise synth.InputError(_without(error, place, table)) from None
    finally:
        forget(given, *books)


def _without(error: Exception, place: Path, name: str) -> str:
    """A message without our own folders."""
    text = str(error).replace(str(place / stored.safe_name(name)), name)
    return text.replace(f"{place}/", "")


def _describe(path: Path, place: Path, given: Any, books: list[Any], *, label: str, source: str | None = None) -> None:
    plain, notes = description(path, place, given, books, source=source)
    plain["dataset"] = plain.get("dataset") or _name(path, label, source)
    take_table(wizard(), path, label=label, plain=plain, place=place, rows=0, suggestions=notes, source=source)
    stored.remember(wizard())


def _name(path: Path, label: str, source: str | None) -> str:
    """What the budget is kept under: as the command line names the same file."""
    if source is not None:
        return label.split(".")[0]
    ours = path.parent.parent == stored.folder()  # an upload's copy, whose own name was made safe
    return app_api.dataset_of(label if ours else path, book=synth.Ledger())


def description(
    path: Path, place: Path, given: Any, books: list[Any], *, source: str | None = None
) -> tuple[Plain, list[str]]:
    """The table's description: the one given, SDV metadata completed from the rows, or a draft; then the code books.

    Errors: InputError.
    """
    files = {Path(b.name).stem: _file(b, place) for b in books}
    result = read_json(given)
    if result is None:
        return stored.draft(path, place, hints={}, books=files, source=source)
    if is_sdv(result):
        metadata = place / "metadata.json"
        app_api.jobs.write_file(metadata, json.dumps(result))
        return stored.imported(metadata, path, place, books=files, source=source)
    plain: Plain = json.loads(synth.Schema.parse(result, name=given.name).to_json())
    notes: list[str] = []
    for column, book in files.items():
        plain, more = stored.booked(plain, column, book, place)
        notes += more
    stored.check(path, plain, place, source=source)
    return plain, notes


def redraft(w: Wizard, hints: dict[str, list[str]]) -> tuple[Plain, list[str]]:
    """A new draft from the table that the wizard holds, and what to look at. Errors: InputError, UsageError."""
    assert w.table is not None
    assert w.place is not None
    stored.allow_table("draft", w.table, w.source)
    before = w.plain.get("dialect") or {}
    retained = {f: [before[f]] for f in ("encoding", "delimiter", "decimal", "thousands") if before.get(f)}
    formats = [f"{n}={c['format']}" for n, c in w.plain["columns"].items() if c.get("format")]
    plain, notes = stored.draft(
        w.table, w.place, hints={**retained, "format": formats, **hints}, books={}, source=w.source
    )
    if {**plain.get("dialect", {}), "source": before.get("source")} == before:
        plain["dialect"] = before  # who vouched for it still does
    return plain, notes


def _file(upload: Any, place: Path) -> Path:
    return stored.keep(upload, f"codes-{Path(upload.name).stem}.csv", place)


def read_json(given: Any) -> Plain | None:
    """An uploaded JSON object, None without an upload. Errors: InputError."""
    if given is None:
        return None
    try:
        parsed = json.loads(given.getvalue().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise synth.InputError(
            _("{name}: not a JSON file; upload a description saved here, or none").format(name=given.name)
        ) from None
    if not isinstance(parsed, dict):
        raise synth.InputError(f"{given.name}: {NEITHER}")
    return parsed


def is_sdv(plain: Plain) -> bool:
    """Whether this is SDV metadata.

    >>> is_sdv({"METADATA_SPEC_VERSION": "V1", "tables": {}}), is_sdv({"columns": {"a": {"type": "integer"}}})
    (True, False)
    """
    columns = plain.get("columns")
    stated = columns.values() if isinstance(columns, dict) else ()
    return (
        "METADATA_SPEC_VERSION" in plain
        or "tables" in plain
        or any(isinstance(c, dict) and "sdtype" in c for c in stated)
    )


def drop(*uploads: Any) -> None:
    """Gives the memory of uploads back: the server's copy, and what pages hold of it. Their names stay readable.

    Streamlit's memory of the page's last run holds an upload under an object of its own, out of reach; any one that is
    left open keeps all of its bytes. So each is looked up and closed, all in one look: it takes tenths of a second.
    """
    _remove(*uploads)
    kinds, wanted = {type(u) for u in uploads}, {u.file_id for u in uploads}
    for held in garbage.everything():
        if type(held) in kinds and held.file_id in wanted:
            held.close()
    garbage.freeze()


def _remove(*uploads: Any) -> None:
    """Takes the server's copies away and closes what was handed to us."""
    context = get_script_run_ctx()
    remove = getattr(getattr(context, "uploaded_file_mgr", None), "remove_file", None)
    for upload in uploads:
        if remove is not None and context is not None:
            remove(session_id=context.session_id, file_id=upload.file_id)
        upload.close()


def forget(*uploads: Any) -> None:
    """Drops uploads that are not dropped yet; the widgets start empty again. Little ones wait for the page's next run
    to be gone from its memory too."""
    left = [u for u in uploads if u is not None and not u.closed]
    if any(u.size > LITTLE for u in left):
        drop(*left)
    else:
        _remove(*left)
    wizard().uploads += 1


def replace_own(plain: Plain, notice: str) -> None:
    """As ``replace``, of the table whose description is open. Errors: UsageError."""
    replace(with_own(wizard(), plain), notice)


def replace(plain: Plain, notice: str) -> None:
    """Another description of all that was chosen, from now on; the page is drawn again. Errors: UsageError."""
    w = wizard()
    stored.allow_table("use_table", w.table, w.source)
    access.allow("describe")
    w.plain, w.notice = plain, notice
    w.edition += 1
    st.rerun()
