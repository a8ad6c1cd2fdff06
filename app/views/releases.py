"""What was released, for whoever may use it."""

import streamlit as st

import synth
from app.result import export, releasing
from app.run import recent, runs
from app.session import access, frame
from synth.app_api import jobs, looks
from synth.languages import _, phrase


def page() -> None:
    """Released bundles, newest first."""
    frame.head("releases", _("Synthetic tables that were released here, each with its guarantee."))
    results = [j for j in jobs.listing() if _open(j)]
    if not results:
        st.info(
            _("Nothing was released yet. A steward makes a table, and a reviewer releases it."), icon=":material/info:"
        )
        return
    for i, job in enumerate(results):
        place = runs.release(job)
        about = export.claimed(job, place)
        with st.container(border=True):
            st.markdown(f"**{frame.escape(str(about['dataset']))}**: {frame.escape(recent.named(job))}")
            st.markdown(
                frame.escape(frame.sentence(f"{phrase(about['meaning'])}; {phrase(about['relation_in_words'])}"))
            )
            access.offer(
                _("Download the bundle (.zip)"),
                f"release-{i + 1}.zip",
                f"take_{i}",
                export.packed,
                job,
                place,
                "take_released",
                help=_("Table, description, card, report, release and model."),
            )


def _open(job: jobs.Job) -> bool:
    """Whether the run was released and nothing speaks against it; its files may be gone."""
    try:
        return looks.released(job) is not None and not releasing.barrier(job) and bool(runs.release(job))
    except synth.SynthError:
        return False


page()
