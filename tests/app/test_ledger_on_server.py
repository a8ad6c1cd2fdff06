"""The pages with a ledger on a server: they take its address from the environment, as they take a file's path."""

import json

import pytest

import synth
from app.session.state import view
from synth.privacy.ledger.ledger import Spend

pytestmark = pytest.mark.xdist_group("ledgers")


@pytest.fixture
def book(start, on_server, monkeypatch):  # noqa: ARG001 - ``start`` sets a file first
    address = on_server()
    monkeypatch.setenv("SYNTH_LEDGER", address)
    book = synth.Ledger()
    facts = {"delta": 1e-5, "relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system"}
    book.spend(Spend(dataset="census", epsilon=0.5, question={}, **facts))
    return book


def test_the_page_shows_caps_verifies_and_exports_a_ledger_on_a_server(book, start):
    at = start()
    at.switch_page(view("ledger")).run()
    assert not at.exception
    shown = " ".join(m.value for m in at.markdown)
    assert "epsilon 0.5" in shown
    at.number_input(key="cap_epsilon").set_value(2.0)
    at.button(key="cap_set").click().run()
    assert book.policy("census").max_epsilon == 2.0
    at.button(key="verify").click().run()
    assert any("2 lines are intact" in s.value for s in at.success)
    assert not at.exception
    assert "secret_place" not in json.dumps([str(e) for e in at.main])


def test_a_server_that_is_away_is_said_in_one_line(book, start, ledger_server):
    ledger_server.control("stop", "-m", "immediate")
    try:
        at = start()
        at.switch_page(view("ledger")).run()
    finally:
        ledger_server.control("start")
    said = " ".join(str(e.value) for kind in (at.error, at.exception, at.warning) for e in kind)
    assert "the server does not answer" in said
    assert "127.0.0.1" not in said
    assert not book.policy("census")
