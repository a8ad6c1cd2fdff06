"""The part of a run that touches rows: charged once, before anything is read, and its end recorded whatever happens."""

import pytest

import synth
from synth.errors import COMMITTED, BudgetError, SpentError
from synth.jobs import Cancelled
from synth.pipeline.charge import ChargedRun
from synth.pipeline.prepare import Context, prepare
from synth.pipeline.request import RunRequest
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.ledger.row_marks import NOBODY
from synth.privacy.noise import SeededNoise
from tests.conftest import SMALL, small_frame


def charged(**options):
    """A run that is prepared and not yet charged."""
    request = RunRequest(epsilon=1.0, delta=1e-5, method="independent", dataset="d", **options)
    schema = (
        synth.Schema.parse(SMALL) if options.get("learn_share") is None else synth.Schema.parse(KINDS, complete=False)
    )
    context = Context(rows=small_frame(200), noise=SeededNoise(1), audience=NOBODY)
    return ChargedRun(prepare(request, schema, context), context)


KINDS = {"columns": {n: {"type": SMALL["columns"][n]["type"]} for n in ("age", "sex")}}


def kinds():
    return [e.kind for e in Ledger().entries("d") if e.kind in ("spend", "outcome")]


def test_preparing_charges_nothing():
    run = charged()
    assert kinds() == []
    assert run.events == ()


def test_rows_are_read_after_the_line_and_the_end_is_recorded(monkeypatch):
    seen = []
    real = ChargedRun._table
    monkeypatch.setattr(ChargedRun, "_table", lambda *a: (seen.append(kinds()), real(*a))[1])
    run = charged(run="the-id")
    with run.charged():
        run.measure()
    assert seen == [["spend"]]
    assert kinds() == ["spend", "outcome"]
    assert Ledger().charge("the-id").epsilon == 1.0
    assert 0 < run.epsilon_derived <= 1.0
    assert COMMITTED


def test_learning_and_measuring_are_one_charge():
    run = charged(learn_share=0.5)
    with run.charged():
        complete = run.learn()
        releases, _ = run.measure()
    assert complete.learnt.epsilon < 1.0
    assert releases
    assert kinds() == ["spend", "outcome"]
    assert run.epsilon_derived <= 1.0


@pytest.mark.parametrize(("error", "state"), [(ValueError("a cell: 17"), "failed"), (Cancelled(), "cancelled")])
def test_whatever_fails_after_the_spend_says_that_it_stands_and_no_cell(error, state):
    run = charged()

    def strike():
        with run.charged():
            run.measure()
            raise error

    with pytest.raises(SpentError, match="epsilon 1 is spent") as caught:
        strike()
    assert "17" not in str(caught.value)
    (end,) = [e for e in Ledger().entries("d") if e.kind == "outcome"]
    assert end.question["state"] == state


def test_a_failure_before_the_spend_is_told_as_it_is():
    run = charged()
    with pytest.raises(ValueError, match="as it is"), run.charged():
        raise ValueError("as it is")
    assert kinds() == []


def test_a_session_that_is_closed_answers_nothing():
    run = charged()
    with run.charged():
        releases, setting = run.measure()
        (session,) = run._sessions
        with pytest.raises(BudgetError, match="closed"):
            session.ask(releases[0].question)
    assert setting.mu > 0
