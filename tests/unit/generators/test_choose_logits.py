"""Columns whose tables the mixture misses are drawn again; those it has are left alone."""

from dataclasses import replace

import numpy as np
import pytest

from synth.generators.base import Fit, Run, Setting
from synth.generators.core.logits import LEARNT, Compared, Limits
from synth.generators.core.mixture import Mixture
from synth.generators.core.solver import Options
from synth.generators.core.tables import NoisyTable, averaged
from synth.questions import Bins, Marginal
from synth.schema.table import Schema
from tests.unit.generators.helpers import OpenSession

ROWS = 20_000
NAMES = ("place", "region", "size", "sex")


def setting(target=None, mu=2.0):
    sizes = {"place": 24, "region": 24, "size": 4, "sex": 2}
    columns = {n: {"type": "categorical", "categories": [str(i) for i in range(k)]} for n, k in sizes.items()}
    return Setting(schema=Schema.model_validate({"columns": columns, "target": target}), mu=mu, sensitivity=1.0)


def people(twins=True):
    """``region`` is ``place`` by another name, or follows it loosely; the rest hardly depends."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 24, ROWS)
    loosely = np.where(rng.random(ROWS) < 0.1, place, rng.integers(0, 24, ROWS))
    return {
        "place": place,
        "region": (place * 7) % 24 if twins else loosely,
        "size": np.where(rng.random(ROWS) < 0.2, place % 4, rng.integers(0, 4, ROWS)),
        "sex": rng.integers(0, 2, ROWS),
    }


POOR = Options(components=4, ensembles=2)  # too few components for columns that determine each other


def fitted(*, twins=True, target=None, options=POOR, **limits):
    set_by = setting(target)
    method = Mixture(options=options, limits=Limits(**limits))
    releases = method.measure(Run(OpenSession(people(twins), set_by), set_by))
    return method.fit(releases, set_by, Fit(np.random.default_rng(0)))


def agreeing(model):
    """Share of the rows whose region is their place's."""
    rows = model.sample(ROWS, rng=np.random.default_rng(1))
    return float((rows["region"] == (rows["place"] * 7) % 24).mean())


def test_a_column_that_the_mixture_misses_is_drawn_again():
    model = fitted()
    assert model.conditionals[0].column == "region"
    plain = replace(fitted(sure=1e9, broken=2.0), barred={})
    assert plain.conditionals == ()
    assert agreeing(model) > 0.999 > 0.6 > agreeing(plain)


def test_a_mixture_that_has_its_tables_is_left_alone():
    assert fitted(twins=False, options=Options()).conditionals == ()


def test_the_target_comes_last_and_is_no_child_of_a_missed_table():
    model = fitted(target="sex")
    drawn = [h.column for h in model.conditionals]
    assert (drawn[0], drawn[-1], drawn.count("sex")) == ("region", "sex", 1)


def test_no_more_columns_than_stated_and_none_of_many_groups():
    assert fitted(children=0).conditionals == ()
    assert "region" not in [h.column for h in fitted(children=8, groups=10).conditionals]


def measured(sigma=40.0):
    """A model, its groups, and a table of two of its columns with noise."""
    model = fitted(twins=False, options=Options())
    groups = {a.column: a.groups for a in model.axes}
    bins = [Bins(column=n, cells=24, starts=np.arange(24), groups=groups[n]) for n in ("place", "region")]
    left, right = model.probs["place"][1], model.probs["region"][1]
    exact = (left * model.weights[:, None]).T @ right * model.total
    return model, Marginal(bins=tuple(bins), sigma=sigma), exact


@pytest.mark.parametrize("shift", [0.0, 12.0])
def test_a_miss_is_what_noise_does_not_explain(shift):
    """Tables made from the model itself, with their noise, are no misses; one moved by many deviations is."""
    model, marginal, exact = measured()
    noisy = exact + np.random.default_rng(3).normal(0, marginal.sigma, exact.shape)
    noisy[0] += shift * marginal.sigma
    excess = Compared(marginal=marginal, values=noisy, made=exact).missed(model.total)
    assert excess == 0 if not shift else excess > 0.5 * shift**2 * noisy.shape[1]


def test_what_a_logit_could_not_mend_is_no_miss():
    """With hardly any noise an error as large as that of the rows that a logit is fitted on is left alone."""
    model, marginal, exact = measured(sigma=0.01)
    chance = np.sqrt(exact * model.total / LEARNT)
    near, far = (exact + times * chance * np.random.default_rng(4).choice([-1, 1], exact.shape) for times in (0.9, 2.0))
    errors = [Compared(marginal=marginal, values=v, made=exact).missed(model.total) for v in (near, far)]
    assert errors[0] == 0 < errors[1]


def test_a_table_asked_twice_counts_once_by_its_precision():
    _, marginal, exact = measured(sigma=1.0)
    again = replace(marginal, sigma=2.0)
    asked = [NoisyTable(marginal=m, values=v) for m, v in ((marginal, exact), (again, exact + 5))]
    (one,) = averaged(asked).values()
    assert np.allclose(one.values, exact + 1)
    assert one.marginal.sigma == pytest.approx((1 / (1 + 1 / 4)) ** 0.5)
