"""One-way questions stay within their share, and trees keep both the spikes and the shape of a wide range."""

import numpy as np
import pytest

from synth.generators.base import Run, Setting
from synth.generators.core.columns import BLOCKS, count_leaves, estimate_columns
from synth.generators.core.mixture import Mixture
from synth.generators.core.oneways import LIMIT, ask_again, ask_columns, ask_flat_again, spent_share
from synth.schema.table import parse
from tests.unit.generators.helpers import OpenSession

MONEY = {"type": "integer", "min": -1_000_000, "max": 10_000_000}


def money(rows=20_000, seed=0):
    """Positions of an income-like column: zero for a third, a spike at 50,000, a log-normal rest."""
    rng = np.random.default_rng(seed)
    values = np.rint(np.exp(rng.normal(10, 1, rows))).astype(np.int64)
    values[: rows // 3] = 0
    values[rows // 3 : rows // 2] = 50_000
    return np.clip(values, 0, 10_000_000) + 1_000_000


def setting(columns, mu=0.27, **more):
    return Setting(schema=parse({"columns": columns}), mu=mu, sensitivity=1.0, **more)


def asked(columns, positions, *, mu=0.27, share=0.5, whole=False, seed=1):
    place = setting(columns, mu)
    session = OpenSession(positions, place, seed=seed)
    releases = ask_columns(session, place, share=share, whole=whole)
    columns = estimate_columns(releases, place)
    total, histograms = columns.total, columns.histograms
    return session, total, histograms


def ks(positions, histogram):
    """Largest gap between the table's distribution and the histogram's, positions even inside a leaf."""
    points = np.unique(np.concatenate([positions, histogram.starts]))
    real = np.searchsorted(np.sort(positions), points, side="right") / len(positions)
    at = np.searchsorted(histogram.starts, points, side="right") - 1
    before = np.append(0, np.cumsum(histogram.mass))[at]
    model = before + histogram.mass[at] * (points + 1 - histogram.starts[at]) / histogram.widths[at]
    return np.abs(real - model / histogram.mass.sum()).max()


@pytest.mark.parametrize("whole", [False, True])
def test_the_share_is_never_exceeded(whole):
    session, _, _ = asked(
        {"m": MONEY, "s": {"type": "boolean", "categories": ["a", "b"]}}, {"m": money(), "s": money() % 2}, whole=whole
    )
    spent = session.spent / 0.27**2
    assert spent <= 0.5
    assert spent > (0.499 if whole else 0.3)


def test_the_row_count_hears_every_count_of_whole_columns():
    """A first count with a tenth of the budget, a second with the rest: the first alone is three times as far off."""
    columns = {"s": {"type": "categorical", "categories": [str(i) for i in range(200)]}}
    rows = {"s": np.random.default_rng(0).integers(0, 200, 5_000)}
    gaps = []
    for seed in range(20):
        place = setting(columns)
        session = OpenSession(rows, place, seed=seed)
        first = ask_columns(session, place, share=0.1)
        both = [*first, *ask_again(session, place, first, 0.8)]
        gaps.append([abs(estimate_columns(r, place).total - 5_000) for r in (first, both)])
    before, after = np.mean(gaps, axis=0)
    assert after < 0.6 * before


def test_a_tree_keeps_spikes_as_single_values():
    _, total, result = asked({"m": MONEY}, {"m": money()})
    histogram = result["m"]
    for value, share in ((0, 1 / 3), (50_000, 1 / 6)):
        leaf = np.flatnonzero(histogram.starts == value + 1_000_000)
        assert len(leaf) == 1, value
        assert histogram.widths[leaf[0]] == 1, value
        assert histogram.mass[leaf[0]] / total == pytest.approx(share, abs=0.02)


def test_a_tree_keeps_the_shape_of_a_heavy_tail():
    """Under 2 % between the distribution functions at epsilon about one, on bounds much too wide."""
    positions = money()
    _, _, result = asked({"m": MONEY}, {"m": positions})
    assert ks(positions, result["m"]) < 0.02


def test_what_does_not_stand_out_is_counted_together_in_blocks_that_double():
    """Away from what does: of the far leaves, a row or none each, a fraction of their noise stays in their sum."""
    positions = np.concatenate([np.repeat(np.arange(100), 200), np.arange(2_000, 10_000, 100)])
    place, ends = setting({"n": {"type": "integer", "min": 0, "max": 9_999}}), []
    for seed in range(20):
        asked = ask_columns(OpenSession({"n": positions}, place, seed=seed), place, share=0.5)
        own = [r for r in asked if r.question.purpose != BLOCKS]
        (together,) = (r for r in asked if r.question.purpose == BLOCKS)
        groups = together.question.marginals[0].bins[0].groups
        assert np.bincount(groups[groups >= 0]).tolist() == [4, 8, 16, 10]
        ends.append([])
        for releases in (own, [*own, together]):
            column = count_leaves(releases, place).histograms["n"]
            ends[-1].append(column.counted.rows[column.starts >= 2_000].sum())
    alone, both = np.sqrt(np.mean((np.array(ends) - 80) ** 2, axis=0))
    assert both < 0.6 * alone


@pytest.mark.parametrize("size", [200, 10_000])
def test_where_noise_is_more_than_all_rows_a_column_still_has_them(size):
    place = setting({"n": {"type": "integer", "min": 0, "max": size - 1}}, mu=0.003)
    for seed in range(40):
        releases = ask_columns(OpenSession({"n": np.arange(20)}, place, seed=seed), place, share=0.02)
        column = estimate_columns(releases, place).histograms["n"]
        assert np.isfinite(column.mass).all()
        assert column.mass.sum() == pytest.approx(estimate_columns(releases, place).total)


def test_a_number_that_is_counted_position_by_position_has_its_whole_share_there():
    place = setting({"n": {"type": "integer", "min": 0, "max": 199}})
    (only,) = ask_columns(OpenSession({"n": np.repeat(np.arange(40), 500)}, place), place, share=0.5)
    assert spent_share([only], place) == pytest.approx(0.5)


@pytest.mark.parametrize("size", [257, 1025, 10**6, 2**53])
def test_any_width_works_and_leaves_cover_it(size):
    column = {"m": {"type": "integer", "min": 0, "max": size - 1, "nullable": True}}
    positions = np.random.default_rng(0).integers(0, size, 3000)
    positions[:1000] = size // 3
    positions[1000:1200] = size
    session, total, result = asked(column, {"m": positions}, mu=2.0)
    histogram = result["m"]
    assert histogram.starts[0] == 0
    assert histogram.starts[-1] == size
    assert (histogram.widths > 0).all()
    assert histogram.mass.sum() == pytest.approx(total, rel=1e-6)
    spike = np.flatnonzero(histogram.starts == size // 3)
    assert histogram.widths[spike].tolist() == [1]
    assert max(m.bins[0].starts.size for q in session.asked for m in q.marginals) < 3 * LIMIT


def test_rows_are_estimated_or_public():
    columns = {
        "s": {"type": "boolean", "categories": ["a", "b"]},
        "t": {"type": "integer", "min": 0, "max": 99},
    }
    rng = np.random.default_rng(0)
    positions = {"s": rng.integers(0, 2, 5000), "t": rng.integers(0, 100, 5000)}
    _, total, _ = asked(columns, positions, mu=1.0)
    assert total != 5000
    assert total == pytest.approx(5000, abs=30)
    public = setting(columns, 1.0, public_rows=5000)
    releases = ask_columns(OpenSession(positions, public), public, share=0.5)
    assert estimate_columns(releases, public).total == 5000


@pytest.mark.parametrize("rows", [0, 1])
def test_an_empty_table_gives_a_proper_histogram(rows):
    positions = {"m": np.full(rows, 7), "s": np.zeros(rows, dtype=np.int64)}
    columns = {"m": MONEY, "s": {"type": "categorical", "categories": list("abc")}}
    _, total, result = asked(columns, positions, mu=0.001)
    assert total >= 1
    assert all((h.mass >= 0).all() and h.mass.sum() == pytest.approx(total) for h in result.values())


CODE = {"type": "categorical", "categories": [f"c{i}" for i in range(60)]}


def code(rows=2_000):
    """Positions of a category with few frequent values and many rare ones."""
    return np.minimum(np.random.default_rng(2).geometric(0.3, rows) - 1, 59)


def test_two_counts_of_a_column_say_as_much_as_one_of_their_precision():
    """Averaged before anything is made of them: smoothed counts averaged with raw ones are worse than either rule."""
    errors = {"once": [], "twice": []}
    held = np.bincount(code(), minlength=60)
    place = setting({"c": CODE}, mu=0.05)
    for seed in range(40):
        session = OpenSession({"c": code()}, place, seed=seed)
        whole = ask_columns(session, place, share=1 - 1e-9)
        session = OpenSession({"c": code()}, place, seed=seed)
        parts = ask_columns(session, place, share=0.7)
        parts += ask_flat_again(session, place, share=0.3 - 1e-9)
        for label, releases in (("once", whole), ("twice", parts)):
            result = estimate_columns(releases, place).histograms["c"]
            errors[label].append(np.abs(result.mass - held).sum() / len(code()) / 2)
            assert result.sigma == pytest.approx(1 / 0.05, rel=1e-6)
    assert np.mean(errors["twice"]) < 1.08 * np.mean(errors["once"])


@pytest.mark.parametrize(("rows", "share"), [(2_000, 0.33), (80_000, 0.2475)])
def test_one_ways_take_all_of_their_share_only_where_noise_is_large_beside_the_rows(rows, share):
    place = setting({"c": CODE, "d": CODE}, mu=0.1)
    session = OpenSession({"c": code(rows), "d": code(rows)[::-1]}, place)
    releases = Mixture(rounds=0).measure(Run(session, place))
    alone = [r for r in releases if len(r.question.marginals[0].columns) == 1]
    assert spent_share(alone, place) == pytest.approx(share, rel=1e-6)
    assert session.spent == pytest.approx(0.1**2, rel=1e-3)
