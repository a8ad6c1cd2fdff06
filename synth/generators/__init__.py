"""Generators: one algorithm a file, found by name."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from synth.generators.base import Generator
from synth.generators.embeddings.dp_hp import DPHP
from synth.generators.embeddings.dp_kernel import DPKernel
from synth.generators.embeddings.dp_merf import DPMerf
from synth.generators.embeddings.dp_ntk import DPNTK
from synth.generators.embeddings.pearl import Pearl
from synth.generators.gradients.datalens import DataLens
from synth.generators.gradients.dp_autogan import DPAutoGan
from synth.generators.gradients.dp_ctgan import DPCtgan
from synth.generators.gradients.dp_diffusion import DPDiffusion
from synth.generators.gradients.dp_flow import DPFlow
from synth.generators.gradients.dp_sinkhorn import DPSinkhorn
from synth.generators.gradients.dp_vae import DPVae
from synth.generators.gradients.g_pate import GPate
from synth.generators.gradients.gs_wgan import GSWgan
from synth.generators.gradients.pate_gan import PateGan
from synth.generators.gradients.private_set import PrivateSet
from synth.generators.marginals.independent import Independent
from synth.generators.marginals.mixture import Mixture
from synth.generators.nested_mixture.generator import Nested
from synth.generators.nested_mixture.independent import IndependentChildren
from synth.generators.nested_mixture.model import NestedMixture
from synth.generators.opendp_mbi.aim import Aim
from synth.generators.opendp_mbi.mst import Mst
from synth.generators.product_mixture.model import Product
from synth.generators.query_based.mwem import Mwem
from synth.generators.query_based.online_weights import OnlineWeights
from synth.generators.query_based.private_evolution import PrivateEvolution
from synth.generators.query_based.small_db import SmallDb
from synth.generators.slices.network_model import NetworkModel
from synth.generators.slices.slice_wasserstein import SliceWasserstein
from synth.generators.slices.slicing import Slicing
from synth.schema.dataset import Dataset

ALL: tuple[type[Any], ...] = (
    Mixture,
    Independent,
    Slicing,
    SliceWasserstein,
    DPKernel,
    DPMerf,
    DPHP,
    Pearl,
    DPNTK,
    DPCtgan,
    DPAutoGan,
    PateGan,
    DPVae,
    DPFlow,
    DPDiffusion,
    DPSinkhorn,
    PrivateSet,
    GSWgan,
    DataLens,
    GPate,
    PrivateEvolution,
    Aim,
    Mst,
    Mwem,
    SmallDb,
    OnlineWeights,
    Nested,
    IndependentChildren,
)
GENERATORS: dict[str, Generator] = {g.name: g for g in (kind() for kind in ALL) if g.tables == "one"}
TREES: dict[str, Generator] = {g.name: g for g in (kind() for kind in ALL) if g.tables == "tree"}


def load_model(about: Mapping, arrays: Mapping[str, np.ndarray], tree: Dataset | None = None) -> Any:
    """The model whose ``state`` is given; ``tree``: of these related tables."""
    if tree is not None:
        return NestedMixture.from_state(tree, about, arrays)
    return (NetworkModel if "network" in about else Product).from_state(about, arrays)
