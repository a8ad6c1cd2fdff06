"""What one unit can move in a step's sum of gradients, and in a count of votes; and that steps are paid for once."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from synth.errors import BudgetError, UsageError
from synth.generators import GENERATORS
from synth.mechanisms import embeddings, nearest, pulls, votes
from synth.mechanisms import gradients as mechanism
from synth.numeric import networks
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.gaussian import calibrate, derived_epsilon
from synth.privacy.accounting.losses import sampled_sigma
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import (
    Bins,
    Block,
    Descent,
    DescentRelease,
    Embedding,
    Pulls,
    Step,
    Teachers,
    Tensors,
    Term,
    Votes,
)
from synth.questions.gradients import CLIPPED, RATES, SIGNS, whole_rate
from synth.release import store
from tests.evil_twins import Counted
from tests.made import curator

SIZES = (3, 2)
BINS = tuple(Bins.each(n, s) for n, s in zip("ab", SIZES, strict=True))
EVERY = np.array([(i, j) for i in range(3) for j in range(2)])
NETWORKS = [
    *(("critic", 0), ("autoencoder", 2), ("flow", 2), ("denoiser", 6), ("transport", 0), ("classifier", 0)),
    ("latent flow", 2),
]
TRAINED = {
    "critic": {"dp_ctgan", "dp_autogan"},
    "autoencoder": {"dp_vae"},
    "flow": {"dp_flow"},
    "denoiser": {"dp_diffusion"},
    "transport": {"dp_sinkhorn"},
    "classifier": {"private_set"},
}
SHAPES = {
    "latent flow": {"network": "autoencoder", "depth": 2},
    "flow": {"depth": 3, "shares": np.array([0.5, 0.3, 0.2, 0.6, 0.4])},
    "denoiser": {"depth": 2},
    "transport": {"scale": 0.5},
    "classifier": {"depth": 1},
}


def descent(network="critic", latent=0, *, clip=0.5, sigma=1.0, rate=1.0, steps=3):
    return Descent(
        purpose="d",
        bins=BINS,
        hidden=4,
        latent=latent,
        clip=clip,
        sigma=sigma,
        rate=rate,
        steps=steps,
        **{"network": network, **SHAPES.get(network, {})},
    )


def weights_of(plan, scale=1.0):
    made, rng = networks.of(plan), np.random.default_rng(0)
    networks.start(made, rng=rng)
    if plan.network == "transport":
        return tuple(scale * rng.random(w.shape).astype(np.float32) for w in networks.arrays(made))
    return tuple(scale * w for w in networks.arrays(made))


def rows_of(codes):
    return {n: np.array([c[i] for c in codes], dtype=np.int64) for i, n in enumerate("ab")}


def reported(plan, weights, codes):
    question = Step(descent=plan, number=0, weights=weights)
    return mechanism.Descents().answer(question, rows_of(codes), Counted()).values


@pytest.mark.parametrize(("network", "latent"), NETWORKS)
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_a_row_moves_the_sum_by_at_most_the_clip(network, latent, scale):
    """All neighbours of a table, every possible row added: the sum moves by at most C, and by nearly C at worst. Of no
    rows each step tells its noise. And which methods train so."""
    assert {n for n, g in GENERATORS.items() if getattr(g, "network", "") == network} == TRAINED.get(network, set())
    plan = descent(network, latent, clip=0.5, sigma=0.5)
    weights = weights_of(plan, scale)
    before = reported(plan, weights, EVERY)
    moves = [np.linalg.norm(reported(plan, weights, [*EVERY, row]) - before) for row in EVERY]
    assert max(moves) <= 0.5
    assert max(moves) > 0.45
    door, steps = mechanism.Descents(), [Step(descent=plan, number=i, weights=weights) for i in range(plan.steps)]
    z = np.concatenate([door.answer(s, rows_of(EVERY[:0]), SystemNoise()).values for s in steps]) / plan.sigma
    assert 1e-9 < stats.chi2.cdf(z @ z, len(z)) < 1 - 1e-9
    with pytest.raises(BudgetError):
        door.events(steps[0], Adjacency(relation=Relation.ADD_REMOVE))


def test_a_falling_clip_moves_each_step_by_its_own_clip_and_no_less():
    """An answer in units of its step's clip: a row moves it by C, and what a reader makes of it by C s_t."""
    plan = replace(descent("critic", clip=0.5, sigma=0.5, steps=3), last=0.01)
    weights = weights_of(plan, 30.0)
    before = mechanism.PerExampleGradients(plan)
    before.at(weights)
    one_hot = np.pad(EVERY, ((0, 0), (0, 0)))
    longest = float(torch.linalg.vector_norm(before.of(one_hot, np.zeros((mechanism.CHUNK, 0))), dim=1).max())
    for number in range(3):
        moves = []
        for row in EVERY:
            question = Step(descent=plan, number=number, weights=weights)
            moves.append(
                np.linalg.norm(mechanism._Descending(plan, rows_of([row])).sums(question, Counted()) * plan.lattice)
            )
        assert max(moves) <= 0.5
        assert max(moves) > 0.45
        assert plan.fallen(number) == pytest.approx(0.01 ** (number / 2))
    assert longest > 0.5
    question = Step(descent=plan, number=0, weights=weights)
    assert mechanism.Descents().events(
        question, Adjacency(relation=Relation.ADD_REMOVE)
    ) == mechanism.Descents().events(
        Step(descent=replace(plan, last=1.0), number=0, weights=weights), Adjacency(relation=Relation.ADD_REMOVE)
    )


@pytest.mark.parametrize("sigma", [0.5, 30.0, 400.0, 1e6])
def test_however_coarse_the_lattice_a_row_moves_by_at_most_the_clip(sigma):
    """Much noise makes a coarse lattice: rows are truncated towards zero there, and to nothing at last."""
    plan = descent("critic", clip=0.5, sigma=sigma)
    weights = weights_of(plan, 30.0)
    moves = [np.linalg.norm(reported(plan, weights, [row])) for row in EVERY]
    assert max(moves) <= 0.5
    assert (plan.rounding == 0) == (sigma > 100)
    assert (max(moves) > 0.2) == (sigma <= 400)


def test_a_replaced_row_moves_by_at_most_twice_the_clip_and_three_rows_by_thrice():
    plan = descent("critic", clip=0.5, sigma=0.5)
    weights = weights_of(plan, 30.0)
    one = {tuple(row): reported(plan, weights, [row]) for row in EVERY}
    pairs = [np.linalg.norm(a - b) for a in one.values() for b in one.values()]
    assert max(pairs) <= 1.0
    assert max(np.linalg.norm(reported(plan, weights, [row] * 3)) for row in EVERY) <= 1.5
    assert max(np.linalg.norm(reported(plan, weights, [row] * 3)) for row in EVERY) > 1.3
    adjacency = Adjacency(relation=Relation.ADD_REMOVE, unit="p", max_rows=3)
    assert mechanism.sensitivity(Step(descent=plan, number=0, weights=weights), adjacency) == 1.5


def test_without_clipping_the_law_would_fail():
    """Evil twin: these gradients are longer than the clip, so that the law above has something to see."""
    plan = descent("critic", clip=0.5)
    gradients = mechanism.PerExampleGradients(plan)
    gradients.at(weights_of(plan, 30.0))
    assert torch.linalg.vector_norm(gradients.of(EVERY, np.zeros((128, 0))), dim=1).max() > 5


@pytest.mark.parametrize(("network", "latent"), NETWORKS)
def test_a_rows_gradient_is_its_own(network, latent):
    """Per-example gradients are those of one row at a time, by plain differentiation."""
    plan = descent(network, latent)
    weights, draws = weights_of(plan), np.random.default_rng(2).standard_normal((128, latent)).astype(np.float32)
    gradients = mechanism.PerExampleGradients(plan)
    gradients.at(weights)
    many = gradients.of(EVERY, draws)
    made = networks.of(plan)
    networks.load(made, weights)
    for i, row in enumerate(EVERY):
        loss = made.losses(networks.one_hot(row[None], plan.sizes), torch.from_numpy(draws[i : i + 1])).sum()
        alone = torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, list(made.parameters()))])
        assert torch.allclose(many[i], alone, atol=1e-5)


def test_rows_that_are_not_finite_or_too_long_add_nothing():
    plan = descent(clip=1.0, sigma=0.01)
    rows = torch.zeros((3, plan.weights))
    rows[0, 0], rows[1, 1], rows[2, 2] = torch.inf, torch.nan, 1e30
    whole = mechanism.on_lattice(rows, plan)
    assert not whole[:2].any()
    assert 0.9 < np.linalg.norm(whole[2]) * plan.lattice <= 1.0
    assert np.array_equal(whole, np.rint(whole))


def test_a_machine_on_which_places_matter_is_refused(monkeypatch):
    plan = descent()
    once = mechanism.PerExampleGradients.of

    def shifted(self, rows, draws):
        return once(self, rows, draws) + torch.arange(len(rows))[:, None] * 1e-7

    monkeypatch.setattr(mechanism.PerExampleGradients, "of", shifted)
    with pytest.raises(UsageError, match="choose another method"):
        reported(plan, weights_of(plan), EVERY)


def session(*, relation=Relation.ADD_REMOVE):
    return curator(rows_of(EVERY), relation=relation, mechanisms={Step: mechanism.Descents(), Votes: votes.Classes()})


def paid(relation=Relation.ADD_REMOVE, steps=3):
    rate = whole_rate(0.3)
    noise = sampled_sigma(epsilon=1.0, delta=1e-5, rate=rate, steps=steps, replaced=relation is Relation.REPLACE_ONE)
    return descent(clip=0.5, sigma=0.5 * noise, rate=rate, steps=steps)


@pytest.mark.parametrize("relation", list(Relation))
def test_the_first_step_pays_for_all_and_there_is_none_beyond(relation):
    door, plan = session(relation=relation), paid(relation)
    weights = weights_of(plan)
    for number in range(3):
        door.ask(Step(descent=plan, number=number, weights=weights))
        assert door.epsilon_derived == pytest.approx(1.0, abs=1e-6)
        assert door.epsilon_derived <= 1.0
    assert sum(e.count for e in door.events) == 3
    for number in (0, 2, 3, 4):
        with pytest.raises(BudgetError):
            door.ask(Step(descent=plan, number=number, weights=weights))
    assert sum(e.count for e in door.events) == 3


def test_another_descent_an_equal_one_even_pays_again():
    door, plan = session(), paid()
    door.ask(Step(descent=plan, number=0, weights=weights_of(plan)))
    with pytest.raises(BudgetError, match="above its 1"):
        door.ask(Step(descent=paid(), number=0, weights=weights_of(plan)))
    door.close()
    with pytest.raises(BudgetError):
        door.ask(Step(descent=plan, number=1, weights=weights_of(plan)))


def test_steps_come_in_order_and_an_overspending_descent_reads_nothing():
    door, plan = session(), paid()
    with pytest.raises(BudgetError, match="in order"):
        door.ask(Step(descent=plan, number=1, weights=weights_of(plan)))
    dear = descent(clip=0.5, sigma=plan.sigma * 0.9, rate=plan.rate, steps=3)
    for _ in range(2):
        with pytest.raises(BudgetError):
            door.ask(Step(descent=dear, number=0, weights=weights_of(plan)))
    assert door.events == ()


def test_a_person_of_several_rows_pays_for_the_chance_that_any_is_drawn():
    adjacency = Adjacency(relation=Relation.ADD_REMOVE, unit="p", max_rows=3)
    plan = descent(rate=0.5)
    (event,) = mechanism.Descents().events(Step(descent=plan, number=0, weights=weights_of(plan)), adjacency)
    assert (event.kind, event.sensitivity) == ("subsampled_gaussian", 1.5)
    assert 0.875 <= event.rate < 0.875 * (1 + 1e-9)
    assert epsilon_of([event], 1e-5) > 3


def test_the_surveys_appendix_c_beside_what_is_charged():
    """C, and 2 C where a row is replaced; of m features of length 1 the mean moves by 2 / (m + 1) and 2 / m, our sum by
    1 and 2; nearest rows 1 and root of 2; teachers' signs 2 roots of k, clipped gradients 2 C; votes of both classes
    root of 2, ours of one class 1."""
    both = [Adjacency(relation=r) for r in (Relation.ADD_REMOVE, Relation.REPLACE_ONE)]
    plan = descent(clip=0.5, sigma=2.0, steps=1)
    for adjacency, moved in zip(both, (0.5, 1.0), strict=True):
        events = mechanism.Descents().events(Step(descent=plan, number=0, weights=weights_of(plan)), adjacency)
        assert epsilon_of(events, 1e-5) == pytest.approx(derived_epsilon(moved / plan.sigma, 1e-5), rel=1e-2)
    sign = Term(blocks=(Block(bins=Bins.each("a", 2), table=[[1.0], [-1.0]]),), weight=1.0)
    summed, m = Embedding(purpose="e", features=Tensors(terms=(sign,)), sigma=1.0), 9
    alike, more, other = np.zeros(m, dtype=int), np.repeat([0, 1], [m, 1]), np.repeat([0, 1], [m - 1, 1])
    sums = [float(embeddings.sums(summed, {"a": t})[0]) * summed.pitch for t in (alike, more, other)]
    assert sums[0] / m - np.array(sums[1:]) / (m + 1, m) == pytest.approx([2 / (m + 1), 2 / m])
    assert sums[0] - np.array(sums[1:]) == pytest.approx([embeddings.sensitivity(summed, a) for a in both])
    assert [nearest.sensitivity(a) for a in both] == [1, 2**0.5]
    taught = Teachers(purpose="p", bins=BINS, table=np.ones((5, 4)), teachers=8, most_rows=6, sigma=1.0)
    for form, more, moved in ((SIGNS, {"kept": 3}, 2 * 3**0.5), (CLIPPED, {}, 2.0)):
        asked = Pulls(teachers=taught, lessons=EVERY, asked=EVERY, moves=1, form=form, **more)
        assert [pulls.sensitivity(asked, a) for a in both] == [moved] * 2
    assert [votes.sensitivity(a) for a in both] == [1, 1]


@pytest.mark.parametrize(("network", "latent"), NETWORKS)
def test_the_number_of_weights_is_known_without_the_network(network, latent):
    plan = descent(network, latent)
    assert plan.weights == sum(w.size for w in networks.arrays(networks.of(plan)))


@pytest.mark.parametrize(("network", "latent"), NETWORKS[:3])
def test_what_is_kept_of_a_descent_comes_back_from_disk(network, latent):
    plan = descent(network, latent)
    retained = DescentRelease(question=plan, weights=weights_of(plan))
    about, arrays = store.pack([retained])
    (again,) = store.unpack(json.loads(json.dumps(about)), arrays)
    assert again.question.sizes == plan.sizes
    assert again.question.shares.tolist() == plan.shares.tolist()
    assert all(np.array_equal(a, b) for a, b in zip(again.weights, retained.weights, strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"network": "deep"}, "networks"), ({"clip": 0.0}, "clip"), ({"rate": 0.1}, "whole part"), ({"steps": 0}, "step")],
)
def test_a_descent_without_sense_is_no_question(change, message):
    given = {"network": "critic", "latent": 0, "clip": 0.5, "sigma": 1.0, "rate": 1.0, "steps": 3} | change
    with pytest.raises(ValueError, match=message):
        descent(**given)


def teachers(count=4, most=6, sigma=10.0):
    table = np.random.default_rng(3).normal(size=(sum(SIZES), 8))
    return Teachers(purpose="v", bins=BINS, table=table, teachers=count, most_rows=most, sigma=sigma)


def counted(plan, codes, rounds=3):
    """Votes of several rounds, with draws that neighbouring tables share and no noise."""
    results, noise = votes.Classes(), Counted()
    question = Votes(teachers=plan, lessons=EVERY[:4], asked=EVERY, moves=5)
    return np.stack([results.answer(question, rows_of(codes), noise).values for _ in range(rounds)])


def test_a_row_moves_each_count_of_votes_by_at_most_one():
    """All rows that may come, and all that may replace the last: one teacher changes its mind about anything it
    likes, and no other does."""
    worst = 0
    for seed in range(3):
        table = EVERY[np.random.default_rng(seed).integers(0, 6, 20)]
        before = counted(teachers(12), table)
        for row in EVERY:
            after, replaced = counted(teachers(12), [*table, row]), counted(teachers(12), [*table[:-1], row])
            assert np.abs(after - before).max() <= 1
            assert np.abs(replaced - before).max() <= 1
            worst = max(worst, np.abs(after - before).max(), np.abs(replaced - before).max())
    assert worst == 1


def test_three_rows_of_a_person_move_a_count_by_more_than_one_and_at_most_three():
    rng = np.random.default_rng(5)
    table, worst = EVERY[rng.integers(0, 6, 20)], 0
    for row in EVERY:
        shifted = np.abs(counted(teachers(12), [*table, row, row, row]) - counted(teachers(12), table)).max()
        assert shifted <= 3
        worst = max(worst, shifted)
    assert worst > 1
    adjacency = Adjacency(relation=Relation.REPLACE_ONE, unit="p", max_rows=3)
    assert votes.sensitivity(adjacency) == 3.0


def test_every_vote_is_paid_for():
    """Each row asked about is a Gaussian count; the round after the last that the budget allows is refused."""
    mu = calibrate(1.0, 1e-5)
    plan = teachers(sigma=np.nextafter((6 * 2) ** 0.5 / mu, np.inf))
    door = session()
    question = Votes(teachers=plan, lessons=EVERY, asked=EVERY, moves=1)
    for _ in range(2):
        door.ask(question)
    assert door.epsilon_derived == pytest.approx(1.0, abs=1e-6)
    assert door.epsilon_derived <= 1.0
    with pytest.raises(BudgetError):
        door.ask(question)


def test_rates_are_drawn_exactly():
    """A rate is a whole part of 2^32, the range from which each row's draw comes."""
    assert (whole_rate(0.02) * RATES).is_integer()
    assert whole_rate(1e-12) == 1 / RATES
    assert whole_rate(1.0) == 1.0
