"""A public table helps as far as released answers bear it out: fair ones much, useless ones never harm."""

from dataclasses import replace

import numpy as np
import pytest

from synth.generators import GENERATORS
from synth.generators.base import Fit, Run
from synth.generators.core.columns import PRIOR_LEAVES, Histogram, OneWays, with_public
from synth.generators.core.density import Counted
from synth.generators.core.prior_variance import variances
from synth.generators.core.tables import NoisyTable, believed_tables
from synth.pipeline.priors import Encoded
from synth.questions import Bins, Counts, Marginal, PublicCounts
from synth.release import store
from tests.unit.generators.alike_columns import NAMES, SIZE, drawn, public, setting_of
from tests.unit.generators.helpers import OpenSession


def pairs_off(rows: dict[str, np.ndarray], made: dict[str, np.ndarray]) -> float:
    def shares(table, a, b):
        return np.bincount(table[a] * SIZE + table[b], minlength=SIZE**2) / len(table[a])

    pairs = [(a, b) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]]
    return float(np.mean([np.abs(shares(rows, *p) - shares(made, *p)).sum() / 2 for p in pairs]))


def run(rows, mu: float, seed: int, *priors: Encoded):
    """The releases of one run on rows, and how far its table is off them in pairs."""
    setting = setting_of(len(rows["c0"]), mu, *priors)
    method = GENERATORS["mixture"]
    releases = method.measure(Run(OpenSession(rows, setting, seed=seed), setting))
    rng = np.random.default_rng(seed)
    model = method.fit(releases, replace(setting, priors=()), Fit(rng))
    return releases, pairs_off(rows, model.sample(len(rows["c0"]), rng=rng))


@pytest.mark.parametrize("mu", [0.03, 0.1])
def test_a_fair_public_table_takes_away_most_of_the_error_and_a_useless_one_adds_none(mu):
    rows, seeds = drawn(5000, 0), range(3)
    none = np.mean([run(rows, mu, s)[1] for s in seeds])
    fair = np.mean([run(rows, mu, s, public(drawn(2000, 1)))[1] for s in seeds])
    useless = np.mean([run(rows, mu, s, public(drawn(2000, 2, shuffled=True)))[1] for s in seeds])
    assert fair < 0.6 * none
    assert useless < 1.1 * none


def test_of_two_public_tables_the_right_one_is_believed():
    rows = drawn(5000, 0)
    right, wrong = public(drawn(2000, 1)), public(drawn(2000, 2, shuffled=True), "other.csv")
    assert run(rows, 0.1, 0, wrong, right)[1] < 0.7 * run(rows, 0.1, 0)[1]


def test_columns_that_the_public_table_lacks_are_left_to_the_private_answers():
    rows, known = drawn(5000, 0), drawn(2000, 1)
    releases, off = run(rows, 0.1, 0, public({n: known[n] for n in NAMES[:4]}))
    said = [r for r in releases if isinstance(r, PublicCounts)]
    assert {m for r in said for m in r.missing} == {"c4", "c5"}
    assert off < run(rows, 0.1, 0)[1]


def test_what_is_asked_of_the_rows_costs_the_same_with_a_prior():
    rows = drawn(3000, 0)
    setting = setting_of(3000, 0.2, public(drawn(1000, 1)))
    session = OpenSession(rows, setting)
    GENERATORS["mixture"].measure(Run(session, setting))
    assert session.spent <= setting.mu**2
    assert all(isinstance(q, Counts) or hasattr(q, "picks") for q in session.asked)  # no question about the prior


def test_the_release_holds_all_that_a_fit_needs():
    rows = drawn(3000, 0)
    releases, _ = run(rows, 0.1, 0, public(drawn(1000, 1)))
    again = store.unpack(*store.pack(releases))
    setting = setting_of(3000, 0.1)

    def fitted(held):
        model = GENERATORS["mixture"].fit(held, setting, Fit(np.random.default_rng(0)))
        return model.sample(500, rng=np.random.default_rng(1))

    one, two = fitted(releases), fitted(again)
    assert all(np.array_equal(one[n], two[n]) for n in NAMES)


def test_wild_cells_of_a_public_table_are_let_go_and_the_others_still_say_something():
    rng = np.random.default_rng(0)
    target = np.full(400, 100.0)
    truth = target + rng.normal(0, 5, 400)
    truth[:8] += 5000  # where the public table is plainly wrong
    counts, noise = truth + rng.normal(0, 50, 400), 50.0**2
    (variance,) = variances([(counts, target, noise)], least=0.1)
    way = noise / (noise + variance)
    assert way[:8].max() < 0.1
    assert np.median(way[8:]) > 0.3
    posterior = counts + way * (target - counts)
    assert np.abs(posterior - truth)[8:].mean() < 0.8 * np.abs(counts - truth)[8:].mean()


def test_a_curve_that_follows_noise_does_not_hide_that_a_public_column_is_right():
    even, cells = np.full(8, 125.0), np.arange(8)
    noise = np.full(8, 60.0)
    counted = Counted(rows=even + 10 * np.array([5, -5, 2, -2, 6, -6, 3, -3]), noise=noise, block=cells, whole=noise)
    wild = np.append(1000.0, np.zeros(7))
    histogram = Histogram(column="a", cells=8, starts=cells, mass=wild, sigma=60.0, counted=counted)
    question = Counts(purpose=PRIOR_LEAVES, marginals=(Marginal(bins=(histogram.bins(cells),), sigma=1.0),))
    said = PublicCounts(question=question, values=(np.full(8, 100),), name="p", sha256="p", num_rows=800)
    made = with_public(OneWays(total=1000.0, histograms={"a": histogram}, setting=None), [said])
    assert np.abs(made.histograms["a"].mass - even).sum() < 0.2 * np.abs(wild - even).sum()


def test_counts_and_a_finer_target_agree_in_the_end():
    """Exact normal posterior: with nearly exact counts the target's cells add up to them, in its own proportions."""
    fine, coarse = Bins.each("a", 4), Bins(column="a", cells=4, starts=np.arange(4), groups=np.array([0, 0, 1, 1]))
    other = Bins.each("b", 2)
    values = np.array([[10.0, 20], [30, 40], [50, 60], [70, 80]])
    target = NoisyTable(
        marginal=Marginal(bins=(fine, other), sigma=1e-3), values=values, variance=np.full((4, 2), 1e-8)
    )
    wide = replace(target, variance=np.full((4, 2), 1e-7))
    marginal = Marginal(bins=(coarse, other), sigma=1e-9)
    counts = np.array([[50, 70], [130, 150]])
    (table,) = believed_tables([NoisyTable(marginal=marginal, values=counts)], [target, wide])
    results = table.values
    assert table.marginal.shape == (4, 2)
    assert results.reshape(2, 2, 2).sum(1) == pytest.approx(counts)
    assert results[1] - results[0] == pytest.approx(values[1] - values[0])
