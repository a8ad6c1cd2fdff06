"""Step 4: how the table is made, and what to expect of it before anything is spent."""

from collections.abc import Callable
from typing import Any

import streamlit as st

import synth
from app.run import background, forecast
from app.run.forecast import begun, curve, methods, pairs_alike, planned, seconds, timed
from app.run.options import ask
from app.session import charts, frame, words
from app.session.state import Wizard, facts_of, lacks, together, wizard
from synth import app_api
from synth.languages import _, phrase

MOST = 2000  # categories of a column that is shown one-hot


def page() -> None:
    """The method, its options, its forecast."""
    frame.head(
        "method",
        _("What error to expect. **Nothing is read or spent yet.**"),
    )
    if not frame.needs("method", *lacks(wizard())):
        return
    w = wizard()
    joined = together(w)
    fits = joined or _choice(w)
    blocked, draw = _expected(w) if fits else (_("Choose a method that fits first."), _nothing)
    place = st.container()
    frame.onward("method", blocked=frame.escape(blocked))
    draw()
    if fits and not blocked:
        drawn = w.method != words.RECOMMENDED and not joined
        background.then(
            begun(w, drawn=drawn),
            place,
            lambda: forecast.joined_shown(w) if joined else _costs(w, not drawn),
            about=_("Noise, time and memory are being worked out"),
        )


def _choice(w: Wizard) -> bool:
    """The menu of methods; returns whether the chosen one has a guarantee for what is hidden."""
    about = {m["name"]: m for m in methods()}
    names = sorted(about, key=lambda n: n != words.RECOMMENDED)
    if w.method not in names:
        w.method, w.options = names[0], {}
    frame.fold(
        _("All {number} methods side by side").format(number=len(names)),
        "methods",
        lambda: _side_by_side(w, [about[n] for n in names]),
    )
    chosen = st.selectbox(
        _("Method"),
        names,
        index=names.index(w.method),
        key="method",
        help=_(words.METHOD_HELP),
        format_func=lambda n: f"{n}{_(' (recommended)') * (n == words.RECOMMENDED)}: {words.method(about[n])}",
    )
    if chosen != w.method:
        w.method, w.options = chosen, {}
    result = about[w.method]
    terms = _("In the terms of the field: {summary}.").format(summary=result["summary"])
    if w.method == words.RECOMMENDED:
        st.caption(_(words.REASON), help=terms)
    else:
        st.caption(
            _("Recommended is {recommended}: {lower}{reason}").format(
                recommended=words.RECOMMENDED, lower=words.REASON[:1].lower(), reason=words.REASON[1:]
            ),
            help=terms,
        )
    _keeps(w)
    if w.relation not in result["relations"]:
        st.error(
            _(
                "{method} gives no guarantee for “{relations}”. Choose another method here, or change what is "
                "hidden on the page Budget."
            ).format(method=w.method, relations=words.RELATIONS[w.relation]),
            icon=":material/block:",
        )
        return False
    if result["options"]:
        frame.fold(_("Options of the method"), "options", lambda: _options(w, result["options"]))
    _encoded(w)
    return True


def _side_by_side(w: Wizard, about: list[dict[str, Any]]) -> None:
    """What each method does, what it retention on public tables, and whether it has a promise for what is hidden."""
    asked: dict[str, Any] = {"epsilon": w.epsilon, "rows": w.rows}
    held = [app_api.retention(m["name"], **asked) for m in about]
    st.dataframe(
        {
            _("Method"): [m["name"] for m in about],
            _("What it does"): [words.method(m) for m in about],
            _("Keeps, as measured"): [_("not measured") if h is None else phrase(h.in_words) for h in held],
            _("Time"): [_("forecast below") if timed(m["name"]) else _("trained: minutes") for m in about],
            _("For what is hidden"): [_("yes") if w.relation in m["relations"] else _("no promise") for m in about],
        },
        hide_index=True,
        height=420,
    )


def _options(w: Wizard, defaults: dict[str, Any]) -> None:
    w.options = ask(defaults, w.options, key=f"option_{w.method}")


def _keeps(w: Wizard) -> None:
    """What the method was measured to keep at this epsilon; a warning where that is nothing between columns."""
    asked: dict[str, Any] = {"epsilon": w.epsilon, "rows": w.rows}
    held, warned = app_api.retention(w.method, **asked), app_api.retention_warning(w.method, **asked)
    if warned:
        st.warning(frame.escape(frame.sentence(f"{warned}.")), icon=":material/link_off:")
    elif held:
        st.caption(
            _("On public tables, at epsilon {epsilon:g}, it kept: {in_words}.").format(
                epsilon=held.epsilon, in_words=phrase(held.in_words)
            ),
            help=_(
                "Measured with its default options, where rows and epsilon together were no more than yours. "
                "Pairs: nearer than independent columns by a tenth at least. Target: a model trained on the "
                "synthetic rows learns at least half of what it learns of real ones."
            ),
        )


def _encoded(w: Wizard) -> None:
    """Rows as vectors: bounds of norm and the sensitivity, on rows made up from the schema."""
    facts, _other = facts_of(w)
    if facts is None or not facts.measured():
        return
    frame.fold(_("Rows as vectors"), "encoded_open", lambda: _vectors(facts, w.relation))


def _vectors(facts: synth.Schema, relation: str) -> None:
    wide = any(c.cells > MOST for c in facts.measured().values() if not c.is_numeric)
    reported = app_api.encode(facts, relation=relation, form="binned" if wide else "scaled")
    st.caption(
        _(
            "Made-up rows: your table is not read. Methods that add up rows as vectors bound their length by 1, "
            "so that one person moves a sum by no more than the sensitivity."
        )
    )
    with st.container(horizontal=True):
        for label, value in (
            (_("Coordinates"), f"{reported.vectors.shape[1]:,}"),
            (_("Length, at most"), f"{reported.norm:.3f}"),
            (_("Sensitivity"), f"{reported.sensitivity:.3f}"),
        ):
            st.metric(label, value, border=True, width=175)
    made = [t or "(missing)" for t in reported.texts[0]]
    st.dataframe(
        [
            {
                "column": c.name,
                "encoded as": c.form,
                "coordinates": c.width,
                "length, at most": c.norm,
                "a made-up value": m,
            }
            for c, m in zip(reported.columns, made, strict=True)
        ],
        hide_index=True,
        key="encoded",
    )


def _expected(w: Wizard) -> tuple[str, Callable[[], None]]:
    """What a run will reach; returns why there is no way on, and what draws the rest."""
    known, draw = w.method == words.RECOMMENDED, _nothing
    reaches = _("Rows in the wrong place, as expected") if known else _("What to expect")
    forecast.joined_head(w) if together(w) else st.subheader(reaches, anchor=False)
    try:
        if known and not together(w):
            draw = forecast.reach(w)
        begun(w, drawn=not known and not together(w))
    except synth.SynthError as error:
        frame.tell(error)
        return _("First correct what the red box says."), _nothing
    return "", draw


def _nothing() -> None:
    """There is no more to draw."""


def _costs(w: Wizard, known: bool) -> None:
    """Noise, time and memory. Errors: UsageError, InputError."""
    plan = planned(w)
    lines = curve(w, plan) if not known and plan is not None and plan.error_one_way > 0 else []
    if plan is None:
        st.info(
            _("This method takes too long to forecast here. It can be run all the same; nothing was spent."),
            icon=":material/hourglass_empty:",
        )
        return
    alike = pairs_alike(lines)
    pairs = alike[0] if alike else []
    _figures(plan, pairs[lines.index(plan)] if pairs else None, noise_alone=not known)
    if len(lines) > 1:
        st.altair_chart(charts.curve(lines, pairs, w.epsilon), key="curve")
        st.caption(_in_words(lines, plan, pairs))
    if not known:
        st.caption(
            _(
                "What noise alone does to the counts, at most. What {method} then reaches was not measured on "
                "public tables, as it was for {recommended}."
            ).format(method=frame.escape(w.method), recommended=words.RECOMMENDED)
        )


def _figures(plan: Any, pairs: float | None, *, noise_alone: bool) -> None:
    """Cards; ``pairs``: the error of pairs that the curve shows at this epsilon, None where it shows none."""
    many = [s for s in plan.steps if s.cells > 1] or plan.steps  # the row count alone may be noisier, and harmlessly so
    two = plan.error_two_way if pairs is None else pairs
    held = f"{'' if timed(plan.method) else '> '}{words.short_seconds(seconds(plan))}"
    noise: list[tuple[str, str, str]] = [
        (
            _("Columns, noise alone"),
            words.at_most(plan.error_one_way),
            _("Share of rows that noise alone puts into the wrong group of a column's counts, on average, at most."),
        ),
    ]
    if two is not None:
        noise.append(
            (
                _("Pairs, noise alone"),
                words.at_most(two),
                _("The same for tables of two columns, at most. It is the curve's figure at this epsilon."),
            )
        )
    costs = [
        (
            _("Noise in a count, in rows"),
            f"± {words.count(max(s.sigma_most for s in many))}",
            _(
                "The standard deviation of the noise in a count of rows (or in a sum), at most. Much larger "
                "groups of people come out well."
            ),
        ),
        (
            _("Time"),
            held,
            _("On this computer; a forecast, not a promise. “>”: reading and counting only, without the training."),
        ),
        (
            _("Memory"),
            _("{peak_mib:.1f} GiB").format(peak_mib=plan.peak_mib / 1024),
            _("Of the process that makes the table, at its peak."),
        ),
    ]
    with st.container(horizontal=True):
        for label, value, explained in [*(noise if noise_alone else []), *costs]:
            st.metric(label, value, border=True, width=175, help=explained)


def _in_words(lines: list[Any], plan: Any, pairs: list[float]) -> str:
    """The curve for whoever cannot see it."""
    first, last = lines[0], lines[-1]
    return (
        _(
            "Expected error of single columns: {error_one_way:.2g} % at epsilon {epsilon:g}, "
            "{error_one_way2:.2g} % at {epsilon2:g}, {error_one_way3:.2g} % at {epsilon3:g}."
        ).format(
            error_one_way=100 * first.error_one_way,
            epsilon=first.epsilon,
            error_one_way2=100 * plan.error_one_way,
            epsilon2=plan.epsilon,
            error_one_way3=100 * last.error_one_way,
            epsilon3=last.epsilon,
        )
    ) + (
        _(" Pairs: {pairs:.2g} % to {pairs2:.2g} %.").format(pairs=100 * pairs[0], pairs2=100 * pairs[-1])
        if pairs
        else ""
    )


page()
