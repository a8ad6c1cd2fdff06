"""The entry script: pages, their order, and the one place where a fault becomes a sentence."""

import sys
from pathlib import Path

import streamlit as st

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from app import frame  # noqa: E402
from app.state import STEPS, TITLES, ready, view, wizard  # noqa: E402

OPEN, LOCKED = ":material/radio_button_unchecked:", ":material/lock:"


def main() -> None:
    """One run of the script: shows the page that was asked for."""
    st.set_page_config(page_title="Facsimile", page_icon=str(Path(__file__).with_name("icon.png")), layout="wide")
    w = wizard()
    reached = ready(w)
    steps = [
        st.Page(view(s), title=f"{i}. {TITLES[s]}", icon=OPEN if reached[s] else LOCKED, url_path=s,
                default=s == "data")
        for i, s in enumerate(STEPS, 1)
    ]  # fmt: skip
    ledger = st.Page(view("ledger"), title=TITLES["ledger"], icon=":material/receipt_long:", url_path="ledger")
    page = st.navigation({"Make a synthetic table": steps, "Records": [ledger]})
    name = page.url_path or "data"
    if name != w.page:
        w.page = name
        w.edition += 1  # the grid's edits are in the state by now; it starts anew from there
    with st.sidebar:
        st.caption(f"Table: {frame.escape(w.label)}" if w.label else "No table yet")
    try:
        page.run()
    except Exception as error:
        frame.tell(error)


main()
