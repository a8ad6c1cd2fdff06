"""The papers of a release: answers by dataset, what nobody has written yet, and what of it goes into the bundle."""

import json
from concurrent.futures import Future
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import streamlit as st

from app.run import runs
from app.session import access, frame, tasks, workers
from app.table import statements
from synth import app_api
from synth.app_api import jobs, looks
from synth.languages import _, current, ngettext

PATIENCE = 300.0  # seconds
RECORDS = "records"  # of what no paper asks, but the records for catalogues that are in the zip
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


def read(job: jobs.Job) -> tuple[dict[str, Any], list[str]]:
    """The answers for a run, and the unfinished papers that are wanted all the same.

    What a reviewer has released keeps the answers that he saw; where nobody else is named, he is who approved.
    """
    form, mark = jobs.read_json(store(job)) or {}, looks.released(job) or {}
    reviewer = mark.get("approved_by")
    if not reviewer:
        return dict(form.get("answers") or {}), _files(job, form.get("unfinished"))
    shown = mark.get("shown") or {"papers": jobs.read_json(job.path / OWN) or {}, "unfinished": form.get("unfinished")}
    # what was empty stays so: nobody writes under another's signature
    return approved(shown["papers"], reviewer, str(mark.get("time"))[:10]), _files(job, shown["unfinished"])


def approved(answers: dict[str, Any], reviewer: str, day: str) -> dict[str, Any]:
    """The answers, which name whoever released it where they name nobody."""
    named = {} if app_api.papers.approval(answers) else {"approver": reviewer, "approved": day}
    return {**answers, **named}


def _files(job: jobs.Job, noted: Any) -> list[str]:
    """Papers by their files; an earlier version noted of all of them together whether they are wanted."""
    if noted is True:
        return sorted(paper.file for paper in app_api.unwritten_papers(runs.release(job), {}))
    return list(noted or ())


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
    language = current()
    key = ("papers", str(job.path), changed(job), language)

    def make() -> Any:
        return workers.ask(tasks.papers, str(place), answers(job), seconds=PATIENCE, language=language)

    return workers.once(key, make)


def section(job: jobs.Job, place: Path) -> None:
    """The papers, of which one is open at a time: each asks what it lacks, and is saved by itself."""
    documents, answers = begun(job, place).result(), read(job)[0]
    finished = sum(not paper["waiting"] for paper in documents)
    asked = {name for paper in documents for name in paper["asks"]}
    rest = [name for name in app_api.papers.FIELDS if name not in asked]
    records = {"file": RECORDS, "title": _("Records for catalogues"), "asks": rest, "waiting": []}
    every = {paper["file"]: paper for paper in [*documents, records]}
    for paper in every.values():
        paper["lacks"] = [n for n in paper["asks"] if n in paper["waiting"] or not answers.get(n)]
    many = _("Papers: {finished} of {all} are finished").format(finished=finished, all=len(documents))
    frame.fold(many, "papers_open", lambda: _papers(job, every))


def _papers(job: jobs.Job, every: dict[str, Any]) -> None:
    said = _(
        "Finished ones are in the zip; one that nobody has begun stays out. One answer serves all papers, and all "
        "releases of {dataset}. The PDF has card, report and papers, for whoever signs."
    )
    st.caption(said.format(dataset=frame.escape(str(job.request()["dataset"]))))
    said = _("A tick: finished. Of one that was begun it says how many answers are lacking.")
    file = st.pills(_("Paper"), list(every), key="paper", format_func=lambda f: _named(every[f]), help=said)
    if file is not None:
        _form(job, every[file])


def _named(paper: dict[str, Any]) -> str:
    left, title = len(paper["lacks"]), paper["title"].partition(":")[0]
    if not left:
        return f":material/check: {title}"
    return title if left == len(paper["asks"]) else _("{title} ({left} lacking)").format(title=title, left=left)


def _form(job: jobs.Job, paper: dict[str, Any]) -> None:
    """What the paper lacks, with what is known already; and the answers that it has."""
    answers, unfinished = read(job)
    drafts = _known(job)
    with st.form(f"form_{paper['file']}", border=False):
        for name in paper["lacks"]:
            _ask(paper, name, drafts.get(name, ""))
        if given := [name for name in paper["asks"] if name not in paper["lacks"]]:
            with st.expander(ngettext("{n} answer that it has", "{n} answers that it has", len(given))):
                for name in given:
                    _ask(paper, name, answers.get(name) or "")
        if paper["waiting"]:
            said = _("What is missing is marked in it.")
            label = _("Put it into the zip as it is")
            st.checkbox(label, paper["file"] in unfinished, key=f"unfinished_{paper['file']}", help=said)
        if st.form_submit_button(_("Save this paper"), key="save_papers", type="primary", icon=":material/save:"):
            _save(job, paper)


def _ask(paper: dict[str, Any], name: str, value: Any) -> None:
    """One question, with what is wanted and by which paper."""
    field, text = app_api.papers.FIELDS[name], value if isinstance(value, str) else ", ".join(value)
    ask = st.text_input if name in ONE_LINE else st.text_area
    said = _("{wanted} For: {title}.").format(wanted=_(field.wanted), title=paper["title"].partition(":")[0])
    usual = access.me().name if name == "contact" else None  # an address is public once its owner has typed it
    ask(_(field.label), text, key=f"{paper['file']}_{name}", placeholder=usual, help=said)


def _known(job: jobs.Job) -> dict[str, str]:
    """Drafts of answers from what the application knows; they count once somebody saves them."""
    facts = jobs.read_json(runs.release(job) / "schema.json") or {}
    uses = "; ".join(statements.use_sentence(use) for use in facts.get("uses") or ())
    return {
        "intended_use": _("{uses}; not for statements about single rows.").format(uses=uses) if uses else "",
        "name": _("Synthetic rows of {name}").format(name=job.request()["dataset"]),
        "published": date.today().isoformat(),
    }


def _save(job: jobs.Job, paper: dict[str, Any]) -> None:
    access.allow("write_papers", job.request().get("owner"))
    held = jobs.read_json(store(job)) or {}
    given = {n: str(st.session_state.get(f"{paper['file']}_{n}") or "").strip() for n in paper["asks"]}
    with frame.told():
        answers = app_api.papers.checked({**(held.get("answers") or {}), **given})
        wanted = set(_files(job, held.get("unfinished"))) - {paper["file"]}
        wanted |= {paper["file"]} if st.session_state.get(f"unfinished_{paper['file']}") else set()
        place = store(job)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        record = {"answers": answers, "unfinished": sorted(wanted), "by": access.me().name}
        jobs.write_file(place, json.dumps(record, ensure_ascii=False))
        st.rerun()
