"""Expected gradients of a voting network under a mixture of products, in closed form, and their distance."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.embeddings.embedding import ColumnEstimates, features_of
from synth.generators.embeddings.fit import Distance, Parts, real
from synth.lazy import Lazy
from synth.questions import EmbeddingRelease, Gradients

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")


class GradientLoss(Distance):
    """Squared errors of the first layer's mean gradients over the noise's variance.

    A row's gradient at unit i is x 1[unit i active] over the constant norm. Given a component the columns are
    independent, so that P(active) and P(active | column in this bin) follow from the chances of its few votes.
    """

    def __init__(self, made: ColumnEstimates, release: EmbeddingRelease, *, device: str):
        question = features_of(release, Gradients)
        self.columns = [made.at(b.bins.column) for b in question.blocks]
        self.label = None if question.label is None else made.at(question.label.bins.column)
        labels, units = (question.label.width if question.label else 1), len(question.signs)
        cut = np.cumsum([b.width for b in question.blocks])[:-1]
        votes = np.split(question.weights, cut, axis=1)  # for each column (h, G_j)
        # Half of the units are active whatever the row, so that all rows' gradients have the same norm.
        norm = sqrt(units / 2 * sum(b.square for b in question.blocks))
        self.height = [sqrt(b.square) / norm * made.total / release.question.sigma for b in question.blocks]
        wide = question.weights.shape[1]
        first = release.values.reshape(labels, -1)[:, : units * wide].reshape(labels, units, wide)
        parts = np.split(first / release.question.sigma, cut, axis=2)
        self.values = [real(p, device) for p in parts]
        self.yes = [real((v > 0).T, device) for v in votes]  # (G_j, h)
        active = np.stack([np.any(v != 0, axis=1) for v in votes])  # (J, h)
        self.order = int(active.sum(0).max())
        self.slot = np.argsort(~active, axis=0, kind="stable")[: self.order]  # (order, h): columns of a unit
        self.at = torch.as_tensor(self.slot, device=device)
        self.count = sum(v.numel() for v in self.values)

    @property
    def goal(self) -> float:
        """The number of released gradients."""
        return float(self.count)

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """For each column the units' expected gradients, (E, L, h, G_j), before their common norm."""
        chance = torch.stack([parts[j] @ yes for j, yes in zip(self.columns, self.yes, strict=True)])  # (J, E, B, h)
        votes = [torch.gather(chance, 0, at.expand(1, *chance.shape[1:]))[0] for at in self.at]
        alone = _majority(votes, 0, like=votes[0])
        joint = share[..., None] * (1.0 if self.label is None else parts[self.label])  # (E, B, L)
        results = []
        for place, j in enumerate(self.columns):
            expected = torch.einsum("ebl,ebh,ebg->elhg", joint, alone, parts[j])
            results.append(self._own(expected, place, joint, votes, parts[j]))
        return results

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """Squared errors of all columns."""
        total = means[0].new_zeros(())
        for mean, height, values in zip(means, self.height, self.values, strict=True):
            total = total + (mean * height - values).square().sum()
        return total / len(means[0])

    def _own(
        self, expected: torch.Tensor, place: int, joint: torch.Tensor, votes: list[torch.Tensor], part: torch.Tensor
    ) -> torch.Tensor:
        """The expectations at those units that this column votes in: given its bin, its vote is known."""
        for s in range(self.order):
            units = torch.as_tensor(np.flatnonzero(self.slot[s] == place), device=part.device)
            if len(units) == 0:
                continue
            others = [v.index_select(-1, units) for i, v in enumerate(votes) if i != s]
            yes = self.yes[place].index_select(1, units).T  # (u, g)
            like = votes[s].index_select(-1, units)
            chances = [_majority(others, vote, like=like) for vote in (1, -1)]
            both = [torch.einsum("ebl,ebu,ebg->elug", joint, chance, part) for chance in chances]
            expected = expected.index_copy(2, units, both[0] * yes + both[1] * (1 - yes))
        return expected


def _majority(votes: list[torch.Tensor], ahead: int, *, like: torch.Tensor) -> torch.Tensor:
    """The chance that more votes say yes than no, where ``ahead`` more have said yes already.

    ``votes``: each one's chance of a yes, independent of the others, shaped as ``like``.

    >>> half = torch.tensor(0.5)
    >>> float(_majority([half, half], 1, like=half)), float(_majority([], -1, like=half))
    (0.75, 0.0)
    """
    none = torch.zeros_like(like)
    law = {ahead: torch.ones_like(like)}
    for chance in votes:
        grown: dict[int, torch.Tensor] = {}
        for lead, mass in law.items():
            grown[lead + 1] = grown.get(lead + 1, none) + mass * chance
            grown[lead - 1] = grown.get(lead - 1, none) + mass * (1 - chance)
        law = grown
    return torch.stack([mass if lead > 0 else none for lead, mass in law.items()]).sum(0)
