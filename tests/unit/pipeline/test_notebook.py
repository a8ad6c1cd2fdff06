"""In a notebook: a result beside the real table, and a line of progress."""

import sys

import pandas as pd
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.evaluate.verdict import LEVELS
from synth.privacy.ledger.sqlite import File
from synth.release import chosen
from synth.report.steward.page import MARK
from tests.conftest import SMALL, small_frame
from tests.made import ran


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(result, the real frame, ledger)."""
    place, frame = tmp_path_factory.mktemp("notebook"), small_frame(600)
    result = ran(
        frame,
        SMALL,
        epsilon=5.0,
        out=place / "out",
        ledger=place / "ledger.sqlite",
        dataset="small",
        method="independent",
        seed=1,
    )
    return result, frame, place / "ledger.sqlite"


def test_a_result_is_compared_with_a_frame_as_with_its_file(made, tmp_path):
    result, frame, ledger = made
    compared = result.compare(frame, ledger=ledger)
    frame.to_csv(tmp_path / "real.csv", index=False)
    again = result.compare(tmp_path / "real.csv", ledger=ledger)
    assert compared.verdict.plain() == again.verdict.plain()
    shown = compared._repr_html_()
    assert MARK in shown
    assert MARK in repr(compared)
    assert "<script" not in shown
    assert {u.level for u in compared.verdict.uses} <= set(LEVELS)
    assert all(u.use.replace("&", "&amp;") in shown for u in compared.verdict.uses)


def test_that_somebody_looked_is_noted_and_another_ledger_is_refused(made, tmp_path):
    result, frame, ledger = made
    result.compare(frame, ledger=ledger)
    assert [n.what for n in chosen.notes(File(ledger))].count("look") >= 1
    with pytest.raises(UsageError, match="ledger"):
        result.compare(frame, ledger=tmp_path / "other.sqlite")


def test_a_wrong_table_is_said_to_be_one(made):
    result, frame, ledger = made
    with pytest.raises(InputError, match="another table"):
        result.compare(pd.DataFrame({"x": ["1"], "y": ["2"]}), ledger=ledger)
    with pytest.raises(InputError, match="no column 'age'"):
        result.compare(frame.drop(columns="age"), ledger=ledger)


def test_what_was_not_written_is_compared_from_memory(made):
    _, frame, _ = made
    result = synth.run(
        frame, schema=synth.Schema.parse(SMALL), epsilon=5.0, delta=1e-5, dataset="memory", method="independent"
    )
    assert result.compare(frame).verdict.uses


def test_a_notebook_sees_a_line_of_progress_and_a_script_none(made, monkeypatch, capsys):
    _, frame, _ = made
    asked = {"schema": synth.Schema.parse(SMALL), "epsilon": 1.0, "delta": 1e-5, "method": "independent"}
    synth.run(frame, dataset="script", **asked)
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    synth.run(frame, dataset="notebook", separate=True, **asked)
    shown = capsys.readouterr().err
    assert "100%" in shown
    assert "\r" in shown


def test_what_a_notebook_shows_of_a_schema_a_release_and_a_verdict(made):
    result, _, _ = made
    drafted = synth.draft(pd.DataFrame({"word<": ["nobody-knows-this", "other"] * 60})).schema
    assert "word&lt;" in drafted._repr_html_()
    assert "nobody-knows" not in drafted._repr_html_(), "categories of a draft are private"
    release = synth.Release(result.paths["card"])
    shown = release._repr_html_()
    assert "epsilon 5" in shown
    assert "Good for" in shown or "Usable with care for" in shown
    assert "<script" not in shown
    assert "no card" in synth.Release("nowhere")._repr_html_()


def test_help_says_what_each_option_of_a_run_means():
    for option in ("method", "replace", "separate", "num_rows", "prior"):
        assert f"``{option}``: " in str(synth.run.__doc__)
