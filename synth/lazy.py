"""Libraries that take a second to load, loaded where something of theirs is first used.

A command that refuses its input, lists methods or reads a ledger must not wait for what trains networks.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any


class Lazy:
    """Stands for a module of that name until something of it is asked for.

    Those that several rooms use stand below, under the names that they are imported by. Annotations that name them
    must not be evaluated (``from __future__ import annotations``).

    Privacy: public only.

    >>> Lazy("math").sqrt(4)
    2.0
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        module = self._module  # held: inner loops ask for it hundreds of thousands of times
        if module is None:
            module = self._module = importlib.import_module(self._name)
        return getattr(module, attribute)


if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")
linalg, optimize, sparse, special = (Lazy(f"scipy.{name}") for name in ("linalg", "optimize", "sparse", "special"))

__all__ = ["Lazy", "linalg", "optimize", "sparse", "special", "torch"]
