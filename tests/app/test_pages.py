"""What each page says and refuses, without a run."""

import pytest

import synth
from app.run import runs
from app.session import ahead, frame
from app.session.state import STEPS, view
from synth import jobs
from tests.app.elements import SCHEMA, all_helped, keys, said, sample, upload

pytestmark = pytest.mark.xdist_group("app")


def test_a_page_whose_needs_are_not_met_says_what_to_do(start):
    at = start()
    for name in ("describe", "budget", "method", "run", "review", "release", "ledger"):
        at.switch_page(view(name)).run()
        assert not at.exception, name
        assert not at.error, name
        assert at.info, name


def test_one_click_takes_the_sample_table_to_the_description(start):
    at = sample(start)
    assert at.title[0].value == "Describe"
    assert list(at.data_editor[0].value["column"])[1] == "age"
    assert "onward" in keys(at)


def test_every_control_has_help_beside_it(start):
    """And every page says why its decisions matter, and what the words mean."""
    at = sample(start)
    for name in ("describe", "budget", "method", "data", "ledger"):
        at.switch_page(view(name)).run()
        all_helped(at)
        assert all(f"**{word}.**" in said(at) for word in frame.TEN_WORDS), name
        assert all(f"**{what}.** {why}" in said(at) for what, why in frame.WHY[name].items()), name
    assert set(STEPS) <= set(frame.WHY), "every step has its reasons"


def test_the_tour_says_what_to_do_on_the_sample_until_it_is_ended(start, people):
    at = sample(start)
    assert "Tour, 1 of 6" in said(at)
    at.switch_page(view("budget")).run()
    assert "Tour, 2 of 6" in said(at)
    at.button(key="end_tour").click().run()
    at.switch_page(view("method")).run()
    assert "Tour" not in said(at)
    assert "Tour" not in said(upload(start(), people)), "nobody is led about on a table of one's own"


def test_choices_survive_leaving_their_page(start):
    at = sample(start)
    at.switch_page(view("budget")).run()
    at.number_input(key="epsilon_number").set_value(0.7).run()
    at.selectbox(key="relation").set_value("replace_one").run()
    at.switch_page(view("describe")).run()
    at.switch_page(view("budget")).run()
    assert at.number_input(key="epsilon_number").value == 0.7
    assert at.selectbox(key="relation").value == "replace_one"


def test_slider_and_number_show_the_same_epsilon(start):
    at = sample(start)
    at.switch_page(view("budget")).run()
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
    at.switch_page(view("describe")).run()
    at.switch_page(view("budget")).run()
    assert not at.exception


CAUTIONS = [(0.1, "info", ""), (2.0, "info", "weaker"), (8.0, "warning", "Careful"), (20.0, "error", "Strong")]


def test_caution_grows_with_epsilon_in_words(start):
    at = sample(start)
    at.switch_page(view("budget")).run()
    at.radio(key="cap_kind").set_value("none")
    for epsilon, kind, words in CAUTIONS:
        at.number_input(key="epsilon_number").set_value(epsilon).run()
        reported = [e.value for e in getattr(at, kind) if "**Epsilon " in e.value]
        assert reported, epsilon
        assert words in reported[0]
        assert "onward" in keys(at)  # caution is no refusal


@pytest.mark.parametrize("epsilon", [0.0, -1.0])
def test_an_impossible_epsilon_is_refused_and_leads_nowhere(start, epsilon):
    at = sample(start)
    at.switch_page(view("budget")).run()
    at.number_input(key="epsilon_number").set_value(epsilon).run()
    assert "above 0" in at.error[0].value.replace("\\", "")
    assert "onward" not in keys(at)
    at.switch_page(view("run")).run()
    assert at.error
    assert "spend" not in keys(at)


def test_the_number_of_rows_is_asked_and_is_the_tables_own_only_where_it_is_public(start, people):
    at = upload(start(), people, SCHEMA, rows=0)
    at.switch_page(view("method")).run()
    assert "First state roughly how many rows there are" in said(at)
    assert "needs_budget" in keys(at)
    at.session_state["wizard"].plain["unit"] = "row"  # as somebody says who is asked whether a person has several
    at.switch_page(view("budget")).run()
    assert "means all rows of one person" not in said(at)
    assert at.number_input(key="rows").value is None, "nothing is proposed, and nothing was counted"
    assert "First state roughly how many rows there are" in said(at)
    assert "onward" not in keys(at)
    at.button(key="rows_of_file").click().run()
    assert at.number_input(key="rows").value == 240
    assert "well below 1 in 240" in said(at)
    at.number_input(key="rows").set_value(200_000).run()
    assert ("onward" in keys(at), at.session_state["wizard"].delta) == (False, 1e-5)
    at.button(key="smaller_delta").click().run()
    assert ("onward" in keys(at), at.selectbox(key="delta").value) == (True, 1e-7)
    assert at.session_state["wizard"].delta == 1e-7
    at.number_input(key="rows").set_value(300).run()
    at.button(key="onward").click().run()
    assert (at.title[0].value, at.session_state["wizard"].rows) == ("Method", 300)


def test_a_run_beyond_the_cap_cannot_be_started(start):
    synth.Ledger().set_policy("town-survey", max_epsilon=0.5)
    at = sample(start)
    at.switch_page(view("budget")).run()
    assert "leaves epsilon 0.5" in said(at)
    assert "onward" not in keys(at)
    at.switch_page(view("run")).run()
    assert "spend" not in keys(at)


def test_the_cap_that_is_proposed_is_in_the_ledger_after_the_same_click(start):
    at = sample(start)
    at.switch_page(view("budget")).run()
    assert "How much may all runs spend together" in said(at)
    assert synth.Ledger().policy("town-survey") is None, "looking at the page sets nothing"
    assert at.button(key="onward").label == "Next: Method, with a cap of 3"
    at.button(key="onward").click().run()
    assert at.title[0].value == "Method"
    assert synth.Ledger().policy("town-survey").max_epsilon == 3.0
    at.switch_page(view("budget")).run()
    assert at.button(key="onward").label == "Next: Method"
    assert "3 left" in at.get("progress")[0].proto.text


def test_no_cap_is_a_choice_that_the_ledger_records(start):
    at = sample(start)
    at.switch_page(view("budget")).run()
    at.radio(key="cap_kind").set_value("none").run()
    at.button(key="onward").click().run()
    assert synth.Ledger().policy("town-survey").uncapped
    at.switch_page(view("budget")).run()
    assert "It was decided that it has **no cap**" in said(at)
    at.switch_page(view("ledger")).run()
    assert "decided: no cap" in str(list(at.dataframe[0].value["Details"]))


def test_nothing_is_spent_before_a_cap_is_chosen(start):
    at = sample(start)
    at.switch_page(view("run")).run()  # not by way of the page Budget
    assert "Nobody has chosen a cap on town-survey yet" in said(at)
    assert "spend" not in keys(at)
    with pytest.raises(synth.UsageError, match="choose on the page Budget"):
        runs.start(at.session_state["wizard"])
    with pytest.raises(synth.UsageError, match="choose on the page Budget"):
        runs.learn(at.session_state["wizard"], ["age"], epsilon=0.1, delta=1e-6)
    assert not jobs.listing()
    assert not synth.Ledger().entries()


def test_a_cap_below_the_run_is_told_before_it_is_set(start):
    at = sample(start)
    at.switch_page(view("budget")).run()
    at.number_input(key="cap_value").set_value(0.5).run()
    assert "would not allow this run" in said(at)
    assert "onward" not in keys(at)


def test_every_part_that_is_loaded_ahead_is_a_file_of_the_framework():
    """An upgrade that renames one would slow the first visit of a page down, and nobody would see why."""
    assert len(ahead.present()) == len(ahead.PARTS)
    assert all(name in ahead.script() for name in ahead.present())
