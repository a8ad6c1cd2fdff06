"""Published totals on the page Describe: a CSV beside the table, what it fixes, and what contradicts it in place."""

import pytest

from tests.app.elements import said, upload

pytestmark = pytest.mark.xdist_group("app")
CITIES = b"city,count\nRome,100\nOslo,100\nBern,40\n"


def sent(at, content: bytes, *, place: str = "Yearbook 2025"):
    next(u for u in at.file_uploader if u.label.startswith("A table of totals")).set_value(
        ("city.csv", content, "text/csv")
    )
    next(t for t in at.text_input if t.label == "Where it is printed").set_value(place)
    at.run()
    return at.button(key="add_totals").click().run()


def test_totals_are_taken_in_shown_and_taken_out(start, people):
    at = upload(start(), people)
    at.session_state["totals"] = True
    at.run()
    sent(at, CITIES)
    stated = at.session_state["wizard"].plain["totals"]
    assert [t["counts"] for t in stated] == [[["Rome", "100"], ["Oslo", "100"], ["Bern", "40"]]]
    assert "Fixes 3 counts by city; printed in: Yearbook 2025" in said(at)
    assert "may still say anything about age, team" in said(at)
    at.button(key="drop_totals_0").click().run()
    assert not at.session_state["wizard"].plain.get("totals")


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        (b"town,count\nRome,1\n", "x", "not among the columns"),
        (b"city,count\nRome,100\n", "x", "no line has city="),
        (CITIES, "", "say where it is printed"),
    ],
)
def test_what_contradicts_the_description_is_told_in_place(start, people, content, place, words):
    at = upload(start(), people)
    at.session_state["totals"] = True
    at.run()
    sent(at, content, place=place)
    assert words in at.error[0].value.replace("\\", "")
    assert not at.session_state["wizard"].plain.get("totals")
