"""Rows of a known law, their noisy tables, and weighted rows made of these: for tests of what is inferred."""

import numpy as np

from synth.generators.core.product import Axis, Product
from synth.pipeline.inference.weighted_rows import ROWS, WeightedRows
from synth.questions import Bins, Counts, CountsRelease, Marginal
from tests.made import a_schema, binary, codes, number

SCHEMA = a_schema(age=number(0, 9), sex=binary("f", "m"), ill=codes("no", "yes", "perhaps"), weight=number(1, 5))
SIZES = {"age": 10, "sex": 2, "ill": 3, "weight": 5}
PAIRS = [("age", "sex"), ("age", "ill"), ("sex", "ill")]


def people(rows, rng):
    """Positions of a law in which illness depends on age and sex."""
    age, sex = rng.integers(0, 10, rows), rng.integers(0, 2, rows)
    ill = (rng.random(rows) < (0.1 + 0.05 * age + 0.1 * sex)).astype(int) + (rng.random(rows) < 0.01)
    weight = np.minimum(age // 3 + (rng.random(rows) < 0.5), 4)  # 1 to 5, more of the old
    return {"age": age, "sex": sex, "ill": np.minimum(ill, 2), "weight": weight}


def counted(positions, sigma, rng, tables=PAIRS):
    """The tables with noise."""
    marginals = tuple(Marginal(bins=tuple(Bins.each(n, SIZES[n]) for n in t), sigma=sigma) for t in tables)
    values = []
    for table in tables:
        exact = np.zeros([SIZES[n] for n in table], dtype=np.int64)
        np.add.at(exact, tuple(positions[n] for n in table), 1)
        values.append(exact + np.rint(sigma * rng.standard_normal(exact.shape)).astype(np.int64))
    return [CountsRelease(question=Counts(purpose="tables", marginals=marginals), values=tuple(values))]


def weighted(releases, total, rng, columns=("age", "sex", "ill")):
    """With a model that is wrong on purpose: every value of a column alike, columns independent."""
    return WeightedRows.of(releases, {n: rng.integers(0, SIZES[n], ROWS) for n in SIZES}, total, columns)


def even_model(total):
    """A model that is wrong on purpose: every value of a column alike, columns independent."""
    axes = tuple(
        Axis(
            column=n,
            cells=size,
            starts=np.arange(size),
            groups=np.arange(size),
            within=np.ones(size, dtype=np.float32),
            probs=np.full((1, size), 1 / size, dtype=np.float32),
        )
        for n, size in SIZES.items()
    )
    return Product(total=total, weights=np.ones(1), axes=axes)
