"""SDMetrics' quality and diagnostic reports, on a stated subsample. For the steward alone: it uses real rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import UsageError, need
from synth.evaluate.read_sample import values
from synth.schema.table import Column

if TYPE_CHECKING:
    import pandas as pd

TABLE = "table"
MAX_COLUMNS = 60  # columns scored; pairs grow with their square
FEW = 500  # categories of a column; with more, tables of pairs no longer fit in a reasonable time


@dataclass(frozen=True, kw_only=True)
class Quality:
    """Scores from 0 to 1, 1 the best.

    ``pairs``: None where there are no two columns to compare. ``by_column``: scores of shape, without columns
    that are empty in a table. ``rows``: rows used of each table. ``left_out``: columns of too many categories, and
    those beyond the first 60. ``diagnostic``: scores of the diagnostic report, by property.
    """

    score: float = field(repr=False)
    shapes: float = field(repr=False)
    pairs: float | None = field(repr=False)
    by_column: Mapping[str, float] = field(repr=False)
    rows: tuple[int, int] = field(repr=False)
    left_out: tuple[str, ...]
    diagnostic: Mapping[str, float] = field(repr=False, default_factory=dict)


def measure(
    real: Mapping[str, np.ndarray],
    synthetic: Mapping[str, np.ndarray],
    columns: Mapping[str, Column],
    *,
    rows: int,
    rng: np.random.Generator,
    most: int = MAX_COLUMNS,
) -> Quality | None:
    """The report's scores on at most ``rows`` rows of each table, given as positions, and ``most`` columns; None
    without columns, or without SDMetrics.

    **Source**: ``sdmetrics.reports.QualityReport``.
    """
    retained = dict([(n, c) for n, c in columns.items() if c.cells <= FEW or c.is_numeric][:most])
    if not retained or unscored() is not None:
        return None
    frames = [_frame(t, retained, rows=rows, rng=rng) for t in (real, synthetic)]
    report, diagnostic = reports({TABLE: frames[0]}, {TABLE: frames[1]}, {"tables": {TABLE: sdtypes(retained)}})
    properties = scores(report)
    shapes = report.get_details("Column Shapes", table_name=TABLE)
    pairs = float(properties.get("Column Pair Trends", np.nan))
    return Quality(
        score=float(report.get_score()),
        shapes=float(properties["Column Shapes"]),
        pairs=None if np.isnan(pairs) else pairs,
        by_column={str(n): float(s) for n, s in zip(shapes["Column"], shapes["Score"], strict=True) if not np.isnan(s)},
        rows=(len(frames[0]), len(frames[1])),
        left_out=tuple(n for n in columns if n not in retained),
        diagnostic=scores(diagnostic),
    )


def unscored() -> str | None:
    """Why nothing is scored here, where SDMetrics is not installed.

    Privacy: public only.
    """
    try:
        need("SDMetrics' quality score", "report", "sdmetrics", "copulas")
    except UsageError as error:
        return str(error)
    return None


def sdtypes(columns: Mapping[str, Column]) -> dict[str, Any]:
    """A table's columns as SDMetrics' metadata name their kinds. Privacy: public only."""
    return {"columns": {n: {"sdtype": "numerical" if c.is_numeric else "categorical"} for n, c in columns.items()}}


def reports(
    real: Mapping[str, "pd.DataFrame"], synthetic: Mapping[str, "pd.DataFrame"], metadata: Mapping[str, Any]
) -> tuple[Any, Any]:
    """SDMetrics' quality and diagnostic reports on all rows of tables by name.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    from sdmetrics.reports import DiagnosticReport, QualityReport

    both = QualityReport(), DiagnosticReport()
    for report in both:
        report.num_rows_subsample = None  # the subsample was drawn before, with a seed
        with np.errstate(all="ignore"):
            report.generate(dict(real), dict(synthetic), dict(metadata), verbose=False)
    return both


def scores(report: Any) -> dict[str, float]:
    """A report's score of each property. Privacy: as private as the rows."""
    result = zip(*(report.get_properties()[c] for c in ("Property", "Score")), strict=True)
    return {str(name): float(score) for name, score in result if score == score}


def _frame(
    table: Mapping[str, np.ndarray], columns: Mapping[str, Column], *, rows: int, rng: np.random.Generator
) -> "pd.DataFrame":
    import pandas as pd

    size = len(table[next(iter(columns))])
    retained = np.arange(size) if size <= rows else np.sort(rng.choice(size, size=rows, replace=False))
    return pd.DataFrame({n: cells(c, table[n][retained]) for n, c in columns.items()})


def cells(column: Column, positions: np.ndarray) -> np.ndarray:
    """Numbers and dates (in days) as floats, a missing one as NaN; categories as text, codes included.

    Privacy: as private as the positions.
    """
    if not column.is_numeric:
        names = [*(column.categories or ()), *(f"missing {i}" for i in range(len(column.missing_codes)))]
        return np.array(names, dtype=object)[positions]
    return values(column, positions)
