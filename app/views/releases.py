"""What was released, for whoever may use it."""

import streamlit as st

from app.result import export, releasing
from app.run import runs
from app.session import access, frame
from synth.app_api import jobs
from synth.languages import _, prose


def page() -> None:
    """Released bundles, newest first."""
    frame.head("releases", _("Synthetic tables that were released here, each with its guarantee."))
    results = list(jobs.those(releasing.is_open))
    if not results:
        st.info(_("Nothing was released yet. A steward makes a table, and a reviewer releases it."))
        return
    for i, job in enumerate(results):
        place = runs.release(job)
        about = export.claimed(job, place)
        with st.container(border=True):
            st.markdown(f"**{frame.escape(str(about['dataset']))}**: {frame.escape(runs.named(job))}")
            st.markdown(frame.escape(frame.sentence(f"{prose(about['meaning'])}; {prose(about['relation_in_words'])}")))
            said = _("Table, description, card, report, release and model.")
            label = _("Download the bundle (.zip)")
            access.offer(
                label, f"release-{i + 1}.zip", f"take_{i}", export.packed, job, place, "take_released", help=said
            )


page()
