"""The whole way on public rows, before anything is spent: what the result would show, each marked."""

from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

import synth
from app.result import comparison
from app.run import prior
from app.session import access, charts, frame, state, words, workers
from app.session.state import lacks, ready, view, wizard
from synth.languages import _

BANNER = "**Preview: made of public rows only. It is no release, and nothing was spent.**"
MARK = "preview: public rows only"
PAGES = {"comparison": "comparison.html", "report": "report.html", "card": "card.html"}


def page() -> None:
    """The button that makes it, and what it made."""
    frame.head(
        "preview",
        _(
            "What a run with your choices would give, made of the public table in place of yours: the same steps, "
            "charts and pages. **Nothing is read of your table, and nothing is spent.**"
        ),
    )
    w = wizard()
    if state.together(w) or not w.priors:
        st.info(_("A preview needs something public like your table: name it on the page The table."))
        if w.table is not None and st.button(_("Go to Describe"), key="needs_describe", type="primary"):
            st.switch_page(view("table"))
        return
    if not ready(w)["privacy"]:
        frame.needs("privacy", *lacks(w))
        return
    st.warning(_(BANNER), icon=":material/preview:")
    st.caption(
        _("{method}, epsilon {epsilon:g}, delta {delta}, {rows:,} rows drawn from: {names}").format(
            method=frame.escape(w.method),
            epsilon=w.epsilon,
            delta=words.small(w.delta),
            rows=w.rows,
            names=frame.escape(", ".join(one["name"] for one in w.priors)),
        )
    )
    if reason := prior.barred(w):
        st.error(frame.escape(reason), icon=":material/block:")
        return
    choices = f"{w.place} {w.edition} {w.epsilon} {w.delta} {w.relation} {w.method} {w.options} {w.rows}"
    st.button(
        _("Make the preview"),
        key="preview",
        type="primary",
        icon=":material/play_arrow:",
        on_click=_remember,
        args=(choices,),
        help=_("It takes about as long as the run itself."),
    )
    if st.session_state.get("previewed") == choices:
        wanted = prior.preview(w)
        workers.then(
            [wanted], st.container(), lambda: _shown(*wanted.result()), about=_("Making the preview on public rows")
        )
    st.divider()
    if st.button(_("Back: Budget"), key="back_budget", icon=":material/arrow_back:"):
        st.switch_page(view("privacy"))


def _remember(choices: str) -> None:
    st.session_state["previewed"] = choices


def _shown(result: Any, out: str) -> None:
    """What the comparison would show, and the pages."""
    st.markdown(
        _("Rows in the wrong place: single columns **{columns:.2g} %**, pairs **{pairs:.2g} %** on average.").format(
            columns=100 * result.one_way_mean, pairs=100 * result.pairs_mean
        )
    )
    st.caption(_("“Real” below are the public rows that stand in for your table."))
    with charts.marked(_(MARK)):
        names = [_("Columns"), _("Pairs"), _("First rows")]
        first, second, third = st.tabs(names, key="previewed_part", on_change="rerun")
        with first:
            if first.open is not False:
                comparison.grid(result.worst_first(), "previewed")
        with second:
            if second.open is not False:
                comparison.pairs(result)
        with third:
            if third.open is not False:
                rows = Path(out) / "release" / "synthetic.csv"
                st.dataframe(pd.read_csv(rows, dtype=str, keep_default_na=False, nrows=50), hide_index=True)
    with st.container(horizontal=True):
        labels = {"comparison": _("Comparison"), "report": _("Report"), "card": _("Card")}
        for key, name in PAGES.items():
            access.offer(
                labels[key],
                f"preview-{name}",
                f"get_preview_{key}",
                _bytes,
                Path(out) / name,
                help=_("The page as a run would write it, marked as a preview."),
            )


def _bytes(path: Path) -> bytes:
    access.allow("preview")
    if not path.is_file():
        raise synth.UsageError(_("the preview is gone; make it anew"))
    return path.read_bytes()


page()
