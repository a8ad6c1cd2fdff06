"""Progress as one line on stderr, for a library's user who waits in a terminal or a notebook."""

import sys
from collections.abc import Mapping

from synth.jobs.reporter import Reporter
from synth.jobs.stages import stage_in_words

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
