"""Signing in for real: a browser, the application's server, an OpenID provider, and the three roles."""

from functools import partial

import pytest

from tests.app.browser import CHROMIUM, IDLE, installation, keep, launched, signed_in, soonest

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
def enter(tmp_path_factory):
    """Signs somebody in, in a browser profile of his own; returns the page."""
    with installation(tmp_path_factory.mktemp("signin"), ROLES) as (url, _), launched() as browser:
        yield partial(signed_in, browser, url)


def there(page, heading: str):
    page.get_by_role("heading", name=heading, exact=True).wait_for()
    page.wait_for_function(IDLE, polling=100)
    keep(page, f"signed-{heading}")
    return page


def pages(page) -> list[str]:
    return [link.inner_text().split("\n")[-1] for link in page.get_by_test_id("stSidebarNavLink").all()]


def test_three_people_take_a_table_from_a_wish_to_a_download(enter, tmp_path):
    ann = there(enter("ann@example.org"), "The table")
    ann.get_by_role("button", name="Use the sample table").click()
    ann.get_by_role("button", name="Next:").click()
    soonest(there(ann, "Privacy and accuracy"))
    ann.get_by_role("button", name="Ask a reviewer to spend").click()
    ann.get_by_text("Waiting for a reviewer").wait_for()

    bob = there(enter("bob@example.org"), "Approve")
    assert pages(bob) == ["Approve", "Releases", "Questions", "Ledger"]
    bob.get_by_text("asked by ann@example.org").wait_for()
    bob.get_by_role("button", name="Approve and run").click()

    there(ann, "The result").get_by_role("button", name="Ask a reviewer to release it").click()
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
