"""The worker's side of a job: tells how far it is, and stops where it is asked to."""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from typing import Any, Self

from synth.files import whole_files
from synth.jobs.job import UNSAID, WHY, Cancelled, Job, Status, identity
from synth.jobs.stages import stage_in_words
from synth.languages import with_said


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Holds Ctrl-C back until the block is done, then lets it strike. Elsewhere than in the main thread: nothing.

    >>> with uninterrupted():
    ...     done = True
    >>> done
    True
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        raise KeyboardInterrupt


PAUSE = 0.2  # seconds between two writes
POINTS = 200  # losses that a status holds
BAR = 24  # characters: with a stage in words beside it, 80 are enough
GROUND = 0.5  # seconds of work before the time left is worth an estimate


class Reporter:
    """Reports a run's progress to its job's folder (``job`` None: to nobody) and, with ``bar``, on stderr.

    ``stages`` names the stages in order, each with its share of the expected time (any positive scale). As a
    context manager it leaves the terminal as it was, whatever ends the run, Ctrl-C included. ``words``: how a note is
    written on stderr (``errors.spelled``).

    >>> with Reporter(None, stages={"count": 1, "train": 3}, bar=False) as report:
    ...     report.stage("train")
    ...     report.progress(0.5)
    ...     report.fraction
    0.625
    """

    def __init__(
        self,
        job: Job | None,
        *,
        stages: dict[str, float],
        bar: bool,
        clock: Callable[[], float] = time.monotonic,
        words: Callable[[str], str] = str,
    ) -> None:
        if not stages or min(stages.values()) <= 0:
            raise ValueError("stages: at least one, each with a share above 0")
        total = sum(stages.values())
        self._shares = {name: share / total for name, share in stages.items()}
        self._job, self._clock, self._words = job, clock, words
        self._began = self._reported = clock()
        self._before = self._share = 0.0
        self._status = Status(state="running", pid=os.getpid(), pid_started=identity())
        self._bar = _bar() if bar and sys.stderr.isatty() else None
        self._lines = bar and self._bar is None
        self._tell()

    @property
    def fraction(self) -> float:
        """Share of the expected time that has passed, 0 to 1; never falls."""
        return self._status.fraction

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def stage(self, name: str) -> None:
        """Begins a stage. Errors: KeyError for a name not among the stages; Cancelled when asked to stop."""
        self._share = self._shares[name]
        names = list(self._shares)
        self._before = sum(self._shares[other] for other in names[: names.index(name)])
        self._status = replace(self._status, stage=name)
        if self._lines:
            with contextlib.suppress(OSError):  # nobody listens any more: no reason to lose a paid run
                print(stage_in_words(name), file=sys.stderr, flush=True)
        self._advance(0.0)
        self._tell()
        self._stop_if_asked()

    def progress(self, fraction: float, *, loss: float | None = None) -> None:
        """Share of the current stage that is done, 0 to 1; cheap. Errors: Cancelled when asked to stop.

        ``loss``: of a training on releases, hence public; shown as it falls. A fraction may carry it, too.
        """
        loss = getattr(fraction, "loss", None) if loss is None else loss
        self._advance(min(max(float(fraction), 0.0), 1.0))
        if loss is not None and isfinite(loss):  # at most ``POINTS`` are kept, evenly thinned
            losses = (*self._status.losses, (round(min(max(fraction, 0.0), 1.0), 4), float(loss)))
            self._status = replace(self._status, losses=losses if len(losses) <= POINTS else losses[::2])
        if self._clock() - self._reported >= PAUSE:
            self._tell()
        self._stop_if_asked()

    def note(self, message: str) -> None:
        """A line for the user on stderr, above a bar: public text, with or without a bar."""
        message = self._words(message)
        if self._bar is not None:
            self._bar.console.print(message, markup=False, highlight=False, soft_wrap=True)
        else:
            with contextlib.suppress(OSError):
                print(message, file=sys.stderr, flush=True)

    def finish(self, state: str, message: str, exit_code: int) -> None:
        """Last word: done, failed or cancelled. Why it failed is kept for whoever may open the table (``Job.why``)."""
        fraction = 1.0 if state == "done" else self.fraction
        if state == "failed" and self._job is not None:
            with contextlib.suppress(OSError):
                text = json.dumps(with_said({"why": message}))
                whole_files.write(self._job.path / WHY, text, private=True, durable=False)
            message = UNSAID
        ended = {"state": state, "message": message, "exit_code": exit_code, "fraction": fraction}
        self._status = replace(self._status, **ended)  # type: ignore[arg-type]
        self._tell()
        self._close()

    def _advance(self, within: float) -> None:
        overall = min(self._before + self._share * within, 1.0)
        self._status = replace(self._status, fraction=max(self.fraction, overall))

    def _tell(self) -> None:
        self._reported = self._clock()
        spent = self._reported - self._began
        left = None
        if self._status.state == "running" and spent > GROUND and self.fraction > 0.01:
            left = round(spent * (1 - self.fraction) / self.fraction, 1)
        self._status = replace(self._status, seconds=round(spent, 3), seconds_left=left)
        if self._job is not None:
            # A run that has spent its budget must not die of a full disk while telling how far it is.
            with contextlib.suppress(OSError):
                self._job.write(self._status)
        if self._bar is not None:
            self._bar.start()
            self._bar.update(
                self._bar.task_ids[0], completed=self.fraction, description=stage_in_words(self._status.stage)
            )
            self._bar.refresh()

    def _stop_if_asked(self) -> None:
        if self._job is not None and self._job.cancel_asked:
            raise Cancelled("cancelled on request")

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _bar() -> Any:
    """A bar on stderr that is drawn when told to, without a thread of its own."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    parts = (TextColumn("{task.description}"), BarColumn(bar_width=BAR), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*parts, console=Console(stderr=True), auto_refresh=False)
    bar.add_task("", total=1.0)
    return bar


WIDE = 72  # characters: a shorter line covers a longer one


class ProgressLine(Reporter):
    """Writes one line over and over: the stage, how far the run is, the seconds left where there is an estimate."""

    def __init__(self, stages: Mapping[str, float]) -> None:
        self._shown = ""
        super().__init__(None, stages=dict(stages), bar=False)

    def note(self, message: str) -> None:
        """A line of its own above the progress."""
        print(f"\r{message:<{WIDE}}", file=sys.stderr, flush=True)

    def _tell(self) -> None:
        super()._tell()
        left = f", {self._status.seconds_left:.0f} s left" if self._status.seconds_left else ""
        line = f"{stage_in_words(self._status.stage)}: {max(self.fraction, self._status.fraction):.0%}{left}"
        if line != self._shown:
            print(f"\r{line:<{WIDE}}", end="", file=sys.stderr, flush=True)
            self._shown = line

    def _close(self) -> None:
        super()._close()
        if self._shown:
            end = f"\r{stage_in_words(self._status.stage)}: 100%" if sys.exc_info()[0] is None else ""
            print(f"{end:<{WIDE}}" if end else "", file=sys.stderr, flush=True)
            self._shown = ""
