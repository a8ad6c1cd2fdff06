"""The steward's part of the result: everything here uses real rows and stands under its banner."""

import json
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.result import columns, groups, standing, together, verdict, whole
from app.run import background
from app.session import access, frame
from app.session.aside import TooLongError, worker
from app.table import real
from synth import app_api
from synth.app_api import jobs
from synth.languages import _

MARK = "For the steward only, not for release"
PATIENCE = 600.0  # seconds that a comparison may take
BANNER = "**For the steward only - compares with the real rows. Not for release.**"
WHY = (
    "Nothing below is protected by noise: charts and scores show exact shares of the real rows. Do not copy them into "
    "a report, and do not choose between several results by them unless all of those are charged and released."
)


def section(job: jobs.Job, release: Path) -> None:
    """Charts and scores, when the steward asks for them and the real table is still there."""
    st.header(_("Compare with the real table"), anchor=False)
    with st.container(border=True):
        st.warning(_(BANNER), icon=":material/lock_person:")
        if not real.there(job):
            st.info(
                _(
                    "The real table is no longer stored here, so there is nothing to compare with. The result "
                    "above is complete without it."
                )
            )
            return
        st.caption(_(WHY))
        _outside(job)
        comparison = _compared(job, release)
        if comparison is not None:
            said = st.session_state.get("verdicts", {}).get(str(job.path))
            if said is not None:
                verdict.section(said[0], said[1])
            parts(comparison, said and said[0])
            standing.rare(st.session_state.get("rare", {}).get(str(job.path)), release)
        whole.section(job, release)


def held(job: jobs.Job) -> Any:
    """The run's comparison where this session has made it, else None."""
    return st.session_state.get("comparisons", {}).get(str(job.path))


def make(job: jobs.Job, release: Path) -> Any:
    """Compares a run with the real rows, beside the server, and notes that somebody looked. Errors: InputError."""
    who = access.allow("compare", job.request().get("owner"))
    try:
        with real.table(job, release) as table:
            app_api.note_look(
                release
            )  # beside the ledger, as the command line does: what it cannot note it does not show
            result, said, leaving = worker.ask("compared", str(table), str(release), seconds=PATIENCE)
            standing.counted(release)
            rare = worker.ask("standing", str(release), str(table), seconds=PATIENCE, keep=False)
    except TooLongError:
        raise synth.InputError(_("the comparison takes too long here; use `synth report`")) from None
    jobs.looks.look(job, by=who.name)
    st.session_state.setdefault("comparisons", {})[str(job.path)] = result
    st.session_state.setdefault("verdicts", {})[str(job.path)] = (said, leaving)
    st.session_state.setdefault("rare", {})[str(job.path)] = rare
    return result


def _compared(job: jobs.Job, release: Path) -> Any:
    """The comparison, kept in this session alone; None until it is asked for."""
    result = held(job)
    if result is None and not worker.there:  # its libraries take seconds to load, and somebody reads meanwhile
        background.soon(lambda: worker.ask("comparing", seconds=PATIENCE), seconds=0.5)
    if result is None and st.button(
        _("Show the comparison"),
        key="compare",
        icon=":material/compare:",
        help=_("Reads the real rows again, for your eyes; spends nothing."),
    ):
        with st.spinner(_("Comparing the tables")):
            make(job, release)
        st.rerun()  # draws the page without the button
    return result


def _outside(job: jobs.Job) -> None:
    """Cells that the description does not know: many of them mean that it is wrong."""
    try:
        parsed = json.loads((job.path / "steward.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    parts = [
        f"{name}: {count:,} {what}"
        for key, what in (("clamped", _("beyond smallest or largest")), ("unreadable", _("not among the values")))
        for name, count in parsed.get(key, {}).items()
        if count
    ]
    if parts:
        st.caption(
            _(
                "Cells that do not fit the description: {parts}. They were moved to the nearest bound, to "
                "missing, or to a random value. If they are many, correct the description."
            ).format(parts=frame.escape("; ".join(parts)))
        )


def parts(result: Any, said: Any = None) -> None:
    """The pictures and scores of a comparison. ``said``: its verdict, which knows the worst groups."""
    used = _("{real_rows_used:,} of {real_rows:,} real and {synthetic_rows_used:,} synthetic rows").format(
        real_rows_used=result.real_rows_used, real_rows=result.real_rows, synthetic_rows_used=result.synthetic_rows_used
    )
    st.caption(_("Uses {used}, drawn with a fixed seed where not all are used.").format(used=used))
    _weighted(result)
    tabs = st.tabs(verdict.parts() if result.scorable else verdict.parts()[:-1], key="compared_part", on_change="rerun")
    shows = (
        lambda: columns.section(result),
        lambda: together.pairs(result),
        lambda: together.associations(result),
        lambda: together.three(result),
        lambda: groups.section(result, said),
        lambda: _scores(result),
    )
    for tab, show in zip(tabs, shows, strict=False):
        if tab.open is not False:
            with tab:
                show()


def _weighted(result: Any) -> None:
    """How close the tables are to an analyst who weights rows, where the description names a weight."""
    reported = result.weighted
    if reported is not None:
        pairs = (
            ""
            if reported.pairs is None
            else _(", tables of two columns by {pairs:.1f} %").format(pairs=100 * reported.pairs)
        )
        once = 100 * float(result.pairs.trace()) / len(result.columns)
        st.caption(
            _(
                "Rows weighted by {by}: columns differ by {mean:.1f} % on average{pairs}; each row once, columns "
                "differ by {once:.1f} %. A real row weighs {means:,.4g}, a synthetic one {means2:,.4g}. The "
                "charts below count each row once."
            ).format(
                by=frame.escape(reported.by),
                mean=100 * reported.mean,
                pairs=pairs,
                once=once,
                means=reported.means[0],
                means2=reported.means[1],
            )
        )


def _scores(result: Any) -> None:
    quality = result.quality
    if quality is None:
        st.info(_("Not scored: {unscored}.").format(unscored=result.unscored))
        return
    st.markdown(_("Scores of SDMetrics' quality report, 100 % is best."))
    with st.container(horizontal=True):
        st.metric(
            _("Overall"), f"{100 * quality.score:.1f} %", border=True, width=155, help=_("The mean of the two others.")
        )
        st.metric(
            _("Columns"),
            f"{100 * quality.shapes:.1f} %",
            border=True,
            width=155,
            help=_("How alike each column is in both tables."),
        )
        trends = "-" if quality.pairs is None else f"{100 * quality.pairs:.1f} %"
        st.metric(
            _("Pairs"), trends, border=True, width=155, help=_("How alike correlations and tables of two columns are.")
        )
    st.caption(
        _("On {rows:,} real and {rows2:,} synthetic rows, drawn with a fixed seed.").format(
            rows=quality.rows[0], rows2=quality.rows[1]
        )
    )
    if quality.left_out:
        st.caption(_("Left out for their many categories: ") + frame.escape(", ".join(quality.left_out)))
    worst = sorted(quality.by_column.items(), key=lambda pair: pair[1])
    st.table(
        {_("Column"): [n for n, _other in worst], _("Score"): [f"{100 * s:.1f} %" for _other, s in worst]},
        hide_index=True,
    )
