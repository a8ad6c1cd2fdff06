"""Distances between a model's mean embedding and a released one, whitened by the release's noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.embeddings.fit import Distance, Parts, real
from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")


class FourierLoss(Distance):
    """Squared distance of random Fourier features: means of cos and sin of a row's phase, apart for each label.

    A component's expectation is a product over columns of sums p_j(g) exp(i phase_j(g)): exact and noiseless. Only
    columns in which a frequency has a phase are multiplied.
    ``phases``: for each of ``columns`` (G_j, D); ``label``: its column and coordinates by group; ``values`` (L, 2, D):
    released means of cos and sin for each label; ``deviation``: their noise.
    """

    def __init__(
        self,
        columns: Sequence[int],
        phases: Sequence[np.ndarray],
        label: tuple[int, np.ndarray] | None,
        values: np.ndarray,
        deviation: float,
        *,
        device: str,
    ):
        self.columns, self.label = list(columns), None if label is None else label[0]
        self.member = None if label is None else real(label[1], device)
        active = np.stack([np.any(p != 0, axis=0) for p in phases])
        used = [p[:, a] for p, a in zip(phases, active, strict=True)]
        self.cos, self.sin = [real(np.cos(p), device) for p in used], [real(np.sin(p), device) for p in used]
        self.slots = torch.as_tensor(_slots(active), device=device)
        self.values, self.scale = real(values, device), 1 / deviation
        self.weight = torch.ones_like(self.values[0, 0])

    @property
    def goal(self) -> float:
        """The number of released values, weighted: each error over its deviation has unit variance."""
        return float(self.weight.sum()) * 2 * len(self.values)

    def expected(self, share: torch.Tensor, parts: Parts) -> torch.Tensor:
        """Means of the model's features, (E, L, 2, D)."""
        cos = self._factors(parts, self.cos, 1.0)
        sin = self._factors(parts, self.sin, 0.0)
        a, b = cos[0], sin[0]
        for c, d in zip(cos[1:], sin[1:], strict=True):
            a, b = a * c - b * d, a * d + b * c
        joint = share[..., None] * (1.0 if self.member is None else parts[self.label or 0] @ self.member)
        weighted = joint.transpose(1, 2)
        return torch.stack([weighted @ a, weighted @ b], 2)

    def _factors(self, parts: Parts, tables: Sequence[torch.Tensor], spare: float) -> list[torch.Tensor]:
        """For each slot the means (E, B, D) in the column that a frequency has there; ``spare`` where it has none."""
        means = [parts[j] @ table for j, table in zip(self.columns, tables, strict=True)]
        none = means[0].new_full((*means[0].shape[:2], 1), spare)
        whole = torch.cat([*means, none], -1)
        return [whole.index_select(-1, at) for at in self.slots]

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """One: ``expected``."""
        return [self.expected(share, parts)]

    def misfits(self, means: list[torch.Tensor]) -> torch.Tensor:
        """Squared error over noise variance of each frequency, summed over its values, (E, D)."""
        off = (means[0] - self.values) * self.scale
        return off.square().sum((1, 2))

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """Weighted squared errors of all frequencies."""
        return (self.misfits(means) * self.weight).sum() / len(means[0])


def _slots(active: np.ndarray) -> np.ndarray:
    """Where each frequency's columns stand among all columns' active frequencies laid end to end.

    ``active`` (J, D) -> (slots, D); a frequency with fewer columns finds the place behind the last.

    >>> _slots(np.array([[True, False], [True, True]])).tolist()
    [[0, 2], [1, 3]]
    """
    place = np.full(active.shape, active.sum())
    place[active] = np.arange(active.sum())
    place.sort(axis=0)
    return place[: max(int(active.sum(0).max()), 1)]
