"""Whole numbers that may be codes: one question, and one click that makes categories of them."""

import streamlit as st

from app.session import frame
from app.session.state import Wizard, own, several, wizard
from app.table import facts, intake
from synth.language import _

FEW = ": few distinct whole numbers"  # how the draft begins to say so, after the columns


def section() -> None:
    """The question where the draft leaves it open; of a table that stands alone."""
    w = wizard()
    names = asked(w)
    if not names:
        return
    with st.container(border=True):
        st.markdown(
            _(
                "These columns hold few different whole numbers. If 1 and 2 mean yes and no, or regions, they "
                "are codes: each value is then a group of its own."
            )
        )
        chosen = st.multiselect(
            _("Columns of codes"),
            names,
            default=[n for n in names if not _counts(own(w)["columns"][n])],
            key=f"codes_{w.edition}",
            placeholder=_("Choose columns"),
            help=_("Take out those that count or measure: ages, years, visits."),
        )
        with st.container(horizontal=True):
            if st.button(
                _("These are codes"),
                key="are_codes",
                type="primary" if chosen else "secondary",
                disabled=not chosen,
                icon=":material/check:",
                help=_(
                    "All numbers between the smallest and the largest are then possible values; change the list "
                    "below where some are not."
                ),
            ):
                _settle(w, chosen)
            if st.button(
                _("All are numbers"),
                key="are_numbers",
                type="secondary" if chosen else "primary",
                help=_("They stay as they are."),
            ):
                _settle(w, [])


def _counts(column: dict) -> bool:
    """Whether its whole numbers begin at 0 and go beyond 1, as counts do; codes mostly begin at 1."""
    return column.get("min") == 0 and (column.get("max") or 0) > 1


def asked(w: Wizard) -> list[str]:
    """The columns about which the question is open. Whoever vouches for one as a number has answered."""
    columns = own(w)["columns"]
    return [n for n in doubted(w) if columns[n].get("source") == "unconfirmed"]


def doubted(w: Wizard) -> list[str]:
    """The columns that the draft asks about and that are whole numbers still, of a range that can be listed; several
    tables are not asked."""
    said = [line.partition(FEW)[0].split(",") for line in w.suggestions if FEW in line and not several(w)]
    columns = own(w)["columns"]
    return [n for names in said for n in names if n in columns and facts.listable(columns[n])]


def _settle(w: Wizard, names: list[str]) -> None:
    w.suggestions = [line for line in w.suggestions if FEW not in line]
    reported = _("{number} columns hold codes now.").format(number=len(names)) if names else _("They stay numbers.")
    intake.replace_own(facts.as_codes(own(w), names), frame.escape(reported))
