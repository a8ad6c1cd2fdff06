"""A job's folder around a command: what it asks for, for whom, how far it is, and how it ended."""

import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.cli.answer import as_file, leave, spelled, write_text
from synth.errors import COMMITTED, SpentError, SynthError, UsageError, ended

if TYPE_CHECKING:
    from synth.pipeline.prepare import Context
    from synth.pipeline.request import RefitRequest, ReportRequest, RunRequest
    from synth.privacy.ledger.row_marks import Audience

POLL = 0.3  # seconds between two looks whether somebody cancelled
CANCELLED = "cancelled; nothing was spent, and no report was written"


def audience(job: Path | None = None) -> "Audience":
    """What the owner of the ``job`` may know, by default of the one that this process works for.

    That is all in the ledger, or with a file of roles the tables that the owner may open.
    """
    from synth.jobs.job import FOLDER
    from synth.pipeline.same_rows import audience_of

    owner, named = "", job or os.environ.get(FOLDER)
    if named:
        with suppress(OSError, ValueError, AttributeError):
            owner = str(json.loads((Path(named) / "request.json").read_text(encoding="utf-8")).get("owner") or "")
    return audience_of(owner)


@contextmanager
def reported(
    folder: Path | None, request: dict[str, Any], stages: dict[str, float] | None = None
) -> Iterator[tuple[Any, Path]]:
    """A job folder with status and cancel file around a command; its last status says how that ended."""
    from synth import jobs
    from synth.pipeline.reporting import STAGES

    known = folder is not None and (folder / "request.json").exists()  # the application made it
    job = jobs.Job(folder) if folder is not None and known else jobs.create(request, folder=folder)
    report = jobs.Reporter(job, stages=stages or STAGES, bar=True, words=spelled)
    try:
        with report:
            yield report, job.path
        report.finish("done", "done", 0)
    except SynthError as error:
        cancelled = isinstance(error, SpentError) and str(error).startswith("cancelled")
        report.finish("cancelled" if cancelled else "failed", error.said, error.exit_code)
        _end(error.exit_code)
        raise
    except (jobs.Cancelled, KeyboardInterrupt):
        message, code = ended("cancelled" if COMMITTED else "cancelled before anything was spent", 130)
        report.finish("cancelled", message, code)
        leave("cancelled" if COMMITTED else message, 130)
    except BaseException as error:
        message, code = ended(f"internal error {type(error).__name__}", 1)
        report.finish("failed", message, code)
        _end(code)
        raise


def _end(code: int) -> None:
    """Ends a worker of the application: its stderr is a file that others read, and says no more than the status."""
    from synth import jobs

    if os.environ.get(jobs.FOLDER):
        leave(jobs.UNSAID, code)


def carry_out(folder: Path, *, approved_by: str | None) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Does what a job's folder asks for: the answer, and a run's card. Errors: as of the command."""
    from synth import jobs
    from synth.pipeline import request as stored
    from synth.pipeline.prepare import Context

    job = jobs.Job(folder)
    if job.status().final:
        raise UsageError(f"job {job.path}: has ended; start a new one")
    request = stored.read(job.request(), name=f"job {job.path}")
    if isinstance(request, stored.RefitRequest):
        made, _ = refit(request.model_copy(update={"out": request.out or str(job.path / "release")}), job.path)
        return made.plain(), made.card
    if isinstance(request, stored.ReportRequest):
        return _report(request, job.path), None
    request = request.changed(  # with the schema that lies in the folder, and the id of the charge
        schema_file=request.schema_file or job.path / jobs.DESCRIPTION,
        out=request.out or job.path / "release",
        approved_by=approved_by or request.approved_by,
        run=job.run,
    )
    if isinstance(request, stored.LearningRequest | stored.StatisticsRequest | stored.VerifiedRequest):
        with reported(job.path, {}) as (report, _):
            plain = _asked(request, job.path, Context(reporter=report, audience=audience(job.path)))
        return {"epsilon_spent": request.epsilon, "delta": request.delta, **plain}, None
    made, _ = run(request, job.path)
    return made.plain(), made.card


def refit(request: "RefitRequest", job: Path | None) -> tuple[Any, Path]:
    """Another fit to a release, and the job's folder."""
    from synth.pipeline.run import refit as fitted

    with reported(job, request.stored()) as (report, folder):
        return fitted(**request.arguments(), reporter=report), folder


def run(request: "RunRequest", job: Path | None) -> tuple[Any, Path]:
    """A charged run, and the job's folder, where neither password nor user of a database is kept."""
    from synth import jobs
    from synth.pipeline.prepare import Context
    from synth.pipeline.run import carry_out as carried_out
    from synth.schema.dataset import load_any
    from synth.sources.named_databases import shown

    stored, source = request.stored(), request.source
    if source is not None and not source.startswith("@"):
        stored["source"] = shown(source)
    with reported(job, stored) as (report, folder):
        facts = load_any(str(request.schema_file), complete=request.learn_share is None)
        context = Context(reporter=report, log=folder / "steward.json", audience=audience(folder))
        return carried_out(request.changed(run=jobs.Job(folder).run), facts, context), folder


def _asked(request: Any, folder: Path, context: "Context") -> dict[str, Any]:
    """What a job other than a run pays for: facts to learn, statistics, or answers. What was written, and where."""
    from synth import jobs
    from synth.pipeline import request as stored
    from synth.pipeline import run, statistics, verified
    from synth.report import answer_page
    from synth.schema.dataset import load_any
    from synth.schema.table import load

    place = str(request.schema_file)
    if isinstance(request, stored.LearningRequest):
        learnt = run.carry_out_learning(request, load_any(place, complete=False), context)
        write_text(folder / jobs.LEARNT, learnt.to_json())
        return {"paths": {"schema": str(folder / jobs.LEARNT)}}
    if isinstance(request, stored.StatisticsRequest):
        counts = statistics.carry_out(request, load(place), context).plain()
        write_text(folder / jobs.COUNTS, as_file(counts))
        return {**counts, "paths": {"statistics": str(folder / jobs.COUNTS)}}
    questions = verified.Questions(request.release, request.questions)
    answer = questions.carry_out(request, load_any(place), context).plain()
    return {"paths": answer_page.write(answer, folder / answer_page.ANSWER)}


def _report(request: "ReportRequest", job: Path) -> dict[str, Any]:
    """The steward's report: it reads the real rows for him alone, spends nothing, and ends where he cancels it."""
    from synth.evaluate.examination import STAGES
    from synth.release.folder import is_related
    from synth.report import chosen_release
    from synth.report.steward import write as steward
    from synth.report.words import written

    several = is_related(request.release)
    attacked = {"shadow": 1.0} if request.shadow_runs else {}
    stages = {"open": 0.9, "write": 0.1} if several else {**attacked, **STAGES, "write": 0.05}
    with written(request.language), reported(job, {}, stages) as (report, folder):
        test = folder / request.test if request.test else None
        with _ended_when_asked(folder, report, test):
            if several:
                report.stage("open")
            chosen_release.look(request.release)
            real = _real(request, several)
            how: dict[str, Any] = {"test": test, "shadow_runs": request.shadow_runs, "stage": report.stage}
            pages = steward.pages(request.release, request.out, real=real, **how)
        report.stage("write")
        paths = steward.put(pages)
    return {"epsilon_spent": 0.0, "paths": paths}


def _real(request: "ReportRequest", several: bool) -> str | Path:
    """The real tables as they lie, else a copy where a killed process leaves nothing that the next does not remove."""
    from synth.release.folder import load_release
    from synth.schema.table import load
    from synth.sources import named_databases
    from synth.sources.engines import duckdb

    table = Path(request.table)
    if not request.source and (several or table.is_file()):
        return request.table if several else table
    place, schema = duckdb.spill_folder(), load_release(request.release, tree=True).schema if several else None
    if schema is None or not schema.several:
        columns = list(load(Path(request.release) / "schema.json").columns)
        named_databases.fetch(request.source, request.table, place / "copy.parquet", columns=columns)
        return place / "copy.parquet"
    for name, one in schema.written.items():
        named_databases.fetch(request.source, name, place / f"{name}.parquet", columns=list(one.columns))
    return place


@contextmanager
def _ended_when_asked(folder: Path, report: Any, test: Path | None) -> Iterator[None]:
    """Ends the process soon after somebody cancelled: a stage takes long, and nothing is written yet.

    The rows that were held out (``test``) are removed, however the report ends.
    """
    from synth import jobs
    from synth.sources.engines import duckdb

    job, done = jobs.Job(folder), threading.Event()

    def remove() -> None:
        if test is not None:
            test.unlink(missing_ok=True)

    def watch() -> None:
        while not done.wait(POLL):
            if job.cancel_asked:
                shutil.rmtree(duckdb.spill_folder(), ignore_errors=True)  # this process's own, with the copy
                remove()
                report.finish("cancelled", CANCELLED, 130)
                os._exit(130)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        remove()
