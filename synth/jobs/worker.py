"""One run at a time: a job's process waits for its turn and then becomes the worker.

``python -m synth.jobs.worker ARGUMENTS... --job FOLDER`` stands in line behind the unfinished jobs beside FOLDER that
were made earlier, takes the lock that the folder's home holds, and turns into ``python -m synth ARGUMENTS... --job
FOLDER``. Nobody hands out turns, so nothing has to be restarted: the system frees the lock of a process that dies.
"""

import contextlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from synth.jobs.job import PROGRAM, Job, Status, ahead

try:
    import fcntl
except ImportError:  # not on Windows: order alone must do
    fcntl = None  # type: ignore[assignment]

LOCK = ".turn"
PAUSE = 0.25  # seconds between two looks at the line, for the first in it
SLOWEST = 8  # pauses between two looks, at most
KINDNESS = 5  # what a run adds to its nice value: pages come first
LEFT = "cancelled while it waited; nothing was spent"


def wait_turn(job: Job) -> bool:
    """Returns True as the holder of the lock, for as long as this process lives; False when asked to stop."""
    handle = os.open(job.path.parent / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    os.set_inheritable(handle, True)  # so that the worker, which is this process, keeps it
    while (waits := ahead(job)) or not _locked(handle):
        for _ in range(min(max(waits, 1), SLOWEST)):  # whoever stands far back need not look often
            if job.cancel_asked:
                return False
            time.sleep(PAUSE)
    return not job.cancel_asked


def _locked(handle: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def main(arguments: Sequence[str]) -> NoReturn:
    """Waits, then becomes the worker of the job that the last argument names."""
    job = Job(Path(arguments[-1]))
    if not wait_turn(job):
        job.write(Status(state="cancelled", message=LEFT, exit_code=130))
        sys.exit(130)
    with contextlib.suppress(OSError, AttributeError):
        os.nice(KINDNESS)
    os.execv(sys.executable, [*PROGRAM, *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
