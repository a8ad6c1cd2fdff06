"""Small samples for the tests of evaluation: ages drive income and illness; two cities."""

import numpy as np

from synth.evaluate.fidelity import Comparison, compare_samples
from synth.evaluate.read_sample import Sample
from synth.schema import table as schemas
from tests.made import binary, codes, facts_of, number

SCHEMA = schemas.parse(
    {
        "target": "ill",
        "positive": "yes",
    }
    | facts_of(
        age=number(0, 99),
        income=number(0, 999, nullable=True),
        city=codes("Rome", "Oslo", "Bern", nullable=True),
        ill=binary("no", "yes"),
    )
)


def sample(rows: int, *, seed: int, linked: bool = True) -> Sample:
    """``linked=False``: the same columns one by one, without what ties them together."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    income = np.clip(age * 8 + rng.normal(0, 60, rows), 0, 999).astype(np.int64)
    income[rng.random(rows) < 0.1] = 1000  # missing
    city = rng.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05])
    ill = (rng.random(rows) < 1 / (1 + np.exp(-(age - 60) / 6))).astype(np.int64)
    positions = {"age": age, "income": income, "city": city, "ill": ill}
    if not linked:
        positions = {n: rng.permutation(p) for n, p in positions.items()}
    return Sample(columns=SCHEMA.measured(), positions=positions, rows=rows)


def write(path, made: Sample):
    """The sample as a CSV file."""
    from synth.release import folder
    from synth.schema import codec

    folder.write_table(path, codec.decode(made.positions, SCHEMA, num_rows=made.used), SCHEMA)
    return path


def compared(real: Sample, made: Sample, *, weight: str | None = None) -> Comparison:
    """A comparison without SDMetrics."""
    return compare_samples(real, made, quality_rows=None, rng=np.random.default_rng(0), weight=weight)
