"""What the trained methods have in common: one-ways, then a training that asks at every step; the rest is free."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Ask, Fit, Progress, Run, Setting
from synth.generators.gradients import common
from synth.generators.method import SHARE, Between, Method
from synth.generators.mlp import Adam
from synth.generators.product_mixture.model import Product
from synth.lazy import Lazy
from synth.questions import Descent, DescentRelease, Release, Step, TaughtRelease
from synth.questions.gradients import whole_rate

if TYPE_CHECKING:
    import torch

    from synth.numeric import networks
else:
    torch, networks = Lazy("torch"), Lazy("synth.numeric.networks")


class WithOneWays(Method):
    """One-ways with ``oneway_share`` of mu**2, none where it is 0, in groups of which a column has about ``groups``."""

    oneway_share: float
    groups: int

    def check_together(self) -> None:
        """Errors: UsageError for a share too small to count anything by."""
        if self.oneway_share:
            self.check_option("oneway_share", Between(*SHARE), where="; 0 asks for no single columns")


class Trained(WithOneWays):
    """One-ways, then a training whose steps ask.

    ``outcome``: the kind of release that holds the trained weights.
    """

    outcome: ClassVar[type[DescentRelease | TaughtRelease]]

    @abstractmethod
    def train(self, ask: Ask, ground: common.Ground, setting: Setting, progress: Progress) -> Release:
        """The whole training, whose steps ask. Randomness in it is public (``common.PUBLIC_SEED``)."""

    def measure(self, run: Run) -> list[Release]:
        """One-ways, then the whole training: each of its steps asks, what follows from the answers is free."""
        ask, setting, progress = run.ask, run.setting, run.progress
        progress(0.0)
        ground = common.begin(ask, setting, share=self.oneway_share, groups=self.groups)
        releases: list[Release] = [*ground.counts]
        if ground.bins:
            with networks.one_thread():
                releases.append(self.train(ask, ground, setting, progress))
        progress(1.0)
        return releases

    def fit(self, releases: Sequence[Release], setting: Setting, how: Fit) -> Product:
        """The trained network at many draws of what it starts from, as a mixture."""
        rng, progress = how.rng, how.progress
        trained = next((r for r in releases if isinstance(r, self.outcome)), None)
        if trained is None:
            return common.independent(releases, setting)
        made = self.mixture(trained, common.again(releases, setting, trained.question.bins), rng)
        progress(1.0)
        return made

    def mixture(
        self, trained: DescentRelease | TaughtRelease, made: common.embedding.ColumnEstimates, rng: np.random.Generator
    ) -> Product:
        """The trained generator's distributions at many hidden draws."""
        return common.network_product(made, trained.question.bins, trained.weights, rng=rng)


class Descending(Trained):
    """Trained by DP-SGD: ``steps``, each over a Poisson sample of ``rate`` of the rows, gradients clipped to ``clip``.

    ``network``: the kind of network whose gradients are asked for; ``purpose``: of the question.
    """

    steps: int
    rate: float
    clip: float
    hidden: int
    network: ClassVar[str]
    purpose: ClassVar[str]
    outcome = DescentRelease

    @abstractmethod
    def descend(self, ask: Ask, plan: Descent, ground: common.Ground, progress: Progress) -> tuple[np.ndarray, ...]:
        """The trained weights, averaged over the last steps."""

    @property
    def gaussian(self) -> bool:
        """Whether all questions are Gaussian, so that the run has a mu."""
        return False

    def shape(self, ground: common.Ground) -> dict[str, Any]:  # noqa: ARG002
        """What the descent says of its network besides its kind."""
        return {"hidden": self.hidden, "latent": getattr(self, "latent", 0)}

    def train(self, ask: Ask, ground: common.Ground, setting: Setting, progress: Progress) -> Release:
        """The descent with what the one-ways leave of the budget."""
        assert setting.step_sigma is not None
        rate = whole_rate(self.rate)
        noise = setting.step_sigma(rate=rate, steps=self.steps, mu_elsewhere=ground.mu)
        plan = Descent(
            purpose=self.purpose,
            network=self.network,
            bins=ground.bins,
            clip=self.clip,
            rate=rate,
            sigma=noise * self.clip,
            steps=self.steps,
            **self.shape(ground),
        )
        return DescentRelease(question=plan, weights=self.descend(ask, plan, ground, progress))

    def mixture(
        self, trained: DescentRelease | TaughtRelease, made: common.embedding.ColumnEstimates, rng: np.random.Generator
    ) -> Product:
        """As of any training. Errors: UsageError for the release of another one."""
        self.own(trained)
        return super().mixture(trained, made, rng)

    def own(self, trained: DescentRelease | TaughtRelease) -> Descent:
        """The release's question. Errors: UsageError where another method asked it."""
        plan = trained.question
        if not isinstance(plan, Descent) or plan.network != self.network:
            raise UsageError("the release is of another training; fit it with the method that asked for it")
        return plan


class TrainedModel(Descending):
    """The trained network is itself the model: ``network``'s own weights follow the steps by Adam, and are averaged."""

    learning_rate: float
    part_of_mean: ClassVar[float] = 0.98  # of the running mean of the weights

    def begun(self, plan: Descent, ground: common.Ground) -> torch.nn.Module:
        """The network with its first weights, from public randomness; what it tells starts at the one-ways."""
        made = networks.of(plan)
        networks.start(made, rng=np.random.default_rng(common.PUBLIC_SEED))
        networks.load_one(list(made.parameters())[-1], np.log(np.maximum(ground.shares, 1e-6)))
        return made

    def descend(self, ask: Ask, plan: Descent, ground: common.Ground, progress: Progress) -> tuple[np.ndarray, ...]:
        """Weights of the whole network, averaged over the last steps."""
        made = self.begun(plan, ground)
        adam = Adam(list(made.parameters()))
        mean = common.Average(adam.parameters, keep=self.part_of_mean)
        for number in range(plan.steps):
            progress(number / plan.steps)
            adam.move(mean_gradient(ask, plan, number, made, rows=ground.rows), rate=self.learning_rate)
            mean.note()
        return mean.arrays()

    def loaded(self, trained: DescentRelease | TaughtRelease) -> Any:
        """The trained network. Errors: UsageError for the release of another training."""
        made = networks.of(self.own(trained))
        networks.load(made, trained.weights)
        return made


def mean_gradient(ask: Ask, plan: Descent, number: int, shifted: torch.nn.Module, *, rows: float) -> list[torch.Tensor]:
    """A step's noisy sum of clipped gradients over the rows that it samples of ``rows``, in the parameters' shapes."""
    released = ask(Step(descent=plan, number=number, weights=networks.arrays(shifted)))
    return common.unflat(
        released.values * (plan.fallen(number) / max(plan.rate * rows, 1.0)), list(shifted.parameters())
    )
