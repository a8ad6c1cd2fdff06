"""The description as a grid to edit: kinds, bounds, codes and who vouches, a line for each column."""

from typing import Any

import pandas as pd
import streamlit as st

from app.session import words
from app.session.state import leave_out, opened, own, own_left_out, several, wizard
from app.table import facts
from synth.languages import _

HEIGHT = 35


def section() -> None:
    """The editor works on a fixed copy; what it returns is the description from now on."""
    w = wizard()
    held, edition = st.session_state.get("grid_base"), f"{w.edition}_{opened(w)}" if several(w) else str(w.edition)
    if held is None or held[0] != edition:
        held = (edition, dict(own(w)), facts.grid(own(w), own_left_out(w)))
        st.session_state["grid_base"] = held
    _other, plain, base = held
    st.caption(_("Click a cell to change it. Point at a heading to see what it means."))
    edited = st.data_editor(
        base,
        column_config=_config(base),
        hide_index=True,
        key=f"grid_{edition}",
        height=min(620, HEIGHT * (len(base) + 1) + 3),
        placeholder="",
    )
    result, left_out = facts.apply(plain, base, edited)
    leave_out(w, left_out)
    stated = own(w)["columns"]  # whose a column is, is said above the grid
    own(w)["columns"] = {
        n: facts.of_unit(c, own=stated.get(n, {}).get("of") == "unit") for n, c in result["columns"].items()
    }


def _config(base: pd.DataFrame) -> dict[str, Any]:
    """The grid's columns; nobody can say that a fact was learnt with budget where it was not."""
    sources = [s for s in words.SOURCES if s != "private" or (base["source"] == "private").any()]
    return {**_columns(), "source": _source(sources)}


def _columns() -> dict[str, Any]:
    return {
        "use": st.column_config.CheckboxColumn(
            _("Use"), help=_("Untick a column to leave it out of the result."), width=62
        ),
        "column": st.column_config.TextColumn(_("Column"), disabled=True, pinned=True),
        "kind": st.column_config.SelectboxColumn(
            _("Kind"),
            width=140,
            options=list(words.KINDS),
            format_func=lambda k: words.KINDS[str(k)],
            required=True,
            help=_(
                "What the cells are. Codes such as 1, 2, 9 are categories, not numbers. An identifier (name, number) "
                "is never learnt: the result counts from 1."
            ),
        ),
        "min": st.column_config.TextColumn(
            _("Smallest"), width=80, help=_("The smallest value possible, not the smallest in the table.")
        ),
        "max": st.column_config.TextColumn(
            _("Largest"), width=80, help=_("The largest value possible. Larger ones count as this one.")
        ),
        "step": st.column_config.TextColumn(
            _("Step"),
            width=72,
            help=_("Distance between neighbouring values: 1, 10 or 0.1; for dates second, minute, hour or day."),
        ),
        "values": st.column_config.TextColumn(
            _("Values"), width=60, disabled=True, help=_("How many categories; edit them below.")
        ),
        "empty": st.column_config.CheckboxColumn(_("Empty"), width=60, help=_("Whether an empty cell means missing.")),
        "missing": st.column_config.TextColumn(
            _("Missing"), width=84, help=_("Other texts that mean a missing value, with commas between: N, ?, -9.")
        ),
        "description": st.column_config.TextColumn(_("Note"), width=60, help=_("For readers of the result. Optional.")),
    }


def _source(options: list[str]) -> Any:
    return st.column_config.SelectboxColumn(
        _("Who vouches"),
        width=112,
        options=options,
        required=True,
        format_func=lambda s: words.SOURCES[str(s)],
        help=_("Somebody must answer for each column's facts being public knowledge."),
    )
