"""`synth.mixtures.fit`: anybody's tables; and what a fit says of how near it came."""

import numpy as np
import pytest

from synth import UsageError, mixtures
from synth.generators.core.problem import misfit_in_words
from synth.generators.core.solver import Options

DOMAIN = {"a": 3, "b": 4, "c": 2, "d": 5}


def exact(rng) -> np.ndarray:
    """A table of all four columns, of 20,000 rows."""
    parts = [rng.dirichlet(np.full(n, 0.7), 3) for n in DOMAIN.values()]
    return 20_000 * np.einsum("k,ka,kb,kc,kd->abcd", [0.5, 0.3, 0.2], *parts)


def test_tables_of_one_to_four_columns_in_any_order_are_followed():
    """What was measured is met to what its noise explains, and so is a table of three columns that nobody counted."""
    rng = np.random.default_rng(0)
    whole, sigma = exact(rng), 15.0
    asked = [("d", "a"), ("a", "b"), ("b", "c"), ("c",), ("c", "d", "a"), ("d", "b", "a", "c")]
    tables = {t: whole.sum(tuple(i for i, n in enumerate(DOMAIN) if n not in t)) for t in asked}
    for t, v in tables.items():
        tables[t] = v.transpose([[n for n in DOMAIN if n in t].index(n) for n in t])
    noisy = [(t, v + rng.normal(0, sigma, v.shape), sigma) for t, v in tables.items()]
    fitted = mixtures.fit(noisy, DOMAIN)
    assert fitted.misfit["ratio"] < 1.15
    assert fitted.curve[-1][1] < fitted.curve[0][1]
    assert fitted.model.total == pytest.approx(20_000, rel=0.02)
    for t, v in tables.items():
        made = fitted.table(t)
        assert made.shape == v.shape
        assert np.abs(made - v).mean() < sigma
    rows = fitted.sample(1000)
    assert {n: int(codes.max()) < DOMAIN[n] for n, codes in rows.items()} == dict.fromkeys(DOMAIN, True)


@pytest.mark.parametrize(
    ("measurement", "words"),
    [
        ((("a", "x"), np.ones((3, 4)), 1.0), "no column 'x'"),
        ((("a", "a"), np.ones((3, 3)), 1.0), "different columns"),
        ((("a", "b"), np.ones((4, 3)), 1.0), r"shape \(3, 4\)"),
        ((("a",), np.full(3, np.nan), 1.0), "finite"),
        ((("a",), np.ones(3), 0.0), "above 0"),
    ],
)
def test_what_does_not_fit_the_domain_is_refused(measurement, words):
    with pytest.raises(UsageError, match=words):
        mixtures.fit([measurement], DOMAIN)
    with pytest.raises(UsageError, match="at least"):
        mixtures.fit([], DOMAIN)


def test_a_fit_that_ends_early_says_so_and_by_how_much():
    """One step, of tables whose noise is little: the misfit is that of the table that the fit has in the end."""
    rng = np.random.default_rng(1)
    table, sigma = exact(rng).sum((2, 3)), 5.0
    noisy = [(("a", "b"), table + rng.normal(0, sigma, table.shape), sigma)]
    early = mixtures.fit(noisy, DOMAIN, options=Options(components=4, ensembles=1, steps=1))
    loss = float((((early.table(("a", "b")) - noisy[0][1]) / sigma) ** 2).sum())
    assert early.misfit["loss"] == pytest.approx(loss, rel=0.01)
    assert early.misfit["ratio"] == early.misfit["pairs"] == pytest.approx(loss / 12, rel=0.01)
    assert f"{early.misfit['ratio']:.2f} times what noise explains" in misfit_in_words(early.misfit)
    assert misfit_in_words(mixtures.fit(noisy, DOMAIN).misfit) is None
