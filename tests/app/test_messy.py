"""A messy hospital file in a browser, from upload to release: nothing of a patient is published by confirming all."""

import re
import zipfile

import pandas as pd
import pytest

from tests.app import browser
from tests.app.browser import CHROMIUM, IDLE, keep, press, send, there, unfold
from tests.messy import messy, reported_in, secrets

served, visit = browser.served, browser.visit  # fixtures
pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


@pytest.mark.slow  # by the command line: tests/unit/test_confirming.py; pages: test_pages, test_intake, test_written
def test_a_messy_file_is_released_without_a_key_a_note_or_a_birth_date(visit, tmp_path):
    """More than for a clean file: who a person is, and one charge for the long lists."""
    table = messy()
    table.to_csv(tmp_path / "visits.csv", index=False)
    page = visit(viewport={"width": 1280, "height": 1100}, accept_downloads=True)
    send(page, tmp_path / "visits.csv")
    keep(page, "messy-describe")
    page.get_by_role("button", name="Confirm ").click()  # and that patient tells persons apart
    page.get_by_text("All columns are confirmed on your word.").wait_for()
    assert page.get_by_role("button", name="Next: Privacy").count() == 0, "the long lists still wait"
    keep(page, "messy-answered")
    page.get_by_role("button", name="Spend epsilon 0.1 and learn").click()
    page.get_by_text("Learnt privately: postcode, diagnosis").wait_for()
    press(page, "Next: Privacy and accuracy", "Privacy and accuracy")
    page.get_by_role("button", name="The number is public").click()
    page.get_by_role("button", name="make the table").click()
    unfold(there(page, "The result"), "What is public in it")
    page.get_by_text("Word for word, because somebody confirmed them").wait_for()
    keep(page, "messy-release")
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile(r"^Download .*\.zip$")).click()
    download.value.save_as(tmp_path / "release.zip")
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        archive.extractall(tmp_path / "release")
    page.get_by_role("button", name="One file of it").click()
    for said, mark, file in (
        ("Like the private table", "dd", "synthetic.dialect.csv"),
        ("Plain: UTF-8 text", "-", "synthetic.csv"),
    ):
        page.get_by_text(said).click()
        for _ in range(60):  # the button follows the choice when the page has been drawn again
            page.wait_for_function(IDLE, polling=100)
            with page.expect_download() as download:
                page.get_by_role("button", name="Table (CSV)").click()
            if download.value.suggested_filename == file:
                break
            page.wait_for_timeout(500)
        download.value.save_as(tmp_path / file)
        assert (tmp_path / file).read_bytes() == (tmp_path / "release" / file).read_bytes()
        born = pd.read_csv(tmp_path / file, dtype=str).geburtsdatum.dropna()
        assert born.str.contains(r"^\d\d\." if mark == "dd" else r"^\d{4}-").all()
    for name, cells in secrets(table).items():
        if name not in (
            "dob",
            "geburtsdatum",
        ):  # dates of the synthetic table meet real ones by chance; see tests/unit/test_confirming.py
            assert reported_in(tmp_path / "release", {c for c in cells if len(c) > 5}) == set(), name
    assert "note" not in pd.read_csv(tmp_path / "release" / "synthetic.csv", nrows=1).columns
