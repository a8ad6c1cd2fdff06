"""A scripted tour of the application in a browser: clicks, decisions, seconds of each step, errors on the console.

    python benchmarks/app_seconds.py [--tables sample,credit,bank] [--chromium /usr/bin/chromium]

The sample, which comes described; `credit` (30,000 x 24) and `bank` (accounts with orders, loans and cards, as tables
that belong together), which lie beside the checkout. A decision is a click or an entry that says something only a
person knows (who confirms, how many rows, what to leave out); others lead on. A step ends when the page stands whole;
on Method, Run and Release when the way on is open (or back, after the last page), and what they then work out is a step
of its own. Of each step the processor's seconds of the browser and of the server with its helpers are kept too, and the
messages that the server sent: they tell what the step asks for where other work runs beside. ``--others``: so many
more visitors have the first page open all the while; what memory each of them takes is kept too. Prints Markdown,
writes benchmarks/results/app_seconds.json.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from markdown_tables import filled
from playwright.sync_api import Page, TimeoutError, sync_playwright
from public_tables import SYNTH
from runner import SHARED, read, start, write

from tests.standalone import free_port

IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu"]


@contextmanager
def at_home(home: Path) -> Iterator[tuple[str, float]]:
    """The application of a user who has nothing yet: where it answers, and the seconds until it did."""
    token, port, began = "token-of-the-measurements", free_port(), time.perf_counter()
    own = {"HOME": home, "SYNTH_HOME": home / "state", "SYNTH_LEDGER": home / "ledger.sqlite", "SYNTH_TOKEN": token}
    env = {**os.environ, **{n: str(v) for n, v in own.items()}, "OMP_NUM_THREADS": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*SYNTH, "app", "--port", str(port), "--headless"], env=env, **quiet)
    try:
        while process.poll() is None:  # until something listens
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/?token={token}", time.perf_counter() - began
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def busy() -> tuple[float, float]:
    """Seconds of the processor so far of the processes below this one: the browser's, and all others'."""
    result = {True: 0.0, False: 0.0}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            times = process.cpu_times()
            result["chrom" in process.name()] += times.user + times.system
    return result[True], result[False]


def held() -> float:
    """MiB of the server with its helpers, what they share counted once."""
    own = [p for p in psutil.Process().children(recursive=True) if "chrom" not in p.name()]
    return sum(p.memory_full_info().pss for p in own) / 2**20


BANK = ("account", "district", "disp", "card", "loan", "order")  # of a Czech bank; its districts are public
FILES = {
    "credit": [SHARED / "data" / "credit_default_taiwan.csv.gz"],
    "bank": [SHARED / "data" / "relational_bank" / f"{n}.csv" for n in BANK],
}
PATIENCE, LONG, SOON, LULL = 60_000, 300_000, 4_000, 50  # milliseconds
SAMPLE = "sample"
HEADS = "step|kind|seconds|processor, browser|server|messages|kB"
CELLS = "{step}|{kind}|{seconds}|{browser}|{server}|{messages}|{kilobytes}"
ROWS = {"credit": "30000", "bank": "4500"}


class Tour:
    """One walk: what was pressed, what had to be decided, and how long each step took."""

    def __init__(self, page: Page) -> None:
        self.page, self.steps, self.clicks, self.decisions = page, [], 0, 0
        self.heard = [0, 0]  # messages of the server so far, and their bytes
        page.on("websocket", lambda socket: socket.on("framereceived", self._hear))

    def _hear(self, message: str | bytes) -> None:
        self.heard = [self.heard[0] + 1, self.heard[1] + len(message)]

    def timed(self, what: str, kind: str, do: Callable[[], Any]) -> None:
        """Does one thing and waits until the page stands whole. ``kind``: page, widget or work."""
        spent, began = busy(), time.perf_counter()
        do()
        still = False
        while not still:  # a page may be drawn anew at once, as after a notice
            self.page.wait_for_timeout(LULL)
            self.page.wait_for_function(IDLE, timeout=LONG)
            ended = time.perf_counter()
            self.page.wait_for_timeout(LULL)
            still = self.page.evaluate(IDLE)
        self.noted(what, kind, ended - began, spent)

    def noted(self, what: str, kind: str, seconds: float, spent: tuple[float, float]) -> None:
        """Keeps a step, with the processor's seconds since ``spent``; those of processes that have ended are lost."""
        browser, server = (round(max(now - before, 0.0), 2) for now, before in zip(busy(), spent, strict=True))
        step = {"step": what, "kind": kind, "seconds": round(seconds, 2), "browser": browser, "server": server}
        self.steps.append(step | {"messages": self.heard[0], "kilobytes": round(self.heard[1] / 1000)})
        self.heard = [0, 0]

    def press(self, name: str, *, kind: str = "widget", heading: str = "", decides: bool = False) -> None:
        """Presses a button, to another page where a heading is named."""
        self.clicks, self.decisions = self.clicks + 1, self.decisions + decides
        button = self.page.get_by_role("button", name=name).first

        def do() -> None:
            button.click()
            if heading:
                self.page.get_by_role("heading", name=heading, exact=True).wait_for()

        self.timed(f"{name} ({heading})" if heading else name, "page" if heading else kind, do)

    def fill(self, role: Any, label: str, text: str) -> None:
        """Types something only a person knows."""
        self.decisions += 1
        field = self.page.get_by_role(role, name=label)
        field.fill(text)
        self.timed(label, "widget", lambda: self.page.keyboard.press("Tab"))

    def choose(self, label: str, option: str) -> None:
        """Chooses from a menu."""
        self.clicks, self.decisions = self.clicks + 2, self.decisions + 1
        wanted = self.page.get_by_role("option", name=option, exact=True)
        for _ in range(5):  # a page that was just drawn anew may close the menu under the pointer
            self.page.get_by_role("combobox", name=label).first.click()
            self.page.wait_for_timeout(400)
            if wanted.count():
                with suppress(TimeoutError):
                    self.timed(label, "widget", lambda: wanted.click(timeout=SOON))
                    break
        self.page.keyboard.press("Escape")


def walked(page: Page, url: str, name: str, files: list[Path]) -> Tour:
    """From the first page to the downloaded bundle."""
    tour = Tour(page)
    tour.timed("first page in the browser", "work", lambda: opened(page, url))
    if name == SAMPLE:
        tour.press("Use the sample table")
    else:
        loaded(tour, files)
    goes_on(tour, "Next: Privacy and accuracy", "Privacy and accuracy", "Back: The table")
    if name != SAMPLE:
        tour.fill("spinbutton", "About how many rows", ROWS[name])
        tour.fill("spinbutton", "Exact epsilon", "2")
    tour.press("make the table", kind="work")
    tour.timed("the run", "work", lambda: awaited(page, "Show the comparison"))
    tour.timed("the bundle", "work", lambda: awaited(page, ".zip"))
    with page.expect_download():
        tour.press(".zip")
    tour.press("Show the comparison", kind="work")
    tour.timed("back to the table", "page", lambda: sidebar(page, "The table"))
    tour.timed("back to privacy", "page", lambda: sidebar(page, "Privacy and accuracy"))
    return tour


def loaded(tour: Tour, files: list[Path]) -> None:
    """A table, or several, uploaded and described."""
    page = tour.page
    field = page.get_by_test_id("stFileUploader").filter(has_text="Table (CSV").locator("input[type=file]")

    def do() -> None:
        field.set_input_files(files)
        page.get_by_text("Chosen:").wait_for()

    tour.timed("the upload and its draft", "work", do)
    several(tour) if len(files) > 1 else described(tour)


def goes_on(tour: Tour, name: str, heading: str, onward: str) -> None:
    """To a page that works something out while it stands: the way on is open before, and a click on it is heard."""
    page = tour.page
    tour.clicks += 1
    spent, began = busy(), time.perf_counter()
    page.get_by_role("button", name=name).first.click()
    page.get_by_role("heading", name=heading, exact=True).wait_for()
    page.get_by_role("button", name=onward).wait_for()
    tour.noted(f"{name} ({heading})", "page", time.perf_counter() - began, spent)
    tour.timed(f"what {heading} works out meanwhile", "work", lambda: None)


def awaited(page: Page, button: str) -> None:
    page.get_by_role("button", name=button).wait_for(timeout=LONG)


def opened(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_role("heading", name="The table", exact=True).wait_for()


def sidebar(page: Page, name: str) -> None:
    page.get_by_test_id("stSidebarNavLink").filter(has_text=name).click()
    page.get_by_role("heading", name=name, exact=True).wait_for()


def described(tour: Tour) -> None:
    """What a single table's draft asks: who is a person, codes, lists that tell of persons, and who confirms it."""
    if not tour.page.get_by_text("The safe answer is chosen").count():
        tour.choose("Can a person appear in more than one row?", "No: each row is one person")
    if tour.page.get_by_role("button", name="and learn").count():
        tour.press("and learn", kind="work", decides=True)
        tour.timed("learning", "work", tour.page.get_by_text("Learnt privately").wait_for)
    tour.press("Confirm ", decides=True)


def several(tour: Tour) -> None:
    """What several tables ask: the units' table and a public one; all else is confirmed at once."""
    page = tour.page
    page.wait_for_timeout(1000)
    for _ in range(3):
        if page.get_by_role("combobox", name="Table of those it protects").first.is_visible():
            break
        page.get_by_text("Draft again from the tables").first.click()
        page.wait_for_timeout(1000)
    tour.choose("Table of those it protects", "account")
    tour.choose("Public tables", "district")
    page.locator("button", has_text="Draft again").last.click()
    tour.timed("Draft again", "work", page.get_by_text("A new draft is made").wait_for)
    tour.press("Confirm ", decides=True)


def toured(name: str, chromium: str, others: int) -> dict[str, Any]:
    """One table's tour, with a server and a browser of its own; ``first_page``: seconds from the command to it."""
    errors: list[str] = []
    with TemporaryDirectory() as place, sync_playwright() as play:
        home = Path(place)
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)

        def window() -> Page:
            page = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True).new_page()
            page.set_default_timeout(PATIENCE)
            page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
            page.on("pageerror", lambda e: errors.append(str(e)))
            return page

        with at_home(home) as (url, seconds):
            began, mine = time.perf_counter(), window()
            opened(mine, url)
            first, alone = seconds + time.perf_counter() - began, held()
            for _ in range(others):
                opened(window(), url)
            each = round((held() - alone) / max(others, 1), 1)
            tour = walked(mine, url, name, FILES.get(name, []))
            browser.close()  # before the server, which its pages would miss
    about = {"first_page": round(first, 2), "load": round(os.getloadavg()[0], 1), "others": others, "mib_each": each}
    return {"clicks": tour.clicks, "decisions": tour.decisions, "errors": errors, **about, "steps": tour.steps}


def main(given) -> None:
    retained = read(given.json, {})
    for name in given.tables:
        result = retained[name] = toured(name, given.chromium, given.others)
        message = "{clicks} clicks, {decisions} decisions, first page {first_page} s after the command".format(**result)
        print(f"\n**{name}**: {message}, {len(result['errors'])} errors on the console\n")
        print(filled(result["steps"], HEADS, CELLS))
        write(given.json, retained)


if __name__ == "__main__":
    start(main, json="app_seconds", tables=[SAMPLE, *FILES], chromium=CHROMIUM, others=10)
