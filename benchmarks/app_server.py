"""The application in a process of its own, on a free port; a browser for it; and the tables of its tour.

None of these is the sample of the documentation.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import psutil
from public_tables import SYNTH
from runner import SHARED

IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu"]


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
def serving(home: Path, *, port: int = 0, **more: str) -> Iterator[Served]:
    """The application with its state in a folder, on a free port or this one; ``more``: environment variables."""
    token = "token-of-the-measurements"
    env = {**os.environ, "SYNTH_HOME": str(home), "SYNTH_LEDGER": str(home / "ledger.sqlite"), "SYNTH_TOKEN": token}
    env |= more
    began, port = time.perf_counter(), port or free_port()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*SYNTH, "app", "--port", str(port), "--headless"], env=env, **quiet)
    try:
        answered(port)
        yield Served(f"http://127.0.0.1:{port}/?token={token}", time.perf_counter() - began, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def used(*, whole: bool = False, also: tuple[int, ...] = ()) -> dict[bool, float]:
    """Seconds of the processor so far of the processes below this one: of a browser (True), and of all others.

    ``also``: more processes, with those below them. ``whole``: with this process, and with those that have ended.
    """
    own = psutil.Process()
    first = [own, *map(psutil.Process, also)]
    result = {True: 0.0, False: 0.0}
    for process in {*first, *(child for one in first for child in one.children(recursive=True))}:
        with suppress(psutil.Error):
            times = process.cpu_times()
            ended = times.children_user + times.children_system if whole else 0.0
            if whole or process != own:
                result["chrom" in process.name()] += times.user + times.system + ended
    return result


def credit(folder: Path) -> list[Path]:
    """Default of credit card clients."""
    pd.read_csv(SHARED / "data" / "credit_default_taiwan.csv.gz").to_csv(folder / "credit.csv", index=False)
    return [folder / "credit.csv"]


def bank(folder: Path) -> list[Path]:  # noqa: ARG001 - the files lie where they are
    """A Czech bank's accounts and what belongs to them; its districts are public."""
    names = ("account", "district", "disp", "card", "loan", "order")
    return [SHARED / "data" / "relational_bank" / f"{n}.csv" for n in names]


MAKERS = {"credit": credit, "bank": bank}
