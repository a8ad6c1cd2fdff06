"""Other fits to a stored release, and several runs on one dataset next to each other."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.result import comparison, releasing
from app.result.comparison import percent
from app.run import forecast, options, runs
from app.session import access, frame, words, workers
from app.session.state import wizard
from synth.app_api import jobs, looks
from synth.languages import Texts, _, as_said, prose

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
        said = _("It starts from the stored release: it costs nothing and reads no row.")
        runs.follow(str(w.refit), _ended, about=said)
        return
    frame.fold(_("What if: another method on the same release, free"), "what_if", lambda: _ask(job, card))


def _ask(job: jobs.Job, card: dict[str, Any]) -> None:
    schema = None if runs.is_joined(job) else synth.Schema.load(runs.release(job) / "schema.json")
    said = _(
        "Fitting something else to the noisy answers that were paid for reads no row and spends nothing. Listed "
        "are the methods that can use them; options that decide what is asked change nothing here."
    )
    st.caption(said)
    about = {m["name"]: m for m in forecast.methods(tree=schema is None)}
    names, now = fitting(card, list(about.values())), str(card["method"])
    method = st.selectbox(
        _("Fit with"),
        names,
        index=names.index(now),
        key="refit_method",
        help=_(words.METHOD_HELP),
        format_func=lambda n: f"{n}: {words.method(about[n], tree=schema is None)}",
    )
    asked: dict[str, Any] = {"method": method, "options": {}}
    if schema is not None:
        before = _("as before ({target})").format(target=schema.target or _("none"))
        asked["options"] = options.ask(about[method], {}, key=f"refit_{method}")
        about_target = _("The fit gives its relations more care. What was asked of the table stays the same.")
        label = _("Column to predict")
        asked["target"] = st.selectbox(
            label, [None, *schema.measured()], key="refit_target", format_func=lambda n: n or before, help=about_target
        )
    rows = st.number_input(
        _("Synthetic rows") if schema is not None else _("Rows of the first table, or persons"),
        min_value=0,
        value=0,
        step=1000,
        key="refit_rows",
        help=_("0 for as many as the table has, up to noise."),
    )
    if st.button(_("Fit again, free"), key="refit", icon=":material/model_training:"):
        wizard().refit = runs.refit(job, **asked, num_rows=int(rows)).path
        st.rerun()


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
    one_way="Noisy answers, columns", two_way="Noisy answers, pairs", larger="Noisy answers, three columns and more"
)


def side_by_side(job: jobs.Job) -> None:
    """A table of the chosen runs; scores appear where the comparison with the real rows was opened."""
    frame.fold(_("Runs side by side"), "side_by_side", lambda: _beside(job))


def _beside(job: jobs.Job) -> None:
    others = list(islice(jobs.those(lambda other: other.path != job.path and _fits(other, job)), MOST_RUNS))
    if not others:
        st.info(_("This is the only finished run on its dataset. Other runs will be shown beside it here."))
        return
    by_name = {f"{runs.named(j)} ({i})": j for i, j in enumerate(others, 2)}  # this run is the first
    said = _("Other finished runs on the same dataset.")
    chosen = st.multiselect(_("Compare with"), list(by_name), key="beside", placeholder=_("Choose runs"), help=said)
    shown = [job, *(by_name[n] for n in chosen)]
    said = _(
        "**{mark}** - lines that begin with “real rows” compare with these. Those above them rest on each "
        "run's own noisy answers: choosing by these is a choice by released figures."
    )
    st.caption(said.format(mark=_(comparison.MARK)))
    with st.spinner(_("Reading the noisy answers")):
        told = [_lines(one) for one in shown]
    names = list(dict.fromkeys(n for lines in told for n in lines))
    numbers = [1, *(others.index(one) + 2 for one in shown[1:])]
    heads = [f"{_('This run') if i == 1 else runs.when(one)} ({i})" for i, one in zip(numbers, shown, strict=True)]
    columns = {frame.escape(head): [lines.get(n, "–") for n in names] for head, lines in zip(heads, told, strict=True)}
    st.table({"": names, **columns}, hide_index=True)
    waiting = [j for j in shown if comparison.held(j) is None]
    if first := comparison.undecided(waiting):
        said = _("Before these runs are scored: how do you choose between them? Afterwards figures have been seen.")
        st.markdown(said)
        releasing.ask_choice(first, "_beside", looks.OF_SEVERAL if len(shown) > 1 else looks.CHOICES)
    elif waiting and st.button(
        _("Score these against the real rows") if len(waiting) > 1 else _("Score this against the real rows"),
        key="score",
        help=_("Each run that is scored counts as a candidate for the choice: see the page The result."),
        icon=":material/compare:",
    ):
        with st.spinner(_("Comparing the tables")):
            comparison.make(waiting)
        st.rerun()
    if len(shown) > 1:
        said = _(
            "Choosing the run with the best scores is a choice that no epsilon covers. Such a choice is "
            "marked, and the chosen run can be exported only together with all that were scored."
        )
        st.warning(said, icon=":material/lock_person:")


def _fits(other: jobs.Job, job: jobs.Job) -> bool:
    if not looks.alike(other, job) or not access.mine(other):
        return False
    made = "epsilon" in other.request() and other.status().state == "done" and bool(runs.release(other))
    return made and (runs.is_several(other), runs.is_joined(other)) == (runs.is_several(job), runs.is_joined(job))


def _lines(job: jobs.Job) -> dict[str, str]:
    """What is said of one run, line by line; scores where this session has compared it."""
    request, rows, made = job.request(), job.result()["num_rows"], (comparison.held(job) or (None,))[0]
    lines = {
        _("Method"): str(request.get("method")),
        _("Epsilon"): f"{request['epsilon']:g}",
        _("Charged"): _("nothing") if request.get("free") else _("yes"),
        _("Synthetic rows"): ", ".join(f"{n:,}" for n in (rows.values() if isinstance(rows, dict) else [rows])),
    }
    if not runs.is_joined(job):
        means = _reported(job, "means")["means"]  # distances to the run's own noisy counts
        lines |= {t: percent((means.get(k) or {}).get("distance")) for k, t in ANSWERS.items()}
        return lines | _scores(made)
    told = _reported(job, "verdict")["verdict"]
    lines |= {frame.escape(prose(u["use"])): _level(str(u["level"]), u["value"]) for u in told}
    if not runs.is_several(job):
        return lines | _scores(made)
    seen = {frame.escape(prose(u.use)): _level(u.level, u.value) for u in (made.verdict.uses if made else ())}
    return lines | {_("real rows: {use}").format(use=use): text for use, text in seen.items()}


def _level(level: str, value: float | None) -> str:
    return prose(level) + ("" if value is None else f" ({percent(value)})")


def _reported(job: jobs.Job, part: str) -> dict[str, Any]:
    """The run's publishable report, made where it is not there or an older one without this part."""
    page = job.path / "publishable.html"
    reported: Path = page.with_suffix(".json")
    if not reported.exists() or part not in json.loads(reported.read_text(encoding="utf-8")):
        workers.ask("report", str(runs.release(job)), str(page), seconds=PATIENCE)
    return as_said(json.loads(reported.read_text(encoding="utf-8")))


def _scores(made: Any) -> dict[str, str]:
    """A comparison's means and SDMetrics' score, where it was made."""
    titles = [_("real rows: {use}").format(use=n) for n in (_("distance, columns"), _("distance, pairs"), "SDMetrics")]
    if made is None:
        return dict.fromkeys(titles, _("not scored"))
    quality = _("none") if made.quality is None else percent(made.quality.score)
    return dict(zip(titles, (percent(made.one_way_mean), percent(made.pairs_mean), quality), strict=True))
