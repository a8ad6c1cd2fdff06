"""The language of a visitor's pages: that of the browser, or the one chosen in the sidebar."""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from synth import languages as language
from synth.languages import _

KEY = "language"


def here() -> str:
    """The language of whoever looks at this page; English outside of any page."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return "en"
    return str(st.session_state.get(KEY) or language.nearest(st.context.locale or "en"))


def choice() -> None:
    """The menu of languages, where there is more than English."""
    there = language.available()
    if len(there) > 1:
        now = here()
        codes = sorted(there, key=lambda code: code != now)
        picked = st.selectbox(
            "Language · Sprache",
            codes,
            format_func=there.__getitem__,
            key="language_menu",
            help=_("The language of these pages."),
        )
        if picked != now:
            st.session_state[KEY] = picked
            st.rerun()


language.readers(here)
