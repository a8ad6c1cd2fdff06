"""SDMetrics' quality and diagnostic reports, on a stated subsample, of related tables by table and by relation.

For the steward alone: they use real rows.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import UsageError, need
from synth.evaluate.read_sample import some, values
from synth.languages import Said
from synth.schema.dataset import Dataset
from synth.schema.table import Column
from synth.sources.rows.forest import Forest

if TYPE_CHECKING:
    import pandas as pd

TABLE = "table"
MAX_COLUMNS = 60  # columns scored; pairs grow with their square
ROWS = 5_000  # of a related table that are scored; its roots with everything below them
MOST_COLUMNS = 30  # of a related table: pairs across two tables grow with their product
OWN, ABOVE = "\0row", "\0parent"  # numbers of a row and of its parent; no column has such a name
FEW = 500  # categories of a column; with more, tables of pairs no longer fit in a reasonable time


@dataclass(frozen=True, kw_only=True)
class Quality:
    """Scores from 0 to 1, 1 the best; None where a property has none.

    ``properties``: of the quality report; ``diagnostic``: of the other one. ``tables``: by table its column shapes and
    column pair trends; ``relations``: by child and parent the cardinality, of numbers of children, and the intertable
    trends, of pairs of columns across. ``by_column``: of one table the scores of shape, without columns that are empty.
    ``rows``: real and synthetic ones used, by table. ``left_out``: columns of too many categories, and those beyond the
    first ``MAX_COLUMNS``; of related tables TABLE.COLUMN, beyond the first ``MOST_COLUMNS``.
    """

    score: float = field(repr=False)
    properties: Mapping[str, float] = field(repr=False)
    diagnostic: Mapping[str, float] = field(repr=False)
    tables: Mapping[str, tuple[float | None, float | None]] = field(repr=False)
    relations: Mapping[tuple[str, str], tuple[float | None, float | None]] = field(repr=False)
    by_column: Mapping[str, float] = field(repr=False)
    rows: Mapping[str, tuple[int, int]] = field(repr=False)
    left_out: tuple[str, ...]

    @property
    def shapes(self) -> float:
        """How alike columns are."""
        return self.properties["Column Shapes"]

    @property
    def pairs(self) -> float | None:
        """How alike tables of two columns are; None where there are none to compare."""
        return self.properties.get("Column Pair Trends")

    def plain(self) -> dict[str, Any]:
        """As JSON data: for the steward alone."""
        between = {Said("{} of {}", child, parent): both for (child, parent), both in self.relations.items()}
        return {**vars(self), "relations": between}


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
    retained = _scorable(columns, most)
    if not retained or unscored() is not None:
        return None
    sizes = [len(t[next(iter(retained))]) for t in (real, synthetic)]
    kept = [slice(None) if n <= rows else some(n, rows, rng) for n in sizes]
    ours, theirs = ({TABLE: _frame(t, retained, k)} for t, k in zip((real, synthetic), kept, strict=True))
    left_out = tuple(n for n in columns if n not in retained)
    return _scored(ours, theirs, {"tables": {TABLE: sdtypes(retained)}}, left_out=left_out)


def _scored(
    ours: Mapping[str, "pd.DataFrame"],
    theirs: Mapping[str, "pd.DataFrame"],
    metadata: Mapping[str, Any],
    *,
    left_out: tuple[str, ...],
    keys: Sequence[Any] = (),
) -> Quality:
    quality, diagnostic = reports(ours, theirs, metadata)
    details = [quality.get_details(n) for n in ("Column Shapes", "Column Pair Trends")]
    of_keys = [quality.get_details(n) for n in ("Cardinality", "Intertable Trends")] if keys else []
    alone = details[0].dropna(subset="Score") if len(ours) == 1 else details[0][:0]
    return Quality(
        score=float(quality.get_score()),
        properties=scores(quality),
        diagnostic=scores(diagnostic),
        tables={t: _both(details, "Table", t) for t in ours},
        relations={(k.child, k.parent): _both(of_keys, "Child Table", k.child) for k in keys},
        by_column={str(n): float(s) for n, s in zip(alone["Column"], alone["Score"], strict=True)},
        rows={t: (len(frame), len(theirs[t])) for t, frame in ours.items()},
        left_out=left_out,
    )


def unscored() -> str | None:
    """Why nothing is scored here, where SDMetrics is not installed.

    Privacy: public only.
    """
    try:
        need("SDMetrics' quality score", "report", "sdmetrics", "copulas")
    except UsageError as error:
        return error.said
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
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a column that is empty in every row
            report.generate(dict(real), dict(synthetic), dict(metadata), verbose=False)
    return both


def scores(report: Any) -> dict[str, float]:
    """A report's score of each property. Privacy: as private as the rows."""
    result = zip(*(report.get_properties()[c] for c in ("Property", "Score")), strict=True)
    return {str(name): float(score) for name, score in result if score == score}


def _scorable(columns: Mapping[str, Column], most: int) -> dict[str, Column]:
    return dict([(n, c) for n, c in columns.items() if c.cells <= FEW or c.is_numeric][:most])


def _frame(table: Mapping[str, np.ndarray], columns: Mapping[str, Column], rows: Any = slice(None)) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame({n: cells(c, table[n][rows]) for n, c in columns.items()})


def cells(column: Column, positions: np.ndarray) -> np.ndarray:
    """Numbers and dates (in days) as floats, a missing one as NaN; categories as text, codes included.

    Privacy: as private as the positions.
    """
    if not column.is_numeric:
        names = [*(column.categories or ()), *(f"missing {i}" for i in range(len(column.missing_codes)))]
        return np.array(names, dtype=object)[positions]
    return values(column, positions)


def measure_related(real: Forest, synthetic: Forest, schema: Dataset, *, rows: int = ROWS) -> Quality | None:
    """The reports' scores on so many roots that no table has more than about ``rows`` rows; None without SDMetrics.

    **Source**: ``sdmetrics.reports.QualityReport``, ``DiagnosticReport``.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    retained = {t: _scorable(schema.tables[t].measured(), MOST_COLUMNS) for t in schema.downwards}
    if unscored() is not None or not all(f.num_roots for f in (real, synthetic)):
        return None
    rng = np.random.default_rng(0)
    ours, theirs = (_frames(_some(f, rows, rng), retained) for f in (real, synthetic))
    if not all(len(f) for f in (*ours.values(), *theirs.values())):
        return None
    ids = {OWN: {"sdtype": "id"}, ABOVE: {"sdtype": "id"}}
    tables = {t: {"primary_key": OWN, "columns": ids | sdtypes(c)["columns"]} for t, c in retained.items()}
    names = ("parent_table_name", "parent_primary_key", "child_table_name", "child_foreign_key")
    links = [dict(zip(names, (k.parent, OWN, k.child, ABOVE), strict=True)) for k in schema.keys]
    left_out = tuple(f"{t}.{n}" for t, c in retained.items() for n in schema.tables[t].measured() if n not in c)
    return _scored(ours, theirs, {"tables": tables, "relationships": links}, left_out=left_out, keys=schema.keys)


def _some(forest: Forest, rows: int, rng: np.random.Generator) -> Forest:
    """Whole trees of roots drawn without replacement, so many that the longest table has about ``rows`` rows."""
    longest = max(len(branch.parts) for branch in forest.values())
    wanted = max(int(forest.num_roots * min(rows / max(longest, 1), 1.0)), 1)
    return forest.of_roots(np.sort(rng.choice(forest.num_roots, size=wanted, replace=False)))


def _frames(forest: Forest, retained: Mapping[str, Mapping[str, Column]]) -> dict[str, "pd.DataFrame"]:
    return {
        t: _frame(forest[t].columns, columns).assign(**{OWN: np.arange(len(forest[t].parent)), ABOVE: forest[t].parent})
        for t, columns in retained.items()
    }


def _both(details: Sequence["pd.DataFrame"], column: str, name: str) -> tuple[float | None, float | None]:
    """The mean scores of a table's rows in both ``details``, as the report takes them; None where there is none."""

    def mean(listed: "pd.DataFrame") -> float | None:
        listed = listed[listed[column] == name] if column in listed else listed[:0]
        if "Meets Threshold?" in listed:
            listed = listed[listed["Meets Threshold?"].astype("boolean").fillna(False)]
        values: Any = listed["Score"].astype(float).dropna() if len(listed) else ()
        return float(values.mean()) if len(values) else None

    first, second = map(mean, details)
    return first, second
