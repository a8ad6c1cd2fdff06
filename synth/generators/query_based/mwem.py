"""`mwem`: multiplicative weights and the exponential mechanism over every cell of a small table (arXiv 1012.4763)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod, sqrt
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Ask, Fit, Progress, Run, Setting
from synth.generators.marginals import oneway_queries
from synth.generators.marginals.denoise import project
from synth.generators.marginals.mixture import SAFE
from synth.generators.method import NONE_OR_SHARE, SHARE, Method, option
from synth.generators.opendp_mbi.external_fit import as_product, grouped
from synth.generators.product_mixture.model import Product
from synth.questions import Bins, Choice, ChoiceRelease, Counts, CountsRelease, Marginal
from synth.schema.table import Schema

CELLS = 1_000_000  # most cells of the whole table
ROOM = 100_000  # cells up to which numbers have as many bins as they may; a round costs as much as there are cells
PURPOSE = "all columns", "worst pair", "the pair chosen"
TOTAL, COUNTING = "row count", 0.02  # asked in place of single columns where these are not; its share of the budget
SWEEPS = 15  # passes over all that was measured, after each round


@dataclass(frozen=True, kw_only=True)
class Mwem(Method):
    """Round after round the pair of columns that the weights fit worst is chosen, counted, and the weights follow.

    ``rounds``: pairs measured, at most. ``bins``: most bins of a number; fewer where the whole table would pass a
    hundred thousand cells. ``numbers``: share of the budget for finding them; ``ones``: for counts of single columns,
    0 for none, as published; ``choices``: of the rest, for choosing.
    **Guarantee**: asks within ``setting.rho``; ``fit`` sees releases only.
    """

    name = "mwem"
    summary = "multiplicative weights over all cells of a small table; for teaching and for few columns"
    reads = (CountsRelease, ChoiceRelease)
    by_torch = False
    small = True
    rounds: int = option(12, 0, 10_000)
    bins: int = option(32, 2, 4096)
    numbers: float = option(0.1, *SHARE)
    ones: float = option(0.3, *NONE_OR_SHARE)
    choices: float = option(0.2, *SHARE)

    def check_schema(self, schema: Schema) -> None:
        """Errors: UsageError where even two bins a number leave more than a million cells."""
        fewest = {
            n: min(c.cells, 2 + len(c.missing_codes)) if c.is_numeric else c.cells for n, c in schema.measured().items()
        }
        cells = prod(fewest.values())
        if cells > CELLS:
            widest = max(fewest, key=lambda n: fewest[n])
            raise UsageError(
                f"method mwem keeps a weight for each of the table's {cells:.3g} cells, and at most {CELLS}: make "
                f"columns identifiers ({widest} alone has {fewest[widest]} values), or choose method mixture"
            )

    def measure(self, run: Run) -> list[Any]:
        """Counts for bins, of single columns, then of the pairs that are chosen one by one."""
        ask, setting, progress = run.ask, run.setting, run.progress
        return self._measure(ask, setting, progress, sweeps=SWEEPS)

    def check(self, run: Run) -> None:
        """As every method's, with weights that follow answers but roughly: they decide what is asked, not its price."""
        ask, setting = run.ask, run.setting
        self.check_options()
        self._measure(ask, setting, lambda _: None, sweeps=1)

    def _measure(self, ask: Ask, setting: Setting, progress: Progress, *, sweeps: int) -> list[Any]:
        self.check_schema(setting.schema)
        most = self._most(setting.schema)
        wide = {n: c for n, c in setting.schema.measured().items() if c.is_numeric and c.cells > most}
        one = replace(setting, mu=sqrt(2 * setting.rho))
        some = replace(one, schema=setting.schema.model_copy(update={"columns": wide}))
        releases: list[Any] = oneway_queries.measure(ask, some, share=self.numbers) if wide else []
        left = SAFE * (1 - oneway_queries.spent(releases, some))
        bins = grouped(releases, setting, bins=most)
        pairs = [p for p in combinations(bins, 2) if all(bins[n].size > 1 for n in p)]
        rounds = min(self.rounds, len(pairs))
        first = self._first(bins, one, left, rounds)
        releases.extend(ask(q) for q in first)
        left = SAFE * (1 - oneway_queries.spent(releases, one)) / max(rounds, 1)
        for i in range(rounds):
            progress(i / rounds)
            weights = Weights(bins, releases, setting, sweeps=sweeps)
            at = self._worst(ask, weights, [p for p in pairs if p not in weights.measured], setting, left, releases)
            marginal = Marginal(bins=tuple(bins[n] for n in at), sigma=one.sigma(left * (1 - self.choices)))
            releases.append(ask(Counts(purpose=PURPOSE[2], marginals=(marginal,))))
        progress(1.0)
        return releases

    def _first(self, bins: Mapping[str, Bins], setting: Setting, left: float, rounds: int) -> list[Counts]:
        """Counts of single columns; without them the number of rows, where it is private, and else nothing."""
        if self.ones or not rounds:
            share = left * (self.ones if rounds else 1.0) / len(bins)
            tables = tuple(Marginal(bins=(b,), sigma=setting.sigma(share)) for b in bins.values())
            return [Counts(purpose=PURPOSE[0], marginals=tables)]
        if setting.public_rows is not None:
            return []
        column = next(iter(bins.values()))
        whole = Bins(column=column.column, cells=column.cells, starts=np.zeros(1), groups=np.zeros(1))
        return [Counts(purpose=TOTAL, marginals=(Marginal(bins=(whole,), sigma=setting.sigma(left * COUNTING)),))]

    def _worst(
        self,
        ask: Ask,
        weights: "Weights",
        pairs: list[tuple[str, str]],
        setting: Setting,
        share: float,
        releases: list[Any],
    ) -> tuple[str, str]:
        """The pair of columns that the weights fit worst, chosen privately."""
        epsilon = sqrt(8 * setting.rho * share * self.choices * (1 - 1e-5))  # rho of a choice is epsilon^2 / 8
        tables = tuple(tuple(weights.bins[n] for n in p) for p in pairs)
        expected = tuple(weights.table(p) for p in pairs)
        scale = 2 * setting.signed / epsilon
        question = Choice(purpose=PURPOSE[1], goal="worst", tables=tables, expected=expected, scale=scale)
        releases.append(ask(question))
        return pairs[releases[-1].index]

    def _most(self, schema: Schema) -> int:
        """The largest number of bins, at most ``bins``, for which the table keeps within its room; at least two."""

        def cells(most: int) -> int:
            return prod(
                min(c.cells, most + len(c.missing_codes)) if c.is_numeric else c.cells
                for c in schema.measured().values()
            )

        return next((b for b in range(self.bins, 2, -1) if cells(b) <= ROOM), 2)

    def fit(self, releases: Sequence[Any], setting: Setting, how: Fit) -> Product:
        """The weights that follow all measured tables, as records drawn from them."""
        rng, progress = how.rng, how.progress
        released = [r for r in releases if isinstance(r, CountsRelease) and r.question.purpose in PURPOSE]
        counted = {b.column: b for r in released for m in r.question.marginals for b in m.bins}
        bins = grouped(releases, setting, bins=self._most(setting.schema)) | counted
        weights = Weights(bins, releases, setting)
        progress(1.0)
        return as_product(weights.draw, bins, releases, setting, total=weights.total, rng=rng)


class Weights:
    """A distribution over all cells of the binned table, moved towards each measured table in turn.

    Every cell's weight is multiplied by exp of half the error of the table cell it belongs to, for many passes
    (arXiv 1012.4763, Figure 1); errors count in parts of what the table cell holds, so that small cells move as fast.
    """

    def __init__(
        self, bins: Mapping[str, Bins], releases: Sequence[Any], setting: Setting, *, sweeps: int = SWEEPS
    ) -> None:
        self.bins = dict(bins)
        names = list(self.bins)
        released = [r for r in releases if isinstance(r, CountsRelease) and r.question.purpose in (*PURPOSE, TOTAL)]
        answers = [(m, v) for r in released for m, v in zip(r.question.marginals, r.values, strict=True)]
        self.measured = {m.columns for m, _ in answers if len(m.columns) == 2}
        sums = np.array([float(v.sum()) for _, v in answers])
        precision = np.array([1 / (m.cells * m.sigma**2) for m, _ in answers])
        noisy = max(float(sums @ precision / precision.sum()), 1.0) if answers else 1.0
        self.total = noisy if setting.public_rows is None else float(max(setting.public_rows, 1))
        self.cells = np.full([self.bins[n].size for n in names], 1.0)
        self.cells /= self.cells.size
        goals = [(tuple(names.index(c) for c in m.columns), self._goal(v)) for m, v in answers if m.cells > 1]
        for _ in range(sweeps):
            for axes, goal in goals:
                self._move(axes, goal)

    def _goal(self, values: np.ndarray) -> np.ndarray:
        """Measured shares: the nearest distribution."""
        return (project(values.astype(float).ravel(), total=self.total) / self.total).reshape(values.shape)

    def _move(self, axes: tuple[int, ...], goal: np.ndarray) -> None:
        seen = self.cells.sum(axis=tuple(i for i in range(self.cells.ndim) if i not in axes))
        error = (goal - seen) / np.maximum(goal, seen).clip(1 / self.total)
        shape = [s if i in axes else 1 for i, s in enumerate(self.cells.shape)]
        self.cells *= np.exp(0.5 * error).reshape(shape)
        self.cells /= self.cells.sum()

    def table(self, columns: tuple[str, str]) -> np.ndarray:
        """Expected counts of a pair of columns."""
        at = [list(self.bins).index(c) for c in columns]
        return self.total * self.cells.sum(axis=tuple(i for i in range(self.cells.ndim) if i not in at))

    def draw(self, count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """``count`` records, evenly spread over the cells."""
        run = np.cumsum(self.cells.ravel())
        at = np.searchsorted(run / run[-1], (np.arange(count) + rng.random()) / count, side="right")
        codes = np.unravel_index(np.minimum(at, len(run) - 1), self.cells.shape)
        return dict(zip(self.bins, codes, strict=True))
