"""The pages, their order, and the one place where a fault becomes a sentence."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.run import forecast, runs
from app.session import access, frame, workers
from app.session.state import EARLIER, RESUMED, STEPS, TITLES, ready, view, wizard
from app.table import stored
from synth.app_api import Visitor, pages
from synth.languages import _, current

ICON, LOGO = (str(Path(__file__).with_name(n)) for n in ("icon.png", "logo.svg"))
TO_THE_TOP = Path(__file__).with_name("to_the_top.html")
HELP_BY_KEY = Path(__file__).with_name("help_by_key.html")
STYLE = Path(__file__).with_name("style.css")
OPEN, LOCKED = ":material/radio_button_unchecked:", ":material/lock:"
LATER = (
    "pandas",
    "pyarrow.pandas_compat",
    "altair",
    "synth.release.card.card",
    "synth.privacy.ledger.ledger",
    "synth.sources.named_databases",
    "synth.pipeline.retention",
    "synth.pipeline.reached",
)
DRAWN = "page_drawn"
AT_EASE = 1.5  # seconds in which the first page is drawn, before anything is loaded for later ones
ICONS = {
    "preview": ":material/preview:",
    "series": ":material/timeline:",
    "ledger": ":material/receipt_long:",
    "approve": ":material/approval:",
    "releases": ":material/inventory_2:",
    "questions": ":material/quiz:",
}


def main() -> None:
    """One run of the script: shows the page that was asked for, to somebody who may see it."""
    _leave()
    st.set_page_config(page_title="Facsimile", page_icon=ICON, layout="wide")
    st.html(STYLE)
    st.logo(LOGO, icon_image=ICON, size="large")
    try:
        who = access.visitor()
        if who is None:
            access.door()
            return
        _prepare()
        _page(who)
    except Exception as error:
        frame.tell(error)


def _leave() -> None:
    """Forgets what the page before drew again by itself: asked for by a browser behind a slow line that has not heard
    of the new page yet, it would be run as the page before, and the browser would then empty the new one."""
    context: Any = get_script_run_ctx()
    if st.session_state.get(DRAWN) != context.page_script_hash:
        st.session_state[DRAWN] = context.page_script_hash
        context.fragment_storage.clear()


@st.cache_resource(show_spinner=False)
def _prepare() -> None:
    """Loads beside the server, once for the process, what later pages need: it would cost the first visitor seconds."""
    workers.soon(_load, seconds=AT_EASE)


def _load() -> None:
    workers.warm()
    workers.load(LATER)
    forecast.methods()


def _page(who: Visitor) -> None:
    w, open_pages = wizard(), pages(who.role)
    stored.forget_others(w)
    runs.come_back()
    reached = ready(w)
    icons = {s: OPEN if reached[s] else LOCKED for s in STEPS}
    steps = [
        st.Page(view(s), title=f"{i}. {TITLES[s]}", url_path=s, default=s == STEPS[0], icon=icons[s])
        for i, s in enumerate(STEPS, 1)
        if s in open_pages
    ]
    others = [
        st.Page(view(s), title=TITLES[s], icon=ICONS[s], url_path=s, default=not steps and s == open_pages[0])
        for s in open_pages
        if s not in STEPS
    ]
    unlisted = {s: s for s in (*STEPS, *ICONS) if s not in open_pages} | EARLIER
    hidden = [
        st.Page(partial(_leads, s, who), title=TITLES[s], url_path=at, visibility="hidden")
        for at, s in unlisted.items()
    ]
    page = st.navigation([*steps, *others, *hidden])  # in no sections: Streamlit's lists of these are not lists
    name = page.url_path or open_pages[0]
    w.left_at = name if name in RESUMED else w.left_at
    opened = name != w.page
    if opened:
        w.page = name
        w.edition += 1  # the grid's edits are in the state by now; it starts anew from there
    with st.sidebar:
        if steps:
            of_run = runs.label(w.job) if name == "result" else ""
            label = of_run or w.label or runs.label(w.job)
            st.caption(_("Table: {label}").format(label=frame.escape(label)) if label else _("No table yet"))
        access.sidebar(who)
        frame.language_choice()
        if opened:
            _scripts(w.edition)
    try:
        page.run()
        stored.remember(w)
    except Exception as error:
        frame.tell(error)


def _leads(name: str, who: Visitor) -> None:
    """What an address of earlier pages leads to; to somebody whose role has none of the page it says so."""
    if name in pages(who.role):
        st.switch_page(view(name))
    st.title(TITLES[name], anchor=False)
    mine = ", ".join(TITLES[s] for s in pages(who.role))
    said = _(
        "The role {role} has no page {titles}. It has: {mine}. Whoever keeps the file of roles of this "
        "installation can give you another."
    )
    st.info(said.format(role=who.role, titles=TITLES[name], mine=mine), icon=":material/lock:")


def _scripts(edition: int) -> None:
    """What the browser does on a page that was just opened; below all else, since each leaves an empty line."""
    # another text on each page: one that stood there before is not run again by the browser
    limit = _("up to {size} MB a file").format(size=st.get_option("server.maxUploadSize"))
    page = TO_THE_TOP.read_text(encoding="utf-8").replace("PAGE", json.dumps([current(), _("Upload"), limit]))
    st.html(f"{page}<!-- {edition} -->", unsafe_allow_javascript=True)
    st.html(HELP_BY_KEY, unsafe_allow_javascript=True)
