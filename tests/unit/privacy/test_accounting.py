"""Calibration and composition agree with closed forms and with loss distributions, on the safe side."""

from math import exp, expm1, inf, log, nan, sqrt

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import integrate, stats

from synth.errors import UsageError
from synth.mechanisms import counts
from synth.privacy.accounting import gaussian, renyi
from synth.privacy.accounting.events import GaussianDpEvent, total_mu
from synth.privacy.accounting.float_slack import DELTA_SLACK, EPSILON_SLACK, sampler_cost
from synth.privacy.accounting.gaussian import calibrate, derived_epsilon
from synth.privacy.accounting.guarantee import check
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Counts, Marginal
from tests.evil_twins import z_of_squares
from tests.shifts import gaussian_delta as profile
from tests.unit.privacy import published_bounds

GRID = [(e, d) for e in (0.01, 0.2, 1.0, 5.1, 10.0, 18.0) for d in (1e-9, 1e-5, 1e-2)]


@pytest.mark.parametrize(("epsilon", "delta"), [*GRID, (8.4, 1e-5), (8.5, 1e-5)])
def test_calibrated_mu_keeps_the_claim_and_wastes_little(epsilon, delta):
    mu = calibrate(epsilon, delta)
    assert derived_epsilon(mu, delta) <= epsilon
    assert derived_epsilon(mu * 1.005, delta) > epsilon
    assert profile(epsilon, mu) <= delta < profile(epsilon, mu * 1.03)
    adjacency = Adjacency(relation=Relation.ADD_REMOVE, unit="p", max_rows=40)
    asked = Counts(purpose="t", marginals=(Marginal(bins=(Bins.each("a", 5000),), sigma=40 / mu),))
    assert total_mu(counts.events(asked, adjacency)) == pytest.approx(mu)
    noise = counts.answer(asked, {"a": np.zeros(0, dtype=np.int64)}, SystemNoise()).values[0]
    assert np.array_equal(noise, np.rint(noise)), "on a lattice"
    assert abs(z_of_squares(noise * mu / 40)) < 5.5
    textbook = sqrt(2 * log(1.25 / delta)) / epsilon
    if epsilon <= 1:
        assert 1 / mu < textbook, "proved for epsilon up to 1"
    z = np.linspace(-60, 60, 24_001)
    for order in (1.5, 4.0):  # Renyi's divergence of N(mu, 1) from N(0, 1)
        moment = np.trapezoid(np.exp(order * stats.norm.logpdf(z, mu) + (1 - order) * stats.norm.logpdf(z)), z)
        assert log(moment) / (order - 1) == pytest.approx(order * mu**2 / 2, abs=1e-9)
    renyi_orders = 1 + np.geomspace(1e-3, 1e4, 500)
    assert derived_epsilon(mu, delta) < (renyi_orders * mu**2 / 2 + log(1 / delta) / (renyi_orders - 1)).min()
    short = profile(epsilon, 1 / textbook) > delta  # though two texts print it for every epsilon
    assert short == (epsilon >= 8.5)
    assert epsilon < mu**2 / 2 + mu * sqrt(2 * log(1 / delta)), "the lecture's, by the tail of the loss"
    for order in (1.5, 4.0):
        x = order * mu + np.linspace(-12, 12, 2001)
        odds = np.exp(order * stats.norm.logpdf(x, mu) + (1 - order) * stats.norm.logpdf(x))
        (printed,) = published_bounds.gaussian(sensitivity=mu, sigma=1.0, orders=(order,)).values
        assert np.log(np.trapezoid(odds, x)) / (order - 1) == pytest.approx(printed, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [g for g in GRID if g[0] <= 5.1 and g[1] >= 1e-5])
def test_profile_written_out_agrees(epsilon, delta):
    mu = calibrate(epsilon, delta)
    assert profile(epsilon, mu) <= delta
    assert profile(epsilon, mu * 1.03) > delta
    loss = stats.norm(mu**2 / 2, mu)  # N(eta, 2 eta)
    high = mu**2 / 2 + 40 * mu
    by_loss, _ = integrate.quad(
        lambda x: -expm1(epsilon - x) * loss.pdf(x), epsilon, high, epsabs=0, points=[mu**2 / 2 + 6 * mu]
    )
    assert by_loss == pytest.approx(profile(epsilon, mu), rel=1e-5)
    assert float(gaussian.gaussian_delta(epsilon, mu)) == pytest.approx(profile(epsilon, mu), rel=1e-9)
    assert profile(epsilon, mu) < loss.sf(epsilon), "the tail bound of the lecture's Lemma 1"


@pytest.mark.parametrize(("epsilon", "delta"), [g for g in GRID if g[0] <= 5.1 and g[1] >= 1e-5])
def test_no_event_breaks_the_definition_and_one_nearly_does(epsilon, delta):
    """P(S) <= e^epsilon Q(S) + delta for half-lines, intervals and their unions, of N(mu, 1) and N(0, 1), both ways."""
    mu = calibrate(epsilon, delta)
    edges = np.sort(np.append(np.linspace(-9, 9, 400), [epsilon / mu + mu / 2, mu / 2 - epsilon / mu]))
    p, q = (np.diff(stats.norm.cdf(np.concatenate([[-inf], edges, [inf]]) - at)) for at in (mu, 0.0))
    some = np.random.default_rng(0).random((500, len(p))) < 0.5
    beyond = np.tril(np.ones((len(p), len(p))))
    events = np.vstack([beyond, 1 - beyond, some, np.eye(len(p))])
    for one, other in ((p, q), (q, p)):
        for claimed in (epsilon, derived_epsilon(mu, delta)):
            excess = events @ (one - exp(claimed) * other)
            assert 0.97 * delta < excess.max() < delta


@pytest.mark.parametrize("delta", [1e-19, 1e-9, 1e-5, 0.3])
@pytest.mark.parametrize("mu", [1e-4, 0.02, 0.3, 1.0, 7.0, 400.0])
def test_the_profile_and_its_inverses_are_those_of_dp_accounting(mu, delta):
    """Whose functions we have written out, so that a run need not load all of that library. And they are those of the
    definition: no set of outputs passes delta. Of two Gaussians half-lines are the worst sets, since odds rise."""
    with np.errstate(divide="ignore", over="ignore"):
        epsilon = dp_accounting.get_epsilon_gaussian(1 / mu, delta * (1 - gaussian.DELTA_SLACK))
        cuts = derived_epsilon(mu, delta) / mu + mu / 2 + np.linspace(-3, 3, 601)
        for claimed, short in ((derived_epsilon(mu, delta), False), (0.9 * epsilon, epsilon > 0)):
            passed = np.exp(stats.norm.logsf(cuts - mu)) - np.exp(claimed + stats.norm.logsf(cuts)) > delta
            assert passed.any() == short
        assert derived_epsilon(mu, delta) == pytest.approx(gaussian.with_float_slack(epsilon), rel=1e-11)
        if epsilon > 1e-3:
            assert gaussian.gaussian_delta(epsilon, mu) == pytest.approx(delta * (1 - gaussian.DELTA_SLACK), rel=1e-6)
            sigma = dp_accounting.get_sigma_gaussian(
                epsilon * (1 - gaussian.EPSILON_SLACK), delta * (1 - gaussian.DELTA_SLACK)
            )
            assert calibrate(epsilon, delta) == pytest.approx(1 / sigma, rel=1e-8)
    assert renyi.epsilon_of_rho(mu**2 / 2, delta) == pytest.approx(
        rdp.compute_epsilon(renyi.ORDERS, mu**2 / 2 * renyi.ORDERS, delta)[0], rel=1e-11
    )


def test_what_has_no_noise_or_no_delta_has_no_epsilon():
    assert [derived_epsilon(mu, delta) for mu, delta in ((inf, 1e-5), (1.0, 0.0), (0.0, 0.0))] == [inf, inf, 0.0]
    assert [renyi.epsilon_of_rho(rho, delta) for rho, delta in ((1.0, 0.0), (0.0, 0.0))] == [inf, 0.0]


def test_published_value():
    """mu = 0.268 at epsilon 1, delta 1e-5; a zCDP conversion would give rho 0.0306 in place of 0.0359."""
    assert calibrate(1.0, 1e-5) == pytest.approx(0.268, abs=5e-4)
    assert calibrate(1.0, 1e-5) ** 2 / 2 == pytest.approx(0.0359, abs=1e-4)


@pytest.mark.parametrize("split", [(1,), (1, 1), (3, 4, 12), (1,) * 20])
def test_parts_compose_to_the_whole(split):
    """Whatever the split of mu**2, the loss distributions composed by dp_accounting stay within epsilon."""
    mu = calibrate(1.0, 1e-5)
    whole = sum(split)
    events = [GaussianDpEvent(name="part", sensitivity=1.0, sigma=1 / (mu * sqrt(s / whole))) for s in split]
    assert total_mu(events) == pytest.approx(mu)
    composed = pld.from_gaussian_mechanism(events[0].sigma)
    for event in events[1:]:
        composed = composed.compose(pld.from_gaussian_mechanism(event.sigma))
    assert composed.get_epsilon_for_delta(1e-5) == pytest.approx(1.0, abs=2e-3)


def test_count_is_as_many_events():
    one = GaussianDpEvent(name="a", sensitivity=2.0, sigma=3.0, count=5)
    assert total_mu([one]) == pytest.approx(total_mu([GaussianDpEvent(name="a", sensitivity=2.0, sigma=3.0)] * 5))


@pytest.mark.parametrize("epsilon", [0, -1, inf, -inf, nan])
def test_senseless_epsilon_is_refused(epsilon):
    with pytest.raises(UsageError, match="epsilon"):
        calibrate(epsilon, 1e-5)


@pytest.mark.parametrize("delta", [0, 1, -1e-5, 2, nan, inf])
def test_senseless_delta_is_refused(delta):
    with pytest.raises(UsageError, match="delta"):
        calibrate(1.0, delta)


@pytest.mark.parametrize("bad", [{"sensitivity": 0}, {"sigma": 0}, {"sigma": inf}, {"count": 0}, {"sensitivity": -1}])
def test_senseless_event_is_refused(bad):
    with pytest.raises(ValueError, match="event"):
        GaussianDpEvent(**{"name": "x", "sensitivity": 1.0, "sigma": 1.0, **bad})


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 1.0, 5.1, 10.0, 18.0])
def test_the_sampler_stays_within_its_reserve_for_a_usual_run(epsilon):
    """A hundred tables at delta 1e-5: what calibration set aside covers the sampler's imprecision."""
    sigma = 1 / (calibrate(epsilon, 1e-5) * sqrt(1 / 100))
    more_epsilon, more_delta = sampler_cost(epsilon, 1e-5, sigma=sigma, draws=100)
    assert more_epsilon <= epsilon * EPSILON_SLACK
    assert more_delta <= 1e-5 * DELTA_SLACK


@pytest.mark.parametrize("epsilon", [1e308, 10**400, -(10**400), 1e7, float("nan"), "1", None])
def test_an_epsilon_that_no_run_could_mean_is_refused_in_one_line(epsilon):
    for refuse in (check, calibrate):
        with pytest.raises(UsageError, match="not a finite number above 0 and at most 1e"):
            refuse(epsilon, 1e-5)
