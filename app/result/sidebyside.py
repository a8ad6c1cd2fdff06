"""Several runs on one dataset next to each other: what was released of them, and the steward's scores."""

import json
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.result import across, comparison
from app.result.verdict import SHOWN
from app.run import recent, runs
from app.session import frame
from app.session.access import mine
from app.table import work
from synth.app_api import jobs
from synth.languages import Texts, _, phrase

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
    if runs.is_joined(job):
        st.caption(
            _(
                "**{mark}** - lines that begin with “real rows” compare with these. Those above them rest on each "
                "run's own noisy answers: choosing by these is a choice by released figures."
            ).format(mark=comparison.MARK)
        )
    else:
        st.caption(
            _(
                "**{mark}** - the last three rows compare with the real rows. The three before them compare with "
                "each run's own noisy answers: choosing by these is a choice by released figures."
            ).format(mark=comparison.MARK)
        )
    with st.spinner(_("Reading the noisy answers")):
        st.table(_table(shown), hide_index=True)
    compared = across if runs.is_several(job) else comparison
    waiting = [j for j in shown if compared.held(j) is None]
    if waiting and st.button(
        _("Score these against the real rows") if len(waiting) > 1 else _("Score this against the real rows"),
        key="score",
        help=_("Each run that is scored counts as a candidate for the choice: see the page Release."),
        icon=":material/compare:",
    ):
        for one in waiting:
            place = runs.release(one)
            with st.spinner(_("Comparing {named}").format(named=recent.named(one))):
                compared.make(one, place)
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
        made = "epsilon" in other.request() and other.status().state == "done" and bool(runs.release(other))
        return made and (runs.is_several(other), runs.is_joined(other)) == (runs.is_several(job), runs.is_joined(job))
    except synth.SynthError:
        return False


def _table(shown: list[jobs.Job]) -> dict[str, list[str]]:
    """A column for each run; a dash where a run has nothing to say on a line."""
    reported = [_lines(job) for job in shown]
    names = list(dict.fromkeys(n for t in reported for n in t))
    rows: dict[str, list[str]] = {"": names}
    for i, (job, lines) in enumerate(zip(shown, reported, strict=True)):
        head = _("This run") if i == 0 else recent.when(job)
        rows[frame.escape(f"{head} ({i + 1})")] = [lines.get(n, "-") for n in names]
    return rows


def _lines(job: jobs.Job) -> dict[str, str]:
    """The lines of one run."""
    request, several = job.request(), runs.is_several(job)
    rows = job.result()["num_rows"]
    lines = {
        _("Method"): str(request.get("method")),
        _("Epsilon"): f"{request['epsilon']:g}",
        _("Charged"): _("nothing") if request.get("free") else _("yes"),
        _("Synthetic rows"): ", ".join(f"{n:,}" for n in rows.values()) if several else f"{rows:,}",
    }
    if not runs.is_joined(job):
        return lines | _released(job) | _scores(comparison.held(job))
    seen = _verdict(job) if several else _scores(comparison.held(job))
    return lines | _uses(job) | {_("real rows: {use}").format(use=use): text for use, text in seen.items()}


def _uses(job: jobs.Job) -> dict[str, str]:
    """The verdict on each table and relation, by the run's own noisy answers."""
    said = _reported(job, "verdict")["verdict"]
    return {frame.escape(phrase(str(u["use"]))): _level(str(u["level"]), u["value"]) for u in said}


def _verdict(job: jobs.Job) -> dict[str, str]:
    """The verdict on each relation, by the real rows, where they were compared."""
    made = across.held(job)
    uses = () if made is None else made.verdict.uses
    return {frame.escape(phrase(u.use)): _level(u.level, u.value) for u in uses}


def _level(level: str, value: float | None) -> str:
    return SHOWN[level].lower() + ("" if value is None else f" ({100 * value:.1f} %)")


def _reported(job: jobs.Job, part: str) -> dict[str, Any]:
    """The run's publishable report, made where it is not there or an older one without this part."""
    page = job.path / "publishable.html"
    reported: Path = page.with_suffix(".json")
    if not reported.exists() or part not in json.loads(reported.read_text(encoding="utf-8")):
        work.answer("report", str(runs.release(job)), "--publishable", "--out", str(page), "--json")
    return dict(json.loads(reported.read_text(encoding="utf-8")))


def _released(job: jobs.Job) -> dict[str, str]:
    """Mean distance to the run's own noisy counts, from its publishable report; a dash where it counted nothing."""
    means = _reported(job, "means")["means"]
    return {
        title: f"{100 * mean['distance']:.1f} %" if (mean := means.get(kind)) is not None else "-"
        for kind, title in ANSWERS.items()
    }


def _scores(result: Any) -> dict[str, str]:
    titles = (_("Distance, columns"), _("Distance, pairs"), "SDMetrics")
    if result is None:
        return dict.fromkeys(titles, _("not scored"))
    quality = _("none") if result.quality is None else f"{100 * result.quality.score:.1f} %"
    scores = (f"{100 * result.one_way_mean:.1f} %", f"{100 * result.pairs_mean:.1f} %", quality)
    return dict(zip(titles, scores, strict=True))
