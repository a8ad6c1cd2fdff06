"""Distance of tensor features: each term's expectation is a weighted product of two views of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from synth.generators.embeddings.embedding import ColumnEstimates, features_of
from synth.generators.embeddings.fit import Distance, Parts, real
from synth.lazy import Lazy
from synth.questions import Block, EmbeddingRelease, Tensors, Term

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")


class TensorLoss(Distance):
    """Squared errors of all features over the noise's variance.

    A component's expected coordinates of a block are p_j @ table, those of a term the tensor product of its blocks'.
    Terms with the same first block are laid side by side: one matrix product for all of them.
    """

    def __init__(self, made: ColumnEstimates, release: EmbeddingRelease, *, device: str):
        features, sigma = features_of(release, Tensors), release.question.sigma
        self.made, self.device = made, device
        self.tables: dict[int, tuple[int, torch.Tensor]] = {}
        self.sheets: list[_Sheet] = []
        sides: dict[int, list[tuple[Term, np.ndarray]]] = {}
        for term, part in zip(features.terms, features.parts, strict=True):
            sides.setdefault(id(term.blocks[0]), []).append((term, release.values[part]))
            for block in term.blocks:
                self._enter(block)
        for terms in sides.values():
            self.sheets.append(_Sheet(terms, total=made.total, sigma=sigma, device=device))
        self.dim = features.dim

    @property
    def goal(self) -> float:
        """The number of features: each error over its deviation has unit variance."""
        return float(self.dim)

    def _enter(self, block: Block) -> None:
        """The block's coordinates by the model's groups."""
        name = block.bins.column
        groups = self.made.groups[name]
        first = np.unique(groups, return_index=True)[1]
        self.tables[id(block)] = (self.made.at(name), real(block.table[block.bins.groups[first]], self.device))

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """Each sheet's expected features, (E, rows, others' columns)."""
        views = {key: parts[at] @ table for key, (at, table) in self.tables.items()}
        return [sheet.mean(share, views) for sheet in self.sheets]

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """Squared errors of all sheets."""
        total = means[0].new_zeros(())
        for sheet, mean in zip(self.sheets, means, strict=True):
            total = total + sheet.misfit(mean)
        return total / len(means[0])


class _Sheet:
    """Terms that share their first block: expected (rows, all others' columns), values and scale alike."""

    def __init__(self, terms: list[tuple[Term, np.ndarray]], *, total: float, sigma: float, device: str):
        self.left = id(terms[0][0].blocks[0])
        self.rights = [tuple(id(b) for b in t.blocks[1:]) for t, _ in terms]
        tall = terms[0][0].blocks[0].width
        self.values = real(np.hstack([v.reshape(tall, -1) for _, v in terms]) / sigma, device)
        scale = [np.full(t.dim // tall, t.weight * total / sigma) for t, _ in terms]
        self.scale = real(np.concatenate(scale), device)

    def mean(self, share: torch.Tensor, views: dict[int, torch.Tensor]) -> torch.Tensor:
        left = views[self.left] * share[..., None]
        right = torch.cat([_joint([views[k] for k in keys], share) for keys in self.rights], -1)
        return left.transpose(1, 2) @ right

    def misfit(self, mean: torch.Tensor) -> torch.Tensor:
        return (mean * self.scale - self.values).square().sum()


def _joint(factors: list[torch.Tensor], share: torch.Tensor) -> torch.Tensor:
    """The tensor product (E, B, width) of no, one or two views."""
    if not factors:
        return torch.ones_like(share)[..., None]
    out = factors[0]
    for factor in factors[1:]:
        out = (out[..., :, None] * factor[..., None, :]).flatten(2)
    return out
