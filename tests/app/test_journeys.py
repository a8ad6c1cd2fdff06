"""Journeys of new users in a browser: how often they click and type, and how far each page reaches down."""

import re

import pytest

from tests.app import browser
from tests.app.browser import CHROMIUM, IDLE, keep, press, send, there, unfold
from tests.messy import messy

served, visit = browser.served, browser.visit  # fixtures
pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
DESK = {"viewport": {"width": 1440, "height": 900}, "accept_downloads": True}
TALLEST = 1600  # pixels of a page of that width, before something is opened
ZIP = re.compile(r"^Download .*\.zip$")
LOOKS = ((390, "dark"), (1440, "light"))


class Person:
    """Somebody at a desk, whose clicks and typed fields are counted, and the heights of the pages that he sees."""

    def __init__(self, page) -> None:
        self.page, self.sent, self.heights = page, 0, dict[str, int]()

    def press(self, name: str | re.Pattern, *, exact: bool = False) -> None:
        self.page.get_by_role("button", name=name, exact=exact).first.click()
        self._settles()

    def _settles(self) -> None:
        """A page that is about to be drawn again stands still for a moment before: a menu opened then would close."""
        self.page.wait_for_timeout(300)
        self.page.wait_for_function(IDLE, polling=100)

    def choose(self, label: str, option: str | re.Pattern, *, seek: str = "") -> None:
        """Of a menu; ``seek``: for what it is looked through, where it is long."""
        menu = self.page.get_by_test_id("stSelectbox").filter(has_text=label).locator("input").first
        menu.evaluate("field => field.scrollIntoView({block: 'center'})")  # not below the bar that stays in view
        self.page.wait_for_timeout(1500)  # a menu that opens while the page rolls or is drawn is closed again
        menu.click()
        if seek:
            menu.fill(seek)
        self.page.get_by_role("option", name=option).first.click()
        self._settles()

    def open(self, name: str) -> None:
        """A panel, unless it is open: a page keeps what was opened."""
        if not self.page.locator("details[open] > summary").filter(has_text=name).count():
            unfold(self.page, name)

    def by_released_figures(self) -> None:
        """How the second run was chosen, asked before any download."""
        said = self.page.get_by_text("by released figures only").first
        said.wait_for()
        self._settles()
        said.click()
        self.press("Record this answer")

    def method(self, name: str) -> None:
        self.open("Experts: what is hidden")
        self.choose("Method", re.compile(f"^{name}"), seek=name)

    def write(self, label: str, text: str) -> None:
        self.page.get_by_role("textbox", name=label).first.focus()
        self.page.keyboard.type(text)
        self.page.keyboard.press("Tab")
        self.page.wait_for_function(IDLE, polling=100)

    def upload(self, *files) -> None:
        self.sent += 1  # the click that opens the list of files
        send(self.page, list(files))

    def look(self, name: str) -> None:
        """A page as it stands before something is opened, with a picture in both widths."""
        self.page.wait_for_function(IDLE, polling=100)
        self.heights[name] = self.page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        for width, scheme in LOOKS:
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.wait_for_timeout(500)
            keep(self.page, name)

    def run(self) -> None:
        """Makes the table, and waits for the result."""
        self.page.get_by_role("button", name="make the table").click()
        there(self.page, "The result").get_by_role("button", name=ZIP).wait_for()

    def fetch(self, name: str | re.Pattern) -> str:
        """The name of the file that a button gives."""
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name=name).first.click()
        return download.value.suggested_filename

    def ends(self, *, clicks: int, typed: int = 0) -> None:
        done, written = self.page.evaluate("deeds.click") + self.sent, self.page.evaluate("deeds.change")
        print(f"{done} clicks, {written} typed, {self.heights}")
        assert done <= clicks
        assert written <= typed
        assert max(self.heights.values()) <= TALLEST, self.heights


@pytest.fixture
def person(visit):
    return Person(visit(**DESK))


def file(name: str, text: str) -> dict:
    return {"name": name, "mimeType": "text/csv", "buffer": text.encode()}


def with_the_sample(person) -> None:
    person.press("Use the sample table")
    person.page.get_by_role("button", name="Next: Privacy").wait_for()


def test_the_sample_is_in_a_bundle_and_no_page_is_long(person):
    person.look("journey-start")
    with_the_sample(person)
    person.look("journey-table")
    press(person.page, "Next: Privacy and accuracy", "Privacy and accuracy")
    person.page.get_by_text("Memory").wait_for()
    person.look("journey-privacy")
    person.run()
    person.look("journey-result")
    assert re.fullmatch(r"synthetic-town-survey-\w+-e1-\d{4}-\d\d-\d\d\.zip", person.fetch(ZIP))
    assert person.page.evaluate("deeds.keydown") == 0
    person.ends(clicks=4)


def scored(person) -> None:
    """SDMetrics scores the table, which is downloaded as CSV."""
    person.press("Show the comparison")
    person.page.get_by_text("Scores of SDMetrics' quality report").wait_for()
    person.press("One file of it")
    assert person.fetch("Table (CSV)") == "synthetic.csv"


TRAINED = [pytest.param(m, marks=pytest.mark.slow) for m in ("slicing", "dp_kernel")]  # for a minute and more


@pytest.mark.parametrize("method", ["independent", *TRAINED])
def test_another_method_is_scored_by_sdmetrics_and_downloaded_as_csv(person, method):
    with_the_sample(person)
    press(person.page, "Next: Privacy and accuracy", "Privacy and accuracy")
    person.method(method)
    person.page.set_default_timeout(browser.PATIENCE if method == "independent" else 600_000)
    person.run()
    person.page.set_default_timeout(browser.PATIENCE)
    person.look(f"journey-sample-{method}")
    scored(person)
    person.ends(clicks=9)


@pytest.mark.slow  # two trainings, for minutes where the computer has other work
def test_a_file_is_released_at_a_typed_epsilon_by_slicing_and_by_dp_kernel(person):
    rows = "".join(f"{20 + i % 50},{'mf'[i % 2]},{i % 7 * 100},{'yn'[i % 3 % 2]}\n" for i in range(900))
    person.upload(file("people.csv", f"age,sex,balance,y\n{rows}"))
    person.press("Confirm ")
    person.page.get_by_text("All columns are confirmed on your word.").wait_for()
    person.choose("Can a person appear in more than one row?", re.compile("^No: each row"))
    press(person.page, "Next: Privacy and accuracy", "Privacy and accuracy")
    person.press("The number is public")
    exact = person.page.get_by_role("spinbutton", name="Exact epsilon")
    exact.fill("1.2")  # the cap is 3
    exact.press("Tab")
    shown = set()
    for method in ("slicing", "dp_kernel"):
        person.method(method)
        person.open("What the method sees of a row")
        person.page.get_by_text(f"What {method} adds up").wait_for()
        shown.add(person.page.get_by_text(re.compile(r"^[\d,]+ coordinates, length at most")).inner_text())
        person.page.set_default_timeout(600_000)
        person.run() if method == "slicing" else person.press("make the table")
        if method == "dp_kernel":
            person.by_released_figures()
            person.page.get_by_role("button", name=ZIP).wait_for()
        person.page.set_default_timeout(browser.PATIENCE)
        person.look(f"journey-{method}")
        assert "-e1.2-" in person.fetch(ZIP)
        scored(person)
        if method == "slicing":
            press(person.page, "Back: Privacy and accuracy", "Privacy and accuracy")
    assert len(shown) == 2, "each method's own vectors"
    person.ends(clicks=30, typed=1)


def test_a_messy_hospital_file_is_released_with_a_paper(person):
    person.upload(file("visits.csv", messy().to_csv(index=False)))
    person.look("journey-hospital")
    person.press("Confirm ")
    person.page.get_by_text("All columns are confirmed on your word.").wait_for()
    person.press("Spend epsilon 0.1 and learn")
    person.page.get_by_text("Learnt privately: ").wait_for()
    press(person.page, "Next: Privacy and accuracy", "Privacy and accuracy")
    person.press("The number is public")
    person.run()
    person.look("journey-hospital-result")
    unfold(person.page, "Papers: 0 of 8 are finished")
    person.page.get_by_text("Five Safes statement").first.click()
    person.write("Purpose", "teaching")
    person.write("Who receives it", "students of the course")
    person.write("Where it may be used", "anywhere")
    person.press("Save this paper")
    person.page.get_by_text("Papers: 1 of 8 are finished").wait_for()
    assert person.fetch(ZIP).startswith("synthetic-visits-e1.1-"), "with what was learnt"
    person.ends(clicks=12, typed=5)


def test_two_methods_are_compared_on_a_bank_s_file(person):
    rows = "".join(
        f"{20 + i % 50};{['single', 'married'][i % 2]};{i % 7 * 100};{'yn'[i % 3 % 2]}\n" for i in range(900)
    )
    person.upload(file("bank.csv", f"age;marital;balance;y\n{rows}"))
    person.press("Confirm ")
    person.page.get_by_text("All columns are confirmed on your word.").wait_for()
    person.choose("Can a person appear in more than one row?", re.compile("^No: each row"))
    press(person.page, "Next: Privacy and accuracy", "Privacy and accuracy")
    person.press("The number is public")
    person.run()
    person.press("Show the comparison")
    person.page.get_by_text("Scores of SDMetrics' quality report").wait_for()
    press(person.page, "Back: Privacy and accuracy", "Privacy and accuracy")
    person.method("independent")
    person.press("make the table")
    person.by_released_figures()
    person.page.get_by_role("button", name=ZIP).wait_for()
    person.look("journey-bank-result")
    person.press("Show the comparison")
    person.page.get_by_text("Scores of SDMetrics' quality report").wait_for()
    assert person.page.get_by_role("button", name=ZIP).count(), "comparing locks no download"
    person.ends(clicks=16)


def test_related_tables_are_released_together(person):
    homes = "id,region\n" + "".join(f"h{i},{'NS'[i % 2]}\n" for i in range(300))
    persons = "pid,id,age\n" + "".join(f"{i},h{i // 2},{20 + i % 40}\n" for i in range(600))
    person.upload(file("homes.csv", homes), file("persons.csv", persons))
    person.look("journey-related")
    person.choose("Rows of", "persons")
    person.press("Join these tables")
    person.page.get_by_text("persons belongs to homes by id").wait_for()
    person.press("Confirm ")
    person.page.get_by_text("All columns and keys are confirmed on your word.").wait_for()
    press(person.page, "Next: Privacy and accuracy", "Privacy and accuracy")
    person.press("The number is public")
    person.look("journey-related-privacy")
    person.run()
    person.look("journey-related-result")
    assert person.fetch(ZIP).startswith("synthetic-homes-e1-")
    person.ends(clicks=14)


def test_a_question_is_asked_and_answered(person):
    with_the_sample(person)
    press(person.page, "Next: Privacy and accuracy", "Privacy and accuracy")
    person.run()
    person.page.get_by_role("link", name="Questions").click()
    there(person.page, "Questions")
    person.choose("What do you want to know?", "The mean of a number")
    person.look("journey-question")
    person.press("Ask the steward")
    person.look("journey-question-waits")
    person.press("Spend and answer")
    person.page.get_by_text("Dot: verified").wait_for()
    person.ends(clicks=9)
