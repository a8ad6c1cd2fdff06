"""SDMetrics' reports of related tables, by table and by relation, on a stated subsample of roots.

For the steward alone: they use real rows.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.evaluate.quality import FEW, cells, reports, scores, sdtypes, unscored
from synth.schema.column import Column
from synth.schema.dataset import Dataset
from synth.sources.rows.forest import Forest

if TYPE_CHECKING:
    import pandas as pd

ROWS = 5_000  # of a table that are scored; its roots with everything below them
MOST_COLUMNS = 30  # of a table: pairs across two tables grow with their product
OWN, ABOVE = "\0row", "\0parent"  # numbers of a row and of its parent; no column has such a name


@dataclass(frozen=True, kw_only=True)
class RelatedQuality:
    """Scores from 0 to 1, 1 the best; None where a property has none.

    ``properties``: of the quality report; ``diagnostic``: of the other one. ``tables``: by table its column shapes and
    column pair trends; ``relations``: by child and parent the cardinality, of numbers of children, and the intertable
    trends, of pairs of columns across. ``rows``: real and synthetic ones used, by table. ``left_out``: TABLE.COLUMN of
    too many categories, and those beyond the first ``MOST_COLUMNS`` of a table.
    """

    score: float = field(repr=False)
    properties: Mapping[str, float] = field(repr=False)
    diagnostic: Mapping[str, float] = field(repr=False)
    tables: Mapping[str, tuple[float | None, float | None]] = field(repr=False)
    relations: Mapping[tuple[str, str], tuple[float | None, float | None]] = field(repr=False)
    rows: Mapping[str, tuple[int, int]] = field(repr=False)
    left_out: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """As JSON data: for the steward alone."""
        between = {f"{child} of {parent}": both for (child, parent), both in self.relations.items()}
        return {**asdict(self), "relations": between}


def measure(real: Forest, synthetic: Forest, schema: Dataset, *, rows: int = ROWS) -> RelatedQuality | None:
    """The reports' scores on so many roots that no table has more than about ``rows`` rows; None without SDMetrics.

    **Source**: ``sdmetrics.reports.QualityReport``, ``DiagnosticReport``.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    retained = {t: _retained(schema, t) for t in schema.downwards}
    if unscored() is not None or not all(f.num_roots for f in (real, synthetic)):
        return None
    rng = np.random.default_rng(0)
    ours, theirs = (_frames(_some(f, rows, rng), retained) for f in (real, synthetic))
    if not all(len(f) for f in (*ours.values(), *theirs.values())):
        return None
    quality, diagnostic = reports(ours, theirs, _metadata(schema, retained))
    details = {n: quality.get_details(n) for n in ("Column Shapes", "Column Pair Trends")}
    of_keys = {n: quality.get_details(n) for n in ("Cardinality", "Intertable Trends")}
    return RelatedQuality(
        score=float(quality.get_score()),
        properties=scores(quality),
        diagnostic=scores(diagnostic),
        tables={t: _both(d[d["Table"] == t] for d in details.values()) for t in schema.downwards},
        relations={
            (k.child, k.parent): _both(d[d["Child Table"] == k.child] for d in of_keys.values()) for k in schema.keys
        },
        rows={t: (len(ours[t]), len(theirs[t])) for t in schema.downwards},
        left_out=tuple(
            f"{t}.{n}" for t in schema.downwards for n in schema.tables[t].measured() if n not in retained[t]
        ),
    )


def _retained(schema: Dataset, table: str) -> dict[str, Column]:
    known = schema.tables[table].measured().items()
    return dict([(n, c) for n, c in known if c.cells <= FEW or c.is_numeric][:MOST_COLUMNS])


def _some(forest: Forest, rows: int, rng: np.random.Generator) -> Forest:
    """Whole trees of roots drawn without replacement, so many that the longest table has about ``rows`` rows."""
    longest = max(len(branch.parts) for branch in forest.values())
    wanted = max(int(forest.num_roots * min(rows / max(longest, 1), 1.0)), 1)
    return forest.of_roots(np.sort(rng.choice(forest.num_roots, size=wanted, replace=False)))


def _frames(forest: Forest, retained: Mapping[str, Mapping[str, Column]]) -> dict[str, "pd.DataFrame"]:
    import pandas as pd

    return {
        t: pd.DataFrame(
            {OWN: np.arange(len(forest[t].parent)), ABOVE: forest[t].parent}
            | {n: cells(c, forest[t].columns[n]) for n, c in columns.items()}
        )
        for t, columns in retained.items()
    }


def _metadata(schema: Dataset, retained: Mapping[str, Mapping[str, Column]]) -> dict[str, Any]:
    tables = {}
    for name, columns in retained.items():
        named = {OWN: {"sdtype": "id"}, ABOVE: {"sdtype": "id"}, **sdtypes(columns)["columns"]}
        tables[name] = {"primary_key": OWN, "columns": named}
    relationships = [
        {
            "parent_table_name": k.parent,
            "parent_primary_key": OWN,
            "child_table_name": k.child,
            "child_foreign_key": ABOVE,
        }
        for k in schema.keys
    ]
    return {"tables": tables, "relationships": relationships}


def _both(details: Any) -> tuple[float | None, float | None]:
    """The mean score of each, as the report takes it; None where there is none."""
    first, second = (_mean(d) for d in details)
    return first, second


def _mean(details: "pd.DataFrame") -> float | None:
    if "Meets Threshold?" in details:
        details = details[details["Meets Threshold?"].astype("boolean").fillna(False)]
    values = details["Score"].astype(float).dropna()
    return float(values.mean()) if len(values) else None
