"""One-way questions stay within their share, and trees keep both the spikes and the shape of a wide range."""

import numpy as np
import pytest

from synth.generators.base import Setting
from synth.generators.marginals import oneway_queries
from synth.generators.marginals.histogram import estimate
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
    releases = oneway_queries.measure(session, place, share=share, whole=whole)
    total, found = estimate(releases, place)
    return session, total, found


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
    session, _, _ = asked({"m": MONEY, "s": {"type": "boolean", "categories": ["a", "b"]}},
                       {"m": money(), "s": money() % 2}, whole=whole)  # fmt: skip
    spent = session.spent / 0.27**2
    assert spent <= 0.5
    assert spent > (0.499 if whole else 0.3)


def test_a_tree_keeps_spikes_as_single_values():
    _, total, found = asked({"m": MONEY}, {"m": money()})
    histogram = found["m"]
    for value, share in ((0, 1 / 3), (50_000, 1 / 6)):
        leaf = np.flatnonzero(histogram.starts == value + 1_000_000)
        assert len(leaf) == 1, value
        assert histogram.widths[leaf[0]] == 1, value
        assert histogram.mass[leaf[0]] / total == pytest.approx(share, abs=0.02)


def test_a_tree_keeps_the_shape_of_a_heavy_tail():
    """Under 2 % between the distribution functions at epsilon about one, on bounds much too wide."""
    positions = money()
    _, _, found = asked({"m": MONEY}, {"m": positions})
    assert ks(positions, found["m"]) < 0.02


@pytest.mark.parametrize("size", [257, 1025, 10**6, 2**53])
def test_any_width_works_and_leaves_cover_it(size):
    column = {"m": {"type": "integer", "min": 0, "max": size - 1, "nullable": True}}
    positions = np.random.default_rng(0).integers(0, size, 3000)
    positions[:1000] = size // 3
    positions[1000:1200] = size
    session, total, found = asked(column, {"m": positions}, mu=2.0)
    histogram = found["m"]
    assert histogram.starts[0] == 0
    assert histogram.starts[-1] == size
    assert (histogram.widths > 0).all()
    assert histogram.mass.sum() == pytest.approx(total, rel=1e-6)
    spike = np.flatnonzero(histogram.starts == size // 3)
    assert histogram.widths[spike].tolist() == [1]
    assert max(m.bins[0].starts.size for q in session.asked for m in q.marginals) < 3 * oneway_queries.LIMIT


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
    releases = oneway_queries.measure(OpenSession(positions, public), public, share=0.5)
    assert estimate(releases, public)[0] == 5000


@pytest.mark.parametrize("rows", [0, 1])
def test_an_empty_table_gives_a_proper_histogram(rows):
    positions = {"m": np.full(rows, 7), "s": np.zeros(rows, dtype=np.int64)}
    columns = {"m": MONEY, "s": {"type": "categorical", "categories": list("abc")}}
    _, total, found = asked(columns, positions, mu=0.001)
    assert total >= 1
    assert all((h.mass >= 0).all() and h.mass.sum() == pytest.approx(total) for h in found.values())
