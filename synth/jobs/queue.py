"""The line in which jobs of one folder wait for their turn; see worker.py for the process that waits."""

import sys
from pathlib import Path

from synth.errors import SynthError
from synth.jobs.job import Job, listing

QUEUED = (sys.executable, "-m", "synth.jobs.worker")  # for Job.start: one worker at a time


def ahead(job: Job) -> int:
    """How many unfinished jobs beside this one were made before it: its place in the line, 0 for the first."""
    return sum(_waits(other) for other in listing(job.path.parent) if other.path.name < job.path.name)


_ended: set[Path] = set()  # jobs that were seen to have ended, which is for good


def _waits(job: Job) -> bool:
    """Whether a process of this job waits or works."""
    if job.path in _ended:
        return False
    try:
        status = job.status()
    except SynthError:
        return False
    if status.final:
        _ended.add(job.path)
    return status.pid is not None and not status.final
