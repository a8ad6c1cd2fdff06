"""How close a synthetic table comes to the real one, and how useful it is; for the steward."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def data(result: Any) -> Any:
    """JSON data of a result: its fields, lists of arrays; what is no number is None. Privacy: as private as it is."""
    if is_dataclass(result):
        return {f.name: data(getattr(result, f.name)) for f in fields(result)}
    if isinstance(result, Mapping):
        return {n: data(v) for n, v in result.items()}
    if isinstance(result, np.ndarray):
        result = result.tolist()
    if isinstance(result, list | tuple):
        return [data(v) for v in result]
    return None if isinstance(result, float) and result != result else result
