"""`dp_vae`: a variational autoencoder trained by DP-SGD, encoder and decoder alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from synth.errors import UsageError
from synth.generators.base import Ask, Progress, Setting
from synth.generators.gradients import common
from synth.generators.method import Method
from synth.generators.mlp import Adam
from synth.generators.product_mixture.model import Product
from synth.generators.ranges import RATE, SHARE, STEPS, Between, Range
from synth.questions import CountsRelease, Descent, DescentRelease, Release, Step
from synth.questions.gradients import AUTOENCODER, whole_rate
from synth.questions.numeric import networks

PURPOSE = "autoencoder"
AVERAGED = 0.98  # of the running mean of the weights


@dataclass(frozen=True, kw_only=True)
class DPVae(Method):
    """An autoencoder on public groups; synthetic rows come from its decoder at fresh latent draws.

    ``steps``: each over a Poisson sample of ``rate`` of the rows, gradients clipped to ``clip``. ``oneway_share``: part
    of mu**2 for one-way counts, which give the row count, groups (at most about ``groups`` a column) and starting
    point. ``hidden``: units of each layer; ``latent``: numbers of a latent draw; ``learning_rate``: of Adam.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Kingma and Welling, arXiv 1312.6114; DP-SGD: Abadi et al., arXiv 1607.00133, Algorithm 1.
    """

    name: str = "dp_vae"
    barrier: str = "B3"
    summary: str = "variational autoencoder; encoder and decoder are trained by DP-SGD"
    relations: tuple[str, ...] = ("add_remove", "replace_one", "zero_out")
    reads: tuple[type, ...] = (CountsRelease, DescentRelease)
    steps: int = 600
    rate: float = 0.02
    clip: float = 1.0
    oneway_share: float = 0.3
    groups: int = 20
    hidden: int = 64
    latent: int = 4
    learning_rate: float = 6e-3
    ranges: ClassVar[Mapping[str, Range]] = {
        "steps": STEPS, "rate": Between(1e-6, 1), "clip": Between(1e-6, 1e6), "oneway_share": SHARE,
        "groups": Between(2, 1000), "hidden": Between(1, 4096), "latent": Between(1, 256),
        "learning_rate": RATE,
    }  # fmt: skip

    @property
    def gaussian(self) -> bool:
        """Whether all questions are Gaussian, so that the run has a mu."""
        return False

    def check_together(self) -> None:
        """Errors: UsageError without the extra [sgd]."""
        common.check_opacus()

    def measure(self, ask: Ask, setting: Setting, *, progress: Progress) -> list[Release]:
        """One-ways, then the whole training, each step of which asks."""
        progress(0.0)
        ground = common.begin(ask, setting, share=self.oneway_share, groups=self.groups)
        releases: list[Release] = [*ground.counts]
        if ground.bins:
            plan = self._plan(ground, setting)
            with networks.one_thread():
                releases.append(DescentRelease(question=plan, weights=self._train(ask, plan, ground, progress)))
        progress(1.0)
        return releases

    def fit(
        self,
        releases: Sequence[Release],
        setting: Setting,
        *,
        rng: np.random.Generator,
        device: str,  # noqa: ARG002
        progress: Progress,
    ) -> Product:
        """The decoder at many latent draws, as a mixture."""
        trained = next((r for r in releases if isinstance(r, DescentRelease)), None)
        if trained is None:
            return common.independent(releases, setting)
        plan = trained.question
        if plan.network != AUTOENCODER:
            raise UsageError("the release is of another training; fit it with the method that asked for it")
        made = networks.Autoencoder(plan.sizes, hidden=plan.hidden, latent=plan.latent)
        networks.load(made, trained.weights)
        draws = torch.from_numpy(rng.standard_normal((common.KEPT, plan.latent)).astype(np.float32))
        with torch.no_grad():
            probs = made.distributions(draws).double().numpy()
        progress(1.0)
        return common.product(common.again(releases, setting, plan.bins), plan.bins, probs)

    def _plan(self, ground: common.Ground, setting: Setting) -> Descent:
        assert setting.step_sigma is not None
        rate = whole_rate(self.rate)
        noise = setting.step_sigma(rate=rate, steps=self.steps, beside=ground.beside)
        return Descent(purpose=PURPOSE, network=AUTOENCODER, bins=ground.bins, hidden=self.hidden, latent=self.latent,
                       clip=self.clip, sigma=noise * self.clip, rate=rate, steps=self.steps)  # fmt: skip

    def _train(self, ask: Ask, plan: Descent, ground: common.Ground, progress: Progress) -> tuple[np.ndarray, ...]:
        """Weights of both halves, averaged over the last steps; the decoder starts at the one-ways."""
        made = networks.network(AUTOENCODER, ground.sizes, hidden=self.hidden, latent=self.latent)
        networks.start(made, rng=np.random.default_rng(common.PUBLIC_SEED))
        networks.load_one(list(made.parameters())[-1], np.log(np.maximum(ground.shares, 1e-6)))
        expected = max(plan.rate * ground.rows, 1.0)
        adam = Adam(list(made.parameters()))
        mean = common.Average(adam.parameters, keep=AVERAGED)
        for number in range(plan.steps):
            progress(number / plan.steps)
            told = ask(Step(descent=plan, number=number, weights=networks.arrays(made)))
            adam.move(common.unflat(told.values / expected, adam.parameters), rate=self.learning_rate)
            mean.note()
        return mean.arrays()
