"""What a visitor does with a file of his own: uploads, the grid, confirming, hints, what is stored and found again."""

import gc
import json

import pytest

import synth
from app.session import state, workers
from app.session.state import STEPS, answered, view
from app.table import facts
from tests.app.elements import keys, row_each, said, sample, upload

pytestmark = pytest.mark.xdist_group("app")


def test_an_upload_is_drafted_and_waits_for_somebody_to_confirm_it(start, people, home):
    at = upload(start(), people)
    assert at.title[0].value == "The table"
    assert at.button(key="confirm_all").label == "Confirm 3 columns"
    assert "onward" not in keys(at)
    at.switch_page(view("privacy")).run()
    assert "confirm" in at.info[0].value
    stored = list((home / "home" / "uploads").glob("*/people.csv"))
    assert [s.read_bytes() for s in stored] == [people]
    assert stored[0].stat().st_mode & 0o077 == 0
    assert stored[0].parent.stat().st_mode & 0o077 == 0


def test_confirming_is_the_steward_s_word(start, people):
    at = upload(start(), people)
    assert at.button(key="confirm_all").label == "Confirm 3 columns"
    at.button(key="confirm_all").click().run()
    assert "confirm_all" not in keys(at)
    assert "onward" not in keys(at), "nobody has said whether a person can have several rows"
    assert "onward" in keys(row_each(at))
    assert at.session_state["wizard"].plain["unit"] == "row"
    assert at.session_state["wizard"].plain["unit_source"] == "declared"
    assert at.session_state["wizard"].plain["columns"]["age"]["source"] != "unconfirmed"


def test_one_column_can_be_confirmed_alone(start, people):
    at = upload(start(), people)
    at.selectbox(key="editing").set_value("city").run()
    at.button(key="confirm_one").click().run()
    assert at.button(key="confirm_all").label == "Confirm 2 columns"


def test_edits_of_the_grid_reach_the_description_and_survive_the_page(start, people):
    at = upload(start(), people)
    edition = at.session_state["wizard"].edition
    at.session_state[f"grid_{edition}"] = {
        "edited_rows": {0: {"max": "120"}, 1: {"use": False}},
        "added_rows": [],
        "deleted_rows": [],
    }
    at.run()
    assert at.session_state["wizard"].plain["columns"]["age"]["max"] == 120
    at.switch_page(view("ledger")).run()
    at.switch_page(view("table")).run()
    shown = at.data_editor[0].value.set_index("column")
    assert shown.loc["age", "max"] == "120"
    assert not shown.loc["team", "use"]


def test_a_broken_rule_is_told_in_place(start, people):
    at = upload(start(), people)
    edition = at.session_state["wizard"].edition
    at.session_state[f"grid_{edition}"] = {
        "edited_rows": {0: {"min": "90", "max": "10"}},
        "added_rows": [],
        "deleted_rows": [],
    }
    at.run()
    assert "min 90 is above max 10" in at.error[0].value.replace("\\", "")
    assert "onward" not in keys(at)


def test_values_of_a_category_are_edited_as_lines(start, people):
    at = upload(start(), people)
    at.selectbox(key="editing").set_value("city").run()
    next(t for t in at.text_area if t.key.startswith("lines_")).set_value("Bern\nOslo\nRome\nParis").run()
    at.button(key="keep_values").click().run()
    assert at.session_state["wizard"].plain["columns"]["city"]["categories"] == ["Bern", "Oslo", "Rome", "Paris"]


CODED = b"code,other,x\n" + b"".join(b"%d,%d,%d.5\n" % (i % 4, i % 3, i) for i in range(60))


def _codes(at, name):
    """The page with a column among those of codes: whole numbers from 0 on are taken for counts at first."""
    chosen = at.multiselect(key=f"codes_{at.session_state['wizard'].edition}")
    assert name not in chosen.value
    return chosen.set_value([*chosen.value, name]).run()


def test_columns_that_may_be_codes_become_what_stands_in_the_question_when_they_are_confirmed(start):
    at = row_each(upload(start(), CODED))
    assert "First say which columns hold numbers, and which codes" in said(at)
    at.selectbox(key="editing").set_value("other").run()
    at.button(key="confirm_one").click().run()  # by itself and as a number: that is an answer
    assert at.multiselect(key=f"codes_{at.session_state['wizard'].edition}").options == ["code"]
    at = _codes(at, "code")
    at.session_state["wizard"].edition += 1  # as after anything else that changes the description
    assert at.run().multiselect(key=f"codes_{at.session_state['wizard'].edition}").value == ["code"]
    assert "numbers and codes is taken" in at.button(key="confirm_all").help
    at.button(key="confirm_all").click().run()
    columns = at.session_state["wizard"].plain["columns"]
    assert {n: (c["type"], c["source"]) for n, c in columns.items()} == {
        "code": ("categorical", "declared"),
        "other": ("integer", "declared"),
        "x": ("float", "declared"),
    }
    assert columns["code"]["categories"] == ["0", "1", "2", "3"]
    assert "First say which columns hold numbers" not in said(at)


def test_hints_change_the_draft(start):
    content = b"code,x\n" + b"".join(f"{i % 4},{'?' if i % 9 == 0 else i}\n".encode() for i in range(60))
    at = upload(start(), content)
    at.text_input(key="hint_missing").set_value("?").run()
    at.multiselect(key="hint_categorical").set_value(["code"]).run()
    at.button(key="draft_again").click().run()
    columns = at.session_state["wizard"].plain["columns"]
    assert columns["code"]["type"] == "categorical"
    assert (columns["x"]["type"], columns["x"]["missing"]) == ("integer", ["?"])


def test_a_file_that_is_read_otherwise_is_asked_about_persons_anew(start):
    at = row_each(upload(start(), b"a;b,c\n" + b"1;2,3\n4;5,6\n" * 30))
    w = at.session_state["wizard"]
    assert answered(w)
    w.plain |= {"linked": True, "order": next(iter(w.plain["columns"]))}
    read = next(s for s in at.selectbox if s.key.startswith("read_delimiter"))
    other = ";" if read.value == "," else ","
    columns = list(w.plain["columns"])
    read.set_value(other).run()
    at.button(key="read_so").click().run()
    w = at.session_state["wizard"]
    assert list(w.plain["columns"]) != columns
    assert not answered(w) or w.plain.get("order") is None
    assert not w.plain.get("order")


def test_an_upload_with_its_description_needs_no_draft(start, people):
    plain = {"dataset": "club", "columns": {"age": {"type": "integer", "min": 0, "max": 120, "source": "public"}}}
    at = upload(start(), people, plain)
    assert at.title[0].value == "The table"
    assert "onward" in keys(at)
    assert at.text_input(key="dataset").value == "club"


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"a,b\n1,2\nSECRET,2,3\n", "bad.csv", "3 fields where the header has 2"),
        (b"", "empty.csv", "the file is empty"),
        (b"\x89PNG\r\n", "x.parquet", "not a readable Parquet file"),
        (b"a\n", "head.csv", "no rows"),
    ],
)
def test_a_faulty_file_is_refused_in_one_line_and_not_kept(start, home, content, name, words):
    at = upload(start(), content, name=name)
    reported = at.error[0].value.replace("\\", "")
    assert words in reported
    assert "SECRET" not in reported
    assert str(home) not in reported
    assert not list((home / "home" / "uploads").glob("*/*"))


def test_a_description_of_other_columns_is_refused(start, people, home):
    plain = {"columns": {"height": {"type": "integer", "min": 0, "max": 300}}}
    at = upload(start(), people, plain)
    assert "no column 'height'" in at.error[0].value.replace("\\", "")
    assert not list((home / "home" / "uploads").glob("*/*"))


def test_the_stored_copy_can_be_removed(start, people, home):
    at = upload(start(), people)
    at.button(key="discard").click().run()
    assert not list((home / "home" / "uploads").glob("*/*"))
    assert at.session_state["wizard"].table is None


def test_a_reload_finds_the_stored_table_with_what_was_confirmed(start, people):
    at = upload(start(), people)
    at.selectbox(key="editing").set_value("city").run()
    at.button(key="confirm_one").click().run()
    again = start()
    assert "people.csv" in said(again)
    again.button(key="use_0").click().run()
    assert again.title[0].value == "The table"
    assert again.button(key="confirm_all").label == "Confirm 2 columns"
    again.button(key="discard").click().run()
    assert "use_0" not in keys(again)


def test_a_later_visit_goes_on_where_the_last_one_was_left_with_all_that_was_chosen(start):
    at = sample(start)
    at.switch_page(view("privacy")).run()
    at.number_input(key="epsilon_number").set_value(0.7).run()
    at.selectbox(key="delta").set_value(1e-6).run()
    at.selectbox(key="method").set_value("mst").run()
    at.switch_page(view("ledger")).run()
    again = start()
    assert "Town survey (sample), 15 columns" in said(again)
    again.button(key="use_0").click().run()
    assert again.title[0].value == "Privacy and accuracy"
    assert again.selectbox(key="method").value == "mst"
    again.switch_page(view("privacy")).run()
    assert (again.number_input(key="epsilon_number").value, again.selectbox(key="delta").value) == (0.7, 1e-6)


def test_an_internal_error_is_one_line_without_its_text(start, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a private cell: 4711")

    monkeypatch.setattr(facts, "grid", broken)
    at = sample(start)
    assert not at.exception
    assert "ZeroDivisionError" in at.error[0].value
    assert "4711" not in said(at)


def test_steps_are_pages_of_their_own():
    assert STEPS == ("table", "privacy", "result")


def test_a_page_checks_each_description_once(start, monkeypatch):
    at, asked, parse = sample(start), [], synth.app_api.parse_schema
    state._parsed.cache_clear()
    monkeypatch.setattr(
        synth.app_api,
        "parse_schema",
        lambda plain, **reported: asked.append(json.dumps(plain)) or parse(plain, **reported),
    )
    at.switch_page(view("privacy")).run()
    at.switch_page(view("table")).run()
    assert 1 <= len(asked) <= 2  # as a complete one, and as a draft


def test_libraries_of_later_pages_are_no_garbage_to_look_through():
    workers.load(["json"])
    try:
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()


KEYED = b"pid,x\n" + b"".join(b"P%06d,%d.5\n" % (i, i) for i in range(60))


def test_made_up_keys_get_the_form_that_the_steward_types(start):
    at = row_each(upload(start(), KEYED))
    at.selectbox(key="editing").set_value("pid").run()
    field = next(t for t in at.text_input if t.key.startswith("pattern_"))
    assert field.value == "", "the rows' own form is not read off"
    field.set_value("P.*").run()
    assert any("Write letters, digits" in e.value or "write letters, digits" in e.value for e in at.error)
    assert "keep_form" not in keys(at)
    next(t for t in at.text_input if t.key.startswith("pattern_")).set_value("P[0-9]{6}").run()
    at.button(key="keep_form").click().run()
    assert at.session_state["wizard"].plain["columns"]["pid"]["pattern"] == "P[0-9]{6}"
    assert not at.error
