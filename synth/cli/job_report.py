"""The steward's report as a job: it reads the real rows for him alone, spends nothing, and ends where he cancels it."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.cli.job_status import reported

if TYPE_CHECKING:
    from synth.pipeline.request import ReportRequest

POLL = 0.3  # seconds between two looks whether somebody cancelled
CANCELLED = "cancelled; nothing was spent, and no report was written"


def write(request: "ReportRequest", job: Path) -> dict[str, Any]:
    """Notes the look, examines the release and writes the page: the command's answer. Errors: as `synth report`."""
    from synth.report.words import written

    with written(request.language):
        return _write(request, job)


def _write(request: "ReportRequest", job: Path) -> dict[str, Any]:
    from synth.evaluate.examination import STAGES
    from synth.release import folder as folders
    from synth.report import chosen_release
    from synth.report.steward import related
    from synth.report.steward import write as steward

    if folders.is_related(request.release):
        with reported(job, {}, {"open": 0.9, "write": 0.1}) as (report, folder):
            with _ended_when_asked(folder, report):
                report.stage("open")
                chosen_release.look(request.release)
                pages = related.examine(request.release, request.out, real=_real_tables(request))
            report.stage("write")
            paths = steward.put(pages)
        return {"epsilon_spent": 0.0, "paths": paths}
    attacked = {"shadow": 1.0} if request.shadow_runs else {}
    with reported(job, {}, {**attacked, **STAGES, "write": 0.05}) as (report, folder):
        test = folder / request.test if request.test else None
        with _removed(test), _ended_when_asked(folder, report, test):
            chosen_release.look(request.release)
            examination = steward.examine(
                request.release, real=_real(request), test=test, shadow_runs=request.shadow_runs, stage=report.stage
            )
            report.stage("write")
        paths = steward.write(examination, request.release, request.out)
    return {"epsilon_spent": 0.0, "paths": paths}


def _real(request: "ReportRequest") -> Path:
    """The real table as a file; else a copy where a killed process leaves nothing that the next one does not remove."""
    from synth.schema import table as schemas
    from synth.sources import named_databases
    from synth.sources.engines import duckdb

    table = Path(request.table)
    if not request.source and table.is_file():
        return table
    columns = list(schemas.load(Path(request.release) / "schema.json").columns)
    copy = duckdb.spill_folder() / "copy.parquet"
    named_databases.fetch(request.source, request.table, copy, columns=columns)
    return copy


def _real_tables(request: "ReportRequest") -> str | Path:
    """The real tables as a folder, or as one file where persons keep their rows; of a database's a copy, as above."""
    from synth.release.folder import load_release
    from synth.sources import named_databases
    from synth.sources.engines import duckdb

    if not request.source:
        return request.table
    schema = load_release(request.release, tree=True).schema
    if not schema.several:
        return _real(request)
    for name, one in schema.written.items():
        named_databases.fetch(
            request.source, name, duckdb.spill_folder() / f"{name}.parquet", columns=list(one.columns)
        )
    return duckdb.spill_folder()


@contextmanager
def _removed(test: Path | None) -> Iterator[None]:
    """Removes the rows that were held out, however the report ends."""
    try:
        yield
    finally:
        if test is not None:
            test.unlink(missing_ok=True)


@contextmanager
def _ended_when_asked(folder: Path, report: Any, test: Path | None = None) -> Iterator[None]:
    """Ends the process soon after somebody cancelled: a stage takes long, and nothing is written yet."""
    from synth import jobs
    from synth.sources.engines import duckdb

    job, done = jobs.Job(folder), threading.Event()

    def watch() -> None:
        while not done.wait(POLL):
            if job.cancel_asked:
                shutil.rmtree(duckdb.spill_folder(), ignore_errors=True)  # this process's own, with the copy
                if test is not None:
                    test.unlink(missing_ok=True)
                report.finish("cancelled", CANCELLED, 130)
                os._exit(130)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
