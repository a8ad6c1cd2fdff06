"""A plan needs no rows, and its noise and errors are those of the run; it goes through a whole run on made-up rows."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import synth
from synth.errors import COMMITTED
from synth.generators import GENERATORS
from synth.pipeline import dry_run as dry
from synth.privacy.ledger.ledger import Ledger
from synth.release import folder
from tests.conftest import SMALL, as_text, small_frame
from tests.made import ran

SCHEMA = synth.Schema.parse(SMALL)


@pytest.mark.parametrize("method", ["mixture", "independent", "slicing", "dp_kernel"])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_planned_noise_is_the_runs_noise(method, relation, tmp_path):
    """One-way tables adapt to nothing, so their noise is forecast exactly."""
    plan = synth.plan(SCHEMA, rows=1000, epsilon=1.0, delta=1e-5, method=method, relation=relation)
    ran(small_frame(), SCHEMA, method=method, relation=relation, out=tmp_path, num_rows=10)
    first = folder.load_release(tmp_path).releases[0]
    sigmas = [m.sigma for m in first.question.marginals]
    assert plan.steps[0].sigma_least == pytest.approx(min(sigmas))
    assert plan.steps[0].sigma_most == pytest.approx(max(sigmas))


def test_forecast_error_of_one_way_tables_is_about_what_a_run_makes():
    """Mean total variation between noisy and true one-way shares, within a factor of two of the forecast."""
    frame = small_frame(4000)
    plan = synth.plan(SCHEMA, rows=4000, epsilon=1.0, delta=1e-5, method="independent")
    table = ran(frame, SCHEMA, method="independent")
    errors = []
    for column in ("age", "sex", "region", "ill"):
        real = frame[column].str.replace(".0", "").value_counts(normalize=True)
        fake = as_text(table)[column].value_counts(normalize=True)
        errors.append(real.sub(fake, fill_value=0).abs().sum() / 2)
    assert np.mean(errors) < 2 * plan.error_one_way + 0.02


def test_a_table_that_is_asked_twice_has_the_noise_of_the_average():
    """A second question of all tables, for what was kept back, makes them more exact and adds none."""
    facts = {"type": "categorical", "categories": [str(i) for i in range(300)]}
    schema = synth.Schema.parse({"columns": {f"c{j}": facts for j in range(5)}})
    plan = synth.plan(schema, rows=20_000, epsilon=1.0, delta=1e-5, options={"rounds": 0})
    first, again = [s for s in plan.steps if s.purpose == "tables"]
    assert first.tables == again.tables == 10
    assert 0.98 * first.sigma_most < again.sigma_most < first.sigma_most
    assert plan.cells_two_way == first.cells / 10


def test_the_forecast_counts_on_a_search_that_finds_tables_where_noise_is_little():
    """A rehearsal's search finds nothing in independent columns; of many rows a real one goes on for rounds."""
    facts = {"type": "categorical", "categories": [str(i) for i in range(12)]}
    schema = synth.Schema.parse({"columns": {f"c{j}": facts for j in range(8)}})

    def more(rows):
        with_search, without = (
            synth.plan(schema, rows=rows, epsilon=1.0, delta=1e-5, options={"rounds": rounds}).seconds
            for rounds in (12, 0)
        )
        return with_search - without

    assert more(1_000_000) > 5 > 2 > more(20_000)


def test_more_epsilon_or_more_rows_make_a_better_forecast():
    def errors(**more):
        plan = synth.plan(SCHEMA, **{"rows": 10_000, "epsilon": 1.0, "delta": 1e-5, **more})
        return plan.error_one_way

    assert errors(epsilon=5.0) < errors()
    assert errors(rows=100_000) < errors()
    assert errors(relation="replace_one") > errors()


@pytest.mark.parametrize(
    "bad", [{"rows": 0}, {"epsilon": 0}, {"delta": 2}, {"method": "x"}, {"relation": "x"}, {"target": "x"}]
)
def test_a_senseless_plan_is_refused(bad):
    with pytest.raises(synth.UsageError):
        synth.plan(SCHEMA, **{"rows": 100, "epsilon": 1.0, "delta": 1e-5, **bad})


def test_a_plan_in_words_names_what_a_steward_asks(command, small):
    said, _ = command.done("plan", "--schema", small[1], "--rows", "1000", "--epsilon", "1")
    for word in ("one-way", "two-way", "noise", "MiB", "73:27", "nothing was read"):
        assert word in said


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
