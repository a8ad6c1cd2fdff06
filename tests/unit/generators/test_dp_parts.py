"""Parts of the embedding family: features' norms, the adversary, points of a path, options that do not fit."""

import numpy as np
import pytest
import torch

from synth.errors import UsageError
from synth.generators.base import Run
from synth.generators.papers import kernels
from synth.generators.papers.columns import OneWays
from synth.generators.papers.dp_kernel import DPKernel
from synth.generators.papers.embeddings import DPHP, DPNTK, MAX_WEIGHT, DPMerf, Pearl, hermite
from synth.privacy.relation import Relation
from synth.questions import Embedding, EmbeddingRelease, FunctionalRelease
from synth.schema.table import parse
from tests.unit.generators.embedding_helpers import CHAIN, chain, measured, waves
from tests.unit.generators.helpers import fitted, paid

ROWS = chain(1500)


def released(generator, **more):
    releases, setting, _ = measured(generator, ROWS, **more)
    return next(r for r in releases if isinstance(r, EmbeddingRelease)), setting


def test_hermite_features_are_orthogonal_under_the_normal_law_and_of_norm_at_most_one():
    x = np.linspace(-8, 8, 4001)
    features = hermite(x, degree=3, decay=0.5)
    assert np.linalg.norm(features, axis=1).max() == pytest.approx(1.0)
    weight = np.exp(-(x**2) / 2) / np.exp(-(x**2) / 2).sum()
    inner = features.T @ (weight[:, None] * features)
    scaled = inner / np.outer(np.sqrt(np.diag(inner)), np.sqrt(np.diag(inner)))
    assert np.abs(scaled - np.eye(4)).max() < 1e-6
    assert np.diff(np.log(np.diag(inner))) == pytest.approx(np.log(0.5), abs=1e-6)


@pytest.mark.parametrize(
    "generator",
    [
        DPMerf(frequencies=50),
        Pearl(frequencies=50),
        DPHP(),
        DPKernel(),
        DPKernel(variant="conditional"),
        DPNTK(features=2000),
    ],
)
def test_features_fill_the_unit_ball(generator):
    """No row's norm passes one, and the largest is near one: no noise is wasted on room that nobody uses."""
    release, _ = released(generator)
    norms = np.linalg.norm(release.question.features.of(ROWS), axis=1)
    assert norms.max() <= 1 + 1e-9
    assert norms.max() > 0.9


def test_every_row_has_a_gradient_of_the_same_norm_before_scaling():
    """Mirrored units: half of them are active whatever the row, which the closed form rests on."""
    release, _ = released(DPNTK(features=2000))
    features = release.question.features
    x = np.hstack(
        [
            b.table[b.bins.groups[ROWS[b.bins.column]]]
            if b.bins.cells == len(b.bins.groups)
            else b.table[b.bins.groups[np.searchsorted(b.bins.starts, ROWS[b.bins.column], side="right") - 1]]
            for b in features.blocks
        ]
    )
    active = (x @ features.weights.T > 0).sum(1)
    assert set(active) == {len(features.signs) // 2}


def test_signed_features_are_noised_for_a_replaced_row_of_opposite_sign():
    """A replaced row moves signed features by up to 2, one-hot ones by sqrt(2): the shares of the budget say so."""
    signed, setting = released(DPMerf(frequencies=50), relation=Relation.REPLACE_ONE)
    plain, _ = released(DPKernel(), relation=Relation.REPLACE_ONE)
    assert not signed.question.features.non_negative_inner
    assert plain.question.features.non_negative_inner
    assert (2.0 / (signed.question.sigma * setting.mu)) ** 2 < 0.71
    assert (np.sqrt(2) / (plain.question.sigma * setting.mu)) ** 2 < 0.7


def test_the_adversary_moves_weight_to_what_is_missed_and_keeps_its_bound():
    values = np.zeros(80)
    values[:5] = 9.0  # five frequencies that no model can meet
    game = waves(np.full((2, 40), 0.5), values, sigma=1.0, speed=0.1)
    share, parts = torch.ones((1, 1)), [torch.full((1, 1, 2), 0.5)]
    for _ in range(50):
        game(share, parts)
    assert game.weight[:5].min() > 2 * game.weight[5:].max()
    assert game.weight.max() <= MAX_WEIGHT
    assert game.goal == pytest.approx(2 * float(game.weight.sum()))


def test_points_of_a_path_are_distinct_and_follow_from_earlier_answers_and_a_public_seed():
    """Answering the same values twice makes the same points: nothing else enters their choice."""
    generator = DPKernel(form="path", anchors=160)
    releases, setting, _ = measured(generator, ROWS)
    points = np.vstack([r.question.points for r in releases if isinstance(r, FunctionalRelease)])
    assert len(np.unique(points, axis=0)) == len(points) > 100
    asked = []

    def session(question):
        asked.append(question)
        return releases[len(asked) - 1]

    generator.measure(Run(session, setting))
    for mine, first in zip(asked, releases, strict=True):
        if isinstance(first, FunctionalRelease):
            assert np.array_equal(mine.points, first.question.points)
            assert mine.key == first.question.key


def test_a_conditional_embedding_has_the_label_in_every_term():
    release, _ = released(DPKernel(variant="conditional"))
    assert {t.blocks[-1].bins.column for t in release.question.features.terms} == {"d"}
    assert len(release.question.features.terms) == 4 + 6


def uneven(labels, rows=3000):
    """(schema, rows) of two columns and a label of so many values, the first of which two rows in three have."""
    rng = np.random.default_rng(3)
    columns = {n: {"type": "categorical", "categories": ["x", "y", "z"]} for n in "ab"}
    columns["d"] = {"type": "categorical", "categories": [f"l{i}" for i in range(labels)]}
    places = {n: rng.integers(0, 3, rows) for n in "ab"}
    return parse({"target": "d", "columns": columns}), places | {
        "d": np.maximum(np.arange(rows) % (3 * labels) - 2 * labels, 0)
    }


@pytest.mark.parametrize("labels", [2, 10])
def test_uneven_labels_keep_their_shares_and_many_share_their_rows_but_not_their_noise(labels):
    """Conditional and parallel: each label's cells are its own rows' and have the noise of two labels' cells."""
    sigmas = []
    for variant in ("conditional", "parallel"):
        schema, places = uneven(labels)
        generator = DPKernel(variant=variant)
        releases, setting, _ = measured(generator, places, schema, epsilon=10.0)
        release = next(r for r in releases if isinstance(r, EmbeddingRelease))
        features, sigma = release.question.features, release.question.sigma
        share = np.bincount(places["d"], minlength=labels) / len(places["d"])
        for term, part in zip(features.terms, features.parts, strict=True):
            seen = (release.values[part] / term.weight).reshape(-1, labels)
            off = seen.sum(0) - share * len(places["d"])
            assert np.abs(off).max() < 6 * sigma / term.weight * np.sqrt(len(seen))
        made = fitted(generator, releases, setting)
        assert [made.probability({"d": np.array([i])}) for i in range(labels)] == pytest.approx(share, abs=0.02)
        sigmas.append(sigma)
        two = measured(generator, uneven(2)[1], uneven(2)[0], epsilon=10.0)[0]
        assert sigma == pytest.approx(next(r for r in two if isinstance(r, EmbeddingRelease)).question.sigma)
    assert sigmas[0] == sigmas[1]


@pytest.mark.parametrize("more", [{}, {"form": "gaussian", "anchors": 60, "steps": 20}])
def test_a_parallel_model_keeps_its_classes_apart(more):
    """Each component belongs to one class."""
    generator = DPKernel(variant="parallel", **more)
    releases, setting, _ = measured(generator, ROWS)
    label = next(a for a in fitted(generator, releases, setting).axes if a.column == "d")
    assert set(np.unique(label.probs.max(1))) == {1.0}


def test_a_classs_own_distance_sees_its_points_alone_and_the_classes_add_up():
    """Points of two classes are orthogonal: the whole distance of a model is the sum of its classes' distances."""
    releases, setting, _ = measured(DPKernel(form="gaussian", variant="parallel", anchors=40), ROWS)
    paths = [r for r in releases if isinstance(r, FunctionalRelease)]
    kernel = paths[0].question.kernel
    made = OneWays.of(releases, setting).asked(kernel.bins)
    rng, label = np.random.default_rng(0), made.at("d")
    share = torch.tensor(made.mass[label][None], dtype=torch.float32)  # one component for each class
    parts = [torch.tensor(rng.dirichlet(np.ones(len(m)), 2)[None], dtype=torch.float32) for m in made.mass]
    parts[label] = torch.eye(2)[None]
    whole = float(kernels.GaussianDistance(made, paths, kernel, device="cpu")(share, parts))
    alone = [kernels.GaussianDistance(made, paths, kernel, device="cpu", within=c) for c in (0, 1)]
    each = [float(a(torch.ones((1, 1)), [p[:, c : c + 1] for p in parts])) for c, a in enumerate(alone)]
    assert sum(each) == pytest.approx(whole, rel=1e-3)
    assert sum(a.goal for a in alone) == sum(len(r.question.points) for r in paths)


def test_rows_of_the_gaussian_kernel_lie_in_the_unit_ball_and_classes_take_turns():
    releases, _, _ = measured(DPKernel(form="gaussian", variant="conditional", anchors=40, steps=5), ROWS)
    first = next(r for r in releases if isinstance(r, FunctionalRelease)).question
    rows = first.kernel.points(ROWS)[:, : first.kernel.smooth]
    assert 0.7 < np.linalg.norm(rows, axis=1).max() <= 1
    assert np.bincount(first.points[:, -1].astype(int)).min() >= 3, "ten points, but for rows drawn twice"


def test_what_a_gaussian_form_cannot_tell_is_refused_before_anything_is_asked(monkeypatch):
    wide = parse(
        {
            "columns": {
                "a": {"type": "categorical", "categories": [f"c{i}" for i in range(60)]},
                "b": {"type": "boolean", "categories": ["n", "y"]},
            }
        }
    )
    setting = paid(wide, {"a": np.zeros(9)}, epsilon=1.0)[1]

    def refused(**options):
        with pytest.raises(UsageError, match="option"):
            DPKernel(form="gaussian", **options).measure(Run(lambda _: pytest.fail("asked"), setting, print))

    refused(gradients="joint", anchors=40)
    monkeypatch.setattr(kernels, "MOST_COORDINATES", 50)
    refused()


@pytest.mark.parametrize(
    "bad",
    [
        DPKernel(variant="parallel", form="path"),
        DPKernel(gradients="joint"),
        DPKernel(form="path", gradients="joint"),
        DPNTK(order=2),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_asked(bad):
    with pytest.raises(UsageError, match="option"):
        measured(bad, ROWS)


def test_a_release_of_another_method_is_refused_in_words():
    releases, setting, _ = measured(DPMerf(frequencies=50), ROWS)
    with pytest.raises(UsageError, match="another kind"):
        fitted(DPHP(), releases, setting)


def test_one_embedding_is_asked_for_each_run():
    for generator in (DPMerf(frequencies=50), DPHP(), DPKernel(), DPNTK(features=1000)):
        releases, _, _ = measured(generator, ROWS, CHAIN)
        assert sum(isinstance(r.question, Embedding) for r in releases) == 1
