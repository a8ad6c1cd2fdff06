"""The line in which jobs of one folder wait for their turn; see turn.py for the process that waits."""

import sys

from synth.errors import SynthError
from synth.jobs.folder import Job, listing

QUEUED = (sys.executable, "-m", "synth.jobs.turn")  # for Job.start: one worker at a time


def ahead(job: Job) -> int:
    """How many unfinished jobs beside this one were made before it: its place in the line, 0 for the first."""
    return sum(_waits(other) for other in listing(job.path.parent) if other.path.name < job.path.name)


def _waits(job: Job) -> bool:
    """Whether a process of this job waits or works."""
    try:
        status = job.status()
    except SynthError:
        return False
    return status.pid is not None and not status.final
