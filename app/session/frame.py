"""What every page shares: its head with the steps, its way on, and how faults are told."""

import re
from collections.abc import Callable

import streamlit as st

import synth
from app.session import access, glossary, labels, tour
from app.session.state import STEPS, TITLES, ready, view, wizard
from synth.app_api import roles
from synth.languages import _, phrase

PATH = re.compile(r"(?<![\w:/.])/(?:[^/\s:;,'\"()]+/)+")  # the folders of a server's file


def head(name: str, lead: str) -> None:
    """Title, and one sentence on what the page is for.

    Every page begins here, so that none is drawn for somebody who may not open it. Errors: UsageError.
    """
    access.allow(f"open_{name}")
    st.title(TITLES[name], anchor=False)
    st.markdown(lead)
    glossary.help_here(name)
    tour.hint(name)
    w = wizard()
    if w.notice:
        if w.failed:
            st.warning(w.notice, icon=":material/warning:")
        else:
            st.success(w.notice, icon=":material/check_circle:")
        w.notice, w.failed = "", False


def needs(name: str, what: str, back: str) -> bool:
    """Whether the page can be used; otherwise says what to do first, with the way there."""
    if ready(wizard())[name]:
        return True
    st.info(what, icon=":material/info:")
    if st.button(_("Go to {titles}").format(titles=TITLES[back]), type="primary", key=f"needs_{back}"):
        st.switch_page(view(back))
    return False


def onward(name: str, *, blocked: str = "", label: str = "", first: Callable[[], None] | None = None) -> None:
    """Buttons to the steps before and after, or why there is no way on yet. ``first``: done on the way on."""
    place = STEPS.index(name)
    following = STEPS[place + 1] if place + 1 < len(STEPS) else ""
    st.divider()
    if blocked and following:
        st.caption(_("Next: {titles}. {blocked}").format(titles=TITLES[following], blocked=blocked))
    with st.container(horizontal=True):
        if place and st.button(
            _("Back: {titles}").format(titles=TITLES[STEPS[place - 1]]), key="back", icon=":material/arrow_back:"
        ):
            st.switch_page(view(STEPS[place - 1]))
        if (
            following
            and not blocked
            and st.button(
                _("Next: {titles}{label}").format(titles=TITLES[following], label=label),
                type="primary",
                key="onward",
                icon=":material/arrow_forward:",
            )
        ):
            if first is not None:
                first()
            wizard().furthest = max(wizard().furthest, place + 1)
            st.switch_page(view(following))


def fold(label: str, key: str, draw: Callable[[], None], *, expanded: bool = False) -> None:
    """A panel whose content is drawn once it is open: no page waits for what nobody looks at."""
    box = st.expander(label, expanded=expanded, on_change="rerun", key=key)
    if box.open:
        with box:
            draw()


def leaving() -> bool:
    """Whether a button of ``onward`` was just pressed: what a page draws before it is not looked at any more."""
    return bool(st.session_state.get("onward") or st.session_state.get("back"))


def tell(error: Exception) -> None:
    """A fault in one line, without the command line's spelling or our own folders."""
    st.error(escape(message_of(error)), icon=":material/error:")


def message_of(error: Exception) -> str:
    """The words of ``tell``. A foreign error's text might quote a cell, so only its kind is named."""
    if not isinstance(error, synth.SynthError):
        return _(
            "Internal error ({name}). Nothing you entered is lost; go back one step and try again, and "
            "report it if it stays."
        ).format(name=type(error).__name__)
    w, message = wizard(), labels.plain(str(error))
    if w.table is not None:
        message = message.replace(str(w.table), w.label)
    return sentence(message)


def sentence(message: str) -> str:
    """A message with a capital, unless it begins with a file's name; among several people without folders.

    >>> sentence("column x: swap them"), sentence("a.csv: empty")
    ('Column x: swap them', 'a.csv: empty')
    """
    message = phrase(message)
    message = message if roles.place() is None else PATH.sub("", message)
    first = message.split(" ", 1)[0]
    return message if "." in first else message[:1].upper() + message[1:]


def escape(text: str) -> str:
    """Text as it is, where Markdown would read marks into it.

    >>> escape("a_b*c")
    'a\\\\_b\\\\*c'
    """
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#$~|:" else c for c in text)
