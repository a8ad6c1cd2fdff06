"""Generators: methods by name, each loaded when it is first asked for."""

from collections import UserDict
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from synth.generators.method import Method
from synth.schema.dataset import Dataset


class Methods(UserDict[str, Any]):
    """Methods by name, from ``module:Class`` within this room.

    >>> GENERATORS["mwem"].name, "aim" in GENERATORS
    ('mwem', True)
    """

    def __getitem__(self, name: str) -> Method:
        if isinstance(home := self.data[name], str):
            self.data[name] = _at(home)()
        return self.data[name]


def _at(home: str) -> Any:
    module, _, name = home.partition(":")
    return getattr(import_module(f"synth.generators.{module}"), name)


GENERATORS = Methods(
    {
        "mixture": "marginals.mixture:Mixture",
        "independent": "marginals.independent:Independent",
        "slicing": "slices.slicing:Slicing",
        "slice_wasserstein": "slices.slice_wasserstein:SliceWasserstein",
        "dp_kernel": "embeddings.dp_kernel:DPKernel",
        "dp_merf": "embeddings.dp_merf:DPMerf",
        "dp_hp": "embeddings.dp_hp:DPHP",
        "pearl": "embeddings.pearl:Pearl",
        "dp_ntk": "embeddings.dp_ntk:DPNTK",
        "dp_ctgan": "gradients.dp_ctgan:DPCtgan",
        "dp_autogan": "gradients.dp_autogan:DPAutoGan",
        "pate_gan": "gradients.pate_gan:PateGan",
        "dp_vae": "gradients.dp_vae:DPVae",
        "dp_flow": "gradients.dp_flow:DPFlow",
        "dp_diffusion": "gradients.dp_diffusion:DPDiffusion",
        "dp_sinkhorn": "gradients.dp_sinkhorn:DPSinkhorn",
        "private_set": "gradients.private_set:PrivateSet",
        "gs_wgan": "gradients.gs_wgan:GSWgan",
        "datalens": "gradients.datalens:DataLens",
        "g_pate": "gradients.g_pate:GPate",
        "private_evolution": "query_based.private_evolution:PrivateEvolution",
        "aim": "opendp_mbi.aim:Aim",
        "mst": "opendp_mbi.mst:Mst",
        "mwem": "query_based.mwem:Mwem",
        "small_db": "query_based.small_db:SmallDb",
        "online_weights": "query_based.online_weights:OnlineWeights",
    }
)
TREES = Methods(
    {"mixture": "nested_mixture.generator:Nested", "independent": "nested_mixture.independent:IndependentChildren"}
)


def load_model(about: Mapping, arrays: Mapping[str, np.ndarray], tree: Dataset | None = None) -> Any:
    """The model whose ``state`` is given; ``tree``: of these related tables."""
    if tree is not None:
        return _at("nested_mixture.model:NestedMixture").from_state(tree, about, arrays)
    home = "slices.network_model:NetworkModel" if "network" in about else "product_mixture.model:Product"
    return _at(home).from_state(about, arrays)
