"""The page of the result opens at once: what needs the bundle comes when that is packed."""

from concurrent.futures import Future

import pytest
import streamlit as st

import synth
from app.result import export
from app.session import frame, workers
from app.session.state import view
from tests.app.elements import SCHEMA, downloads, ended, keys, said, to_run, upload
from tests.made import ID, codes, facts_of

pytestmark = pytest.mark.xdist_group("app")
FOLD = frame.fold  # as it is; the tests' panels stand open
SAYS = "The bundle is being checked and packed"


def test_the_page_stands_before_the_bundle_is_packed_and_offers_it_afterwards(done, monkeypatch):
    """Also to a script, which is there before the packing has begun."""
    at, never = done, Future()
    looked, waited = workers.over, []

    def stops(wanted, *, patience):
        if patience:  # the waiting, at the end of the page: as it stands then
            st.stop()
        return looked(wanted, patience=patience)

    def ends(wanted, *, patience):
        if patience and not never.done():
            waited.append(never.set_result(None))
            return False
        return looked(wanted, patience=patience)

    monkeypatch.setattr(export, "begun", lambda _: [never])
    monkeypatch.setattr(workers, "over", stops)
    at.switch_page(view("result")).run()
    assert not at.exception
    assert at.title[0].value == "The result"
    assert "The guarantee of the run itself" in said(at)
    assert "73:27" in said(at)
    assert "back" in keys(at), "the page stands to its end"
    assert not downloads(at) & {"bundle", "Card"}, "not before it is packed"
    monkeypatch.setattr(workers, "over", ends)
    at.run()
    assert waited
    assert "**The guarantee, epsilon 1, delta 1e-5:**" in said(at)
    assert SAYS not in said(at), "what was waited for stands in its place"
    assert {"bundle", "Card", "Report"} <= downloads(at)


def test_a_bundle_that_cannot_be_packed_is_said_on_a_page_that_stands(done, monkeypatch):
    def full(*_, **__):
        raise synth.InputError("the disk is full; free some space")

    monkeypatch.setattr(export, "_pack", full)
    done.switch_page(view("result")).run()
    assert not done.exception
    assert "The disk is full" in said(done)
    assert "back" in keys(done)
    assert not downloads(done) & {"bundle"}


def test_a_closed_panel_holds_nothing_until_it_is_opened(done, monkeypatch):
    monkeypatch.setattr(frame, "fold", FOLD)
    done.switch_page(view("result")).run()
    assert "draw" not in keys(done)
    done.session_state["opened_panel"] = "More rows from the same model, free"
    assert "draw" in keys(done.run())


VISITS = b"pid,ward\n" + b"".join(b"P%03d,%s\n" % (i % 80, b"abc"[i % 3 : i % 3 + 1]) for i in range(240))
PERSONS = facts_of(pid=ID, ward=codes("a", "b", "c")) | {"dataset": "visits", "unit": "pid", "max_rows": 3}


def test_a_person_with_several_rows_is_named_at_the_question_before_the_spend_and_at_release(start):
    """With the way to keep persons and their rows; what is hidden is one person with up to so many rows."""
    offer = "Protected is one person with up to 3 rows. In the result every row stands alone"
    at = upload(start(), VISITS, PERSONS)
    assert offer in said(at)
    at = to_run(at)
    assert "**What is hidden:** one person with up to 3 rows in or out" in said(at)
    assert offer in said(at)
    at.button(key="spend").click().run()
    at = ended(at)
    at.switch_page(view("result")).run()
    assert offer in said(at)
    assert "Persons can keep their rows: say so on the page The table" in said(at)


def test_a_release_that_is_opened_again_has_its_tables_name(done, start, people):
    """Also where another table was opened meanwhile."""
    again = start()
    again.button(key="open_latest").click().run()
    assert again.title[0].value == "The result"
    assert "**This run:** people.csv" in said(again)
    assert "Table: people.csv" in said(again)
    other = upload(start(), people, SCHEMA, name="others.csv")
    assert "Table: others.csv" in said(other)
    other.session_state["wizard"].job = done.session_state["wizard"].job
    other.switch_page(view("result")).run()
    assert "Table: people.csv" in said(other)
    assert "others.csv" not in said(other)
