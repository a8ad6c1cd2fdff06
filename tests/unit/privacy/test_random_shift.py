"""Events of slices: they compose on the safe side, and the curator holds them to the grant."""

import numpy as np
import pytest

from synth.errors import BudgetError, UsageError
from synth.mechanisms import counts, slices
from synth.privacy.accounting import composition
from synth.privacy.accounting.composition import COMPOSED, INTEGRATED, accountant, epsilon_of
from synth.privacy.accounting.events import GaussianDpEvent, SlicesDpEvent, event, total_mu
from synth.privacy.accounting.float_slack import slack_taken
from synth.privacy.accounting.gaussian import calibrate, derived_epsilon
from synth.privacy.accounting.slice_profile import slice_sigma
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Block, Counts, Encoding, Marginal, Slices

SLICED = SlicesDpEvent(name="s", sensitivity=1.0, sigma=4.0, dim=12, num_slices=6, directions="gaussian", pitch=2.0**-8)
COUNTED = GaussianDpEvent(name="c", sensitivity=1.0, sigma=5.0)


def like(**changes):
    from dataclasses import replace

    return replace(SLICED, **changes)


def test_a_gaussian_event_is_told_as_before():
    assert COUNTED.plain() == {"name": "c", "sensitivity": 1.0, "sigma": 5.0, "count": 1}


BAD = [{"kind": "cubic"}, {"kind": "gaussian"}, {"rate": 0.0}, {"rate": 2.0}, {"dim": 0}, {"directions": ""}]


@pytest.mark.parametrize("bad", BAD)
def test_senseless_slices_are_refused(bad):
    with pytest.raises(ValueError, match=r"event|shifts"):
        event({**SLICED.plain(), **bad})


def test_slices_have_no_mu():
    with pytest.raises(ValueError, match="epsilon_of"):
        total_mu([SLICED])


def test_gaussian_events_compose_as_ever():
    assert epsilon_of([COUNTED] * 3, 1e-5) == derived_epsilon(total_mu([COUNTED] * 3), 1e-5)
    assert accountant([COUNTED]) == composition.ACCOUNTANT
    assert epsilon_of([], 1e-5) == 0.0


def test_more_events_never_cost_less():
    steps = [[SLICED], [SLICED, COUNTED], [SLICED, COUNTED, SLICED], [SLICED, COUNTED, like(count=2)]]
    epsilons = [epsilon_of(s, 1e-5) for s in steps]
    assert epsilons == sorted(epsilons)
    assert len(set(epsilons)) == len(epsilons)


@pytest.mark.parametrize("more", [like(dim=13), like(rate=0.5), like(directions="rotation"), like(sigma=4.5)])
def test_slices_of_several_laws_compose_by_loss_distributions(more):
    """Never below the dearer alone, never above two of the dearer, and named for what it is."""
    both = epsilon_of([SLICED, more], 1e-5)
    assert accountant([SLICED, more]) == COMPOSED
    assert accountant([SLICED, like(count=2)]) == INTEGRATED
    assert max(epsilon_of([SLICED], 1e-5), epsilon_of([more], 1e-5)) < both
    assert both < epsilon_of([like(count=2, dim=12, sigma=3.9)], 1e-5) * 1.01


def test_loss_distributions_agree_with_the_integral_where_both_hold():
    """The same two questions, told apart from each other by a hair's breadth of sigma."""
    exact = epsilon_of([SLICED, SLICED], 1e-5)
    composed = epsilon_of([SLICED, like(sigma=4.0 * (1 + 1e-9))], 1e-5)
    assert exact * (1 - 1e-6) <= composed <= exact * 1.001


def test_spread_slices_of_several_laws_are_refused():
    with pytest.raises(UsageError, match="one question"):
        epsilon_of([like(rows_split_across_groups=True), like(sigma=5.0)], 1e-5)


ENCODING = Encoding(blocks=(Block.one_hot(Bins.each("a", 2), weight=1.0),))
NEAR = Adjacency(relation=Relation.ADD_REMOVE)


class Session:
    """A curator over three rows, for slices and counts."""

    def __init__(self, *, epsilon=1.0, share=1.0, mu_elsewhere=0.0, adjacency=NEAR):
        self.read = 0
        self.mu = calibrate(epsilon, 1e-5)
        grant = Grant(
            epsilon=epsilon, delta=1e-5, adjacency=adjacency, mu=self.mu * share**0.5, mu_elsewhere=mu_elsewhere
        )
        self.curator = Curator(
            grant=grant,
            commit=lambda: None,
            read=self._rows,
            mechanisms={Slices: slices, Counts: counts},
            noise=SystemNoise(),
        )

    def _rows(self):
        self.read += 1
        return {"a": np.array([0, 1, 1], dtype=np.int64)}

    def ask(self, sigma, **facts):
        facts = {"groups": 2, "num_slices": 4, "directions": "gaussian", **facts}
        return self.curator.ask(Slices(purpose="t", encoding=ENCODING, sigma=sigma, **facts))

    def count(self, sigma):
        marginal = Marginal(bins=(Bins.each("a", 2),), sigma=sigma)
        return self.curator.ask(Counts(purpose="t", marginals=(marginal,)))


def least(**facts):
    return slice_sigma(epsilon=1.0, delta=1e-5, sensitivity=1.0, dim=2, num_slices=4, **facts)


def test_the_calibrated_noise_takes_the_whole_grant_and_no_more():
    session = Session()
    with pytest.raises(BudgetError, match="above"):
        session.ask(least() * 0.999)
    assert session.read == 0
    assert session.ask(least()).values.shape == (2, 4)
    assert 0.999 < session.curator.epsilon_derived <= 1.0
    with pytest.raises(BudgetError, match="above"):
        session.count(1000.0)


def test_counts_and_slices_share_a_grant():
    session = Session()
    session.count(2 / session.mu)
    session.ask(least(mu_elsewhere=session.mu / 2))
    assert 0.999 < session.curator.epsilon_derived <= 1.0


def test_a_part_of_a_run_is_composed_with_the_other_parts():
    with pytest.raises(BudgetError, match="other sessions"):
        Session(share=0.5).ask(1000.0)
    session = Session(share=0.5, mu_elsewhere=calibrate(1.0, 1e-5) * 0.5**0.5)
    with pytest.raises(BudgetError, match="above"):
        session.ask(least())
    session.ask(least(mu_elsewhere=session.mu * 0.5**0.5))


def test_a_whole_rotation_takes_mu_like_a_count():
    session = Session()
    session.ask(2**0.5 / session.mu * (1 + 1e-12), directions="rotation", num_slices=None)
    session.count(2**0.5 / session.mu * (1 + 1e-12))
    assert session.curator.epsilon_derived == pytest.approx(1.0, abs=1e-3)


WIDE = Encoding(blocks=tuple(Block.one_hot(Bins.each(f"c{i}", 13), weight=0.12) for i in range(60)))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.1, 8.0])
@pytest.mark.parametrize("facts", [{}, {"directions": "gaussian", "num_slices": 780}, {"num_slices": 300}])
def test_the_sampler_stays_within_its_reserve_for_sixty_columns(epsilon, facts):
    """At delta 1e-5, also where a row is replaced: half the reserves cover one question."""
    adjacency = Adjacency(relation=Relation.REPLACE_ONE)
    sigma = slices.sensitivity(Slices(purpose="t", encoding=WIDE, sigma=1.0, groups=9), adjacency) / calibrate(
        epsilon, 1e-5
    )
    question = Slices(purpose="t", encoding=WIDE, sigma=sigma, groups=9, **facts)
    (one,) = slices.events(question, adjacency)
    cost = one.imprecision(cells=slices.changed_cells(question, adjacency), epsilon=epsilon, delta=1e-5)
    assert slack_taken(cost, epsilon, 1e-5) < 0.5


def test_sampled_records_and_records_of_their_own_are_refused_where_unproved():
    person = Adjacency(relation=Relation.ZERO_OUT, unit="p", max_rows=2)
    for adjacency, facts in (
        (NEAR, {"groups": None}),
        (person, {"groups": None}),
        (person, {"rate": 0.5}),
        (Adjacency(relation=Relation.REPLACE_ONE), {"rate": 0.5}),
    ):
        session = Session(adjacency=adjacency)
        with pytest.raises(UsageError):
            session.ask(1000.0, **facts)
        assert session.read == 0


def test_a_row_longer_than_one_is_refused():
    from math import nextafter

    blocks = tuple(Block.one_hot(Bins.each(n, 2), weight=nextafter(0.5, 1)) for n in "abcd")
    slices.events(Slices(purpose="t", encoding=Encoding(blocks=blocks), sigma=1.0, groups=2), NEAR)  # truncated
    long = Encoding(
        blocks=(
            *(Block.one_hot(Bins.each(n, 2), weight=0.5) for n in "abcd"),
            Block.one_hot(Bins.each("e", 2), weight=2.0**-16),
        )
    )
    with pytest.raises(UsageError, match="norm"):
        slices.events(Slices(purpose="t", encoding=long, sigma=1.0, groups=2), NEAR)
