"""Fit of a mixture of product distributions to noisy tables: batched over an ensemble, gradients by hand."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from math import cos, inf, pi, prod
from typing import TYPE_CHECKING

import numpy as np

from synth.generators import micro_batches
from synth.generators.base import Progress, Share, part
from synth.generators.core.columns import Histogram
from synth.generators.core.problem import Problem
from synth.generators.micro_batches import enough
from synth.lazy import torch

if TYPE_CHECKING:
    from synth.generators.core.problem import Problem, TableMatrix

EVERYTHING = slice(None)
BETA_MEAN = 0.9


class Adam:
    """Kingma and Ba, arXiv 1412.6980, Algorithm 1; in place, since building torch.optim takes seconds."""

    beta_square, least = 0.99, 1e-12  # the steps are few, hence a short average

    def __init__(self, parameters: Iterable[torch.Tensor]):
        self.parameters, self.steps = list(parameters), 0
        self.means, self.squares = ([torch.zeros_like(x) for x in self.parameters] for _ in range(2))

    def move(
        self, gradients: Iterable[torch.Tensor | None], *, rate: float, step: int = 0, part: slice = EVERYTHING
    ) -> None:
        """A step against the gradients, by default the next one; of the ``part`` of the parameters that they are by."""
        self.steps = step or self.steps + 1
        scale = rate * (1 - self.beta_square**self.steps) ** 0.5 / (1 - BETA_MEAN**self.steps)
        with torch.no_grad():
            for x, mean, square, gradient in zip(self.parameters, self.means, self.squares, gradients, strict=True):
                if gradient is not None:
                    own, other = mean[part], square[part]
                    own.mul_(BETA_MEAN).add_(gradient, alpha=1 - BETA_MEAN)
                    other.mul_(self.beta_square).addcmul_(gradient, gradient, value=1 - self.beta_square)
                    x[part].addcdiv_(own, other.sqrt().add_(self.least), value=-scale)


FEWEST = 6  # merged bins of a column from which on its bins are those of a scale: with fewer, values are codes
HIGHER = 3.0  # than the values around it: such a value is a case of its own


def neighbours(
    histograms: Mapping[str, Histogram],
    groups: Mapping[str, np.ndarray],
    spans: Mapping[str, slice],
    sizes: Mapping[str, int],
) -> np.ndarray:
    """Every three groups, (3, K), that follow each other in a column of numbers.

    ``histograms``: estimated counts by column. ``groups``: the group of each leaf, (L,). ``spans``: where a column's
    groups lie among all. ``sizes``: the number of positions that are values, of columns of numbers alone; those after
    them stand for what is no value. Single values that stand out are passed over: what is left and right of a zero are
    neighbours, the zero is nobody's.
    Privacy: released answers only.

    >>> mass = np.append(np.ones(14), 9.0)
    >>> mass[5] = 30.0
    >>> h = Histogram(column="a", cells=15, starts=np.arange(15), mass=mass, sigma=1.0)
    >>> groups = np.array([0, 0, 1, 1, 2, 3, 2, 4, 4, 5, 5, 6, 6, 6, 7])
    >>> neighbours({"a": h}, {"a": groups}, {"a": slice(10, 18)}, {"a": 14}).tolist()
    [[10, 11, 12, 14], [11, 12, 14, 15], [12, 14, 15, 16]]
    """
    out = [np.zeros((3, 0), dtype=np.int64)]
    for name, size in sizes.items():
        own = _in_order(histograms[name], groups[name], size)
        if len(own):
            own = own + spans[name].start
            out.append(np.stack([own[:-2], own[1:-1], own[2:]]))
    return np.concatenate(out, axis=1)


def _in_order(histogram: Histogram, groups: np.ndarray, size: int) -> np.ndarray:
    """The groups of a column on a scale, lowest first; none of a column that is on none."""
    leaves = np.bincount(groups)
    values = np.bincount(groups, weights=histogram.starts < size) > 0
    middle = np.bincount(groups, weights=np.arange(len(groups))) / leaves
    retained = np.flatnonzero(values & ~_alone(histogram, groups))
    retained = retained[np.argsort(middle[retained], kind="stable")]
    return retained if (leaves[retained] > 1).sum() >= FEWEST else retained[:0]


def _alone(histogram: Histogram, groups: np.ndarray) -> np.ndarray:
    """Which groups are mostly single values that stand out of those around them, such as a zero or a limit."""
    density = histogram.mass / histogram.widths
    padded = np.pad(density, 2, mode="reflect") if len(density) > 2 else np.full(len(density) + 4, np.inf)
    around = (padded[:-4] + padded[1:-3] + padded[3:-1] + padded[4:]) / 4
    stands = (histogram.widths == 1) & (density > HIGHER * around)
    alone = np.bincount(groups, weights=np.where(stands, histogram.mass, 0.0))
    return np.asarray(alone > np.bincount(groups, weights=histogram.mass) / 2)


class Bends:
    """Half of ``strength`` times a component's weight, times the sum over ``three`` neighbours of c b**2.

    b is by how much the component's density over the column's own, as a logarithm, bends at the middle one; c the
    geometric mean of the three's shares of the rows. A component that is a normal distribution bends evenly.
    ``three``: (3, K) groups (``neighbours``). ``mass``: (G,), the share of rows in each group.
    Privacy: released answers only.
    """

    def __init__(self, three: np.ndarray, mass: np.ndarray, device: str, *, strength: float):
        self.strength = strength if three.shape[1] else 0.0
        index = [torch.as_tensor(np.ascontiguousarray(t), dtype=torch.int64, device=device) for t in three]
        self.low, self.middle, self.high = index
        weight = np.maximum(mass, 1e-6)[three].prod(0) ** (1 / 3)
        self.weight = torch.as_tensor(weight, dtype=torch.float32, device=device)[:, None]

    def gradients(self, apart: torch.Tensor, share: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """By ``apart`` (E, G, B), logarithms up to a constant a column, and by the components' weights (E, B)."""
        bend = apart.index_select(1, self.low) + apart.index_select(1, self.high)
        bend -= 2 * apart.index_select(1, self.middle)
        force = bend * self.weight
        by_share = (force * bend).sum(1) * (self.strength / 2)
        force *= (self.strength * share)[:, None, :]
        out = torch.zeros_like(apart)
        out.index_add_(1, self.low, force).index_add_(1, self.high, force).index_add_(1, self.middle, force, alpha=-2)
        return out, by_share


MOST_RUNS = 32  # runs of plain views, above which an index is cheaper


class Buffers:
    """Memory that is used again at every step: fresh pages cost more than the products that fill them."""

    def __init__(self) -> None:
        self.held: dict[str, torch.Tensor] = {}

    def get(self, name: str, like: torch.Tensor, *shape: int) -> torch.Tensor:
        """Uninitialised numbers of this shape, valid until the name is asked for again."""
        count = prod(shape)
        held = self.held.get(name)
        if held is None or held.numel() < count:
            held = self.held[name] = like.new_empty(count)
        return held[:count].view(shape)


@dataclass(frozen=True)
class RowSpan:
    """Rows ``start`` to ``end`` of a side: views from ``left`` on, each times all ``many`` from ``right`` on."""

    start: int
    end: int
    left: int
    right: int = -1
    many: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """How many views of the left column, and of the right one."""
        return (self.end - self.start) // self.many, self.many


class Side:
    """The views that a matrix's rows, or columns, stand for. Numbers are (E, views, B): ensembles, components.

    ``index`` (R,): views; from ``plain`` on the joint ones, products of views ``joint[0]`` and ``joint[1]``.
    Privacy: public only.
    """

    def __init__(self, index: np.ndarray, plain: int, joint: np.ndarray, device: str):
        self.size, self.joint = len(index), bool((index >= plain).any())
        runs = list(_runs(index, plain, joint))
        loose = not self.joint and len(runs) > MOST_RUNS
        self.runs = [] if loose else runs
        self.index = torch.as_tensor(np.ascontiguousarray(index), device=device) if loose else None

    def of(self, first: torch.Tensor, second: torch.Tensor, name: str, buffers: Buffers) -> torch.Tensor:
        """The side's numbers (E, R, B), from those of the plain views (E, V, B): ``first``, of joint ones times
        ``second``. Not to be written to: they may be the views themselves.
        """
        if self.index is None and len(self.runs) == 1 and self.runs[0].right < 0:
            return first[:, self.runs[0].left : self.runs[0].left + self.size]
        out = buffers.get(name, first, len(first), self.size, first.shape[2])
        if self.index is not None:
            return torch.index_select(first, 1, self.index, out=out)
        for run in self.runs:
            rows, (left, right) = out[:, run.start : run.end], run.shape
            own = first[:, run.left : run.left + left]
            if run.right < 0:
                rows.copy_(own)
            else:
                other = second[:, run.right : run.right + right]
                torch.mul(own[:, :, None], other[:, None], out=rows.unflatten(1, run.shape))
        return out

    def back(
        self,
        gradient: torch.Tensor,
        first: torch.Tensor,
        second: torch.Tensor,
        by_first: torch.Tensor,
        by_second: torch.Tensor,
        buffers: Buffers,
    ) -> None:
        """Adds to the gradients by the plain views of ``of`` what follows from the one by this side's numbers."""
        if self.index is not None:
            by_first.index_add_(1, self.index, gradient)
            return
        for run in self.runs:
            rows, (left, right) = gradient[:, run.start : run.end], run.shape
            one = slice(run.left, run.left + left)
            if run.right < 0:
                by_first[:, one] += rows
                continue
            other = slice(run.right, run.right + right)
            rows = rows.unflatten(1, run.shape)
            product = buffers.get("product", rows, *rows.shape)
            by_first[:, one] += torch.mul(rows, second[:, None, other], out=product).sum(2)
            by_second[:, other] += torch.mul(rows, first[:, one, None], out=product).sum(1)


def _runs(index: np.ndarray, plain: int, joint: np.ndarray) -> Iterator[RowSpan]:
    """The fewest runs, from the first row on.

    >>> joint = np.array([[0, 0, 1, 1], [2, 3, 2, 3]])
    >>> [(r.start, r.end, r.left, r.right, r.many) for r in _runs(np.array([1, 2, 4, 5, 6, 7]), 4, joint)]
    [(0, 2, 1, -1, 1), (2, 6, 0, 2, 2)]
    """
    left = np.where(index < plain, index, joint[0, np.maximum(index - plain, 0)] if joint.size else index)
    right = np.where(index < plain, -1, joint[1, np.maximum(index - plain, 0)] if joint.size else index)
    start = 0
    while start < len(index):
        if right[start] < 0:
            end = start + _agreeing((right[start:] < 0) & (left[start:] == left[start] + np.arange(len(left) - start)))
            yield RowSpan(start, end, int(left[start]))
            start = end
            continue
        steps = np.arange(len(index) - start)
        many = _agreeing((left[start:] == left[start]) & (right[start:] == right[start] + steps))
        same = (left[start:] == left[start] + steps // many) & (right[start:] == right[start] + steps % many)
        whole = _agreeing(same) // many * many
        yield RowSpan(start, start + whole, int(left[start]), int(right[start]), many)
        start += whole


def _agreeing(same: np.ndarray) -> int:
    """How many are true before the first that is not."""
    return int(np.argmin(same)) if not same.all() else len(same)


TILE = 2**15  # most cells of a block that is looked at as a whole


def tiled(problem: Problem, *, tile: int = TILE) -> Problem:
    """The same problem with blocks of at most about ``tile`` cells: strips of the larger ones.

    A mirrored block's strips are plain ones, with each cell in both of its places, at half its precision.
    """
    return replace(problem, blocks=[strip for block in problem.blocks for strip in _strips(block, tile)])


def _strips(block: TableMatrix, tile: int) -> Iterator[TableMatrix]:
    parts = -(-block.y.size // tile)
    if parts == 1:
        yield block
        return
    upright = block.mirrored or len(block.rows) >= len(block.cols)
    for at in np.array_split(np.arange(block.y.shape[0 if upright else 1]), parts):
        cut = np.s_[at, :] if upright else np.s_[:, at]
        yield replace(
            block,
            rows=block.rows[at] if upright else block.rows,
            cols=block.cols if upright else block.cols[at],
            y=block.y[cut],
            precision=block.precision[cut],
            mirrored=False,
        )


@dataclass(frozen=True, kw_only=True)
class Subsets:
    """Random subsets of blocks, each with how often it counts, so that what they add up to is right on average.

    ``kinds``: numbers of the blocks of two columns, and of the larger tables; ``cells``: of every block. Half of a
    step's cells are of either kind: the larger tables have most of the cells, pairs most of what is known.
    """

    kinds: tuple[np.ndarray, ...]
    cells: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> Subsets:
        """Those of a problem's blocks."""
        plain = int(problem.member[1].max(initial=-1))
        pairs = np.array([max(b.rows.max(), b.cols.max()) <= plain for b in problem.blocks])
        kinds = (np.flatnonzero(pairs), np.flatnonzero(~pairs))
        return cls(kinds=kinds, cells=np.array([b.y.size for b in problem.blocks]))

    def drawn(self, share: float, rng: np.random.Generator) -> dict[int, float]:
        """About ``share`` of all cells.

        >>> rng = np.random.default_rng(0)
        >>> Subsets(kinds=(np.arange(2), np.arange(2, 10)), cells=np.full(10, 9)).drawn(0.4, rng)
        {0: 1.0, 1: 1.0, 4: 4.0, 5: 4.0}
        """
        budget, chosen = share * float(self.cells.sum()), dict[int, float]()
        kinds = sorted((k for k in self.kinds if len(k)), key=lambda k: self.cells[k].sum())
        for left, kind in zip(range(len(kinds), 0, -1), kinds, strict=True):
            part = min(1.0, budget / left / float(self.cells[kind].sum()))
            many = max(1, round(part * len(kind)))
            picked = np.sort(rng.choice(kind, many, replace=False))
            chosen |= dict.fromkeys(picked.tolist(), len(kind) / many)
            budget -= float(self.cells[picked].sum())
            budget = max(budget, 0.0)
        return chosen


CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
CACHED = 2**20  # numbers of groups, views and components that are worked on at a time
SHARED = 2**16  # such numbers from which on the cores share them: less is done before another core has begun
HELD = 2**21  # most cells of an ensemble's tables held at a time


def even_parts(count: int, parts: int) -> list[slice]:
    """``range(count)`` in about so many parts of about one size.

    >>> [(p.start, p.stop) for p in even_parts(16, 3)]
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
        return torch.stack(self._mapped(both, even_parts(count, parts))).sum()

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
        if not hasattr(self.memory, "buffers"):  # of the thread that asks
            self.memory.buffers = Buffers()
        buffers = self.memory.buffers
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

    def _views(self, probs: torch.Tensor) -> torch.Tensor:
        """The plain views (E, V, B): sums of groups."""
        out = probs.new_zeros((len(probs), self.views, probs.shape[2]))
        return out.index_add_(1, self.view, probs.index_select(1, self.source))

    def _column_sums(self, x: torch.Tensor) -> torch.Tensor:
        """Sums over the groups of each column, (E, C, B)."""
        return x.new_zeros((len(x), self.columns, x.shape[2])).index_add_(1, self.column, x)


JOIN, JOINED = 1.0, 4  # a misfit above this part of what noise explains joins so many mixtures
FAR = 2.5  # times that: all of them, where single ones are much too poor
EARLY = 0.2  # part of a descent's steps, before which it does not tell where it will end
WHOLE = 2.2  # times the work of a descent, up to which steps look at all tables: they follow noise less
MOST = 1.2e10  # work of a step that looks at all tables, above which mixtures are fewer
CHECK = 10  # steps between looks at the stopping rule; of steps that look at a part, so many times three wholes


@dataclass(frozen=True, kw_only=True)
class Options:
    """``ensembles`` mixtures of ``components`` each, of twice as many where more than ``cells`` cells tell of them;
    by default never, so that components that a user asked for are what a user gets.

    Adam for at most ``steps`` with a falling ``rate``. ``spread``: deviation of the starting logits around the
    one-ways. ``stop``: the fit ends when its loss falls to this goal (``Problem.goal``), where it begins to follow the
    noise. ``second_rate``, ``second_last``, ``second_stop``: rates and end of the second part, in which joined mixtures
    go on where theirs was too few; where a step looks at a part of the tables, ``many_steps`` of them from
    ``many_rate`` on. ``pull``: of a row's information on its component what counts against a deviation of the tables'
    noise, where it tells little of a column; half of that where it tells ``half`` nats. ``smooth``: of the roughness
    of a component over neighbouring bins of a number (``Bends``) what counts likewise. ``work``:
    multiplications and additions of a descent, above which its steps look at a part of the tables each.
    """

    components: int = 64
    cells: float = inf
    ensembles: int = 8
    steps: int = 300
    rate: float = 0.1
    last_rate: float = 0.01
    spread: float = 0.5
    stop: float = 0.8
    second_rate: float = 0.05
    second_stop: float = 0.9
    many_steps: int = 1000
    many_rate: float = 0.1
    second_last: float = 0.001
    pull: float = 0.005
    half: float = 1.0
    smooth: float = 0.1
    work: float = 3e11


@enough("the fit of a mixture to its tables", fewer="columns or categories")
def fit_mixture(
    problem: Problem, options: Options, *, rng: np.random.Generator, device: str, progress: Progress
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (E*B,) and group probabilities (E*B, G) of all the ensemble's mixtures, as one.

    Minimises half the sum of squared residuals of the measured tables, each divided by its noise variance, and ``pull``
    times the rows times the sum over columns of h log(1 + I/h), I being the mutual information of a component and the
    column (against the estimated one-way) and h ``half``: among models that explain the tables the one in which columns
    depend least, for noise looks like weak dependence everywhere. To these come ``smooth`` times the rows times the
    bends of the components over neighbouring bins of numbers (``Bends``), for noise is each bin's own. In the second
    part both fall to nothing: where dependence is strong and noise little, nothing keeps the model from it. Rows are
    themselves draws from a law: where noise is less than their chance, cells are weighed by both at first, else the
    tables are followed to their last digit while those that nobody counted keep what the start drew. Where the mixtures
    are too poor for the tables, as the misfit left tells, they are joined to fewer and richer ones: four mixtures of 64
    components are one of 256, at the same cost a step, that is a good start for a further descent. Where whole steps
    would cost more than ``work``, each looks at another random part of the tables.
    Errors: UsageError where the device's memory does not hold a single mixture's step.
    **Source**: discrepancy principle (Morozov 1966) for the end of the fit; maximum entropy under noise (Dudik,
    Phillips and Schapire 2007) and concave penalties, which leave strong effects alone (Fan and Li 2001).
    """
    components = options.components * (2 if problem.cells > options.cells else 1)
    affordable = int(MOST / max(problem.work * components, 1))
    shape = (how_many(options.ensembles, affordable), len(problem.column), components)
    work = problem.work * shape[0] * components
    laid = tiled(problem) if work * options.steps > WHOLE * options.work else problem
    pull, smooth = options.pull * problem.total, options.smooth * problem.total
    surface = Surface(laid, device, pull=pull, half=options.half, smooth=smooth)
    start = np.log(np.maximum(problem.mass, 1e-6))[:, None] + options.spread * rng.standard_normal(shape)
    logits = torch.as_tensor(start, dtype=torch.float32, device=device)
    weights = torch.zeros((shape[0], shape[2]), dtype=torch.float32, device=device)
    if problem.blocks:
        subsets = None if laid is problem else Subsets.of(laid)
        goal = problem.goal(options.stop, components=components)
        first = AdamDescent(rate=options.rate, last=options.last_rate, steps=options.steps, goal=goal, subsets=subsets)
        poor = problem.goal(JOIN, components=components) + problem.loss_reduction - problem.shrunk_by
        reachable = max(poor, goal) if shape[0] > 1 else inf
        loss = replace(first, chance=problem.chance, part=first.bears(work, options.work), reachable=reachable).run(
            surface, logits, weights, part(progress, 0.0, 0.5)
        )
        if loss > poor and shape[0] > 1:
            logits, weights = _joined(logits, weights, many=shape[0] if loss > FAR * poor else min(shape[0], JOINED))
            goal = problem.goal(options.second_stop, components=components)
            then = replace(first, rate=options.second_rate, last=options.second_last, goal=goal)
            if subsets is not None:
                then = replace(then, rate=options.many_rate, steps=options.many_steps)
            replace(then, chance=problem.chance, part=then.bears(work, options.work), falling=True).run(
                surface, logits, weights, part(progress, 0.5, 1.0)
            )
    share, probs = surface.probabilities(logits, weights)
    flat = probs.transpose(1, 2).reshape(-1, shape[1])
    return (share / len(share)).reshape(-1).double().cpu().numpy(), flat.double().cpu().numpy()


def how_many(wanted: int, affordable: int) -> int:
    """How many mixtures are fitted: as many as are affordable, and whole groups of those that may be joined.

    >>> [how_many(16, n) for n in (0, 1, 3, 4, 7, 11, 40)], how_many(2, 40)
    ([1, 1, 3, 4, 4, 8, 16], 2)
    """
    most = max(1, min(wanted, affordable))
    return most - most % JOINED if most > JOINED else most


@dataclass(frozen=True, kw_only=True)
class AdamDescent:
    """Adam for at most ``steps``, from a ``rate`` along a cosine to the ``last``, until the loss is below ``goal``.

    ``chance``: how much of the rows' own chance is taken for noise on the way (``Surface.soften``); the goal is one of
    the noise alone. ``falling``: that, the pull to independence and that to smooth components fall to nothing with the
    rate, so that what they hide is found in the end. ``subsets``: of the tables, of which every step looks at another
    one, about ``part`` of the whole; without, each looks at all. ``reachable``: a loss that the rest of the steps is to
    come down to, else they are not taken: what joined mixtures are for.
    """

    rate: float
    last: float
    steps: int
    goal: float
    falling: bool = False
    chance: float = 0.0
    subsets: Subsets | None = None
    part: float = 1.0
    reachable: float = inf

    def bears(self, work: float, most: float) -> float:
        """The part of the tables that a step may look at, where one that looks at all costs ``work``, all ``most``."""
        return 1.0 if self.subsets is None else min(1.0, most / max(work * self.steps, 1.0))

    def run(self, surface: Surface, logits: torch.Tensor, weights: torch.Tensor, progress: Progress) -> float:
        """Moves both in place; the loss in the end, of noise alone."""
        adam = Adam([logits, weights])
        pull, smooth = surface.pull, surface.bends.strength
        rng = np.random.default_rng(0)  # of what is looked at when: the same for every run
        every = CHECK if self.subsets is None else max(CHECK, round(CHECK / (3 * self.part)))
        before = inf
        for step in range(self.steps):
            fall = 0.5 * (1 + cos(pi * step / self.steps))
            if self.falling:
                surface.pull, surface.bends.strength = pull * fall, smooth * fall
            rate = self.last + (self.rate - self.last) * fall

            def move(part: slice, gradients: Sequence[torch.Tensor], at: int = step + 1, rate: float = rate) -> None:
                adam.move(gradients, step=at, rate=rate, part=part)

            if step % every == 0:
                surface.soften(self.chance * (fall if self.falling else 1.0))
                loss = surface.plain_loss(logits, weights)
                progress(Share(step / self.steps, loss=loss))
                left = (self.steps - step) / every
                if loss < self.goal or (step >= EARLY * self.steps and _beyond(self.reachable, loss, before, left)):
                    return loss
                before = loss
            surface.step(logits, weights, move, None if self.subsets is None else self.subsets.drawn(self.part, rng))
        return surface.plain_loss(logits, weights)


def _beyond(reachable: float, loss: float, before: float, checks: float) -> bool:
    """Whether a loss that fell from ``before`` since the last look will be above ``reachable`` after so many more.

    A loss falls ever more slowly: half the looks at the last pace are more than all will do.

    >>> _beyond(1.0, 1.7, 1.78, 21), _beyond(1.0, 2.5, 3.0, 24), _beyond(1.0, 2.5, inf, 24)
    (True, False, False)
    """
    return before < inf and loss * min(loss / before, 1.0) ** (checks / 2) > reachable


def _joined(logits: torch.Tensor, weights: torch.Tensor, *, many: int) -> tuple[torch.Tensor, torch.Tensor]:
    """An ensemble of fewer mixtures, each the mean of ``many`` of the given ones: its components are all theirs."""
    ensembles, groups, size = logits.shape
    grouped = logits.reshape(ensembles // many, many, groups, size).transpose(1, 2)
    shares = torch.log_softmax(weights, -1)
    return (
        grouped.reshape(ensembles // many, groups, many * size).contiguous(),
        shares.reshape(ensembles // many, many * size).contiguous(),
    )
