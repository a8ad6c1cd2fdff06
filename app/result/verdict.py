"""What the synthetic table is good for, in words, and its weakest places, each a click away."""

from typing import Any

import streamlit as st

from app.session import frame

PARTS = ["Columns", "Pairs of columns", "Scores"]
SHOWN = {
    "good for": ("Good for", "check_circle", "green"),
    "usable with care for": ("Usable with care for", "error", "orange"),
    "not for": ("Not for", "cancel", "red"),
}


def section(found: Any) -> None:
    """The verdict, the figures that it rests on, and the worst columns and pairs. ``found``: a ``Verdict``."""
    for level, (title, icon, colour) in SHOWN.items():
        if uses := found.at(level):
            said = ", ".join(frame.escape(u.use) for u in uses)
            st.markdown(f":{colour}[:material/{icon}:] **{title}** {said}.")
    with st.expander("What this rests on"):
        for one in found.uses:
            st.markdown(f"**{frame.escape(one.use[:1].upper() + one.use[1:])}.** {frame.escape(one.sentence)}.")
        if found.reconciled:
            st.caption(frame.escape(found.reconciled))
    _worst(found)


def _worst(found: Any) -> None:
    st.markdown("**Farthest from the real table** (share of rows in the wrong place)")
    with st.container(horizontal=True):
        for rank, (name, distance) in enumerate(found.columns):  # keys by rank: names could run into one another
            st.button(f"{frame.escape(name)} {100 * distance:.1f} %", key=f"worst_column_{rank}", on_click=_column,
                      args=(name,), help="Shows the column in both tables.", type="tertiary",
                      icon=":material/bar_chart:")  # fmt: skip
    with st.container(horizontal=True):
        for rank, (first, second, distance) in enumerate(found.pairs):
            st.button(f"{frame.escape(first)} × {frame.escape(second)} {100 * distance:.1f} %", type="tertiary",
                      key=f"worst_pair_{rank}", on_click=_pair, args=(first, second),
                      help="Shows the two columns together in both tables.", icon=":material/grid_on:")  # fmt: skip


def _column(name: str) -> None:
    st.session_state["compared_part"], st.session_state["compare_column"] = PARTS[0], name


def _pair(first: str, second: str) -> None:
    st.session_state["compared_part"] = PARTS[1]
    st.session_state["pair_first"], st.session_state["pair_second"] = first, second
