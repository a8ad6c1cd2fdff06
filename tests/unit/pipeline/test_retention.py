"""What a method is said to keep is what the benchmarks' files hold, and is said before the spend."""

import json

import pytest

import synth
from synth.generators import GENERATORS
from synth.pipeline import retention
from synth.privacy.ledger.ledger import Ledger
from tests.benchmark_modules import benchmark


def test_the_figures_are_those_of_the_benchmarks_results():
    assert retention.figures() == json.loads(json.dumps(benchmark("retention").gathered()))


@pytest.mark.parametrize("method", GENERATORS)
def test_words_are_the_figures(method):
    """The rule said once more, from the file, at every epsilon measured; the words of `methods` are no others."""
    data = json.loads(retention.DATA.read_text())
    reported = next(m for m in synth.methods() if m["name"] == method)["keeps"]
    lines = [f for f in data["figures"] if f["method"] == method]
    assert set(reported) == {f"{f['epsilon']:g}" for f in lines}
    few = {t for t, facts in data["tables"].items() if "few" in facts}
    wide = [f for f in lines if f["table"] not in few]
    assert all(("columns)" in words) == (not wide) for words in reported.values())
    lines = wide or lines
    for epsilon, words in reported.items():
        tables = {
            t: [f for f in lines if f["table"] == t and f["epsilon"] <= float(epsilon)]
            or [f for f in lines if f["table"] == t]
            for t in data["tables"]
        }
        cells = [
            max(held, key=lambda f: f["epsilon"]) if held[0]["epsilon"] <= float(epsilon) else held[0]
            for held in tables.values()
            if held
        ]
        floors = {(f["table"], f["epsilon"]): f["pair_tv_err"] for f in data["figures"] if f["method"] == "independent"}
        assert ("single columns" in words) == all(f["tv"] >= 0.95 and f["ks"] >= 0.95 for f in cells)
        assert ("pairs" in words) == all(f["pair_tv_err"] / floors[f["table"], f["epsilon"]] <= 0.9 for f in cells)
        learnt = [(f["tstr_auc"] - 0.5) / (data["tables"][f["table"]]["auc"] - 0.5) for f in cells]
        assert ("target" in words) == (min(learnt) >= 0.5)


def test_what_is_known_of_some_methods():
    """Independent columns keep no relation at any epsilon; slicing at epsilon 1 none, mixture pairs and target."""
    assert set(retention.everywhere("independent").values()) == {"single columns"}
    assert not synth.app_api.retention("slicing", epsilon=1.0).relations
    assert synth.app_api.retention("mixture", epsilon=1.0).in_words == "single columns, pairs, target"
    assert synth.app_api.retention("mwem", epsilon=1.0).in_words == "single columns, pairs, target (of 7 columns)"
    assert (
        synth.app_api.retention("mixture", epsilon=1.0).few == 0
    )  # tables of few columns count where there are no others alone


def test_what_a_method_needs_is_the_figures_too():
    """From where on it kept relations, and seconds: the least and the most of its runs."""
    lines = [f for f in retention.figures()["figures"] if f["method"] == "slicing"]
    reported = retention.needs("slicing")
    assert "relations from epsilon 5.1 on at 25,044 rows" in reported
    assert f"{max(f['seconds'] for f in lines):.0f} s a run" in reported
    assert "no relations up to epsilon 5.1" in retention.needs("independent")


def test_fewer_rows_count_as_a_smaller_epsilon():
    """Slicing keeps relations at epsilon 5.1; on a tenth of the rows that is what 0.5 was."""
    assert synth.app_api.retention("slicing", epsilon=5.1).relations
    assert not synth.app_api.retention("slicing", epsilon=5.1, rows=2_500).relations
    assert synth.app_api.retention("slicing", epsilon=0.51, rows=330_000).relations


def test_below_all_that_was_measured_nothing_is_claimed():
    """What keeps relations at the smallest epsilon measured may keep none below; what keeps none there keeps none."""
    assert synth.app_api.retention("mixture", epsilon=0.2).relations
    assert synth.app_api.retention("mixture", epsilon=0.1) is None
    assert synth.app_api.retention("mixture", epsilon=1.0, rows=1_000) is None
    assert "keeps no relations" in synth.app_api.retention_warning("independent", epsilon=0.01)


def test_a_run_says_so_before_it_spends(command, tmp_path):
    """The note comes although the run is then refused: the table lacks its column, and nothing is charged."""
    (tmp_path / "none.csv").write_text("b\n1\n")
    (tmp_path / "s.json").write_text(json.dumps({"columns": {"a": {"type": "boolean", "categories": ["n", "y"]}}}))
    for method, said in (("independent", True), ("mixture", False)):
        code, _, error = command(
            f"run {tmp_path}/none.csv --schema {tmp_path}/s.json --epsilon 1 --method {method} "
            f"--ledger {tmp_path}/l.sqlite"
        )
        assert code == 2
        assert ("keeps no relations between columns" in error) == said
    assert not Ledger(tmp_path / "l.sqlite").entries()
