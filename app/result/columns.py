"""All columns as small charts, the worst first, and one of them large."""

from typing import Any

import streamlit as st

from app.result import verdict
from app.session import charts, frame, multiples
from synth import app_api
from synth.languages import Texts, _, phrase

BREAKS = "_\u200b"  # a long name is broken after an underscore, and not within a word
FIRST = 10  # small charts in sight at once
NUMBERS = Texts({"empty": "empty", "mean": "mean", "spread": "spread"})


def section(result: Any) -> None:
    """The columns of a comparison."""
    name = st.session_state.setdefault("compare_column", result.worst_first()[0].column)
    if name not in result.one_way:  # of another run
        st.session_state["compare_column"] = result.worst_first()[0].column
    grid(result.worst_first(), "small", verdict.column)
    _one(result)


def grid(ordered: list[Any], key: str, shows: Any = None) -> None:
    """Small charts; a click on a name calls ``shows`` with it."""
    every = len(ordered) <= FIRST or st.toggle(
        _("All {number} columns").format(number=len(ordered)), key=f"{key}_every"
    )
    shown = ordered if every else ordered[:FIRST]
    st.caption(_(multiples.LEGEND))
    with st.container(horizontal=True, key=f"{key}_charts"):
        for i, one in enumerate(shown):
            with st.container(width=144, gap=None):
                label = f"{frame.escape(one.column).replace('_', BREAKS)} **{100 * one.distance:.1f}{verdict.NARROW}%**"
                if shows is not None:
                    st.button(label, key=f"{key}_{i}", on_click=shows, args=(one.column,), type="tertiary")
                else:
                    st.markdown(label)
                st.altair_chart(multiples.small(one), key=f"{key}_chart_{i}")
    if not every:
        st.caption(_("The {first} that differ most, of {number}.").format(first=FIRST, number=len(ordered)))


def _written(cell: str) -> str:
    """A cell of a column's numbers: its name, a figure, or one of dates in days."""
    if cell.endswith(" days"):
        return _("{n} days").format(n=cell.removesuffix(" days"))
    return NUMBERS.get(cell) or phrase(cell)


def _one(result: Any) -> None:
    name = st.selectbox(
        _("Column"), list(result.columns), key="compare_column", help=_("Shares of its values in both tables.")
    )
    one = result.one_way[name]
    st.altair_chart(charts.one_way(one), key="one_way")
    if text := charts.rest(one):
        st.caption(frame.escape(text))
    if rows := app_api.column_lines(one.numbers):
        lines = [f"| {' | '.join(frame.escape(_written(cell)) for cell in row)} |" for row in rows]
        st.markdown("\n".join([f"| | {_('real')} | {_('synthetic')} |", "|:---|---:|---:|", *lines]))
    notes = [
        _(
            "{distance:.1f} % of the rows would have to change their value to make the two equal (mean over all "
            "columns {one_way_mean:.1f} %)."
        ).format(distance=100 * one.distance, one_way_mean=100 * result.one_way_mean)
    ]
    if one.pooled:
        notes.append(_("The {number} commonest values are shown one by one.").format(number=len(one.chart().labels)))
    if one.kind != "bars":
        notes.append(_("The outermost bins take in the half percent of rows beyond them."))
    st.caption(" ".join(notes))
