"""dp_ctgan, dp_vae and pate_gan: what they spend, what they keep, what they refuse."""

import json

import numpy as np
import pytest
import torch
from scipy import stats

import synth
from synth.errors import UsageError
from synth.generators import GENERATORS
from synth.generators.method import with_options
from synth.generators.papers.teachers import Student
from synth.mechanisms.votes import Classes
from synth.numeric.networks import Autoencoder, arrays, critic, load, one_hot, start, straighten, zeroed
from synth.pipeline.plan import plan
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.noise import SystemNoise
from synth.questions import DescentRelease, Votes
from synth.release import folder
from tests.conformance.measuring import measured
from tests.conftest import SMALL, small_frame

QUICK = {"dp_ctgan": {"steps": 5}, "dp_vae": {"steps": 5}, "pate_gan": {"rounds": 3, "features": 32}}
SCHEMA = synth.Schema.parse(SMALL)


def made(name, *, epsilon=1.0, rows=500, options=None, **more):
    given = {**QUICK[name], **(options or {})}
    return synth.run(
        small_frame(rows),
        schema=SCHEMA,
        epsilon=epsilon,
        delta=1e-5,
        method=name,
        dataset="d",
        options=given,
        seed=1,
        **more,
    )


@pytest.mark.parametrize("name", QUICK)
def test_what_is_spent_is_what_was_asked_to_a_millionth(name, tmp_path):
    """Accountant and ledger agree, and the card derives it again from the stored events."""
    result = made(name, out=tmp_path / "r", num_rows=50)
    assert result.epsilon_spent == 1.0
    assert 1.0 - 1e-6 < result.epsilon_derived <= 1.0
    assert synth.Ledger().summary("d")[0].epsilon == 1.0
    results = synth.check(json.loads((tmp_path / "r" / "card.json").read_text()))
    assert results.epsilon == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", QUICK)
def test_persons_and_learnt_facts_are_paid_within_the_same_budget(name):
    """Two rows a person, and categories that the schema leaves out: still within, and not far below."""
    frame = small_frame(400)
    frame["id"] = [f"P{i // 3}" for i in range(len(frame))]
    result = synth.run(
        frame,
        schema=SCHEMA,
        epsilon=1.0,
        delta=1e-5,
        method=name,
        dataset="d",
        options=QUICK[name],
        unit="id",
        max_rows=2,
        num_rows=30,
    )
    assert 1.0 - 1e-6 < result.epsilon_derived <= 1.0
    plain = {k: dict(v) for k, v in SMALL["columns"].items()}
    del plain["region"]["categories"]
    short = synth.Schema.parse({**SMALL, "columns": plain}, complete=False)
    result = synth.run(
        frame,
        schema=short,
        epsilon=1.0,
        delta=1e-5,
        method=name,
        dataset="e",
        options=QUICK[name],
        learn_share=0.1,
        num_rows=30,
        separate=True,
    )
    assert 0.95 < result.epsilon_derived <= 1.0


@pytest.mark.parametrize("name", ["dp_ctgan", "dp_vae"])
def test_more_noise_than_a_lattice_of_gradients_bears_is_no_error(name):
    """A tiny epsilon and large samples: nothing can be learnt, and the run ends all the same."""
    result = made(name, epsilon=0.01, rows=300, options={"steps": 20, "rate": 0.5}, num_rows=20)
    assert 0.01 * (1 - 1e-6) < result.epsilon_derived <= 0.01


@pytest.mark.parametrize("name", QUICK)
def test_a_refit_is_free_and_draws_from_the_same_training(name, tmp_path):
    first = made(name, out=tmp_path / "r", num_rows=200)
    again = synth.app_api.refit(tmp_path / "r", seed=1, num_rows=200)
    assert again.epsilon_spent == 0.0
    assert again.frame.equals(first.frame)


def test_a_training_is_fitted_by_its_own_method_alone(tmp_path):
    made("dp_vae", out=tmp_path / "r", num_rows=20)
    with pytest.raises(UsageError, match="the method that asked"):
        synth.app_api.refit(tmp_path / "r", method="dp_ctgan")
    with pytest.raises(UsageError, match="cannot be fitted"):
        synth.app_api.refit(tmp_path / "r", method="pate_gan")


def test_what_is_stored_is_weights_and_no_gradient(tmp_path):
    """The release holds counts and one array for each of the network's parts, whatever the number of steps."""
    made("dp_vae", out=tmp_path / "r", num_rows=20)
    retained = [r for r in folder.load_release(tmp_path / "r").releases if isinstance(r, DescentRelease)]
    assert [len(r.weights) for r in retained] == [8]


def test_the_autoencoder_learns_what_belongs_together():
    """At a generous epsilon ages differ between ill and well, which columns drawn alone would not show."""
    few = synth.Schema.parse({"target": "ill", "columns": {n: SMALL["columns"][n] for n in ("age", "sex", "ill")}})
    options = {"steps": 60, "rate": 0.1, "learning_rate": 0.02, "hidden": 32, "groups": 8}
    table = synth.run(
        small_frame(4000),
        schema=few,
        epsilon=15.0,
        delta=1e-5,
        method="dp_vae",
        dataset="d",
        options=options,
        seed=1,
        num_rows=4000,
    ).frame
    ages = table.assign(age=table["age"].astype(float)).groupby("ill")["age"].mean()
    assert ages["yes"] - ages["no"] > 8


def test_a_flow_of_latent_draws_is_trained_with_the_rest_kept_and_drawn_from_again(tmp_path):
    """One training, one price, one refit; splines of a single number are refused in words."""
    first = made("dp_vae", out=tmp_path / "r", num_rows=200, options={"splines": 2})
    assert 1.0 - 1e-6 < first.epsilon_derived <= 1.0
    assert synth.app_api.refit(tmp_path / "r", seed=1, num_rows=200).frame.equals(first.frame)
    with pytest.raises(UsageError, match=r"options\.latent=1"):
        with_options(GENERATORS["dp_vae"], {"splines": 1, "latent": 1})


def test_the_bound_with_splines_is_that_of_the_latent_density_which_they_draw_from():
    """-log p(row | z) - log p(z) + log q(z | row), the density at z by the splines' own Jacobian; zero weights in the
    last layers leave draws as they are."""
    net, plain = (zeroed(Autoencoder([3, 2], hidden=5, latent=2, splines=n)) for n in (2, 0))
    start(net, rng=np.random.default_rng(3))
    row, draw = torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0]]), torch.tensor([[0.3, -1.2]])
    mean, spread = net.encoder(row).split(2, dim=1)
    z = mean + draw * torch.exp(spread / 2)
    turn = torch.autograd.functional.jacobian(lambda x: net.splines()(x)[0], z)[:, 0]
    normal = torch.distributions.Normal(0.0, 1.0)
    latent = normal.log_prob(net.splines()(z)).sum() + torch.linalg.slogdet(turn)[1]
    posterior = torch.distributions.Normal(mean, torch.exp(spread / 2)).log_prob(z).sum()
    rows = torch.cat([h.log_softmax(1) for h in net.decoder(z).split([3, 2], dim=1)], dim=1)
    assert abs(turn[0, 1]) + abs(turn[1, 0]) > 1e-3
    assert net.losses(row, draw).item() == pytest.approx((posterior - latent - (rows * row).sum()).item(), abs=1e-4)
    assert torch.allclose(net.splines()(net.splines().inv(draw)), draw, atol=1e-4)
    straighten(net.splines)
    load(plain, arrays(net)[-8:])
    assert torch.allclose(net.distributions(draw), plain.distributions(draw), atol=1e-5)


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_a_plan_names_the_training_and_its_noise(name, relation):
    result = plan(SCHEMA, rows=1000, epsilon=1.0, delta=1e-5, method=name, relation=relation)
    assert result.error_one_way > 0
    last = result.steps[-1]
    assert last.purpose in ("critic", "autoencoder", "votes")
    assert last.sigma_least > 0
    assert last.cells > 0


def test_more_teachers_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr("synth.mechanisms.votes.HELD", 1000)
    with pytest.raises(synth.SynthError, match="choose fewer"):
        made("pate_gan", num_rows=10)


def test_pate_gans_student_learns_shares_of_votes_and_no_labels(monkeypatch):
    """What it is told are noisy votes by teachers, no whole numbers; told 0.3 of a row it comes to say 0.3 of it. The
    votes' noise is what spends the budget: of no rows they are nothing else."""
    told, asked = [], Student.note
    monkeypatch.setattr(Student, "note", lambda *given: (told.append(given[2]), asked(*given)))
    releases, _, door = measured("pate_gan", epsilon=15.0)
    shares, plan = np.concatenate(told), releases[-1].question
    assert 14.9 < epsilon_of(door.events, 1e-5) <= 15.0
    none, rows = {b.column: np.zeros(0, dtype=np.int64) for b in plan.bins}, np.zeros((100, len(plan.bins)), dtype=int)
    votes = Classes().answer(Votes(teachers=plan, lessons=rows, asked=rows, moves=1), none, SystemNoise()).values
    assert 1e-9 < stats.chi2.cdf(votes @ votes / plan.sigma**2, 100) < 1 - 1e-9
    assert np.mean(np.abs(shares - np.rint(shares)) > 0.02) > 0.8
    rng, rows = np.random.default_rng(0), np.array([[0, 0], [2, 1]])
    student = Student([3, 2], hidden=8, rng=rng)
    asked(student, rows, np.array([0.3, 0.7]))
    for _ in range(300):
        student.learn(rng)
    taken = torch.sigmoid(student.network(one_hot(rows, [3, 2])))
    assert taken.detach().numpy() == pytest.approx([0.3, 0.7], abs=0.05)


def test_a_network_starts_alike_everywhere():
    """Initial weights are public: drawn from the generator that is handed in, never from torch's own."""
    one, two = (critic([3, 2], hidden=4) for _ in range(2))
    for made_ in (one, two):
        start(made_, rng=np.random.default_rng(5))
    assert all(np.array_equal(a.detach(), b.detach()) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_the_share_of_the_one_ways_is_spent_to_the_last_part():
    """So that the noise of what follows is fixed before any row is read."""
    releases, setting, curator = measured("dp_vae", epsilon=1.0)
    before = [e for e in curator.events if e.kind == "gaussian"]
    mu2 = sum(e.mu2 for e in before)
    assert mu2 == pytest.approx(0.3 * setting.mu**2, rel=1e-7)
    assert mu2 <= 0.3 * setting.mu**2 * (1 + 1e-12)
    assert epsilon_of(before, 1e-5) < 0.6
    assert releases[-1].question.sigma > 0
