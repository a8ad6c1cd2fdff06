"""Where noise hides relations of related tables: what is asked then, and what a fit makes of the answers."""

from dataclasses import replace

import numpy as np
import pytest

from synth.generators.base import Fit, Run
from synth.generators.core.related import IndependentChildren, Nested, _margins_within
from synth.generators.core.related_fit import TreeOptions
from synth.generators.core.related_questions import TABLES, column_shares, evidence_of
from synth.generators.core.related_tables import Grain, apart, learn_tables, pooled_views
from synth.mechanisms import linked
from synth.pipeline.budget import setting
from synth.pipeline.methods import granted
from synth.pipeline.rehearsal import made_up
from synth.pipeline.schema_approval import adjacency_of
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import Relation
from synth.questions import Linked, LinkedRelease
from synth.schema.dataset import number_of
from tests.unit.generators.helpers import related

EIGHT = {"type": "categorical", "categories": list("abcdefgh")}
SCHEMA = related({"y": EIGHT, "w": EIGHT}, root={"x": EIGHT, "v": EIGHT}, most=4)
QUICK = Nested(options=TreeOptions(fits=2))


def released(method, forest, *, seed, epsilon=2.0):
    """Its answers about a forest, and its setting; noise from a seed."""
    noise = SeededNoise(seed)
    given = setting(
        SCHEMA,
        granted(epsilon, 1e-6, adjacency_of(SCHEMA, Relation.ADD_REMOVE), learning=False),
        public_rows=None,
    )
    answers = method.measure(Run(lambda q: linked.answer(q, forest, noise), given))
    return answers, given


def alike(forest):
    """The same forest with columns of children that repeat the root's: a strong relation, among siblings too."""
    branch = forest["c"]
    return forest.with_branch(
        "c", replace(branch, columns={"y": forest["p"].columns["x"][branch.parent], "w": branch.columns["w"]})
    )


def pairs(rows):
    """By kind tables of two columns of drawn or real rows, as shares."""
    up, down = rows["p"], rows["c"]
    own, parent = up[0], down[1]
    number = own[number_of("c")]

    def share(a, b):
        table = np.zeros((8, 8))
        np.add.at(table, (a, b), 1.0)
        return table / max(len(a), 1)

    near = np.flatnonzero(parent[1:] == parent[:-1])
    return {
        "root": share(own["x"], own["v"]),
        "number": share(own["x"], number),
        "child": share(down[0]["y"], down[0]["w"]),
        "across": share(down[0]["y"], own["x"][parent]),
        "siblings": share(down[0]["y"][near], down[0]["y"][near + 1]),
    }


def of_forest(forest):
    return pairs({t: (forest[t].columns, forest[t].parent) for t in ("p", "c")})


def errors(method, forest, *, seed):
    """By kind the total variation between a fitted model and the truth."""
    answers, given = released(method, forest, seed=seed)
    model = method.fit(answers, given, Fit(np.random.default_rng(seed)))
    (block,) = model.blocks(20_000, rng=np.random.default_rng(0))
    made = pairs({t: (rows.positions, rows.parent) for t, rows in block.items()})
    return {what: 0.5 * np.abs(made[what] - truth).sum() for what, truth in of_forest(forest).items()}


def test_no_relation_that_noise_hides_is_worse_than_with_independent_children():
    """1,500 roots without any relation. Tables of pairs that take the budget in any case are 1.1 to 1.7 times worse."""
    forest = made_up(SCHEMA, 1_500)
    results = [(errors(QUICK, forest, seed=s), errors(IndependentChildren(), forest, seed=s)) for s in range(2)]
    for what in results[0][0]:
        ours, floor = (np.mean([pair[i][what] for pair in results]) for i in (0, 1))
        assert ours < 1.15 * floor, what


def test_a_relation_that_stands_out_is_still_modelled():
    """1,500 roots of which every child repeats a column: independent children are far off."""
    forest = alike(made_up(SCHEMA, 1_500))
    ours, floor = errors(QUICK, forest, seed=0), errors(IndependentChildren(), forest, seed=0)
    assert ours["across"] < 0.8 * floor["across"]
    assert ours["siblings"] < 0.6 * floor["siblings"]


@pytest.mark.parametrize("roots", [30, 300, 3_000, 100_000])
@pytest.mark.parametrize("method", [QUICK, IndependentChildren()], ids=["mixture", "independent"])
def test_the_budget_is_spent_and_never_more(method, roots):
    """Scouts, tables and columns that are counted again together; 1 is all of mu squared."""
    forest, scale = made_up(SCHEMA, 100), roots / 100
    noise = SeededNoise(1)

    def ask(question):
        exact = linked.exact(question, forest)
        values = [
            scale * e.reshape(m.shape) / linked.UNIT + noise.gaussian_counts(m.shape, sigma=max(m.sigma, 1.0))
            for m, e in zip(question.marginals, exact, strict=True)
        ]
        return LinkedRelease(question=question, values=tuple(values))

    _, given = released(IndependentChildren(), forest, seed=0)
    answers = method.measure(Run(ask, given))
    spent = sum(given.share(m.sigma) for r in answers for m in r.question.marginals)
    assert 0.98 < spent <= 1


def test_columns_have_nearly_what_a_run_for_them_alone_gives_where_noise_hides_relations():
    """What is left lacks the first look alone; numbers of children, on which all counts of rows rest, lack nothing."""
    answers, given = released(Nested(), made_up(SCHEMA, 500), seed=0)
    alone, _ = released(IndependentChildren(), made_up(SCHEMA, 500), seed=0)
    had, due = column_shares(answers, given), column_shares(alone, given)
    assert had.keys() == due.keys()
    for place, share in due.items():
        assert had[place] > (1.0 if place == ("p", number_of("c")) else 0.75) * share, place


def test_margins_of_tables_of_two_columns_make_columns_more_exact():
    """A table about a child's rows and a column above it tells of the child's column, and of no other table's."""
    answers, _ = released(Nested(), made_up(SCHEMA, 2_000), seed=3)
    margins = _margins_within(answers, "c")
    assert {m.columns for m, _ in margins} == {("y",), ("w",)}
    assert len(margins) > 2
    assert all(values.shape == marginal.shape for marginal, values in margins)


def test_what_is_asked_twice_is_averaged_by_precision():
    answers, _ = released(QUICK, made_up(SCHEMA, 300), seed=0)
    tables = [r for r in answers if r.question.purpose == TABLES]
    again = [LinkedRelease(question=finer(r.question, 0.5), values=tuple(v + 5.0 for v in r.values)) for r in tables]
    whole = {(r.question.table, r.question.view): r for r in pooled_views([*tables, *again], TABLES)}
    views = {(r.question.table, r.question.view): r for r in pooled_views(tables, TABLES)}
    assert whole.keys() == views.keys()
    for view, one in views.items():
        for before, after, old, new in zip(
            one.values, whole[view].values, one.question.marginals, whole[view].question.marginals, strict=True
        ):
            np.testing.assert_allclose(after - before, 4.0)
            assert new.sigma == pytest.approx(old.sigma / np.sqrt(5))


def finer(question: Linked, factor: float) -> Linked:
    return replace(question, marginals=tuple(replace(m, sigma=m.sigma * factor) for m in question.marginals))


def test_evidence_finds_the_relations_that_are_there_and_no_others():
    for forest, there in ((made_up(SCHEMA, 2_000), set()), (alike(made_up(SCHEMA, 2_000)), {"p", "same"})):
        answers, given = released(Nested(), forest, seed=2)
        result = learn_tables(answers, SCHEMA, given, noise=0.0, grain=Grain())
        tables = pooled_views([r for r in answers if r.question.purpose == TABLES], TABLES)
        said = evidence_of(tables, SCHEMA, result, part=1.0)
        assert {about for (_, _, about), one in said.items() if one.seen} == there
        for release in tables:
            for i, one in apart(release, SCHEMA, result):
                np.testing.assert_allclose(one.off.sum(0), 0, atol=1e-6)
                assert one.drawn.shape == release.values[i].shape
                assert 0 <= one.part <= 1
