"""Who is told how far a run is."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from synth.jobs.reporter import ProgressLine

STAGES = {"check": 0.1, "read": 0.1, "learn": 0.02, "measure": 0.18, "fit": 0.45, "sample": 0.05, "write": 0.1}


class Reporter(Protocol):
    """Who is told of progress; ``stage`` and ``progress`` may raise ``jobs.Cancelled``."""

    def stage(self, name: str) -> None: ...

    def progress(self, fraction: float) -> None: ...

    def note(self, message: str) -> None: ...


class Quiet:
    """A reporter that tells nobody, or, where a ``note`` is given, that of notes alone."""

    def __init__(self, note: Callable[[str], None] = lambda _: None) -> None:
        self.note = note

    def stage(self, name: str) -> None:
        """Ignored."""

    def progress(self, fraction: float) -> None:
        """Ignored."""


@contextmanager
def watched(reporter: Reporter | None = None) -> Iterator[Reporter]:
    """The ``reporter``, or a progress line where somebody watches, in a terminal or a notebook; else nobody is told."""
    if reporter is None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        with ProgressLine(STAGES) as line:
            yield line
    else:
        yield reporter or Quiet()
