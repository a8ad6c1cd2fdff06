"""`aim` and `mst` as OpenDP and mbi run them (the extra `mbi`), which ours are measured against.

Bins of numbers, one question that the other library answers, and a Markov random field fitted to its answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod, sqrt
from typing import Any

import numpy as np

from synth.errors import BudgetError, need
from synth.generators.base import PAIR, Fit, Run, Setting, Workload, part
from synth.generators.core.columns import ONEWAY as ONE_WAY
from synth.generators.core.columns import Histogram, estimate_columns, merge
from synth.generators.core.mixture import SAFE, Independent, axis
from synth.generators.core.oneways import ask_columns, spent_share
from synth.generators.core.product import Product
from synth.generators.method import SHARE, STEPS, Method, option
from synth.numeric.markov_field import MarkovRandomField, MeasuredTable
from synth.questions import Bins, CountsRelease, External, ExternalRelease
from synth.schema.table import Schema

NEEDS = ("opendp", "mbi", "polars")  # the extra [mbi]
RECORDS = 30_000  # most records drawn from the field: the model's components
MOST_NUMBERS = 50_000_000  # (4 bytes each) of all columns' component tables together
NAMED_CELLS = 1 << 20  # of a named table on these bins; of a larger one only its pairs are candidates
LEAST_RHO = 1e-9  # for each column; at a tenth OpenDP's sums of noise overflow halfway, after the spend
HALVINGS = 20  # of the search for the weight of a bin

Tables = tuple[tuple[tuple[int, ...], float], ...]


@dataclass(frozen=True, kw_only=True)
class Mst(Method):
    """One-way tables, then the pairs of a maximum spanning tree, chosen privately (arXiv 2108.04978).

    ``bins``: most bins of a number. ``numbers``: share of the budget for finding them. ``steps``: most, of
    the fit: more would follow the noise of large tables.
    **Guarantee**: asks within ``setting.rho``; ``fit`` sees releases only.
    """

    name = "mst"
    summary = "OpenDP's MST: tables of the pairs that depend most on each other, joined into a tree"
    reads = (CountsRelease, ExternalRelease)
    by_torch = False
    bins: int = option(32, 2, 4096)
    numbers: float = option(0.1, *SHARE)
    steps: int = option(500, *STEPS)

    def limits(self, setting: Setting, bins: Sequence[Bins]) -> dict[str, Any]:  # noqa: ARG002
        """Options of this algorithm alone."""
        return {"workload": ()}

    def check_schema(self, schema: Schema) -> None:  # noqa: ARG002
        """Errors: UsageError, before anything is spent, when the libraries that are asked are not installed."""
        need("this method", "mbi", *NEEDS)

    def measure(self, run: Run) -> list[Any]:
        """Counts of numbers for their bins, with the share ``numbers`` of the budget, then one external question."""
        setting = run.setting
        self.check_schema(setting.schema)
        run.progress(0.0)
        releases, left = first_bins(run, bins=self.bins, share=self.numbers)
        groups = [b for b in grouped(releases, setting, bins=self.bins).values() if b.size > 1]
        run.progress(0.1)
        if len(groups) < 2:  # no pair to speak of: the rest of the budget counts the columns
            rest = replace(setting, mu=sqrt(max(setting.mu**2 - 2 * setting.rho * (1 - left), 0.0)))
            return releases + ask_columns(run.ask, rest, share=SAFE, whole=True)
        rho = setting.rho * left * SAFE
        if rho < LEAST_RHO * len(groups):
            raise BudgetError(
                "method {}: epsilon and delta are so small that its library cannot draw the noise; raise epsilon",
                self.name,
            )
        limits = {**self.limits(setting, groups), "contributions": round(setting.signed)}
        asked = External(purpose=self.name, algorithm=self.name, bins=tuple(groups), rho=rho, **limits)
        releases.append(run.ask(asked))
        run.progress(1.0)
        return releases

    def fit(self, releases: Sequence[Any], setting: Setting, how: Fit) -> Product:
        """Records drawn from the random field that agrees best with the measured tables, as a mixture of that many."""
        asked = [r for r in releases if isinstance(r, ExternalRelease)]
        if not asked:
            return Independent().fit(releases, setting, how)
        release = asked[-1]
        bins = {b.column: b for b in release.question.bins}
        field = MarkovRandomField.fit(
            [b.size for b in bins.values()],
            [MeasuredTable(*t) for t in zip(release.cliques, release.values, release.sigmas, strict=True)],
            total=None if setting.public_rows is None else float(max(setting.public_rows, 1)),
            iterations=self.steps,
            progress=part(how.progress, 0.0, 0.9),
        )

        def draw(count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
            return {b: k for b, (_, k) in zip(bins, sorted(field.draw(count, rng).items()), strict=True)}

        made = as_product(draw, bins, releases, setting, total=field.total, rng=how.rng)
        how.progress(1.0)
        return made


@dataclass(frozen=True, kw_only=True)
class Aim(Mst):
    """One-way tables, then round after round the table that the model fits worst, with growing budgets.

    ``bins``: most bins of a number. ``numbers``: share of the budget for finding them. ``steps``: most, of the fit.
    ``rounds``: most rounds; 0 for OpenDP's 16 for each column. ``max_size``: most megabytes of the model. Named tables
    of up to four columns are its workload, with all pairs.
    **Guarantee**: asks within ``setting.rho``; ``fit`` sees releases only.
    **Source**: arXiv 2201.12677.
    """

    name = "aim"
    summary = "OpenDP's AIM: tables chosen one after another where the model is worst"
    takes_uses = True
    steps: int = option(3000, *STEPS)
    rounds: int = option(0, 0, 10_000)
    max_size: float = option(80.0, 0.01, 100_000)

    def limits(self, setting: Setting, bins: Sequence[Bins]) -> dict[str, Any]:
        """All pairs and the named tables, weighted as errors in them matter; none where no use is named."""
        return {"workload": weighted(setting.workload, bins), "rounds": self.rounds, "max_size": self.max_size}


def weighted(workload: Workload, bins: Sequence[Bins]) -> Tables:
    """All pairs of columns, weighted as uses need them, and named tables of three and more columns at ``PAIR`` times
    their weight; nothing where no use is named.

    Privacy: public only, or released answers only as the bins are.

    >>> from synth.generators.base import NamedTable
    >>> bins = [Bins.each(n, 2) for n in "abc"]
    >>> weighted(Workload(tables=(NamedTable(columns=("c", "a"), weight=2.0),)), bins)
    (((0, 1), 1.0), ((0, 2), 15.0), ((1, 2), 1.0))
    """
    if not (workload.tables or workload.targets or workload.columns):
        return ()
    number = {b.column: i for i, b in enumerate(bins)}
    matter = {*workload.targets}
    made: dict[tuple[int, ...], float] = {}
    for a, b in combinations(number, 2):
        made[number[a], number[b]] = max(workload.pair_weight((a, b)), PAIR if matter & {a, b} else 1.0)
    for table in workload.tables:
        at = tuple(sorted(number[n] for n in table.columns if n in number))
        if len(at) > 2 and prod(bins[i].size for i in at) <= NAMED_CELLS:
            made[at] = max(made.get(at, 0.0), PAIR * table.weight)
    return tuple(made.items())


def first_bins(run: Run, *, bins: int, share: float) -> tuple[list[Any], float]:
    """Counts of the numbers of more than ``bins`` values, for their bins; what they leave of the budget, as a share."""
    wide = {n: c for n, c in run.setting.schema.measured().items() if c.is_numeric and c.cells > bins}
    schema = run.setting.schema.model_copy(update={"columns": wide})
    one = replace(run.setting, mu=sqrt(2 * run.setting.rho), schema=schema)
    counts = ask_columns(run.ask, one, share=share) if wide else []
    return [*counts], 1 - spent_share(counts, one)


def grouped(releases: Sequence[Any], setting: Setting, *, bins: int) -> dict[str, Bins]:
    """Each column's bins: categories and short ranges value by value, long ones in about ``bins`` of equal weight."""
    result = _numbers(releases, setting)
    return {
        name: _even(result[name], column.size, bins) if name in result else Bins.each(name, column.cells)
        for name, column in setting.schema.measured().items()
    }


def _numbers(releases: Sequence[Any], setting: Setting) -> Mapping[str, Histogram]:
    """Histograms of the columns that were counted for their bins."""
    counted = [r for r in releases if isinstance(r, CountsRelease) and r.question.purpose.startswith(ONE_WAY)]
    names = {m.columns[0] for r in counted for m in r.question.marginals}
    columns = {n: c for n, c in setting.schema.columns.items() if n in names}
    if not columns:
        return {}
    return estimate_columns(
        counted, replace(setting, schema=setting.schema.model_copy(update={"columns": columns}))
    ).histograms


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
    count = int(max(min(total, RECORDS, MOST_NUMBERS / sum(b.size for b in bins.values())), 1))
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
