"""Work that Ctrl-C must not cut in two."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
