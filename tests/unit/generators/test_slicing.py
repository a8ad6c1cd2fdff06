"""The slicing generators: budgets, encodings, options, and retraining on a stored release."""

from dataclasses import replace

import numpy as np
import pytest

from synth.errors import UsageError
from synth.generators.base import Fit, Run
from synth.generators.core.columns import estimate_columns
from synth.generators.papers.slicing import SliceWasserstein, Slicing, _alone, _simplex, binned, merged, scaled
from synth.privacy.relation import Relation
from synth.questions import SlicesRelease
from tests.unit.generators.slicing_runs import ROWS, SCHEMA, measured, positions


def drawn(generator, releases, setting, rows=4000):
    model = generator.fit(releases, setting, Fit(np.random.default_rng(0)))
    return model.sample(rows, rng=np.random.default_rng(1))


def gap(rows):
    """How much more often t holds where a < 6; .8 in the source, 0 where columns are independent."""
    low = rows["a"] < 6
    return rows["t"][low].mean() - rows["t"][~low].mean()


KINDS = {
    "default": Slicing(),
    "records": Slicing(groups="records"),
    "groups of a number": Slicing(encoding="binned", groups="300"),
    "paper": Slicing(loss="kl", directions="gaussian", num_slices=20),
    "network": Slicing(loss="js", steps=5),
    "sampled": Slicing(loss="kl", rate=0.25, steps=5),
    "sampled, gaussian": Slicing(loss="kl", directions="gaussian", num_slices=20, rate=0.25, steps=5),
    "drawn": Slicing(loss="kl", directions="gaussian", num_slices=20, rate=0.25, sample="fixed", steps=5),
    "drawn, whole": Slicing(loss="kl", rate=0.25, sample="fixed", steps=5),
    "fixed directions": Slicing(loss="kl", directions="fixed", num_slices=20, steps=5),
    "published": Slicing(loss="kl", directions="gaussian", num_slices=21, form="published", steps=5, hidden=16, k=4),
    "wasserstein": SliceWasserstein(steps=5),
    "paid one-ways": Slicing(loss="kl", oneway_share=0.3, steps=5),
    "paid one-ways, gaussian": Slicing(loss="kl", directions="gaussian", num_slices=20, oneway_share=0.3, steps=5),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", Relation)
def test_the_whole_budget_is_spent_and_no_more(kind, relation):
    """More than 99 % of epsilon under every relation, or a refusal by name where the row count is private."""
    generator = KINDS[kind]
    refused = {
        Relation.ADD_REMOVE: (
            *("records", "paper", "sampled", "sampled, gaussian", "paid one-ways, gaussian"),
            *("drawn", "drawn, whole", "published"),
        ),
        Relation.REPLACE_ONE: ("sampled", "sampled, gaussian"),
    }
    if kind in refused.get(relation, ()):
        with pytest.raises(UsageError, match=r"public row count|no proof under replace_one"):
            measured(generator, relation=relation)
        return
    curator = measured(generator, relation=relation)[2]
    assert 0.985 * 5.0 < curator.epsilon_derived <= 5.0


@pytest.mark.parametrize(("kind", "least"), [("default", 0.4), ("records", 0.1), ("groups of a number", 0.1)])
def test_moments_find_the_relation_of_two_columns(kind, least):
    """Median of five runs with fresh noise: the gap is .8 in the rows, and 0 +- .03 where columns are independent."""
    gaps = []
    for _ in range(5):
        releases, setting, _ = measured(KINDS[kind])
        gaps.append(gap(drawn(KINDS[kind], releases, setting)))
    assert np.median(gaps) > least


@pytest.mark.parametrize(
    ("kind", "rows"), [("records", ROWS), ("groups", ROWS), ("gaussian", 10 * ROWS), ("sampled", 3 * ROWS)]
)
def test_single_columns_are_read_off_the_slices(kind, rows):
    """Mean of x among its values and its missing share, median of three, from records and groups, whole and few
    directions (these stop at the noise, on the side of even shares, and want more rows)."""
    kinds = {
        "records": Slicing(groups="records", encoding="scaled"),
        "groups": Slicing(loss="kl", groups="2000", steps=0),
        "gaussian": Slicing(loss="kl", directions="gaussian", num_slices=40, steps=0),
        "sampled": Slicing(loss="kl", rate=0.5, steps=0),
    }
    places = positions(rows)
    held = places["x"] < 200
    means, missing = [], []
    for _ in range(3):
        releases, setting, _ = measured(kinds[kind], epsilon=8.0, rows=rows)
        total, histograms = _alone([], releases[0], setting)
        bins = histograms["x"].mass
        inner = bins[:-1] / bins[:-1].sum()
        means.append(inner @ (histograms["x"].starts[:-1] + (histograms["x"].widths[:-1] - 1) / 2))
        missing.append(bins[-1] / total)
        assert total == rows
    assert abs(np.median(means) - places["x"][held].mean()) < 12
    assert abs(np.median(missing) - 0.1) < 0.05


def test_at_no_budget_to_speak_of_columns_stay_independent():
    """Noise is not taken for a relation: the model is then that of `independent`."""
    gaps = []
    for _ in range(5):
        releases, setting, _ = measured(Slicing(), epsilon=0.05)
        gaps.append(abs(gap(drawn(Slicing(), releases, setting))))
    assert np.median(gaps) < 0.05


def test_a_stored_release_is_fitted_again_with_other_options():
    """Moments' release by a network, and a network's by another divergence: fit reads the release alone."""
    releases, setting, _ = measured(Slicing())
    for other in (Slicing(loss="chi2", steps=2, batch=16), SliceWasserstein(steps=2, batch=16)):
        assert len(drawn(other, releases, setting, rows=50)["t"]) == 50
    releases, setting, _ = measured(KINDS["paper"])
    assert len(drawn(Slicing(loss="js", steps=2), releases, setting, rows=50)["t"]) == 50
    with pytest.raises(UsageError, match="full rotation"):
        drawn(Slicing(), releases, setting)


@pytest.mark.parametrize("kind", [Slicing, SliceWasserstein])
def test_the_learning_rate_is_heard(kind):
    """One release, one seed, three steps: rates of nearly nothing leave the same network, a large one another."""
    given = {} if kind is SliceWasserstein else {"loss": "kl"}
    releases, setting, _ = measured(kind(**given))

    def fitted(rate):
        generator = kind(**given, batch=16, steps=3, learning_rate=rate)
        model = generator.fit(releases, setting, Fit(np.random.default_rng(0)))
        return np.concatenate([a.probs for a in model.axes], axis=1)

    still, again, shifted = map(fitted, (1e-9, 2e-9, 0.1))
    assert np.abs(still - again).max() < 1e-4
    assert np.abs(still - shifted).max() > 0.01


@pytest.mark.parametrize("kind", ["sampled", "sampled, gaussian"])
def test_sampled_rows_need_less_noise_and_stand_as_zero_rows(kind):
    """A rate of .25 lowers the noise as Lemma 1's amplification says; the release keeps a row for each record."""
    (release,), setting, _ = measured(KINDS[kind], rows=2000)
    (plain,), _, _ = measured(replace(KINDS[kind], rate=1.0), rows=2000)
    assert len(release.values) == 2000
    assert 0.7 < release.question.sigma / plain.question.sigma < 0.85
    assert release.question.rate == 0.25
    with pytest.raises(UsageError, match=r"not of a sample|full rotation"):
        drawn(Slicing(), [release], setting)
    assert len(drawn(KINDS[kind], [release], setting, rows=50)["t"]) == 50


def test_paid_one_ways_lead_single_columns():
    """The share of missing cells is that of the counts, an error of .004; from slices alone it is .1 +- .05."""
    releases, setting, _ = measured(Slicing(loss="kl", oneway_share=0.3, steps=1))
    model = Slicing(loss="kl", steps=1).fit(releases, setting, Fit(np.random.default_rng(0)))
    assert model.probability({"x": np.array([200])}) == pytest.approx((positions()["x"] == 200).mean(), abs=0.02)


def test_epochs_are_passes_over_the_rows_that_were_sampled():
    """2,000 records, a quarter of them sampled: three epochs of 500 rows in batches of 100 are 15 steps."""
    counted = []
    generator = Slicing(loss="kl", directions="gaussian", num_slices=20, rate=0.25, epochs=3, batch=100, steps=7)
    releases, setting, _ = measured(generator, rows=2000)
    generator.fit(releases, setting, Fit(np.random.default_rng(0), progress=counted.append))
    assert generator._training(releases[0]).steps == 15
    assert replace(generator, epochs=0)._training(releases[0]).steps == 7


def test_signed_coordinates_only_where_they_cost_nothing():
    """Corners of a simplex are used where a signed vector is as cheap as another, not under replace_one."""
    for relation, signed in ((Relation.ZERO_OUT, True), (Relation.REPLACE_ONE, False)):
        release = measured(Slicing(), relation=relation)[0][-1]
        assert isinstance(release, SlicesRelease)
        assert release.question.encoding.non_negative is not signed


def test_encodings_have_unit_norm_and_cover_every_position():
    releases, setting, _ = measured(Slicing())
    columns = estimate_columns(releases[:-1], setting)
    total, histograms = columns.total, columns.histograms
    for encoding in (binned(SCHEMA), scaled(SCHEMA), merged(histograms, total, setting, sigma=1.0)):
        assert 0.9 < encoding.norm <= 1
        assert [b.bins.column for b in encoding.blocks] == list(SCHEMA.columns)
        assert all(b.bins.groups.min() >= 0 for b in encoding.blocks)


@pytest.mark.parametrize("corners", [2, 3, 4])
def test_simplex_corners_are_equally_far_apart(corners):
    table = _simplex(corners)
    apart = ((table[:, None] - table) ** 2).sum(2)[np.triu_indices(corners, 1)]
    assert np.allclose(apart, 2 * corners / (corners - 1))
    assert np.all((table**2).sum(1) <= 1)


@pytest.mark.parametrize(
    "options",
    [
        {"encoding": "merged", "groups": "records"},
        {"oneway_share": 0.3},
        {"oneway_share": 0.3, "loss": "kl", "rate": 0.5},
        {"rate": 0.5},
    ],
)
def test_wrong_options_are_refused_before_anything_is_asked(options):
    with pytest.raises(UsageError, match="option"):
        Slicing(**options).measure(Run(lambda _: pytest.fail("asked"), None))  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("kind", ["default", "records", "network", "wasserstein"])
def test_almost_no_rows_are_enough(kind, rows):
    releases, setting, _ = measured(KINDS[kind], rows=rows, epsilon=0.1)
    for name, places in drawn(KINDS[kind], releases, setting, rows=10).items():
        assert places.min() >= 0
        assert places.max() < SCHEMA.columns[name].cells
