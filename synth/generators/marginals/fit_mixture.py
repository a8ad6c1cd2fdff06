"""Fit of a mixture of product distributions to noisy tables: batched over an ensemble, gradients by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import cos, inf, pi
from typing import TYPE_CHECKING

import numpy as np

from synth.generators.base import Progress, Share, part
from synth.generators.marginals.adam import Adam
from synth.generators.marginals.problem import Problem
from synth.generators.marginals.subsets import Subsets, tiled
from synth.generators.marginals.surface import Surface
from synth.generators.micro_batches import enough
from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

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
    of a component over neighbouring bins of a number (``smoothness.Bends``) what counts likewise. ``work``:
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
def fit(
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
    shape = (mixtures(options.ensembles, affordable), len(problem.column), components)
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


def mixtures(wanted: int, affordable: int) -> int:
    """How many mixtures are fitted: as many as are affordable, and whole groups of those that may be joined.

    >>> [mixtures(16, n) for n in (0, 1, 3, 4, 7, 11, 40)], mixtures(2, 40)
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
        adam = [Adam(logits), Adam(weights)]
        pull, smooth = surface.pull, surface.bends.strength
        rng = np.random.default_rng(0)  # of what is looked at when: the same for every run
        every = CHECK if self.subsets is None else max(CHECK, round(CHECK / (3 * self.part)))
        before = inf
        for step in range(self.steps):
            fall = 0.5 * (1 + cos(pi * step / self.steps))
            if self.falling:
                surface.pull, surface.bends.strength = pull * fall, smooth * fall
            rate = self.last + (self.rate - self.last) * fall

            def move(part: slice, gradients: Sequence[torch.Tensor], at: int = step, rate: float = rate) -> None:
                for variable, gradient in zip(adam, gradients, strict=True):
                    variable.move(gradient, step=at + 1, rate=rate, part=part)

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
