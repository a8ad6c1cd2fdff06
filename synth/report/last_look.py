"""A last look before a release: which values stand in it word for word because somebody confirmed them."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import EmptyTableError
from synth.evaluate.read_sample import read
from synth.report.publish import folder_of
from synth.report.words import between
from synth.schema import table as schemas
from synth.schema.dataset import ONE, is_related, load_any
from synth.schema.table import CATEGORICAL, Column, Schema
from synth.sources.draft_risks import RARE
from synth.sources.related_tables import places

ALL = 2**62  # rows, more than any table has
CONFIRMED = ("public", "declared")


def standing(release: str | Path) -> dict[str, int]:
    """By column, how many listed values stand in the synthetic table on somebody's word; nothing else is read.

    Of related tables TABLE.COLUMN. Groups of a public rule by first characters do not count. Errors: InputError for an
    unusable release.

    **Guarantee**: that of the release, from which it follows.

    Privacy: released answers only.
    """
    return {name: int((counts > 0).sum()) for name, counts in _counts(folder_of(release)).items()}


def bounds(release: str | Path) -> dict[str, str]:
    """By column, the bounds of numbers and dates that stand in the description on somebody's word.

    Of related tables TABLE.COLUMN. Errors: InputError for an unusable release.

    Privacy: released answers only.

    >>> bounds.__name__
    'bounds'
    """
    plain = schemas.read(folder_of(release) / "schema.json")
    tables = plain["tables"] if is_related(plain) else {"": plain}
    named = {f"{t}.{n}".lstrip("."): c for t, s in tables.items() for n, c in s["columns"].items()}
    return {
        n: between(c["min"], c["max"])
        for n, c in named.items()
        if c.get("source", "declared") in CONFIRMED and c.get("min") is not None and c.get("max") is not None
    }


def standing_rare(release: str | Path, real: str | Path) -> dict[str, int]:
    """By column, how many of those values fewer than 10 real rows have. For the steward alone, never released.

    ``real``: the real table, a file, or the folder of related ones. Errors: InputError for an unusable file or release.

    **Guarantee**: none. The counts are exact.

    Privacy: reads rows, exact: for the steward alone, never released.
    """
    there, real_counts = _counts(folder_of(release)), _counts(folder_of(release), real)
    return {name: int(((counts > 0) & (real_counts[name] < RARE)).sum()) for name, counts in there.items()}


def in_words(there: dict[str, int], rare: dict[str, int] | None = None) -> list[str]:
    """Lines for people, the longest lists first.

    >>> in_words({"ward": 4, "icd": 380}, {"ward": 0, "icd": 77})
    ['icd: 380 values stand word for word in the table, 77 of them in fewer than 10 real rows', \
'ward: 4 values stand word for word in the table, 0 of them in fewer than 10 real rows']
    """
    out = []
    for name, count in sorted(there.items(), key=lambda pair: -pair[1]):
        few = "" if rare is None else f", {rare[name]} of them in fewer than {RARE} real rows"
        out.append(f"{name}: {count} values stand word for word in the table{few}")
    return out


def _confirmed(schema: Schema) -> Schema:
    """The columns whose list of values is public because somebody said so."""
    retained = {n: c for n, c in schema.measured().items() if c.source in CONFIRMED and _listed(c)}
    return Schema(dialect=schema.dialect, columns=retained)


def _listed(column: Column) -> bool:
    by_rule = column.grouping is not None and column.grouping.kind == "prefix"
    return column.type in CATEGORICAL and bool(column.categories) and not by_rule


def _counts(folder: Path, real: str | Path | None = None) -> dict[str, np.ndarray]:
    """Rows with each confirmed category, (categories,), by column; of the ``real`` tables where they are given."""
    facts, results, paths = load_any(folder / "schema.json"), {}, dict[str, Any]()
    if real is not None:
        there: dict[str, Any] = places(real, facts) if facts.several else {}
        paths = {n: p.path for n, p in there.items()} or {ONE: Path(real)}
    for table, schema in facts.tables.items():
        columns = _confirmed(schema)
        path = paths.get(table, folder / f"{table}.csv")
        positions = dict.fromkeys(columns.columns, np.zeros(0, dtype=np.int64))
        with suppress(EmptyTableError):  # of related tables one may have no row
            if columns.columns:
                rng = np.random.default_rng(0)
                positions = dict(read(path, columns, limit=ALL, rng=rng, synthetic=real is None).positions)
        for name, column in columns.columns.items():
            counted = np.bincount(positions[name], minlength=column.cells)
            results[facts.name_of(table, name)] = counted[: column.size].astype(np.int64)
    return results
