"""What each named use gets at the chosen epsilon, and the least epsilon for an error that somebody wants."""

from math import exp, log
from typing import Any

import streamlit as st

import synth
from app.run import background, forecast
from app.session import frame
from app.session.state import Wizard, facts, wizard
from synth.languages import _

WANTED = 5.0  # percent of the rows in the wrong place


def later(place: Any) -> None:
    """What needs a forecast, at a place above: drawn last, since it takes seconds."""
    w = wizard()
    known = facts(w)[0]
    if known is None or not known.uses or not w.rows:
        return
    try:
        wanted = forecast.begun(w, drawn=True)
    except synth.SynthError as error:
        with place:
            frame.tell(error)
        return
    background.then(wanted, place, lambda: _shown(w), about=_("Working out what each use gets"))


def _shown(w: Wizard) -> None:
    plan = forecast.forecast(w)
    if plan is None or not plan.uses:
        st.info(_("The forecast takes too long here. The run can be made all the same."), icon=":material/info:")
        return
    st.subheader(_("What the named uses get"), anchor=False)
    for use in plan.uses:
        st.markdown(f"- {frame.escape(in_words(use))}")
    most = st.number_input(
        _("Rows in the wrong place at most (percent)"),
        min_value=0.1,
        max_value=90.0,
        value=WANTED,
        key="wanted_error",
        help=_(
            "Of each use it says at about which epsilon noise does no more. More epsilon also counts in finer tables."
        ),
    )
    plans = forecast.curve(w, plan)
    for i, use in enumerate(plan.uses):
        least = least_epsilon([(p.epsilon, p.uses[i].error) for p in plans], most / 100)
        if least is None:
            st.caption(_("{use}: no epsilon up to 10 is enough").format(use=frame.escape(use.use)))
            continue
        cells = next((p.uses[i].cells for p in plans if p.epsilon >= least), use.cells)
        st.caption(
            _("{use}: epsilon {least:.2g} is enough, for tables of about {cells:,.0f} cells").format(
                use=frame.escape(use.use), least=least, cells=cells
            )
        )


def in_words(use: Any) -> str:
    """A use's forecast as a sentence."""
    if use.faint:
        return _(
            "{use}: not counted, since noise leaves nothing of one of its columns; choose a larger epsilon"
        ).format(use=use.use)
    if use.error is None:
        return _("{use}: too many tables to count them all; those that are missed most are counted").format(use=use.use)
    return _(
        "{use}: up to {error:.2g} % of the rows in the wrong place by noise; a second real sample {second:.2g} %"
    ).format(use=use.use, error=100 * use.error, second=100 * use.second)


def least_epsilon(points: list[tuple[float, float | None]], error: float) -> float | None:
    """The least epsilon at which an error is reached, between the points by logarithms; None where none does.

    >>> least_epsilon([(0.1, 0.4), (1.0, 0.04), (10.0, 0.004)], 0.04)
    1.0
    >>> least_epsilon([(0.1, None), (1.0, 0.2)], 0.04) is None
    True
    """
    known = sorted((e, v) for e, v in points if v)
    enough = next((i for i, (_e, v) in enumerate(known) if v <= error), None)
    if enough is None:
        return None
    if enough == 0:
        return known[0][0]
    (a, u), (b, v) = known[enough - 1], known[enough]
    part = (log(u) - log(error)) / (log(u) - log(v))
    return round(exp(log(a) + part * (log(b) - log(a))), 6)
