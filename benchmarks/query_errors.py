"""The lecture's table of errors, promised and measured: counting questions answered in four ways.

    python benchmarks/query_errors.py [--epsilons 0.2,1,5.1]

Every cell of every pair of four columns of ACSIncome Colorado (numbers in halves), the largest error among them as a
share of the rows; ``measured``: the median of five runs. Delta 0, or 1e-6; a row is replaced.
"""

import json
from itertools import combinations
from math import prod
from pathlib import Path
from statistics import median

import numpy as np
from markdown_tables import filled
from public_tables import prepared
from runner import Row, grid, measured, start

from synth.generators.base import Run
from synth.generators.papers import queries as query_errors
from synth.generators.papers.queries import Online, OnlineWeights, SmallDb, boxes, cut
from synth.mechanisms import counts
from synth.pipeline import budget
from synth.pipeline.methods import granted
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import LaplaceDpEvent
from synth.privacy.curator import Curator
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Laplace
from synth.schema.table import Schema
from synth.sources.table_source import place_of

RUNS = 5
WAYS = ("noise on the answers", "noise on the data", "weights, online", "SmallDB")
HEADS = "epsilon|delta|questions|cells|way|promised|measured"
CELLS = "{epsilon:g}|{delta:g}|{queries}|{cells}|{way}|{promised:.4f}|{error:.4f}"


def scale_within(epsilon: float, delta: float, sensitivity: float) -> float:
    """The least scale of one question of Laplace noise within epsilon and delta."""
    low, high = sensitivity / (8 * epsilon), 2 * sensitivity / epsilon
    for _ in range(50):
        middle = (low + high) / 2
        event = LaplaceDpEvent(name="l", sensitivity=sensitivity, sigma=middle)
        low, high = (low, middle) if epsilon_of([event], delta) <= epsilon else (middle, high)
    return high


class Case:
    """One table, its questions and the answers of one run."""

    def __init__(self, rows: dict[str, np.ndarray], schema: Schema, epsilon: float, delta: float) -> None:
        self.rows, self.schema = rows, schema
        self.bins = {n: cut(n, c, 2) for n, c in schema.measured().items()}
        self.pairs = list(combinations(self.bins.values(), 2))
        self.size = len(next(iter(rows.values())))
        self.truth = np.concatenate(counts.exact(self.pairs, rows)) / self.size
        self.grant = granted(epsilon, delta, Adjacency(relation=Relation.REPLACE_ONE), learning=False)
        shape = {"queries": len(self.truth), "cells": prod(b.size for b in self.bins.values()), "rows": self.size}
        self.asked = query_errors.Questions(epsilon=epsilon, delta=delta, **shape)

    def door(self) -> Curator:
        """A curator of a run."""
        given = {"commit": lambda: None, "read": lambda: self.rows, "noise": SystemNoise()}
        return Curator(grant=self.grant, mechanisms=budget.mechanisms(), **given)

    def error(self, answers: np.ndarray) -> float:
        """The largest error, as a share of the rows."""
        return float(np.abs(answers / self.size - self.truth).max())

    def laplace(self, tables: list) -> tuple[np.ndarray, ...]:
        """Tables with the least Laplace noise."""
        most = 2.0 * len(tables) * (1 + 1e-9)
        scale = scale_within(self.grant.epsilon * (1 - 1e-6), self.grant.delta, most)
        return self.door().ask(Laplace(purpose="l", tables=tuple(tables), scale=scale)).values

    def answers(self, way: str) -> np.ndarray:
        """All questions answered in one run, in rows."""
        setting = budget.setting(self.schema, self.grant, public_rows=self.size)
        if way == WAYS[0]:
            return np.concatenate([v.ravel() for v in self.laplace(self.pairs)])
        if way == WAYS[1]:
            (whole,) = self.laplace([tuple(self.bins.values())])
            names = list(self.bins)
            at = [(names.index(a.column), names.index(b.column)) for a, b in self.pairs]
            every = range(len(names))
            return np.concatenate([whole.sum(axis=tuple(i for i in every if i not in p)).ravel() for p in at])
        if way == WAYS[2]:
            method = OnlineWeights(bins=2, questions=len(self.truth), updates=40)
            online = Online(self.door().ask, setting, method)
            asked = list(boxes(online.bins))[-len(self.truth) :]
            return np.array([online.answer(b) if online.left else online.weights.count(b) for b in asked])
        (release,) = SmallDb().measure(Run(self.door().ask, setting))
        return np.asarray(release.question.expected[0][release.index])

    def promised(self, way: str) -> float:
        """The bound that holds, but for one run in twenty; of online weights its order alone."""
        q, tables = self.asked, len(self.pairs)
        if way == WAYS[0]:
            scale = scale_within(q.epsilon, q.delta, 2.0 * tables)
            return float(np.log(q.queries / q.beta) * scale / q.rows)
        if way == WAYS[1]:
            return 2 * query_errors.on_data(q)
        return query_errors.multiplicative_weights(q) if way == WAYS[2] else query_errors.small_database(q)


def read(folder: Path) -> tuple[dict[str, np.ndarray], Schema]:
    """Rows as positions, and their schema."""
    schema = Schema.parse(json.loads((folder / "schema.json").read_text()))
    encoded = place_of(folder / "train.csv").under(schema).encoded(schema, SystemNoise(), person=None, key=bytes(32))
    return {n: np.asarray(encoded.encoded.positions[n]) for n in schema.measured()}, schema


def measure(folder: Path, cell: Row) -> Row:
    """One line."""
    rows, schema = read(folder)
    case = Case(rows, schema, cell["epsilon"], cell["delta"])
    errors = [case.error(case.answers(cell["way"])) for _ in range(RUNS)]
    shape = {"queries": case.asked.queries, "cells": case.asked.cells}
    return {**shape, "promised": case.promised(cell["way"]), "error": median(errors)}


def markdown(rows: list[Row]) -> str:
    """The table of a page."""
    return filled(rows, HEADS, CELLS)


def main(given) -> None:
    cells = grid(table=["four"], epsilon=given.epsilons, delta=[0.0, 1e-6], way=WAYS)
    print(markdown(measured(given, cells, measure, prepare=prepared)))


if __name__ == "__main__":
    start(main, json="query_errors", public=True, epsilons=[0.2, 1.0, 5.1])
