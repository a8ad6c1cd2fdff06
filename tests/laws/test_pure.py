"""Laplace counts and comparisons: moved and priced as stated, noise of the stated size, no round for nothing."""

from itertools import product
from math import exp, log

import numpy as np
import pytest
from scipy import stats

from synth.errors import BudgetError, UsageError
from synth.mechanisms import above, laplace
from synth.pipeline.methods import granted
from synth.privacy.accounting import renyi
from synth.privacy.accounting.compare_runs import advanced
from synth.privacy.accounting.composition import epsilon_of, through_renyi
from synth.privacy.accounting.events import GaussianDpEvent, LaplaceDpEvent, PureDpEvent, event
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Above, Bins, Laplace
from tests.evil_twins import Scaled, Silent
from tests.laws.tiny_tables import columns, neighbours
from tests.made import curator, ran
from tests.unit.privacy.published_bounds import pure_advanced

A, B = Bins.each("a", 2), Bins.each("b", 2)
FIRST = Bins(column="a", cells=2, starts=np.array([0, 1]), groups=np.array([0, -1]))
TABLES = Laplace(purpose="t", tables=((A,), (A, B), (FIRST,)), scale=2.0)
ORDERS = np.array([1.5, 2.0, 5.0, 30.0])


def asked(*, number=0, expected=1, threshold=1, scale=2.0):
    return Above(purpose="t", number=number, box=(FIRST,), expected=expected, threshold=threshold, scale=scale)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("most", [1, 2])
def test_counts_move_as_stated(relation, most):
    adjacency = Adjacency(relation=relation, unit="person", max_rows=most)
    shifted, distances = [], []
    for x, y in neighbours(relation, most):
        one, other = (laplace.answer(TABLES, columns(t), Silent()).values for t in (x, y))
        shifted.append(sum(np.abs(a - b).sum() for a, b in zip(one, other, strict=True)))
        distances.append(abs(int(one[2].sum()) - int(other[2].sum())))
    assert max(shifted) == laplace.sensitivity(TABLES, adjacency)
    assert max(distances) == above.sensitivity(adjacency)


def discrete(scale, reach=None):
    reach = reach or int(40 * scale) + 8
    k = np.arange(-reach, reach + 1)
    law = np.exp(-np.abs(k) / scale)
    return law / law.sum()


@pytest.mark.parametrize("scale", [0.7, 3.0, 20.0])
@pytest.mark.parametrize("move", [1, 2, 5])
def test_the_price_of_laplace_noise_is_its_own_divergence(scale, move):
    law = discrete(scale)
    p, q = law[move:], law[:-move]
    exact = [log(np.sum(np.exp(a * np.log(p) + (1 - a) * np.log(q)))) / (a - 1) for a in (1.5, 2.0, 5.0)]
    priced = renyi.laplace(move / scale, ORDERS[:3], step=1 / scale)
    assert priced == pytest.approx(exact, rel=1e-6)
    assert (priced <= renyi.randomised_response(move / scale, ORDERS[:3]) * (1 + 1e-12)).all()
    assert (priced >= renyi.laplace(move / scale, ORDERS[:3])).all()  # the continuous formula would be too little


def test_two_cells_cost_no_more_than_their_sum_in_one():
    for one, other in product([0.2, 1.0, 3.0], repeat=2):
        apart = renyi.laplace(one, ORDERS, step=0.2) + renyi.laplace(other, ORDERS, step=0.2)
        assert (apart <= renyi.laplace(one + other, ORDERS, step=0.2) * (1 + 1e-9)).all()


def test_randomised_response_is_the_worst_of_pure_privacy():
    rng, epsilon = np.random.default_rng(0), 1.3
    most = renyi.randomised_response(epsilon, ORDERS)
    for _ in range(200):
        q = rng.dirichlet(np.ones(4))
        p = q * np.exp(rng.uniform(-epsilon / 2, epsilon / 2, 4))
        p /= p.sum()  # within epsilon / 2 of 1 either way: the ratio stays within epsilon
        ours = [log(np.sum(p**a * q ** (1 - a))) / (a - 1) for a in ORDERS]
        assert (ours <= most * (1 + 1e-9)).all()
    p, q = np.array([exp(epsilon), 1.0]), np.array([1.0, exp(epsilon)])
    over_p = [log(p @ (p / q) ** a / p.sum()) / (a - 1) for a in ORDERS]  # misprinted: the next order, more
    assert over_p == pytest.approx(renyi.randomised_response(epsilon, ORDERS + 1) * ORDERS / (ORDERS - 1))
    assert (over_p > most * 1.03).all()
    truth = exp(epsilon) / (1 + exp(epsilon))
    lecture = np.log(truth**ORDERS * (1 - truth) ** (1 - ORDERS) + (1 - truth) ** ORDERS * truth ** (1 - ORDERS))
    assert most == pytest.approx(lecture / (ORDERS - 1))
    up, down = ORDERS * np.exp((ORDERS - 1) * epsilon), (ORDERS - 1) * np.exp(-ORDERS * epsilon)
    noisy = renyi.laplace(epsilon, ORDERS)
    assert noisy == pytest.approx(np.log((up + down) / (2 * ORDERS - 1)) / (ORDERS - 1))
    assert (noisy <= most).all()
    law = discrete(3.0)
    own = [log(np.sum(law[1:] ** a * law[:-1] ** (1 - a))) / (a - 1) for a in ORDERS[:3]]  # on a lattice, moved by one
    assert renyi.laplace(1 / 3, ORDERS[:3], step=1 / 3) == pytest.approx(own, rel=1e-5)
    next_to_1 = np.array([1 + 1e-6])  # where the lecture prints both by themselves
    assert renyi.randomised_response(epsilon, next_to_1) == pytest.approx((2 * truth - 1) * epsilon, rel=1e-5)
    assert renyi.laplace(epsilon, next_to_1) == pytest.approx(epsilon + exp(-epsilon) - 1, rel=1e-5)


def test_the_kl_of_a_pure_mechanism_stays_below_its_bounds():
    """epsilon tanh(epsilon / 2), which randomised response has, below the lecture's other three; what k runs add to
    the root's part is k times the last, and the first in the lecture's own theorem."""
    rng = np.random.default_rng(1)
    for epsilon in (0.1, 1.0, 3.0):
        most = epsilon * np.tanh(epsilon / 2)
        assert most <= epsilon**2 / 2 <= min(2 * epsilon**2, epsilon * np.expm1(epsilon))
        root = epsilon * (2 * 10**4 * log(1e6)) ** 0.5
        assert advanced([epsilon] * 10**4, 1e-6) - root == pytest.approx(min(10**4 * most, 10**4 * epsilon - root))
        assert pure_advanced(epsilon, 10**4, 1e-6) - root == pytest.approx(10**4 * 2 * epsilon**2)
        truth = np.array([1.0, np.exp(-epsilon)]) / (1 + np.exp(-epsilon))
        assert truth @ np.log(truth / truth[::-1]) == pytest.approx(most)
        for _ in range(200):
            q = rng.dirichlet(np.ones(4))
            p = q * np.exp(rng.uniform(-epsilon / 2, epsilon / 2, 4))
            p /= p.sum()
            assert p @ np.log(p / q) <= most * (1 + 1e-9)


def test_pure_events_add_up_without_a_delta_and_cost_less_with_one():
    many = [PureDpEvent(name="p", sensitivity=0.1, sigma=1.0, count=50)]
    assert epsilon_of(many, 0.0) == pytest.approx(5.0, rel=2e-4)
    assert epsilon_of(many, 1e-6) < 0.9 * 5.0
    assert epsilon_of([LaplaceDpEvent(name="l", sensitivity=1, sigma=10.0, count=50)], 1e-6) < epsilon_of(
        many, 1e-6
    ) * (1 + 1e-9)
    beside = [*many, GaussianDpEvent(name="g", sensitivity=1.0, sigma=9.0)]
    assert epsilon_of(many, 1e-6) < epsilon_of(beside, 1e-6) < 5.0 + 1.0
    assert through_renyi(many, 1e-6) <= renyi.epsilon_of_rho(50 * 0.1**2 / 2, 1e-6 * 0.98) * (1 + 2e-4)


@pytest.mark.parametrize("kind", [PureDpEvent, LaplaceDpEvent])
def test_events_are_stored_and_read(kind):
    one = kind(name="x", sensitivity=2.0, sigma=3.0, count=4)
    assert event(one.plain()) == one


DRAWS = 20_000


def chance_of(seen, scale):
    """The p-value of draws against the discrete law of that scale, on five parts of about equal weight."""
    reach = 1000
    k = np.arange(-reach, reach + 1)
    law = np.cumsum(discrete(scale, reach))
    edges = [int(k[np.searchsorted(law, share)]) for share in (0.2, 0.4, 0.6, 0.8)]
    parts = np.searchsorted(edges, seen, side="left")
    ends = np.concatenate([[0.0], law[np.array(edges) + reach], [1.0]])
    return stats.chisquare(np.bincount(parts, minlength=5), len(seen) * np.diff(ends)).pvalue


def test_noise_has_the_stated_scale_neither_less_nor_more():
    question = Laplace(purpose="t", tables=((Bins.each("a", DRAWS),),), scale=9.0)
    rows = {"a": np.arange(DRAWS)}
    for factor, right in ((1.0, True), (0.9, False), (1.1, False)):
        seen = laplace.answer(question, rows, Scaled(factor)).values[0] - 1
        assert (chance_of(seen, 9.0) > 1e-6) == right


def chance_above(scale, distance, threshold):
    """P(distance + nu >= threshold + rho) by summing both laws."""
    rho, nu = discrete(scale, 400), discrete(2 * scale, 400)
    tail = np.append(np.cumsum(nu[::-1])[::-1], 0.0)  # P(nu >= k)
    need = np.clip(threshold + np.arange(-400, 401) - distance + 400, 0, 801)
    return float(rho @ tail[need])


@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (0.6, False), (1.7, False)])
def test_a_comparison_is_above_as_often_as_its_noise_says(factor, right):
    rows, noise = {"a": np.zeros(9, dtype=np.int64)}, Scaled(factor)
    asks, draws = asked(expected=9, threshold=9, scale=3.0), 4000
    with pytest.MonkeyPatch.context() as patch:  # the exact count, always the same, is counted once
        patch.setattr(above.counts, "exact", lambda *_: [np.array([9])])
        seen = sum(above.Comparisons().answer(asks, rows, noise).above for _ in range(draws))
    p = stats.binomtest(seen, draws, chance_above(3.0, 0, 9)).pvalue
    assert (p > 1e-6) == right


def transcript_odds(tables, scale, threshold):
    """Log odds, between two tables, of each transcript of three questions, summed over the threshold's noise."""
    rho, reach = discrete(scale, 300), np.arange(-300, 301)
    nu = discrete(2 * scale, 600)
    tail = np.append(np.cumsum(nu[::-1])[::-1], 0.0)
    laws = []
    for counted in tables:
        yes = [tail[np.clip(threshold + reach - d + 600, 0, 1201)] for d in counted]
        left, law = rho.copy(), []
        for chance in yes:
            law.append(float((left * chance).sum()))
            left = left * (1 - chance)
        laws.append([*law, float(left.sum())])
    return np.log(np.array(laws[0]) / np.array(laws[1]))


@pytest.mark.parametrize("threshold", [-20, 0, 2, 20])
def test_a_rounds_odds_move_by_no_more_than_its_price(threshold):
    scale = 1.5
    (event,) = above.Comparisons().events(asked(scale=scale), Adjacency(relation=Relation.ADD_REMOVE))
    priced = event.sensitivity / event.sigma
    worst = 0.0
    for move in product([-1, 0, 1], repeat=3):
        odds = transcript_odds(([2, 2, 2], [2 + m for m in move]), scale, threshold)
        worst = max(worst, float(np.abs(odds).max()))
    assert worst <= priced + 1e-9
    assert worst > 0.25 * priced


def session():
    grant = granted(1.0, 0.0, Adjacency(relation=Relation.ADD_REMOVE), learning=False)
    spent = []
    return curator({"a": np.zeros(9, dtype=np.int64)}, grant=grant, commit=lambda: spent.append(1)), spent


def test_a_round_is_paid_for_once_and_ends_at_its_first_yes():
    door, spent = session()
    one = {"scale": 4.001, "threshold": 500}
    for _ in range(5):
        assert not door.ask(asked(**one)).above
    assert len(door.events) == len(spent) == 1
    assert door.ask(asked(**{**one, "threshold": -500})).above
    with pytest.raises(BudgetError, match="round 0 of comparisons is over"):
        door.ask(asked(**one))
    assert not door.ask(asked(number=1, **one)).above
    assert door.epsilon_derived <= 1.0
    with pytest.raises(BudgetError, match="bring the run to epsilon"):
        door.ask(asked(number=2, **one))


def test_a_paid_round_takes_no_question_of_less_noise():
    door, _ = session()
    door.ask(asked(scale=4.0, threshold=500))
    with pytest.raises(BudgetError, match="another scale"):
        door.ask(asked(scale=0.5, threshold=500))


def test_a_pure_run_refuses_gaussian_noise_and_counts_without_a_price():
    from synth.questions import Counts, Marginal

    door, spent = session()
    with pytest.raises(BudgetError):
        door.ask(Counts(purpose="c", marginals=(Marginal(bins=(A,), sigma=1e6),)))
    assert not spent
    assert door.ask(Laplace(purpose="l", tables=((A,),), scale=1.001)).values[0].shape == (2,)
    with pytest.raises(BudgetError):
        door.ask(Laplace(purpose="l", tables=((A,),), scale=100.0))


def test_noise_beyond_63_bits_is_refused():
    with pytest.raises(ArithmeticError, match="63 bits"):
        SystemNoise().laplace_counts((1,), scale=2.0**60)


def test_delta_0_is_for_pure_methods_alone(tmp_path):
    import synth
    from tests.conftest import SMALL, small_frame

    with pytest.raises(UsageError, match=r"delta 0: method independent .* small_db"):
        ran(small_frame(50), SMALL, delta=0, method="independent", ledger=tmp_path / "l.sqlite")
    assert not synth.Ledger(tmp_path / "l.sqlite").entries()


@pytest.mark.parametrize("method", ["small_db", "online_weights"])
def test_a_pure_run_is_charged_and_its_card_holds_until_somebody_makes_it_gaussian(method, tmp_path):
    import pandas as pd

    import synth

    frame = pd.DataFrame({"sex": ["f", "m"] * 200, "ill": ["yes", "yes", "no", "no"] * 100})
    kinds = {n: {"type": "categorical", "categories": sorted(set(frame[n]))} for n in frame}
    made = ran(frame, {"columns": kinds}, delta=0.0, method=method, ledger=tmp_path / "l.sqlite", seed=1, num_rows=20)
    (line,) = (e for e in synth.Ledger(tmp_path / "l.sqlite").entries() if e.kind == "spend")
    assert (line.epsilon, line.delta) == (1.0, 0.0)
    assert "mu" not in line.question
    assert made.card["variant"] == "Pure DP"
    assert synth.check(made.card).epsilon == 1.0
    gaussian = [{**m, "kind": "gaussian"} for m in made.card["mechanisms"]]
    with pytest.raises(synth.InputError, match="more than all of delta"):
        synth.check({**made.card, "mechanisms": gaussian})
