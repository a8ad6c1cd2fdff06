"""What every page shares: its head, help, language and tour, its way on, and how faults are told."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

import synth
from app.session import access, words
from app.session.state import STEPS, TITLES, ready, view, wizard
from synth import languages as language
from synth.app_api import roles
from synth.languages import Texts, _, prose

TEN_WORDS = Texts(
    {
        "Synthetic table": "Made-up rows, drawn from a model of the real table. No row describes a person.",
        "Epsilon": "How much the result may depend on any one person. Small protects better and is less exact.",
        "Delta": "A tiny probability with which the promise of epsilon does not hold.",
        "Noise": "Random numbers that are added to every answer of the real table, so that no single person can be "
        "recognised.",
        "Budget": "The epsilon that all runs on the same people may spend together. What is spent does not come back.",
        "Ledger": "The record of all that was spent, line by line. An altered line is always detected.",
        "Description": "What anyone may know of the table without seeing its rows: columns, kinds, possible values.",
        "To confirm": "To say that a fact is public knowledge and does not come from the rows.",
        "Release": "What may leave: noisy answers and everything made from them. It can be shared freely.",
        "Steward only": "Compared with the real rows without noise. It stays with whoever may see those rows.",
    }
)
WHY = Texts(
    table={
        "Which table": "The rows stay on this machine. Nothing about them leaves before you release it.",
        "Who confirms it": "A fact taken from the rows can identify somebody: a largest age of 103 says that somebody "
        "is 103. What you confirm is published without noise.",
        "More than one row a person": "If every row counts as a person, each row is protected, but a person with "
        "many rows is not.",
        "Names and numbers of persons": "An identifier is never learnt: made-up keys stand in their place.",
        "The name of the dataset": "Tables about the same people share one budget. Under two names each person is "
        "exposed twice, and the ledger cannot see it.",
    },
    privacy={
        "Epsilon": "It is the most that anybody can learn about one person, whatever else they know. Doubling "
        "epsilon squares the odds that an attacker can gain.",
        "What is hidden": "“One row in or out” hides even that somebody is in the table; the others hide only what "
        "their row says.",
        "Number of rows": "How many there are can be a secret, for instance of patients with a rare illness. So it is "
        "asked, not read.",
        "The cap": "Every further run adds to what can be learnt about the same people. The cap limits that sum, "
        "also for whoever comes after you.",
        "Method": "The promise to the people is the same for all. Methods differ in what the result keeps: with "
        "columns counted alone, relations are lost, and conclusions from them would be wrong.",
        "Spend": "From here on people's privacy is used up for good: a run that failed, or that you disliked, is "
        "charged too.",
        "Closing": "The run goes on without this window, and without this server; this page shows it again.",
    },
    result={
        "Looking": "What you see here is exact. Passed on, it reveals facts about real people without any noise.",
        "Choosing": "Taking the best of several results by these figures is a question to the real rows that nobody "
        "paid for. Release all of them, or choose by published figures.",
        "Release": "Once it is out it cannot be taken back. The promise holds for ever, whatever is learnt elsewhere "
        "later; a wrong description also stays wrong for ever.",
    },
    ledger={
        "Totals": "What was spent on the same people adds up, whoever spent it. The total is what an attacker who has "
        "all results may learn."
    },
    approve={"Approve": "You answer for the people in the table: look at the sum of epsilon, not at this run alone."},
)


def help_here(name: str) -> None:
    """Why the decisions of this page matter, and the ten words; on every page, in the same place."""
    with st.container(horizontal=True, gap="small"):
        if name in WHY:
            said = _("What it means for the people.")
            with st.popover(_("Why?"), icon=":material/help:", type="tertiary", help=said):
                st.markdown(_paragraphs(WHY[name]))
        with st.popover(_("Ten words"), icon=":material/menu_book:", type="tertiary", help=_("What the words mean.")):
            st.markdown(_paragraphs(TEN_WORDS))
            st.caption(_("F1 in a field shows its help."))


def _paragraphs(words: Mapping[str, str]) -> str:
    """A paragraph for each; one text, since every element is a message of its own on every page."""
    return "\n\n".join(f"**{_(word)}.** {said}" for word, said in words.items())


APP = Path(__file__).resolve().parents[1]
DATA = next(
    (p for p in (APP.parent / "data", APP / "sample") if (p / "town_survey.schema.json").exists()), APP / "sample"
)
SAMPLE, SAMPLE_SCHEMA, SAMPLE_ROWS = DATA / "town_survey.csv.gz", DATA / "town_survey.schema.json", 20_000
HINTS = Texts(
    table="What anyone may know without looking at the rows. The sample comes with its description, so you "
    "need not do anything. Press **Next: Privacy and accuracy**.",
    privacy="Move the slider and read the odds. One click spends and makes the table; it takes some seconds, "
    "and you may close the window meanwhile.",
    result="**Download** is what may be shared. **Show the comparison** puts the synthetic table beside the "
    "real one, for your eyes alone. The page Ledger holds a line for what was charged.",
)


def hint(name: str) -> None:
    """What to do here, for whoever tries the sample table."""
    w = wizard()
    if name not in HINTS or not w.touring or w.table != SAMPLE:
        return
    with st.container(border=True):
        left, right = st.columns([5, 1], vertical_alignment="center")
        said = _(":material/explore: **Tour, {index} of {number}.** {hints}")
        left.markdown(said.format(index=STEPS.index(name) + 1, number=len(HINTS), hints=HINTS[name]))
        if right.button(_("End the tour"), key="end_tour", type="tertiary", help=_("The hints go; the table stays.")):
            w.touring = False
            st.rerun()


LANGUAGE = "language"


def language_here() -> str:
    """The language of whoever looks at this page; English outside of any page."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return "en"
    return str(st.session_state.get(LANGUAGE) or language.nearest(st.context.locale or "en"))


def language_choice() -> None:
    """The menu of languages, where there is more than English."""
    there = language.available()
    if len(there) > 1:
        now = language_here()
        codes = sorted(there, key=lambda code: code != now)
        said = _("The language of these pages.")
        picked = st.selectbox(
            "Language · Sprache", codes, format_func=there.__getitem__, key="language_menu", help=said
        )
        if picked != now:
            st.session_state[LANGUAGE] = picked
            wizard().page = ""  # its scripts say the language
            st.rerun()


language.readers(language_here)


PATH = re.compile(r"(?<![\w:/.])/(?:[^/\s:;,'\"()]+/)+")  # the folders of a server's file


def head(name: str, lead: str) -> None:
    """Title, and one sentence on what the page is for.

    Every page begins here, so that none is drawn for somebody who may not open it. Errors: UsageError.
    """
    access.allow(f"open_{name}")
    st.title(TITLES[name], anchor=False)
    st.markdown(lead)
    help_here(name)
    hint(name)
    w = wizard()
    if w.notice:
        if w.failed:
            st.warning(w.notice, icon=":material/warning:")
        else:
            st.success(w.notice, icon=":material/check_circle:")
        w.notice, w.failed = "", False


def needs(what: str, back: str) -> None:
    """What to do first where a page cannot be used yet, with the way there."""
    st.info(what)
    if st.button(_("Go to {titles}").format(titles=TITLES[back]), type="primary", key=f"needs_{back}"):
        st.switch_page(view(back))


def onward(name: str, *, blocked: str = "", beside: Callable[[], None] | None = None) -> None:
    """A bar that stays in view: the steps before and after, or why there is no way on yet; ``beside``: more buttons."""
    place = STEPS.index(name)
    following = STEPS[place + 1] if place + 1 < len(STEPS) else ""
    with st.container(key="bar"):
        if blocked and following:
            st.caption(_("Next: {titles}. {blocked}").format(titles=TITLES[following], blocked=blocked))
        with st.container(horizontal=True, vertical_alignment="center"):
            if place and st.button(
                _("Back: {titles}").format(titles=TITLES[STEPS[place - 1]]), key="back", icon=":material/arrow_back:"
            ):
                st.switch_page(view(STEPS[place - 1]))
            if beside is not None:
                beside()
            if following and not blocked and ready(wizard())[following]:
                label, icon = _("Next: {titles}").format(titles=TITLES[following]), ":material/arrow_forward:"
                if st.button(label, key="onward", type="primary", icon=icon):
                    st.switch_page(view(following))


Panel = tuple[str, Callable[[], None]]
_row: ContextVar[list[Panel] | None] = ContextVar("row", default=None)


def fold(label: str, key: str, draw: Callable[[], None], *, expanded: bool = False) -> None:
    """A panel whose content is drawn once it is open: no page waits for what nobody looks at."""
    panels = _row.get()
    if panels is not None and not expanded:
        panels.append((label, draw))
        return
    box = st.expander(label, expanded=expanded, on_change="rerun", key=key)
    if box.open:
        with box:
            draw()


def table(heads: Sequence[str], lines: Iterable[Iterable[str]]) -> None:
    """A small table; its cells are no Markdown."""
    cells = [[escape(cell) for cell in line] for line in lines]
    st.table({head: [line[i] for line in cells] for i, head in enumerate(heads)}, hide_index=True)


def held(key: str, usual: Any, options: Sequence[Any]) -> str:
    """The key of a field that is as usual at first, and keeps what was chosen as far as it is offered still."""
    value = st.session_state.get(key, usual)
    left = [n for n in value if n in options] if isinstance(value, list) else value if value in options else usual
    st.session_state[key] = left if isinstance(left, list) or left in options else None
    return key


def tabs(parts: Mapping[str, Callable[[], None]], key: str) -> None:
    """Parts beside each other by their names, of which the one that is open is drawn."""
    for tab, draw in zip(st.tabs(list(parts), key=key, on_change="rerun"), parts.values(), strict=True):
        if tab.open is not False:
            with tab:
                draw()


@contextmanager
def row(key: str) -> Iterator[None]:
    """Panels of which one is open at a time, their names beside each other below what is drawn within."""
    panels: list[Panel] = []
    token = _row.set(panels)
    try:
        yield
    finally:
        _row.reset(token)
    draws = dict(panels)
    if draws:
        picked = st.pills(_("More"), list(draws), key=key, help=_("What is rarely needed: one opens at a time."))
        if picked:
            with st.container(border=True):
                draws[picked]()


def offered_or_typed(
    offered: Sequence[Any], menu: str, typed: str, key: str, *, show: Callable[[Any], str], example: str, about: str
) -> Any:
    """One of what this installation offers, or what the only user types in its place; nothing while neither is there.
    ``menu``, ``typed``: the fields' labels; ``show``: an offered one in words; ``about``: help on what is typed."""
    chosen = None
    if offered:
        said = _("What this installation offers.")
        chosen = st.selectbox(menu, offered, index=None, key=key, format_func=show, placeholder=_("Choose"), help=said)
    if not access.me().alone:
        return chosen
    return st.text_input(typed, key=f"{key}_typed", placeholder=example, help=about).strip() or chosen


@contextmanager
def told(doing: str = "") -> Iterator[None]:
    """What is done within is said meanwhile; a fault of it, any, stands on the page, which goes on behind it."""
    try:
        with st.spinner(doing) if doing else nullcontext():
            yield
    except Exception as error:
        tell(error)


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
    w, message = wizard(), words.plain(error.said)
    if w.table is not None:
        message = message.replace(str(w.table), w.label)
    return sentence(message)


def sentence(message: str) -> str:
    """A message with a capital, unless it begins with a file's name; among several people without folders.

    >>> sentence("column x: swap them"), sentence("a.csv: empty")
    ('Column x: swap them', 'a.csv: empty')
    """
    message = prose(message)
    message = message if roles.place() is None else PATH.sub("", message)
    first = message.split(" ", 1)[0]
    return message if "." in first else message[:1].upper() + message[1:]


def escape(text: str) -> str:
    """Text as it is, where Markdown would read marks into it.

    >>> escape("a_b*c")
    'a\\\\_b\\\\*c'
    """
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#$~|:" else c for c in text)
