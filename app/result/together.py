"""Columns together: pairs, how strongly they go together in either table, and slices of three."""

from typing import Any

import numpy as np
import streamlit as st

from app.result import verdict
from app.session import charts, frame, multiples
from synth.languages import Texts, _

ONE = "There are too few columns for this."
GAP = "synthetic minus real"
PLACES = Texts(
    {
        "first": ("First column", "Down the side."),
        "second": ("Second column", "Along the bottom."),
        "third": ("Third column", "Whose groups cut slices."),
    }
)


def pairs(result: Any) -> None:
    """The distance of all pairs, and one of them in full."""
    if len(result.columns) < 2:
        st.info(_("There is one column only, so there are no pairs."))
        return
    st.markdown(
        _(
            "Mean distance over all pairs: **{pairs_mean:.1f} %** of rows in the wrong place. Two samples of the "
            "same population would show about {pairs_by_chance:.1f} % by chance alone."
        ).format(pairs_mean=100 * result.pairs_mean, pairs_by_chance=100 * result.pairs_by_chance)
    )
    picked = multiples.pickable(charts.pairs(result))
    st.altair_chart(picked, key="pairs", on_select=_picked, selection_mode=multiples.CELL)
    left_out = len(result.columns) - len(result.chart()[1])
    st.caption(
        _(
            "A click on a cell shows the pair below. Darker is worse; the diagonal shows each column alone. "
            "Numbers are cut into 12 groups of equal size."
        )
        + (_(" {left_out} columns that differ less are left out.").format(left_out=left_out) if left_out else "")
    )
    first, second = _chosen(result, "pair", dict(zip(("first", "second"), result.worst_pair, strict=True))).values()
    if first == second:
        st.info(_("Choose two different columns."))
        return
    both = result.two_way(first, second)
    _tables(both, (first, second), "two_way")
    st.caption(
        _("{distance:.1f} % of the rows would have to move to make the two equal.").format(distance=100 * both.distance)
    )


def associations(result: Any) -> None:
    """How strongly each two columns go together, in either table, and the difference."""
    if len(result.columns) < 2:
        st.info(_(ONE))
        return
    shown = result.association_charts()
    st.markdown(
        _("How strongly each two columns go together, from 0 (not at all) to 1 (one determines the other)."),
        help=_("Cramer's V of their joint table, at most 12 groups a column, corrected for chance."),
    )
    for side, name in zip(st.columns(2), (charts.REAL, charts.SYNTHETIC), strict=True):
        side.altair_chart(
            multiples.association(shown[name], _("{name} table").format(name=name)), key=f"association_{name}"
        )
    gap = multiples.pickable(multiples.association(shown[_(GAP)], _(GAP), signed=True))
    st.altair_chart(gap, key="association_gap", on_select=_picked_gap, selection_mode=multiples.CELL)
    st.caption(_("Orange: stronger in the synthetic table; blue: weaker. A click on a cell shows the pair."))


def three(result: Any) -> None:
    """Two columns among the rows that have one group of a third."""
    if len(result.columns) < 3:
        st.info(_(ONE))
        return
    names = list(result.columns)
    chosen = _chosen(result, "three", dict(zip(("first", "second", "third"), names[:3], strict=True)))
    first, second, third = chosen.values()
    if len({first, second, third}) < 3:
        st.info(_("Choose three different columns."))
        return
    labels = list(result.groups[third].labels)
    if st.session_state.get("three_group") not in labels:
        st.session_state["three_group"] = _common(result, third)
    value = st.selectbox(
        _("Only rows whose {third} is").format(third=third), labels, key="three_group", help=_("A slice of the table.")
    )
    both = result.two_way(first, second, where=(third, value))
    if not all(both.used):
        st.info(
            _("One of the tables has no such row ({used:,} real, {used2:,} synthetic).").format(
                used=both.used[0], used2=both.used[1]
            )
        )
        return
    _tables(both, (first, second), "slice")
    st.caption(
        _(
            "{distance:.1f} % of the rows of this slice would have to move: {used:,} real and {used2:,} synthetic rows."
        ).format(distance=100 * both.distance, used=both.used[0], used2=both.used[1])
    )


def _common(result: Any, name: str) -> str:
    """The commonest group of a column in the real table."""
    return str(result.groups[name].labels[int(np.bincount(result.codes[0][name]).argmax())])


def _chosen(result: Any, key: str, usual: dict[str, str]) -> dict[str, str]:
    """A menu of columns for each place."""
    names, out = list(result.columns), {}
    for side, (place, default) in zip(st.columns(len(usual)), usual.items(), strict=True):
        if st.session_state.get(f"{key}_{place}") not in names:
            st.session_state[f"{key}_{place}"] = default
        label, said = PLACES[place]
        out[place] = side.selectbox(label, names, key=f"{key}_{place}", help=said)
    return out


def _tables(both: Any, names: tuple[str, str], key: str) -> None:
    for side, table in zip(st.columns(2), (charts.REAL, charts.SYNTHETIC), strict=True):
        side.altair_chart(charts.two_way(both, names, table), key=f"{key}_{table}")
    row, column, share = both.charts()[_(GAP)].strongest()
    st.caption(
        _("Farthest apart at {row}, {column}: {share:+.1f} % of rows.").format(
            row=frame.escape(row), column=frame.escape(column), share=100 * share
        )
    )


def _picked() -> None:
    _show("pairs")


def _picked_gap() -> None:
    _show("association_gap")


def _show(key: str) -> None:
    cells = st.session_state[key]["selection"].get(multiples.CELL) or []
    if cells and cells[0]["row"] != cells[0]["column"]:
        verdict.pair(cells[0]["row"], cells[0]["column"])
