"""What each page says and refuses, without a run."""

import json
from types import SimpleNamespace

import pytest

import synth
from app.run import runs
from app.session import door, frame
from app.session.state import STEPS, view
from synth import jobs
from tests.app.elements import SCHEMA, all_helped, ended, keys, said, sample, to_run, upload, uploader

pytestmark = pytest.mark.xdist_group("app")


def test_a_page_whose_needs_are_not_met_says_what_to_do(start):
    at = start()
    for name in ("privacy", "result", "ledger"):
        at.switch_page(view(name)).run()
        assert not at.exception, name
        assert not at.error, name
        assert at.info, name


def test_one_click_takes_the_sample_table_to_the_description(start):
    at = sample(start)
    assert at.title[0].value == "The table"
    assert list(at.data_editor[0].value["column"])[1] == "age"
    assert "onward" in keys(at)


def test_tables_wait_for_a_description_that_is_still_being_sent(start, people, monkeypatch):
    """It was left out without a word: tables are taken as soon as they are here."""
    monkeypatch.setattr(door, "_manager", lambda: SimpleNamespace(file_storage={}))
    at = start()
    with door.room_for("test session id", 5) as given:  # as the framework calls a tested session
        assert given
        upload(at, people)
        assert any("still on its way" in i.value for i in at.info)
        assert at.session_state["wizard"].table is None
    uploader(at, "Description").set_value(("d.json", json.dumps(SCHEMA).encode(), "application/json")).run()
    assert at.session_state["wizard"].table is not None
    assert at.session_state["wizard"].plain["dataset"] == SCHEMA["dataset"]


def test_every_control_has_help_beside_it(start):
    """And every page says why its decisions matter, and what the words mean."""
    at = sample(start)
    for name in ("table", "privacy", "ledger"):
        at.switch_page(view(name)).run()
        all_helped(at)
        assert all(f"**{word}.**" in said(at) for word in frame.TEN_WORDS), name
        assert all(f"**{what}.** {why}" in said(at) for what, why in frame.WHY[name].items()), name
    assert set(STEPS) <= set(frame.WHY), "every step has its reasons"
    at.switch_page(view("table")).run()
    at.selectbox(key="rule_kind").set_value("order").run()
    all_helped(at)


def test_a_table_may_be_called_as_its_size_is_said(start):
    at = sample(start)
    at.session_state["wizard"].label = "15 columns"
    assert "**Chosen:** 15 columns, 15 columns" in said(at.run())
    assert not at.error


def test_the_tour_says_what_to_do_on_the_sample_until_it_is_ended(start, people):
    at = sample(start)
    assert "Tour, 1 of 3" in said(at)
    at.switch_page(view("privacy")).run()
    assert "Tour, 2 of 3" in said(at)
    at.button(key="end_tour").click().run()
    at.switch_page(view("table")).run()
    assert "Tour" not in said(at)
    assert "Tour" not in said(upload(start(), people)), "nobody is led about on a table of one's own"


def test_choices_survive_leaving_their_page(start):
    at = to_run(sample(start))
    at.number_input(key="epsilon_number").set_value(0.7).run()
    at.selectbox(key="relation").set_value("replace_one").run()
    at.switch_page(view("table")).run()
    at.switch_page(view("privacy")).run()
    assert at.number_input(key="epsilon_number").value == 0.7
    assert at.selectbox(key="relation").value == "replace_one"


def test_slider_and_number_show_the_same_epsilon(start):
    at = to_run(sample(start))
    at.select_slider(key="epsilon_slider").set_value(0.1).run()
    assert at.number_input(key="epsilon_number").value == 0.1
    at.number_input(key="epsilon_number").set_value(2.0).run()
    assert at.select_slider(key="epsilon_slider").value == 2.0
    for typed in (0.37, 25.0):  # neither is a stop of the slider
        at.number_input(key="epsilon_number").set_value(typed).run()
        assert at.select_slider(key="epsilon_slider").value == typed
    at.number_input(key="epsilon_number").set_value(5000.0).run()
    assert at.error
    assert not at.exception
    at.switch_page(view("table")).run()
    at.switch_page(view("privacy")).run()
    assert not at.exception


CAUTIONS = [(0.1, "info", ""), (2.0, "info", "weaker"), (8.0, "warning", "Careful"), (20.0, "error", "Strong")]


def test_caution_grows_with_epsilon_in_words(start):
    at = to_run(sample(start))
    at.radio(key="cap_kind").set_value("none")
    for epsilon, kind, words in CAUTIONS:
        at.number_input(key="epsilon_number").set_value(epsilon).run()
        reported = [e.value for e in getattr(at, kind) if "**Epsilon " in e.value]
        assert reported, epsilon
        assert words in reported[0]
        assert "spend" in keys(at)  # caution is no refusal


@pytest.mark.parametrize("epsilon", [0.0, -1.0])
def test_an_impossible_epsilon_is_refused_and_leads_nowhere(start, epsilon):
    at = to_run(sample(start))
    at.number_input(key="epsilon_number").set_value(epsilon).run()
    assert "above 0" in at.error[0].value.replace("\\", "")
    assert "spend" not in keys(at)


def test_the_number_of_rows_is_asked_and_is_the_tables_own_only_where_it_is_public(start, people):
    at = upload(start(), people, SCHEMA, rows=0)
    at.session_state["wizard"].plain["unit"] = "row"  # as somebody says who is asked whether a person has several
    at.switch_page(view("privacy")).run()
    assert "means all rows of one person" not in said(at)
    assert at.number_input(key="rows").value is None, "nothing is proposed, and nothing was counted"
    assert "First state roughly how many rows there are" in said(at)
    assert "spend" not in keys(at)
    at.button(key="rows_of_file").click().run()
    assert at.number_input(key="rows").value == 240
    assert "well below 1 in 240" in said(at)
    at.number_input(key="rows").set_value(200_000).run()
    assert ("spend" in keys(at), at.session_state["wizard"].delta) == (False, 1e-5)
    at.button(key="smaller_delta").click().run()
    assert ("spend" in keys(at), at.selectbox(key="delta").value) == (True, 1e-7)
    assert at.session_state["wizard"].delta == 1e-7
    at.number_input(key="rows").set_value(300).run()
    assert at.session_state["wizard"].rows == 300


def named(at) -> str:
    """The dataset of the table that is open; of the sample a session's own."""
    return at.session_state["wizard"].plain["dataset"]


def test_everybody_who_tries_the_sample_has_a_budget_of_his_own(start):
    names = {named(sample(start)) for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("town-survey-") for name in names)


def test_a_run_beyond_the_cap_cannot_be_started(start):
    at = sample(start)
    synth.Ledger().set_policy(named(at), max_epsilon=0.5)
    at.switch_page(view("privacy")).run()
    assert "leaves epsilon 0.5" in said(at)
    assert "spend" not in keys(at)


def test_the_cap_that_is_proposed_is_in_the_ledger_after_the_click_that_spends(start):
    at = to_run(sample(start))
    assert "How much may all runs spend together" in said(at)
    assert synth.Ledger().policy(named(at)) is None, "looking at the page sets nothing"
    assert at.button(key="spend").label == "Cap it at 3, spend epsilon 1 and make the table"
    ended(at.button(key="spend").click().run())
    assert synth.Ledger().policy(named(at)).max_epsilon == 3.0
    at.switch_page(view("privacy")).run()
    assert at.button(key="spend").label == "Spend epsilon 1 and make the table"
    assert "2 left" in at.get("progress")[0].proto.text


def test_no_cap_is_a_choice_that_the_ledger_records(start):
    at = to_run(sample(start))
    at.radio(key="cap_kind").set_value("none").run()
    assert at.button(key="spend").label == "Set no cap, spend epsilon 1 and make the table"
    ended(at.button(key="spend").click().run())
    assert synth.Ledger().policy(named(at)).uncapped
    at.switch_page(view("privacy")).run()
    assert "It was decided that it has **no cap**" in said(at)
    at.switch_page(view("ledger")).run()
    assert "decided: no cap" in str(list(at.dataframe[0].value["Details"]))


def test_nothing_is_spent_before_a_cap_is_chosen(start):
    at = sample(start)
    with pytest.raises(synth.UsageError, match="choose on the page Privacy and accuracy"):
        runs.start(at.session_state["wizard"])
    with pytest.raises(synth.UsageError, match="choose on the page Privacy and accuracy"):
        runs.learn(at.session_state["wizard"], ["age"], epsilon=0.1, delta=1e-6)
    assert not jobs.listing()
    assert not synth.Ledger().entries()


def test_a_cap_below_the_run_is_told_before_it_is_set(start):
    at = to_run(sample(start))
    at.number_input(key="cap_value").set_value(0.5).run()
    assert "would not allow this run" in said(at)
    assert "spend" not in keys(at)
