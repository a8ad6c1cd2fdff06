"""The loss of a mixture against noisy tables, and its gradient by hand: batched over an ensemble, on a device."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from synth.generators import micro_batches
from synth.generators.marginals.sides import Buffers, Side
from synth.generators.marginals.smoothness import Bends
from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch

    from synth.generators.marginals.problem import Problem
else:
    torch = Lazy("torch")

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
CACHED = 2**20  # numbers of groups, views and components that are worked on at a time
SHARED = 2**16  # such numbers from which on the cores share them: less is done before another core has begun
HELD = 2**21  # most cells of an ensemble's tables held at a time


def even(count: int, parts: int) -> list[slice]:
    """``range(count)`` in about so many parts of about one size.

    >>> [(p.start, p.stop) for p in even(16, 3)]
    [(0, 6), (6, 11), (11, 16)]
    """
    ends = np.linspace(0, count, max(1, min(parts, count)) + 1).round(6)
    ends = np.ceil(ends).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(ends)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sheet:
    """A block on the device; ``mirrored``: ``rows`` are its columns too."""

    rows: Side
    cols: Side
    y: torch.Tensor
    precision: torch.Tensor
    mirrored: bool


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
        self.mass, self.precision = real(problem.mass)[:, None], real(problem.precision)[:, None]
        self.log_mass = torch.log(self.mass.clamp_min(1e-6))
        sides = [[Side(i, self.views, problem.joint, device) for i in (b.rows, b.cols)] for b in problem.blocks]
        self.blocks = [
            Sheet(rows=rows, cols=cols, y=real(b.y), precision=real(b.precision), mirrored=b.mirrored)
            for (rows, cols), b in zip(sides, problem.blocks, strict=True)
        ]
        self.longest = max([side.size for pair in sides for side in pair], default=0)
        self.released = (self.precision, self.blocks)
        self.memory = threading.local()
        self.total, self.chance = problem.total, 0.0
        self.bends = Bends(problem.neighbours, problem.mass, device, strength=smooth)
        self.pool: ThreadPoolExecutor | None = None

    def soften(self, chance: float) -> None:
        """Weighs cells as if so much of the rows' own chance were noise: a count's variance is its mean, at most."""
        if self.total <= 0 or chance == self.chance:
            return
        precision, blocks = self.released
        share = chance / self.total
        self.chance, self.precision = chance, precision / (1 + precision * self.mass.clamp_min(0) * share)
        self.blocks = [
            replace(b, precision=b.precision / (1 + b.precision * b.y.clamp_min(0) * share * (2 if b.mirrored else 1)))
            for b in blocks
        ]

    def plain_loss(self, logits: torch.Tensor, weights: torch.Tensor) -> float:
        """The mean loss by the noise alone, of all tables."""
        estimates = logits.new_zeros(())
        for own, share in zip(logits, torch.softmax(weights, -1), strict=True):
            views = self._views(self._shares(own[None].clamp(-40, 40))[0])
            for block in self.released[1]:
                estimates += self._table(block, views, views * share[None, None], None)
        return float(estimates) / len(logits)

    def probabilities(self, logits: torch.Tensor, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Component weights (E, B) and group probabilities (E, G, B), which sum to one over a column."""
        return torch.softmax(weights, -1), self._shares(logits.clamp(-40, 40))[0]

    def gradient(self, logits: torch.Tensor, weights: torch.Tensor):
        """The mean loss of the ensemble's tables, and each mixture's own gradient by logits and weights."""
        results = [torch.empty_like(logits), torch.empty_like(weights)]

        def keep(part: slice, gradients: Sequence[torch.Tensor]) -> None:
            for whole, own in zip(results, gradients, strict=True):
                whole[part] = own

        return self.step(logits, weights, keep), *results

    def step(
        self,
        logits: torch.Tensor,
        weights: torch.Tensor,
        move: Callable[[slice, Sequence[torch.Tensor]], None],
        some: Mapping[int, float] | None = None,
    ) -> torch.Tensor:
        """The mean loss; ``move`` is given each part of the ensemble with its gradients, once these are known.

        ``some``: blocks that are looked at, by their number, and how often each counts; by default all of them, once.

        On a processor a part is as many mixtures as stay in its cache, and all cores work on parts of their own.
        """
        count = len(logits)

        def of(part: slice) -> tuple[torch.Tensor, slice, list[torch.Tensor]]:
            loss, *own = self._gradient(logits[part], weights[part], some)
            return loss / count, part, own

        if logits.device.type not in micro_batches.BOUNDLESS:
            done = list(self.pieces.run(count, of))
            for _, part, own in done:
                move(part, own)
            return torch.stack([loss for loss, _, _ in done]).sum()

        def both(part: slice) -> torch.Tensor:
            loss, _, own = of(part)
            move(part, own)
            return loss

        numbers = count * (logits.shape[1] + self.views + self.longest) * logits.shape[2]
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

    def _gradient(self, logits: torch.Tensor, weights: torch.Tensor, some: Mapping[int, float] | None):
        share = torch.softmax(weights, -1)
        w = share[:, None, :]
        held = logits.clamp(-40, 40)
        probs, log_sums = self._shares(held)
        off = (torch.bmm(probs, share[:, :, None]) - self.mass) * self.precision
        by_share = torch.bmm(off.transpose(1, 2), probs)[:, 0]
        loss, by_views, more = self._tables(self._views(probs), share, some)
        by_probs = off * w
        by_probs.index_add_(1, self.source, by_views.index_select(1, self.view))
        by_share += more
        by_bends = None
        if self.bends.strength > 0:
            by_bends, more = self.bends.gradients(held - self.log_mass, share)
            by_share += more
        if self.pull > 0:  # of a logarithm of probs over mass: held less its column's sum and the mass's
            apart = held.sub_(log_sums.index_select(1, self.column)).sub_(self.log_mass)
            released = self._column_sums(probs * apart)
            force = self.pull / (1 + torch.bmm(released, share[:, :, None]) / self.half)
            by_probs.addcmul_((force * w).index_select(1, self.column), apart)
            by_share += (force * released).sum(1)
        by_logits = by_probs.mul_(probs)
        by_logits = by_logits.sub_(probs.mul_(self._column_sums(by_logits).index_select(1, self.column)))
        by_logits = by_logits if by_bends is None else by_logits.add_(by_bends)
        return loss, by_logits, share * (by_share - (share * by_share).sum(-1, keepdim=True))

    def _tables(self, views: torch.Tensor, share: torch.Tensor, some: Mapping[int, float] | None):
        """Loss of blocks summed over mixtures, its gradient by the plain views (E, V, B) and by the weights (E, B)."""
        weighted = views * share[:, None]
        by_views, by_weighted, by_mirrored = (torch.zeros_like(views) for _ in range(3))
        loss = views.new_zeros(())
        for number, times in (some or dict.fromkeys(range(len(self.blocks)), 1.0)).items():
            block = self.blocks[number]
            held = max(HELD // block.y.numel(), 1)
            for at in range(0, len(views), held):
                part = slice(at, at + held)
                gradients = (by_views[part], (by_mirrored if block.mirrored else by_weighted)[part])
                loss += times * self._table(block, views[part], weighted[part], gradients, times)
        by_share = torch.linalg.vecdot(by_weighted.add_(by_mirrored), views, dim=1)
        by_views += by_weighted.add_(by_mirrored).mul_(share[:, None])
        return loss, by_views, by_share

    def _table(
        self,
        block: Sheet,
        views: torch.Tensor,
        weighted: torch.Tensor,
        gradients: tuple[torch.Tensor, torch.Tensor] | None,
        times: float = 1.0,
    ) -> torch.Tensor:
        """Loss of one block, whose rows are products with ``weighted`` views. To the gradients, by the views and by the
        weighted ones, so many ``times`` those of the block are added; of a mirrored one only the latter, for its rows
        alone: its columns' is the same again.
        """
        buffers = self._buffers()
        rows = block.rows.of(weighted, views, "rows", buffers)
        cols = (block.rows if block.mirrored else block.cols).of(views, views, "cols", buffers)
        residual = buffers.get("residual", views, len(views), *block.y.shape)
        torch.bmm(rows, cols.transpose(1, 2), out=residual).sub_(block.y)
        force = torch.mul(residual, block.precision, out=buffers.get("force", views, *residual.shape))
        loss = torch.dot(force.flatten(), residual.flatten())
        if gradients is None:
            return loss
        by_views, by_weighted = gradients
        force = force if times == 1.0 else force.mul_(times)
        by_rows = torch.bmm(force, cols, out=buffers.get("by rows", views, *rows.shape))
        block.rows.back(by_rows, weighted, views, by_weighted, by_views, buffers)
        if not block.mirrored:
            by_cols = buffers.get("by cols", views, *cols.shape)
            torch.bmm(force.transpose(1, 2), rows, out=by_cols)
            block.cols.back(by_cols, views, views, by_views, by_views, buffers)
        return loss

    def _buffers(self) -> Buffers:
        """Those of the thread that asks."""
        if not hasattr(self.memory, "buffers"):
            self.memory.buffers = Buffers()
        return self.memory.buffers

    def _views(self, probs: torch.Tensor) -> torch.Tensor:
        """The plain views (E, V, B): sums of groups."""
        out = probs.new_zeros((len(probs), self.views, probs.shape[2]))
        return out.index_add_(1, self.view, probs.index_select(1, self.source))

    def _column_sums(self, x: torch.Tensor) -> torch.Tensor:
        """Sums over the groups of each column, (E, C, B)."""
        return x.new_zeros((len(x), self.columns, x.shape[2])).index_add_(1, self.column, x)
