"""Uploaded tables that lie on this computer, and the descriptions made for them: found again after a reload."""

import json
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app import access, frame, work
from app.state import Wizard, ready, take_table, view, wizard
from synth.roles import Visitor

NOTE = "wizard.json"
CHOICES = ("epsilon", "delta", "relation", "method", "options", "rows", "left_out", "left_at")  # of all pages


def remember(w: Wizard) -> None:
    """Keeps description and choices beside the uploaded table or for a table elsewhere. Public facts and file names."""
    if w.table is None or w.place is None or not w.place.is_dir():
        return
    told = {name: getattr(w, name) for name in CHOICES}
    told |= {"label": w.label, "plain": w.plain, "suggestions": w.suggestions, "owner": access.me().name,
             "source": w.source, "table": None if w.uploaded else str(w.table)}  # fmt: skip
    note, text = w.place / NOTE, json.dumps(told, ensure_ascii=False)
    if not note.exists() or note.read_text(encoding="utf-8") != text:
        note.write_text(text, encoding="utf-8")


def resume(w: Wizard, place: Path, table: Path, told: dict[str, Any]) -> str:
    """Goes on with a stored table where it was left; returns the page to open."""
    take_table(w, table, label=told["label"], plain=told["plain"], place=place, rows=int(told["rows"]),
               source=told.get("source"), suggestions=list(told["suggestions"]))  # fmt: skip
    for name in CHOICES:
        if name in told:
            setattr(w, name, told[name])
    return w.left_at if ready(w).get(w.left_at) else "describe"


def tables() -> list[tuple[Path, Path, dict[str, Any]]]:
    """Stored descriptions of this visitor: folder, table and note, newest first; damaged ones are left out."""
    found, who = [], access.me()
    for note in sorted(work.folder().glob(f"*/{NOTE}"), key=lambda p: -p.stat().st_mtime):
        try:
            told = json.loads(note.read_text(encoding="utf-8"))
            table = Path(told["table"]) if told.get("table") else note.parent / work.safe_name(told["label"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if _there(table, told.get("source"), who) and who.may_look_into(told.get("owner")):
            found.append((note.parent, table, told))
    return found


def _there(table: Path, source: str | None, who: Visitor) -> bool:
    """Whether the table can still be had. A database is not asked, only whether the visitor may use it."""
    if source is None:
        return table.is_file() or work.is_parts(table)
    return who.alone or any(f"@{d.name}" == source and d.open_to(who.name) for d in synth.databases.databases())


def offer() -> None:
    """Stored tables of earlier visits: to go on with, or to remove."""
    w = wizard()
    found = [f for f in tables() if f[0] != w.place]
    if not found:
        return
    with st.expander(f"Tables of earlier visits ({len(found)})"):
        st.caption("Uploaded copies and descriptions lie in a private folder on this computer until you remove them.")
        for i, (place, table, told) in enumerate(found):
            st.markdown(f"{frame.escape(told['label'])}, {len(told['plain'].get('columns', {}))} columns")
            with st.container(horizontal=True):
                if st.button("Go on with it", key=f"use_{i}"):
                    st.switch_page(view(resume(w, place, table, told)))
                if st.button("Remove it", key=f"remove_{i}", icon=":material/delete:"):
                    work.discard(place)
                    w.notice = "The stored table is removed."
                    st.rerun()
