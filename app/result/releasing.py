"""Who lets a result out: its owner where nobody else is here, else a reviewer whom its owner asked.

What holds for one result holds for each of several that leave together; noisy counts may decide between them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.result import papers
from app.run import caps, runs
from app.session import access, frame, tasks, words, workers
from app.table import database
from synth import app_api
from synth.app_api import Visitor, jobs, looks
from synth.languages import _, ngettext

ASKED = "asked.json"


def allow(action: str, job: jobs.Job) -> Visitor:
    """The visitor, where he may do it to a released result. Errors: UsageError, also before its release."""
    who = access.allow(action, job.request().get("owner"))
    if reason := barrier(job):
        raise synth.UsageError(reason)
    if not who.alone and looks.released(job) is None:
        raise synth.UsageError(_("this result was not released yet; ask a reviewer to release it"))
    return who


def barrier(job: jobs.Job) -> str:
    """Why this run may not leave, in one line; empty when it may. Errors: InputError where notes cannot be read.

    Beside the runs of this installation count the releases of the same dataset that were compared from the command
    line, or whose run was removed since: the notes beside the ledger tell of them.
    """
    try:
        signed = looks.released(job) is not None and looks.signature(runs.release(job)) is not None
    except synth.UsageError as error:
        return error.said
    reason = looks.barrier(job)
    if reason or signed or (looks.choice(job) or {}).get("how") in ("before", "releases"):
        return reason
    known = [runs.release(one) for one in (job, *looks.rivals(job)) if _stands(one)]
    count = app_api.compared_elsewhere(known, dataset=str(job.request()["dataset"]))
    if not count:
        return ""
    some = ngettext(
        "{n} other release of this dataset was compared with the real rows elsewhere, or removed since",
        "{n} other releases of this dataset were compared with the real rows elsewhere, or removed since",
        count,
    )
    return some + _("; say how this one was chosen, or pack all of them with `synth bundle --choice all`")


def is_open(job: jobs.Job) -> bool:
    """Whether the run was released and nothing speaks against it. Errors: InputError where its files are gone."""
    return looks.released(job) is not None and not barrier(job) and bool(runs.release(job))


def _stands(job: jobs.Job) -> bool:
    try:
        return bool(runs.release(job))
    except synth.SynthError:
        return False


def state_choice(chosen: Sequence[jobs.Job], how: str) -> None:
    """Records how its owner says that a run was chosen, or each of several. Errors: UsageError; nothing is recorded."""
    who = [access.allow("state_choice", job.request().get("owner")) for job in chosen]
    looks.choose(chosen, how, by=who[0].name)


def ask_choice(chosen: Sequence[jobs.Job], key: str, ways: Iterable[str]) -> None:
    """How this run was chosen, or each of several, asked with a record of the answer. ``key``: what the fields' keys
    end in."""
    said = _("Your answer is recorded with your name and goes into the bundle.")
    label = _("This run was chosen")
    how = st.radio(label, list(ways), key=f"how{key}", index=None, format_func=words.CHOSEN.__getitem__, help=said)
    if st.button(_("Record this answer"), key=f"choose{key}", disabled=how is None) and how is not None:
        state_choice(chosen, how)
        st.rerun()


def asked(job: jobs.Job) -> str | None:
    """Who asked a reviewer to release this result, None where nobody did."""
    noted = jobs.read_json(job.path / ASKED) or {}
    return str(noted["by"]) if "by" in noted else None


def ask(job: jobs.Job) -> None:
    """Asks a reviewer to release a result of one's own. Errors: UsageError."""
    who = access.allow("ask_release", job.request().get("owner"))
    jobs.write_file(job.path / ASKED, json.dumps({"by": who.name}))


def together(job: jobs.Job) -> list[jobs.Job]:
    """The runs that are released with this one or not at all: itself, and what a choice by scores was among."""
    return [job, *looks.rivals(job)] if barrier(job) else [job]


def mine(job: jobs.Job) -> list[jobs.Job]:
    """Those of ``together`` that are the visitor's own."""
    return [one for one in together(job) if access.mine(one)]


def to_sign(job: jobs.Job) -> dict[str, Any]:
    """What ``release_all`` would sign now, by run: all files by their digests, the papers' answers, how it was chosen,
    among which others, and the lines of the ledger that may have decided. Errors: InputError where files are gone.
    """
    group = together(job)
    return {one.path.name: _shown(one, group) for one in group if looks.released(one) is None}


def _shown(job: jobs.Job, group: Sequence[jobs.Job]) -> dict[str, Any]:
    answers, unfinished = papers.read(job)
    lines = synth.Ledger().entries(str(job.request()["dataset"]))
    return {
        "files": looks.files(runs.release(job)),
        "papers": answers,
        "unfinished": unfinished,
        "choice": (looks.choice(job) or {}).get("how"),
        "how": "all" if len(group) > 1 else looks.how(job),
        "among": [one.path.name for one in (group if len(group) > 1 else looks.rivals(job)) if one.path != job.path],
        "lines": max((line.number for line in lines), default=0),
    }


def release_all(job: jobs.Job, *, seen: Mapping[str, Any] | None = None) -> None:
    """Releases a result, and what leaves with it only: by the only user, or by a reviewer who was asked for each.

    All of it or none of it. ``seen``: what was on the page when the reviewer decided (``to_sign``). Errors: UsageError,
    also where anything of it was changed meanwhile.
    """
    who = access.allow("release", job.request().get("owner"))
    waiting = [one for one in together(job) if looks.released(one) is None]
    for one in waiting:
        access.allow("release", one.request().get("owner"))
        if not who.alone and asked(one) in (None, who.name):
            raise synth.UsageError(
                _("a result is released by a reviewer whom somebody else asked for it; each of all is")
            )
    signing = {} if who.alone else to_sign(job)
    if not who.alone and seen != signing:
        raise synth.UsageError(_("this result was changed since it was shown to you; look at it again"))
    for one in waiting:
        if who.alone:
            looks.release(one, by=who.name)
        else:
            shown = signing[one.path.name]
            shown = {**shown, "papers": papers.approved(shown["papers"], who.name, datetime.now(UTC).isoformat()[:10])}
            looks.release(one, by=asked(one) or who.name, approved_by=who.name, shown=shown)


USUAL, USUAL_DELTA, SHOWN = 0.1, 1e-6, 3
PATIENCE = 300.0  # seconds that counting synthetic rows may take


def deciding(job: jobs.Job, others: list[jobs.Job]) -> None:
    """The form that spends, the wait, and the outcome, for a run and the others that were compared with real rows."""
    candidates = [job, *others]
    if runs.is_several(job):
        return  # counts are of one table
    if not all(access.mine(one) for one in others):
        return  # somebody else's runs were compared too: no counts of this visitor's may decide about them
    with st.expander(_("Or let noisy counts decide, for a charge")):
        said = _(
            "Tables of counts are asked of the real rows under noise; the run that comes nearest may leave. "
            "Epsilon covers such a choice, made once. Choose the columns by what the table is for, not by what the "
            "comparison showed."
        )
        st.caption(said, help=_("In the terms of the field: a paid private selection."))
        running = _latest(job)
        if running is not None and not running.status().final:
            runs.follow(str(running.path), _settle, about=_("Counts the columns under noise; these counts decide."))
            return
        if running is not None:
            _outcome(running)
        if looks.decided(job, others):
            return
        if job.request().get("source") or not database.real_there(job):
            st.info(_("This needs the real table as a file on this computer."))
            return
        _form(job, candidates)


def _latest(job: jobs.Job) -> jobs.Job | None:
    """The newest decision that this run took part in."""
    return next(jobs.those(lambda one: job.path.name in one.request().get("decides", ()) and access.mine(one)), None)


def _form(job: jobs.Job, candidates: list[jobs.Job]) -> None:
    places = [str(runs.release(c)) for c in candidates]
    names, _other = workers.ask(tasks.decidable, places, seconds=PATIENCE)
    said = _("What matters to you: their pairs are counted.")
    columns = st.multiselect(
        _("Columns"), names, default=names[:SHOWN], key="decide_columns", help=said, placeholder=_("Choose columns")
    )
    epsilon, delta = caps.amounts("decide", _("deciding"), usual=USUAL, delta=USUAL_DELTA)
    label = _("Spend epsilon {epsilon:g} and decide")
    if not st.button(label.format(epsilon=epsilon), key="decide", disabled=not columns, icon=":material/how_to_vote:"):
        return
    with frame.told():
        _other, asked = workers.ask(tasks.decidable, places, columns, seconds=PATIENCE)
        runs.decide(job, candidates, asked, epsilon=epsilon, delta=delta)
        st.rerun()


def _settle(job: jobs.Job, status: jobs.Status) -> None:
    """Records the winner: the run whose synthetic table is nearest to the noisy counts; none without counts."""
    if status.state != "done":
        return
    folder, who = job.path.parent, access.allow("decide", job.request().get("owner"))
    candidates = [access.job("decide", folder / name) for name in job.request()["decides"]]
    places = [str(runs.release(c)) for c in candidates]
    gaps = workers.ask("app_api.choice_distances", str(runs.counted(job)), places, seconds=PATIENCE)
    winner = candidates[gaps.index(min(gaps))]
    line = runs.charged_line(job) if job.run else None
    looks.decide(winner, [c for c in candidates if c.path != winner.path], by=who.name, line=line.number if line else 0)


def counts(job: jobs.Job, others: list[jobs.Job]) -> Path:
    """The noisy counts that decided between exactly these runs. Errors: InputError where they are gone."""
    part = sorted(one.path.name for one in (job, *others))
    for one in jobs.those(lambda one: sorted(one.request().get("decides", ())) == part):
        if runs.counted(one).exists():
            return runs.counted(one)
    raise synth.InputError(_("the noisy counts that decided are no longer there; release all of these runs together"))


def _outcome(job: jobs.Job) -> None:
    status = job.status()
    if status.state != "done":
        st.error(f"{frame.escape(runs.why(job))}.", icon=":material/error:")
        return
    for name in job.request()["decides"]:
        one = jobs.Job(job.path.parent / name)
        if (looks.choice(one) or {}).get("how") == "private":
            said = _("Noisy counts chose {named}. Open it under “All runs” to download it.")
            st.info(said.format(named=frame.escape(runs.named(one))), icon=":material/how_to_vote:")
            return
    _settle(job, status)
    st.rerun()
