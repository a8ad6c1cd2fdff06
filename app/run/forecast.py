"""What a run would cost and give, before anything is spent: noise, time, what is reached, what each use gets."""

from collections.abc import Callable
from concurrent.futures import Future
from functools import cache, lru_cache
from math import exp, log
from typing import Any

import streamlit as st

from app.run import caps
from app.session import access, charts, frame, state, tasks, words, workers
from app.session.state import Wizard, dataset, facts_of, linked, together
from synth import app_api
from synth.languages import _, current, numerals, prose

PATIENCE = 60.0  # seconds that a forecast may take
ASKED_FIRST = (0.05, 10.0, 1.0, 0.2, 5.0, 0.5, 2.0, 0.1)  # so that a curve cut short still spans it
CURVE_SECONDS = 4.0
ROUND_IT = 2.0  # seconds about a run here: Python starts twice and loads the library, the page looks every second
Plans = Future[list[Any] | None]


@cache
def methods(*, tree: bool = False) -> list[dict[str, Any]]:
    """What ``synth.methods`` lists, learnt beside the server, which needs no torch itself; ``tree``: as there."""
    return list(workers.ask("methods", seconds=120.0, tree=tree))


def begun(w: Wizard, *, method: str | None = None, curve: bool = False) -> Plans:
    """The forecast of the run that the wizard describes, or of its ``curve`` over epsilon, under way or known.

    Public facts only. Errors: UsageError, InputError.
    """
    who, facts = access.allow("forecast").name, state.checked(w)
    asked: dict[str, Any] = {
        "rows": w.rows,
        "delta": w.delta,
        "method": method or state.method(w),
        "relation": w.relation,
        "options": w.options if method in (None, w.method) and not together(w) else {},
        "within": CURVE_SECONDS if curve else PATIENCE,
    }
    epsilons = ASKED_FIRST if curve else (w.epsilon,)
    return workers.begun(who, tasks.forecasts, facts.to_json(), epsilons, seconds=PATIENCE, **asked)


def planned(w: Wizard) -> Any:
    """The plan of that run; None where the method's forecast takes too long. Errors: UsageError, InputError."""
    result = begun(w).result()
    return result[0] if result else None


def timed(method: str) -> bool:
    """Whether a method's forecast of time holds its fit: it does for those that count tables alone, public ones too."""
    reads = next((set(m["reads"]) for m in methods() if m["name"] == method), {"unknown"})
    return reads <= {"counts", "public counts", "search", "nearest"}


def short_by(w: Wizard) -> str:
    """Why the dataset's cap does not allow the run, in words; empty when it does as far as one can see."""
    budget = caps.of(dataset(w))
    said = _("The cap on this dataset leaves {left}, and this run asks for {asked}. Ask for less, or have it raised.")
    if budget.left is not None and w.epsilon > budget.left:
        return said.format(left=numerals(f"epsilon {budget.left:g}"), asked=numerals(f"{w.epsilon:g}"))
    if budget.left_delta is not None and w.delta > budget.left_delta:
        return said.format(left=f"delta {words.small(budget.left_delta)}", asked=words.small(w.delta))
    return ""


def delta_note(w: Wizard) -> str:
    """What is wrong with delta for that many rows; empty when nothing is."""
    if w.delta * w.rows < 1:
        return ""
    return _(
        "Delta {delta} is not below 1 divided by the number of rows ({rows:,}): publishing one whole row at "
        "random would keep such a promise. Choose a smaller delta."
    ).format(delta=words.small(w.delta), rows=w.rows)


FEW = 10_000  # units below which relations between tables are mostly noise
COVERED = 0.5  # an expected error from which on noise covers what is asked


def joined_shown(w: Wizard, plan: Any) -> None:
    """What to expect of rows that belong together: how far noise alone is off, the root first."""
    order = list(dict.fromkeys(a.table for a in plan.steps))
    lines = sorted(plan.steps, key=lambda a: order.index(a.table))
    errors = [_("noise covers it") if a.error >= COVERED else words.at_most(a.error) for a in lines]
    asked = [(a.table, a.purpose, error) for a, error in zip(lines, errors, strict=True)]
    frame.table((_("Table"), _("Asked"), _("Error")), asked)
    said = _(
        "Computed on made-up tables of the size you gave; yours are not read. Where noise covers a relation, "
        "little of it will show, whatever the method."
    )
    about = _(
        "Share of rows that would have to change because of noise alone, at most; the fitted model averages much of "
        "it out. “Noise covers it”: {covered:.0f} % and more."
    )
    st.caption(about.format(covered=100 * COVERED), help=said)
    if w.rows < FEW:
        root = _("persons") if linked(w) else frame.escape(facts_of(w)[0].root)
        said = _(
            "With about {rows:,} rows of {root}, expect hardly any relation between rows or tables; single "
            "columns and numbers of children will be off as the errors above say."
        )
        st.warning(said.format(rows=w.rows, root=root))


STOPS = (0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)


ORIGIN = (
    "On each of them at least 9 of 10 runs lay in the range that the other tables gave. Only the number of rows you "
    "stated, the columns and their values enter; your table is not read."
)


def reach(w: Wizard) -> Callable[[], None]:
    """Figures and advice, at once: they rest on public facts and constants of public tables alone. Returns what draws
    the curve below them, which the way on need not wait for."""
    access.allow("forecast")
    facts = state.checked(w)
    asked: dict[str, Any] = {"rows": w.rows, "delta": w.delta, "relation": w.relation}
    result = app_api.expected(facts, epsilons=sorted({*STOPS, w.epsilon}), **asked)
    here = next(f for f in result if f.epsilon == w.epsilon)
    said = _(
        "Of 100 rows, how many would have to change for the synthetic table to match the real one, on average over the "
        "tables. Small print: where 9 of 10 runs lie. It is what the comparison will show."
    )
    card: dict[str, Any] = {"border": True, "width": 250, "delta_color": "off", "delta_arrow": "off", "help": said}
    with st.container(horizontal=True):
        for label, reported in ((_("Single columns"), here.columns), (_("Pairs of columns"), here.pairs)):
            if reported is not None:
                ends = words.between(reported.low, reported.high)
                st.metric(label, words.share(reported.likely), delta=ends, **card)
    advice = app_api.expected_advice(facts, epsilon=w.epsilon, **asked)
    st.info(frame.escape(prose(advice)), icon=":material/lightbulb:")
    about, place = app_api.expected_from(), st.container()
    said = _("Measured, not promised: {runs} runs on {number} public tables.").format(
        runs=about["runs"], number=len(about["tables"])
    )
    if here.beyond:
        said += _(" Your run lies outside them: it has {beyond}.").format(beyond=here.beyond)
    if w.options:
        said += _(" It is that of the usual options; you changed some.")

    def draw() -> None:
        place.vega_lite_chart(_reach_curve(tuple(result), here, current()), key="curve")
        place.caption(said, help=_(ORIGIN))

    return draw


@lru_cache(maxsize=64)
def _reach_curve(result: tuple[Any, ...], here: Any, _language: str) -> dict[str, Any]:
    """The curve as it is sent, in the page's language: making it takes longer than the rest of the page."""
    return dict(charts.in_language(charts.reach(list(result), here)).to_dict())


WANTED = 5.0  # percent of the rows that would have to change


def uses_later(w: Wizard, place: Any) -> None:
    """What each named use gets, at a place above: drawn last, since it takes seconds."""
    known = facts_of(w)[0]
    if known is None or not known.uses or not w.rows:
        return
    with place, frame.told():
        wanted = [begun(w), begun(w, curve=True)]
        workers.then(wanted, place, lambda: _uses_shown(*wanted), about=_("Working out what each use gets"))


def _uses_shown(known: Plans, curve: Plans) -> None:
    plan = (known.result() or [None])[0]
    if plan is None or not plan.uses:
        st.info(_("The forecast takes too long here. The run can be made all the same."))
        return
    st.subheader(_("What the named uses get"), anchor=False)
    for use in plan.uses:
        st.markdown(f"- {frame.escape(use_in_words(use))}")
    label = _("Rows that would have to change, at most (percent)")
    about = _(
        "Of each use it says at about which epsilon noise does no more. More epsilon also counts in finer tables."
    )
    most = st.number_input(label, 0.1, 90.0, WANTED, key="wanted_error", help=about)
    plans = sorted({p.epsilon: p for p in [*(curve.result() or []), plan]}.values(), key=lambda p: p.epsilon)
    for i, use in enumerate(plan.uses):
        least = least_epsilon([(p.epsilon, p.uses[i].error) for p in plans], most / 100)
        said = _("{use}: no epsilon up to 10 is enough").format(use=use.use)
        if least is not None:
            cells = next((p.uses[i].cells for p in plans if p.epsilon >= least), use.cells)
            said = _("{use}: epsilon {least:.2g} is enough, for tables of about {cells:,.0f} cells").format(
                use=use.use, least=least, cells=cells
            )
        st.caption(frame.escape(said))


def use_in_words(use: Any) -> str:
    """A use's forecast as a sentence."""
    if use.faint:
        return _(
            "{use}: not counted, since noise leaves nothing of one of its columns; choose a larger epsilon"
        ).format(use=use.use)
    if use.error is None:
        return _("{use}: too many tables to count them all; those that are missed most are counted").format(use=use.use)
    said = _(
        "{use}: by noise up to {error:.2g} % of the rows would have to change; another sample of real rows: "
        "{second:.2g} %"
    ).format(use=use.use, error=100 * use.error, second=100 * use.second)
    if use.means is None:
        return said
    return said + _("; means off by {off:.2g} standard deviations in groups of equal rows").format(off=use.means)


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
