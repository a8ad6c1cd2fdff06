"""Uploaded tables that lie on this computer, and the descriptions made for them: found again after a reload."""

import json
from pathlib import Path
from typing import Any

import streamlit as st

from app.session import access, frame
from app.session.state import STEPS, Wizard, ready, take_table, view, wizard
from app.table import owning, work
from app.table.stowing import NOTE
from synth.app_api import Visitor, jobs
from synth.languages import _

CHOICES = ("epsilon", "delta", "relation", "method", "options", "rows", "left_out", "left_at", "priors")  # of all pages


def remember(w: Wizard) -> None:
    """Keeps description and choices beside the uploaded table or for a table elsewhere. Public facts and file names."""
    if w.table is None or w.place is None or not w.place.is_dir():
        return
    reported = {name: getattr(w, name) for name in CHOICES}
    reported |= {
        "label": w.label,
        "plain": w.plain,
        "suggestions": w.suggestions,
        "owner": access.me().name,
        "source": w.source,
        "table": None if w.uploaded else str(w.table),
        "file": w.table.name if w.uploaded else None,
    }
    note, text = w.place / NOTE, json.dumps(reported, ensure_ascii=False)
    if not note.exists() or note.read_text(encoding="utf-8") != text:
        jobs.write_file(note, text)  # a torn note would make its table one that nobody stored


def resume(w: Wizard, place: Path, table: Path, reported: dict[str, Any]) -> str:
    """Goes on with a stored table where it was left; returns the page to open. Errors: UsageError."""
    owning.place("resume_table", place)
    take_table(
        w,
        table,
        label=reported["label"],
        plain=reported["plain"],
        place=place,
        rows=int(reported["rows"]),
        source=reported.get("source"),
        suggestions=list(reported["suggestions"]),
    )
    for name in CHOICES:
        if name in reported:
            setattr(w, name, reported[name])
    w.furthest = STEPS.index(w.left_at)
    return w.left_at if ready(w).get(w.left_at) else "describe"


def tables() -> list[tuple[Path, Path, dict[str, Any]]]:
    """Stored descriptions of this visitor: folder, table and note, newest first; damaged ones are left out."""
    results, who = [], access.me()
    for note in sorted(work.folder().glob(f"*/{NOTE}"), key=lambda p: -p.stat().st_mtime):
        try:
            parsed = json.loads(note.read_text(encoding="utf-8"))
            own = note.parent / (parsed.get("file") or work.safe_name(parsed["label"]))
            table = Path(parsed["table"]) if parsed.get("table") else own
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if _there(table, parsed.get("source"), who) and who.may("resume_table", parsed.get("owner")):
            results.append((note.parent, table, parsed))
    return results


def _there(table: Path, source: str | None, who: Visitor) -> bool:
    """Whether the table can still be had. A database is not asked, only whether the visitor may use it."""
    return owning.open_to(who, table, source) and (source is not None or table.is_file() or table.is_dir())


def _size(plain: dict[str, Any]) -> str:
    return (
        _("{number} tables").format(number=len(plain["tables"]))
        if "tables" in plain
        else _("{number} columns").format(number=len(plain.get("columns", {})))
    )


def remove(place: Path) -> None:
    """Removes a stored table with its description. Errors: UsageError for somebody else's."""
    owning.place("remove_table", place)
    work.discard(place)


def offer() -> None:
    """Stored tables of earlier visits: to go on with, or to remove."""
    w = wizard()
    results = [f for f in tables() if f[0] != w.place]
    if not results:
        return
    with st.expander(_("Tables of earlier visits ({number})").format(number=len(results))):
        st.caption(
            _("Uploaded copies and descriptions lie in a private folder on this computer until you remove them.")
        )
        for i, (place, table, reported) in enumerate(results):
            st.markdown(f"{frame.escape(reported['label'])}, {_size(reported['plain'])}")
            with st.container(horizontal=True):
                if st.button(_("Go on with it"), key=f"use_{i}"):
                    st.switch_page(view(resume(w, place, table, reported)))
                if st.button(_("Remove it"), key=f"remove_{i}", icon=":material/delete:"):
                    remove(place)
                    w.notice = _("The stored table is removed.")
                    st.rerun()
