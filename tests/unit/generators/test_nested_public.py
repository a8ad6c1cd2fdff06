"""Public related tables beside noisy answers: believed where the answers bear them out, and nowhere else."""

from dataclasses import replace

import numpy as np
import pytest

from synth.generators.base import Run
from synth.generators.core.columns import PRIOR_LEAVES
from synth.generators.core.related import Nested
from synth.generators.core.related_questions import TABLES
from synth.generators.core.related_tables import Grain, learn_tables, pooled_views, shrunk
from synth.mechanisms import linked
from synth.pipeline.budget import setting
from synth.pipeline.methods import granted
from synth.pipeline.priors import Encoded
from synth.pipeline.rehearsal import made_up
from synth.pipeline.schema_approval import adjacency_of
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import Relation
from synth.questions import LinkedRelease, PublicLinked
from synth.sources.rows.forest import Forest
from tests.unit.generators.helpers import related

FOUR = {"type": "categorical", "categories": list("abcd")}
SCHEMA = related({"y": FOUR, "w": FOUR}, root={"x": FOUR, "v": FOUR}, most=4)


def alike(roots, seed, *, permuted=False):
    """Children repeat a column of the root in nine of ten rows; ``permuted``: each column shuffled by itself."""
    forest, rng = made_up(SCHEMA, roots), np.random.default_rng(seed)
    root, branch = forest["p"], forest["c"]
    same = rng.random(len(branch.parent)) < 0.9
    y = np.where(same, root.columns["x"][branch.parent], rng.integers(0, 4, len(same)))
    columns = {"y": rng.permutation(y) if permuted else y, "w": rng.integers(0, 4, len(same))}
    return forest.with_branch("c", replace(branch, columns=columns))


def trees(forest: Forest) -> Encoded:
    return Encoded(name="public", sha256="0" * 64, rows=forest, root="p", reason="published")


def asked(prior, *, roots=2_000):
    """The answers of a run with a public forest, as ``fit`` divides them."""
    grant = granted(3.0, 1e-6, adjacency_of(SCHEMA, Relation.ADD_REMOVE), learning=False)
    given = replace(setting(SCHEMA, grant, public_rows=None), priors=(trees(prior),))
    noise, forest = SeededNoise(3), alike(roots, 0)
    answers = Nested().measure(Run(lambda q: linked.answer(q, forest, noise), given))
    publics = [r for r in answers if isinstance(r, PublicLinked)]
    counted = pooled_views([r for r in answers if isinstance(r, LinkedRelease)], TABLES)
    return counted, publics, learn_tables([*counted, *publics], SCHEMA, given, noise=0.0, grain=Grain()), forest


def off(releases, forest):
    """Mean squared error of tables across and of siblings."""
    gaps = []
    for release in (r for r in releases if r.question.purpose == TABLES):
        exact = linked.exact(release.question, forest)
        for marginal, values, truth in zip(release.question.marginals, release.values, exact, strict=True):
            if "c/y" in marginal.columns and len(marginal.bins) == 2:
                gaps.append(np.mean((values - truth.reshape(marginal.shape) / linked.UNIT) ** 2))
    return float(np.mean(gaps))


def test_a_fair_prior_brings_tables_nearer_to_the_truth():
    counted, publics, result, forest = asked(alike(20_000, 1))
    alone, _ = shrunk(counted, [], SCHEMA, result, TABLES)
    beside, sure = shrunk(counted, publics, SCHEMA, result, TABLES)
    assert off(beside, forest) < 0.8 * off(alone, forest)
    parts = [one.part for at, one in sure.items() if at[2] == ("c/y", "p/x")]
    assert len(parts) == 1
    assert np.all(np.asarray(parts[0]) < 0.8)


def test_a_permuted_prior_has_no_weight():
    counted, publics, result, _ = asked(alike(20_000, 1, permuted=True))
    alone, _ = shrunk(counted, [], SCHEMA, result, TABLES)
    beside, sure = shrunk(counted, publics, SCHEMA, result, TABLES)
    related = [at for at in sure if set(at[2]) >= {"c/y", "p/x"}]
    assert related
    assert all(sure[at].part == 1.0 for at in related)
    for one, other in zip(alone, beside, strict=True):
        for a, b, m in zip(one.values, other.values, one.question.marginals, strict=True):
            if m.columns in {at[2] for at in related}:
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("missing", [set(), {"y"}])
def test_public_counts_are_those_of_the_public_trees(missing):
    """Exact, in roots, for every question of a run; of a column that they lack zeros, and its name."""
    forest = alike(500, 2)
    branch = forest["c"]
    held = {n: p for n, p in branch.columns.items() if n not in missing}
    _, publics, _, _ = asked(forest.with_branch("c", replace(branch, columns=held)))
    assert {p.question.view for p in publics} == {"rows", "siblings"}
    assert {p.question.purpose for p in publics} == {PRIOR_LEAVES, TABLES}
    for one in publics:
        assert one.num_rows == 500
        assert {n.split("/")[1] for n in one.missing} <= missing
        exact = linked.exact(one.question, forest)
        for marginal, values, truth in zip(one.question.marginals, one.values, exact, strict=True):
            lacking = set(marginal.columns) & set(one.missing)
            np.testing.assert_array_equal(values.reshape(-1), 0 if lacking else truth / linked.UNIT)
