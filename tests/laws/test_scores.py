"""Contributions to estimating equations: a row's are its own, at most of unit length, and never overflow."""

from dataclasses import replace

import numpy as np
import pytest

from synth.questions import Bins, Block, Embedding, Score
from synth.questions.embeddings import LINKS

X, G = Bins.each("x", 1000), Bins.each("g", 4)
NUMBERS = Block(bins=X, table=np.linspace(-40, 1e5, 1000)[:, None])
GROUPS = Block(bins=G, table=np.eye(4))
OUTCOME = Block(bins=X, table=np.random.default_rng(3).normal(size=(1000, 1)))
RNG = np.random.default_rng(0)


def score(link, clip=3.0):
    terms = ((), ((0, 0),), ((1, 1),), ((1, 2),), ((0, 0), (1, 3)))
    wide = len(terms)
    return Score(
        factors=(NUMBERS, GROUPS),
        terms=terms,
        present=(Block(bins=G, table=np.array([[1.0], [1.0], [0.0], [1.0]])),),
        outcome=(OUTCOME,),
        link=link,
        coefficients=np.array([0.1, 1e-5, -0.3, 0.2, 2e-5]),
        whitening=np.tril(RNG.normal(size=(wide, wide)) * [1, 1e-4, 1, 1, 1e-4]),
        clip=clip,
    )


@pytest.mark.parametrize("link", LINKS)
def test_a_rows_numbers_do_not_depend_on_the_rows_beside_it(link):
    """Bit by bit, in blocks of any length and at any place in them, whatever a processor does several at a time."""
    asked, rows = score(link), {"x": RNG.integers(0, 1000, 997), "g": RNG.integers(0, 4, 997)}
    together = asked.of(rows)
    for size in (1, 2, 3, 5, 8, 13, 64):
        starts = range(0, 997, size) if size > 5 else range(0, 200, size)
        for start in starts:
            part = asked.of({n: v[start : start + size] for n, v in rows.items()})
            assert np.array_equal(part, together[start : start + size])
    order = RNG.permutation(997)
    assert np.array_equal(asked.of({n: v[order] for n, v in rows.items()}), together[order])


@pytest.mark.parametrize("link", [k for k in LINKS if k != "count"])
@pytest.mark.parametrize("clip", [1e-6, 0.1, 3.0, 1e6])
def test_no_row_is_longer_than_one_and_shorter_ones_are_whole(link, clip):
    asked = score(link, clip)
    everybody = {"x": np.repeat(np.arange(1000), 4), "g": np.tile(np.arange(4), 1000)}
    reported = asked.of(everybody)
    lengths = np.sqrt((reported**2).sum(1))
    assert lengths.max() <= 1 + 1e-12
    x, y, here = asked.design(everybody)
    plain = (asked.whitening @ x * asked.residuals(x, y) * here).T / clip
    inside = np.sqrt((plain**2).sum(1)) < 1 - 1e-9
    assert np.allclose(reported[inside], plain[inside], rtol=1e-9, atol=1e-12)
    assert np.allclose(reported[~inside], plain[~inside] / np.sqrt((plain[~inside] ** 2).sum(1))[:, None], atol=1e-9)
    assert not reported[here == 0].any()


@pytest.mark.parametrize("factor", [1e200, 1e300])
@pytest.mark.parametrize("link", LINKS)
def test_numbers_that_would_overflow_are_refused(link, factor):
    """A product that overflowed would be a row of any length once it is brought to the lattice."""
    huge = Block(bins=X, table=NUMBERS.table * factor)
    with pytest.raises(ValueError, match="too large"):
        replace(score(link), factors=(huge, GROUPS))


@pytest.mark.parametrize("factor", [1e30, 1e60])
@pytest.mark.parametrize("link", LINKS)
def test_huge_numbers_are_finite_and_no_longer_than_others(link, factor):
    huge = Block(bins=X, table=NUMBERS.table * factor)
    asked = replace(score(link), factors=(huge, GROUPS))
    reported = asked.of({"x": np.arange(1000), "g": np.arange(1000) % 4})
    assert np.isfinite(reported).all()
    assert (reported**2).sum(1).max() <= 1 + 1e-9


def test_what_does_not_fit_is_refused():
    for wrong in (
        {"clip": 0.0},
        {"clip": np.inf},
        {"link": "probit"},
        {"coefficients": np.zeros(2)},
        {"coefficients": np.full(5, np.nan)},
        {"whitening": np.eye(3)},
        {"present": (OUTCOME,)},
        {"outcome": (GROUPS,)},
        {"terms": ((), ((0, 1),), (), (), ())},
        {"level": 1.0},
    ):
        with pytest.raises(ValueError, match=r"score|coefficient|finite|table|row|term"):
            replace(score("linear"), **wrong)


def test_means_are_what_they_are_called():
    from synth.questions.embeddings import mean

    at = np.linspace(-29, 24, 10_001)
    assert np.abs(mean("logistic", at) - 1 / (1 + np.exp(-at))).max() < 1e-6
    assert np.abs(mean("poisson", at) / np.exp(at) - 1).max() < 1e-5
    assert np.array_equal(mean("linear", at), at)
    assert Embedding(purpose="a", features=score("logistic"), sigma=1.0).features.norm == 1.0
