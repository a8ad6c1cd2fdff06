"""Generators: one algorithm a file, found by name."""

from collections.abc import Mapping

import numpy as np

from synth.generators.aim import Aim
from synth.generators.base import Generator
from synth.generators.dp_hp import DPHP
from synth.generators.dp_kernel import DPKernel
from synth.generators.dp_merf import DPMerf
from synth.generators.dp_ntk import DPNTK
from synth.generators.independent import Independent
from synth.generators.mixture import Mixture
from synth.generators.mst import Mst
from synth.generators.mwem import Mwem
from synth.generators.pearl import Pearl
from synth.generators.product import Product
from synth.generators.slice_wasserstein import SliceWasserstein
from synth.generators.slicing import Slicing
from synth.generators.small_db import SmallDb

ALL = (Mixture, Independent, Slicing, SliceWasserstein, DPKernel, DPMerf, DPHP, Pearl, DPNTK, Aim, Mst, Mwem, SmallDb)
GENERATORS: dict[str, Generator] = {g.name: g for g in (kind() for kind in ALL)}


def load_model(about: Mapping, arrays: Mapping[str, np.ndarray]) -> Product:
    """The model whose ``state`` is given."""
    return Product.from_state(about, arrays)
