"""The fit of the method `mixture` by itself: a mixture of product distributions for anybody's noisy tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Positions
from synth.generators.core.columns import Histogram, OneWays, project
from synth.generators.core.mixture import Mixture, axis, rake
from synth.generators.core.problem import lay_out, misfit, refine
from synth.generators.core.product import Product
from synth.generators.core.solver import Options, fit_mixture
from synth.generators.core.tables import NoisyTable
from synth.numeric import networks
from synth.questions import Bins, Marginal

Measurement = tuple[Sequence[str], np.ndarray, float]
MOST_COLUMNS = 4  # of a table


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A mixture of product distributions, and how it came about.

    ``model``: the mixture. ``curve``: on the way, the share of the fit that was done and its loss as a multiple of what
    noise explains. ``misfit``: the loss in the end, what noise explains, the ratio of both, and that of pairs alone.

    Privacy: as private as the measurements, of which it is a function.
    """

    model: Product
    curve: tuple[tuple[float, float], ...]
    misfit: Mapping[str, float]

    def table(self, columns: Sequence[str]) -> np.ndarray:
        """Expected counts of these columns' values together, one axis for each. Errors: UsageError for another name."""
        probs = {a.column: a.probs.astype(float)[:, a.groups] * a.within for a in self.model.axes}
        unknown = [n for n in columns if n not in probs]
        if unknown:
            raise UsageError(f"column {unknown[0]!r}: the fit has none of that name; choose of {', '.join(probs)}")
        whole = self.model.weights.astype(float)[:, None] * self.model.total
        for name in columns:
            whole = (whole[:, :, None] * probs[name][:, None, :]).reshape(len(whole), -1)
        return whole.sum(0).reshape([probs[n].shape[1] for n in columns])

    def sample(self, num_rows: int, *, seed: int = 0) -> Positions:
        """So many rows: for each column the codes, (num_rows,) int64."""
        return self.model.sample(num_rows, rng=np.random.default_rng(seed))


def fit(
    measurements: Sequence[Measurement],
    domain: Mapping[str, int],
    *,
    total: float | None = None,
    options: Options | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> Fitted:
    """A mixture of product distributions that follows noisy tables as far as their noise lets it.

    ``measurements``: columns (one to four), noisy counts with one axis for each of them, and the deviation of the noise
    of every count, in rows. ``domain``: how many values each column has, codes from 0 on. ``total``: number of rows, by
    default estimated from the tables. ``options``: of the fit, by default those of the method `mixture`; ``seed``: of
    its start. The fit needs memory and time by the tables' cells, not by the domain's: whichever tables are measured.
    Errors: UsageError for measurements that do not fit the domain.

    Privacy: a function of what it is given; nothing is released by it.

    >>> from synth import mixtures
    >>> rng = np.random.default_rng(0)
    >>> true = 1000.0 * np.array([[4, 1, 0], [0, 1, 4]])
    >>> noisy = [(("a", "b"), true + rng.normal(0, 20, (2, 3)), 20.0), (("c",), np.array([7000.0, 3000.0]), 20.0)]
    >>> fitted = mixtures.fit(noisy, {"a": 2, "b": 3, "c": 2})
    >>> bool(np.abs(fitted.table(("a", "b")) - true).max() < 100), round(fitted.misfit["ratio"]) <= 1
    (True, True)
    >>> {n: codes.shape for n, codes in fitted.sample(5).items()}
    {'a': (5,), 'b': (5,), 'c': (5,)}
    """
    answers = [_checked(m, domain) for m in measurements]
    if not answers:
        raise UsageError("no measurement was given: a fit needs one table at least")
    weights = np.array([1 / (v.size * m.sigma**2) for m, v in answers])  # of the tables' sums, by precision
    counted = max(1.0, float(np.average([v.sum() for _, v in answers], weights=weights)))
    rows = counted if total is None else float(total)
    alone = {n: _alone(n, size, answers, rows) for n, size in domain.items()}
    result = OneWays(total=rows, histograms=alone, setting=None)
    tables = [NoisyTable(marginal=m, values=v) for m, v in answers if len(m.bins) > 1]
    groups = refine(result, tables)
    problem, spans = lay_out(result, groups, tables)
    curve: list[tuple[float, float]] = []

    def noted(done: float) -> None:
        if getattr(done, "loss", None) is not None:
            curve.append((float(done), done.loss / max(problem.cells, 1)))  # type: ignore[attr-defined]

    with networks.one_thread():
        weights, probs = fit_mixture(
            problem,
            Mixture().options if options is None else options,
            rng=np.random.default_rng(seed),
            device=device,
            progress=noted,
        )
    for span in spans.values():
        probs[:, span] = rake(weights, probs[:, span], problem.mass[span])
    axes = tuple(axis(h, groups[n], probs[:, spans[n]]) for n, h in alone.items())
    off = misfit(problem, weights, probs)
    return Fitted(model=Product(total=rows, weights=weights, axes=axes, misfit=off), curve=tuple(curve), misfit=off)


def _checked(measurement: Measurement, domain: Mapping[str, int]) -> tuple[Marginal, np.ndarray]:
    columns, values, sigma = tuple(measurement[0]), np.asarray(measurement[1], dtype=float), float(measurement[2])
    named = f"measurement of {', '.join(columns)}"
    if not 1 <= len(columns) <= MOST_COLUMNS or len(set(columns)) < len(columns):
        raise UsageError(f"{named}: name one to {MOST_COLUMNS} different columns")
    unknown = [n for n in columns if n not in domain]
    if unknown:
        raise UsageError(f"{named}: the domain has no column {unknown[0]!r}; add it with its number of values")
    shape = tuple(domain[n] for n in columns)
    if values.shape != shape or not np.isfinite(values).all():
        raise UsageError(f"{named}: the domain asks for finite counts of shape {shape}, given are {values.shape}")
    if not 0 < sigma < np.inf:
        raise UsageError(f"{named}: the noise's deviation must be above 0; for exact counts give a small one, as 0.1")
    return Marginal(bins=tuple(Bins.each(n, domain[n]) for n in columns), sigma=sigma), values


def _alone(column: str, size: int, answers: Sequence[tuple[Marginal, np.ndarray]], total: float) -> Histogram:
    """A column's counts by all tables that hold it, each weighed by its precision; even where none does."""
    mass, precision = np.zeros(size), 0.0
    for marginal, values in answers:
        if column in marginal.columns:
            at = marginal.columns.index(column)
            others = tuple(i for i in range(values.ndim) if i != at)
            weight = 1 / (prod(values.shape[i] for i in others) * marginal.sigma**2)
            mass, precision = mass + weight * values.sum(others), precision + weight
    known = precision > 0
    counts = project(mass / precision, total=total) if known else np.full(size, total / size)
    sigma = 1 / sqrt(precision) if known else total
    return Histogram(column=column, cells=size, starts=np.arange(size), mass=counts, sigma=sigma)
