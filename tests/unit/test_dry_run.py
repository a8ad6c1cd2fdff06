"""`synth plan` goes through a whole run on made-up rows, and charges nothing."""

import json
from dataclasses import dataclass

import pytest

import synth
from synth.errors import COMMITTED
from synth.generators import GENERATORS
from synth.pipeline import dry_run as dry
from synth.privacy.ledger.ledger import Ledger
from tests.conftest import SMALL

SCHEMA = synth.Schema.parse(SMALL)
ASKED = {"rows": 1000, "epsilon": 1.0, "delta": 1e-5}


@pytest.mark.parametrize(("method", "relation"), [("independent", "zero_out"), ("mixture", "add_remove")])
def test_a_dry_run_comes_to_its_files_and_leaves_nothing(method, relation, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = dry.dry_run(SCHEMA, **ASKED, method=method, relation=relation, seconds=500)
    assert (result.done, result.left, result.rows) == (dry.STAGES, (), 500)
    assert list(tmp_path.iterdir()) == []
    assert COMMITTED == []


def test_what_the_time_did_not_allow_is_named():
    result = dry.dry_run(SCHEMA, **ASKED, method="independent", seconds=1e-9)
    assert result.left
    assert result.done + result.left == dry.STAGES
    assert f"for want of time (`seconds=`): {result.left[0]}" in result.in_words()


@pytest.mark.parametrize("stage", ["measure", "fit"])
def test_what_would_strike_a_run_after_its_spend_is_refused(stage, monkeypatch):
    """The evil twin: a method that asks its questions well, and then fails on what the rehearsal did not show it."""
    usual = type(GENERATORS["independent"])

    @dataclass(frozen=True, kw_only=True)
    class Twin(usual):
        def measure(self, run):
            releases = super().measure(run)
            if stage == "measure" and sum(v.sum() for v in releases[0].values) < 20_000:
                raise ValueError("too few rows for it")
            return releases

        def fit(self, *_, **__):
            raise ArithmeticError("no end in sight")

    monkeypatch.setitem(GENERATORS, "independent", Twin())
    with pytest.raises(synth.UsageError, match=f"independent .* in the stage {stage}.*(too few rows|no end)"):
        dry.dry_run(SCHEMA, **ASKED, method="independent")
    assert COMMITTED == []


def test_the_command_rehearses_options_and_says_what_it_did_not(command, small):
    asked = ("plan", "--schema", small[1], "--rows", 1000, "--epsilon", 1, "--method", "independent")
    said, _ = command.done(*asked, "--json")
    assert json.loads(said)["rehearsed"]["done"] == list(dry.STAGES)
    assert "never rehearsed: the table's own form" in command(*asked)[1]
    assert json.loads(command(*asked, "--seconds", 0, "--json")[1])["rehearsed"] is None
    assert command(*asked, "--option", "nothing=1")[0] == 2
    assert command("plan", "--schema", small[1], "--rows", 1000, "--option", "oneway_share=nan")[0] == 2
    assert Ledger().entries() == []
