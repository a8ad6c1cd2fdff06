"""`dp_autogan`: a generator of latent draws before a decoder, judged by a critic; decoder and critic by DP-SGD."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.generators.base import Ask, Enough, Progress, Run, Setting, part
from synth.generators.gradients import common
from synth.generators.gradients.trained import Descending, mean_gradient
from synth.generators.method import NONE_OR_SHARE, RATE, STEPS, option
from synth.generators.mlp import HIDDEN, Adam, Network, generator
from synth.lazy import Lazy
from synth.questions import CountsRelease, Descent, DescentRelease, Release, Step
from synth.questions.gradients import AUTOENCODER, CRITIC, whole_rate

if TYPE_CHECKING:
    import torch

    from synth.numeric import networks
else:
    torch, networks = Lazy("torch"), Lazy("synth.numeric.networks")

CODE, JUDGE = "autoencoder", "critic of decoded rows"
BATCH = 500  # generated rows a step
WIDTH = 128  # units of the layer between the hidden draw and the latent one
AVERAGED = 0.98  # of the running mean of weights
MARGIN = 1 + 1e-4  # more noise, since two trainings are composed on one lattice of losses


@dataclass(frozen=True, kw_only=True)
class DPAutoGan(Descending):
    """Two trainings for one budget: an autoencoder, whose decoder is kept, and a critic of decoded rows.

    ``code_steps``, ``steps``: of autoencoder and critic, each over a Poisson sample of ``rate`` of the rows, gradients
    clipped to ``clip``, all with the same noise. ``latent``: numbers of a latent draw. ``oneway_share``: part of mu**2
    for one-way counts, which give the row count, groups (at most about ``groups`` a column) and starting point.
    ``hidden``: units of the layers of autoencoder and critic; ``code_rate``, ``critic_rate``, ``generator_rate``: of
    Adam.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Tantipongpipat et al., arXiv 1912.03250 (DPautoGAN); its encoder, trained without noise there, is
    trained by DP-SGD here.
    """

    name = "dp_autogan"
    barrier = "in the critic, in its gradients, and in the decoder's"
    summary = "adversarial network on the latent draws of an autoencoder; critic and autoencoder by DP-SGD"
    reads = (CountsRelease, DescentRelease)
    code_steps: int = option(300, *STEPS)
    steps: int = option(300, *STEPS)
    rate: float = option(0.02, 1e-6, 1)
    clip: float = option(1.0, 1e-6, 1e6)
    oneway_share: float = option(0.3, *NONE_OR_SHARE)
    groups: int = option(20, 2, 1000)
    hidden: int = option(64, 1, 4096)
    latent: int = option(4, 1, 256)
    code_rate: float = option(6e-3, *RATE)
    critic_rate: float = option(2e-3, *RATE)
    generator_rate: float = option(1e-3, *RATE)

    network = CRITIC
    purpose = JUDGE

    def train(self, ask: Ask, ground: common.Ground, setting: Setting, progress: Progress) -> Release:
        """Both trainings, each step of either with the noise that all of them together leave room for."""
        code, plan = self._plans(ground, setting)
        decoder = self._decoder(ask, code, ground, part(progress, 0.0, 0.5))
        weights = self._against(ask, plan, ground, decoder, part(progress, 0.5, 1.0))
        return DescentRelease(question=plan, weights=weights)

    def check(self, run: Run) -> None:
        """As every method's; it asks for the first step of either training, so that the price of both is rehearsed."""
        ask, setting = run.ask, run.setting
        self.check_options()
        self.check_schema(setting.schema)
        with networks.one_thread():
            ground = common.begin(ask, setting, share=self.oneway_share, groups=self.groups)
            for plan in self._plans(ground, setting) if ground.bins else ():
                made = networks.of(plan)
                networks.start(made, rng=np.random.default_rng(common.PUBLIC_SEED))
                with suppress(Enough):
                    ask(Step(descent=plan, number=0, weights=networks.arrays(made)))

    def _plans(self, ground: common.Ground, setting: Setting) -> tuple[Descent, Descent]:
        """The two trainings: of the autoencoder, and of the critic."""
        assert setting.step_sigma is not None
        rate, together = whole_rate(self.rate), self.code_steps + self.steps
        noise = setting.step_sigma(rate=rate, steps=together, mu_elsewhere=ground.mu) * MARGIN
        usual: dict[str, Any] = {"bins": ground.bins, "clip": self.clip, "rate": rate, "sigma": noise * self.clip}
        code = Descent(
            purpose=CODE, network=AUTOENCODER, steps=self.code_steps, hidden=self.hidden, latent=self.latent, **usual
        )
        plan = Descent(purpose=JUDGE, network=CRITIC, steps=self.steps, hidden=self.hidden, latent=0, **usual)
        return code, plan

    def descend(self, ask: Ask, plan: Descent, ground: common.Ground, progress: Progress) -> tuple[np.ndarray, ...]:
        """The critic's half, before a decoder that was never trained."""
        code = replace(plan, network=AUTOENCODER, latent=self.latent)
        made = networks.of(code)
        networks.start(made, rng=np.random.default_rng(common.PUBLIC_SEED))
        return self._against(ask, plan, ground, _decoder(made), progress)

    def _decoder(self, ask: Ask, code: Descent, ground: common.Ground, progress: Progress) -> list[torch.Tensor]:
        """The decoder's layers after the autoencoder's training, averaged over its last steps."""
        made = networks.of(code)
        networks.start(made, rng=np.random.default_rng(common.PUBLIC_SEED))
        networks.load_one(list(made.parameters())[-1], np.log(np.maximum(ground.shares, 1e-6)))
        adam = Adam(list(made.parameters()))
        mean = common.Average(adam.parameters, keep=AVERAGED)
        for number in range(code.steps):
            progress(number / code.steps)
            adam.move(mean_gradient(ask, code, number, made, rows=ground.rows), rate=self.code_rate)
            mean.note()
        networks.load(made, mean.arrays())
        return _decoder(made)

    def _against(
        self, ask: Ask, plan: Descent, ground: common.Ground, decoder: Sequence[torch.Tensor], progress: Progress
    ) -> tuple[np.ndarray, ...]:
        """Weights of generator and decoder as one network, averaged over the last steps. Randomness is public."""
        rng = np.random.default_rng(common.PUBLIC_SEED)
        latent = decoder[0].shape[1]
        leaves = [_leaf(rng.standard_normal(s) * sqrt(2 / s[0])) for s in ((HIDDEN, WIDTH), (WIDTH, latent))]
        parameters = [leaves[0], _leaf(np.zeros(WIDTH)), leaves[1], _leaf(np.zeros(latent))]
        column, source = torch.as_tensor(np.repeat(np.arange(len(ground.sizes)), ground.sizes)), generator(rng, "cpu")

        def made() -> Network:
            layers = joined(parameters, decoder)
            return Network(sizes=tuple(ground.sizes), layers=layers, column=column, source=source)

        critic = networks.network(CRITIC, ground.sizes, hidden=self.hidden)
        networks.start(critic, rng=rng)
        judge, maker = Adam(list(critic.parameters())), Adam(parameters)
        mean = common.Average(parameters, keep=AVERAGED)
        for number in range(plan.steps):
            progress(number / plan.steps)
            real = mean_gradient(ask, plan, number, critic, rows=ground.rows)
            with torch.no_grad():
                drawn = made()
                fakes = drawn.drawn(drawn.hidden(BATCH), hard=True)
            false = torch.autograd.grad(torch.nn.functional.softplus(critic(fakes)).mean(), judge.parameters)
            judge.move([r + f for r, f in zip(real, false, strict=True)], rate=self.critic_rate)
            drawn = made()
            loss = torch.nn.functional.softplus(-critic(drawn.drawn(drawn.hidden(BATCH), hard=True))).mean()
            maker.move(torch.autograd.grad(loss, maker.parameters), rate=self.generator_rate)
            mean.note()
        averaged = [torch.from_numpy(a) for a in mean.arrays()]
        return tuple(x.detach().numpy().copy() for layer in joined(averaged, decoder) for x in layer)


def joined(
    parameters: Sequence[torch.Tensor], decoder: Sequence[torch.Tensor]
) -> tuple[tuple[torch.Tensor, torch.Tensor], ...]:
    """Generator and decoder as layers of rectified units: exactly, a leaky unit being two rectified ones."""
    first, second = decoder[0].T, decoder[2].T
    both, bias = torch.cat([first, -first], dim=1), torch.cat([decoder[1], -decoder[1]])
    return (
        (parameters[0], parameters[1]),
        (parameters[2] @ both, parameters[3] @ both + bias),
        (torch.cat([second, -networks.SLOPE * second], dim=0), decoder[3]),
    )


def _decoder(made: Any) -> list[torch.Tensor]:
    """The decoder's weights and biases, fixed from here on."""
    return [p.detach().clone() for p in made.decoder.parameters()]


def _leaf(x: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(x, dtype=torch.float32).requires_grad_(True)
