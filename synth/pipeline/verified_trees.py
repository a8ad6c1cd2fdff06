"""Questions about related tables: the synthetic trees that they are planned on, and those of the released tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.generators.nested_mixture.draw import DrawnTable
from synth.generators.nested_mixture.model import NestedMixture
from synth.pipeline.draw_rows import with_rows
from synth.pipeline.related_condition import Drawing
from synth.privacy.noise import SeededNoise
from synth.questions import Score, TreeScore
from synth.schema.column import Column, facts
from synth.schema.dataset import Dataset
from synth.schema.enforcement import Rules
from synth.schema.table import Schema
from synth.sources.related_tables import read
from synth.sources.rows.forest import Branch, Forest
from synth.sources.rows.linking import link
from synth.sources.table_source import place_of
from synth.verified.language import Question
from synth.verified.plan import Planned

FEWEST, MOST, TIMES = 2_000, 20_000, 2  # roots drawn from the release's model: so many times those of the tables
MOST_ROWS = 400_000  # of one table that are drawn at most, were every bound reached
OTHER = "`schema=`: {} has other facts than the release's; use the schema in the release's folder"


def planned(questions: Sequence[Question], model: NestedMixture, *, rng: np.random.Generator) -> tuple[Planned, ...]:
    """The questions with the law of trees drawn from the model. Errors: UsageError where hardly a row takes part."""
    schema = model.schema
    widest = max(schema.most_rows(t) for t in schema.tables)
    roots = int(min(np.clip(TIMES * model.total, FEWEST, MOST), max(MOST_ROWS // widest, FEWEST)))
    rules = {n: Rules(s) for n, s in schema.tables.items()}
    forest = _forest(schema, list(Drawing(model, with_rows(schema, {}), rules=rules).blocks(roots, rng=rng)))
    each = max(float(model.total), 1.0) / forest.num_roots
    result = []
    for question in questions:
        rows, unit = rows_of(forest, question.score)
        total = each * len(unit)
        result.append(Planned.of(question, rows, total, unit=unit, units=each * forest.num_roots))
    return tuple(result)


def _forest(schema: Dataset, blocks: Sequence[Mapping[str, DrawnTable]]) -> Forest:
    """Drawn rows as a forest of which columns and parents are known; weights and places among siblings are not."""
    first, branches = dict.fromkeys(schema.tables, 0), {}
    parts: dict[str, list[tuple[Mapping[str, np.ndarray], np.ndarray]]] = {n: [] for n in schema.tables}
    for block in blocks:
        before = dict(first)
        for name, drawn in block.items():
            key = schema.key_above(name)
            parts[name].append((drawn.positions, drawn.parent + (before[key.parent] if key else 0)))
            first[name] += drawn.num_rows
    for name, own in parts.items():
        one = np.ones(first[name], dtype=np.int64)
        columns = {n: np.concatenate([p[n] for p, _ in own]) for n in schema.as_measured(name).columns}
        parent = np.concatenate([p for _, p in own])
        branches[name] = Branch(columns=columns, parent=parent, siblings=one, rank=one - 1, parts=one)
    return Forest(branches, {n: (k.parent if (k := schema.key_above(n)) else None) for n in schema.tables})


def released(place: Path, schema: Dataset) -> Forest:
    """The released tables, or the one whose persons keep their rows, as a forest."""
    noise = SeededNoise(0)
    opened = {
        n: read(place_of(place / f"{n}.csv"), own, schema.texts(n), noise, key=bytes(32)).rows
        for n, own in schema.written.items()
    }
    return link(schema, {t: opened[schema.file_of(t)] for t in schema.tables}, noise)


def rows_of(forest: Forest, score: Score) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The rows of a question's table, positions (n,) by its columns, and to which root each belongs, in rising order.

    Privacy: as private as the forest.
    """
    assert isinstance(score, TreeScore)
    rows, roots = forest.rows(score.table, score.places), forest.roots(score.table)
    order = np.argsort(roots, kind="stable")
    return {n: p[order] for n, p in rows.items()}, roots[order]


def check(questions: Sequence[Question], known: Schema | Dataset, given: Schema | Dataset) -> None:
    """Whether tables and release have the same positions and keys where questions are asked. Errors: UsageError."""
    if None in (known.tree, given.tree) or known.several != given.several:
        raise UsageError(
            "`schema=`: the release and the table are not both of related tables, or of one whose persons keep their "
            "rows; name the one it is of"
        )
    for table in dict.fromkeys(str(q.table) for q in questions):
        for name in known.upwards(table):
            if name not in given.tables or given.key_above(name) != known.key_above(name):
                raise UsageError(OTHER.format(f"table {name} or its key"))
            for column, fact in known.as_measured(name).columns.items():
                other = given.as_measured(name).columns.get(column)
                if other is None or positioned(other) != positioned(fact):
                    raise UsageError(OTHER.format(f"column {column} of {name}"))


def positioned(column: Column) -> dict[str, Any]:
    """What makes a column's positions."""
    named = [n for n in facts(column) if n not in ("labels", "format")]
    return {n: getattr(column, n) for n in named}
