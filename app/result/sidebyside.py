"""Several runs on one dataset next to each other: what was released of them, and the steward's scores."""

import json
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.result import comparison
from app.run import recent, runs
from app.session import frame
from app.session.access import mine
from app.table import work
from synth.app_api import jobs
from synth.languages import Texts, _

MOST_RUNS = 12
ANSWERS = Texts(
    {
        "one_way": "Noisy answers, columns",
        "two_way": "Noisy answers, pairs",
        "larger": "Noisy answers, three columns and more",
    }
)


def section(job: jobs.Job) -> None:
    """A table of the chosen runs; scores appear where the comparison with the real rows was opened."""
    others = [j for j in jobs.listing() if j.path != job.path and _fits(j, job)][:MOST_RUNS]
    st.header(_("Runs side by side"), anchor=False)
    if not others:
        st.info(
            _("This is the only finished run on its dataset. Other runs will be shown beside it here."),
            icon=":material/info:",
        )
        return
    by_name = {f"{i + 1}. {recent.named(j)}": j for i, j in enumerate(others)}
    chosen = st.multiselect(
        _("Compare with"),
        list(by_name),
        key="beside",
        placeholder=_("Choose runs"),
        help=_("Other finished runs on the same dataset."),
    )
    shown = [job, *(by_name[n] for n in chosen)]
    st.caption(
        _(
            "**{mark}** - the last three rows compare with the real rows. The three before them compare with "
            "each run's own noisy answers: choosing by these is a choice by released figures."
        ).format(mark=comparison.MARK)
    )
    with st.spinner(_("Reading the noisy answers")):
        st.table(_table(shown), hide_index=True)
    waiting = [j for j in shown if comparison.held(j) is None]
    if waiting and st.button(
        _("Score these against the real rows") if len(waiting) > 1 else _("Score this against the real rows"),
        key="score",
        help=_("Each run that is scored counts as a candidate for the choice: see the page Release."),
        icon=":material/compare:",
    ):
        for one in waiting:
            place = runs.release(one)
            with st.spinner(_("Comparing {named}").format(named=recent.named(one))):
                comparison.make(one, place)
        st.rerun()
    if len(shown) > 1:
        st.warning(
            _(
                "Choosing the run with the best scores is a choice that no epsilon covers. Such a choice is "
                "marked, and the chosen run can be exported only together with all that were scored."
            ),
            icon=":material/lock_person:",
        )


def _fits(other: jobs.Job, job: jobs.Job) -> bool:
    try:
        if not jobs.looks.alike(other, job) or not mine(other):
            return False
        return "epsilon" in other.request() and other.status().state == "done" and bool(runs.release(other))
    except synth.SynthError:
        return False


def _table(shown: list[jobs.Job]) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {
        "": [
            _("Method"),
            _("Epsilon"),
            _("Charged"),
            _("Synthetic rows"),
            *ANSWERS.values(),
            _("Distance, columns"),
            _("Distance, pairs"),
            "SDMetrics",
        ]
    }
    for i, job in enumerate(shown):
        request, results = job.request(), comparison.held(job)
        head = _("This run") if i == 0 else recent.when(job)
        rows[f"{head} ({i + 1})"] = [
            str(request.get("method")),
            f"{request['epsilon']:g}",
            _("nothing") if request.get("free") else _("yes"),
            f"{job.result()['num_rows']:,}",
            *_released(job),
            *_scores(results),
        ]
    return {frame.escape(name): cells for name, cells in rows.items()}


def _released(job: jobs.Job) -> list[str]:
    """Mean distance to the run's own noisy counts, from its publishable report; a dash where it counted nothing."""
    page = job.path / "publishable.html"
    reported: Path = page.with_suffix(".json")
    if not reported.exists() or "means" not in (parsed := json.loads(reported.read_text(encoding="utf-8"))):
        work.answer("report", str(runs.release(job)), "--publishable", "--out", str(page), "--json")
        parsed = json.loads(reported.read_text(encoding="utf-8"))
    means = [parsed["means"].get(kind) for kind in ANSWERS]
    return ["-" if mean is None else f"{100 * mean['distance']:.1f} %" for mean in means]


def _scores(result: Any) -> list[str]:
    if result is None:
        return [_("not scored")] * 3
    quality = _("none") if result.quality is None else f"{100 * result.quality.score:.1f} %"
    return [f"{100 * result.one_way_mean:.1f} %", f"{100 * result.pairs_mean:.1f} %", quality]
