"""Fit of a mixture of product distributions to noisy tables: batched over an ensemble, gradients by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, gcd, inf, pi
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.base import Progress, Share, part
from synth.generators.marginals.adam import Adam
from synth.generators.micro_batches import Pieces, enough
from synth.schema.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

JOIN, JOINED = 0.95, 4  # a misfit above this goal joins this many mixtures into one
WORK = 3e11  # multiplications and additions of one descent; of large problems fewer steps, the longer for it
FEWEST = 100  # steps, however large
HELD = 2**23  # most cells of an ensemble's tables held at a time
CHECK = 10  # steps between looks at the stopping rule


@dataclass(frozen=True, kw_only=True)
class Block:
    """Measured tables laid into one matrix, whose rows and columns are views.

    ``rows`` (R,), ``cols`` (C,): views; ``y`` (R, C): noisy probabilities; ``precision`` (R, C): 1 / their
    noise variance, zero where nothing was measured. ``mirrored``: rows and columns are the same views; every
    measured cell stands in both halves, at half its precision.
    """

    rows: np.ndarray
    cols: np.ndarray
    y: np.ndarray
    precision: np.ndarray
    mirrored: bool = False

    @property
    def cells(self) -> int:
        """Number of measured cells."""
        return int(np.count_nonzero(self.precision)) // (2 if self.mirrored else 1)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """All that the fit needs.

    ``column`` (G,): the column of each group; ``mass``, ``precision`` (G,): one-ways and 1 / their variance.
    ``total``: rows that the model's simplicity is weighed by; 0 where only the tables count.
    A view is a bin of one column: group ``member[0, i]`` is part of view ``member[1, i]``. After these come
    joint views, the product of views ``joint[0, i]`` and ``joint[1, i]`` of two different columns.
    """

    column: np.ndarray
    mass: np.ndarray
    precision: np.ndarray
    member: np.ndarray
    joint: np.ndarray
    blocks: Sequence[Block]
    total: float = 0.0

    @property
    def cells(self) -> int:
        """Number of measured cells."""
        return sum(b.cells for b in self.blocks)

    @property
    def work(self) -> int:
        """Multiplications and additions of a step for each component: two products of a mirrored block, else three."""
        return sum((4 if b.mirrored else 6) * b.y.size for b in self.blocks)

    def goal(self, share: float, *, components: int) -> float:
        """The loss at which a mixture has followed the noise as far as ``share`` says.

        That share of the cells where the mixture has as many parameters as there are cells; nearer to all of
        them where it has fewer, since it then can follow less of the noise.
        """
        free = components * (len(self.mass) - int(self.column.max(initial=0)) - 1)
        return self.cells * (1 - (1 - share) * min(1.0, free / max(self.cells, 1)))


@dataclass(frozen=True, kw_only=True)
class Options:
    """``ensembles`` mixtures of ``components`` each, of twice as many where more than ``cells`` cells tell of them;
    by default never, so that components that a user asked for are what a user gets.

    Adam for at most ``steps`` with a falling ``rate``. ``spread``: deviation of the starting logits around the
    one-ways. ``stop``: the fit ends when its loss falls to this goal (``Problem.goal``), where it begins to follow the
    noise. ``second_rate``, ``second_stop``: rate and end of the second part, in which joined mixtures go on where
    theirs was too few. ``pull``: of a row's information on its component what counts against a deviation of the
    tables' noise, where it tells little of a column; half of that where it tells ``half`` nats.
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
    pull: float = 0.02
    half: float = 1.0


@enough("the fit of a mixture to its tables", fewer="columns or categories")
def fit(
    problem: Problem, options: Options, *, rng: np.random.Generator, device: str, progress: Progress
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (E*B,) and group probabilities (E*B, G) of all the ensemble's mixtures, as one.

    Minimises half the sum of squared residuals of the measured tables, each divided by its noise variance, and ``pull``
    times the rows times the sum over columns of h log(1 + I/h), I being the mutual information of a component and the
    column (against the estimated one-way) and h ``half``: among models that explain the tables the one in which columns
    depend least, for noise looks like weak dependence everywhere. In the second part this term falls to nothing: where
    dependence is strong and noise little, nothing keeps the model from it. Where the
    mixtures are too poor for that, as the misfit left tells, they are joined to fewer and richer ones: four mixtures
    of 64 components are one of 256, at the same cost a step, that is a good start for a further descent.
    Errors: UsageError where the device's memory does not hold a single mixture's step.
    **Source**: discrepancy principle (Morozov 1966) for the end of the fit; maximum entropy under noise (Dudik,
    Phillips and Schapire 2007) and concave penalties, which leave strong effects alone (Fan and Li 2001).
    """
    surface = _Surface(problem, device, pull=options.pull * problem.total, half=options.half)
    components = options.components * (2 if problem.cells > options.cells else 1)
    shape = (options.ensembles, len(problem.column), components)
    start = np.log(np.maximum(problem.mass, 1e-6))[:, None] + options.spread * rng.standard_normal(shape)
    logits = torch.as_tensor(start, dtype=torch.float32, device=device)
    weights = torch.zeros((shape[0], shape[2]), dtype=torch.float32, device=device)
    if problem.blocks:
        steps = min(options.steps, max(FEWEST, int(WORK / (problem.work * shape[0] * shape[2]))))
        longer = options.steps / max(steps, 1)
        first = _Descent(rate=options.rate * longer, steps=steps, goal=problem.goal(options.stop, components=shape[2]))
        loss = first.run(surface, logits, weights, options.last_rate, part(progress, 0.0, 0.5))
        many = gcd(options.ensembles, JOINED)
        if loss > problem.goal(JOIN, components=shape[2]) and many > 1:
            logits, weights = _joined(logits, weights, many=many)
            goal = problem.goal(options.second_stop, components=shape[2])
            then = _Descent(rate=options.second_rate * longer, steps=steps, goal=goal, falling=True)
            then.run(surface, logits, weights, options.last_rate, part(progress, 0.5, 1.0))
    share, probs = surface.probabilities(logits, weights)
    flat = probs.transpose(1, 2).reshape(-1, shape[1])
    return (share / len(share)).reshape(-1).double().cpu().numpy(), flat.double().cpu().numpy()


@dataclass(frozen=True, kw_only=True)
class _Descent:
    """Adam for at most ``steps``, ``rate`` falling along a cosine to a last one, until the loss is below ``goal``.

    ``falling``: the pull to independence falls to nothing with the rate, so that what it hides is found in the end.
    """

    rate: float
    steps: int
    goal: float
    falling: bool = False

    def run(
        self, surface: _Surface, logits: torch.Tensor, weights: torch.Tensor, last_rate: float, progress: Progress
    ) -> float:
        """Moves both in place; the loss when last looked at."""
        adam = [Adam(logits), Adam(weights)]
        seen = 0.0
        whole = surface.pull
        for step in range(self.steps):
            if self.falling:
                surface.pull = whole * 0.5 * (1 + cos(pi * step / self.steps))
            loss, *gradients = surface.gradient(logits, weights)
            if step % CHECK == 0:
                seen = float(loss)
                progress(Share(step / self.steps, loss=seen))
                if seen < self.goal:
                    break
            fall = 0.5 * (1 + cos(pi * step / self.steps))
            rate = last_rate + (self.rate - last_rate) * fall
            for variable, gradient in zip(adam, gradients, strict=True):
                variable.move(gradient, step=step + 1, rate=rate)
        return seen


def _joined(logits: torch.Tensor, weights: torch.Tensor, *, many: int) -> tuple[torch.Tensor, torch.Tensor]:
    """An ensemble of fewer mixtures, each the mean of ``many`` of the given ones: its components are all theirs."""
    ensembles, groups, size = logits.shape
    grouped = logits.reshape(ensembles // many, many, groups, size).transpose(1, 2)
    shares = torch.log_softmax(weights, -1)
    return (
        grouped.reshape(ensembles // many, groups, many * size).contiguous(),
        shares.reshape(ensembles // many, many * size).contiguous(),
    )


class _Surface:
    """The loss of a problem on a device. Logits are (E, G, B): ensembles, groups, components.

    ``pieces``: how many mixtures of the ensemble the device's memory holds at a time.
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
