"""A server of the application and a browser that visits it, for tests. Skipped where Chromium is not installed."""

import os
import queue
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import util
from pathlib import Path

import pytest

from container.trial.provider import client, provider
from tests.app.ports import free_port

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
STILL = "--force-prefers-reduced-motion"  # drawing what moves was a third of the browser's work
PATIENCE = 90_000
TOKEN = "token-of-the-tests"
PICTURES = Path(os.environ.get("SYNTH_PICTURES") or Path(__file__).resolve().parents[2] / "build" / "pictures")
AXE = (
    Path(str(util.find_spec("axe_playwright_python").origin)).with_name("axe.min.js")
    if util.find_spec("axe_playwright_python")
    else None
)  # axe-core, of the extra `dev`
SERIOUS = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
    .filter(v => ['serious', 'critical'].includes(v.impact))
    .flatMap(v => v.nodes.map(n => `${v.id}: ${n.target} ${n.html.slice(0, 200)}`))"""
COUNT = """
window.deeds = {click: 0, keydown: 0, change: 0};
const PASSED_ON = 'label input:is([type=radio], [type=checkbox])';  // of a click on the label
const FIELD = 'textarea, input:is([type=text], [type=number], :not([type])):not([role=combobox])';
for (const kind of Object.keys(deeds)) addEventListener(kind, e => {
    const counts = kind === 'click' ? !e.target.matches(PASSED_ON) : kind !== 'change' || e.target.matches(FIELD);
    deeds[kind] += e.isTrusted && counts;
}, true);
"""  # what a person does: clicks, keys, fields whose text is another when they are left


def environment(home: Path) -> dict[str, str]:
    """A home and a ledger of its own, for a server that lives longer than one test."""
    return {
        **os.environ,
        "HOME": str(home),
        "SYNTH_HOME": str(home / "state"),
        "OMP_NUM_THREADS": "1",
        "SYNTH_LEDGER": str(home / "ledger.sqlite"),
    }


@contextmanager
def server(home: Path, port: int, *flags: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen]:
    """A server of the application that answers, stopped at the end unless it is dead by then."""
    process = subprocess.Popen(
        [sys.executable, "-m", "synth", "app", "--port", str(port), "--headless", *flags],
        env={"SYNTH_TOKEN": TOKEN, **(env or {**os.environ, "HOME": str(home)})},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    base = (env or os.environ).get("STREAMLIT_SERVER_BASE_URL_PATH", "")
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{base}{'/' if base else ''}_stcore/health", timeout=2)
                break
            except OSError:
                time.sleep(0.1)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def with_token(port: int) -> str:
    """The address that a server of a single user printed."""
    return f"http://127.0.0.1:{port}/?token={TOKEN}"


def cookie(port: int, below: str = "") -> dict[str, str]:
    """What a browser sends that opened it; ``below``: the base path of its address, with a dash before it."""
    return {"Cookie": f"facsimile-{port}{below}={TOKEN}"}


@contextmanager
def installation(home: Path, roles: str) -> Iterator[tuple[str, object]]:
    """A shared installation where people sign in: (address, provider of identities)."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    (home / "roles.toml").write_text(roles)
    with provider() as issuer:
        (home / "secrets.toml").write_text(client(issuer.issuer, url))
        flags = ("--roles", str(home / "roles.toml"), "--secrets", str(home / "secrets.toml"))
        with server(home, port, *flags, env=environment(home)):
            yield url, issuer


@contextmanager
def launched() -> Iterator:
    """A browser."""
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", STILL])
        yield browser
        browser.close()


def signed_in(browser, url: str, person: str):
    """A browser profile of somebody's own, in which he has signed in; the page."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=person).click()
    return page


@pytest.fixture
def served(home):
    """The application's address."""
    port = free_port()
    with server(home, port):
        yield with_token(port)


@contextmanager
def chromium(errors: list[str]) -> Iterator[Callable]:
    """Opens pages at an address; ``errors`` takes what they put on the console."""
    with launched() as browser:

        def opened(url: str, **options):
            page = browser.new_context(**options).new_page()
            page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
            page.on("pageerror", lambda e: errors.append(str(e)))
            page.set_default_timeout(PATIENCE)
            page.add_init_script(COUNT)
            page.goto(url)
            return there(page, "The table")

        yield opened


class Relay(socketserver.ThreadingTCPServer):
    """Hands bytes on between a browser and a server's port, ``lag`` seconds late, or breaks every connection."""

    daemon_threads, allow_reuse_address = True, True

    def __init__(self, target: int) -> None:
        self.open: set[socket.socket] = set()
        self.working, self.target, self.lag = True, target, 0.0
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

    def _pour(self, source: socket.socket, sink: socket.socket) -> None:
        under_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        arriving = threading.Thread(target=self._arrive, args=(under_way, sink), daemon=True)
        arriving.start()
        with suppress(OSError):
            while data := source.recv(1 << 16):
                under_way.put((time.monotonic() + self.server.lag, data))
        under_way.put((0.0, b""))
        arriving.join()

    @staticmethod
    def _arrive(under_way: queue.SimpleQueue[tuple[float, bytes]], sink: socket.socket) -> None:
        with suppress(OSError):
            while (part := under_way.get())[1]:
                time.sleep(max(part[0] - time.monotonic(), 0.0))
                sink.sendall(part[1])
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay(target: int) -> Iterator[Relay]:
    """A relay to a port that runs meanwhile."""
    with Relay(target) as result:
        threading.Thread(target=result.serve_forever, daemon=True).start()
        try:
            yield result
        finally:
            result.off()
            result.shutdown()


@pytest.fixture
def visit(served):
    """Opens pages; in the end no page may have put an error on its console."""
    errors: list[str] = []
    with chromium(errors) as opened:
        yield partial(opened, served)
    assert errors == []


def there(page, heading: str):
    page.get_by_role("heading", name=heading, exact=True).wait_for()
    page.wait_for_function(IDLE, polling=100)
    return page


def soonest(page) -> None:
    """Of the methods the one that is done soonest: for walks that are about none."""
    unfold(page, "Experts: what is hidden")
    page.get_by_test_id("stSelectbox").filter(has_text="Method").locator("input").first.fill("independent")
    page.get_by_role("option", name=re.compile("^independent")).first.click()
    page.get_by_text("keeps no relations between columns").first.wait_for()
    page.wait_for_function(IDLE, polling=100)


def send(page, file: Path | dict) -> None:
    """Uploads a table, which is taken as soon as it is there."""
    field = page.get_by_test_id("stFileUploader").filter(has_text="Table (CSV")
    field.locator("input[type=file]").set_input_files(file)
    page.get_by_text("Chosen:").wait_for()
    page.wait_for_function(IDLE, polling=100)


def unfold(page, name: str) -> None:
    """Opens a panel and waits until it stands still: a press on what still slides down would miss it."""
    page.get_by_text(name).click()
    opened = "details[open], [data-variant=pills][aria-checked=true]"
    page.wait_for_function(f"[...document.querySelectorAll('{opened}')].some(d => d.innerText.includes('{name}'))")
    page.wait_for_function("document.getAnimations().every(a => a.playState !== 'running')")
    page.wait_for_timeout(500)


def barred(page) -> list[str]:
    """What axe-core calls a serious or critical barrier on the page, by rule and place; without it nothing."""
    if AXE is None:
        return []
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(SERIOUS)


def keep(page, name: str) -> None:
    """A picture for whoever looks at the artefacts."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{page.viewport_size['width']}-{name.lower()}.png")


def press(page, name: str, heading: str) -> None:
    page.get_by_role("button", name=name).first.click()
    there(page, heading)
    at_top = "document.querySelector('[data-testid=stMain]').scrollTop === 0"
    page.wait_for_function(at_top, polling=100)
