"""The application in a process of its own, on a free port."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Served(NamedTuple):
    """Where it answers, the seconds from the command until it did, and its process."""

    url: str
    seconds: float
    pid: int


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def answered(port: int) -> None:
    """Waits until something listens, a minute at most."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit("the server did not come up")


@contextmanager
def serving(home: Path, **more: str) -> Iterator[Served]:
    """The application with its state in a folder; ``more``: environment variables."""
    env = {**os.environ, "SYNTH_HOME": str(home), "SYNTH_LEDGER": str(home / "ledger.sqlite"), **more}
    began, port = time.perf_counter(), free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "synth", "app", "--port", str(port), "--headless"],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        answered(port)
        yield Served(f"http://127.0.0.1:{port}", time.perf_counter() - began, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
