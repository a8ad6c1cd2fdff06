"""The steward's report as a job: it reads the real rows for him alone, spends nothing, and ends where he cancels it."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.cli.job_folder import told

if TYPE_CHECKING:
    from synth.pipeline.stored_requests import ReportRequest

POLL = 0.3  # seconds between two looks whether somebody cancelled
CANCELLED = "cancelled; nothing was spent, and no report was written"


def write(request: "ReportRequest", job: Path) -> dict[str, Any]:
    """Notes the look, examines the release and writes the page: the command's answer. Errors: as `synth report`."""
    from synth.evaluate.examination import STAGES
    from synth.report import chosen_release
    from synth.report.steward import write as steward

    with told(job, {}, {**STAGES, "write": 0.05}) as (report, folder), _real(request, folder) as (real, removed):
        _ends_when_asked(folder, report, removed)
        chosen_release.look(request.release)
        found = steward.examine(request.release, real=real, stage=report.stage)
        report.stage("write")
        paths = steward.write(found, request.release, request.out)
    return {"epsilon_spent": 0.0, "paths": paths}


@contextmanager
def _real(request: "ReportRequest", folder: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """The real table as a file, or a copy that lies in the job's folder meanwhile, and what removes that."""
    from synth.schema import table as schemas
    from synth.sources import named_databases

    copy = folder / "copy.parquet"
    table = Path(request.table)
    try:
        if request.source or not table.is_file():
            columns = list(schemas.load(Path(request.release) / "schema.json").columns)
            named_databases.fetch(request.source, request.table, copy, columns=columns)
            table = copy
        yield table, lambda: copy.unlink(missing_ok=True)
    finally:
        copy.unlink(missing_ok=True)


def _ends_when_asked(folder: Path, report: Any, removed: Callable[[], None]) -> None:
    """Ends the process soon after somebody cancelled: a stage takes long, and there is nothing to put in order."""
    from synth import jobs

    job = jobs.Job(folder)

    def watch() -> None:
        while not job.cancel_asked:
            time.sleep(POLL)
        removed()
        report.finish("cancelled", CANCELLED, 130)
        os._exit(130)

    threading.Thread(target=watch, daemon=True).start()
