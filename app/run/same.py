"""Rows that were charged to another dataset: the steward of both is told before the charge, and chooses."""

import streamlit as st

import synth
from app.session import access, frame
from app.session.aside import TooLongError, worker
from app.session.state import Wizard, dataset, facts, several
from synth.languages import _

PATIENCE = 1800.0  # seconds that a pass over the rows may take; at most 2,097,152 rows are compared
TOO_LONG = (
    "checking whether these rows were charged under another name took more than half an hour, so nothing was "
    "started or charged; try again when this computer is less busy, or start the run with `synth run`, which waits"
)


def asks(w: Wizard) -> bool:
    """Whether rows that this visitor may see were charged under another name, and nothing was said of it.

    Errors: InputError where no answer came: a run that could not be compared is not started.
    """
    known, _other = facts(w)
    if w.separate == dataset(w) or known is None or w.table is None:
        return False
    if not {t.dataset for t in synth.Ledger().summary()} - {dataset(w)}:
        return False
    asked = {"dataset": dataset(w), "source": w.source}
    with st.spinner(_("Checking whether these rows were charged before")):
        try:
            w.twins = worker.ask(
                "charged_before",
                None if several(w) and w.source else str(w.table),
                known.to_json(),
                access.me().name,
                seconds=PATIENCE,
                keep=False,
                **asked,
            )
        except TooLongError:
            raise synth.InputError(_(TOO_LONG)) from None
    return bool(w.twins)


def choice(w: Wizard) -> bool:
    """The choice, where one is open; returns whether it is."""
    if not w.twins or w.separate == dataset(w):
        return False
    names = " and ".join(w.twins)
    st.warning(
        _(
            "**These rows, or nearly all of them, were charged to {names} before.** What is learnt about the "
            "same people adds up, so they should have one budget. Nothing is charged yet."
        ).format(names=frame.escape(names)),
        icon=":material/content_copy:",
    )
    with st.container(horizontal=True):
        for i, name in enumerate(w.twins):
            if st.button(
                _("Charge {name} instead").format(name=name),
                key=f"same_{i}",
                type="primary",
                icon=":material/merge:",
                help=_("Both tables then share one budget and one cap."),
            ):
                w.plain["dataset"], w.twins = name, []
                st.rerun()
        if st.button(
            _("No person is in both"),
            key="separate",
            icon=":material/call_split:",
            help=_("State this only if you know it. It is recorded with the charge."),
        ):
            w.separate, w.twins = dataset(w), []
            st.rerun()
    return True
