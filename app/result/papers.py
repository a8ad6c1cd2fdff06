"""The papers of a release: one form a dataset, what nobody has written yet, and what of it goes into the bundle."""

import json
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import streamlit as st

import synth
from app.session import access, frame, tasks, workers
from synth import app_api
from synth.app_api import jobs, looks
from synth.languages import _, ngettext

PATIENCE = 300.0  # seconds
OWN = "papers.json"  # beside a run: the answers that its bundle was packed with
ONE_LINE = (
    "controller",
    "contact",
    "approver",
    "approved",
    "licence",
    "name",
    "curators",
    "region",
    "sector",
    "published",
)


def store(job: jobs.Job) -> Path:
    """The file of the form of a run's dataset, however the dataset's name is written."""
    named = app_api.canonical(str(job.request()["dataset"]))
    return jobs.home().parent / "papers" / f"{sha256(named.encode()).hexdigest()[:24]}.json"


def read(job: jobs.Job) -> tuple[dict[str, Any], bool]:
    """The answers for a run, and whether unfinished papers are wanted too.

    What a reviewer has released keeps the answers that he saw; where nobody else is named, he is who approved.
    """
    form, mark = _json(store(job)), looks.released(job) or {}
    reviewer = mark.get("approved_by")
    if not reviewer:
        return dict(form.get("answers") or {}), bool(form.get("unfinished"))
    shown = mark.get("shown") or {"papers": _json(job.path / OWN), "unfinished": form.get("unfinished")}
    # what was empty stays so: nobody writes under another's signature
    return approved(shown["papers"], reviewer, str(mark.get("time"))[:10]), bool(shown["unfinished"])


def approved(answers: dict[str, Any], reviewer: str, day: str) -> dict[str, Any]:
    """The answers, which name whoever released it where they name nobody."""
    named = {} if app_api.papers.approval(answers) else {"approver": reviewer, "approved": day}
    return {**answers, **named}


def _json(file: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        documents = json.loads(file.read_text(encoding="utf-8"))
        return documents if isinstance(documents, dict) else {}
    return {}


def changed(job: jobs.Job) -> float:
    """When the answers last changed, as a file's time; 0 before anybody wrote one."""
    times = [f.stat().st_mtime for f in (store(job), job.path / looks.RELEASED) if f.exists()]
    return max(times, default=0.0)


def answers(job: jobs.Job) -> dict[str, Any]:
    """The answers that a run's bundle is packed with; they are kept beside the run."""
    result, file = read(job)[0], job.path / OWN
    text = json.dumps(result, ensure_ascii=False)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        jobs.write_file(file, text)
    return result


def begun(job: jobs.Job, place: Path) -> Future[Any]:
    """Each paper with what it waits for, worked out beside the page."""
    key = ("papers", str(job.path), changed(job))
    return workers.once(key, lambda: workers.ask(tasks.papers, str(place), answers(job), seconds=PATIENCE))


def section(job: jobs.Job, place: Path) -> None:
    """What is still to be written, and the form for it."""
    documents = begun(job, place).result()
    waiting = {name: None for paper in documents for name in paper["waiting"]}
    finished = sum(not paper["waiting"] for paper in documents)
    many = _("Papers: {finished} of {all} are finished").format(finished=finished, all=len(documents))
    frame.fold(many, "papers_open", lambda: _papers(job, waiting))


def _papers(job: jobs.Job, waiting: dict[str, None]) -> None:
    if waiting:
        left = _("They go into the zip with what is missing marked.") if read(job)[1] else _("The others stay out.")
        st.caption(_("Still to be written: {labels}. {left}").format(labels=_left(waiting), left=left))
    else:
        st.caption(_("They are in the zip."))
    st.caption(
        _("One form for all releases of {dataset}; the PDF has card, report and papers, for whoever signs.").format(
            dataset=frame.escape(str(job.request()["dataset"]))
        )
    )
    _form(job, waiting)


def _left(waiting: Iterable[str]) -> str:
    """What is still to be written: of the short form by name, of what single papers ask besides how much."""
    short = [_(app_api.papers.SIGNED[n].label) for n in waiting if n in app_api.papers.SIGNED]
    more = sum(n not in app_api.papers.SIGNED for n in waiting)
    return ", ".join(
        [*short, *([ngettext("{n} answer of single papers", "{n} answers of single papers", more)] if more else [])]
    )


def _form(job: jobs.Job, waiting: dict[str, None]) -> None:
    answers, unfinished = read(job)
    with st.form("papers", border=False):
        short, besides = st.tabs([_("In short"), _("What single papers ask besides")])
        for tab, fields in ((short, app_api.papers.SIGNED), (besides, app_api.papers.MORE)):
            with tab:
                for name, field in fields.items():
                    _ask(name, field, answers.get(name) or "", open=name in waiting)
        st.checkbox(
            _("Put papers into the zip too that are not finished"),
            unfinished,
            key="papers_unfinished",
            help=_("What is missing is marked in them."),
        )
        if st.form_submit_button(_("Save the papers"), key="save_papers", type="primary", icon=":material/save:"):
            _save(job)


def _ask(name: str, field: Any, value: Any, *, open: bool) -> None:
    """One question; it says what some paper waits for."""
    text = value if isinstance(value, str) else ", ".join(value)
    label = _("{label} (still open)").format(label=_(field.label)) if open else _(field.label)
    ask = st.text_input if name in ONE_LINE else st.text_area
    ask(label, text, key=f"paper_{name}", help=_(field.wanted))


def _save(job: jobs.Job) -> None:
    access.allow("write_papers", job.request().get("owner"))
    given = {n: str(st.session_state.get(f"paper_{n}") or "").strip() for n in app_api.papers.FIELDS}
    try:
        answers = app_api.papers.checked(given)
    except synth.SynthError as error:
        frame.tell(error)
        return
    place = store(job)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    record = {"answers": answers, "unfinished": bool(st.session_state.get("papers_unfinished")), "by": access.me().name}
    jobs.write_file(place, json.dumps(record, ensure_ascii=False))
    st.rerun()
