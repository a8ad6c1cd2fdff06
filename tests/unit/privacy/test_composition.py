"""Composition under five calculi: against the accountant's own tables, and in the order that theory gives."""

from math import comb, exp, expm1, log, sqrt, tanh

import dp_accounting
import pytest
from dp_accounting.rdp import RdpAccountant
from scipy.stats import binom

from synth.privacy.accounting import compare_runs
from synth.privacy.accounting.compare_runs import ComparedRun, advanced, compose, rdp, zcdp
from synth.privacy.accounting.gaussian import calibrate, derived_epsilon
from tests.shifts import gaussian_delta
from tests.unit.privacy.published_bounds import pure_advanced


def runs(count: int, *, epsilon: float = 0.5, delta: float = 1e-6) -> list[ComparedRun]:
    return [ComparedRun(epsilon=epsilon, delta=delta, mu=calibrate(epsilon, delta))] * count


@pytest.mark.parametrize(("mu", "delta"), [(0.268, 1e-5), (1.0, 1e-6), (3.0, 1e-3)])
def test_rdp_agrees_with_the_accountant(mu, delta):
    accountant = RdpAccountant([float(o) for o in compare_runs.ORDERS if o > 1.01])
    accountant.compose(dp_accounting.GaussianDpEvent(1 / mu))
    assert rdp(mu**2 / 2, delta) == pytest.approx(accountant.get_epsilon(delta), rel=1e-3)


@pytest.mark.parametrize("count", [2, 10, 60])
def test_the_exact_figure_is_the_least_and_nothing_exceeds_the_sum(count):
    result = compose(runs(count))
    assert result.exact < result.rdp < result.zcdp
    assert result.advanced <= result.basic
    assert result.exact < result.basic == pytest.approx(0.5 * count)


def test_one_run_costs_what_it_was_charged():
    result = compose(runs(1))
    assert result.basic == 0.5
    assert result.exact == pytest.approx(0.5, rel=1e-3)


def test_many_small_runs_grow_with_the_root():
    few, many = (compose(runs(k, epsilon=0.05)).exact for k in (25, 100))
    assert many < 2.3 * few  # the sum would grow fourfold


def test_advanced_is_the_published_bound_for_unequal_runs():
    epsilons, slack = [0.1, 0.2, 0.3] * 40, 1e-6
    by_hand = sum(e * expm1(e) / (exp(e) + 1) for e in epsilons)
    by_hand += sqrt(2 * log(1 / slack) * sum(e * e for e in epsilons))
    assert advanced(epsilons, slack) == pytest.approx(by_hand)


def test_formulas_by_hand():
    assert zcdp(0.125, 1e-5) == pytest.approx(0.125 + 2 * sqrt(0.125 * log(1e5)))
    three, rho = compose(runs(3)), calibrate(0.5, 1e-6) ** 2 / 2
    assert three.basic == 1.5
    assert three.zcdp == pytest.approx(zcdp(3 * rho, 3e-6))
    simple = min(3 * rho * a + log(1 / 3e-6) / (a - 1) for a in compare_runs.ORDERS)  # the lecture's conversion
    assert 0.97 * 3e-6 < gaussian_delta(three.exact, sqrt(6 * rho)) <= 3e-6
    assert three.exact < three.rdp < simple == pytest.approx(three.zcdp, rel=1e-4)
    kept = min(3 * rho * a + log(1 - 1 / a) - (log(3e-6) + log(a)) / (a - 1) for a in compare_runs.ORDERS)
    assert three.rdp == pytest.approx(kept)
    pure, root = compose(alone(100), at=1e-6), sqrt(2 * 100 * 0.1**2 * log(1e6))  # each is epsilon^2 / 2 of zCDP
    assert pure.exact < pure.rdp < pure.zcdp == pytest.approx(100 * 0.1**2 / 2 + root)
    assert by_responses(100, 0.1, pure.exact) <= 1e-6 < by_responses(100, 0.1, 0.99 * pure.exact)


def ledger(tmp_path, **second):
    from synth.privacy.ledger.ledger import Ledger, Spend

    book = Ledger(tmp_path / "ledger.sqlite")
    facts = {
        "dataset": "d",
        "delta": 1e-5,
        "relation": "add_remove",
        "unit": "row",
        "engine": "e",
        "noise_source": "system",
        "question": {"mu": calibrate(1.0, 1e-5)},
    }
    book.spend(Spend(epsilon=1.0, **facts))
    book.spend(Spend(epsilon=1.0, **{**facts, **second}))
    return book


def test_the_ledgers_steps_follow_its_spends(tmp_path):
    result = compare_runs.ledger_composition(ledger(tmp_path).entries(), "d")
    assert [s["runs"] for s in result["steps"]] == [1, 2]
    assert [s["entry"] for s in result["steps"]] == [1, 2]
    assert result["reason"] is None


@pytest.mark.parametrize("second", [{"relation": "zero_out"}, {"question": {}}])
def test_what_does_not_add_up_is_not_composed(tmp_path, second):
    result = compare_runs.ledger_composition(ledger(tmp_path, **second).entries(), "d")
    assert result["reason"]
    assert result["steps"] == []


def test_the_command_tells_all_five(command, tmp_path):
    import json

    book = ledger(tmp_path)
    code, out, _ = command("ledger", "composition", "--ledger", book.path, "--json")
    step = json.loads(out)["datasets"][0]["steps"][-1]
    assert code == 0
    assert step["exact"] < step["rdp"] < step["zcdp"]
    code, out, _ = command("ledger", "composition", "--ledger", book.path)
    assert code == 0
    assert "zCDP" in out


def alone(count, epsilon=0.1):
    return [ComparedRun(epsilon=epsilon, delta=0.0, mu=0.0)] * count


def by_responses(k, e, epsilon):
    """delta at this epsilon of k randomised responses, the worst of pure runs: their loss is (2 i - k) e."""
    chances = binom.pmf(range(k + 1), k, exp(e) / (1 + exp(e)))
    return sum(p * max(-expm1(epsilon - (2 * i - k) * e), 0) for i, p in enumerate(chances))


def test_pure_runs_compose_at_a_delta_that_is_asked_for(tmp_path):
    result = compose(alone(100), at=1e-6)
    assert result.delta == 1e-6
    assert by_responses(100, 0.1, result.exact) <= 1e-6 < by_responses(100, 0.1, 0.99 * result.exact)
    assert result.exact < result.rdp < result.zcdp < result.basic == pytest.approx(10.0)
    assert result.rdp < result.advanced < result.basic
    assert compose(alone(1)).exact == pytest.approx(0.1, rel=1e-3)
    lecture = 0.1 * sqrt(2 * 100 * log(1e6)) + 2 * 100 * 0.1**2
    assert result.advanced < pure_advanced(0.1, 100, 1e-6) == pytest.approx(lecture)
    approximate = runs(100, epsilon=0.1)
    assert 0.97e-4 < gaussian_delta(compose(approximate).exact, 10 * approximate[0].mu) <= 1e-4
    for slack in (1e-6, 1e-4, 1e-2):  # the lecture's at k delta + slack, ours at k delta
        assert compose(approximate).exact < pure_advanced(0.1, 100, slack)
    untold = compare_runs.ledger_composition(ledger(tmp_path, question={}).entries(), "d")
    assert (bool(untold["reason"]), untold["steps"]) == (True, []), "approximate, and not known to be Gaussian"


def test_optimal_composition_is_the_binomial_of_the_theorem():
    """Kairouz, Oh, Viswanath: delta at (k - 2 i) epsilon, in closed form."""
    k, e, i = 20, 0.3, 4
    at = (k - 2 * i) * e
    delta = sum(comb(k, j) * (exp((k - j) * e) - exp((k - 2 * i + j) * e)) for j in range(i)) / (1 + exp(e)) ** k
    ours = compare_runs.optimal([e] * k, delta / 0.98)
    assert ours == pytest.approx(at, rel=1e-3)
    assert ours >= at


def test_azuma_hoeffding_bounds_the_loss_of_pure_runs_and_the_lectures_deviation_does_not():
    """Of 20 randomised responses: e^(-t^2 / 2 k eps^2) beyond the mean, and not a third of that variance."""
    k, e = 20, 0.3
    mean, truth = k * e * tanh(e / 2), exp(e) / (1 + exp(e))
    tails = [((k - 2 * i) * e - mean, binom.sf(k - i - 1, k, truth)) for i in range(9)]
    assert all(chance <= exp(-(t**2) / (2 * k * e**2)) for t, chance in tails)
    assert all(chance > exp(-3 * t**2 / (2 * k * e**2)) for t, chance in tails[:6])
    ours = compare_runs.optimal([e] * k, 1e-6)
    assert ours < mean + e * sqrt(2 * k * log(1e6))
    assert by_responses(k, e, ours) <= 1e-6 < by_responses(k, e, 0.99 * ours)


def test_pure_and_gaussian_runs_compose_together():
    both = compose([*alone(20), *runs(5)])
    assert compose(runs(5)).exact < both.exact < both.basic
    assert both.exact < compose(alone(20)).basic + compose(runs(5)).exact
    assert compare_runs.optimal([1e-9], 1e-6, mu=0.5) == pytest.approx(derived_epsilon(0.5, 1e-6), rel=1e-3)
