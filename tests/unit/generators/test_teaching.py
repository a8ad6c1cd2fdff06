"""`mwem` and `small_db` keep strong dependences on tables they fit, refuse others by name, and hold their budget."""

from math import ceil, comb, exp, log, sqrt

import numpy as np
import pytest

import synth
from synth.errors import UsageError
from synth.generators.base import Fit, Run, Setting
from synth.generators.papers import queries as query_errors
from synth.generators.papers.queries import BoxWeights, Mwem, Online, OnlineWeights, SmallDb, boxes
from synth.mechanisms import counts, laplace
from synth.mechanisms.above import Comparisons
from synth.privacy.accounting.compare_runs import zcdp
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Relation
from synth.questions import Above, Bins, Laplace
from tests.conftest import SMALL
from tests.unit.generators.helpers import measured, paid

TOY = synth.Schema.parse(
    {
        "columns": {
            "a": {"type": "categorical", "categories": ["x", "y"]},
            "b": {"type": "categorical", "categories": ["x", "y"]},
            "c": {"type": "integer", "min": 0, "max": 99},
        }
    }
)
EPSILON = 2.0


def places(schema, rows=2000):
    rng = np.random.default_rng(0)
    result = {n: rng.integers(0, c.cells, rows) for n, c in schema.measured().items()}
    if schema is TOY:
        result["c"] = np.where(result["a"] == 0, result["c"] // 2, 50 + result["c"] // 2)
    return result


@pytest.mark.parametrize("generator", [Mwem(), Mwem(ones=0.0), SmallDb()], ids=["mwem", "published", "small_db"])
@pytest.mark.parametrize("relation", list(Relation))
def test_the_budget_is_spent_whole_and_a_strong_dependence_kept(generator, relation):
    releases, setting, session = measured(generator, places(TOY), TOY, relation=relation)
    assert 0.999 * EPSILON < session.epsilon_derived <= EPSILON
    rng = np.random.default_rng(1)
    model = generator.fit(releases, setting, Fit(rng))
    drawn = model.sample(2000, rng=rng)
    assert ((drawn["a"] == 1) == (drawn["c"] >= 50)).mean() > 0.9
    assert model.total == pytest.approx(2000, rel=0.15)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_online_weights_learn_a_dependence_within_their_budget(relation, delta):
    generator = OnlineWeights(updates=12)
    door, setting = paid(TOY, places(TOY, 20_000), epsilon=20.0, delta=delta, relation=relation)
    releases = generator.measure(Run(door.ask, setting))
    assert 5.0 < door.epsilon_derived <= 20.0
    rng = np.random.default_rng(1)
    model = generator.fit(releases, setting, Fit(rng))
    drawn = model.sample(2000, rng=rng)
    assert ((drawn["a"] == 1) == (drawn["c"] >= 50)).mean() > 0.7  # of independent columns 0.5
    assert model.total == pytest.approx(20_000, rel=0.1)


def test_all_updates_cost_the_whole_budget_and_no_question_comes_after_them():
    generator = OnlineWeights(updates=4)
    for delta in (0.0, 1e-6):
        door, setting = paid(TOY, places(TOY, 20_000), epsilon=1.0, delta=delta)
        online = Online(door.ask, setting, generator)
        box = next(boxes(online.bins))
        while online.left:
            online.far(box, 1e7)
            online.update(box)
        assert 0.98 < door.epsilon_derived <= 1.0
        with pytest.raises(UsageError, match="all updates"):
            online.answer(box)


def test_questions_one_by_one_are_near_the_truth_and_mostly_free():
    """Each may be chosen after the answers before; what is answered without a count is near by construction. The
    weights meet all counts so far, not the last alone."""
    held = places(TOY, 20_000)
    door, setting = paid(TOY, held, epsilon=5.0, delta=1e-6)
    online = Online(door.ask, setting, OnlineWeights(updates=30, questions=300))
    asked = list(boxes(online.bins))[:40] * 3
    for box in asked:
        if not online.left:
            break
        answer = online.answer(box)
        truth = counts.exact([box], held)[0][0]
        assert abs(answer - truth) < online.threshold + 25 * online.scale
    assert 0 < 30 - online.left < 30
    assert 0 < door.epsilon_derived <= 5.0
    far = Above(purpose="t", number=0, box=asked[0], expected=0, threshold=3000, scale=1000.0)
    none, noise = {n: p[:0] for n, p in held.items()}, SystemNoise()
    yes = np.mean([Comparisons().answer(far, none, noise).above for _ in range(10_000)])
    chance = (4 * exp(-3 / 2) - exp(-3)) / 6  # that Laplace noise of scale 2 is 3 above such noise of scale 1
    assert abs(yes - chance) < 5 * sqrt(chance * (1 - chance) / 10_000)
    count = Laplace(purpose="t", tables=((Bins.each("a", 10_000),),), scale=9.0)
    assert np.abs(laplace.answer(count, none, noise).values[0]).mean() == pytest.approx(9, rel=0.06)
    counted = [r for r in online.releases if r.question.purpose == query_errors.MEASURING]
    for release in counted:
        assert online.weights.count(release.question.tables[0]) == pytest.approx(
            max(release.values[0].sum(), 0), rel=0.03, abs=15
        )


def test_online_weights_take_a_range_of_any_length():
    huge = {"n": {"type": "integer", "min": 0, "max": 10**12}, "b": {"type": "categorical", "categories": ["x", "y"]}}
    schema = synth.Schema.parse({"columns": huge})
    setting = Setting(schema=schema, mu=0.0, sensitivity=1.0, signed=1.0, epsilon=1.0, public_rows=50)
    model = OnlineWeights().fit([], setting, Fit(np.random.default_rng(0)))
    drawn = model.sample(100, rng=np.random.default_rng(1))
    assert 0 <= drawn["n"].min() < 10**11 < 9 * 10**11 < drawn["n"].max() <= 10**12


def test_weights_meet_the_counts_that_they_follow():
    bins = OnlineWeights().cut(TOY)
    weights = BoxWeights(bins, 1000.0)
    first, second = next(iter(boxes(bins))), list(boxes(bins))[-1]
    weights.follow(first, 900.0)
    weights.follow(second, 10.0)
    assert weights.count(first) == pytest.approx(900.0, rel=0.02)
    assert weights.count(second) == pytest.approx(10.0, rel=0.02)
    assert weights.cells.sum() == pytest.approx(1.0)


TWO = synth.Schema.parse({"columns": {n: {"type": "categorical", "categories": ["x", "y"]} for n in "ab"}})


def test_small_db_has_the_accuracy_that_it_promises():
    """The lecture's bound on a run's largest error, which 20 runs keep; and its number of records."""
    rows, epsilon = 20_000, 1.0
    generator = SmallDb(accuracy=0.35)
    asked = generator.questions(TWO, rows=rows, epsilon=epsilon)
    assert (asked.queries, asked.cells) == (4, 4)
    assert query_errors.records_for(asked, 0.35) == 12
    promised = query_errors.small_database(asked, 0.35)
    assert promised == pytest.approx(0.35 + 2 / (rows * epsilon) * (12 * log(4) + log(1 / 0.05)))  # m ln|X|, m of Q
    root, rest = (log(4) * log(4) / (rows * epsilon)) ** (1 / 3), 2 / (rows * epsilon) * log(1 / 0.05)
    best = query_errors.small_database(asked) - rest  # over all accuracies; its m is a whole number
    assert root < best < 3 / 2 * 4 ** (1 / 3) * root + 2 / (rows * epsilon) * log(4)
    held = {"a": np.arange(rows) % 3 // 2, "b": np.arange(rows) % 5 // 3}
    truth = np.bincount(2 * held["a"] + held["b"], minlength=4) / rows
    for spent in (4.0, *[epsilon] * 20):
        (release,), _, door = measured(generator, held, TWO, epsilon=spent, delta=0.0, relation=Relation.REPLACE_ONE)
        assert 0.999 * spent < door.epsilon_derived <= spent
        assert len(release.question.expected[0]) == comb(4 + 12 - 1, 12), "all databases of 12, at any epsilon"
        made = release.question.expected[0][release.index] / rows
        assert np.abs(made - truth).max() <= promised


def test_an_accuracy_of_too_many_databases_is_refused():
    with pytest.raises(UsageError, match=r"accuracy=0.05.*555 records.*2.8\d*e\+07"):
        SmallDb(accuracy=0.05).check_schema(TWO)


def test_bounds_of_errors_hold_and_their_best_alpha_is_the_best():
    q = query_errors.Questions(queries=40, cells=64, rows=1_000_000, epsilon=1.0)
    best = query_errors.best_alpha(q)
    assert query_errors.small_database(q) <= min(query_errors.small_database(q, best * f) for f in (0.8, 1.25)) * 1.02
    rng, worst = np.random.default_rng(0), []
    for _ in range(200):
        noise = rng.laplace(scale=1.0, size=64)
        worst.append(max(abs(noise[rng.random(64) < 0.5].sum()) for _ in range(40)) / q.rows)
    assert np.quantile(worst, 0.95) < query_errors.on_data(q) == pytest.approx(8 * sqrt(8 * log(2 * 40 / 0.05)) / 1e6)
    answers = np.abs(rng.laplace(scale=q.queries / q.epsilon, size=(4000, q.queries))).max(1) / q.rows
    assert 0.03 < (answers > query_errors.on_queries(q)).mean() < 0.07, "nearly as often as beta allows"
    with_delta = query_errors.Questions(queries=400, cells=64, rows=1_000_000, epsilon=1.0, delta=1e-6)
    each = log(400 / 0.05) / (query_errors.on_queries(with_delta) * 1e6)  # pure epsilon of each of 400 answers
    assert zcdp(400 * each**2 / 2, 1e-6) == pytest.approx(1.0), "the lecture's composition, its order the same"
    m = ceil(log(40) / best**2)
    assert query_errors.small_database(q) == pytest.approx(best + 2 * (m * log(64) + log(1 / 0.05)) / 1e6)
    pure, other = log(64) * log(40 / 0.05), sqrt(log(64) * log(1e6)) * log(400 / 0.05)  # the lecture's, of weights
    assert query_errors.multiplicative_weights(q) == pytest.approx((pure / 1e6) ** (1 / 3))
    assert query_errors.multiplicative_weights(with_delta) == pytest.approx(sqrt(other / 1e6))


def test_mwem_fits_a_table_of_six_columns():
    generator = Mwem(rounds=2)
    schema = synth.Schema.parse(SMALL)
    releases, setting, _ = measured(generator, places(schema), schema)
    rng = np.random.default_rng(1)
    model = generator.fit(releases, setting, Fit(rng))
    drawn = model.sample(100, rng=rng)
    for name, column in setting.schema.measured().items():
        assert drawn[name].min() >= 0
        assert drawn[name].max() < column.cells


def test_larger_tables_are_refused_by_number_with_a_way_out():
    wide = {f"c{i}": {"type": "integer", "min": 0, "max": 9} for i in range(21)}
    with pytest.raises(UsageError, match=r"2.1e\+06 cells.*mixture"):
        Mwem().check_schema(synth.Schema.parse({"columns": wide}))
    with pytest.raises(UsageError, match=r"360 kinds of rows.*mixture"):
        SmallDb().check_schema(synth.Schema.parse(SMALL))
    with pytest.raises(UsageError, match=r"2.1e\+06 cells.*mixture"):
        OnlineWeights().check_schema(synth.Schema.parse({"columns": wide}))
