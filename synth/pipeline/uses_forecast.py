"""What each use that a schema names will get of a run, before anything is read; and the least epsilon for an error."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log, pi, sqrt
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.generators.method import Method
from synth.pipeline.methods import granted
from synth.pipeline.plan_result import UseForecast
from synth.pipeline.rehearsal import rehearse
from synth.pipeline.uses import tables_of
from synth.privacy.relation import Adjacency
from synth.questions import Counts, Marginal
from synth.schema.table import Schema
from synth.schema.uses import MeansUse

LADDER = (0.1, 0.3, 1.0, 3.0, 10.0)  # at which a forecast is shown beside the one asked for
LEAST, MOST, HALVINGS = 0.01, 20.0, 10  # of an epsilon that is looked for


def averaged(asked: Sequence[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """The questions, a table that was asked before on the same bins with the noise of the average that it completes."""
    known: dict[tuple[int, ...], float] = {}
    out = []
    for question, cells in asked:
        if isinstance(question, Counts):
            reported = []
            for m in question.marginals:
                bins = tuple(id(b) for b in m.bins)
                known[bins] = sqrt(1 / (m.sigma**-2 + known.get(bins, inf) ** -2))
                reported.append(replace(m, sigma=known[bins]))
            question = replace(question, marginals=tuple(reported))
        out.append((question, cells))
    return out


def noise_error(marginals: Sequence[Marginal], rows: int) -> float | None:
    """Mean total variation that noise alone puts into these tables: no cell loses more than it holds."""
    if not marginals:
        return None
    each = [0.5 * m.cells * min(m.sigma * sqrt(2 / pi), 2 * rows / m.cells) / rows for m in marginals]
    return float(np.mean(np.minimum(each, 1.0)))


def _means_off(marginals: Sequence[Marginal], numbers: Collection[str], rows: int) -> float:
    """How far noise alone puts a group's mean off, in deviations of the number, whose bins and groups have equal rows:
    then the squared distances of bins from the mean are 1 on average."""
    bins = [next(b.size for b in m.bins if b.column in numbers) for m in marginals]
    return float(np.mean([sqrt(2 / pi / k) * m.cells * m.sigma / rows for m, k in zip(marginals, bins, strict=True)]))


def forecast(schema: Schema, asked: Sequence[tuple[Any, int]], *, rows: int, epsilon: float) -> list[UseForecast]:
    """What each use gets of these questions, as ``rehearse`` lists them, ``averaged``. Privacy: public only."""
    known: dict[frozenset[str], Marginal] = {}
    for marginal in (m for q, _ in asked if isinstance(q, Counts) for m in q.marginals):
        held = known.get(frozenset(marginal.columns))
        if held is None or noise_error([marginal], rows) < noise_error([held], rows):  # type: ignore[operator]
            known[frozenset(marginal.columns)] = marginal
    out = []
    for named, (use, tables) in zip(schema.uses or (), tables_of(schema), strict=True):
        counted = [known[frozenset(t)] for t in tables if frozenset(t) in known]
        cells = float(np.mean([m.cells for m in counted])) if counted else 0.0
        out.append(
            UseForecast(
                use=use,
                epsilon=epsilon,
                error=noise_error(counted, rows) if len(counted) == len(tables) else None,
                second=min(1.0, 0.5 * sqrt(4 / pi / rows * max(cells - 1, 0.0))),
                tables=len(tables),
                cells=cells,
                means=_means_off(counted, named.of, rows) if counted and isinstance(named, MeansUse) else None,
            )
        )
    return out


@dataclass(frozen=True, kw_only=True)
class Forecaster:
    """Forecasts of a run at any epsilon; ``generator``, ``schema``, ``adjacency``, ``rows``, ``delta``: the run's."""

    generator: Method
    schema: Schema
    adjacency: Adjacency
    rows: int
    delta: float

    def at(self, epsilon: float) -> list[UseForecast]:
        """What each use gets at an epsilon. Errors: UsageError for what a run would be refused for."""
        grant = granted(epsilon, self.delta, self.adjacency, learning=False)
        asked = averaged(rehearse(self.generator, self.schema, grant, rows=self.rows)[0])
        return forecast(self.schema, asked, rows=self.rows, epsilon=epsilon)


def least(at: Callable[[float], Sequence[UseForecast]], error: float) -> dict[str, float | None]:
    """For each use the least epsilon at which noise puts no more than ``error`` of the rows in the wrong place, or puts
    means no more than so many standard deviations off.

    ``at``: what each use gets at an epsilon. None where none up to ``MOST`` does. Errors: UsageError for an error
    outside 0 to 1.

    Privacy: public only.
    """
    if not 0 < error < 1:
        raise UsageError(f"`error={error}`: must lie between 0 and 1, a share of the rows; 0.05 is usual")
    known: dict[float, Sequence[UseForecast]] = {}

    def enough(epsilon: float, use: int) -> bool:
        if epsilon not in known:
            known[epsilon] = at(epsilon)
        one = known[epsilon][use]
        return one.error is not None and (one.error if one.means is None else one.means) <= error

    result: dict[str, float | None] = {}
    known[MOST] = at(MOST)
    for i, one in enumerate(known[MOST]):
        low, high = log(LEAST), log(MOST)
        if not enough(MOST, i):
            result[one.use] = None
            continue
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if enough(round(exp(middle), 3), i) else (middle, high)
        result[one.use] = round(exp(high), 3)
    return result
