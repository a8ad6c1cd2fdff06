"""Which process is meant: numbers are given again, and the clock may be set while a process runs."""

import os
from pathlib import Path

import psutil

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
        return f"{_machine_start()}/{stat.rsplit(')', 1)[1].split()[19]}"
    except (OSError, IndexError):
        if (PROC / "self" / "stat").exists():
            return None
    try:
        return str(psutil.Process(number).create_time())  # not Linux: a clock that is set makes it another process
    except psutil.Error:
        return None


def _machine_start() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return "unknown"


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
