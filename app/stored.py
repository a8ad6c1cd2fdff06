"""Uploaded tables that lie on this computer, and the descriptions made for them: found again after a reload."""

import json
from pathlib import Path
from typing import Any

import streamlit as st

from app import frame, work
from app.state import Wizard, take_table, view, wizard

NOTE = "wizard.json"


def remember(w: Wizard) -> None:
    """Keeps the description beside its uploaded table. Public facts and file names only."""
    if w.table is None or not w.uploaded:
        return
    told = {"label": w.label, "plain": w.plain, "left_out": w.left_out, "suggestions": w.suggestions, "rows": w.rows}
    place, text = w.table.parent / NOTE, json.dumps(told, ensure_ascii=False)
    if w.table.parent.is_dir() and (not place.exists() or place.read_text(encoding="utf-8") != text):
        place.write_text(text, encoding="utf-8")


def tables() -> list[tuple[Path, dict[str, Any]]]:
    """Stored tables with what was remembered of them, newest first; damaged ones are left out."""
    found = []
    for place in sorted(work.folder().glob(f"*/{NOTE}"), key=lambda p: -p.stat().st_mtime):
        try:
            told = json.loads(place.read_text(encoding="utf-8"))
            table = place.parent / work.safe_name(told["label"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if table.is_file():
            found.append((table, told))
    return found


def offer() -> None:
    """Stored tables of earlier visits: to go on with, or to remove."""
    w = wizard()
    found = [(table, told) for table, told in tables() if table != w.table]
    if not found:
        return
    with st.expander(f"Tables stored by earlier visits ({len(found)})"):
        st.caption("They lie in a private folder on this computer until somebody removes them.")
        for i, (table, told) in enumerate(found):
            st.markdown(f"{frame.escape(told['label'])}, {len(told['plain'].get('columns', {}))} columns")
            with st.container(horizontal=True):
                if st.button("Go on with it", key=f"use_{i}"):
                    take_table(w, table, label=told["label"], plain=told["plain"], uploaded=True,
                               rows=int(told["rows"]), suggestions=list(told["suggestions"]))  # fmt: skip
                    w.left_out = list(told["left_out"])
                    st.switch_page(view("describe"))
                if st.button("Remove it", key=f"remove_{i}", icon=":material/delete:"):
                    work.discard(table)
                    w.notice = "The stored table is removed."
                    st.rerun()
