"""A group of people: how the other columns look within it, in both tables."""

from typing import Any

import streamlit as st

from app.result import columns
from app.session import frame
from synth.languages import _

MOST = 31  # groups of a column that divides people


def section(result: Any, said: Any) -> None:
    """A column, one of its groups, and the other columns within it. ``said``: the verdict, None without one."""
    if len(result.columns) < 2:
        st.info(_("There is one column only, so there is nothing to see within its groups."))
        return
    names = list(result.columns)
    worst = said.groups[0] if said is not None and said.groups else None
    if st.session_state.get("group_column") not in names:
        st.session_state["group_column"] = worst.column if worst else names[0]
    left, right = st.columns(2)
    name = left.selectbox(_("Groups by"), names, key="group_column", help=_("The column whose values divide people."))
    labels = list(result.groups[name].labels)
    if st.session_state.get("group_value") not in labels:
        st.session_state["group_value"] = worst.group if worst and worst.group in labels else labels[0]
    value = right.selectbox(_("Group"), labels, key="group_value", help=_("The other columns are shown for it alone."))
    inside = result.within(name, value)
    real, synthetic = result.two_way(name, inside[0].column, where=(name, value)).used
    if not real or not synthetic:
        st.info(
            _("One of the tables has no such row ({real:,} real, {synthetic:,} synthetic).").format(
                real=real, synthetic=synthetic
            )
        )
        return
    mean = sum(o.distance for o in inside) / len(inside)
    st.markdown(
        _(
            "**{name}: {value}**, {real:,} real and {synthetic:,} synthetic rows. Mean distance of the other "
            "columns within it: **{mean:.1f} %**; noise is the same for every group, so small groups lose most."
        ).format(name=frame.escape(name), value=frame.escape(value), real=real, synthetic=synthetic, mean=100 * mean)
    )
    columns.grid(inside, "within")
