"""Laws that all methods of the embedding family keep: exact expectations, whole budget, any table."""

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from synth.errors import BudgetError
from synth.generators.method import with_options
from synth.generators.papers.columns import OneWays
from synth.generators.papers.dp_kernel import DPKernel
from synth.generators.papers.embeddings import FourierDistance, GradientDistance, TensorDistance
from synth.generators.papers.kernels import path_distance
from synth.mechanisms import embeddings
from synth.mechanisms.functional import Functional
from synth.privacy.accounting.events import total_mu
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Relation
from synth.questions import EmbeddingRelease, FunctionalRelease
from synth.schema.table import parse
from tests.unit.generators.embedding_helpers import (
    CHAIN,
    ROWS,
    SMALL,
    chain,
    chances,
    every_row,
    fitted,
    measured,
    pair_error,
)


def soon(generator):
    """The method with few steps: for laws that hold after any number of them."""
    return with_options(generator, {"steps": 8})


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("name", SMALL)
def test_the_budget_is_spent_whole_and_not_exceeded(name, relation):
    _, _, curator = measured(SMALL[name], chain(500), relation=relation)
    assert curator.epsilon_derived <= 2.0
    assert total_mu(curator.events) > 0.99 * calibrate(2.0, 1e-5)


@pytest.mark.parametrize("name", SMALL)
def test_pairs_come_closer_than_by_independent_columns_and_single_columns_stay(name):
    """At epsilon 8 the error of pairs is less than 0.6 of what independent draws of each column have.

    They are 0.03 to 0.28. What was told carries the noise that spends the budget: of no rows it is nothing else.
    """
    releases, setting, curator = measured(SMALL[name], ROWS, epsilon=8.0)
    drawn = fitted(SMALL[name], releases, setting).sample(3000, rng=np.random.default_rng(0))
    rng = np.random.default_rng(1)
    alone = {n: rng.permutation(p) for n, p in ROWS.items()}
    assert pair_error(ROWS, drawn) < 0.6 * pair_error(ROWS, alone)
    for column in ("a", "c", "d"):
        gap = np.bincount(drawn[column], minlength=5) - np.bincount(ROWS[column], minlength=5)
        assert np.abs(gap).sum() / 2 < 0.03 * 3000, column
    with pytest.raises(BudgetError):
        curator.ask(releases[0].question)
    assert 0.99 * calibrate(8.0, 1e-5) < total_mu(curator.events) <= calibrate(8.0, 1e-5)
    asked, none = releases[-1].question, {n: p[:0] for n, p in ROWS.items()}
    if name in ("path", "gaussian"):
        gram = asked.kernel.gram(asked.points, asked.points) + asked.nugget * np.eye(len(asked.points))
        told = np.stack([Functional().answer(asked, none, SystemNoise()).values for _ in range(9)], axis=1)
        told = np.linalg.solve(np.linalg.cholesky(gram), told / asked.deviation).ravel()
    else:
        told = embeddings.answer(asked, none, SystemNoise()).values / asked.sigma
    assert 1e-9 < chi2.cdf(told @ told, len(told)) < 1 - 1e-9


@pytest.mark.parametrize("name", SMALL)
def test_same_releases_and_seed_make_the_same_model(name):
    generator = soon(SMALL[name])
    releases, setting, _ = measured(generator, chain(300))
    one, two = (fitted(generator, releases, setting, seed=3).state()[1] for _ in range(2))
    assert all(np.array_equal(one[k], two[k]) for k in one)


ODD = {
    "one column": {"a": {"type": "integer", "min": 0, "max": 9}},
    "constant": {"a": {"type": "categorical", "categories": ["x"]}, "b": {"type": "integer", "min": 5, "max": 5}},
    "two": {"a": {"type": "boolean", "categories": ["n", "y"]}, "b": {"type": "boolean", "categories": ["n", "y"]}},
    "huge range": {
        "a": {"type": "integer", "min": -(10**12), "max": 10**12},
        "b": {"type": "boolean", "categories": ["n", "y"]},
    },
    "many categories": {
        "a": {"type": "categorical", "categories": [f"c{i}" for i in range(3000)]},
        "b": {"type": "ordinal", "categories": ["l", "h"], "nullable": True},
    },
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize(
    ("target", "epsilon", "rows"),
    [
        ("a", 0.01, 1),
        (None, 8.0, 500),
        pytest.param(None, 0.01, 1, marks=pytest.mark.slow),
        pytest.param("a", 8.0, 500, marks=pytest.mark.slow),
    ],
)
def test_odd_tables_work_at_any_epsilon(kind, target, epsilon, rows):
    """Forms of a method beside its default, which tests/conformance has."""
    schema = parse({"target": target if target in ODD[kind] else None, "columns": ODD[kind]})
    rng = np.random.default_rng(0)
    places = {n: rng.integers(0, c.cells, rows) for n, c in schema.measured().items()}
    for name, generator in SMALL.items():
        releases, setting, _ = measured(soon(generator), places, schema, epsilon=epsilon)
        drawn = fitted(soon(generator), releases, setting).sample(20, rng=np.random.default_rng(0))
        for column, got in drawn.items():
            assert got.min() >= 0, name
            assert got.max() < schema.columns[column].cells, name


LOSSES = {
    "merf": FourierDistance,
    "pearl": FourierDistance,
    "hp": TensorDistance,
    "anova": TensorDistance,
    "conditional": TensorDistance,
    "ntk": GradientDistance,
    "path": None,
    "gaussian": None,
    "gradients": None,
}
SMOOTH = {"gradients": DPKernel(form="gaussian", gradients="joint", widths=2, anchors=40, steps=5)}


def _bins(question):
    if hasattr(question, "kernel"):
        return list(question.kernel.bins)
    return [b.bins for b in question.features.read]


@pytest.mark.parametrize("name", LOSSES)
def test_the_closed_form_distance_is_that_of_the_enumerated_mean_embedding(name):
    """Every possible row is listed, its features weighed by its probability: the loss is the squared distance of their
    sum to the released values, in units of the noise."""
    schema = parse({"target": "d", "columns": {n: CHAIN.columns[n].model_dump(exclude_none=True) for n in "acde"}})
    kernel = isinstance(result := (SMALL | SMOOTH)[name], DPKernel)
    generator = with_options(result, {} if kernel else {"oneway_share": 0.5})
    releases, setting, _ = measured(generator, {n: ROWS[n] for n in "acde"}, schema, epsilon=4.0)
    asked = [r for r in releases if isinstance(r, EmbeddingRelease | FunctionalRelease)]
    made = OneWays.of(releases, setting).asked(_bins(asked[0].question))
    distance = (
        path_distance(made, asked, device="cpu") if LOSSES[name] is None else LOSSES[name](made, asked[0], device="cpu")
    )
    rng = np.random.default_rng(2)
    share = rng.dirichlet(np.ones(3))
    parts = [rng.dirichlet(np.ones(len(m)), 3) for m in made.mass]
    tensors = [torch.tensor(p[None], dtype=torch.float32) for p in parts]
    reported = float(distance(torch.tensor(share[None], dtype=torch.float32), tensors))
    rows = every_row([made.bins(n) for n in made.groups])
    weight = made.total * chances(parts, share)
    assert reported == pytest.approx(_enumerated(asked, rows, weight, name), rel=2e-3)


def _enumerated(asked, rows, weight, name):
    question = asked[0].question
    if LOSSES[name] is None:
        kernel, more = question.kernel, {"gradients": question.gradients}
        points = np.concatenate([r.question.points for r in asked])
        gram = kernel.gram(points, points, **more)
        gram += question.nugget * np.eye(len(gram))
        reported = np.concatenate([r.values.reshape(len(r.values), -1) for r in asked])
        reported[:, 1:] *= getattr(kernel, "unit", 1.0)
        off = weight @ kernel.seen(kernel.coded(rows), points, **more) - reported.ravel()
        return off @ np.linalg.solve(gram, off) / question.deviation**2
    off = (weight @ question.features.of(rows) - asked[0].values) / question.sigma
    if name == "ntk":  # the second layer's gradients are next to nothing and left out
        features = question.features
        labels = features.label.width if features.label else 1
        off = off.reshape(labels, -1)[:, : features.weights.size]
    return float((off**2).sum())
