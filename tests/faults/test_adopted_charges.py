"""Many whole runs at once under a cap that fits some: who is refused is charged nothing and speaks for no other."""

import threading

import pandas as pd

import synth
from synth.errors import BudgetError, SpentError
from synth.privacy.ledger.ledger import Ledger
from tests.made import ran

RUNS, FIT = 8, 3
FRAME = pd.DataFrame({"a": ["x", "y"] * 50})
SCHEMA = synth.Schema.parse({"columns": {"a": {"type": "categorical", "categories": ["x", "y"]}}})


def run(ledger, said, **options):
    try:
        ran(FRAME, SCHEMA, delta=1e-6, method="independent", ledger=ledger, **options)
        said.append("done")
    except BudgetError:
        said.append("refused")
    except SpentError as error:
        said.append(f"spent: {error}")


def test_a_refused_run_takes_no_other_runs_charge_for_its_own(tmp_path, monkeypatch):
    """All pass the first check together, so that the ledger itself must refuse most of them."""
    book = Ledger(tmp_path / "ledger.sqlite")
    book.set_policy("d", max_epsilon=FIT)
    gate, spend = threading.Barrier(RUNS), Ledger.spend

    def together(self, asked):
        gate.wait(60)
        return spend(self, asked)

    monkeypatch.setattr(Ledger, "spend", together)
    said: list[str] = []
    crowd = [threading.Thread(target=run, args=(book.path, said)) for _ in range(RUNS)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join(120)
    assert sorted(said) == ["done"] * FIT + ["refused"] * (RUNS - FIT)
    lines = book.entries("d")
    spent = [e.run for e in lines if e.kind == "spend"]
    assert len(spent) == FIT
    assert sorted(e.run for e in lines if e.kind == "outcome") == sorted(spent)
    assert {e.question["state"] for e in lines if e.kind == "outcome"} == {"done"}


def test_a_second_run_of_one_id_does_not_speak_for_the_first(tmp_path):
    said: list[str] = []
    run(tmp_path / "l.sqlite", said, run="one")
    try:
        run(tmp_path / "l.sqlite", said, run="one")
    except synth.UsageError as error:
        said.append(str(error))
    assert said[0] == "done"
    assert "charged already" in said[1]
    assert [e.question["state"] for e in Ledger(tmp_path / "l.sqlite").entries("d") if e.kind == "outcome"] == ["done"]
