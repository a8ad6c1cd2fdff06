"""Several fits at once, one on each processor: torch lets go of Python's lock while it works."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np

from synth.generators.base import Progress, Share
from synth.generators.marginals.surface import CORES

T = TypeVar("T")
EVERY = 0.2  # seconds between words of progress


class _Stopped(Exception):
    """Another part failed, or the caller has had enough."""


def side_by_side(
    parts: Sequence[Callable[[Progress], T]], progress: Progress, *, cores: int = CORES, every: float = EVERY
) -> list[T]:
    """What each part gives, in their order; they share no state, so the results are those of one after another.

    ``progress`` is called by the calling thread alone, with the mean of all parts, ``every`` so many
    seconds. Errors: what a part or ``progress``
    raises, after the others have stopped at their next word. Privacy: as the parts.
    """
    done, losses, stopped = np.zeros(len(parts)), np.full(len(parts), np.nan), False

    def telling(i: int) -> Progress:
        def released(share: float) -> None:
            if stopped:
                raise _Stopped
            done[i], losses[i] = share, np.nan if (loss := getattr(share, "loss", None)) is None else loss

        return released

    def mean() -> Share:
        known = losses[np.isfinite(losses)]
        return Share(float(done.mean()), loss=float(known.mean()) if len(known) else None)

    with ThreadPoolExecutor(min(cores, len(parts))) as pool:
        running = [pool.submit(part, telling(i)) for i, part in enumerate(parts)]
        try:
            while _left(running, every):
                progress(mean())
            return [r.result() for r in running]
        finally:
            stopped = True
            pool.shutdown(cancel_futures=True)


def _left(running: Sequence[Future[T]], seconds: float) -> bool:
    """Whether parts are still at work, after a while; raises what one of them raised."""
    ended, left = wait(running, timeout=seconds, return_when=FIRST_EXCEPTION)
    for one in ended:
        one.result()
    return bool(left)
