"""Runs as folders: what the command line and the app share of a run under way.

A job is a folder with ``request.json`` (public options), ``status.json`` (replaced whole, so that a reader
never meets half of it), ``process.json`` (who was started), ``run`` (the id that its charge carries), ``cancel`` (its
presence asks to stop), ``log.txt`` (the worker's stderr) and ``result.json`` (its stdout). No private value belongs in
any of them, and no outcome of a check of private rows: that some row is ragged, that there is none, that these were
charged before, is exact and free of budget. So why a job failed stands in ``why.json`` alone, whatever the reason is,
for whoever may open its table; everybody else is told ``UNSAID``.

A process is known by its number and by when it began: numbers are given again, and the clock may be set meanwhile. Jobs
of one folder wait for their turn in a line; see worker.py for the process that waits.
"""

import json
import os
import secrets
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import psutil
from pydantic import Field, TypeAdapter, ValidationError

from synth.errors import InputError, SynthError, UsageError
from synth.files import regular_files, whole_files
from synth.languages import as_said, with_said

PROC = Path("/proc")


def identity(pid: int | None = None) -> str | None:
    """When a process (by default this one) began: the machine's start and the ticks since, whatever the clock says.

    None for a process that is not there.

    >>> identity() == identity(os.getpid())
    True
    """
    number = os.getpid() if pid is None else pid
    try:
        stat = (PROC / str(number) / "stat").read_text(encoding="utf-8", errors="replace")
        boot = PROC / "sys/kernel/random/boot_id"
        begun = boot.read_text(encoding="utf-8").strip() if boot.exists() else "unknown"
        return f"{begun}/{stat.rsplit(')', 1)[1].split()[19]}"
    except (OSError, IndexError):
        if (PROC / "self" / "stat").exists():
            return None
    try:
        return str(psutil.Process(number).create_time())  # not Linux: a clock that is set makes it another process
    except psutil.Error:
        return None


def alive(pid: int, began: str | None) -> bool:
    """Whether the process that ``identity`` named still runs: a later one may bear its number."""
    try:
        if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return False
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:  # there, but another user's
        return True
    return began is not None and identity(pid) == began


One = TypeVar("One")
FINAL = ("done", "failed", "cancelled")
Number = Annotated[float, Field(gt=-1e300, lt=1e300)]  # somebody else may have written the file
Whole = Annotated[int, Field(ge=0, lt=2**31)]
GONE = "the worker ended without finishing (its last words are in log.txt); the ledger keeps what it spent"
UNSAID = "it failed; whoever may open the table is told why"
NEVER = "the process ended before the run began; nothing was spent, start it again"
FOLDER = "SYNTH_JOB"  # in a worker's environment: the job's folder, which says whose it is
RUN = "SYNTH_RUN"  # in a worker's environment: the job's id, which its charge in the ledger carries
PROGRAM = (sys.executable, "-m", "synth")
AS_ASKED = ["run", "--json"]  # with --job after it: whatever the folder's request asks for
WHY = "why.json"
DESCRIPTION = "description.json"  # the schema of a request that names none
LEARNT, COUNTS = "learnt.schema.json", "counts.json"  # what a learning job and one of statistics leave


class Cancelled(Exception):
    """The user asked to stop. Whether budget was spent by then is for the caller to say."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """How far a job is. ``state``: held (for approval), queued, running, done, failed, cancelled. ``fraction``: 0 to 1.

    ``seconds_left`` is an estimate, None while there is no ground for one; ``seconds`` counts from the start.
    ``losses``: pairs of fraction and training loss, where a method reports them.
    """

    state: Literal["held", "queued", "running", "done", "failed", "cancelled"] = "queued"
    stage: str = ""
    fraction: Number = 0.0
    seconds_left: Number | None = None
    seconds: Number = 0.0
    pid: Whole | None = None
    pid_started: str | None = None
    message: str = ""
    exit_code: Whole | None = None
    updated: str = ""
    losses: tuple[tuple[Number, Number], ...] = ()

    @property
    def final(self) -> bool:
        """Whether the job has ended."""
        return self.state in FINAL


# Made once: making it takes far longer than a reading, and whoever waits reads many.
READER = cache(lambda: TypeAdapter(Status))


class Job:
    """A job's folder, new or known.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     job = create({"epsilon": 1.0}, folder=Path(folder) / "job")
    ...     print(job.status().state, job.request())
    queued {'epsilon': 1.0}
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().absolute()

    def __repr__(self) -> str:
        return f"Job({str(self.path)!r})"

    def request(self) -> dict[str, Any]:
        """The public options that the job was created with. Errors: InputError when this is no job."""
        return self._read("request.json", "no job here; list the jobs or start one")

    @property
    def run(self) -> str | None:
        """The id that the ledger's line of this job's charge carries; None for a job of before there were ids."""
        try:
            return (self.path / "run").read_text(encoding="ascii").strip() or None
        except (OSError, UnicodeDecodeError):
            return None

    def result(self) -> dict[str, Any]:
        """What the worker handed back. Errors: InputError while there is nothing to read."""
        return self._read("result.json", "no result; see the job's status and log.txt")

    def why(self) -> str:
        """Why it failed, in its worker's words: for whoever may open its table, and nobody else."""
        told = read_json(self.path / WHY)
        return str(self.status().message) if told is None else told.get("why", "")

    def status(self) -> Status:
        """The state now; a worker that vanished without a last word reads as failed.

        Errors: InputError when this is no job.
        """
        status = self._status()
        if status.state == "queued" and status.pid is None:
            plain = self._read("status.json", "unreadable")
            pid = plain.get("writer")  # where who was to start it, and wrote its status, is gone, nobody else will
            begun = (self.path / "process.json").exists()  # looked at last: it may have been started meanwhile
            if isinstance(pid, int) and not alive(pid, plain.get("writer_started")) and not begun:
                return replace(status, state="failed", message=NEVER)
        if status.final or status.pid is None or alive(status.pid, status.pid_started):
            return status
        status = self._status()  # its last word may have come between the two looks
        if status.final:
            return status
        message = NEVER if status.state == "queued" else GONE
        return replace(status, state="failed", seconds_left=None, message=message)

    def write(self, status: Status) -> None:
        """Replaces the status, stamped with the time and who wrote it. Errors: OSError."""
        writer = {"writer": os.getpid(), "writer_started": identity()}
        _write(
            self.path / "status.json",
            asdict(replace(status, updated=datetime.now(UTC).isoformat(timespec="milliseconds"))) | writer,
        )

    def cancel(self) -> None:
        """Asks the worker to stop at its next step; a job that was never started ends here."""
        status = self.status()
        if status.final:
            return
        whole_files.write(self.path / "cancel", "", durable=False)
        if status.pid is None:
            self.write(replace(status, state="cancelled", message="cancelled before it began; nothing was spent"))

    @property
    def cancel_asked(self) -> bool:
        """Whether somebody asked the worker to stop."""
        return (self.path / "cancel").exists()

    def start(self, arguments: list[str], *, program: Sequence[str] = PROGRAM) -> None:
        """Starts ``program *arguments --job PATH`` as a process that outlives this one.

        Its stdout becomes result.json, its stderr log.txt. Errors: UsageError for a job started before.
        """
        if self.status().final or (self.path / "process.json").exists():
            raise UsageError("job {}: already started or ended; create a new one", self.path)
        command = [*program, *arguments, "--job", str(self.path)]
        with open(self.path / "result.json", "wb") as out, open(self.path / "log.txt", "wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                start_new_session=True,
                env={**os.environ, FOLDER: str(self.path.absolute()), **({RUN: self.run} if self.run else {})},
            )
        _write(self.path / "process.json", {"pid": process.pid, "pid_started": identity(process.pid)})
        # Someone must take note of its end, or it stays a zombie for as long as this process lives.
        threading.Thread(target=process.wait, daemon=True).start()

    def wait(self, timeout: float | None = None) -> Status:
        """The status at the job's end, or after ``timeout`` seconds as it is then."""
        limit = None if timeout is None else time.monotonic() + timeout
        while not (status := self.status()).final and (limit is None or time.monotonic() < limit):
            time.sleep(0.05)
        return status

    def _status(self) -> Status:
        plain = self._read("status.json", "no job here; list the jobs or start one")
        if plain.get("pid") is None and (self.path / "process.json").exists():
            plain |= self._read("process.json", "unreadable")  # started, but has not reported yet
        known = {f.name: plain[f.name] for f in fields(Status) if f.name in plain}
        try:
            status: Status = READER().validate_json(json.dumps(known), strict=True)
        except ValidationError:
            raise InputError(
                "job {}: status.json is damaged; the ledger says what it spent, start it again", self.path
            ) from None
        return replace(status, message=known.get("message", ""))

    def _read(self, name: str, otherwise: str) -> dict[str, Any]:
        if (plain := read_json(self.path / name)) is None:
            raise InputError("job {}: {}", self.path, otherwise)
        return plain


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None where there is none, or it is damaged."""
    try:
        plain = json.loads(regular_files.text(path))
    except (OSError, ValueError, RecursionError):
        return None
    return as_said(plain) if isinstance(plain, dict) else None


def home() -> Path:
    """Where jobs lie: ``$SYNTH_HOME/jobs``, else in the user's data folder (``$XDG_DATA_HOME``)."""
    if named := os.environ.get("SYNTH_HOME"):
        return Path(named).expanduser().absolute() / "jobs"
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "facsimile" / "jobs"


def create(request: dict[str, Any], *, folder: str | Path | None = None) -> Job:
    """A queued job in ``folder``, by default a new one below ``home()``; ``request`` is public JSON data.

    Errors: UsageError when the folder holds a job already, InputError when it cannot be made.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    job = Job(folder if folder is not None else home() / f"{stamp}-{secrets.token_hex(3)}")
    if (job.path / "request.json").exists():
        raise UsageError("job {}: the folder holds a job already; name another one", job.path)
    try:
        job.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        job.write(Status())
        whole_files.write(job.path / "run", str(uuid.uuid4()), durable=False)
        _write(job.path / "request.json", request)
    except OSError as error:
        raise InputError(
            "job {}: the folder cannot be made ({}); name a writable place in SYNTH_HOME", job.path, error
        ) from None
    return job


def listing(folder: Path | None = None) -> list[Job]:
    """The jobs below ``folder``, by default ``home()``, newest first."""
    found = []
    for file in (folder or home()).glob("*/request.json"):
        try:
            found.append((file.stat().st_mtime_ns, file.parent.name, file.parent))
        except OSError:  # removed since
            continue
    return [Job(path) for *_, path in sorted(found, reverse=True)]


def those(holds: Callable[[Job], Any]) -> Iterator[Job]:
    """The jobs of which this holds, newest first; one that cannot be read is left out."""
    return (job for job, _said in each(holds))


def each(of: Callable[[Job], One | None]) -> Iterator[tuple[Job, One]]:
    """The jobs of which something holds, each with what, newest first; one that cannot be read is left out."""
    for job in listing():
        with suppress(SynthError):
            if said := of(job):
                yield job, said


def _write(path: Path, plain: dict[str, Any]) -> None:
    try:
        text = json.dumps(with_said(plain), indent=1)
    except (TypeError, ValueError):
        raise UsageError("job {}: {} must be JSON data", path.parent, path.name) from None
    whole_files.write(path, text, durable=False)


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
