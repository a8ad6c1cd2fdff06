"""Questions about a release: asked by whoever may, decided on by the steward whose run it was, answered by a job."""

import json
from pathlib import Path
from typing import Any

import synth
from app.result import releasing
from app.run import caps, runs
from app.session import access
from app.table import owning
from synth import app_api
from synth.app_api import jobs, looks
from synth.languages import _

Asked = jobs.asked.Asked
DELTA = 1e-5


def releases() -> list[jobs.Job]:
    """The runs whose tables the visitor may ask about, newest first: released ones, and his own."""
    return [j for j in jobs.listing() if _open(j)]


def _open(job: jobs.Job) -> bool:
    try:
        about = job.request()
        if not looks.makes_rows(job) or "epsilon" not in about or about.get("task") == "refit":
            return False
        if job.status().state != "done" or not runs.release(job):
            return False
        own = access.me().may("watch", about.get("owner"))
        return own or (looks.released(job) is not None and not releasing.barrier(job))
    except synth.SynthError:
        return False


def ask(job: jobs.Job, questions: Any, *, epsilon: float, why: str) -> Asked:
    """Stores a question for the steward of the release. Errors: UsageError, also for one that it cannot answer."""
    who = access.allow("ask_question")
    if not any(job.path == j.path for j in releases()):
        raise synth.UsageError(_("this table was not released, or is gone; choose another one"))
    if not why.strip() and not who.alone:
        raise synth.UsageError(_("say why the question is asked; the steward decides by that"))
    synth.Release(runs.release(job)).question(questions)
    return jobs.asked.ask(by=who.name, why=why, job=job, questions=questions, epsilon=epsilon)


def seen() -> list[Asked]:
    """The questions that the visitor asked, or decides on, newest first; a reviewer sees all."""
    who = access.me()
    return [
        a
        for a in jobs.asked.listing()
        if who.may("withdraw_question", a.by) or who.may("approve_spend", owner(a)) or decides(a)
    ]


def owner(asked: Asked) -> str | None:
    """Whose run the question is about; nobody's where it is gone."""
    try:
        return str(asked.run.request().get("owner") or "") or None
    except synth.SynthError:
        return None


def decides(asked: Asked) -> bool:
    """Whether the visitor decides on this question."""
    who = access.visitor()
    try:
        return who is not None and who.may("answer_question", asked.run.request().get("owner"))
    except synth.SynthError:
        return False


def answer(asked: Asked, *, epsilon: float, delta: float = DELTA) -> jobs.Job:
    """Puts the answer in line, or before a reviewer where the roles ask for one. Errors: UsageError."""
    about = asked.run.request()
    who, name = access.allow("answer_question", about.get("owner")), str(about["dataset"])
    owning.allow("use_table", Path(str(about["table"])), about.get("source"))
    runs.may_spend(who, name)
    rules, place = access.rules(), runs.release(asked.run)
    rules.put_down(synth.Ledger(), name)
    caps.first(name)
    request = app_api.VerifiedRequest(
        table=str(about["table"]),
        source=about.get("source"),
        schema=str(place / "schema.json"),
        epsilon=epsilon,
        delta=delta,
        relation=about["relation"],
        dataset=name,
        label=about.get("label"),
        owner=who.name,
        release=str(place),
        questions=asked.questions,
        asks=asked.name,
        asked_by=asked.by,
        why=asked.why,
    )
    job = jobs.create(request.stored())
    try:
        asked.decide("answered", by=who.name, job=job)
    except synth.UsageError:
        job.cancel()
        raise
    if rules.needs_approval(name, epsilon):  # of a server that is killed before, the question is decided anew
        job.write(jobs.Status(state="held"))
        return job
    return runs.queued(job)


def decline(asked: Asked, why: str) -> None:
    """Refuses a question, for a reason that its asker reads; nothing is spent. Errors: UsageError."""
    who = access.allow("decline_question", asked.run.request().get("owner"))
    asked.decide("refused", by=who.name, why=why)


def withdraw(asked: Asked) -> None:
    """Takes a question back that nobody has decided on. Errors: UsageError."""
    who = access.allow("withdraw_question", asked.by)
    asked.decide("withdrawn", by=who.name)


def part(asked: Asked, name: str) -> bytes:
    """A file of the answer, for whoever asked or decided. Errors: UsageError; InputError where it is gone."""
    if not decides(asked):
        access.allow("read_answer", asked.by)
    job = asked.answer
    if job is None or job.status().state != "done":
        raise synth.InputError(_("this question has no answer yet; look again later"))
    try:
        return (job.path / name).read_bytes()
    except OSError:
        raise synth.InputError(_("the files of this answer are no longer there; ask again")) from None


def page(asked: Asked) -> bytes:
    """The answer as a page, in the language of whoever asks for it. Errors: as of ``part``."""
    return str(app_api.answer_page(json.loads(part(asked, app_api.ANSWER)))).encode()


def reserve(name: str, epsilon: float) -> None:
    """Keeps a part of a dataset's cap for questions, in the visitor's name. Errors: UsageError."""
    who, book = access.allow("set_reserve"), synth.Ledger()
    runs.may_spend(who, name)
    held = book.policy(name)
    if held is None or held.max_epsilon is None:
        raise synth.UsageError(_("{name} has no cap of which a part could be kept; set one first").format(name=name))
    book.set_policy(
        name,
        max_epsilon=held.max_epsilon,
        max_delta=held.max_delta or 0.0,
        relation=held.relation,
        unit=held.unit,
        actor=who.name or None,
        approved_by=held.approved_by,
        reserve=epsilon,
    )
