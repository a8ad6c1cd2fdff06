"""What prior knowledge is worth at the chosen epsilon, where that is chosen: rehearsed on the public rows alone."""

from math import exp, log
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

import synth
from app.run import background, known
from app.session import frame
from app.session.state import Wizard, together, view, wizard
from synth.languages import _

ORDER = ("without", "beside", "alone")


def section() -> None:
    """The errors with and without, once they are worked out; and the way to a preview."""
    w = wizard()
    if together(w) or not w.priors:
        return
    st.subheader(_("What is publicly known already"), anchor=False)
    if reason := known.barred(w):
        st.warning(frame.escape(reason), icon=":material/block:")
        return
    if not w.rows:
        st.caption(_("State roughly how many rows there are to see what it is worth."))
        return
    if st.button(
        _("Preview on public rows"),
        key="to_preview",
        icon=":material/preview:",
        help=_("The whole way, to the finished pages, on the public table in place of yours. Nothing is spent."),
    ):
        st.switch_page(view("preview"))


def later(place: Any) -> None:
    """What needs a rehearsal, at a place above: drawn last, since it takes seconds."""
    w = wizard()
    try:
        wanted = known.worth(w)
    except synth.SynthError as error:
        with place:
            frame.tell(error)
        return
    if wanted is None:
        return
    background.then(
        [wanted], place, lambda: _shown(w, wanted.result()), about=_("Rehearsing on the public table what it is worth")
    )


def _shown(w: Wizard, result: Any) -> None:
    if not result:
        st.info(_("The rehearsal takes too long here. The run can be made all the same."), icon=":material/info:")
        return
    errors, like = {n: between(result, n, w.epsilon) for n in ORDER}, result[0].like
    what = _("tables of two columns") if result[0].without.pairs is not None else _("single columns")
    st.markdown(
        _(
            "Of {what}, about **{beside:.2g} %** of the rows will be in the wrong place, not **{without:.2g} %**, "
            "if your table is like {like}. The public table alone: {alone:.2g} %."
        ).format(what=what, like=frame.escape(like), **{n: 100 * e for n, e in errors.items()})
    )
    st.altair_chart(chart(errors, what), key="prior_worth")
    st.caption(
        _(
            "Rehearsed on rows drawn from it, with and without it, at a smaller effort than the run's; your table is "
            "not read. If your table is not like it, the noisy answers show that, and it counts for less, down to "
            "nothing."
        )
    )


def between(result: Any, name: str, epsilon: float) -> float:
    """The error at an epsilon between two that were rehearsed, on logarithmic scales; at an end that end's."""
    first, last = result[0], result[-1]
    low, high = (max(getattr(f, name).last, 1e-9) for f in (first, last))
    if first.epsilon == last.epsilon:
        return low
    part = (log(epsilon) - log(first.epsilon)) / (log(last.epsilon) - log(first.epsilon))
    return exp(log(low) + min(1.0, max(0.0, part)) * (log(high) - log(low)))


def chart(errors: dict[str, float], what: str) -> Any:
    """Three bars: without, with, and the public table alone."""
    labels = {"without": _("without it"), "beside": _("with it"), "alone": _("public table alone")}
    rows = pd.DataFrame({"run": [labels[n] for n in ORDER], "error": [errors[n] for n in ORDER]})
    colours = alt.Scale(domain=list(rows["run"]), range=["#8793a6", "#2a9d8f", "#e0b12f"])
    message = "; ".join(f"{r} {100 * e:.2g} %" for r, e in zip(rows["run"], rows["error"], strict=True))
    return (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            x=alt.X("error:Q", title=_("rows in the wrong place"), axis=alt.Axis(format="~%", tickCount=5)),
            y=alt.Y("run:N", title=None, sort=list(rows["run"]), axis=alt.Axis(labelLimit=180)),
            color=alt.Color("run:N", scale=colours, legend=None),
            tooltip=[alt.Tooltip("run:N", title=_("run")), alt.Tooltip("error:Q", title=_("error"), format=".2%")],
        )
        .properties(
            height=190, description=_("Expected error of {what}: {figures}.").format(what=what, figures=message)
        )
    )
