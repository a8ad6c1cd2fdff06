"""What `mixture` is likely to reach, before a run and at once: the error that Review will show, as a range.

The law has one term, the noise that a table's counts get when the budget is shared by its columns, in parts of the
rows, above a floor that no epsilon removes. Its constants are fitted to runs on public tables (``reached.json`` names
them and their origin), and the range is as wide as 9 of 10 runs on a table need when the constants come from the
other tables alone.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

from synth.errors import UsageError
from synth.languages import Said
from synth.mechanisms import counts
from synth.pipeline.schema_approval import adjacency_of
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.relation import relation_named
from synth.schema.grouping import COARSE
from synth.schema.table import Schema

METHOD = "mixture"
DATA = Path(__file__).with_name("reached.json")
GOOD = 0.05  # of the rows that would have to change, from which up advice is given
MOST_EPSILON = 5.0  # that is ever advised


@dataclass(frozen=True, kw_only=True)
class Range:
    """A share of rows that would have to change: the likely one, and the ends between which 9 of 10 runs lie."""

    low: float
    likely: float
    high: float

    @property
    def in_words(self) -> str:
        """The range in percent.

        >>> Range(low=0.011, likely=0.02, high=0.0312).in_words
        '1.1 to 3.1 %'
        """
        return Said("{} to {} %", _digits(100 * self.low), _digits(100 * self.high))


def _digits(value: float) -> str:
    """Two digits, all of a whole number.

    >>> _digits(0.374), _digits(12.6), _digits(100.0), _digits(171.2)
    ('0.37', '13', '100', '170')
    """
    return Said("{:,.10g}", float(f"{value:.2g}"))


@dataclass(frozen=True, kw_only=True)
class Reached:
    """The forecast at one epsilon. ``pairs``: None for one column. ``beyond``: why it lies outside what was measured,
    empty where it does not."""

    epsilon: float
    columns: Range
    pairs: Range | None
    beyond: str


def expected(
    schema: Schema, *, rows: int, epsilons: Sequence[float], delta: float, relation: str = "add_remove"
) -> list[Reached]:
    """What `mixture` will reach on about ``rows`` rows, for each epsilon. Touches no data. Errors: UsageError.

    ``epsilons``: each above 0; ``delta``, ``relation``: as of ``plan``. Figures are shares of rows, 0 to 1.

    It knows the number of rows as it is said, and of the schema how many columns and cells there are.

    Privacy: public only.
    """
    cells = [min(c.cells, COARSE + 1) for c in schema.measured().values()]
    if not cells or rows < 1 or any(e <= 0 for e in epsilons) or not 0 < delta < 1:
        raise UsageError("a forecast needs measured columns, at least 1 row, and an epsilon and a delta above 0")
    size = counts.sensitivity(adjacency_of(schema, relation_named(relation)))
    forecasts = []
    for epsilon in epsilons:
        one, two = features(cells, rows=rows, mu=calibrate(epsilon, delta) / size)
        pairs, beyond = None if two is None else _range("pairs", two), _beyond(rows, len(cells), epsilon)
        forecasts.append(Reached(epsilon=epsilon, columns=_range("columns", one), pairs=pairs, beyond=beyond))
    return forecasts


def features(cells: Sequence[int], *, rows: int, mu: float) -> tuple[float, float | None]:
    """The noise in a mean table, in parts of the rows: of single columns, and of pairs (None for one column).

    ``cells``: of each column, in the groups in which tables are compared.
    """
    noise = sqrt(len(cells)) / (rows * mu)
    two = fmean(a * b for a, b in combinations(cells, 2)) if len(cells) > 1 else None
    return fmean(cells) * noise, None if two is None else two * noise


def _range(kind: str, feature: float) -> Range:
    law = constants()[kind]
    likely = exp(law["intercept"] + law["slope"] * log(feature)) + law["floor"]
    low, high = (min(1.0, likely * f) for f in (1 / law["factor"], law["factor"]))
    return Range(low=low, likely=min(1.0, likely), high=high)


def _beyond(rows: int, columns: int, epsilon: float) -> str:
    """In what the run differs from all that the constants were fitted to."""
    spans = constants()["measured"]
    for what, value in (("rows", rows), ("columns", columns), ("epsilon", epsilon)):
        low, high = spans[what]
        if not low <= value <= high:
            named = Said("an epsilon of {:g}", value) if what == "epsilon" else Said("{:,} {}", value, Said(what))
            return Said("{}, where {:g} to {:,g} were measured", named, low, high)
    return ""


@cache
def constants() -> dict[str, Any]:
    """The fitted constants, with where they come from.

    Privacy: public only.
    """
    return dict(json.loads(DATA.read_text(encoding="utf-8")))


def advice(schema: Schema, *, rows: int, epsilon: float, delta: float, relation: str = "add_remove") -> str:
    """What would help most, in a sentence: enough, more rows, coarser columns, or a larger epsilon.

    ``schema``, ``rows``, ``epsilon``, ``delta``, ``relation``: as of ``plan``.

    Privacy: public only.
    """
    forecast = expected(schema, rows=rows, epsilons=(epsilon,), delta=delta, relation=relation)[0]
    off = forecast.pairs or forecast.columns
    if off.high <= GOOD:
        return "Enough rows and epsilon: tables of two columns are likely to come out well."
    if off.likely <= GOOD:
        return "Probably enough: single columns come out well, pairs of columns with rare values less so."
    slope = constants()["pairs" if forecast.pairs else "columns"]["slope"]
    times = (off.likely / GOOD) ** (1 / slope)  # by how much the rows or the noise budget would have to grow
    lead = Said(
        "Much noise for this table. Tables of two columns come out well with about {} times the rows", _digits(times)
    )
    if epsilon * times <= MOST_EPSILON:
        return Said(
            "{}, or with an epsilon near {}; coarser or fewer columns help as well.", lead, _digits(epsilon * times)
        )
    return Said("{}. More epsilon alone does not do it here: leave columns out, or give them fewer values each.", lead)
