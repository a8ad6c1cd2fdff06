"""About how many rows there are: asked of the steward, since the number may itself be a secret."""

import streamlit as st

import synth
from app.session import frame
from app.session.aside import TooLongError, worker
from app.session.state import Wizard, facts, linked, several
from app.table import owning
from synth.languages import _

PATIENCE = 600.0  # seconds that the counting may take
HELP = "For the forecast and the check of delta only: a public figure or a guess. It is not taken from the table."
PUBLIC = (
    "Only where the number of rows is no secret, for instance because a report states it. It is then taken from the "
    "table, to two digits. Where the number must stay secret, type a guess."
)


def ask(w: Wizard) -> None:
    """The question, and the table's own size for whoever says that it is public."""
    st.session_state.setdefault("rows", w.rows or None)
    root = facts(w)[0] if several(w) else None
    about = (
        _("About how many persons are there?")
        if linked(w)
        else _("About how many rows are there?")
        if root is None
        else _("About how many rows has {root}?").format(root=root.root)
    )
    typed = st.number_input(
        about, min_value=1, value=None, step=1000, key="rows", placeholder=_("for instance 40000"), help=_(HELP)
    )
    w.rows = int(typed or 0)
    if not w.rows:
        st.button(
            _("The number is public: take it from the table"),
            key="rows_of_file",
            type="tertiary",
            help=_(PUBLIC),
            icon=":material/table_rows:",
            on_click=_count,
            args=(w,),
        )


def _count(w: Wizard) -> None:
    assert w.table is not None
    try:
        owning.allow("use_table", w.table, w.source)
        known, problem = facts(w)
        if known is None:
            raise synth.InputError(problem)
        result = worker.ask("rough_rows", str(w.table), known.to_json(), w.source, seconds=PATIENCE, keep=False)
        w.rows = st.session_state["rows"] = max(result, 1)
    except TooLongError:
        w.notice = _("Counting takes too long here; type about how many rows there are.")
    except synth.SynthError as error:
        frame.tell(error)
