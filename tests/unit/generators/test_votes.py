"""Votes: what tables of few columns do not see of the rows' joint shape, and a model that is tilted by them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import cKDTree

import synth
from synth.errors import InputError
from synth.generators.core.product import Product, check_model
from synth.generators.core.votes import Votes
from synth.pipeline.prepare import Context
from synth.pipeline.request import RunRequest
from synth.pipeline.run import carry_out
from synth.privacy.noise import SeededNoise
from synth.questions import NearestRelease
from synth.release import folder
from tests.made import facts_of, number

NAMES, TOP = ["a", "b", "c", "d", "e"], 200
FACTS = facts_of(**{n: number(0, TOP, source="public") for n in NAMES})


def curve(rows, seed=0):
    """Rows on one curve through the cube: of two columns it fills the square, of all five hardly anything."""
    at = np.random.default_rng(seed).uniform(0, 2 * np.pi, rows)
    turns = {"a": (3, 0.0), "b": (4, 0.4), "c": (5, 1.1), "d": (7, 2.0), "e": (9, 0.7)}
    return pd.DataFrame({n: np.rint(TOP / 2 * (1 + np.sin(k * at + p))).astype(int) for n, (k, p) in turns.items()})


def even(rows):
    return pd.DataFrame({n: np.random.default_rng(i).integers(0, TOP + 1, rows) for i, n in enumerate(NAMES)})


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    place = tmp_path_factory.mktemp("votes")
    for name, rows in (("curve", curve(8000)), ("even", even(8000))):
        how = {"dataset": name, "ledger": place / "l", "out": place / name}
        request = RunRequest(epsilon=2.0, delta=1e-6, seed=0, **how)
        carry_out(request, synth.Schema.parse(FACTS), Context(rows=rows.astype(str), noise=SeededNoise(0)))
    return place


def rounds(release):
    return [r for r in folder.load_release(release).releases if isinstance(r, NearestRelease)]


def off(made):
    """How far a made row lies from the curve, on average, in a column's width."""
    return float(cKDTree(curve(100_000, seed=1)).query(np.stack([made[n] for n in NAMES], axis=1))[0].mean()) / TOP


def test_a_look_says_whether_votes_tell_anything(releases):
    """Of columns that stand alone one round is asked, of a curve all; together they take no more than their share."""
    assert len(rounds(releases / "even")) == 1
    told, setting = rounds(releases / "curve"), folder.load_release(releases / "curve").setting
    assert len(told) == 1 + Votes().rounds
    assert sum(setting.share(r.question.sigma) for r in told) <= Votes().share


def test_rows_lie_nearer_to_the_shape_that_pairs_do_not_show(releases):
    """Drawn by the votes they are off by less than two thirds of what rows of the same tables without votes are."""
    model = folder.load_model(releases / "curve").model
    pair = (model, replace(model, tilt=None))
    with_votes, without = (off(m.sample(4000, rng=np.random.default_rng(0))) for m in pair)
    assert with_votes < 2 / 3 * without, (with_votes, without)


def test_a_stored_model_draws_the_same_rows_and_a_damaged_one_is_refused(releases):
    model = folder.load_model(releases / "curve").model
    about, arrays = model.state()
    again = Product.from_state(about, arrays)
    drawn = [m.sample(500, rng=np.random.default_rng(3)) for m in (model, again)]
    assert all((drawn[0][n] == drawn[1][n]).all() for n in NAMES)
    assert len(model.sample(0, rng=np.random.default_rng(3))["a"]) == 0
    for name, array in (("tilt0.times", arrays["tilt0.times"][1:]), ("tilt.0.places", arrays["tilt.0.places"][1:])):
        with pytest.raises(InputError, match="model is damaged"):
            check_model(Product.from_state(about, {**arrays, name: array}))


def test_conditions_hold_and_their_probability_is_the_tilted_models(releases):
    model = folder.load_model(releases / "curve").model
    where = {"a": np.arange(0, 60)}
    assert (model.sample(800, rng=np.random.default_rng(1), where=where)["a"] < 60).all()
    many = model.sample(40_000, rng=np.random.default_rng(2))["a"]
    assert abs(model.probability(where) - (many < 60).mean()) < 0.02
