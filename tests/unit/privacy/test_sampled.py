"""Sums over Poisson samples: their accounting agrees with other accountants, and holds for replaced rows."""

from itertools import product
from math import exp, log

import numpy as np
import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from scipy import integrate, stats
from scipy.special import logsumexp

from synth.errors import UsageError
from synth.privacy.accounting import losses
from synth.privacy.accounting.composition import accountant, epsilon_of
from synth.privacy.accounting.events import (
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    PoissonSampledReplacedDpEvent,
    SlicesDpEvent,
    event,
    total_mu,
)
from synth.privacy.relation import Relation
from tests.unit.privacy.published_bounds import subsampled

CASES = [(2.4, 0.02, 600), (0.9, 0.01, 300), (5.0, 0.1, 150)]


def theirs(kind, sigma, rate, steps, delta):
    step = dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma))
    return kind(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE).compose(step, steps).get_epsilon(delta)


@pytest.mark.parametrize(("sigma", "rate", "steps"), CASES)
def test_epsilon_is_dp_accountings_and_below_renyis(sigma, rate, steps):
    """The same law through dp_accounting's own accountant, at its finer step: 0.1 % apart; Renyi's bound is larger."""
    ours = losses.samples_epsilon(((1 / sigma, rate, steps, False),), 1e-5)
    assert ours == pytest.approx(theirs(PLDAccountant, sigma, rate, steps, 1e-5), rel=1e-3)
    assert ours < theirs(RdpAccountant, sigma, rate, steps, 1e-5)


@pytest.mark.parametrize(("sigma", "rate", "steps"), CASES)
@pytest.mark.long
def test_opacus_agrees(sigma, rate, steps):
    """Opacus' accountant, written by others on another principle, states an error of 0.01 and keeps it."""
    prv = pytest.importorskip("opacus.accountants").PRVAccountant()
    prv.history = [(sigma, rate, steps)]
    assert losses.samples_epsilon(((1 / sigma, rate, steps, False),), 1e-5) == pytest.approx(
        prv.get_epsilon(1e-5), abs=0.015
    )


def between(first, second, epsilon):
    """The hockey-stick divergence of two densities on a plane grid."""
    return float(np.maximum(first - exp(epsilon) * second, 0).sum())


def plane(centres, weights, step):
    axis = np.arange(-8, 8, step)
    x, y = np.meshgrid(axis, axis)
    bells = [stats.norm.pdf(x - a) * stats.norm.pdf(y - b) for a, b in centres]
    return sum(w * bell for w, bell in zip(weights, bells, strict=True)) * step**2


@pytest.mark.parametrize("rate", [0.05, 0.5])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("turn", [0.0, 0.5, 1.0, 2.0, np.pi])
def test_a_replaced_row_costs_no_more_than_the_bound(rate, epsilon, turn):
    """Wherever the two places lie: numeric divergences on a grid, of the mixtures themselves, stay below."""
    here, there = (0.8, 0.0), (0.8 * np.cos(turn), 0.8 * np.sin(turn))
    p, q = (plane([(0, 0), c], [1 - rate, rate], 0.05) for c in (here, there))
    bound = float(losses.replaced_delta(np.array([epsilon]), ratio=0.8, rate=rate)[0])
    assert between(p, q, epsilon) <= bound + 1e-6
    if turn == np.pi and epsilon == 0.0:
        assert between(p, q, epsilon) == pytest.approx(bound, rel=1e-2)  # it is no idle bound


def test_half_the_bound_would_be_found_out():
    """Evil twin: the bound of a row that comes or goes does not cover one that is replaced by its opposite."""
    p, q = (plane([(0, 0), (s, 0)], [0.5, 0.5], 0.05) for s in (0.8, -0.8))
    single = stats.norm.cdf(0.4) - stats.norm.cdf(-0.4)  # total variation of one move, at rate 1
    assert between(p, q, 0.0) > 0.5 * single + 0.05


@pytest.mark.parametrize(("ratio", "rate"), [(0.4, 0.02), (1.5, 0.1), (0.01, 0.5)])
def test_the_replaced_rows_law_is_a_law(ratio, rate):
    """Masses are not negative and its divergences are at least the bound they were made of."""
    law = losses._replaced(ratio, rate, 1e-3)
    for epsilon in (0.0, 0.05, 0.3, 1.0):
        bound = float(losses.replaced_delta(np.array([epsilon]), ratio=ratio, rate=rate)[0])
        assert float(law.get_delta_for_epsilon(epsilon)) >= bound - 1e-12


def test_replaced_rows_at_rate_one_are_a_gaussian_of_twice_the_shift():
    twice = epsilon_of([GaussianDpEvent(name="a", sensitivity=2.0, sigma=5.0, count=3)], 1e-5)
    event = PoissonSampledReplacedDpEvent(name="a", sensitivity=1.0, sigma=5.0, count=3)
    assert epsilon_of([event], 1e-5) == pytest.approx(twice, rel=1e-3)


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize(("epsilon", "mu_elsewhere"), [(0.05, 0.005), (1.0, 0.146), (8.0, 0.0)])
@pytest.mark.long
def test_the_calibrated_noise_spends_what_was_asked(epsilon, mu_elsewhere, replaced):
    """Accountant and wish agree to 1e-6, from below."""
    sigma = losses.sampled_sigma(
        epsilon=epsilon, delta=1e-5, rate=0.02, steps=20, mu_elsewhere=mu_elsewhere, replaced=replaced
    )
    kind = PoissonSampledReplacedDpEvent if replaced else PoissonSampledDpEvent
    events = [kind(name="a", sensitivity=1.0, sigma=sigma, rate=0.02, count=20)]
    events += [GaussianDpEvent(name="b", sensitivity=mu_elsewhere, sigma=1.0)] if mu_elsewhere else []
    result = epsilon_of(events, 1e-5)
    assert epsilon * (1 - 1e-6) < result <= epsilon


def test_no_noise_is_enough_where_nothing_is_left():
    with pytest.raises(UsageError, match="nothing of epsilon is left for the steps; lower option oneway_share"):
        losses.sampled_sigma(epsilon=0.1, delta=1e-5, rate=0.02, steps=20, mu_elsewhere=1.0)


def test_events_of_samples_keep_to_themselves():
    step = PoissonSampledDpEvent(name="a", sensitivity=1.0, sigma=2.0, rate=0.02, count=20)
    slices = SlicesDpEvent(name="s", sensitivity=1.0, sigma=9.0, dim=4, num_slices=2, directions="gaussian")
    with pytest.raises(UsageError, match="separate runs"):
        epsilon_of([step, slices], 1e-5)
    with pytest.raises(UsageError, match="separate runs"):
        epsilon_of([step, ExponentialMechanismDpEvent(name="c", sensitivity=1.0, sigma=9.0)], 1e-5)
    with pytest.raises(ValueError, match="not Gaussian"):
        total_mu([step])
    with pytest.raises(ValueError, match="rate"):
        event({"name": "a", "sensitivity": 1.0, "sigma": 2.0, "rate": 0.02})
    assert "loss distributions" in accountant([step])
    assert event(step.plain()) == step


def test_rounded_noise_is_precise_enough_for_any_training():
    """A thousand steps of 100,000 weights at epsilon 8 take less than a millionth of delta's reserve."""
    step = PoissonSampledDpEvent(name="a", sensitivity=1.0, sigma=1.0, rate=0.02, count=1000)
    more, lost = step.imprecision(cells=100_000, epsilon=8.0, delta=1e-5)
    assert more == 0
    assert lost < 1e-6 * 0.02 * 1e-5


def test_profile_of_one_step_by_hand():
    """delta of one step, by an integral over the mixture, is what the loss distribution says."""
    sigma, rate, epsilon = 1.2, 0.1, 0.3

    def gap(x):
        here = stats.norm.pdf(x, scale=sigma)
        return max((1 - rate) * here + rate * stats.norm.pdf(x, loc=1, scale=sigma) - exp(epsilon) * here, 0)

    start = sigma**2 * log((exp(epsilon) - 1 + rate) / rate) + 0.5  # where the gap opens
    exact = integrate.quad(gap, start, 20)[0]
    assert losses.samples_epsilon(((1 / sigma, rate, 1, False),), exact) == pytest.approx(epsilon, abs=1e-4)


@pytest.mark.parametrize(("sigma", "rate"), [(0.6, 0.5), (1.0, 0.1)])
def test_theorem_d1_no_tables_noisy_sampled_sum_passes_the_pair(sigma, rate):
    """Three rows beside the one that comes: divergences of either order stay below the pair's, and delta below what
    epsilon is of. A row of length 1 beside none reaches them."""
    points, rng = np.linspace(-4 - 12 * sigma, 4 + 12 * sigma, 8001), np.random.default_rng(0)

    def law(values):
        total = np.zeros_like(points)
        for drawn in product([0, 1], repeat=len(values)):
            chance = np.prod([rate if d else 1 - rate for d in drawn])
            total += chance * stats.norm.pdf(points, np.dot(drawn, values), sigma)
        return np.maximum(total / total.sum(), 1e-300)

    def told(p, q):
        renyi = [logsumexp(a * np.log(p) + (1 - a) * np.log(q)) / (a - 1) for a in (1.5, 2.0, 8.0)]
        return np.array([*renyi, np.maximum(p - exp(epsilon) * q, 0).sum()])

    epsilon = losses.samples_epsilon(((1 / sigma, rate, 1, False),), 1e-3)
    alone, one = law([]), law([1.0])
    most = np.maximum(told(one, alone), told(alone, one))
    assert 0.99e-3 < most[-1] <= 1e-3 * (1 + 1e-5)  # the grid
    for _ in range(20):
        *others, new = rng.uniform(-1, 1, 4)
        without, there = law(others), law([*others, new])
        assert (np.maximum(told(there, without), told(without, there)) <= most * (1 + 1e-9)).all()


@pytest.mark.parametrize(("sigma", "rate"), [(0.6, 0.5), (1.0, 0.1), (3.0, 0.01)])
def test_corollary_d1_the_order_of_neighbours_that_renyi_needs(sigma, rate):
    """A is at least B at every order, and the same order of neighbours has the larger delta at every epsilon."""
    points = np.linspace(-30 * sigma, 30 * sigma + 33, 200_001)
    without, other = (stats.norm.logpdf(points, loc=m, scale=sigma) for m in (0, 1))
    drawn = np.logaddexp(np.log1p(-rate) + without, np.log(rate) + other)
    orders = (2, 8, 32)
    ours = subsampled(sensitivity=1, sigma=sigma, rate=rate, relation=Relation.ADD_REMOVE, orders=orders).values
    for order, known in zip((1.5, *orders), (None, *ours), strict=True):
        a, b = (logsumexp(order * p + (1 - order) * q) for p, q in ((drawn, without), (without, drawn)))
        assert a >= b
        if known is not None:
            assert (a + log(points[1] - points[0])) / (order - 1) == pytest.approx(known, rel=1e-6, abs=1e-9)
    for factor in np.exp([0.01 * rate, rate, 1.0]):
        first, second = (
            np.maximum(np.exp(p) - factor * np.exp(q), 0).sum() for p, q in ((drawn, without), (without, drawn))
        )
        assert first >= second


@pytest.mark.parametrize("replaced", [False, True])
def test_no_noise_is_sought_below_what_can_be_accounted_for(replaced):
    """A row that hardly ever enters would need none at all: losses beyond any memory, and a division by zero."""
    with pytest.raises(UsageError, match="options rate and steps"):
        losses.sampled_sigma(epsilon=1.0, delta=1e-5, rate=1e-6, steps=9, replaced=replaced)
    least = losses.sampled_sigma(epsilon=1.0, delta=1e-5, rate=1e-6, steps=11, replaced=replaced)
    assert least == losses.LEAST_NOISE
    law = ((1 / least, 1e-6, 11, replaced),)
    assert losses.samples_epsilon(law, 1e-5) <= 1.0
