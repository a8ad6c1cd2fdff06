"""Facts of a table of children learnt from one row of each root, or from all rows: what of the rows is reached?

    python benchmarks/related_learning.py [--tables hospital,bank] [--epsilons 0.1,0.3,1] [--runs 3]

All categories and bounds of the stays and of the orders of related_cases.py are learnt, delta 1e-6: `one`, as the
library does, from one row of each root at the sensitivity of a row; `all`, from every kept row at the sensitivity of
five. Categories that were learnt of those that occur, the share of cells whose category was, and the share of numbers
within the learnt bounds; means over columns and runs. Needs the public tables beside the checkout. Prints Markdown,
which docs/related-tables.md holds; writes benchmarks/results/related_learning.json.
"""

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from markdown_tables import filled
from related_cases import Case, bank, hospital
from related_peers import DELTA
from runner import Row, grid, measured, start

import synth
from synth.pipeline import learning_rows
from synth.pipeline.budget import mechanisms
from synth.pipeline.learn_schema import learn
from synth.pipeline.methods import granted
from synth.pipeline.private_rows import wanted
from synth.pipeline.schema_approval import bare
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.schema.dataset import ONE
from synth.sources.table_source import place_of

CASES = {"hospital": hospital, "bank": bank}
HEADS = "table|epsilon|rows of a root|categories learnt|of those that occur|cells reached|numbers within bounds"
CELLS = "{table}|{epsilon:g}|{way}|{learnt:.0f}|{occur:.0f}|{cells:.3f}|{inside:.3f}"


@contextmanager
def place(table: str):
    """The two tables."""
    yield CASES[table]()


def of_one(case: Case, epsilon: float) -> synth.Schema:
    """The child's facts, from one row of each root."""
    whole, child = synth.app_api.parse_related(case.schema), case.key["child"]
    lacking = whole.model_copy(update={"tables": {**whole.tables, child: stripped(whole.tables[child])}})
    with TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.sqlite"
        return synth.learn_schema(case.tables, schema=lacking, epsilon=epsilon, delta=DELTA, ledger=ledger).tables[
            child
        ]


def of_all(case: Case, epsilon: float) -> synth.Schema:
    """The same from all kept rows of each root, at their sensitivity."""
    child, (key,) = case.key["child"], case.key["columns"]
    schema = stripped(synth.app_api.parse_related(case.schema).tables[child])
    unit = Adjacency(relation=Relation.ADD_REMOVE, unit=key, max_rows=case.key["most_children"])
    grant = granted(epsilon, DELTA, unit, learning=True)
    there = wanted({ONE: place_of(case.tables[child])}, schema)
    rows, noise = learning_rows.read(schema, there, unit, SystemNoise()), SystemNoise()
    ask = lambda question: mechanisms()[type(question)].answer(question, rows, noise)  # noqa: E731
    return learn(ask, schema, unit, mu=grant.mu, failure_delta=grant.failure_delta)


def stripped(schema: synth.Schema) -> synth.Schema:
    """The schema without all that can be learnt."""
    measured = schema.measured()
    return schema.model_copy(
        update={"columns": {n: bare(c) if n in measured else c for n, c in schema.columns.items()}}
    )


def one(case: Case, cell: Row) -> Row:
    """One learning, and what of the rows it reaches."""
    schema = {"one": of_one, "all": of_all}[cell["way"]](case, cell["epsilon"])
    rows, cells, inside, learnt, occur = case.tables[case.key["child"]], [], [], 0, 0
    for name, column in schema.measured().items():
        if column.is_numeric:
            numbers = rows[name].astype(float)
            inside.append(float(((numbers >= float(column.min)) & (numbers <= float(column.max))).mean()))
            continue
        known = {*column.categories, *column.missing_codes} - {"unknown"}
        learnt, occur = learnt + len(known), occur + rows[name].nunique()
        cells.append(float(rows[name].isin(known).mean()))
    return {"learnt": learnt, "occur": occur, "cells": float(np.mean(cells)), "inside": float(np.mean(inside))}


def markdown(rows: list[Row]) -> str:
    """A line a table, epsilon and way."""
    cells = {(r["table"], r["epsilon"], r["way"]) for r in rows}
    lines = []
    for table, epsilon, way in sorted(cells, key=lambda c: (c[0], c[1], c[2] == "all")):
        same = [r for r in rows if (r["table"], r["epsilon"], r["way"]) == (table, epsilon, way)]
        mean = {n: float(np.mean([r[n] for r in same])) for n in ("learnt", "occur", "cells", "inside")}
        lines.append({"table": table, "epsilon": epsilon, "way": way, **mean})
    return filled(lines, HEADS, CELLS)


def main(given) -> None:
    cells = grid(table=given.tables, epsilon=given.epsilons, way=["one", "all"], run=range(given.runs))
    print(markdown(measured(given, cells, one, prepare=place, by=("table",))))


if __name__ == "__main__":
    start(main, json="related_learning", tables=list(CASES), epsilons=[0.1, 0.3, 1.0], runs=3)
