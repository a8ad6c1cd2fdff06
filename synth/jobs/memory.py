"""How much memory a run took at its peak, child processes included; and what is free given back."""

import contextlib
import ctypes
import os
import sys
import threading
from pathlib import Path
from typing import Self

import psutil

try:
    import resource
except ImportError:  # not on Windows: samples alone must do
    resource = None  # type: ignore[assignment]

MIB = 2**20


class PeakMemory:
    """Peak resident memory of this process and its children within a ``with`` block, as ``mib``.

    The process tree is sampled every ``interval`` seconds; pages that processes share count once for each.
    The kernel's own high-water mark counts when it rose during the block, so that no short peak is missed.

    >>> with PeakMemory() as peak:
    ...     block = bytes(10)
    >>> peak.mib > 1
    True
    """

    def __init__(self, *, interval: float = 0.05) -> None:
        self._interval = interval
        self._peak = 0
        self._marks = (0, 0)
        self._stop = threading.Event()
        self._process = psutil.Process()

    @property
    def mib(self) -> float:
        """The peak so far, in MiB (2**20 bytes)."""
        return self._peak / MIB

    def __enter__(self) -> Self:
        self._marks = _high_water()
        self._stop.clear()
        self._sample()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._sample()
        risen = [now for now, before in zip(_high_water(), self._marks, strict=True) if now > before]
        self._peak = max([self._peak, *risen])

    def _watch(self) -> None:
        while not self._stop.wait(self._interval):
            self._sample()

    def _sample(self) -> None:
        total = 0
        for process in [self._process, *_descendants(self._process)]:
            try:
                total += process.memory_info().rss
            except psutil.Error:  # a child that ended between the two calls
                continue
        self._peak = max(self._peak, total)


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    """The processes that it started, and those that they started, as far as they are still there."""
    processes = []
    with contextlib.suppress(psutil.Error):
        if not os.path.exists(f"/proc/{process.pid}/task/{process.pid}/children"):
            return process.children(recursive=True)
        for pid in _listed_children(process.pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                processes.append(psutil.Process(pid))
    return processes


def _listed_children(pid: int) -> list[int]:
    """As Linux tells them, thread by thread: to look through all processes of a machine takes milliseconds."""
    numbers: list[int] = []
    with contextlib.suppress(OSError):  # the process has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as listed,
            ):
                for child in map(int, listed.read().split()):
                    numbers += [child, *_listed_children(child)]
    return numbers


def give_back() -> None:
    """Returns to the system what this process has freed: allocators keep it, and the next stage would add to it.

    Costs milliseconds; where the C library has no such call, arrow's part alone is returned.

    >>> give_back()
    """
    if arrow := sys.modules.get("pyarrow"):  # not loaded for this alone
        arrow.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError, TypeError):  # glibc has it; musl, macOS and Windows have not
        ctypes.CDLL(None).malloc_trim(ctypes.c_size_t(0))


def _high_water() -> tuple[int, int]:
    """Largest resident size, in bytes, of this process and of its largest child that has ended."""
    if resource is None:
        return 0, 0
    scale = 1 if sys.platform == "darwin" else 1024
    own, children = (
        resource.getrusage(who).ru_maxrss * scale for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    with contextlib.suppress(OSError):  # Linux's own mark: getrusage's would start at the size of whoever started it
        lines = Path("/proc/self/status").read_text().splitlines()
        own = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), own)
    return own, children
