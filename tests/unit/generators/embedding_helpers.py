"""For tests of the embedding family: a curator over random rows, and exact expectations by enumeration."""

from itertools import product
from types import SimpleNamespace

import numpy as np

from synth.generators.papers.dp_kernel import DPKernel
from synth.generators.papers.embeddings import DPHP, DPNTK, DPMerf, FourierDistance, Pearl
from synth.questions import Bins, Block, Embedding, EmbeddingRelease, Fourier
from synth.schema.table import parse
from tests.unit.generators import helpers
from tests.unit.generators.helpers import fitted  # noqa: F401

CHAIN = parse(
    {
        "target": "d",
        "columns": {
            "a": {"type": "categorical", "categories": ["x", "y", "z"]},
            "b": {"type": "integer", "min": 0, "max": 29},
            "c": {"type": "categorical", "categories": ["p", "q", "r", "s"], "missing": ["?"]},
            "d": {"type": "boolean", "categories": ["n", "y"]},
            "e": {"type": "integer", "min": 0, "max": 9},
        },
    }
)


def chain(rows: int = 3000) -> dict[str, np.ndarray]:
    """Rows of ``CHAIN`` in which every column follows from the one before, four times in five."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 3, rows)

    def after(x: np.ndarray, size: int) -> np.ndarray:
        return np.where(rng.random(rows) < 0.8, x % size, rng.integers(0, size, rows))

    b = after(10 * a + rng.integers(0, 10, rows), 30)
    c, d = after(b // 7, 5), after(b // 15, 2)
    return {"a": a, "b": b, "c": c, "d": d, "e": after(2 * c, 10)}


def measured(generator, places, schema=CHAIN, **more):
    """(releases, setting, curator) on rows of the chain."""
    return helpers.measured(generator, places, schema, **more)


def pair_error(places, drawn, schema=CHAIN) -> float:
    """Mean total variation between the tables of all pairs of columns, numbers in five parts."""

    def codes(rows, name):
        size = schema.columns[name].cells
        return rows[name] * 5 // size if size > 5 else rows[name]

    errors = []
    names = list(schema.columns)
    for i, one in enumerate(names):
        for two in names[i + 1 :]:
            tables = []
            for rows in (places, drawn):
                table = np.zeros((5, 5))
                np.add.at(table, (codes(rows, one), codes(rows, two)), 1 / len(rows[one]))
                tables.append(table)
            errors.append(np.abs(tables[0] - tables[1]).sum() / 2)
    return float(np.mean(errors))


def every_row(bins) -> dict[str, np.ndarray]:
    """One row for each combination of bins: the first position of a leaf of each bin."""
    firsts = [[int(b.starts[np.flatnonzero(b.groups == g)[0]]) for g in range(b.size)] for b in bins]
    grid = np.array(list(product(*firsts)))
    return {b.column: grid[:, i] for i, b in enumerate(bins)}


def chances(parts, share) -> np.ndarray:
    """Probability of each combination of groups under a mixture, columns in order, the last varying fastest."""
    out = 0.0
    for b, weight in enumerate(share):
        joint = np.ones(1)
        for p in parts:
            joint = (joint[:, None] * p[b]).ravel()
        out = out + weight * joint
    return out


SMALL = {
    "merf": DPMerf(frequencies=200, steps=60),
    "pearl": Pearl(frequencies=200, steps=60),
    "hp": DPHP(steps=60),
    "ntk": DPNTK(features=3000, steps=60),
    "anova": DPKernel(),
    "conditional": DPKernel(variant="conditional"),
    "parallel": DPKernel(variant="parallel"),
    "path": DPKernel(form="path", anchors=200, steps=60),
    "gaussian": DPKernel(form="gaussian", variant="conditional", widths=3, anchors=120, steps=40),
}
ROWS = chain()


def waves(table, values, *, sigma, speed=0.0):
    """The distance to released means (2 * D,) of the waves of one column's phases (G, D)."""
    table = np.asarray(table)
    features = Fourier(blocks=(Block(bins=Bins.each("a", len(table)), table=table),))
    release = EmbeddingRelease(question=Embedding(purpose="t", features=features, sigma=sigma), values=values)
    columns = SimpleNamespace(at=lambda _: 0, total=table.shape[1] ** 0.5)
    return FourierDistance(columns, release, device="cpu", speed=speed)
