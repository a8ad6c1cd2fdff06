"""The survey's families: what they learn, what they spend without one-ways, and what a refit of them draws."""

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import UsageError
from synth.generators import GENERATORS
from synth.generators.base import Run
from synth.generators.method import with_options
from synth.generators.papers.dp_sgd import apart, group_drawn
from synth.numeric import networks
from synth.numeric.networks import zeroed
from synth.numeric.row_models import Denoiser, Flow, Transport
from synth.pipeline.plan import plan
from synth.questions import Counts, CountsRelease, Nearest, NearestRelease
from synth.release import folder
from tests.conformance.measuring import QUICK
from tests.conftest import SMALL, small_frame
from tests.evil_twins import Silent
from tests.unit.generators.helpers import fitted, measured, paid

SCHEMA = synth.Schema.parse(
    {"target": "ill", "columns": {n: SMALL["columns"][n] for n in ("age", "sex", "region", "ill")}}
)
DESCENDING = ["dp_flow", "dp_diffusion", "dp_sinkhorn", "private_set"]
LEARNING = {
    "private_evolution": ({"rounds": 3}, 6),
    "dp_flow": ({"steps": 40, "rate": 0.1, "hidden": 16, "groups": 6, "learning_rate": 0.02}, 6),
    "dp_diffusion": ({"steps": 40, "rate": 0.1, "hidden": 16, "groups": 6, "learning_rate": 0.02}, 4),
    "private_set": ({"steps": 40, "rate": 0.1, "rows": 40, "groups": 6}, 4),
}


def made(name, *, epsilon=2.0, rows=400, options=None, **more):
    return synth.run(
        small_frame(rows),
        schema=SCHEMA,
        epsilon=epsilon,
        delta=1e-5,
        method=name,
        dataset="d",
        options={**QUICK[name], **(options or {})},
        seed=1,
        **more,
    )


@pytest.mark.parametrize("name", LEARNING)
def test_a_family_learns_what_belongs_together(name):
    """At a generous epsilon the ill are older, by 20 years in the table; drawn alone they would differ by chance only.

    2,000 rows of either sort differ by 1 year by chance; the least gap asked for is four times that.
    """
    options, least = LEARNING[name]
    table = made(name, epsilon=10.0, rows=4000, options=options, num_rows=4000).frame
    ages = table.assign(age=table["age"].astype(float)).groupby("ill")["age"].mean()
    assert ages["yes"] - ages["no"] > least


@pytest.mark.parametrize("name", ["private_evolution", "dp_sinkhorn"])
@pytest.mark.parametrize("relation", ["add_remove", "zero_out"])
def test_without_one_ways_the_row_count_alone_is_asked_for(name, relation, tmp_path):
    """And not even that where it is public; the budget goes to the rest, and is spent whole."""
    result = made(name, options={"oneway_share": 0}, relation=relation, num_rows=20, out=tmp_path / "r")
    asked = [r for r in folder.load_release(tmp_path / "r").releases if isinstance(r, CountsRelease)]
    assert [m.cells for r in asked for m in r.question.marginals] == ([1] if relation == "add_remove" else [])
    assert 2.0 - 1e-4 < result.epsilon_derived <= 2.0
    assert set(result.frame["sex"]) <= {"f", "m"}


@pytest.mark.parametrize("name", DESCENDING[1:2])
def test_a_refit_is_free_and_draws_from_the_same_training(name, tmp_path):
    first = made(name, out=tmp_path / "r", options={"oneway_share": 0}, num_rows=50)
    again = synth.app_api.refit(tmp_path / "r", seed=1, num_rows=50)
    assert again.epsilon_spent == 0.0
    assert again.frame.equals(first.frame)
    with pytest.raises(UsageError, match="the method that asked"):
        synth.app_api.refit(tmp_path / "r", method="private_set")


@pytest.mark.parametrize("name", ["dp_vae", *DESCENDING, "private_evolution"])
def test_a_share_too_small_to_count_by_is_refused(name):
    assert with_options(GENERATORS[name], {"oneway_share": 0}).oneway_share == 0
    with pytest.raises(UsageError, match=r"`options.oneway_share=0\.001`.*0 asks for no single columns"):
        with_options(GENERATORS[name], {"oneway_share": 0.001})


TAUGHT = {"rounds": 150, "asked": 20, "features": 32, "rows_each": 40, "generator_rate": 0.002}
GIVEN = {
    "gs_wgan": TAUGHT,
    "datalens": {**TAUGHT, "kept": 2, "agreed": 0.3},
    "g_pate": {**TAUGHT, "coordinates": 4},
    "dp_sinkhorn": {"steps": 60, "rate": 0.3, "rows": 16, "generator_rate": 0.01},
}


def test_a_plan_tells_that_training_takes_its_time():
    """Seconds grow with the steps; methods that are not trained take what they took."""
    few, many = (
        plan(SCHEMA, rows=20_000, epsilon=1.0, delta=1e-5, method="dp_diffusion", options={"steps": steps}).seconds
        for steps in (50, 500)
    )
    assert many > 5 * few > 5
    assert plan(SCHEMA, rows=20_000, epsilon=1.0, delta=1e-5, method="private_evolution").seconds < few


@pytest.mark.parametrize("name", GIVEN)
def test_generators_follow_the_pulls_on_their_rows(name):
    """Without noise, which would drown so few rows' pulls, columns that always agree come to agree more often than by
    chance (.5; among the model's 2,000 distributions chance differs by .02)."""
    schema = synth.Schema.parse({"columns": {n: {"type": "categorical", "categories": ["0", "1"]} for n in "ab"}})
    codes = np.arange(2000) % 2
    method = with_options(GENERATORS[name], GIVEN[name])
    releases, setting, _ = measured(method, {"a": codes, "b": codes}, schema, epsilon=5.0, noise=Silent())
    model = fitted(method, releases, setting)
    drawn_rows = model.sample(4000, rng=np.random.default_rng(0))
    assert (drawn_rows["a"] == drawn_rows["b"]).mean() > 0.6


def test_what_evolves_depends_on_the_votes_told_alone():
    """The same answers, by hand: the same questions, whatever the rows behind them; other answers, others."""
    setting = paid(SCHEMA, {"age": np.zeros(9)})[1]

    def asked(seed):
        rng, seen = np.random.default_rng(seed), []

        def ask(question):
            if isinstance(question, Counts):
                values = tuple(np.full(m.shape, 100, dtype=np.int64) for m in question.marginals)
                return CountsRelease(question=question, values=values)
            assert isinstance(question, Nearest)
            seen.append(question.candidates)
            return NearestRelease(question=question, values=rng.integers(0, 100, len(question.candidates)))

        GENERATORS["private_evolution"].measure(Run(ask, setting))
        return seen

    one, same, other = asked(0), asked(0), asked(1)
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert np.array_equal(one[0], other[0])
    assert not all(np.array_equal(a, b) for a, b in zip(one[1:], other[1:], strict=True))


def test_candidates_find_what_two_numbers_say_together():
    """Alone neither tells the class: of rows drawn independently half would fit, of 4,000 .03 more or less by chance.

    A number may lack its value, as often as in the table.
    """
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 100, size=(2, 4000))
    table = pd.DataFrame({"x": x, "y": y, "same": np.where((x < 50) == (y < 50), "yes", "no")}).astype(str)
    table.loc[rng.random(4000) < 0.2, "x"] = "?"
    number = {"type": "integer", "min": 0, "max": 99}
    columns = {
        "x": {**number, "missing": ["?"]},
        "y": number,
        "same": {"type": "categorical", "categories": ["no", "yes"]},
    }
    schema = synth.Schema.parse({"target": "same", "columns": columns})
    made = synth.run(
        table, schema=schema, epsilon=5.0, delta=1e-5, method="private_evolution", dataset="d", seed=0
    ).frame
    known = made.dropna()
    fits = (known["x"].astype(int) < 50) == (known["y"].astype(int) < 50)
    assert (fits == (known["same"] == "yes")).mean() > 0.75
    assert abs(made["x"].isna().mean() - 0.2) < 0.03


def test_a_flow_of_zeros_is_the_table_of_independent_columns():
    """Drawn at normal draws, groups have the shares that it was told (20,000 draws, 5 deviations)."""
    shares = np.array([0.5, 0.3, 0.2, 0.9, 0.1])
    flow = zeroed(Flow([3, 2], hidden=4, knots=3, shares=shares))
    import torch

    codes = flow.codes(torch.from_numpy(np.random.default_rng(0).standard_normal((20_000, 2)).astype(np.float32)))
    result = np.concatenate([np.bincount(c, minlength=s) for c, s in zip(codes.T, (3, 2), strict=True)]) / 20_000
    assert np.abs(result - shares).max() < 5 * 0.5 / np.sqrt(20_000)


def test_a_denoisers_loss_is_the_mean_of_its_copies():
    """Of one copy each, blanked alike: so that its gradient is averaged before it is clipped."""
    import torch

    made_, rng = zeroed(Denoiser([3, 2], hidden=4, copies=2)), np.random.default_rng(0)
    networks.start(made_, rng=rng)
    alone = Denoiser([3, 2], hidden=4, copies=1)
    networks.load(alone, networks.arrays(made_))
    rows = networks.one_hot(np.array([[0, 1], [2, 0]]), [3, 2])
    draws = torch.from_numpy(rng.standard_normal((2, 6)).astype(np.float32))
    one, two = alone.losses(rows, draws[:, :3]), alone.losses(rows, draws[:, 3:])
    assert torch.allclose(made_.losses(rows, draws), (one + two) / 2)


def test_a_transports_gradient_by_the_prices_is_its_plan():
    """Each row's plan sums to one, and goes to the rows that are near; by the rows it is the plan's pull."""
    import torch

    made_ = zeroed(Transport(4, count=3, blur=0.1))
    networks.load(made_, [np.eye(4, dtype=np.float32)[:3], np.zeros(3, dtype=np.float32)])
    row = torch.eye(4)[1:2]
    pull, plan = torch.autograd.grad(made_(row, row).sum(), list(made_.parameters()))
    assert -plan.sum().item() == pytest.approx(1.0, abs=1e-6)
    assert -plan[1].item() > 0.99
    assert torch.allclose(pull, -plan[:, None] * (made_.rows - row), atol=1e-6)


def test_gradients_that_point_alike_are_not_apart():
    import torch

    one = (torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.zeros(2))
    assert apart(one, [3 * one[0], torch.ones(2)]).item() == pytest.approx(0.0, abs=1e-6)
    assert apart(one, [-one[0], torch.ones(2)]).item() == pytest.approx(4.0, abs=1e-6)


def test_drawn_groups_follow_their_chances():
    chances = np.tile([0.2, 0.0, 0.8], (20_000, 1))
    result = np.bincount(group_drawn(chances, np.random.default_rng(0)), minlength=3) / 20_000
    assert result[1] == 0
    assert abs(result[0] - 0.2) < 5 * 0.4 / np.sqrt(20_000)
