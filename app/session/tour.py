"""A tour on the sample table: one hint a page, until somebody ends it."""

from pathlib import Path

import streamlit as st

from app.session.state import STEPS, wizard
from synth.languages import Texts, _

APP = Path(__file__).resolve().parents[1]
DATA = next(
    (p for p in (APP.parent / "data", APP / "sample") if (p / "town_survey.schema.json").exists()), APP / "sample"
)
SAMPLE, SAMPLE_SCHEMA, SAMPLE_ROWS = DATA / "town_survey.csv.gz", DATA / "town_survey.schema.json", 20_000
HINTS = Texts(
    {
        "describe": "What anyone may know without looking at the rows. The sample comes with its description, so you "
        "need not do anything. Press **Next: Budget**.",
        "budget": "Move the slider and read the odds. Press **Next: Method**.",
        "method": "The recommended method, and the error to expect. Press **Next: Run**.",
        "run": "One click spends. It takes some seconds, and you may close the window meanwhile. Then press **Next: "
        "Review**.",
        "review": "For your eyes alone: **Show the comparison** puts the synthetic table beside the real one. "
        "Then press "
        "**Next: Release**.",
        "release": "**Everything (.zip)** is what may be shared. The page Ledger holds a line for what was charged.",
    }
)


def hint(name: str) -> None:
    """What to do here, for whoever tries the sample table."""
    w = wizard()
    if name not in HINTS or not w.touring or w.table != SAMPLE:
        return
    with st.container(border=True):
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.markdown(
            _(":material/explore: **Tour, {index} of {number}.** {hints}").format(
                index=STEPS.index(name), number=len(HINTS), hints=HINTS[name]
            )
        )
        if right.button(_("End the tour"), key="end_tour", type="tertiary", help=_("The hints go; the table stays.")):
            w.touring = False
            st.rerun()
