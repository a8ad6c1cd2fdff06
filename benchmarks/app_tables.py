"""The tables of the application's tour: none of them the sample of the documentation."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def wide(folder: Path) -> list[Path]:
    """5,000 made-up people: 50 columns of categories, numbers and dates."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 5000)
    columns: dict[str, Any] = {}
    for i in range(25):
        columns[f"answer_{i}"] = np.array(list("abcdef"))[(kind + rng.integers(0, 3, 5000)) % (2 + i % 5)]
    for i in range(20):
        columns[f"amount_{i}"] = (rng.gamma(2.0, 30.0, 5000) + 10 * kind).round().astype(int)
    days = np.datetime64("2015-01-01") + rng.integers(0, 3000, (5, 5000)).astype("timedelta64[D]")
    columns |= {f"day_{i}": days[i] for i in range(5)}
    pd.DataFrame(columns).to_csv(folder / "wide.csv", index=False)
    return [folder / "wide.csv"]


def credit(folder: Path) -> list[Path]:
    """Default of credit card clients."""
    pd.read_csv(SHARED / "credit_default_taiwan.csv.gz").to_csv(folder / "credit.csv", index=False)
    return [folder / "credit.csv"]


def bank(folder: Path) -> list[Path]:  # noqa: ARG001 - the files lie where they are
    """A Czech bank's accounts and what belongs to them; its districts are public."""
    return [SHARED / "relational_bank" / f"{n}.csv" for n in ("account", "district", "disp", "card", "loan", "order")]


MAKERS = {"wide": wide, "credit": credit, "bank": bank}
