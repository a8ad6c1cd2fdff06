"""A small table of towns within regions, and its schema, for tests of areas."""

import copy

import numpy as np
import pandas as pd

TOWNS = ["11", "12", "13", "21", "22"]
PLAIN = {
    "columns": {
        "region": {"type": "categorical", "categories": ["1", "2"], "nullable": True},
        "town": {"type": "categorical", "categories": TOWNS, "nullable": True, "within": "region"},
        "kind": {"type": "categorical", "categories": ["a", "b", "c"]},
        "age": {"type": "integer", "min": 0, "max": 9},
    }
}
LISTED = {"column": "region", "areas": {"1": ["11", "12", "13"], "2": ["21", "22"]}}


def frame(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    town = rng.choice([*TOWNS, ""], rows, p=[0.3, 0.2, 0.1, 0.2, 0.15, 0.05])
    return pd.DataFrame(
        {
            "region": [t[:1] for t in town],
            "town": town,
            "kind": rng.choice(["a", "b", "c"], rows),
            "age": rng.integers(0, 10, rows).astype(str),
        }
    )


def changed(**columns) -> dict:
    plain = copy.deepcopy(PLAIN)
    for name, facts in columns.items():
        plain["columns"][name] = {**plain["columns"].get(name, {}), **facts}
    return plain


def three(**top) -> dict:
    """A chain: town within region within land."""
    return changed(land={"type": "categorical", "categories": ["x"], "nullable": True, **top}, region=OVER)


OVER = {"within": {"column": "land", "areas": {"x": ["1", "2"]}}}
