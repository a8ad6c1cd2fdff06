"""The loss of a mixture against noisy tables, and its gradient by hand: batched over an ensemble, on a device."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from synth.generators import micro_batches
from synth.generators.marginals.smoothness import Bends
from synth.schema.lazy import Lazy

if TYPE_CHECKING:
    import torch

    from synth.generators.marginals.fit_mixture import Problem
else:
    torch = Lazy("torch")

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
CACHED = 2**20  # numbers of groups, views and components that are worked on at a time
SHARED = 2**16  # such numbers from which on the cores share them: less is done before another core has begun
HELD = 2**23  # most cells of an ensemble's tables held at a time


def even(count: int, parts: int) -> list[slice]:
    """``range(count)`` in about so many parts of about one size.

    >>> [(p.start, p.stop) for p in even(16, 3)]
    [(0, 6), (6, 11), (11, 16)]
    """
    ends = np.linspace(0, count, max(1, min(parts, count)) + 1).round(6)
    ends = np.ceil(ends).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(ends)]


class Surface:
    """The loss of a problem on a device. Logits are (E, G, B): ensembles, groups, components.

    ``pieces``: how many mixtures of the ensemble the device's memory holds at a time. ``chance``: of the variance that
    the rows themselves have, as draws from a law, how much is added to the noise's.
    """

    def __init__(self, problem: Problem, device: str, *, pull: float = 0.0, half: float = 1.0, smooth: float = 0.0):
        self.pieces, self.pull, self.half = micro_batches.Pieces(), pull, half

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
        self.bends = Bends(problem.neighbours, problem.mass, device, strength=smooth)
        self.pool: ThreadPoolExecutor | None = None

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
        return torch.softmax(weights, -1), self._shares(logits.clamp(-40, 40))[0]

    def gradient(self, logits: torch.Tensor, weights: torch.Tensor):
        """The mean loss of the ensemble's tables, and each mixture's own gradient by logits and weights."""
        found = [torch.empty_like(logits), torch.empty_like(weights)]

        def keep(part: slice, gradients: Sequence[torch.Tensor]) -> None:
            for whole, own in zip(found, gradients, strict=True):
                whole[part] = own

        return self.step(logits, weights, keep), *found

    def step(
        self, logits: torch.Tensor, weights: torch.Tensor, move: Callable[[slice, Sequence[torch.Tensor]], None]
    ) -> torch.Tensor:
        """The mean loss; ``move`` is given each part of the ensemble with its gradients, once these are known.

        On a processor a part is as many mixtures as stay in its cache, and all cores work on parts of their own.
        """
        count = len(logits)

        def some(part: slice) -> tuple[torch.Tensor, slice, list[torch.Tensor]]:
            loss, *own = self._gradient(logits[part], weights[part])
            return loss / count, part, own

        if logits.device.type not in micro_batches.BOUNDLESS:
            done = list(self.pieces.run(count, some))
            for _, part, own in done:
                move(part, own)
            return torch.stack([loss for loss, _, _ in done]).sum()

        def both(part: slice) -> torch.Tensor:
            loss, _, own = some(part)
            move(part, own)
            return loss

        numbers = count * (logits.shape[1] + self.views + len(self.left)) * logits.shape[2]
        parts = max(-(-numbers // CACHED), CORES if numbers > SHARED else 1)
        return torch.stack(self._mapped(both, even(count, parts))).sum()

    def _mapped(self, work: Callable[[slice], torch.Tensor], parts: Sequence[slice]) -> list[torch.Tensor]:
        if len(parts) == 1 or CORES == 1:
            return [work(p) for p in parts]
        self.pool = self.pool or ThreadPoolExecutor(CORES)
        return list(self.pool.map(work, parts))

    def _shares(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Group probabilities (E, G, B), and the logarithms of what they were divided by, (E, C, B)."""
        grown = torch.exp(logits)
        sums = self._column_sums(grown)
        return grown / sums.index_select(1, self.column), sums.log()

    def _gradient(self, logits: torch.Tensor, weights: torch.Tensor):
        share = torch.softmax(weights, -1)
        w = share[:, None, :]
        held = logits.clamp(-40, 40)
        probs, log_sums = self._shares(held)
        off = (torch.bmm(probs, share[:, :, None]) - self.mass) * self.precision
        by_share = torch.bmm(off.transpose(1, 2), probs)[:, 0]
        loss, by_views, more = self._tables(self._views(probs), share)
        by_probs = off * w
        by_probs.index_add_(1, self.source, by_views.index_select(1, self.view))
        by_share += more
        by_bends = None
        if self.bends.strength > 0:
            by_bends, more = self.bends.gradients(held - self.log_mass, share)
            by_share += more
        if self.pull > 0:  # of a logarithm of probs over mass: held less its column's sum and the mass's
            apart = held.sub_(log_sums.index_select(1, self.column)).sub_(self.log_mass)
            told = self._column_sums(probs * apart)
            force = self.pull / (1 + torch.bmm(told, share[:, :, None]) / self.half)
            by_probs.addcmul_((force * w).index_select(1, self.column), apart)
            by_share += (force * told).sum(1)
        by_logits = by_probs.mul_(probs)
        by_logits = by_logits.sub_(probs.mul_(self._column_sums(by_logits).index_select(1, self.column)))
        by_logits = by_logits if by_bends is None else by_logits.add_(by_bends)
        return loss, by_logits, share * (by_share - (share * by_share).sum(-1, keepdim=True))

    def _tables(self, views: torch.Tensor, share: torch.Tensor):
        """Loss of all blocks summed over mixtures, its gradient by the plain views (E, V, B) and by the weights (E, B).

        Both factors of a table carry the root of the components' weights, which are then told of in one place.
        """
        root = share.sqrt()[:, None, :]
        rooted, by_views = views * root, torch.zeros_like(views)
        loss = views.new_zeros(())
        for rows, cols, y, precision, mirrored in self.blocks:
            some = max(HELD // y.numel(), 1)
            for at in range(0, len(views), some):
                part = slice(at, at + some)
                a = rooted[part].index_select(1, rows)
                b = a if mirrored else rooted[part].index_select(1, cols)
                residual = torch.bmm(a, b.transpose(1, 2)).sub_(y)
                force = residual * precision
                loss += torch.linalg.vecdot(force.flatten(), residual.flatten())
                by_views[part].index_add_(1, rows, torch.bmm(force, b), alpha=2 if mirrored else 1)
                if not mirrored:
                    by_views[part].index_add_(1, cols, torch.bmm(force.transpose(1, 2), a))
        by_views *= root
        by_share = torch.linalg.vecdot(by_views, views, dim=1) / (2 * share).clamp_min(1e-30)
        return loss, self._back(views, by_views), by_share

    def _views(self, probs: torch.Tensor) -> torch.Tensor:
        """All views (E, V + J, B): sums of groups, then products of two of these."""
        out = probs.new_zeros((len(probs), self.views + len(self.left), probs.shape[2]))
        plain = out[:, : self.views]
        plain.index_add_(1, self.view, probs.index_select(1, self.source))
        if len(self.left):
            out[:, self.views :] = plain.index_select(1, self.left) * plain.index_select(1, self.right)
        return out

    def _back(self, views: torch.Tensor, by_views: torch.Tensor) -> torch.Tensor:
        """Gradient by the plain views, in place: that of joint views is passed on to their two factors."""
        plain = by_views[:, : self.views]
        if len(self.left):
            joint = by_views[:, self.views :]
            plain.index_add_(1, self.left, joint * views.index_select(1, self.right))
            plain.index_add_(1, self.right, joint * views.index_select(1, self.left))
        return plain

    def _column_sums(self, x: torch.Tensor) -> torch.Tensor:
        """Sums over the groups of each column, (E, C, B)."""
        return x.new_zeros((len(x), self.columns, x.shape[2])).index_add_(1, self.column, x)
