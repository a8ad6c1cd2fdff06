"""The whole way on public rows, before anything is spent: what the result would show, each marked."""

from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.result import comparison, more
from app.run import prior
from app.session import access, charts, frame, state, words, workers
from app.session.state import TITLES, lacks, ready, view, wizard
from synth.languages import _

BANNER = "**Preview: made of public rows only. It is no release, and nothing was spent.**"
MARK = "preview: public rows only"


def page() -> None:
    """The button that makes it, and what it made."""
    said = _(
        "What a run with your choices would give, made of the public table in place of yours: the same steps, "
        "charts and pages. **Nothing is read of your table, and nothing is spent.**"
    )
    frame.head("preview", said)
    w = wizard()
    if state.together(w) or not w.priors:
        frame.needs(_("A preview needs something public like your table: name it on the page The table."), "table")
        return
    if not ready(w)["privacy"]:
        frame.needs(*lacks(w))
        return
    st.warning(_(BANNER), icon=":material/preview:")
    said, names = _("{method}, epsilon {epsilon:g}, delta {delta}, {rows:,} rows drawn from: {names}"), prior.line(w)
    told = {"method": frame.escape(w.method), "epsilon": w.epsilon, "delta": words.small(w.delta)}
    st.caption(said.format(rows=w.rows, names=names, **told))
    if reason := prior.barred(w):
        st.error(frame.escape(reason), icon=":material/block:")
        return
    choices = f"{w.place} {w.edition} {w.epsilon} {w.delta} {w.relation} {w.method} {w.options} {w.rows}"
    said = _("It takes about as long as the run itself.")
    if st.button(_("Make the preview"), key="preview", type="primary", icon=":material/play_arrow:", help=said):
        st.session_state["previewed"] = choices
    if st.session_state.get("previewed") == choices:
        wanted = prior.preview(w)
        said = _("Making the preview on public rows")
        workers.then([wanted], st.container(), lambda: _shown(*wanted.result()), about=said)
    st.divider()
    back = _("Back: {titles}").format(titles=TITLES["privacy"])
    if st.button(back, key="back_budget", icon=":material/arrow_back:"):
        st.switch_page(view("privacy"))


def _shown(result: Any, out: str) -> None:
    """What the comparison would show, and the pages."""
    said = _("Rows that would have to change: single columns **{columns:.2g} %**, pairs **{pairs:.2g} %** on average.")
    st.markdown(said.format(columns=100 * result.one_way_mean, pairs=100 * result.pairs_mean))
    st.caption(_("“Real” below are the public rows that stand in for your table."))
    with charts.marked(_(MARK)):
        parts = {
            _("Columns"): lambda: comparison.grid(result.worst_first(), "previewed"),
            _("Pairs"): lambda: comparison.pairs(result),
            _("First rows"): lambda: more.first_rows(Path(out) / "release"),
        }
        frame.tabs(parts, "previewed_part")
    with st.container(horizontal=True):
        said = _("The page as a run would write it, marked as a preview.")
        for name, label in {"comparison": _("Comparison"), "report": _("Report"), "card": _("Card")}.items():
            file = Path(out) / f"{name}.html"
            access.offer(label, f"preview-{file.name}", f"get_preview_{name}", _bytes, file, help=said)


def _bytes(path: Path) -> bytes:
    access.allow("preview")
    if not path.is_file():
        raise synth.UsageError(_("the preview is gone; make it anew"))
    return path.read_bytes()


page()
