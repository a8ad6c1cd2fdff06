"""Tables and what is known of them in writing, taken in: stored once, described, or refused with nothing kept."""

import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

import synth
from app.session import access, frame, tasks, workers
from app.session.state import TABLES, Wizard, several, take_table, with_own, wizard
from app.table import stored
from app.table.stored import Plain
from synth import app_api
from synth.app_api import Visitor
from synth.languages import _, prose

NAMED = 4  # files of an upload, by which it is called
FOLDER = "tables"  # in the place of tables that were uploaded together
PATIENCE = 86_400.0  # seconds; a large table takes what it takes
NO_BOOKS = "code books are of single tables; leave them out, and state the values on the page The table"
NEITHER = "neither a description saved here nor SDV metadata; upload one of these, or none"


def sample() -> None:
    """The sample table, of which nothing is copied; each session has its own budget. Errors: UsageError."""
    who = access.allow("take_sample")
    facts = json.loads(synth.Schema.load(frame.SAMPLE_SCHEMA).to_json())
    facts["dataset"] = f"{facts['dataset']}-{secrets.token_hex(2)}"  # a budget of its own: it never runs out for others
    take_table(
        wizard(),
        frame.SAMPLE,
        label=_("Town survey (sample)"),
        plain=facts,
        place=stored.sample_place(who.name),
        rows=frame.SAMPLE_ROWS,
        suggestions=[],
    )


def uploaded(files: Sequence[Any], given: Any, books: Sequence[Any] = ()) -> None:
    """An uploaded table, or several that belong together. Errors: InputError, UsageError; then nothing is kept."""
    with _place(access.allow("upload"), files, [*files, given, *books]) as place:
        folder = place if len(files) == 1 else place / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        paths = [stored.keep(one, one.name, folder) for one in files]
        forget(*files)  # before another process reads the copies, so that the two do not add up
        if len(files) == 1:
            _take(paths[0], place, given, books, label=files[0].name)
        else:
            label = ", ".join(p.stem for p in paths[:NAMED]) + ", …" * (len(paths) > NAMED)
            _take(folder, place, given, books, label=label, many=True)


def from_server(path: str | Path, given: Any, books: Sequence[Any] = ()) -> None:
    """A table, or a folder of several, that stays where it is. Errors: InputError, UsageError; then nothing is kept."""
    path = Path(path).expanduser().absolute()
    who, many = access.allow("read_offered" if path in stored.mounted() else "read_path"), is_folder(path)
    with _place(who, [], [given, *books]) as place:
        if not many and not path.is_file() and not stored.is_parts(path):
            raise synth.InputError(_("{name}: no such file on this computer; check the path").format(name=path.name))
        _take(path, place, given, books, label=path.name, many=many)


def from_database(source: str, table: str | None, given: Any, books: Sequence[Any] = ()) -> None:
    """A table that stays in its database, or all of them. ``source``: @name, or an address without a password.

    Errors: InputError, UsageError; then nothing is kept.
    """
    with _place(stored.allow_database("read_database", source), [], [given, *books]) as place:
        label = table or source.removeprefix("@")
        _take(Path(table) if table else TABLES, place, given, books, label=label, many=table is None, source=source)


@contextmanager
def _place(who: Visitor, files: Sequence[Any], uploads: Sequence[Any]) -> Iterator[Path]:
    """A folder for what is taken in, which goes where it is refused, with a message without our own folders."""
    place = stored.new_place(who.name)
    try:
        yield place
    except synth.SynthError as error:
        stored.discard(place)
        text = prose(error.said)
        for name in (file.name for file in files):
            text = text.replace(str(place / stored.safe_name(name)), name)
        for part in (f"{place / FOLDER}/", f"{place / FOLDER}: ", f"{place}/"):
            text = text.replace(part, "")
        raise synth.InputError(text) from None
    finally:
        forget(*uploads)


def _take(
    path: Path,
    place: Path,
    given: Any,
    books: Sequence[Any],
    *,
    label: str,
    many: bool = False,
    source: str | None = None,
) -> None:
    plain, notes = _described(path, place, given, books, many=many, source=source)
    plain["dataset"] = plain.get("dataset") or (_root(path, plain) if many else _name(path, label, source))
    take_table(wizard(), path, label=label, plain=plain, place=place, rows=0, suggestions=notes, source=source)
    stored.remember(wizard())


def _name(path: Path, label: str, source: str | None) -> str:
    """What the budget is kept under: as the command line names the same file."""
    if source is not None:
        return label.split(".")[0]
    ours = path.parent.parent == stored.folder()  # an upload's copy, whose own name was made safe
    return app_api.dataset_of(label if ours else path, book=synth.Ledger())


def _root(path: Path, plain: Plain) -> str | None:
    """As ``_name``, of several tables: the folder, else the first table that belongs to no other."""
    if path.name not in (FOLDER, TABLES.name):
        return path.name
    below = {k["child"] for k in plain.get("keys", ())}
    return next((t for t in plain["tables"] if t not in below), None)


def _described(
    path: Path, place: Path, given: Any, books: Sequence[Any], *, many: bool, source: str | None
) -> tuple[Plain, list[str]]:
    """The description given, SDV metadata completed from the rows, or a draft; then the code books."""
    if many and books:
        raise synth.UsageError(_(NO_BOOKS))
    result, at = read_json(given), None if many and source is not None else str(path)
    files = {Path(b.name).stem: str(stored.keep(b, f"codes-{Path(b.name).stem}.csv", place)) for b in books}
    if result is None:
        return drafted(at, source, {}, files, many=many)
    if is_sdv(result) and "keys" not in result:
        if many and source is not None:
            raise synth.UsageError(_("SDV metadata are completed from files; draft from the database instead"))
        return _asked(tasks.imported, result, str(path), source, files)
    parsed: Any
    if many:
        parsed = app_api.parse_related(result, name="description", complete=False)
    else:
        parsed = synth.Schema.parse(result, name=given.name)
    plain, notes = json.loads(parsed.to_json()), []
    for column, book in files.items():
        plain, more = _asked(tasks.booked, plain, column, book)
        notes += more
    _asked(tasks.check, plain, at, source)
    return plain, notes


def drafted(
    at: str | None, source: str | None, hints: Plain, books: dict[str, str], *, many: bool
) -> tuple[Plain, list[str]]:
    """A draft of a table, or of several, with these hints; and what to look at. Errors: InputError, UsageError."""
    return _asked(tasks.draft_tables, at, source, hints) if many else _asked(tasks.draft, at, source, hints, books)


def _asked(task: Any, *arguments: Any) -> Any:
    return workers.ask(task, *arguments, seconds=PATIENCE)


def redraft(w: Wizard, hints: Plain) -> tuple[Plain, list[str]]:
    """A new draft from what the wizard holds, and what to look at. Errors: InputError, UsageError."""
    stored.allow_table("draft", w.table, w.source)
    if several(w):
        return drafted(None if w.source else str(w.table), w.source, hints, {}, many=True)
    before = w.plain.get("dialect") or {}
    retained = {f: before[f] for f in ("encoding", "delimiter", "decimal", "thousands") if before.get(f)}
    formats = [f"{n}={c['format']}" for n, c in w.plain["columns"].items() if c.get("format")]
    plain, notes = drafted(str(w.table), w.source, {"dialect": retained, "formats": formats, **hints}, {}, many=False)
    if {**plain.get("dialect", {}), "source": before.get("source")} == before:
        plain["dialect"] = before  # who confirmed it still does
    return plain, notes


def booked(w: Wizard, column: str, book: Any) -> list[str]:
    """A column's values and labels from a code book; returns what to look at. Errors: InputError."""
    assert w.place is not None
    file = stored.keep(book, f"codes-{w.uploads}.csv", w.place)
    w.plain, notes = _asked(tasks.booked, w.plain, column, str(file))
    return list(notes)


def is_folder(path: Path) -> bool:
    """Whether a folder holds several tables, and not the parts of one."""
    return path.is_dir() and app_api.is_folder_of_tables(path) and len(app_api.tables_in(path)) > 1


def text_of(upload: Any) -> str:
    """What a file that was sent says; letters that it cannot hold are marked."""
    return str(upload.getvalue().decode("utf-8-sig", errors="replace"))


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


def forget(*uploads: Any) -> None:
    """Gives the memory of uploads back: the server's copy, and ours. Their names stay readable, and the widgets start
    empty again."""
    context: Any = get_script_run_ctx()
    for upload in uploads:
        if upload is None or upload.closed:
            continue
        if context is not None:
            context.uploaded_file_mgr.remove_file(session_id=context.session_id, file_id=upload.file_id)
        upload.close()
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
