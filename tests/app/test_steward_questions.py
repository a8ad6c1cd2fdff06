"""Twenty questions that a steward asks are answered on the page where they come up, within two clicks.

The docs list question, page, click and answer; a browser presses and reads.
"""

import re

import pytest

from tests.app import browser
from tests.app.browser import CHROMIUM, IDLE, press, there
from tests.conftest import ROOT

served, visit = browser.served, browser.visit  # fixtures
pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
TABLE = ROOT / "docs" / "steward-questions.md"
NONE = "-"


def questions() -> list[list[str]]:
    """(question, page, what is pressed, words of the answer) of each line."""
    lines = [line.strip("| \n").split(" | ") for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    return lines[1:]


def test_there_are_twenty_with_pages_and_at_most_two_clicks():
    listed = questions()
    assert len(listed) == 20
    assert len({q for q, *_ in listed}) == 20
    assert all(q.endswith("?") and len(line) == 4 for line in listed for q in line[:1])
    assert all(len(clicks.split(", ")) <= 2 for _, _, clicks, _ in listed)
    assert {page for _, page, *_ in listed} == {"The table", "Privacy and accuracy", "The result", "Ledger"}


def answered(page, name: str) -> list[str]:
    """The questions of this page whose answer does not stand where the docs say."""
    lost = []
    for question, at, clicks, words in questions():
        if at != name:
            continue
        pressed = [c for c in clicks.split(", ") if c != NONE]
        for click in pressed:
            page.get_by_role("button", name=click).or_(page.get_by_text(click)).first.click()
        if not seen(page, words):
            lost.append(question)
        if pressed:
            page.keyboard.press("Escape")
            page.wait_for_timeout(300)
    return lost


def seen(page, words: str) -> bool:
    """Whether the words are to be read on the page: as text, or in a field."""
    script = """words => {
        const flat = text => text.replace(/\\s+/g, ' ');
        const fields = [...document.querySelectorAll('input, textarea')].map(f => f.value).join(' ');
        return flat(document.body.innerText + ' ' + fields).includes(words);
    }"""
    for _ in range(40):
        if page.evaluate(script, words):
            return True
        page.wait_for_timeout(250)
    return False


def test_each_is_answered_where_it_comes_up(visit):
    page = visit(viewport={"width": 1280, "height": 900})
    lost = answered(there(page, "The table"), "The table")
    page.get_by_role("button", name="Use the sample table").click()
    page.get_by_role("button", name="Next: Privacy").wait_for()
    lost = [question for question in answered(page, "The table") if question in lost]  # before or after the choice
    press(page, "Next: Privacy and accuracy", "Privacy and accuracy")
    lost += answered(page, "Privacy and accuracy")
    page.get_by_role("button", name="make the table").click()
    there(page, "The result").get_by_role("button", name=re.compile(r"^Download .*\.zip$")).wait_for()
    lost += answered(page, "The result")
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Ledger").click()
    lost += answered(there(page, "Ledger"), "Ledger")
    assert not lost
    page.wait_for_function(IDLE)
