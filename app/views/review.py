"""Step 6: what came out, for the steward's eyes: comparison, side by side, and what else the release could give."""

import json

import streamlit as st

import synth
from app.result import alternatives, comparison, prior
from app.run import recent, runs
from app.session import frame
from synth.languages import _


def page() -> None:
    """The steward's report on the chosen run, and the ways to a better one."""
    frame.head(
        "review",
        _(
            "The result of the run, before anybody else sees it. Comparing with the real rows is for you alone; "
            "trying other fits on the same release is **free**."
        ),
    )
    job = recent.chosen("review")
    if job is None:
        return
    place = runs.release(job)
    card = json.loads((place / "card.json").read_text(encoding="utf-8"))
    st.markdown(
        _("**This run:** {named}, {rows}").format(
            named=frame.escape(recent.named(job)), rows=frame.escape(runs.rows(job))
        )
    )
    for line in runs.warnings(job):
        st.warning(frame.escape(frame.sentence(line)), icon=":material/warning:")
    if frame.leaving():
        pass  # nobody will see what would be drawn; it takes a second
    elif runs.is_several(job):
        comparison.section_across(job, place)
        alternatives.side_by_side(job)
        alternatives.what_if(job, card)
    else:
        prior.section(job, place, card)
        comparison.section(job, place)
        alternatives.side_by_side(job)
        schema = None if runs.is_joined(job) else synth.Schema.load(place / "schema.json")
        alternatives.what_if(job, card, schema)
    recent.table()
    frame.onward("review")


page()
