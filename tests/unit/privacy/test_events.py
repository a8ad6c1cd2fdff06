"""Events and their accountants: against dp_accounting's own, and against what earlier versions computed."""

import json
from functools import singledispatch
from pathlib import Path

import dp_accounting
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.errors import UsageError
from synth.privacy.accounting import composition
from synth.privacy.accounting.events import (
    KINDS,
    BoundedRangeDpEvent,
    Event,
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PoissonSampledReplacedDpEvent,
    PureDpEvent,
    SlicesDpEvent,
    ZCDpEvent,
    event,
)
from synth.privacy.accounting.float_slack import DELTA_SLACK, with_float_slack
from synth.privacy.accounting.gaussian import calibrate, derived_epsilon
from synth.privacy.accounting.renyi import calibrate_rho

DELTA = 1e-5
SLICED = {"sensitivity": 1.0, "dim": 9, "directions": "gaussian"}
EVENTS = {
    "g": GaussianDpEvent(name="g", sensitivity=1.0, sigma=4.0, count=3),
    "g2": GaussianDpEvent(name="g2", sensitivity=1.5, sigma=9.0, pitch=0.25),
    "s": SlicesDpEvent(name="s", sigma=5.0, num_slices=4, **SLICED),
    "s2": SlicesDpEvent(name="s2", sigma=5.0, num_slices=5, **SLICED),
    "sp": SlicesDpEvent(
        name="sp",
        sensitivity=2.0,
        sigma=12.0,
        dim=9,
        num_slices=5,
        directions="gaussian",
        rows_split_across_groups=True,
    ),
    "r": SlicesDpEvent(name="r", sensitivity=1.0, sigma=5.0, dim=9, num_slices=4, directions="rotation", count=2),
    "sr": SlicesDpEvent(name="sr", sigma=3.0, num_slices=4, rate=0.3, **SLICED),
    "sr3": SlicesDpEvent(name="sr3", sigma=3.0, num_slices=4, rate=0.3, count=3, **SLICED),
    "sf": SlicesDpEvent(name="sf", sigma=5.0, num_slices=4, failure_delta=1e-8, **SLICED),
    "c": BoundedRangeDpEvent(name="c", sensitivity=1.3, sigma=40.0, count=8),
    "z": ZCDpEvent(name="z", sensitivity=1.0, sigma=6.0),
    "e": ExponentialMechanismDpEvent(name="e", sensitivity=0.1, sigma=1.0, count=4),
    "u": PureDpEvent(name="u", sensitivity=0.1, sigma=1.0, count=4),
    "l": LaplaceDpEvent(name="l", sensitivity=1.0, sigma=10.0, count=4),
    "p": PoissonSampledDpEvent(name="p", sensitivity=1.0, sigma=2.0, rate=0.05, count=20, pitch=0.01),
    "q": PoissonSampledReplacedDpEvent(name="q", sensitivity=1.0, sigma=3.0, rate=0.05, count=20, pitch=0.01),
    "f": GaussianDpEvent(name="f", sensitivity=1.0, sigma=8.0, failure_delta=1e-7),
}
GOLDEN = json.loads((Path(__file__).parents[2] / "stored" / "accounting" / "epsilons.json").read_text())


def reported(work):
    try:
        return repr(work())
    except (UsageError, ValueError) as error:
        return f"{type(error).__name__}: {error}".partition(";")[0]


def again(key):
    """What a line of the golden table says, computed now."""
    words = key.split()
    match words:
        case ["plain", name]:
            return json.dumps(EVENTS[name].plain())
        case ["imp", name, cells, epsilon]:
            return reported(lambda: EVENTS[name].imprecision(cells=int(cells), epsilon=float(epsilon), delta=DELTA))
        case ["cal", epsilon, delta]:
            return reported(lambda: calibrate(float(epsilon), float(delta)))
        case ["rho", epsilon, delta]:
            return reported(lambda: calibrate_rho(float(epsilon), float(delta), mu_elsewhere=0.01))
        case ["der", epsilon, delta]:
            mu = calibrate(float(epsilon), float(delta))
            return reported(lambda: derived_epsilon(mu, float(delta)))
        case [names, "by"]:
            return reported(lambda: composition.accountant([EVENTS[n] for n in names.split("+")]))
    names, delta = key.split("@")
    return reported(lambda: composition.epsilon_of([EVENTS[n] for n in names.split("+")], float(delta)))


def figure(key, text):
    """A number is compared to ten digits, to eight at a delta of 1e-9: processors sum slices in their own order, which
    is 4e-9 of an epsilon there and 2e-12 elsewhere. Of a refusal its rule is compared, without the remedy; all else to
    the letter."""
    try:
        return pytest.approx(float(text), rel=1e-8 if key.endswith("@1e-09") else 1e-10)
    except ValueError:
        return text.partition(";")[0] if "Error: " in text else text


@pytest.mark.long
def test_every_figure_is_that_of_the_version_before():
    assert len(GOLDEN) > 200
    result = {key: again(key) for key in GOLDEN}
    numbers = {key for key, text in GOLDEN.items() if not isinstance(figure(key, text), str)}
    assert len(numbers) > 100
    assert {k: float(t) if k in numbers else t for k, t in result.items()} == {
        k: figure(k, t) for k, t in GOLDEN.items()
    }


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_read_as_it_was_written(name):
    assert event(json.loads(json.dumps(EVENTS[name].plain()))) == EVENTS[name]


def test_each_kind_has_one_class():
    assert {type(e) for e in EVENTS.values()} == set(KINDS.values())


@pytest.mark.parametrize("alien", [{"rate": 0.5}, {"dim": 3}, {"spread": True}, {"directions": "gaussian"}])
def test_a_fact_that_a_kind_does_not_have_is_refused(alien):
    with pytest.raises(ValueError, match="has no"):
        event({"name": "a", "sensitivity": 1.0, "sigma": 1.0, "count": 1, **alien})


@singledispatch
def theirs(one: Event) -> dp_accounting.DpEvent:
    """The event in dp_accounting's words."""
    raise NotImplementedError(one.kind)


@theirs.register
def _(one: GaussianDpEvent):
    return dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(one.sigma / one.sensitivity), one.count)


@theirs.register
def _(one: ZCDpEvent):
    return dp_accounting.ZCDpEvent(one.rho)


@theirs.register
def _(one: PoissonSampledDpEvent):
    step = dp_accounting.PoissonSampledDpEvent(one.rate, dp_accounting.GaussianDpEvent(one.sigma / one.sensitivity))
    return dp_accounting.SelfComposedDpEvent(step, one.count)


gaussians = st.builds(
    GaussianDpEvent,
    name=st.just("g"),
    sensitivity=st.sampled_from([1.0, 2**0.5, 3.0]),
    sigma=st.floats(3.0, 60.0),
    count=st.integers(1, 12),
)
zcdps = st.builds(ZCDpEvent, name=st.just("z"), sensitivity=st.just(1.0), sigma=st.floats(3.0, 60.0))


@given(events=st.lists(gaussians, min_size=1, max_size=4))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_gaussian_events_cost_what_the_loss_distributions_say(events):
    """Ours is exact and holds the reserve; theirs is pessimistic."""
    account = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    for one in events:
        account.compose(theirs(one))
    assert composition.epsilon_of(events, DELTA) == pytest.approx(account.get_epsilon(DELTA), rel=0.01, abs=1e-3)


@given(events=st.lists(st.one_of(gaussians, zcdps), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_zero_concentrated_events_cost_what_the_renyi_accountant_says(events):
    account = RdpAccountant((1 + np.geomspace(1e-2, 1e5, 3000)).tolist())
    for one in events:
        account.compose(theirs(one))
    net = DELTA * (1 - DELTA_SLACK)
    expected = with_float_slack(float(account.get_epsilon(net)))
    assert composition.through_renyi(events, DELTA) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("sigma", "rate", "count"), [(1.0, 0.01, 100), (2.0, 0.05, 20), (0.8, 0.001, 500)])
def test_sampled_events_cost_what_the_loss_distributions_say(sigma, rate, count):
    one = PoissonSampledDpEvent(name="p", sensitivity=1.0, sigma=sigma, rate=rate, count=count)
    account = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE).compose(theirs(one))
    assert composition.epsilon_of([one], DELTA) == pytest.approx(account.get_epsilon(DELTA), rel=0.02, abs=1e-3)


def test_pure_epsilons_add_up_beside_the_others():
    assert sum(e.epsilon or 0.0 for e in EVENTS.values()) == pytest.approx(3 * 0.4)
    assert [e.name for e in EVENTS.values() if e.epsilon is None] == [n for n in EVENTS if n not in ("e", "u", "l")]
