"""Rows whose columns follow a common hidden one, and the circumstances of a run on them."""

import numpy as np

from synth.generators.base import PublicRows, Setting
from synth.pipeline.priors import Encoded
from synth.schema.table import Schema
from tests.made import codes

NAMES, SIZE = [f"c{i}" for i in range(6)], 5
SCHEMA = Schema.parse({"columns": {n: codes(*[f"v{j}" for j in range(SIZE)]) for n in NAMES}})


def drawn(num_rows: int, seed: int, *, shuffled: bool = False) -> dict[str, np.ndarray]:
    """Rows whose columns follow a common hidden one; with ``shuffled`` none follows another."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, SIZE, num_rows)
    rows = {n: np.where(rng.random(num_rows) < 0.7, hidden, rng.integers(0, SIZE, num_rows)) for n in NAMES}
    return {n: rng.permutation(v) for n, v in rows.items()} if shuffled else rows


def setting_of(num_rows: int, mu: float, *priors: PublicRows) -> Setting:
    return Setting(schema=SCHEMA, mu=mu, sensitivity=2**0.5, signed=2.0, public_rows=num_rows, priors=priors)


def public(rows: dict[str, np.ndarray], name: str = "older.csv") -> Encoded:
    return Encoded(name=name, sha256=name, rows=rows, reason="published")
