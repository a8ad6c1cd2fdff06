"""The object that other people's harnesses call is the run itself: same charge, same refusals, same files."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import synth
from synth.errors import COMMITTED
from synth.privacy.ledger.ledger import Ledger
from tests.conftest import ROOT, SMALL, small_frame


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A synthesizer fitted to a frame, and its ledger."""
    ledger = tmp_path_factory.mktemp("synthesizer") / "ledger.sqlite"
    made = synth.Synthesizer(schema(), method="independent", dataset="visits", ledger=ledger, seed=3)
    COMMITTED.clear()
    return made.fit(small_frame(), epsilon=1.0), ledger


def schema():
    return synth.Schema.parse(SMALL)


def test_a_fit_is_one_charge_and_all_else_is_free(fitted, tmp_path):
    made, ledger = fitted
    made.sample(10)
    made.save(tmp_path / "kept")
    synth.Synthesizer.load(tmp_path / "kept").sample(10)
    entries = list(Ledger(ledger).entries())
    assert [(e.dataset, e.epsilon) for e in entries if e.epsilon] == [("visits", 1.0)]


def test_rows_have_types_and_meet_conditions(fitted):
    made, _ = fitted
    rows = made.sample(200, {"sex": "f", "age": "30..40"}, seed=1)
    assert list(rows.columns) == list(schema().columns)
    assert set(rows["sex"]) == {"f"}
    assert rows["age"].between(30, 40).all()
    assert pd.api.types.is_float_dtype(rows["income"])
    assert pd.api.types.is_datetime64_any_dtype(rows["seen"])
    assert rows.equals(made.sample(200, {"sex": "f", "age": "30..40"}, seed=1))


def test_what_is_saved_is_a_release_and_is_loaded_again(fitted, tmp_path):
    made, _ = fitted
    made.save(tmp_path / "kept")
    again = synth.Synthesizer.load(tmp_path / "kept")
    assert again.get_params()["method"] == "independent"
    assert again.sample(50, seed=2).equals(made.sample(50, seed=2))
    assert (tmp_path / "kept" / "release.safetensors").exists()
    with pytest.raises(synth.UsageError, match="exists already"):
        made.save(tmp_path / "kept")
    assert synth.bundle(tmp_path / "kept", tmp_path / "kept.zip", how="before", ledger=fitted[1]).epsilon == 1.0


def test_what_a_run_refuses_is_refused_and_costs_nothing(fitted, tmp_path):
    rows, ledger = small_frame(50), tmp_path / "ledger.sqlite"
    made = synth.Synthesizer(schema(), method="independent", ledger=ledger)
    with pytest.raises(synth.UsageError, match="dataset"):
        made.fit(rows, epsilon=1.0)
    with pytest.raises(synth.SynthError, match="epsilon"):
        made.set_params(dataset="visits").fit(rows, epsilon=-1.0)
    with pytest.raises(synth.UsageError, match="not fitted"):
        made.sample(5)
    with pytest.raises(synth.UsageError, match="epsilon is missing"):
        made.fit(rows)
    with pytest.raises(synth.UsageError, match="a NoneType is no schema"):
        synth.Synthesizer(epsilon=1.0, ledger=ledger).fit(rows)
    with pytest.raises(synth.UsageError, match="none of its parameters; did you mean method"):
        made.set_params(metod="mst")
    with pytest.raises(synth.UsageError, match="`where=sex"):
        fitted[0].sample(5, {"sex": "x"})
    assert not ledger.exists() or not [e for e in Ledger(ledger).entries() if e.epsilon]


def test_scikit_learn_clones_it_unfitted(fitted):
    made, _ = fitted
    again = clone(made)
    assert {n: v for n, v in again.get_params().items() if n != "schema"} == {
        n: v for n, v in made.get_params().items() if n != "schema"
    }
    assert again.schema == made.schema
    assert again.result is None
    every = synth.Synthesizer(schema(), epsilon=0.5, options={"k": 2}, max_rows=3, reasons={"a": "b"}, ledger="l")
    assert clone(every).get_params() == every.get_params()
    assert clone(every).set_params(epsilon=2.0).epsilon == 2.0


def test_it_feeds_a_harness_that_compares_frames(fitted):
    """SDMetrics, the scorer of SDV and SDGym, takes what ``sample`` returns beside the frame it was fitted to."""
    single_table = pytest.importorskip("sdmetrics.single_table")
    rows = small_frame()
    real = pd.DataFrame({"age": rows["age"].astype(int), "sex": rows["sex"]})
    ours = fitted[0].sample(500, seed=1)[["age", "sex"]]
    score = single_table.KSComplement.compute(real[["age"]], ours[["age"]])
    assert 0.8 < score <= 1
    assert np.isfinite(single_table.TVComplement.compute(real[["sex"]], ours[["sex"]]))


def test_its_parameters_are_those_of_a_request_and_of_its_default_values():
    """But for what ``fit`` and ``save`` stand for, what the library alone says, and what names a run."""
    fields = synth.app_api.RunRequest.model_fields
    own = {"version", "table", "schema_file", "out", "ask", "run", "owner", "label", "epsilon", "delta"}
    params = synth.Synthesizer().get_params()
    assert set(params) == (set(fields) - own) | {"schema", "epsilon", "delta"}
    same = {n: fields[n].default for n in set(fields) - own - {"options", "reasons"}}
    assert {n: params[n] for n in same} == same


def test_whoever_watches_sees_one_line_with_the_time_left(monkeypatch, capsys, tmp_path):
    made = synth.Synthesizer(schema(), epsilon=1.0, method="independent", dataset="d", ledger=tmp_path / "l.sqlite")
    made.fit(small_frame(200))
    assert not capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    made.fit(small_frame(200))
    reported = capsys.readouterr().err
    assert reported.count("\r") > 3
    assert "Fitting the model" in reported
    assert reported.endswith("\n")


@pytest.mark.long
def test_the_pages_example_runs(tmp_path, monkeypatch):
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "cli.md").read_text().split("### A method as an object")[1]
    code = re.search(r"```python\n(.*?)```", page, re.S).group(1)
    result: dict = {}
    exec(compile(code, "cli.md", "exec"), result)  # the page is ours
    assert set(result["women"]["sex"]) == {"female"}
    assert len(result["again"].sample(7)) == 7
