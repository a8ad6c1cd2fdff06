"""The real thing: a browser, a server, a run. Skipped where Chromium or playwright is not installed."""

import os
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from synth.privacy.ledger.ledger import Ledger
from tests.app.test_serve import free_port

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
PATIENCE = 90_000
PICTURES = Path(os.environ.get("SYNTH_PICTURES") or Path(__file__).resolve().parents[2] / "build" / "pictures")
COUNT = """
window.deeds = {click: 0, keydown: 0};
for (const kind of Object.keys(deeds)) addEventListener(kind, e => { deeds[kind] += e.isTrusted }, true);
"""
pytestmark = [
    pytest.mark.xdist_group("app"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


@pytest.fixture
def clock() -> float:
    """The time before the server is started, where it is asked for first."""
    return time.monotonic()


@contextmanager
def server(home: Path, port: int) -> Iterator[subprocess.Popen]:
    """A server of the application, stopped at the end unless it is dead by then."""
    process = subprocess.Popen([sys.executable, "-m", "synth", "app", "--port", str(port), "--headless"],
                               env={**os.environ, "HOME": str(home)}, stderr=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)  # fmt: skip
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2)
            break
        except OSError:
            time.sleep(0.1)
    yield process
    process.send_signal(signal.SIGTERM)
    process.wait(30)


@pytest.fixture
def served(home):
    """The application's address."""
    port = free_port()
    with server(home, port):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def chromium(errors: list[str]) -> Iterator[Callable]:
    """Opens pages at an address; ``errors`` takes what they put on the console."""
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])

        def opened(url: str, **options):
            page = browser.new_context(**options).new_page()
            page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
            page.on("pageerror", lambda e: errors.append(str(e)))
            page.set_default_timeout(PATIENCE)
            page.add_init_script(COUNT)
            page.goto(url)
            return there(page, "Data")

        yield opened
        browser.close()


class Relay(socketserver.ThreadingTCPServer):
    """Hands bytes on between a browser and a server's port, or breaks every connection."""

    daemon_threads, allow_reuse_address = True, True

    def __init__(self, target: int) -> None:
        self.open: set[socket.socket] = set()
        self.working, self.target = True, target
        super().__init__(("127.0.0.1", 0), _Hand)
        self.port = self.server_address[1]

    def off(self) -> None:
        self.working = False
        for end in list(self.open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def on(self) -> None:
        self.working = True


class _Hand(socketserver.BaseRequestHandler):
    server: Relay

    def handle(self) -> None:
        if not self.server.working:
            return
        with socket.create_connection(("127.0.0.1", self.server.target)) as far:
            ends = (self.request, far)
            self.server.open |= set(ends)
            back = threading.Thread(target=self._pour, args=(far, self.request), daemon=True)
            back.start()
            self._pour(*ends)
            back.join()
            self.server.open -= set(ends)

    @staticmethod
    def _pour(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay(target: int) -> Iterator[Relay]:
    """A relay to a port that runs meanwhile."""
    with Relay(target) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        try:
            yield found
        finally:
            found.off()
            found.shutdown()


@pytest.fixture
def visit(served):
    """Opens pages; in the end no page may have put an error on its console."""
    errors: list[str] = []
    with chromium(errors) as opened:
        yield partial(opened, served)
    assert errors == []


def there(page, heading: str):
    page.get_by_role("heading", name=heading, exact=True).wait_for()
    page.wait_for_function(IDLE)
    keep(page, heading)
    return page


def keep(page, name: str) -> None:
    """A picture for whoever looks at the artefacts."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{page.viewport_size['width']}-{name.lower()}.png")


def press(page, name: str, heading: str) -> None:
    page.get_by_role("button", name=name).first.click()
    there(page, heading)
    page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop === 0")  # opens at its top


def to_run(page) -> None:
    press(page, "Use the sample table", "Describe")
    for step in ("Budget", "Method", "Run"):
        press(page, f"Next: {step}", step)


def test_from_a_stopped_server_to_an_opened_bundle_in_three_minutes_and_ten_clicks(clock, visit, tmp_path):
    page = visit(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    to_run(page)
    page.get_by_role("button", name="Spend epsilon").click()
    page.get_by_role("button", name="Next: Review").click()
    there(page, "Review")
    press(page, "Next: Release", "Release")
    with page.expect_download() as download:
        page.get_by_role("button", name="Everything (.zip)").click()
    download.value.save_as(tmp_path / "release.zip")
    assert time.monotonic() - clock < 180
    deeds = page.evaluate("deeds")
    assert 0 < deeds["click"] <= 10, deeds
    assert deeds["keydown"] == 0, "there is nothing to type"
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        archive.extractall(tmp_path / "release")
    assert (tmp_path / "release" / "synthetic.csv").read_text().startswith("person_id,age,sex")
    checked = subprocess.run([sys.executable, "-m", "synth", "card", "check", str(tmp_path / "release" / "card.json")],
                             capture_output=True, text=True, check=False)  # fmt: skip
    assert checked.returncode == 0, checked.stderr


def test_a_run_goes_on_without_its_window_and_a_narrow_screen_finds_it(visit):
    first = visit(viewport={"width": 1280, "height": 900})
    to_run(first)
    first.get_by_role("button", name="Spend epsilon").click()
    first.get_by_role("button", name="Cancel the run").wait_for()
    first.context.close()
    again = visit(viewport={"width": 390, "height": 844}, color_scheme="dark")
    again.get_by_role("button", name="Watch it").or_(again.get_by_role("button", name="Open it")).click()
    again.get_by_role("button", name="Next: Review").or_(again.get_by_role("heading", name="Downloads")).wait_for()
    wide = again.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert wide <= 390, "nothing sticks out of a narrow screen"


def test_a_page_that_lost_its_connection_in_mid_run_comes_back_to_it(served, home):
    """The browser talks through a relay, which is cut while the run goes on; a cut is told on the console."""
    with relay(int(served.rsplit(":", 1)[1])) as cut, chromium([]) as opened:
        page = opened(f"http://127.0.0.1:{cut.port}", viewport={"width": 1280, "height": 900})
        to_run(page)
        page.get_by_role("button", name="Spend epsilon").click()
        page.get_by_role("button", name="Cancel the run").wait_for()
        cut.off()
        page.get_by_text("Connection error").or_(page.get_by_text("Connecting")).first.wait_for()
        cut.on()
        page.get_by_role("button", name="Next: Review").click()
        there(page, "Review")
    assert [t.runs for t in Ledger(home / "ledger.sqlite").summary()] == [1], "nothing was started twice"


def test_a_run_is_cancelled_by_keyboard(visit):
    page = visit(viewport={"width": 1280, "height": 900})
    to_run(page)
    page.get_by_role("button", name="Spend epsilon").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Cancel the run").focus()
    page.keyboard.press("Enter")
    page.get_by_text("cancelled").or_(page.get_by_text("The synthetic table is ready")).first.wait_for()


def test_a_file_above_the_stated_limit_is_refused_before_it_is_sent(home, monkeypatch):
    monkeypatch.setenv("SYNTH_UPLOAD_MIB", "1")
    (home / "large.csv").write_bytes(b"a,b\n" + b"1,2\n" * 300_000)
    port = free_port()
    with server(home, port), chromium(errors := []) as opened:
        page = opened(f"http://127.0.0.1:{port}", viewport={"width": 1280, "height": 900})
        page.get_by_text("1MB per file").first.wait_for()
        page.locator("input[type=file]").first.set_input_files(home / "large.csv")
        page.get_by_text("must be 1.0MB or smaller").wait_for()
        assert page.get_by_role("button", name="Load this table").is_disabled()
    assert errors == []


def test_a_killed_server_finds_run_table_and_ledger_when_it_is_started_again(home, people):
    (home / "people.csv").write_bytes(people)
    port, errors = free_port(), []
    url = f"http://127.0.0.1:{port}"
    with server(home, port) as process, chromium([]) as opened:  # a page whose server is gone may complain
        page = opened(url, viewport={"width": 1280, "height": 900})
        page.locator("input[type=file]").first.set_input_files(home / "people.csv")
        page.get_by_test_id("stFileChipName").wait_for()
        page.wait_for_function(IDLE)
        press(page, "Load this table", "Describe")
        page.get_by_test_id("stSidebarNavLink").filter(has_text="Data").click()
        to_run(there(page, "Data"))
        page.get_by_role("button", name="Spend epsilon").click()
        page.get_by_role("button", name="Cancel the run").wait_for()
        process.kill()
        process.wait(30)
        page.context.close()
    with server(home, port), chromium(errors) as opened:
        page = opened(url, viewport={"width": 1280, "height": 900})
        page.get_by_text("Tables of earlier visits (2)").wait_for()
        page.get_by_role("button", name="Watch it").or_(page.get_by_role("button", name="Open it")).click()
        page.get_by_role("button", name="Next: Review").or_(page.get_by_role("heading", name="Downloads")).wait_for()
        page.get_by_test_id("stSidebarNavLink").filter(has_text="Ledger").click()
        there(page, "Ledger").get_by_text("epsilon 1 of 3 spent in 1 run").wait_for()
    assert errors == []
