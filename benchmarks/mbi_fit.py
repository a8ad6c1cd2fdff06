"""Two models of the same noisy tables: `synth.mixtures.fit`, and mirror descent of mbi's Markov random field.

    python benchmarks/mbi_fit.py [--rows 50000] [--sigma 40] [--seeds 3]

Needs the extra ``mbi``. Ten columns of eight values that follow two hidden ones; counted are a chain of pairs, a chain
of tables of three columns, all pairs of six of the columns, and all pairs of ten. A field keeps every clique of its
triangulated graph: for all pairs that is the whole domain, 8**6 cells or 8**10, of which the latter no machine holds.
Shown are seconds (mbi's with its compilation), the misfit (squared errors over the noise's variance, a cell), and the
mean total variation from the true table: of those counted, and of all of three of the counted columns.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from math import prod

import numpy as np
from markdown_tables import means
from runner import Row, grid, measured, start

from synth import mixtures
from synth.numeric.markov_field import tree_cells

SIZE, COLUMNS, MOST_CELLS = 8, 10, 100_000_000
Table = Callable[[Sequence[str]], np.ndarray]
CHAIN = [(i, i + 1) for i in range(COLUMNS - 1)]
CASES = {
    "a chain of pairs": CHAIN,
    "a chain of three columns": [(i, i + 1, i + 2) for i in range(COLUMNS - 2)],
    "all pairs of 6 columns": list(combinations(range(6), 2)),
    "all pairs of 10 columns": list(combinations(range(COLUMNS), 2)),
}


def people(rows: int) -> np.ndarray:
    """Codes (rows, COLUMNS): each column follows one of two hidden numbers, or a mix of both."""
    rng = np.random.default_rng(0)
    hidden = rng.random((rows, 2))
    mix = np.linspace(0, 1, COLUMNS)
    score = hidden[:, :1] * mix + hidden[:, 1:] * (1 - mix) + 0.15 * rng.standard_normal((rows, COLUMNS))
    return np.clip(score * SIZE, 0, SIZE - 1).astype(int)


def counted(codes: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """The exact table of these columns."""
    shape = (SIZE,) * len(columns)
    flat = np.ravel_multi_index(tuple(codes[:, columns].T), shape)
    return np.bincount(flat, minlength=prod(shape)).reshape(shape).astype(float)


def by_mixture(measured: list, domain: dict[str, int]) -> Table:
    """The mixture's tables."""
    return mixtures.fit(measured, domain).table


def by_mbi(measured: list, domain: dict[str, int]) -> Table:
    """The field's tables."""
    import mbi
    from mbi import estimation

    field = estimation.mirror_descent(
        mbi.Domain(tuple(domain), tuple(domain.values())),
        [mbi.LinearMeasurement(v.ravel(), c, stddev=s) for c, v, s in measured],
        known_total=float(np.mean([v.sum() for _, v, _ in measured])),
    )
    return lambda columns: np.asarray(field.project(tuple(columns)).values)


def one(_, cell: Row) -> Row:
    """Seconds and errors of one fit; ``failed`` where the field is larger than any machine."""
    case, model, seed, rows, sigma = cell.values()
    codes, rng = people(rows), np.random.default_rng(seed)
    used = sorted({i for t in CASES[case] for i in t})
    domain = {f"c{i}": SIZE for i in used}
    names = {t: tuple(f"c{i}" for i in t) for t in CASES[case]}
    exact = {t: counted(codes, t) for t in names}
    noisy = [(names[t], v + rng.normal(0, sigma, v.shape), sigma) for t, v in exact.items()]
    cells = tree_cells([SIZE] * COLUMNS, CASES[case])
    if model != "mixture" and cells > MOST_CELLS:
        return {"failed": f"the field has {cells:.3g} cells"}
    clock = time.perf_counter()
    table = (by_mixture if model == "mixture" else by_mbi)(noisy, domain)
    made = [table(n) for n in names.values()]
    seconds = time.perf_counter() - clock
    errors = [((m - v) ** 2).mean() / sigma**2 for m, (_, v, _) in zip(made, noisy, strict=True)]
    tv = [0.5 * np.abs(m - exact[t]).sum() / rows for m, t in zip(made, names, strict=True)]
    three = [0.5 * np.abs(table([f"c{i}" for i in t]) - counted(codes, t)).sum() / rows for t in combinations(used, 3)]
    result = {"misfit": errors, "tv": tv, "three": three}
    return {"seconds": seconds, **{n: float(np.mean(x)) for n, x in result.items()}}


SHOWN = {"seconds": 1, "misfit": 2, "tv": ("counted tables", 4), "three": ("of three", 4)}
markdown = partial(means, by=("case", "model"), columns=SHOWN, runs="runs")


def main(given) -> None:
    ways = {"model": ["mixture", "mbi, mirror descent"], "seed": range(given.seeds)}
    print(markdown(measured(given, grid(case=CASES, **ways, rows=[given.rows], sigma=[given.sigma]), one)))


if __name__ == "__main__":
    start(main, json="mbi_fit", rows=50_000, sigma=40.0, seeds=3)
