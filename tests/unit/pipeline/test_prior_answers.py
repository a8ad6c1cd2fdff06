"""An earlier release's noisy answers on the cells that are asked for now, and what a later fit makes of them."""

import numpy as np
import pandas as pd
import pytest

import synth
from synth.pipeline.priors import PriorAnswers
from synth.questions import Bins, Counts, CountsRelease, Marginal, PublicCounts
from synth.release import folder
from synth.schema.table import parse

LETTERS = {"type": "categorical", "categories": list("abcdef")}
SCHEMA = parse({"columns": dict.fromkeys("uvwx", LETTERS)})
SIGMA = 3.0


def bins(column, groups):
    return Bins(column=column, cells=6, starts=np.arange(6), groups=np.array(groups))


EACH, HALVES = [0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 1]


def known(first=EACH, second=EACH, *, sigma=SIGMA, seed=0):
    rng = np.random.default_rng(seed)
    marginal = Marginal(bins=(bins("u", first), bins("v", second)), sigma=sigma)
    values = rng.integers(0, 100, marginal.shape)
    return CountsRelease(question=Counts(purpose="tables", marginals=(marginal,)), values=(values,))


def rows(many=5_000):
    rng = np.random.default_rng(1)
    return {n: rng.integers(0, 6, many) for n in "uv"}


def test_answers_on_the_same_cells_are_said_as_they_are_in_either_order():
    release = known()
    answers = PriorAnswers([release], frozenset("uv"))
    for first, second in (("u", "v"), ("v", "u")):
        marginal = Marginal(bins=(bins(first, EACH), bins(second, EACH)), sigma=9.0)
        values, variance = answers.of(marginal, rows())
        np.testing.assert_allclose(values if first == "u" else values.T, release.values[0])
        np.testing.assert_allclose(variance, SIGMA**2)


def test_coarser_cells_have_sums_and_finer_ones_parts_as_the_rows_are_spread():
    release = known(second=HALVES)
    marginal = Marginal(bins=(bins("u", HALVES), bins("v", EACH)), sigma=9.0)
    values, variance = PriorAnswers([release], frozenset("uv")).of(marginal, rows(60_000))
    np.testing.assert_allclose(values.reshape(2, 2, 3).sum(2), release.values[0].reshape(2, 3, 2).sum(1), rtol=1e-9)
    np.testing.assert_allclose(variance, 3 * SIGMA**2 / 9, rtol=0.2)


def test_two_answers_about_one_table_are_averaged_by_precision():
    both = PriorAnswers([known(), known(second=HALVES, sigma=1.0, seed=2)], frozenset("uv"))
    marginal = Marginal(bins=(bins("u", EACH), bins("v", HALVES)), sigma=9.0)
    values, variance = both.of(marginal, rows())
    fine, coarse = known().values[0].reshape(6, 2, 3).sum(2), known(second=HALVES, seed=2).values[0]
    weight = 3 * SIGMA**2 / (3 * SIGMA**2 + 1)
    np.testing.assert_allclose(values, fine + weight * (coarse - fine))
    np.testing.assert_allclose(variance, 3 * SIGMA**2 / (3 * SIGMA**2 + 1))


@pytest.mark.parametrize("columns", [frozenset("uw"), frozenset()])
def test_columns_that_are_described_otherwise_now_say_nothing(columns):
    marginal = Marginal(bins=(bins("u", EACH), bins("v", EACH)), sigma=9.0)
    assert PriorAnswers([known()], columns).of(marginal, rows()) is None


def people(many, seed):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, many)
    letters = np.array(list("abcdef"))
    return pd.DataFrame(
        {n: letters[np.where(rng.random(many) < 0.3, rng.integers(0, 6, many), 2 * kind)] for n in "uvwx"}
    )


@pytest.mark.usefixtures("few_steps")
def test_a_release_with_an_earlier_one_holds_its_answers_and_fits_again_without_it(tmp_path):
    facts = {"schema": SCHEMA, "epsilon": 0.5, "delta": 1e-6, "separate": True}
    synth.run(people(2_000, 0), **facts, dataset="a", out=tmp_path / "first")
    synth.run(people(2_000, 1), **facts, dataset="b", out=tmp_path / "second", prior=tmp_path / "first")
    for file in (tmp_path / "first").iterdir():
        file.unlink()
    publics = [r for r in folder.load_release(tmp_path / "second").releases if isinstance(r, PublicCounts)]
    pairs = [r for r in publics if any(len(m.bins) == 2 for m in r.question.marginals) and r.answers]
    assert pairs
    for public in pairs:
        for values, variance in zip(public.answers, public.variance, strict=True):
            assert (variance >= 0).all()
            assert not values[variance == 0].any()
    assert synth.Release(tmp_path / "second").refit(seed=1).num_rows > 0


def test_public_counts_hold_answers_of_their_tables_shape_or_none():
    marginal = Marginal(bins=(bins("u", EACH),), sigma=1.0)
    question = Counts(purpose="tables", marginals=(marginal,))
    facts = {"question": question, "values": (np.zeros(6),), "name": "n", "sha256": "0" * 64, "num_rows": 1}
    assert PublicCounts(**facts).answers == ()
    with pytest.raises(ValueError, match="each marginal's shape"):
        PublicCounts(**facts, answers=(np.zeros(5),), variance=(np.zeros(6),))
