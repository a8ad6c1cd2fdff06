"""`dp_ctgan`: a generator trained against a critic that sees rows through noisy clipped gradients only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.generators.base import Ask, Progress
from synth.generators.gradients import common
from synth.generators.gradients.trained import Descending, mean_gradient
from synth.generators.method import NONE_OR_SHARE, RATE, STEPS, Between, option
from synth.generators.mlp import Adam
from synth.generators.mlp import network as generator_of
from synth.lazy import Lazy
from synth.questions import CountsRelease, Descent, DescentRelease
from synth.questions.gradients import CRITIC

if TYPE_CHECKING:
    import torch

    from synth.numeric import networks
else:
    torch, networks = Lazy("torch"), Lazy("synth.numeric.networks")

PURPOSE = "critic"
BATCH = 500  # generated rows a step
WIDTHS = (128, 128)
AVERAGED = 0.98  # of the running mean of the generator's weights


@dataclass(frozen=True, kw_only=True)
class DPCtgan(Descending):
    """A conditional-free CTGAN on public groups, its critic trained by DP-SGD; the generator sees the critic alone.

    ``steps``: of the critic, each over a Poisson sample of ``rate`` of the rows, gradients clipped to ``clip``,
    and to ``clip_last`` of it at the last one (Frigerio et al., arXiv 1901.02477), falling evenly between; ``moves``:
    of the generator after ``every`` of them (more of the critic's for one of its own: Bie et al., arXiv 2302.02936).
    ``oneway_share``: part of mu**2 for one-way counts, which give the row count, groups (at most about ``groups`` a
    column) and starting point. ``hidden``: units of the critic's layers.
    ``critic_rate``, ``generator_rate``: of Adam; ``decay``: how strongly the critic's weights are drawn to zero.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Xie et al., arXiv 1802.06739 (DP-SGD on the critic); Xu et al., arXiv 1907.00503 (CTGAN).
    """

    name = "dp_ctgan"
    barrier = "in the critic, in its gradients"
    summary = "generative adversarial network; the critic is trained by DP-SGD"
    reads = (CountsRelease, DescentRelease)
    steps: int = option(600, *STEPS)
    rate: float = option(0.02, 1e-6, 1)
    clip: float = option(1.0, 1e-6, 1e6)
    clip_last: float = option(1.0, 1e-6, 1.0)
    moves: int = option(1, 1, 100)
    every: int = option(1, 1, 10_000)
    oneway_share: float = option(0.3, *NONE_OR_SHARE)
    groups: int = option(20, 2, 1000)
    hidden: int = option(64, 1, 4096)
    critic_rate: float = option(2e-3, *RATE)
    generator_rate: float = option(1e-3, *RATE)
    decay: float = option(20.0, 0, 1e8)

    network = CRITIC
    purpose = PURPOSE

    def shape(self, ground: common.Ground) -> dict[str, Any]:
        """The critic, and how its clip falls."""
        return {**super().shape(ground), "last": self.clip_last}

    def check_together(self) -> None:
        """Errors: UsageError where the decay would overshoot zero."""
        super().check_together()
        self.check_option("decay", Between(0.0, 1 / self.critic_rate))

    def descend(self, ask: Ask, plan: Descent, ground: common.Ground, progress: Progress) -> tuple[np.ndarray, ...]:
        """Weights of the generator, averaged over the last steps. Randomness here is public (``PUBLIC_SEED``)."""
        rng = np.random.default_rng(common.PUBLIC_SEED)
        made = generator_of(ground.sizes, rng=rng, start=ground.shares, widths=WIDTHS)
        critic = networks.network(CRITIC, ground.sizes, hidden=self.hidden)
        networks.start(critic, rng=rng)
        judge, maker = Adam(list(critic.parameters())), Adam(made.parameters)
        mean = common.Average(made.parameters, keep=AVERAGED)
        for number in range(plan.steps):
            progress(number / plan.steps)
            real = mean_gradient(ask, plan, number, critic, rows=ground.rows)
            with torch.no_grad():
                fakes = made.drawn(made.hidden(BATCH), hard=True)
            false = torch.autograd.grad(torch.nn.functional.softplus(critic(fakes)).mean(), judge.parameters)
            with torch.no_grad():
                for p in judge.parameters:
                    p.mul_(1 - self.decay * self.critic_rate)
            judge.move([r + f for r, f in zip(real, false, strict=True)], rate=self.critic_rate)
            for _ in range(self.moves if (number + 1) % self.every == 0 else 0):
                loss = torch.nn.functional.softplus(-critic(made.drawn(made.hidden(BATCH), hard=True))).mean()
                maker.move(torch.autograd.grad(loss, maker.parameters), rate=self.generator_rate)
            mean.note()
        return mean.arrays()
