"""Areas within areas on the page Describe: a level by its codes or as a list, the tree shown, faults in place."""

import pytest

from tests.app.elements import said, upload

pytestmark = pytest.mark.xdist_group("app")


def opened(start, people):
    at = upload(start(), people)
    at.session_state["areas"] = True
    return at.run()


def chosen(at, child: str, parent: str):
    next(s for s in at.selectbox if s.label == "The areas of").select(child).run()
    next(s for s in at.selectbox if s.label == "lie within those of").select(parent).run()
    return at


def listed(at, content: bytes):
    next(u for u in at.file_uploader if u.label.startswith("Which lie in which")).set_value(
        ("areas.csv", content, "text/csv")
    )
    at.run()
    return at.button(key="add_within").click().run()


def test_a_level_is_taken_in_shown_and_taken_out(start, people):
    at = listed(chosen(opened(start, people), "city", "team"), b"city,team\nRome,a\nOslo,b\nBern,b\n")
    assert at.session_state["wizard"].plain["columns"]["city"]["within"] == {
        "column": "team",
        "areas": {"a": ["Rome"], "b": ["Oslo", "Bern"]},
    }
    assert "Each area of city lies within one of team, as listed" in said(at)
    assert "- a\n  - Rome\n- b\n" in said(at)
    at.button(key="drop_within_0").click().run()
    assert "within" not in at.session_state["wizard"].plain["columns"]["city"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"city,team\nRome,a\nOslo,b\n", "'Bern' of city lies in none of team"),
        (b"city\nRome\n", "two columns"),
        (b"city,team\nRome,a\nOslo,b\nBern,b\nRome,b\n", "an area lies in one"),
    ],
)
def test_what_contradicts_a_tree_is_told_in_place(start, people, content, words):
    at = listed(chosen(opened(start, people), "city", "team"), content)
    assert words in at.error[0].value.replace("\\", "")
    assert "within" not in at.session_state["wizard"].plain["columns"]["city"]
