"""What the recommended method will reach: a range, the curve that it is a point of, and what would help."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import streamlit as st

import synth
from app.session import access, charts, frame, words
from app.session.state import Wizard
from app.session.state import facts as facts_of
from synth import app_api
from synth.languages import _, phrase

CURVE = (0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)


ORIGIN = (
    "On each of them at least 9 of 10 runs lay in the range that the other tables gave. Only the number of rows you "
    "stated, the columns and their values enter; your table is not read."
)


def section(w: Wizard) -> Callable[[], None]:
    """Figures and advice, at once: they rest on public facts and constants of public tables alone. Returns what draws
    the curve below them, which the way on need not wait for."""
    access.allow("forecast")
    facts, problem = facts_of(w)
    if facts is None:
        raise synth.InputError(problem)
    asked: dict[str, Any] = {"rows": w.rows, "delta": w.delta, "relation": w.relation}
    result = app_api.expected(facts, epsilons=sorted({*CURVE, w.epsilon}), **asked)
    here = next(f for f in result if f.epsilon == w.epsilon)
    _figures(here)
    st.info(
        frame.escape(phrase(app_api.expected_advice(facts, epsilon=w.epsilon, **asked))), icon=":material/lightbulb:"
    )
    place = st.container()

    def draw() -> None:
        place.vega_lite_chart(_curve(tuple(result), here), key="curve")
        place.caption(_origin(here, changed=bool(w.options)), help=_(ORIGIN))

    return draw


@lru_cache(maxsize=64)
def _curve(result: tuple[Any, ...], here: Any) -> dict[str, Any]:
    """The curve as it is sent: making it takes longer than the rest of the page."""
    return dict(charts.reach(list(result), here).to_dict())


def _figures(here: Any) -> None:
    ranges = [(_("Single columns"), here.columns), (_("Pairs of columns"), here.pairs)]
    with st.container(horizontal=True):
        for label, reported in ranges:
            if reported is not None:
                st.metric(
                    label,
                    f"{words.share(reported.likely)}",
                    border=True,
                    width=250,
                    delta=phrase(reported.in_words),
                    delta_color="off",
                    delta_arrow="off",
                    help=_(
                        "Of 100 rows, how many would have to change for the synthetic table to match the real "
                        "one, on average over the tables. Small print: where 9 of 10 runs lie. It is what the "
                        "page Review will show."
                    ),
                )


def _origin(here: Any, *, changed: bool) -> str:
    about = app_api.expected_from()
    said = _("Measured, not promised: {runs} runs on {number} public tables.").format(
        runs=about["runs"], number=len(about["tables"])
    )
    if here.beyond:
        said += _(" Your run lies outside them: it has {beyond}.").format(beyond=here.beyond)
    if changed:
        said += _(" It is that of the usual options; you changed some.")
    return said
