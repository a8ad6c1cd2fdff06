"""Conditional logits with the noisy tables, drawn in turn after all other columns; conditions on them hold as well."""

import json

import numpy as np
import pytest
from scipy.optimize import brentq

from synth.generators.core.conditionals import BASE, ConditionalLogit, draw_classes
from synth.generators.core.logits import ClassTable, fit_logit
from synth.generators.core.product import Product
from tests.unit.generators.helpers import mixture

ROWS = 20_000


def body():
    """Two components; a and b of three values, y of two."""
    a, y, b = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], [[0.8, 0.2], [0.4, 0.6]], [[0.6, 0.3, 0.1], [0.2, 0.4, 0.4]]
    return mixture(5000.0, [0.5, 0.5], a=a, y=y, b=b)


PULLS = {0: np.array([[0, 0], [0, 1.5], [0, -1.0]]), 2: np.array([[0, 0], [0, -0.5], [0, 2.0]])}


def with_conditionals(start=-0.3):
    return chain(ConditionalLogit(column="y", start=np.array([0.0, start]), pulls=PULLS))


def chain(*conditionals):
    model = body()
    return Product(total=model.total, weights=model.weights, axes=model.axes, conditionals=conditionals)


def chained():
    """First b given a, then y given both."""
    pull = np.array([[0, 2.0, -1], [0, 0, 0], [0, -1, 1.5]])
    return chain(
        ConditionalLogit(column="b", start=np.array([0, 0.2, -0.2]), pulls={0: pull}, base=1.0),
        *with_conditionals().conditionals,
    )


def together(start=-0.3):
    """y given a and b together: more than the sum of what each tells."""
    pull = np.stack([np.zeros((3, 3)), [[2.0, 0, -2], [-2, 0, 2], [0, 0, 0]]], axis=-1)
    return chain(ConditionalLogit(column="y", start=np.array([0.0, start]), pulls=PULLS, joint={(0, 2): pull}))


def exact(model):
    """P(a, b, y) under the conditionals' laws, each given what was drawn before it."""
    laws = {h.column: h for h in model.conditionals}
    out = np.zeros((2, 3, 3, 2))
    for z in range(2):
        first, y, second = (a.probs[[z]].astype(float) for a in model.axes)
        for a in range(3):
            given = laws["b"].probabilities(np.array([[a, 0, 0]]), second)[0] if "b" in laws else second[0]
            for b in range(3):
                chance = laws["y"].probabilities(np.array([[a, 0, b]]), y)[0]
                out[z, a, b] = model.weights[z] * first[0, a] * given[b] * chance
    return out.sum(0)


def table(rows):
    code = (rows["a"] * 3 + rows["b"]) * 2 + rows["y"]
    return np.bincount(code, minlength=18).reshape(3, 3, 2) / len(code)


@pytest.mark.parametrize("made", [with_conditionals, chained, together])
def test_rows_follow_the_heads_given_all_other_columns(made):
    """20,000 rows: no cell is further from its law than five standard deviations of independent draws."""
    model = made()
    results, law = table(model.sample(ROWS, rng=np.random.default_rng(0))), exact(model)
    assert np.abs(results - law).max() < 5 * np.sqrt(law * (1 - law) / ROWS).max()
    assert np.abs(table(body().sample(ROWS, rng=np.random.default_rng(0))) - law).max() > 0.02


def test_other_columns_are_what_they_were_without_it():
    law = exact(with_conditionals()).sum(2)
    plain = np.einsum("z,za,zb->ab", [0.5, 0.5], body().axes[0].probs, body().axes[2].probs)
    assert np.allclose(law, plain, atol=1e-6)


def test_many_rows_follow_them_too():
    """From a size on rows are drawn in blocks on all processors: the same law, no block like another."""
    model, many = chained(), 250_000
    rows = model.sample(many, rng=np.random.default_rng(6))
    law = exact(model)
    assert np.abs(table(rows) - law).max() < 5 * np.sqrt(law * (1 - law) / many).max()
    assert not np.array_equal(rows["y"][: 1 << 16], rows["y"][1 << 16 : 1 << 17])


@pytest.mark.parametrize("made", [with_conditionals, chained, together])
@pytest.mark.parametrize(
    "where",
    [
        {"y": np.array([1])},
        {"y": np.array([1]), "a": np.array([0, 2])},
        {"b": np.array([0, 2]), "y": np.array([0])},
        {"b": np.array([1])},
    ],
)
def test_a_condition_on_their_columns_is_exact(made, where):
    model = made()
    retained = np.ix_(*(where.get(c, np.arange(n)) for c, n in (("a", 3), ("b", 3), ("y", 2))))
    law = exact(model)[retained]
    rows = model.sample(ROWS, rng=np.random.default_rng(1), where=where)
    assert all(set(rows[c].tolist()) == set(p.tolist()) for c, p in where.items())
    result = table(rows)[retained]
    assert np.abs(result - law / law.sum()).max() < 0.02
    assert model.probability(where) == pytest.approx(law.sum(), abs=0.01)


def test_a_condition_that_hardly_a_row_meets_is_left_to_the_mixture():
    rare = ConditionalLogit(column="y", start=np.array([0.0, -12.0]), pulls=PULLS)
    plain, model = body(), chain(rare)
    rows = model.sample(100, rng=np.random.default_rng(2), where={"y": np.array([1])})
    assert rows["y"].tolist() == [1] * 100
    assert model.probability({"y": np.array([1])}) == plain.probability({"y": np.array([1])})


@pytest.mark.parametrize("made", [body, with_conditionals, chained, together])
def test_state_restores_the_heads(made):
    model = made()
    about, arrays = model.state()
    again = Product.from_state(json.loads(json.dumps(about)), arrays)
    one, two = (m.sample(500, rng=np.random.default_rng(3)) for m in (model, again))
    assert all(np.array_equal(one[c], two[c]) for c in one)


def agreeing(made=with_conditionals):
    """The law of a logit whose classes are as frequent as the mixture's, as one-ways and tables of one table are."""
    share = float(body().weights @ body().axes[1].probs[:, 1])
    start = brentq(lambda one: exact(made(one))[..., 1].sum() - share, -5, 5)
    return exact(made(start))


def seen_tables(law, sigma):
    """Exact tables of y with a and with b under a logit that the mixture does not have."""
    return [
        ClassTable(axes=(0,), bins=(np.arange(3),), mine=np.arange(2), values=law.sum(1), sigma=sigma),
        ClassTable(axes=(2,), bins=(np.arange(3),), mine=np.arange(2), values=law.sum(0), sigma=sigma),
    ]


def test_a_table_of_merged_classes_is_met_and_the_rest_left():
    """b's classes 1 and 2 in one bin: the pull is theirs together, and their ratio within a row stays."""
    plain = body()
    component, codes, _ = plain.codes(ROWS, rng=np.random.default_rng(7))
    own = plain.axes[2].probs[component].astype(float)
    alone = np.array([own[codes[:, 0] == a].sum(0) / ROWS for a in range(3)])
    goal = np.stack([alone[:, 0], alone[:, 1:].sum(1)], axis=1) + 0.02 * np.array([[1, -1], [-1, 1], [0, 0]])
    seen = ClassTable(axes=(0,), bins=(np.arange(3),), mine=np.array([0, 1, 1]), values=goal, sigma=1e-5)
    result = fit_logit("b", [seen], codes, own, [3, 2, 3], total=ROWS, base=1.0).probabilities(codes, own)
    table = np.array([result[codes[:, 0] == a].sum(0) / ROWS for a in range(3)])
    assert np.abs(np.stack([table[:, 0], table[:, 1:].sum(1)], axis=1) - goal).max() < 0.002
    odds = (result[:, 1] / result[:, 2]) / (own[:, 1] / own[:, 2])
    assert odds.std() < 1e-6 * odds.mean()


def test_the_fit_has_the_tables_it_was_given():
    """With hardly any noise the model's tables become the given ones; with a great deal they stay the mixture's."""
    plain = body()
    component, codes, _ = plain.codes(ROWS, rng=np.random.default_rng(4))
    own = plain.axes[1].probs[component].astype(float)
    law = agreeing()
    goal = law.sum(1) / law.sum((1, 2))[:, None] * np.bincount(codes[:, 0], minlength=3)[:, None] / ROWS
    apart = {}
    for sigma in (1e-5, 10.0):
        result = fit_logit("y", seen_tables(law, sigma), codes, own, [3, 2, 3], total=ROWS).probabilities(codes, own)
        table = np.stack([np.bincount(codes[:, 0], weights=result[:, c], minlength=3) for c in range(2)], axis=1) / ROWS
        apart[sigma] = np.abs(table - goal).max()
    assert apart[1e-5] < 0.002
    assert apart[10.0] > 0.03


def test_a_table_of_three_columns_is_met_where_tables_of_two_tell_nothing_of_it():
    """With hardly any noise the table of y with a and b is that of a logit that reads both together."""
    plain, law = body(), agreeing(together)
    component, codes, _ = plain.codes(ROWS, rng=np.random.default_rng(4))
    own = plain.axes[1].probs[component].astype(float)
    flat = codes[:, 0] * 3 + codes[:, 2]
    goal = (law / law.sum(2, keepdims=True)).reshape(9, 2) * np.bincount(flat, minlength=9)[:, None] / ROWS
    both = (np.arange(3), np.arange(3))
    larger = ClassTable(axes=(0, 2), bins=both, mine=np.arange(2), values=goal, sigma=1e-5)
    apart = []
    for tables in (seen_tables(law, 1e-5), [*seen_tables(law, 1e-5), larger]):
        result = fit_logit("y", tables, codes, own, [3, 2, 3], total=ROWS).probabilities(codes, own)
        made = np.stack([np.bincount(flat, weights=result[:, c], minlength=9) for c in range(2)], axis=1) / ROWS
        apart.append(np.abs(made - goal).max())
    assert apart[1] < 0.003
    assert apart[0] > 0.01


def test_classes_are_drawn_in_even_proportion():
    """Every class gets its share to within a row, and to within a few of each run of the order."""
    probs = np.repeat([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], 1000, axis=0)
    order = np.random.default_rng(4).permutation(1000)
    drawn = draw_classes(probs, np.random.default_rng(5), order=np.append(order, 1000 + order))
    assert np.abs(np.bincount(drawn) - [800, 600, 600]).max() <= 2
    assert np.abs(np.bincount(drawn[:1000]) - [200, 500, 300]).max() <= 4
    free = draw_classes(probs, np.random.default_rng(5))
    assert np.abs(np.bincount(free) - [800, 600, 600]).max() > 4


def test_each_row_alone_follows_its_chances_in_an_order_too():
    """A thousand draws of four rows: each class of each row as often as it should be, within five deviations."""
    probs = np.array([[0.2, 0.5, 0.3], [0.9, 0.05, 0.05], [0.0, 0.0, 1.0], [0.1, 0.1, 0.8]])
    rng, times = np.random.default_rng(6), 1000
    drawn = np.stack([draw_classes(probs, rng, order=np.arange(4)) for _ in range(times)])
    result = np.stack([(drawn == c).mean(0) for c in range(3)], axis=1)
    assert (np.abs(result - probs) <= 5 * np.sqrt(probs * (1 - probs) / times)).all()


def test_rows_are_ordered_by_what_tells_most():
    """The axis whose pulls vary most comes first, the other within it."""
    codes = np.array([[0, 0, 1], [2, 0, 0], [1, 0, 0], [0, 0, 0]])
    assert codes[with_conditionals().conditionals[0].order(codes)][:, 2].tolist() == [0, 0, 0, 1]
    assert codes[with_conditionals().conditionals[0].order(codes)][:3, 0].tolist() == [0, 1, 2]


def test_no_pull_leaves_the_component_s_own_choice_tempered():
    """The logit starts from the component's probabilities to the power BASE."""
    own = np.array([[0.9, 0.1]])
    conditional = ConditionalLogit(column="y", start=np.zeros(2), pulls={0: np.zeros((3, 2))})
    result = conditional.probabilities(np.zeros((1, 1), dtype=int), own)[0]
    assert np.log(result[0] / result[1]) == pytest.approx(BASE * np.log(9))
