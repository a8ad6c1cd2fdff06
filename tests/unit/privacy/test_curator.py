"""The door opens in one order only: dry run, ledger line, rows, noise. What is refused reads nothing."""

import numpy as np
import pytest

from synth.errors import BudgetError
from synth.mechanisms import counts
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Counts, Marginal

ROWS = {"a": np.array([0, 1, 1], dtype=np.int64)}


class Session:
    """A curator over three rows, with a diary of what happened in which order."""

    def __init__(self, *, relation=Relation.ADD_REMOVE, epsilon=1.0):
        self.diary: list[str] = []
        self.mu = calibrate(epsilon, 1e-5)
        grant = Grant(epsilon=epsilon, delta=1e-5, adjacency=Adjacency(relation=relation), mu=self.mu)
        self.curator = Curator(
            grant=grant,
            commit=lambda: self.diary.append("commit"),
            read=self._read,
            mechanisms={Counts: counts},
            noise=SystemNoise(),
        )

    def _read(self):
        self.diary.append("read")
        return ROWS

    def ask(self, share, *, tables=1):
        sigma = counts.sensitivity(Adjacency(relation=Relation.ADD_REMOVE)) / (self.mu * share**0.5)
        marginals = tuple(Marginal(bins=(Bins.each("a", 2),), sigma=sigma) for _ in range(tables))
        return self.curator.ask(Counts(purpose="test", marginals=marginals))


def test_the_spend_is_committed_before_the_rows_are_read():
    session = Session()
    session.ask(0.5)
    session.ask(0.5)
    assert session.diary == ["commit", "read"]


def test_a_failed_commit_reads_nothing():
    session = Session()

    def refuse():
        raise BudgetError("no")

    session.curator._commit = refuse
    with pytest.raises(BudgetError):
        session.ask(0.5)
    assert session.diary == []


def test_a_question_over_the_grant_is_refused_and_reads_nothing():
    session = Session()
    with pytest.raises(BudgetError, match="remaining"):
        session.ask(0.6, tables=2)
    assert session.diary == []
    assert session.curator.events == ()


def test_questions_add_up_and_the_last_straw_is_refused():
    session = Session()
    for _ in range(4):
        session.ask(0.25)
    with pytest.raises(BudgetError):
        session.ask(1e-6)
    assert session.curator.epsilon_derived <= 1.0
    assert session.curator.epsilon_derived == pytest.approx(1.0, abs=1e-3)


def test_a_closed_door_stays_closed():
    session = Session()
    session.ask(0.1)
    session.curator.close()
    with pytest.raises(BudgetError, match="closed"):
        session.ask(0.1)
    assert session.diary == ["commit", "read"]


def test_row_count_is_told_only_where_the_relation_makes_it_public():
    assert Session().curator.public_rows() is None
    assert Session(relation=Relation.ZERO_OUT).curator.public_rows() == 3
    assert Session(relation=Relation.REPLACE_ONE).curator.public_rows() == 3


def test_too_precise_a_claim_for_the_sampler_is_refused_before_reading():
    session = Session(epsilon=60.0)
    with pytest.raises(BudgetError, match="precise"):
        session.ask(0.5)
    assert session.diary == []


def test_a_larger_sensitivity_costs_more():
    """The same noise under replace_one takes twice the mu**2 of add_remove."""
    session = Session(relation=Relation.REPLACE_ONE)
    session.ask(0.5)
    with pytest.raises(BudgetError):
        session.ask(0.01)
