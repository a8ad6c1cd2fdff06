"""How the synthetic table is written: like the private one beside the plain one, or plain alone."""

import streamlit as st

from app.session.state import Wizard, effective
from synth.languages import Texts, _

SAID = Texts(
    {"same": "Like the private table, beside a plain one", "plain": "Plain only: UTF-8, commas, points, ISO dates"}
)


def own_way(w: Wizard) -> bool:
    """Whether the description tells of a dialect, or of formats, that a second table would be written in."""
    facts = effective(w)
    return bool(facts.get("dialect")) or any(c.get("format") for c in facts["columns"].values())


def choice(w: Wizard) -> None:
    """The switch, where there is something to choose; kept in the wizard."""
    if not own_way(w):
        w.written = "same"
        return
    ways = list(SAID)
    w.written = st.radio(
        _("How the CSV is written"),
        ways,
        index=ways.index(w.written),
        horizontal=True,
        key="written",
        format_func=SAID.__getitem__,
        help=_(
            "The rows are the same. Choose plain where the table's own encoding has no room for a value of the "
            "description."
        ),
    )


def chosen(w: Wizard) -> str:
    """What the run is told of it."""
    return w.written if own_way(w) else "same"
