"""Choices and searches: scores move by no more than stated, odds by no more than was paid for, and reach the bounds.

A choice moves by no more than epsilon; a pick of a search tells no more than the Gaussian that it is paid as.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, log, pi, sqrt

import numpy as np
import pytest
from scipy import stats

from synth.errors import BudgetError, UsageError
from synth.mechanisms import search, selection
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import (
    BoundedRangeDpEvent,
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    ZCDpEvent,
    total_mu,
)
from synth.privacy.accounting.events import event as stored
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.accounting.renyi import calibrate_rho
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Choice, Counts, Marginal, Search
from tests.laws.tiny_tables import columns, neighbours
from tests.made import curator

A, B = Bins.each("a", 2), Bins.each("b", 2)
TABLES = ((A,), (B,), (A, B))
EXPECTED = (np.array([1.0, 0.0]), np.array([0.5, 0.5]), np.array([[0.0, 2.0], [0.0, 0.0]]))
WORST = Choice(purpose="t", goal="worst", tables=TABLES, expected=EXPECTED, scale=2.0)
NEAREST = Choice(
    purpose="t",
    goal="nearest",
    tables=((A, B),),
    scale=2.0,
    expected=(np.array([[0, 0, 0, 0], [2, 0, 0, 0], [0.0, 1, 1, 0]]),),
)


@pytest.mark.parametrize("question", [WORST, NEAREST], ids=["worst", "nearest"])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("most", [1, 2])
def test_scores_and_odds_move_as_stated(question, relation, most):
    adjacency = Adjacency(relation=relation, unit="person", max_rows=most)
    stated = selection.sensitivity(question, adjacency)
    (event,) = selection.events(question, adjacency)
    epsilon = event.sensitivity / event.sigma
    shifted, odds = [], []
    for x, y in neighbours(relation, most):
        u, v = selection.scores(question, columns(x)), selection.scores(question, columns(y))
        shifted.append(np.abs(u - v).max())
        p, q = (np.exp(s / question.scale) / np.exp(s / question.scale).sum() for s in (u, v))
        ratio = np.log(p / q)
        odds.append(np.ptp(ratio))
        assert np.abs(ratio).max() <= epsilon
    assert max(shifted) == pytest.approx(stated)
    assert 0.25 * epsilon < max(odds) <= epsilon


class Half:
    """An evil twin: the event of a choice made at half the scale."""

    @staticmethod
    def epsilon(question, adjacency):
        (event,) = selection.events(question, adjacency)
        return event.sensitivity / event.sigma / 2


def test_half_the_price_would_be_caught():
    adjacency = Adjacency(relation=Relation.ADD_REMOVE)
    most = 0.0
    for x, y in neighbours(adjacency.relation, 1):
        u, v = selection.scores(WORST, columns(x)), selection.scores(WORST, columns(y))
        most = max(most, np.ptp((u - v) / WORST.scale))
    assert most > Half.epsilon(WORST, adjacency)


def test_choices_compose_purely_or_through_renyi_whichever_is_less():
    one = ExponentialMechanismDpEvent(name="c", sensitivity=0.5, sigma=1.0)
    assert epsilon_of([one], 1e-5) == pytest.approx(0.5, rel=2e-4)
    many = ExponentialMechanismDpEvent(name="c", sensitivity=0.05, sigma=1.0, count=400)
    assert epsilon_of([many], 1e-5) < 0.2 * 400 * 0.05
    gaussian = GaussianDpEvent(name="g", sensitivity=1.0, sigma=1 / (2 * 400 * 0.05**2 / 8) ** 0.5)  # as much rho again
    both = epsilon_of([many, gaussian], 1e-5)
    twice = ExponentialMechanismDpEvent(name="c", sensitivity=0.05, sigma=1.0, count=800)
    assert both == pytest.approx(epsilon_of([twice], 1e-5), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 1.0, 5.1, 20.0])
def test_a_calibrated_rho_spends_the_whole_and_no_more(epsilon):
    rho = calibrate_rho(epsilon, 1e-5)
    spent = epsilon_of([ZCDpEvent(name="z", sensitivity=1.0, sigma=(2 * rho) ** -0.5)], 1e-5)
    assert 0.999 * epsilon < spent <= epsilon
    more = epsilon_of([ZCDpEvent(name="z", sensitivity=1.0, sigma=(2 * 1.01 * rho) ** -0.5)], 1e-5)
    assert more > epsilon


def test_the_renyi_price_of_a_choice_bounds_its_divergence():
    """Every order's divergence between two choices of bounded range stays below rho times the order."""
    epsilon = 1.0
    for t in np.linspace(0.05, 0.95, 19):  # the extreme pair: log ratios epsilon t and epsilon (t - 1)
        p = (1 - exp(-epsilon * t)) / (1 - exp(-epsilon)) * exp(epsilon * t - epsilon)
        a = np.array([1 - p, p])
        b = np.array([(1 - p) * exp(-epsilon * t), p * exp(epsilon * (1 - t))])
        b /= b.sum()
        for order in (1.5, 2.0, 8.0, 64.0):
            divergence = log(np.sum(a**order * b ** (1 - order))) / (order - 1)
            assert divergence <= epsilon**2 / 8 * order * (1 + 1e-9)


def test_counts_beyond_the_arithmetic_are_refused():
    far = Choice(purpose="t", goal="worst", tables=((A,),), expected=(np.array([0.0, 2.0**26]),), scale=1.0)
    with pytest.raises(UsageError, match="sample the table"):
        selection.scores(far, columns([(0, 0)]))


@pytest.mark.parametrize("reach", [0.0, 3.0, 600.0])
def test_odds_of_many_are_exactly_their_weights(monkeypatch, reach):
    """Every whole number below the sum belongs to one candidate, and to each as many as its weight has."""
    weights = np.exp(-reach * np.random.default_rng(0).random(300))
    least = min(Fraction(w) / 2**53 for w in np.exp2(np.frexp(weights)[1]))
    parts = [int(Fraction(float(w)) / least) for w in weights]
    noise, asked = SystemNoise(), []
    monkeypatch.setattr(noise, "_below", lambda high: asked.append(high) or at)
    order = sorted(range(len(parts)), key=lambda i: (np.frexp(weights[i])[1], i))
    at = 0
    for i in order:
        assert noise.choice(weights) == i
        at += parts[i] - 1
        assert noise.choice(weights) == i
        at += 1
    assert {*asked} == {sum(parts)} == {at}


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
    many = replace(ASKED, scale=30.0, picks=3)
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
    reads, rows = [], columns([(0, 1), (1, 1)])
    refusing, whole = (curator(rows, commit=lambda: reads.append(1)) for _ in range(2))
    least = 2 * sqrt(pi / 8) * sqrt(2) / calibrate(1.0, 1e-5) * (1 + 2e-6)
    with pytest.raises(BudgetError):
        refusing.ask(replace(ASKED, scale=0.99 * least, picks=2))
    assert not reads
    assert len(set(whole.ask(replace(ASKED, scale=least, picks=2)).chosen)) == 2
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
    exact = replace(question, expected=np.array(list(seen.values())))
    assert search.scores(exact, rows).tolist() == [0]
