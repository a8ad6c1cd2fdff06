"""The loss of a mixture against noisy tables, and its gradient by hand: batched over an ensemble, on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from synth.generators.micro_batches import Pieces
from synth.schema.lazy import Lazy

if TYPE_CHECKING:
    import torch

    from synth.generators.marginals.fit_mixture import Problem
else:
    torch = Lazy("torch")

HELD = 2**23  # most cells of an ensemble's tables held at a time


class Surface:
    """The loss of a problem on a device. Logits are (E, G, B): ensembles, groups, components.

    ``pieces``: how many mixtures of the ensemble the device's memory holds at a time. ``chance``: of the variance that
    the rows themselves have, as draws from a law, how much is added to the noise's.
    """

    def __init__(self, problem: Problem, device: str, *, pull: float = 0.0, half: float = 1.0):
        self.pieces, self.pull, self.half = Pieces(), pull, half

        def index(x: np.ndarray) -> torch.Tensor:
            return torch.as_tensor(np.ascontiguousarray(x), dtype=torch.int64, device=device)

        def real(x: np.ndarray) -> torch.Tensor:
            return torch.as_tensor(np.ascontiguousarray(x), dtype=torch.float32, device=device)

        self.column, self.columns = index(problem.column), int(problem.column.max()) + 1
        self.source, self.view = index(problem.member)
        self.views = int(problem.member[1].max(initial=-1)) + 1
        self.left, self.right = index(problem.joint)
        self.mass, self.precision = real(problem.mass)[:, None], real(problem.precision)[:, None]
        self.log_mass = torch.log(self.mass.clamp_min(1e-6))
        self.blocks = [(index(b.rows), index(b.cols), real(b.y), real(b.precision), b.mirrored) for b in problem.blocks]
        self.told = (self.precision, self.blocks)
        self.total, self.chance = problem.total, 0.0

    def soften(self, chance: float) -> None:
        """Weighs cells as if so much of the rows' own chance were noise: a count's variance is its mean, at most."""
        if self.total <= 0 or chance == self.chance:
            return
        precision, blocks = self.told
        share = chance / self.total
        self.chance, self.precision = chance, precision / (1 + precision * self.mass.clamp_min(0) * share)
        self.blocks = [
            (rows, cols, y, own / (1 + own * y.clamp_min(0) * share * (2 if mirrored else 1)), mirrored)
            for rows, cols, y, own, mirrored in blocks
        ]

    def plain_loss(self, logits: torch.Tensor, weights: torch.Tensor) -> float:
        """The loss by the noise alone."""
        chance = self.chance
        self.soften(0.0)
        loss = float(self.gradient(logits, weights)[0])
        self.soften(chance)
        return loss

    def probabilities(self, logits: torch.Tensor, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Component weights (E, B) and group probabilities (E, G, B), which sum to one over a column."""
        grown = torch.exp(logits.clamp(-40, 40))
        return torch.softmax(weights, -1), grown / self._column_sums(grown)

    def gradient(self, logits: torch.Tensor, weights: torch.Tensor):
        """The mean loss of the ensemble's tables, and each mixture's own gradient by logits and weights."""

        def some(part: slice) -> tuple[torch.Tensor, ...]:
            loss, *own = self._gradient(logits[part], weights[part])
            return loss * (len(own[1]) / len(logits)), *own

        done = list(self.pieces.run(len(logits), some))
        if len(done) == 1:
            return done[0]
        losses, by_logits, by_weights = zip(*done, strict=True)
        return sum(losses), torch.cat(by_logits), torch.cat(by_weights)

    def _gradient(self, logits: torch.Tensor, weights: torch.Tensor):
        share, probs = self.probabilities(logits, weights)
        w = share[:, None, :]
        off = ((probs * w).sum(-1, keepdim=True) - self.mass) * self.precision
        by_probs, by_share = w * off, (probs * off).sum(1)
        views = self._views(probs)
        loss, by_views, more = self._tables(views, share)
        by_probs.index_add_(1, self.source, self._back(views, by_views).index_select(1, self.view))
        by_share += more
        if self.pull > 0:
            apart = torch.log(probs.clamp_min(1e-30)) - self.log_mass
            told = (self._column_sums(probs * apart) * w).sum(-1, keepdim=True)
            force = self.pull / (1 + told / self.half)
            by_probs += force * w * apart
            by_share += (force * probs * apart).sum(1)
        by_logits = probs * (by_probs - self._column_sums(probs * by_probs))
        return loss, by_logits, share * (by_share - (share * by_share).sum(-1, keepdim=True))

    def _tables(self, views: torch.Tensor, share: torch.Tensor):
        """Loss of all blocks, its gradient by the views (E, V, B) and by the component weights (E, B)."""
        w = share[:, None, :]
        by_views, by_share = torch.zeros_like(views), torch.zeros_like(share)
        loss = views.new_zeros(())
        for rows, cols, y, precision, mirrored in self.blocks:
            some = max(HELD // y.numel(), 1)
            for at in range(0, len(views), some):
                part = slice(at, at + some)
                a = views[part].index_select(1, rows)
                b = a if mirrored else views[part].index_select(1, cols)
                weighted = a * w[part]
                residual = (weighted @ b.transpose(1, 2)).sub_(y)
                force = residual * precision
                loss += torch.linalg.vecdot(force.flatten(), residual.flatten()) / len(views)
                pull = force @ b
                by_share[part] += (a * pull).sum(1)
                by_views[part].index_add_(1, rows, w[part] * pull, alpha=2 if mirrored else 1)
                if not mirrored:
                    by_views[part].index_add_(1, cols, force.transpose(1, 2) @ weighted)
        return loss, by_views, by_share

    def _views(self, probs: torch.Tensor) -> torch.Tensor:
        plain = probs.new_zeros((len(probs), self.views, probs.shape[2]))
        plain.index_add_(1, self.view, probs.index_select(1, self.source))
        if len(self.left) == 0:
            return plain
        return torch.cat([plain, plain.index_select(1, self.left) * plain.index_select(1, self.right)], 1)

    def _back(self, views: torch.Tensor, by_views: torch.Tensor) -> torch.Tensor:
        """Gradient by the plain views: that of joint views passed on to their two factors."""
        plain = by_views[:, : self.views]
        if len(self.left):
            joint = by_views[:, self.views :]
            plain = plain.index_add(1, self.left, joint * views.index_select(1, self.right))
            plain.index_add_(1, self.right, joint * views.index_select(1, self.left))
        return plain

    def _column_sums(self, x: torch.Tensor) -> torch.Tensor:
        """Sums over the groups of each column, spread back over its groups, (E, G, B)."""
        sums = x.new_zeros((len(x), self.columns, x.shape[2])).index_add_(1, self.column, x)
        return sums.index_select(1, self.column)
