"""A page that is being left: nothing of it is sent any more, and what was typed last still counts."""

import pytest
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

from tests.app.elements import said, sample


@pytest.fixture
def sent(monkeypatch):
    """The scripts whose elements the server sends: of each page one."""
    results, send = [], ScriptRunner._enqueue_forward_msg

    def hear(self, message):
        if message.WhichOneof("type") == "delta":
            results.append(message.metadata.active_script_hash)
        send(self, message)

    monkeypatch.setattr(ScriptRunner, "_enqueue_forward_msg", hear)
    return results


def test_a_page_that_is_left_is_not_sent_again(start, sent):
    at = sample(start)
    describe = sent[-1]
    sent.clear()
    at.run()
    assert describe in sent
    sent.clear()
    at.button(key="onward").click().run()
    assert at.title[0].value == "Budget"
    assert sent
    assert describe not in sent


def test_what_is_typed_as_the_page_is_left_counts(start):
    at = sample(start)
    at.text_input(key="dataset").set_value("another town")
    at.button(key="onward").click().run()
    assert at.title[0].value == "Budget"
    assert "another town" in said(at)


def test_a_page_that_may_not_be_left_after_all_stands_whole(start):
    at = sample(start)
    before = len(at.main)
    at.text_input(key="dataset").set_value("")
    at.button(key="onward").click().run()
    assert at.title[0].value == "Describe"
    assert "First give the dataset a name." in said(at)
    assert len(at.main) >= before
