"""Rules are taken from noisy tables where these show them, and from no others."""

import numpy as np

from synth.generators.core.logits import barred_cells, never_occurring, off_function, uncontradicted


def _table(sigma: float, exact: np.ndarray, seed: int = 0) -> np.ndarray:
    return exact + sigma * np.random.default_rng(seed).standard_normal(exact.shape)


def test_a_column_that_fixes_another_is_found_and_its_own_cells_are_kept():
    exact = np.zeros((12, 5))
    exact[np.arange(12), np.arange(12) // 3] = 400.0
    barred = never_occurring(_table(50.0, exact), 50.0, rows=exact.sum(1), cols=exact.sum(0))
    assert not barred[exact > 0].any()
    assert barred[exact == 0][: 12 * 4 - 12].all()


def test_independent_columns_bar_nothing():
    exact = np.outer(np.full(10, 0.1), np.full(8, 1 / 8)) * 20_000
    for seed in range(20):
        assert not never_occurring(_table(40.0, exact, seed), 40.0, rows=exact.sum(1), cols=exact.sum(0)).any()


def test_a_structural_gap_is_found_beside_cells_that_are_full():
    exact = np.full((8, 6), 500.0)
    exact[0, 1:] = exact[1:, 0] = 0.0
    exact[0, 0] = 3000.0
    barred = never_occurring(_table(30.0, exact), 30.0, rows=exact.sum(1), cols=exact.sum(0))
    assert not barred[exact > 0].any()
    assert barred[exact == 0].mean() > 0.9


def test_what_noise_hides_is_not_barred():
    exact = np.zeros((200, 3))
    exact[np.arange(200), np.arange(200) % 3] = 10.0
    assert not never_occurring(_table(60.0, exact), 60.0, rows=exact.sum(1), cols=exact.sum(0)).any()


def _codes(order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """240 codes, a tenth of them frequent, of twelve sectors that lie one behind the other, in another order; own."""
    own = (np.arange(240) // 20)[order]
    exact = np.zeros((240, 12))
    exact[np.arange(240), own] = np.where(np.arange(240) % 10 == 0, 600.0, 40.0)[order]
    return exact, own


def test_neighbouring_codes_tell_what_rare_ones_belong_to():
    """By itself a rare code of 40 rows is hidden by a noise of 40; a code in no order is told by no other."""
    reported = {}
    for name, order in (("in order", np.arange(240)), ("in none", np.random.default_rng(1).permutation(240))):
        exact, own = _codes(order)
        barred = off_function(_table(40.0, exact), 40.0, exact.sum(1))
        reported[name] = barred.any(1).mean()
        assert barred[np.arange(240), own].mean() < 0.03  # a sector's last code may be taken for the next one's
    assert reported["in order"] > 0.8
    assert reported["in none"] < 0.3


def _skips(rows: float = 100.0) -> np.ndarray:
    """Twenty-two jobs without an empty cell of hours, and four occupations of which all hours are empty."""
    exact = np.zeros((26, 5))
    exact[:22, :4], exact[22:, 4] = rows, 10 * rows
    return exact


def test_cells_that_are_empty_together_are_found_where_noise_hides_each_of_them():
    """Each cell would hold 125 rows by independence, beside a noise of 50: alone none of them is seen."""
    exact, found = _skips(), []
    made = 0.95 * exact + 0.05 * np.outer(exact.sum(1), exact.sum(0)) / exact.sum()
    for seed in range(10):
        noisy = _table(50.0, exact, seed)
        together = barred_cells(noisy, 50.0, made)
        assert not together[exact > 0].any()
        alone = never_occurring(noisy, 50.0, rows=made.sum(1), cols=made.sum(0))
        found.append((alone[exact == 0].mean(), together[exact == 0].mean()))
    assert np.mean([a for a, _ in found]) < 0.1
    assert np.mean([t for _, t in found]) > 0.6


def test_independent_and_smoothly_related_columns_bar_nothing_that_holds_rows():
    flat = np.outer(np.full(10, 0.1), np.full(8, 1 / 8)) * 20_000
    step = np.arange(12)
    bent = np.exp(-0.5 * ((step[:, None] - step) / 4.0) ** 2) * 300
    for exact in (flat, bent):
        for seed in range(20):
            hit = barred_cells(_table(40.0, exact, seed), 40.0, exact)
            assert exact[hit].sum() < 0.002 * exact.sum()


def test_rare_cells_that_together_hold_rows_are_not_barred():
    """One ill person at each young age: noise of 1.2 hides each of them, not the twenty; those of a gap stay barred."""
    exact = np.repeat([[41.0, 1.0], [30.0, 12.0], [8.0, 33.0]], 20, axis=0)
    alone, rare, gap = [], [], []
    for seed in range(40):
        noisy, empty = (_table(1.2, t, seed) for t in (exact, np.where(exact == 1, 0.0, exact)))
        alone.append(barred_cells(noisy, 1.2, exact)[:20, 1].mean())
        rare.append(uncontradicted(barred_cells(noisy, 1.2, exact), noisy, 1.2)[:20, 1].mean())
        gap.append(uncontradicted(barred_cells(empty, 1.2, exact), empty, 1.2)[:20, 1].mean())
    assert np.mean(alone) > 0.9
    assert np.mean(rare) < 0.1
    assert np.mean(gap) > 0.9


def test_a_line_whose_rows_have_nowhere_to_go_is_not_barred():
    """A tenth of the rows have another country, at every age: noise hides them, and no age may be theirs."""
    exact = np.outer(np.full(32, 1 / 32), [0.9, 0.02, 0.02, 0.03, 0.03]) * 30_000
    for seed in range(10):
        noisy = _table(250.0, exact, seed)
        barred = never_occurring(noisy, 250.0, rows=exact.sum(1), cols=exact.sum(0))
        assert not uncontradicted(barred, noisy, 250.0).all(0).any()
