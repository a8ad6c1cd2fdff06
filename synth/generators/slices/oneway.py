"""One-ways from slices alone, where nothing else was asked: noisy means of the coordinates."""

from collections.abc import Sequence

import numpy as np

from synth.generators.marginals.histogram import Histogram
from synth.lazy import Lazy
from synth.numeric.disk_array import chunks
from synth.questions import Bins, SlicesRelease
from synth.schema.table import Schema

optimize = Lazy("scipy.optimize")

# variance of a bin's log share before anything is seen; a public guess (3 to 30 did alike on ACSIncome, Colorado)
SURPRISE = 10.0
DUAL = {"maxiter": 500, "maxfun": 1000, "ftol": 1e-13, "gtol": 1e-9}
ROUNDS = 60  # of bisection for where a number's law is centred


def rows_and_histograms(release: SlicesRelease, schema: Schema, *, rows: float) -> tuple[float, dict[str, Histogram]]:
    """Row count, at least 1, and every column's histogram. ``rows``: the public or separately counted number.

    A column of one-hot coordinates has the shares of greatest entropy that fit its noisy sums; one on a line the
    normal law, cut off at its ends, that has the noisy mean and about the noisy variance. Where rows were sampled all
    is estimated for the sample, of which the expected size is known, and raised to the table.
    """
    whole = max(rows, 1.0)
    total = max(rows * release.question.share, 1.0)
    sums, squares, shares = _sums(release, total)
    noise = max(len(release.values), 1) * release.question.sigma**2
    result = {n: _blank(n, c.cells, whole) for n, c in schema.measured().items()}
    start = 0
    for i, (block, table) in enumerate(zip(release.question.encoding.blocks, release.question.tables, strict=True)):
        span = slice(start, start + block.width)
        start = span.stop
        square = None if squares is None else squares[span]
        if shares is not None and block.width == len(table):
            mass = total * shares[i]
        else:
            mass = _mass(table, sums[span], square, total, noise)
        result[block.bins.column] = Histogram(
            column=block.bins.column,
            cells=block.bins.cells,
            starts=block.bins.starts,
            mass=mass[block.bins.groups] * (whole / total),
            sigma=1.0,
        )
    return whole, result


def _sums(release: SlicesRelease, total: float) -> tuple[np.ndarray, np.ndarray | None, list[np.ndarray] | None]:
    """Noisy totals of the coordinates over all rows; those of their squares, the noise's own taken off, if told.

    From fewer slices than coordinates: those of the shares that ``_shares`` finds, and these.
    """
    values = release.values
    sums = np.sum([p.sum(0) for p in chunks(values)], axis=0)
    if release.directions is not None:
        shares = _shares(release, sums / total, total)
        means = [m @ t for m, t in zip(shares, release.question.tables, strict=True)]
        return total * np.concatenate(means), None, shares
    squares = np.sum([(p**2).sum(0) for p in chunks(values)], axis=0) - len(values) * release.question.sigma**2
    grouped = release.question.groups is not None  # then rows of a group multiply with each other
    return sums, squares - sums**2 / len(values) if grouped else squares, None


def _shares(release: SlicesRelease, seen: np.ndarray, total: float) -> list[np.ndarray]:
    """Shares of each column's bins from the mean row's slices ``seen``, by greatest entropy."""
    tables, directions = release.question.tables, release.directions
    assert directions is not None
    parts = np.split(directions, np.cumsum([t.shape[1] for t in tables])[:-1])
    noise = max(len(release.values), 1) * (release.question.sigma / total) ** 2
    return _likeliest(tables, [t @ d for t, d in zip(tables, parts, strict=True)], seen, noise)


def _likeliest(
    tables: Sequence[np.ndarray], slopes: Sequence[np.ndarray], seen: np.ndarray, noise: float
) -> list[np.ndarray]:
    """Shares of greatest entropy whose mean (m,), ``slopes`` (bins, m) their bins', is ``seen`` up to noise.

    Most bins of a wide column lie below the noise, or fewer slices than bins are known: least squares alone would put
    all of it on a few bins. Here the misfit's half chi-square plus, for each column, its coordinates / ``SURPRISE``
    times the relative entropy against even shares is least: the shares are then exponential in a combination of the
    slices, found by its dual, which is smooth and has one unknown a slice. **Source**: Jaynes 1957; the dual with a
    quadratic misfit is that of Dudik, Phillips and Schapire, JMLR 8 (2007).
    """
    ends, stiff = np.cumsum([0] + [len(t) for t in tables]), [t.shape[1] / SURPRISE for t in tables]
    flat = np.concatenate(slopes)

    def dual(price: np.ndarray) -> tuple[float, np.ndarray]:
        height, shares = _exponential(flat @ price, ends, stiff)
        value = height - price @ seen + noise / 2 * price @ price
        return value, flat.T @ np.concatenate(shares) - seen + noise * price

    solution = optimize.minimize(dual, np.zeros(len(seen)), jac=True, method="L-BFGS-B", options=DUAL)
    return _exponential(flat @ solution.x, ends, stiff)[1]


def _exponential(scores: np.ndarray, ends: np.ndarray, stiff: list[float]) -> tuple[float, list[np.ndarray]]:
    """(sum of stiffness times log mean exp(scores / stiffness), each column's shares): its gradient in the scores."""
    height, shares = 0.0, []
    for low, high, by in zip(ends, ends[1:], stiff, strict=False):
        x = scores[low:high] / by
        grown = np.exp(x - x.max())
        height += by * (float(np.log(grown.mean())) + float(x.max()))
        shares.append(grown / grown.sum())
    return height, shares


def _mass(table: np.ndarray, sums: np.ndarray, squares: np.ndarray | None, total: float, noise: float) -> np.ndarray:
    """Rows of each bin, (bins,)."""
    bins, wide = table.shape
    if bins == 1:
        return np.full(1, total)
    if wide == bins:
        return total * _likeliest([table], [table], sums / total, noise / total**2)[0]
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
