"""The status of a job's folder while a command works: how far it is, and how it ended."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from synth.cli.answer import leave
from synth.cli.spelling import spelled
from synth.errors import COMMITTED, SpentError, SynthError, ended


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
        report.finish("cancelled" if cancelled else "failed", str(error), error.exit_code)
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
