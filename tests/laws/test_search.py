"""Searches: scores move by no more than stated, and a pick tells no more than the Gaussian that it is paid as."""

from itertools import product
from math import exp, pi, sqrt

import numpy as np
import pytest
from scipy import stats

from synth.errors import BudgetError
from synth.mechanisms import search
from synth.pipeline.budget import mechanisms
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import BoundedRangeDpEvent, GaussianDpEvent, total_mu
from synth.privacy.accounting.events import event as stored
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Counts, Marginal, Search
from tests.laws.tiny_tables import columns, neighbours

A, B = Bins.each("a", 2), Bins.each("b", 2)
ASKED = Search(
    purpose="t",
    bins=(A, B),
    tables=np.array([[0, -1], [1, -1], [0, 1]]),
    scale=2.0,
    expected=np.array([1, 0, 1, 1, 0, 2, 0, 0]),
    handicap=np.array([0, 1, 1]),
)


def law(question, rows):
    weights = np.exp(search.scores(question, columns(rows)) / question.scale)
    return weights / weights.sum()


def separation(p, q):
    """The least mu whose Gaussian tells p and q apart as well at every level."""
    order = np.argsort(-np.log(p / q))
    one, two = np.cumsum(p[order])[:-1], np.cumsum(q[order])[:-1]
    return float((stats.norm.ppf(one) - stats.norm.ppf(two)).max(initial=0.0))


def test_scores_are_the_tables_own():
    assert search.scores(ASKED, columns([(0, 0), (0, 1), (1, 1)])).tolist() == [2, 0, 2]


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("most", [1, 2])
def test_scores_move_as_stated_and_odds_no_more_than_their_gaussian(relation, most):
    adjacency = Adjacency(relation=relation, unit="person", max_rows=most)
    (event,) = search.events(ASKED, adjacency)
    mu = event.sensitivity / event.sigma
    shifted, apart = 0.0, 0.0
    for x, y in neighbours(relation, most):
        shifted = max(shifted, float(np.abs(search.scores(ASKED, columns(x)) - search.scores(ASKED, columns(y))).max()))
        apart = max(apart, separation(law(ASKED, x), law(ASKED, y)))
    assert shifted == search.sensitivity(adjacency)
    assert mu / 4 < apart <= mu


@pytest.mark.parametrize("reach", [0.01, 0.3, 1.0, 4.0, 12.0])
def test_the_gaussian_dominates_every_choice_of_bounded_range_and_hardly_more(reach):
    """The worst pairs of a range: two outcomes, log ratios t and t - reach."""
    worst = 0.0
    for t in np.linspace(0.001, 0.999, 201) * reach:
        q = (1 - exp(t - reach)) / (exp(t) - exp(t - reach))
        worst = max(worst, separation(np.array([exp(t) * q, 1 - exp(t) * q]), np.array([q, 1 - q])))
    assert worst <= reach * sqrt(pi / 8)
    if reach <= 0.3:  # a tenth less would be too little
        assert worst > 0.9 * reach * sqrt(pi / 8)


def test_picks_add_up_as_gaussians_do():
    adjacency = Adjacency(relation=Relation.ADD_REMOVE)
    many = Search(
        purpose="t",
        bins=ASKED.bins,
        tables=ASKED.tables,
        expected=ASKED.expected,
        handicap=ASKED.handicap,
        scale=30.0,
        picks=3,
    )
    (event,) = search.events(many, adjacency)
    assert isinstance(event, BoundedRangeDpEvent)
    assert (event.kind, event.count) == ("choice", 3)
    assert stored(event.plain()) == event
    assert total_mu([event]) == pytest.approx(sqrt(3) * 2 * sqrt(pi / 8) / 30, rel=1e-5)
    beside = GaussianDpEvent(name="g", sensitivity=1.0, sigma=10.0)
    both = sqrt(total_mu([event]) ** 2 + 0.01)
    assert epsilon_of([event, beside], 1e-5) == epsilon_of(
        [GaussianDpEvent(name="one", sensitivity=both, sigma=1.0)], 1e-5
    )


def test_the_door_takes_what_the_budget_bears_and_no_more():
    adjacency = Adjacency(relation=Relation.ADD_REMOVE)
    mu = calibrate(1.0, 1e-5)
    reads = []

    def session():
        rows = columns([(0, 1), (1, 1)])
        return Curator(
            grant=Grant(epsilon=1.0, delta=1e-5, adjacency=adjacency, mu=mu),
            commit=lambda: reads.append(1),
            read=lambda: rows,
            mechanisms=mechanisms(),
            noise=SystemNoise(),
        )

    def asked(scale):
        return Search(
            purpose="t",
            bins=ASKED.bins,
            tables=ASKED.tables,
            expected=ASKED.expected,
            handicap=ASKED.handicap,
            scale=scale,
            picks=2,
        )

    least = 2 * sqrt(pi / 8) * sqrt(2) / mu * (1 + 2e-6)
    with pytest.raises(BudgetError):
        session().ask(asked(0.99 * least))
    assert not reads
    whole = session()
    assert len(set(whole.ask(asked(least)).chosen)) == 2
    assert 0.999 < whole.epsilon_derived <= 1.0
    with pytest.raises(BudgetError):
        whole.ask(Counts(purpose="t", marginals=(Marginal(bins=(A,), sigma=100.0),)))


def test_no_row_is_lost_from_a_candidate_of_four_columns():
    rng = np.random.default_rng(0)
    rows = {n: rng.integers(0, 3, 50) for n in "abcd"}
    bins = tuple(Bins.each(n, 3) for n in "abcd")
    question = Search(
        purpose="t",
        bins=bins,
        tables=np.array([[0, 1, 2, 3]]),
        expected=np.zeros(81, dtype=np.int64),
        handicap=np.zeros(1, dtype=np.int64),
        scale=1.0,
    )
    assert search.scores(question, rows).tolist() == [50]
    seen = dict.fromkeys(product(range(3), repeat=4), 0)
    for key in zip(*(rows[n].tolist() for n in "abcd"), strict=True):
        seen[key] += 1
    exact = Search(
        purpose="t",
        bins=bins,
        tables=question.tables,
        expected=np.array(list(seen.values())),
        handicap=question.handicap,
        scale=1.0,
    )
    assert search.scores(exact, rows).tolist() == [0]
