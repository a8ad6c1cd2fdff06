"""What the application's seconds are held against: an empty page of its framework, and the processor's share."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
PAGES = ("Data", "Describe")
EMPTY = """
import streamlit as st

def page(name):
    def drawn():
        st.title(name, anchor=False)
        st.button("Next")
    return st.Page(drawn, title=name, url_path=name.lower(), default=name == "Data")

st.set_page_config(layout="wide")
st.navigation([page("Data"), page("Describe")]).run()
"""
CHANGES = 10


def busy() -> tuple[float, float]:
    """Seconds of the processor so far of the processes below this one: the browser's, and all others'."""
    below: dict[int, list[tuple[int, bool, float]]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = place.read_text().rpartition(")")
        except OSError:
            continue  # it has ended
        told = rest.split()
        seconds = (int(told[11]) + int(told[12])) / TICKS
        below.setdefault(int(told[1]), []).append((int(place.parent.name), "chrom" in head, seconds))
    waiting, browser, others = [os.getpid()], 0.0, 0.0
    while waiting:
        for number, is_browser, seconds in below.get(waiting.pop(), ()):
            waiting.append(number)
            browser, others = browser + is_browser * seconds, others + (not is_browser) * seconds
    return browser, others


@contextmanager
def empty(folder: Path, port: int) -> Iterator[str]:
    """A server of two pages with a title and a button each."""
    script = folder / "empty.py"
    script.write_text(EMPTY)
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        str(script),
        "--server.headless=true",
        f"--server.port={port}",
        "--browser.gatherUsageStats=false",
        "--server.fileWatcherType=none",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def changed(tour: Any, to: Callable[[Any, str], None]) -> None:
    """Goes to and fro between the empty pages."""
    for i in range(CHANGES):
        name = PAGES[(i + 1) % 2]
        tour.timed(name, "page", lambda name=name: to(tour.page, name))
        time.sleep(0.3)
