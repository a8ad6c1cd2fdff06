"""The real thing: a browser, a server, a run. Skipped where Chromium or playwright is not installed."""

import subprocess
import sys
import time
import zipfile

import pytest

from synth.privacy.ledger.ledger import Ledger
from tests.app import browser
from tests.app.browser import CHROMIUM, IDLE, chromium, press, relay, server, there
from tests.app.ports import free_port

served, visit, clock = browser.served, browser.visit, browser.clock  # fixtures
pytestmark = [
    pytest.mark.xdist_group("app"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


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
