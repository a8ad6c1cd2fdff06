"""Signing in for real: a browser, the application's server, an OpenID provider, and the three roles."""

import signal
import subprocess
import sys
import time
import urllib.request

import pytest

from container.trial.provider import client, provider
from tests.app.browser import CHROMIUM, IDLE, PATIENCE, environment, keep
from tests.app.ports import free_port

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
ROLES = """
[roles]
steward = ["ann@example.org"]
reviewer = ["bob@example.org"]
analyst = ["carl@example.org"]
[approval]
epsilon_above = 0.5
"""


@pytest.fixture(scope="module")
def issuer():
    """A provider of identities."""
    with provider() as found:
        yield found


@pytest.fixture(scope="module")
def served(tmp_path_factory, issuer):
    """A shared installation's address."""
    home = tmp_path_factory.mktemp("signin")
    url = f"http://127.0.0.1:{(port := free_port())}"
    (home / "roles.toml").write_text(ROLES)
    (home / "secrets.toml").write_text(client(issuer.issuer, url))
    server = subprocess.Popen([sys.executable, "-m", "synth", "app", "--port", str(port), "--headless",
                               "--roles", str(home / "roles.toml"), "--secrets", str(home / "secrets.toml")],
                              env=environment(home), stderr=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL)  # fmt: skip
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2)
            break
        except OSError:
            time.sleep(0.1)
    yield url
    server.send_signal(signal.SIGTERM)
    server.wait(30)


@pytest.fixture(scope="module")
def enter(served):
    """Signs somebody in, in a browser profile of his own; returns the page."""
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])

        def opened(person: str):
            page = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True).new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(served)
            page.get_by_role("button", name="Sign in").click()
            page.get_by_role("link", name=person).click()
            return page

        yield opened
        browser.close()


def there(page, heading: str):
    page.get_by_role("heading", name=heading, exact=True).wait_for()
    page.wait_for_function(IDLE)
    keep(page, f"signed-{heading}")
    return page


def pages(page) -> list[str]:
    return [link.inner_text().split("\n")[-1] for link in page.get_by_test_id("stSidebarNavLink").all()]


def test_three_people_take_a_table_from_a_wish_to_a_download(enter, tmp_path):
    ann = there(enter("ann@example.org"), "Data")
    ann.get_by_role("button", name="Use the sample table").click()
    for step in ("Describe", "Budget", "Method"):
        there(ann, step).get_by_role("button", name="Next:").click()
    there(ann, "Run").get_by_role("button", name="Ask a reviewer to spend").click()
    ann.get_by_text("Waiting for a reviewer").wait_for()

    bob = there(enter("bob@example.org"), "Approve")
    assert pages(bob) == ["Approve", "Releases", "Ledger"]
    bob.get_by_text("asked by ann@example.org").wait_for()
    bob.get_by_role("button", name="Approve and run").click()

    ann.get_by_role("button", name="Next: Review").click()
    there(ann, "Review").get_by_role("link", name="7. Release").click()
    there(ann, "Release").get_by_role("button", name="Ask a reviewer to release it").click()
    ann.get_by_text("A reviewer has been asked").wait_for()
    bob.reload()
    there(bob, "Approve").get_by_role("button", name="Release it").click()
    bob.get_by_text("No result waits to be released").wait_for()

    carl = there(enter("carl@example.org"), "Releases")
    assert pages(carl) == [], "one page needs no list of pages"
    with carl.expect_download() as download:
        carl.get_by_role("button", name="Download the bundle").click()
    download.value.save_as(tmp_path / "bundle.zip")
    assert (tmp_path / "bundle.zip").read_bytes()[:2] == b"PK"
    carl.get_by_role("button", name="Sign out").click()
    carl.get_by_role("button", name="Sign in").wait_for()
