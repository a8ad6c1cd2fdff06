"""What `mst` and `aim` share: bins, the question to OpenDP, and a Markov random field fitted to its answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from synth.errors import BudgetError, need
from synth.generators.base import Ask, Fit, Progress, Setting, part
from synth.generators.marginals import oneway_queries
from synth.generators.marginals.histogram import PURPOSE as ONE_WAY
from synth.generators.marginals.histogram import Histogram, estimate
from synth.generators.marginals.independent import Independent
from synth.generators.marginals.merging import merge
from synth.generators.marginals.mixture import SAFE, axis
from synth.generators.product_mixture.model import Product
from synth.numeric.markov_field import MarkovRandomField, MeasuredTable
from synth.questions import Bins, CountsRelease, External, ExternalRelease

NEEDS = ("opendp", "mbi", "polars")  # the extra [mbi]
RECORDS = 30_000  # most records drawn from the field: the model's components
CELLS = 50_000_000  # most cells (4 bytes each) of all columns' component tables together
LEAST_RHO = 1e-9  # for each column; at a tenth OpenDP's sums of noise overflow halfway, after the spend
Workload = tuple[tuple[tuple[int, ...], float], ...]
HALVINGS = 20  # of the search for the weight of a bin


def check_installed() -> None:
    """Errors: UsageError when the libraries that the question is put to are not installed."""
    need("this method", "mbi", *NEEDS)


def measure(
    ask: Ask,
    setting: Setting,
    *,
    algorithm: str,
    bins: int,
    numbers: float,
    workload: Callable[[Setting, Sequence[Bins]], Workload],
    progress: Progress,
    **limits: Any,
) -> list[Any]:
    """Counts of numbers for their bins, with the share ``numbers`` of the budget, then the one external question.

    ``workload``: the tables to choose among, by the bins.
    """
    check_installed()
    progress(0.0)
    wide = {n: c for n, c in setting.schema.measured().items() if c.is_numeric and c.cells > bins}
    one = replace(setting, mu=sqrt(2 * setting.rho), schema=setting.schema.model_copy(update={"columns": wide}))
    releases: list[Any] = oneway_queries.measure(ask, one, share=numbers) if wide else []
    left = 1 - oneway_queries.spent(releases, one)
    groups = [b for b in grouped(releases, setting, bins=bins).values() if b.size > 1]
    progress(0.1)
    if len(groups) < 2:  # no pair to speak of: the rest of the budget counts the columns
        rest = replace(setting, mu=sqrt(max(setting.mu**2 - 2 * setting.rho * (1 - left), 0.0)))
        return releases + oneway_queries.measure(ask, rest, share=SAFE, whole=True)
    rho = setting.rho * left * SAFE
    if rho < LEAST_RHO * len(groups):
        raise BudgetError(
            f"method {algorithm}: epsilon and delta are so small that its library cannot draw the noise; raise epsilon"
        )
    rows = round(setting.signed)
    limits |= {"workload": workload(setting, groups), "contributions": rows}
    releases.append(ask(External(purpose=algorithm, algorithm=algorithm, bins=tuple(groups), rho=rho, **limits)))
    progress(1.0)
    return releases


def grouped(releases: Sequence[Any], setting: Setting, *, bins: int) -> dict[str, Bins]:
    """Each column's bins: categories and short ranges value by value, long ones in about ``bins`` of equal weight."""
    result = _numbers(releases, setting)
    return {
        name: _even(result[name], column.size, bins) if name in result else Bins.each(name, column.cells)
        for name, column in setting.schema.measured().items()
    }


def _numbers(releases: Sequence[Any], setting: Setting) -> dict[str, Histogram]:
    """Histograms of the columns that were counted for their bins."""
    counted = [r for r in releases if isinstance(r, CountsRelease) and r.question.purpose.startswith(ONE_WAY)]
    names = {m.columns[0] for r in counted for m in r.question.marginals}
    columns = {n: c for n, c in setting.schema.columns.items() if n in names}
    if not columns:
        return {}
    return estimate(counted, replace(setting, schema=setting.schema.model_copy(update={"columns": columns})))[1]


def _even(histogram: Histogram, size: int, most: int) -> Bins:
    """At most ``most`` bins of about equal weight for numbers, heavy ones alone; one for each missing code."""
    number = histogram.starts < size
    mass = histogram.mass[number]
    low, high = 0.0, max(float(mass.sum()), 1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if merge(mass, least=middle).max() + 1 > most else (low, middle)
    owner = merge(mass, least=high)
    groups = np.concatenate([owner, owner.max() + 1 + np.arange(np.count_nonzero(~number))])
    return Bins(column=histogram.column, cells=histogram.cells, starts=histogram.starts, groups=groups)


def fit(
    releases: Sequence[Any], setting: Setting, *, steps: int, rng: np.random.Generator, device: str, progress: Progress
) -> Product:
    """Records drawn from the random field that agrees best with the measured tables, as a mixture of that many."""
    asked = [r for r in releases if isinstance(r, ExternalRelease)]
    if not asked:
        return Independent().fit(releases, setting, Fit(rng, device=device, progress=progress))
    release = asked[-1]
    bins = {b.column: b for b in release.question.bins}
    field = MarkovRandomField.fit(
        [b.size for b in bins.values()],
        [MeasuredTable(*t) for t in zip(release.cliques, release.values, release.sigmas, strict=True)],
        total=None if setting.public_rows is None else float(max(setting.public_rows, 1)),
        iterations=steps,
        progress=part(progress, 0.0, 0.9),
    )

    def draw(count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {b: k for b, (_, k) in zip(bins, sorted(field.draw(count, rng).items()), strict=True)}

    made = as_product(draw, bins, releases, setting, total=field.total, rng=rng)
    progress(1.0)
    return made


def as_product(
    draw: Callable[[int, np.random.Generator], Mapping[str, np.ndarray]],
    bins: Mapping[str, Bins],
    releases: Sequence[Any],
    setting: Setting,
    *,
    total: float,
    rng: np.random.Generator,
) -> Product:
    """Drawn records as the components of a mixture: each certain of its bins, columns without bins on their own.

    Memory: 4 bytes for each record and bin, at most 200 MB.
    """
    result = _numbers(releases, setting)
    count = int(max(min(total, RECORDS, CELLS / sum(b.size for b in bins.values())), 1))
    records = draw(count, rng)
    axes = []
    for name, column in setting.schema.measured().items():
        histogram = result.get(name) or _flat(name, column.cells)
        if name not in bins:
            mass = histogram.mass / histogram.mass.sum()
            axes.append(axis(histogram, np.arange(len(mass)), np.tile(mass, (count, 1))))
            continue
        probs = np.zeros((count, bins[name].size), dtype=np.float32)
        probs[np.arange(count), records[name]] = 1.0
        axes.append(axis(histogram, bins[name].groups, probs))
    return Product(total=float(total), weights=np.full(count, 1 / count), axes=tuple(axes))


def _flat(name: str, cells: int) -> Histogram:
    return Histogram(column=name, cells=cells, starts=np.arange(cells), mass=np.ones(cells), sigma=1.0)
