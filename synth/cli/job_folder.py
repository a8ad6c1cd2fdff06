"""A job's folder around a command: what it asks for, how far it is, and how it ended."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.cli import job_report
from synth.cli.answer import write_text
from synth.cli.job_status import reported
from synth.cli.rights import audience
from synth.errors import UsageError

if TYPE_CHECKING:
    from synth.jobs.job import Job
    from synth.pipeline.request import RefitRequest, RunRequest, VerifiedRequest


def carry_out(folder: Path, *, approved_by: str | None) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Does what a job's folder asks for: the answer, and a run's card. Errors: as of the command."""
    from synth import jobs
    from synth.pipeline.request import (
        LearningRequest,
        RefitRequest,
        ReportRequest,
        StatisticsRequest,
        VerifiedRequest,
        read,
    )

    held = jobs.Job(folder)
    if held.status().final:
        raise UsageError(f"job {held.path}: has ended; start a new one")
    request = read(held.request(), name=f"job {held.path}")
    if isinstance(request, RefitRequest):
        result, _ = refit(request.model_copy(update={"out": request.out or str(held.path / "release")}), held.path)
        return result.plain(), result.card
    if isinstance(request, ReportRequest):
        return job_report.write(request, held.path), None
    request = _completed(request, held, approved_by)
    if isinstance(request, LearningRequest):
        return _learn(request, held.path), None
    if isinstance(request, StatisticsRequest):
        return _statistics(request, held.path), None
    if isinstance(request, VerifiedRequest):
        return _answers(request, held.path), None
    result, _ = run(request, held.path)
    return result.plain(), result.card


def _completed(request: "RunRequest", held: "Job", approved_by: str | None) -> "RunRequest":
    """With the schema that lies in the folder, the place for the release and the id of the charge."""
    from synth import jobs

    return request.changed(
        schema_file=request.schema_file or held.path / jobs.DESCRIPTION,
        out=request.out or held.path / "release",
        approved_by=approved_by or request.approved_by,
        run=held.run,
    )


def refit(request: "RefitRequest", job: Path | None) -> tuple[Any, Path]:
    """Another fit to a release, and the job's folder."""
    from synth.pipeline.run import refit as fitted

    with reported(job, request.stored()) as (report, folder):
        return fitted(**request.arguments(), reporter=report), folder


def run(request: "RunRequest", job: Path | None) -> tuple[Any, Path]:
    """A charged run, and the job's folder."""
    from synth import jobs
    from synth.pipeline.prepare import Context
    from synth.pipeline.run import carry_out as carried_out
    from synth.schema.dataset import load_any

    with reported(job, _shown(request)) as (report, folder):
        facts = load_any(str(request.schema_file), complete=request.learn_share is None)
        context = Context(reporter=report, log=folder / "steward.json", audience=audience(folder))
        return carried_out(request.changed(run=jobs.Job(folder).run), facts, context), folder


def _learn(request: "RunRequest", job: Path) -> dict[str, Any]:
    from synth import jobs
    from synth.pipeline.prepare import Context
    from synth.pipeline.run import carry_out_learning
    from synth.schema.dataset import load_any

    with reported(job, {}) as (report, folder):
        known = load_any(str(request.schema_file), complete=False)
        result = carry_out_learning(request, known, Context(reporter=report, audience=audience(folder)))
        write_text(folder / jobs.LEARNT, result.to_json())
    return {"epsilon_spent": request.epsilon, "delta": request.delta, "paths": {"schema": str(folder / jobs.LEARNT)}}


def _statistics(request: "RunRequest", job: Path) -> dict[str, Any]:
    from synth import jobs
    from synth.pipeline.prepare import Context
    from synth.pipeline.statistics import carry_out as carried_out
    from synth.schema import table as schemas

    with reported(job, {}) as (report, folder):
        known = schemas.load(str(request.schema_file))
        result = carried_out(request, known, Context(reporter=report, audience=audience(folder))).plain()
        write_text(folder / jobs.COUNTS, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    paths = {"statistics": str(folder / jobs.COUNTS)}
    return {"epsilon_spent": request.epsilon, "delta": request.delta, **result, "paths": paths}


def _answers(request: "VerifiedRequest", job: Path) -> dict[str, Any]:
    from synth.pipeline.prepare import Context
    from synth.pipeline.verified import Questions
    from synth.report import answer_page
    from synth.schema.dataset import load_any

    with reported(job, {}) as (report, folder):
        known = load_any(str(request.schema_file))
        asked = Questions(request.release, request.questions)
        answer = asked.carry_out(request, known, Context(reporter=report, audience=audience(folder))).plain()
        paths = answer_page.write(answer, folder / answer_page.ANSWER)
    return {"epsilon_spent": request.epsilon, "delta": request.delta, "paths": paths}


def _shown(request: "RunRequest") -> dict[str, Any]:
    """The request as a folder on this machine may keep it: no password, no user."""
    from synth.sources.named_databases import shown

    source = request.source
    named = source is None or source.startswith("@")
    return request.stored() | ({} if named else {"source": shown(str(source))})
