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
        "mixture": "core.mixture:Mixture",
        "independent": "core.mixture:Independent",
        "slicing": "papers.slicing:Slicing",
        "slice_wasserstein": "papers.slicing:SliceWasserstein",
        "dp_kernel": "papers.dp_kernel:DPKernel",
        "dp_merf": "papers.embeddings:DPMerf",
        "dp_hp": "papers.embeddings:DPHP",
        "pearl": "papers.embeddings:Pearl",
        "dp_ntk": "papers.embeddings:DPNTK",
        "dp_ctgan": "papers.dp_sgd:DPCtgan",
        "dp_autogan": "papers.dp_sgd:DPAutoGan",
        "pate_gan": "papers.teachers:PateGan",
        "dp_vae": "papers.dp_sgd:DPVae",
        "dp_flow": "papers.dp_sgd:DPFlow",
        "dp_diffusion": "papers.dp_sgd:DPDiffusion",
        "dp_sinkhorn": "papers.dp_sgd:DPSinkhorn",
        "private_set": "papers.dp_sgd:PrivateSet",
        "gs_wgan": "papers.teachers:GSWgan",
        "datalens": "papers.teachers:DataLens",
        "g_pate": "papers.teachers:GPate",
        "private_evolution": "papers.private_evolution:PrivateEvolution",
        "aim": "papers.opendp:Aim",
        "mst": "papers.opendp:Mst",
        "mwem": "papers.queries:Mwem",
        "small_db": "papers.queries:SmallDb",
        "online_weights": "papers.queries:OnlineWeights",
    }
)
TREES = Methods({"mixture": "core.related:Nested", "independent": "core.related:IndependentChildren"})


def load_model(about: Mapping, arrays: Mapping[str, np.ndarray], tree: Dataset | None = None) -> Any:
    """The model whose ``state`` is given; ``tree``: of these related tables."""
    if tree is not None:
        return _at("core.related_model:NestedMixture").from_state(tree, about, arrays)
    home = "papers.slice_training:NetworkModel" if "network" in about else "core.product:Product"
    return _at(home).from_state(about, arrays)
