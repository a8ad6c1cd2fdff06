"""Memory of the application's processes while large tables go through: a file on a mounted folder, and an upload.

    python benchmarks/app_memory.py [--mounted 2000] [--upload 400] [--chromium /usr/bin/chromium]

Writes CSV files of that many megabytes into a temporary folder, takes each from the page Data to the end of a run in
a browser, without a description, as a new user would, and samples the resident memory of the server and of every
process that it started (the browser is not counted): by kind, all together, and all but the run (`pages`), which is the
same as `synth run` on the command line. 0 leaves a part out. Needs the extra `dev` and Chromium.
"""

import contextlib
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import duckdb
import psutil
from app_seconds import Tour, described
from app_server import CHROMIUM, FLAGS, IDLE, serving
from playwright.sync_api import Page, sync_playwright
from runner import start, tell

PATIENCE = 3_600_000  # milliseconds
ROW = 54  # bytes of a row, about
PAUSE = 0.5  # seconds between two samples
LIMITS = {"mounted": 1.5 * 1024, "upload": 2.0 * 1024}  # MiB


def write(path: Path, megabytes: int) -> int:
    """A made-up table of twelve columns; returns its rows."""
    rows = megabytes * 1_000_000 // ROW
    drawn = "hash(i * 12 + {}) % {}"
    columns = {"id": "i", "sex": f"CASE WHEN {drawn.format(2, 2)} = 0 THEN 'f' ELSE 'm' END"}
    columns |= {"town": f"'town_' || {drawn.format(3, 200)}", "income": f"10 * ({drawn.format(4, 20_000)})"}
    columns |= {"bmi": f"15 + ({drawn.format(6, 300)}) / 10"}
    columns |= {"day": f"DATE '2020-01-01' + CAST({drawn.format(8, 1000)} AS INTEGER)"}
    plain = {"age": (1, 100), "hours": (5, 60), "visits": (7, 9), "a": (9, 5), "b": (10, 9), "c": (11, 2)}
    columns |= {n: drawn.format(*of) for n, of in plain.items()}
    query = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    with duckdb.connect(config={"threads": 1, "memory_limit": "500MB"}) as con:
        con.execute(f"COPY (SELECT {query} FROM range({rows}) AS r(i)) TO '{path}' (HEADER)")
    return rows


class Watch:
    """The largest resident memory, in MiB, of a server and its descendants: by kind, and all together."""

    def __init__(self, pid: int) -> None:
        self._root, self._end = psutil.Process(pid), threading.Event()
        self.most: dict[str, float] = {}
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._end.wait(PAUSE):
            now: dict[str, float] = {}
            for process in [self._root, *self._root.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    kind = self._kind(" ".join(process.cmdline()))
                    now[kind] = now.get(kind, 0.0) + process.memory_info().rss / 2**20
            now["together"] = sum(now.values())
            now["pages"] = now["together"] - now.get("run", 0.0)
            for kind, size in now.items():
                self.most[kind] = max(self.most.get(kind, 0.0), size)

    @staticmethod
    def _kind(command: str) -> str:
        """What a process of the application is there for."""
        words = {"streamlit run": "server", "session.aside": "forecasts", "synth schema": "draft", "synth run": "run"}
        return next((kind for word, kind in words.items() if word in command), "others")


def there(page: Page, heading: str) -> None:
    """Waits until a page stands there whole."""
    page.get_by_role("heading", name=heading, exact=True).wait_for()
    page.wait_for_function(IDLE)


def through(page: Page) -> None:
    """From the page Describe to the end of a run."""
    there(page, "Describe")
    described(Tour(page))
    for heading in ("Budget", "Method", "Run"):
        page.get_by_role("button", name=f"Next: {heading}").click()
        there(page, heading)
        if heading == "Budget":
            page.get_by_role("button", name="The number is public").click()
            smaller, onward = (page.get_by_role("button", name=n) for n in ("Use 1e-", "Next: Method"))
            smaller.or_(onward).first.wait_for()
            page.wait_for_function(IDLE)
            if smaller.count():
                smaller.click()
    page.get_by_role("button", name="Spend epsilon").click()
    page.get_by_role("button", name="Next: Review").wait_for()


def mounted(page: Page, path: Path) -> None:
    """Chooses a file that the installation offers."""
    page.get_by_text("Or a file or folder that is already").click()
    page.get_by_label("Path", exact=True).fill(str(path))
    page.get_by_label("Path", exact=True).press("Enter")
    page.wait_for_function(IDLE)
    page.get_by_role("button", name="Use this file").click()


def upload(page: Page, path: Path) -> None:
    """Hands a file over."""
    page.locator("input[type=file]").nth(0).set_input_files(path)
    page.get_by_test_id("stFileChipName").wait_for()
    page.wait_for_function(IDLE)
    page.get_by_role("button", name="Load this table").click()


def measured(part: str, megabytes: int, chromium: str) -> dict[str, Any]:
    """One table through a server of its own."""
    with TemporaryDirectory() as home:
        path = Path(home) / "tables" / "people.csv"
        path.parent.mkdir()
        rows = write(path, megabytes)
        with serving(Path(home)) as served:
            began = time.perf_counter()
            with Watch(served.pid) as watch, sync_playwright() as play:
                browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
                page = browser.new_page()
                page.set_default_timeout(PATIENCE)
                page.goto(served.url)
                there(page, "Data")
                (mounted if part == "mounted" else upload)(page, path)
                there(page, "Describe")
                drafted = time.perf_counter() - began
                through(page)
                browser.close()
    took = {"seconds_to_describe": round(drafted), "seconds": round(time.perf_counter() - began)}
    retained = {f"{n}_within_limit": watch.most[k] < LIMITS[part] for n, k in (("pages", "pages"), ("all", "together"))}
    return (
        {"megabytes": megabytes, "rows": rows} | took | {"mib": {k: round(v) for k, v in watch.most.items()}} | retained
    )


def main(given) -> None:
    """Measures the parts that are asked for and prints them as JSON."""
    parts = {p: getattr(given, p) for p in LIMITS if getattr(given, p)}
    tell(given.json, {p: measured(p, size, given.chromium) for p, size in parts.items()})


if __name__ == "__main__":
    start(main, mounted=2000, upload=400, chromium=CHROMIUM)
