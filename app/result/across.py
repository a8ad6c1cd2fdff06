"""Related tables beside the real ones: across tables, and one table at a time; for the steward's eyes alone."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

import synth
from app.result import comparison, verdict, whole
from app.session import access, charts, frame
from app.session.aside import TooLongError, worker
from app.table import owning, real
from synth import app_api
from synth.app_api import jobs
from synth.languages import _

PATIENCE = 600.0  # seconds that a comparison may take
SHOWN = 8  # pairs that are listed of one kind, the farthest first


def section(job: jobs.Job, release: Path) -> None:
    """What tables say of each other, and each alone, when the steward asks and the real ones are still there."""
    st.header(_("Compare with the real tables"), anchor=False)
    with st.container(border=True):
        st.warning(_(comparison.BANNER), icon=":material/lock_person:")
        if not real.there(job):
            st.info(
                _(
                    "The real tables are no longer stored here, so there is nothing to compare with. The result "
                    "above is complete without them."
                )
            )
            return
        st.caption(_(comparison.WHY))
        result = _compared(job, release)
        if result is not None:
            _across(result)
            _alone(job, release)
        whole.section(job, release)


def held(job: jobs.Job) -> Any:
    """The run's comparison across tables where this session has made it, else None."""
    return st.session_state.get("across", {}).get(str(job.path))


def make(job: jobs.Job, release: Path) -> None:
    """Compares a run across tables, beside the server, and notes that somebody looked. Errors: InputError."""
    result = _ask(job, release, "compared_across", str(release / "schema.json"))
    st.session_state.setdefault("across", {})[str(job.path)] = result


def _compared(job: jobs.Job, release: Path) -> Any:
    """The comparison across tables, kept in this session alone; None until it is asked for."""
    if held(job) is None and st.button(
        _("Show the comparison"),
        key="compare",
        icon=":material/compare:",
        help=_("Reads the real rows again, for your eyes; spends nothing."),
    ):
        with st.spinner(_("Comparing the tables")):
            make(job, release)
        st.rerun()
    return held(job)


def _ask(job: jobs.Job, release: Path, task: str, *arguments: str) -> Any:
    """A comparison with the real tables, beside the server; it is noted first that somebody looked."""
    who = access.allow("compare", job.request().get("owner"))
    owning.allow("use_table", Path(str(job.request()["table"])), job.request().get("source"))
    try:
        app_api.note_look(release)
        with real.tables(job, release) as folder:
            result = worker.ask(task, str(folder), str(release), *arguments, seconds=PATIENCE)
    except TooLongError:
        raise synth.InputError(_("the comparison takes too long here; use `synth report`")) from None
    jobs.looks.look(job, by=who.name)
    return result


def _across(result: Any) -> None:
    verdict.uses(result.verdict)
    st.subheader(_("Across tables"), anchor=False)
    st.table(
        {
            _("Table"): [frame.escape(t) for t in result.rows],
            _("Real rows"): [f"{r:,}" for r, _other in result.rows.values()],
            _("Synthetic"): [f"{s:,}" for _other, s in result.rows.values()],
        },
        hide_index=True,
    )
    st.caption(_("Real rows are those that a run keeps: with a parent, and no more of one parent than its key says."))
    boxes = st.columns(2) if len(result.numbers) > 1 else [st.container()]
    for i, one in enumerate(result.numbers):
        with boxes[i % 2]:
            st.markdown(
                _(
                    "**Rows of {child} of one row of {parent}**: {distance:.1f} % of the parents have another "
                    "number (a second real sample: {by_chance:.1f} %)"
                ).format(
                    child=frame.escape(one.child),
                    parent=frame.escape(one.parent),
                    distance=100 * one.distance,
                    by_chance=100 * one.by_chance,
                )
            )
            st.altair_chart(_numbers(one), key=f"numbers_{i}")
    st.markdown(
        _(
            "**How columns relate to each other:** the share of rows in the wrong place. A second real sample "
            "would be as far off by chance, and independent columns as far off as the relation is strong."
        )
    )
    st.table(_means(result), hide_index=True)
    kinds = list(result.pairs)
    if kinds:
        about = st.selectbox(
            _("Pairs of columns, the farthest first"),
            kinds,
            key="across_about",
            help=_("Each pair beside a second real sample and beside independent columns."),
        )
        st.table(_pairs(result.pairs[about]), hide_index=True)
    if result.quality is not None:
        _scored(result.quality)


def _scored(quality: Any) -> None:
    """SDMetrics' scores of related tables, by table and by relation."""
    st.markdown(
        _("**SDMetrics' report of related tables**, 100 % is best: {score:.1f} % in all.").format(
            score=100 * quality.score
        )
    )
    relations = {_("{child} of {parent}").format(child=c, parent=p): s for (c, p), s in quality.relations.items()}
    lines = [
        (frame.escape(name), *(r"\-" if s is None else f"{100 * s:.1f} %" for s in both))
        for name, both in {**quality.tables, **relations}.items()
    ]
    heads = (_("Table, or relation"), _("Shapes, or numbers of rows"), _("Pairs within, or across"))
    st.table(pd.DataFrame(lines, columns=list(heads)), hide_index=True)


def _numbers(one: Any) -> alt.Chart:
    """How many rows of the child a parent has, in both tables."""
    bars = [
        {"rows": str(i), "share": float(share), "table": table}
        for table, shares in ((charts.REAL, one.real), (charts.SYNTHETIC, one.synthetic))
        for i, share in enumerate(shares)
    ]
    said = _(
        "Share of rows of {parent} by their number of rows of {child}, in the real and the synthetic tables. "
        "{distance:.1f} % differ. {mark}."
    ).format(parent=one.parent, child=one.child, distance=100 * one.distance, mark=charts.MARK)
    title = alt.TitleParams(
        text=_("Rows of {child}").format(child=one.child),
        subtitle=_(charts.MARK),
        anchor="start",
        subtitleColor="#c4601e",
    )
    return (
        alt.Chart(pd.DataFrame(bars), title=title)
        .mark_bar()
        .encode(
            x=alt.X(
                "rows:N",
                sort=None,
                title=_("of one row of {parent}").format(parent=one.parent),
                axis=alt.Axis(labelAngle=0),
            ),
            xOffset=alt.XOffset("table:N", sort=[charts.REAL, charts.SYNTHETIC]),
            y=alt.Y("share:Q", title=_("share"), axis=alt.Axis(format="%")),
            color=alt.Color("table:N", scale=charts.COLOURS, legend=charts.LEGEND),
            tooltip=["rows:N", "table:N", alt.Tooltip("share:Q", format=".2%")],
        )
        .properties(height=charts.HEAD + 130, description=said)
    )


def _means(result: Any) -> pd.DataFrame:
    return _listed((about, result.mean(about)) for about in result.pairs)


def _pairs(pairs: list[Any]) -> pd.DataFrame:
    worst = sorted(pairs, key=lambda p: -p.distance)[:SHOWN]
    return _listed(
        (_("{first} and {second}").format(first=p.first, second=p.second), (p.distance, p.by_chance, p.independent))
        for p in worst
    )


def _listed(lines: Iterable[tuple[str, tuple[float, float, float]]]) -> pd.DataFrame:
    """A line each: what it is about, and its three distances."""
    reported = [(frame.escape(about), *(f"{100 * d:.1f} %" for d in distances)) for about, distances in lines]
    return pd.DataFrame(
        reported, columns=[_("About"), _("This release"), _("A second real sample"), _("Independent columns")]
    )


def _alone(job: jobs.Job, release: Path) -> None:
    """One table as if it stood alone: the comparison of single tables, all rows of the real file."""
    st.subheader(_("One table at a time"), anchor=False)
    names = list(app_api.load_related(release / "schema.json").tables)
    name = st.selectbox(
        _("Table"), names, key="across_table", help=_("All rows of the real file, as for one table alone.")
    )
    made = st.session_state.setdefault("across_alone", {})
    if (str(job.path), name) not in made:
        if not st.button(_("Compare {name}").format(name=name), key="compare_table", icon=":material/compare:"):
            return
        with st.spinner(_("Comparing {name}").format(name=name)):
            made[str(job.path), name] = _ask(job, release, "compared_alone", name)
        st.rerun()
    result, said = made[str(job.path), name]
    verdict.section(said)
    comparison.parts(result, said)
