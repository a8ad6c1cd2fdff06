"""How much the server holds of what visitors send: a limit for a session and for all, and an end for what is forgotten.

Uploads lie in memory until a page has written them to disk once. Whoever sends and never goes on would keep them there.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from streamlit import config
from streamlit.runtime import get_instance

RETAINED = 900.0  # seconds for which an upload is held in memory
EVERY = 30.0  # seconds between looks
MIB = 1 << 20


def limits() -> tuple[int, int]:
    """Bytes that one session, and all together, may have in memory: two and eight of the largest files allowed."""
    largest = int(config.get_option("server.maxUploadSize")) * MIB
    return 2 * largest, 8 * largest


@contextmanager
def room(session: str, size: int | None) -> Iterator[bool]:
    """Whether a session may send so many bytes, which are kept free until they came; not without saying how many."""
    if size is None or not _fits(session, size):
        yield False
        return
    coming.append((session, size))
    try:
        yield True
    finally:
        coming.remove((session, size))


coming: list[tuple[str, int]] = []  # what was admitted and is under way; only the server's own thread changes it


def _fits(session: str, size: int) -> bool:
    one, every = limits()
    known = [(s, len(f.data)) for s, files in _held().items() for f in files.values()] + coming
    own = sum(n for s, n in known if s == session)
    return own + size <= one and sum(n for _other, n in known) + size <= every


def forget(seen: dict[tuple[str, str], float], now: float) -> None:
    """Frees what has been held for long. ``seen``: when each file was first met; it is brought up to date."""
    there = {(s, f) for s, files in _held().items() for f in files}
    for gone in set(seen) - there:
        del seen[gone]
    for key in there:
        if now - seen.setdefault(key, now) > RETAINED:
            _manager().remove_file(*key)


def watch() -> None:
    """Frees forgotten uploads from now on, beside the server."""

    def look() -> None:
        seen: dict[tuple[str, str], float] = {}
        for _other in _ticks():
            forget(seen, time.monotonic())

    threading.Thread(target=look, daemon=True).start()


def _ticks() -> Iterator[None]:
    while True:
        time.sleep(EVERY)
        yield


def _manager() -> Any:
    return get_instance().uploaded_file_mgr


def _held() -> dict[str, dict[str, Any]]:
    """By session its files; a copy, since other threads add to it."""
    return {s: dict(files) for s, files in list(_manager().file_storage.items())}
