"""Step 4: how the table is made, and what to expect of it before anything is spent."""

from typing import Any

import streamlit as st

import synth
from app.run.forecast import curve, forecast, methods, pairs_alike, timed
from app.run.options import ask
from app.session import charts, frame, words
from app.session.state import Wizard, wizard


def page() -> None:
    """The method, its options, its forecast."""
    frame.head(
        "method",
        "Methods ask the table different questions under the same noise budget. Here you see what error to expect "
        "**before anything is read or spent**.",
    )
    if not frame.needs("method", "Finish the description first: every column needs somebody to vouch.", "describe"):
        return
    w = wizard()
    fits = _choice(w)
    blocked = _expected(w) if fits else "Choose a method that fits first."
    frame.onward("method", blocked=frame.escape(blocked))


def _choice(w: Wizard) -> bool:
    """The menu of methods; returns whether the chosen one has a guarantee for what is hidden."""
    about = {m["name"]: m for m in methods()}
    names = sorted(about, key=lambda n: n != words.RECOMMENDED)
    if w.method not in names:
        w.method, w.options = names[0], {}
    chosen = st.selectbox(
        "Method", names, index=names.index(w.method), key="method", help=words.METHOD_HELP,
        format_func=lambda n: f"{n}{' (recommended)' * (n == words.RECOMMENDED)}: {words.method(about[n])}",
    )  # fmt: skip
    if chosen != w.method:
        w.method, w.options = chosen, {}
    found = about[w.method]
    st.markdown(f"**{frame.escape(w.method)}**: {frame.escape(words.method(found))}.",
                help=f"In the terms of the field: {found['summary']}.")  # fmt: skip
    if w.method == words.RECOMMENDED:
        st.caption(words.REASON)
    else:
        st.caption(f"Recommended is {words.RECOMMENDED}: {words.REASON[:1].lower()}{words.REASON[1:]}")
    if w.relation not in found["relations"]:
        st.error(f"{w.method} gives no guarantee for “{words.RELATIONS[w.relation]}”. Choose another method here, or "
                 "change what is hidden on the page Budget.", icon=":material/block:")  # fmt: skip
        return False
    if found["options"]:
        with st.expander("Options of the method"):
            w.options = ask(found["options"], w.options, key=f"option_{w.method}")
    return True


def _expected(w: Wizard) -> str:
    """The forecast as figures and curve; returns why there is no way on."""
    st.subheader("What to expect", anchor=False)
    try:
        with st.spinner("Working it out"):
            plan = forecast(w)
            lines = curve(w, plan) if plan is not None and plan.error_one_way > 0 else []
    except synth.SynthError as error:
        frame.tell(error)
        return "First correct what the red box says."
    if plan is None:
        st.info("This method takes too long to forecast here. It can be run all the same; nothing was spent.",
                icon=":material/hourglass_empty:")  # fmt: skip
        return ""
    _figures(plan)
    if len(lines) > 1:
        alike = pairs_alike(lines)
        st.altair_chart(charts.curve(lines, alike[0] if alike else [], w.epsilon), key="curve")
        st.caption(_in_words(lines, plan, alike))
    st.caption(
        "From a made-up table of the size you gave, without looking at yours: what noise alone does to the counts. The "
        "synthetic table usually does better, since a model fitted to all counts averages most of the noise out: "
        "with mixture, pairs came out 1.4 to 12 times closer on four public tables."
    )
    return ""


def _figures(plan: Any) -> None:
    many = [s for s in plan.steps if s.cells > 1] or plan.steps  # the row count alone may be noisier, and harmlessly so
    noise = words.count(max(s.sigma_most for s in many))
    one = f"{100 * plan.error_one_way:.2g} %" if plan.error_one_way else "-"
    two = f"{100 * plan.error_two_way:.2g} %" if plan.error_two_way is not None else "-"
    with st.container(horizontal=True):
        for label, value, explained in (
            (
                "Columns, at most",
                one,
                "Share of rows that noise alone misplaces in a column's counts, on average, at most.",
            ),
            (
                "Pairs, at most",
                two,
                "The same for the tables of two columns that this run counts, before a model averages it out. They are "
                "finer the larger epsilon is, so this figure need not fall; the curve is for tables of one size.",
            ),
            ("Noise, up to", noise, "Each count of rows (or sum) is first changed by about this much."),
            (
                "Time",
                f"{'' if timed(plan.method) else '> '}{words.short_seconds(plan.seconds)}",
                "On this computer. A forecast, no promise. “>”: reading and counting alone; the training is not in it.",
            ),
            ("Memory", f"{plan.peak_mib / 1024:.1f} GiB", "Of the process that makes the table, at its peak."),
        ):
            st.metric(label, value, border=True, width=150, help=explained)


def _in_words(lines: list[Any], plan: Any, alike: tuple[list[float], float] | None) -> str:
    """The curve for whoever cannot see it."""
    first, last = lines[0], lines[-1]
    return (
        f"Expected error of single columns: {100 * first.error_one_way:.2g} % at epsilon {first.epsilon:g}, "
        f"{100 * plan.error_one_way:.2g} % at {plan.epsilon:g}, {100 * last.error_one_way:.2g} % at {last.epsilon:g}. "
    ) + (
        "" if alike is None else
        f"Pairs, told in tables of about {alike[1]:.0f} cells throughout: {100 * alike[0][0]:.2g} % to "
        f"{100 * alike[0][-1]:.2g} %. A larger epsilon counts them in finer tables: this run in about "
        f"{plan.cells_two_way or 0:.0f} cells each, whose own error is the figure above."
    )  # fmt: skip


page()
