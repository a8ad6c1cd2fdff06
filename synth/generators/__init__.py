"""Generators: one algorithm a file, found by name."""

from collections.abc import Mapping

import numpy as np

from synth.generators.base import Generator
from synth.generators.independent import Independent
from synth.generators.mixture import Mixture
from synth.generators.product import Product

GENERATORS: dict[str, Generator] = {g.name: g for g in (Mixture(), Independent())}


def load_model(about: Mapping, arrays: Mapping[str, np.ndarray]) -> Product:
    """The model whose ``state`` is given."""
    return Product.from_state(about, arrays)
