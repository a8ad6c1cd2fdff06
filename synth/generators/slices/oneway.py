"""One-ways from slices alone, where nothing else was asked: noisy means of the coordinates."""

import numpy as np

from synth.generators.marginals.denoise import project
from synth.generators.marginals.histogram import Histogram
from synth.questions import Bins, SlicesRelease
from synth.schema import Schema

STEPS = 500  # of least squares, at most
ROUNDS = 60  # of bisection for where a number's law is centred


def rows_and_histograms(release: SlicesRelease, schema: Schema, *, rows: float) -> tuple[float, dict[str, Histogram]]:
    """Row count, at least 1, and every column's histogram. ``rows``: the public or separately counted number.

    A column of one-hot coordinates has the projection of its noisy sums on the simplex; one on a line the
    normal law, cut off at its ends, that has the noisy mean and about the noisy variance.
    """
    total = max(rows, 1.0)
    sums, squares = _sums(release, total)
    found = {n: _blank(n, c.cells, total) for n, c in schema.measured().items()}
    start = 0
    for block, table in zip(release.question.encoding.blocks, release.question.tables, strict=True):
        span = slice(start, start + block.width)
        start = span.stop
        square = None if squares is None else squares[span]
        mass = _mass(table, sums[span], square, total, len(release.values) * release.question.sigma**2)
        found[block.bins.column] = Histogram(
            column=block.bins.column,
            cells=block.bins.cells,
            starts=block.bins.starts,
            mass=mass[block.bins.groups],
            sigma=1.0,
        )
    return total, found


def _sums(release: SlicesRelease, total: float) -> tuple[np.ndarray, np.ndarray | None]:
    """Noisy totals of the coordinates over all rows; those of their squares, the noise's own taken off, if told.

    From fewer slices than coordinates: those of the shares that ``_shares`` finds.
    """
    values = release.values
    sums = values.sum(0)
    if release.directions is not None:
        shares = _shares(release, sums / total, total)
        return total * np.concatenate([m @ t for m, t in zip(shares, release.question.tables, strict=True)]), None
    squares = (values**2).sum(0) - len(values) * release.question.sigma**2
    grouped = release.question.groups is not None  # then rows of a group multiply with each other
    return sums, squares - sums**2 / len(values) if grouped else squares


def _shares(release: SlicesRelease, seen: np.ndarray, total: float) -> list[np.ndarray]:
    """Shares of each column's bins whose mean row has the slices ``seen``, by least squares, from even shares on.

    That shares are not negative and sum to one stands in for the slices that were not released. It ends when the misfit
    is what the noise makes. **Source**: accelerated projected gradients, Beck and Teboulle 2009.
    """
    tables, directions = release.question.tables, release.directions
    assert directions is not None
    ends = np.cumsum([t.shape[1] for t in tables])[:-1]
    slopes = [t @ d for t, d in zip(tables, np.split(directions, ends), strict=True)]
    noise = len(release.values) * (release.question.sigma / total) ** 2 * directions.shape[1]
    rate = 1 / max(float(np.linalg.norm(np.concatenate(slopes), 2)) ** 2, 1e-300)
    shares = ahead = [np.full(len(t), 1 / len(t)) for t in tables]
    for step in range(STEPS):
        apart = sum((m @ s for m, s in zip(ahead, slopes, strict=True)), -seen)
        if apart @ apart <= noise:
            break
        moved = [project(m - rate * (s @ apart), total=1.0) for m, s in zip(ahead, slopes, strict=True)]
        ahead = [m + step / (step + 3) * (m - old) for m, old in zip(moved, shares, strict=True)]
        shares = moved
    return shares


def _mass(table: np.ndarray, sums: np.ndarray, squares: np.ndarray | None, total: float, noise: float) -> np.ndarray:
    """Rows of each bin, (bins,)."""
    bins, wide = table.shape
    if bins == 1:
        return np.full(1, total)
    if wide == bins:
        return project(np.linalg.solve(table.T, sums), total=total)
    height = float(table[:, 0].max())
    inner = np.flatnonzero(table[:, 1:].sum(1) <= 0)
    outer = np.flatnonzero(table[:, 1:].sum(1) > 0)
    codes = np.clip(sums[1:] / max(table[outer, 1:].max(initial=0.0), 1e-300), 0.0, total)
    left = max(total - codes.sum(), 1e-3 * total)
    place = table[inner, 0] / max(height, 1e-300)
    mean = float(np.clip(sums[0] / max(height, 1e-300) / left, 0.0, 1.0))
    spread = 1 / 12  # of even shares
    if squares is not None:
        spread = float(np.clip(squares[0] / max(height**2, 1e-300) / left - mean**2, 0.0, spread))
    doubt = np.sqrt(noise) / max(height, 1e-300) / left
    out = np.zeros(bins)
    out[inner] = left * _tilted(place, mean, max(spread, 1e-3, doubt**2))
    out[outer] = codes
    return out * (total / out.sum())


def _tilted(place: np.ndarray, mean: float, spread: float) -> np.ndarray:
    """Shares that fall off as a normal law of this variance, centred so that their mean is the given one."""
    low, high = -3.0, 4.0
    for _ in range(ROUNDS):
        centre = (low + high) / 2
        energy = (place - centre) ** 2 / (2 * spread)
        share = np.exp(energy.min() - energy)
        share /= share.sum()
        low, high = (centre, high) if share @ place < mean else (low, centre)
    return share


def _blank(name: str, cells: int, total: float) -> Histogram:
    return Histogram(column=name, cells=cells, starts=np.zeros(1, dtype=np.int64), mass=np.array([total]), sigma=1.0)


def one_bin(name: str, cells: int) -> Bins:
    """All positions of a column in one bin: its count is the number of rows."""
    return Bins(column=name, cells=cells, starts=np.zeros(1, dtype=np.int64), groups=np.zeros(1, dtype=np.int64))
