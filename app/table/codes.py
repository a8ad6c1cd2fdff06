"""Whole numbers that may be codes: one question, whose answer is taken with what is vouched for."""

import streamlit as st

from app.session.state import Wizard, own, several, wizard
from app.table import facts
from synth.languages import _

FEW = ": few distinct whole numbers"  # how the draft begins to say so, after the columns


def section() -> None:
    """The question where the draft leaves it open; what stands is taken with the columns that are vouched for."""
    w = wizard()
    names = asked(w)
    if not names:
        return
    with st.container(border=True):
        st.markdown(
            _(
                "These columns hold few different whole numbers. If 1 and 2 mean yes and no, or regions, they "
                "are codes: each value is then a group of its own. What is chosen here is taken with what you vouch "
                "for below."
            )
        )
        w.codes = st.multiselect(
            _("Columns of codes"),
            names,
            default=_standing(w, names),
            key=f"codes_{w.edition}",
            placeholder=_("None: all are numbers"),
            help=_(
                "Take out those that count or measure: ages, years, visits. All numbers between the smallest and the "
                "largest are possible values of a code; change its list below where some are not."
            ),
        )


def _standing(w: Wizard, names: list[str]) -> list[str]:
    """The answer that stands: the steward's, else what the ranges suggest."""
    if w.codes is not None:
        return [n for n in w.codes if n in names]
    return [n for n in names if not _counts(own(w)["columns"][n])]


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


def taken(w: Wizard) -> dict:
    """The description with the answer that stands, on the steward's word."""
    names = asked(w)
    w.suggestions = [line for line in w.suggestions if FEW not in line]
    return facts.as_codes(own(w), _standing(w, names))
