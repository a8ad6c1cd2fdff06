"""Journeys of new users in a browser: how often they click and type, and how far each page reaches down."""

import re

import pytest

from tests.app import browser
from tests.app.browser import CHROMIUM, IDLE, press, send, soonest, there

served, visit = browser.served, browser.visit  # fixtures
pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
DESK = {"viewport": {"width": 1440, "height": 900}, "accept_downloads": True}
TALLEST = 1600  # pixels of a page of that width, before something is opened
ZIP = re.compile(r"^Download .*\.zip$")


def tall(page) -> int:
    page.wait_for_function(IDLE, polling=100)
    return page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")


def fetched(page, button) -> str:
    """The name of the file that a button gives."""
    with page.expect_download() as download:
        button.click()
    return download.value.suggested_filename


def test_the_sample_is_in_a_bundle_after_four_clicks_and_no_page_is_long(visit):
    page = visit(**DESK)
    heights = [tall(page)]
    page.get_by_role("button", name="Use the sample table").click()
    page.get_by_role("button", name="Next: Privacy").wait_for()
    heights.append(tall(page))
    press(page, "Next: Privacy and accuracy", "Privacy and accuracy")
    page.get_by_text("Memory").wait_for()
    heights.append(tall(page))
    page.get_by_role("button", name="make the table").click()
    download = there(page, "The result").get_by_role("button", name=ZIP)
    download.wait_for()
    heights.append(tall(page))
    assert re.fullmatch(r"town-survey-\w+-e1-\d{4}-\d\d-\d\d\.zip", fetched(page, download))
    assert page.evaluate("deeds.click") <= 4
    assert page.evaluate("deeds.keydown") == 0
    assert max(heights) <= TALLEST, heights


def test_another_method_is_scored_by_sdmetrics_and_downloaded_as_csv_within_nine_clicks(visit):
    page = visit(**DESK)
    page.get_by_role("button", name="Use the sample table").click()
    press(page, "Next: Privacy and accuracy", "Privacy and accuracy")
    soonest(page)
    page.get_by_role("button", name="make the table").click()
    there(page, "The result").get_by_role("button", name="Show the comparison").click()
    page.get_by_text("Scores of SDMetrics' quality report").wait_for()
    page.get_by_role("button", name="One file of it").click()
    assert fetched(page, page.get_by_role("button", name="Table (CSV)")) == "synthetic.csv"
    assert page.evaluate("deeds.click") <= 9


def test_an_uploaded_file_is_there_at_once_and_its_page_is_not_long(visit):
    rows = "".join(f"P{i // 2:04d};{1 + i % 28:02d}.03.1950;{'mw'[i % 2]};{50 + i % 60},{i % 10}\n" for i in range(800))
    page = visit(**DESK)
    send(page, {"name": "clinic.csv", "mimeType": "text/csv", "buffer": f"Pat_Nr;Geboren;Sex;kg\n{rows}".encode()})
    assert tall(page) <= TALLEST
    page.get_by_role("button", name="Confirm ").click()
    page.get_by_text("All columns are confirmed on your word.").wait_for()
    press(page, "Next: Privacy and accuracy", "Privacy and accuracy")
