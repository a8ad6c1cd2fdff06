"""Other fits to a stored release, and several runs on one dataset next to each other."""

import json
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.result import comparison
from app.result.comparison import LEVELS
from app.run import recent, runs
from app.run.forecast import JOINED_METHODS, methods
from app.run.options import ask
from app.run.runs import follow
from app.session import frame, tasks, words, workers
from app.session.access import mine
from app.session.state import wizard
from synth.app_api import jobs
from synth.languages import Texts, _, phrase

FAMILIES = (
    {"mixture", "independent"},
    {"slicing", "slice_wasserstein"},
    {"dp_merf", "pearl"},
    {"aim", "mst"},
)  # methods that read each other's noisy answers; any other reads its own alone


def what_if(job: jobs.Job, card: dict[str, Any]) -> None:
    """A method and its options for another fit, followed here: it stands in line like any run, charged nothing."""
    if (w := wizard()).refit is not None:
        st.subheader(_("Another fit to this release"), anchor=False)
        follow(str(w.refit), _ended, about=_("It starts from the stored release: it costs nothing and reads no row."))
        return
    frame.fold(_("What if: another method on the same release, free"), "what_if", lambda: _ask(job, card))


def _ask(job: jobs.Job, card: dict[str, Any]) -> None:
    schema = None if runs.is_joined(job) else synth.Schema.load(runs.release(job) / "schema.json")
    st.caption(
        _(
            "The budget paid for the release: noisy answers about the table. Fitting something else to them "
            "reads no row and spends nothing, as often as you like. Listed are the methods that can use these "
            "answers; options that decide what is asked change nothing here."
        )
    )
    about = {m["name"]: m for m in methods(tree=schema is None)}
    names, now = fitting(card, list(about.values())), str(card["method"])
    method = st.selectbox(
        _("Fit with"),
        names,
        index=names.index(now),
        key="refit_method",
        help=_(words.METHOD_HELP),
        format_func=lambda n: _(JOINED_METHODS[n]) if schema is None else f"{n}: {words.method(about[n])}",
    )
    options = {} if schema is None else ask(about[method]["options"], {}, key=f"refit_{method}")
    target = None if schema is None else _target(schema)
    rows = st.number_input(
        _("Synthetic rows") if schema is not None else _("Rows of the first table, or persons"),
        min_value=0,
        value=0,
        step=1000,
        key="refit_rows",
        help=_("0 for as many as the table has, up to noise."),
    )
    if st.button(_("Fit again, free"), key="refit", icon=":material/model_training:"):
        wizard().refit = runs.refit(job, method=method, options=options, target=target, num_rows=int(rows) or None).path
        st.rerun()


def _target(schema: synth.Schema) -> str | None:
    """The column to be predicted; None for the one of before."""
    return st.selectbox(
        _("Column to predict"),
        [None, *schema.measured()],
        index=0,
        key="refit_target",
        format_func=lambda n: n or _("as before ({target})").format(target=schema.target or _("none")),
        help=_("The column to whose relations the fit gives more care. What was asked of the table stays the same."),
    )


def _ended(job: jobs.Job, status: jobs.Status) -> None:
    """Shows the new fit in place of the one that it was made from, or says why there is none."""
    w = wizard()
    w.refit = None
    if status.state == "done":
        w.job = job.path
        w.notice = _("The other fit is ready, and shown here; “All runs” has the one before. It cost nothing.")
    else:
        w.failed = True
        reason = frame.escape(runs.why(job))
        w.notice = _("Nothing was fitted: {reason}. Nothing was spent.").format(reason=reason)


def fitting(card: dict[str, Any], about: list[dict[str, Any]]) -> list[str]:
    """The methods that can be fitted to a release, the one that asked for it first.

    >>> fitting({"method": "dp_hp", "relation": "r", "release_kinds": []}, [{"name": "dp_ntk"}, {"name": "dp_hp"}])
    ['dp_hp']
    """
    now, held = str(card["method"]), set(card.get("release_kinds", ()))
    family = next((f for f in FAMILIES if now in f), {now})
    others = [
        m["name"]
        for m in about
        if m["name"] in family - {now} and card["relation"] in m["relations"] and held <= {*m["reads"], "search"}
    ]
    return [now, *others]


MOST_RUNS = 12
PATIENCE = 600.0  # seconds that a report may take
ANSWERS = Texts(
    {
        "one_way": "Noisy answers, columns",
        "two_way": "Noisy answers, pairs",
        "larger": "Noisy answers, three columns and more",
    }
)


def side_by_side(job: jobs.Job) -> None:
    """A table of the chosen runs; scores appear where the comparison with the real rows was opened."""
    frame.fold(_("Runs side by side"), "side_by_side", lambda: _beside(job))


def _beside(job: jobs.Job) -> None:
    others = [j for j in jobs.listing() if j.path != job.path and _fits(j, job)][:MOST_RUNS]
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
    waiting = [j for j in shown if comparison.held(j) is None]
    if waiting and st.button(
        _("Score these against the real rows") if len(waiting) > 1 else _("Score this against the real rows"),
        key="score",
        help=_("Each run that is scored counts as a candidate for the choice: see the page The result."),
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
        return lines | _released(job) | _scores(_held(job))
    seen = _verdict(job) if several else _scores(_held(job))
    return lines | _uses(job) | {_("real rows: {use}").format(use=use): text for use, text in seen.items()}


def _uses(job: jobs.Job) -> dict[str, str]:
    """The verdict on each table and relation, by the run's own noisy answers."""
    said = _reported(job, "verdict")["verdict"]
    return {frame.escape(phrase(str(u["use"]))): _level(str(u["level"]), u["value"]) for u in said}


def _held(job: jobs.Job) -> Any:
    """The comparison of a run, where this session has made it."""
    return (comparison.held(job) or (None,))[0]


def _verdict(job: jobs.Job) -> dict[str, str]:
    """The verdict on each relation, by the real rows, where they were compared."""
    made = _held(job)
    uses = () if made is None else made.verdict.uses
    return {frame.escape(phrase(u.use)): _level(u.level, u.value) for u in uses}


def _level(level: str, value: float | None) -> str:
    return LEVELS[level].lower() + ("" if value is None else f" ({100 * value:.1f} %)")


def _reported(job: jobs.Job, part: str) -> dict[str, Any]:
    """The run's publishable report, made where it is not there or an older one without this part."""
    page = job.path / "publishable.html"
    reported: Path = page.with_suffix(".json")
    if not reported.exists() or part not in json.loads(reported.read_text(encoding="utf-8")):
        workers.ask(tasks.publishable, str(runs.release(job)), str(page), seconds=PATIENCE)
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
