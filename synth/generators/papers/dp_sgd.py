"""Methods trained by DP-SGD, each step on noisy clipped gradients over a sample of the rows.

Networks that are the model themselves (`dp_vae`, `dp_flow`, `dp_diffusion`); generators against a critic (`dp_ctgan`,
`dp_autogan`); generated rows moved by a transport plan (`dp_sinkhorn`) or until a classifier learns from them what it
would from the table (`private_set`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from synth.generators.base import Enough, Run, Setting, part
from synth.generators.core.product import Product
from synth.generators.method import RATE, STEPS, Between, option
from synth.generators.papers.columns import Baseline, Columns
from synth.generators.papers.mlp import HIDDEN, PUBLIC_SEED, RETAINED, Adam, Average, Network, generator, network
from synth.generators.papers.training import BATCH, Trained, persuade
from synth.lazy import torch
from synth.numeric import networks
from synth.questions import CountsRelease, Descent, DescentRelease, Release, Step
from synth.questions.gradients import AUTOENCODER, CLASSIFIER, CRITIC, DENOISER, FLOW, TRANSPORT, whole_rate

DRAWN = 10_000  # rows that make the final mixture of a flow, or of a diffusion
WIDTHS = (128, 128)  # of a generator's layers


@dataclass(frozen=True, kw_only=True)
class Descending(Trained):
    """Trained by DP-SGD: ``steps``, each over a Poisson sample of ``rate`` of the rows, gradients clipped to ``clip``.

    ``network``: the kind of network whose gradients are asked for.
    """

    network: ClassVar[str]
    outcome = DescentRelease
    reads = (CountsRelease, DescentRelease)
    steps: int = option(400, *STEPS)
    rate: float = option(0.03, 1e-6, 1)
    clip: float = option(1.0, 1e-6, 1e6)

    @abstractmethod
    def descend(self, run: Run, plan: Descent, base: Baseline) -> tuple[np.ndarray, ...]:
        """The trained weights, averaged over the last steps."""

    @property
    def gaussian(self) -> bool:
        """Whether all questions are Gaussian, so that the run has a mu."""
        return False

    def shape(self, base: Baseline) -> dict[str, Any]:  # noqa: ARG002
        """What the descent says of its network besides its kind."""
        return {"hidden": getattr(self, "hidden", 0), "latent": getattr(self, "latent", 0)}

    def plan(self, base: Baseline, noise: float, **shape: Any) -> Descent:
        """The descent, with ``noise`` as a multiple of the clip."""
        usual: dict[str, Any] = {"purpose": self.purpose, "network": self.network, "steps": self.steps}
        usual |= {"rate": whole_rate(self.rate), "clip": self.clip, "sigma": noise * self.clip}
        return Descent(bins=base.bins, **{**usual, **shape})

    def train(self, run: Run, base: Baseline) -> Release:
        """The descent with what the one-ways leave of the budget."""
        assert run.setting.step_sigma is not None
        noise = run.setting.step_sigma(rate=whole_rate(self.rate), steps=self.steps, mu_elsewhere=base.mu)
        plan = self.plan(base, noise, **self.shape(base))
        return DescentRelease(question=plan, weights=self.descend(run, plan, base))

    def own(self, question: Any) -> bool:
        """By the kind of network."""
        return isinstance(question, Descent) and question.network == self.network


def mean_gradient(run: Run, plan: Descent, number: int, module: torch.nn.Module, *, rows: float) -> list[torch.Tensor]:
    """A step's noisy sum of clipped gradients over the rows that it samples of ``rows``, in the parameters' shapes."""
    run.progress(number / plan.steps)
    released = run.ask(Step(descent=plan, number=number, weights=networks.arrays(module)))
    values = released.values * (plan.fallen(number) / max(plan.rate * rows, 1.0))
    parameters = list(module.parameters())
    parts = torch.from_numpy(values.astype(np.float32)).split([p.numel() for p in parameters])
    return [part.reshape(p.shape) for part, p in zip(parts, parameters, strict=True)]


def started(plan: Descent, rng: np.random.Generator | None = None) -> Any:
    """The plan's network with its first weights, from public randomness."""
    made = networks.of(plan)
    networks.start(made, rng=rng or np.random.default_rng(PUBLIC_SEED))
    return made


# The trained network is itself the model


@dataclass(frozen=True, kw_only=True)
class TrainedModel(Descending):
    """``network``'s own weights follow the steps by Adam, and are averaged."""

    hidden: int = option(48, 1, 4096)
    learning_rate: float = option(5e-3, *RATE)

    def begun(self, plan: Descent, base: Baseline) -> torch.nn.Module:
        """The network with its first weights; what it tells starts at the one-ways."""
        made = started(plan)
        networks.load_one(list(made.parameters())[-1], np.log(np.maximum(base.shares, 1e-6)))
        return made

    def descend(self, run: Run, plan: Descent, base: Baseline) -> tuple[np.ndarray, ...]:
        """Weights of the whole network, averaged over the last steps."""
        return averaged(run, plan, self.begun(plan, base), base, rate=self.learning_rate)

    def mixture(self, trained: Any, columns: Columns, rng: np.random.Generator) -> Product:
        """Of what the trained network tells."""
        made = networks.of(trained.question)
        networks.load(made, trained.weights)
        bins = trained.question.bins
        with torch.no_grad():
            return columns.product(bins, self.drawn(made, trained.question, columns, rng))

    @abstractmethod
    def drawn(self, made: Any, plan: Descent, columns: Columns, rng: np.random.Generator) -> np.ndarray:
        """Distributions (components, G) of the trained columns."""


def averaged(run: Run, plan: Descent, made: torch.nn.Module, base: Baseline, *, rate: float) -> tuple[np.ndarray, ...]:
    """The network's weights as they follow the plan's steps, averaged over the last ones."""
    adam = Adam(list(made.parameters()))
    mean = Average(adam.parameters)
    for number in range(plan.steps):
        adam.move(mean_gradient(run, plan, number, made, rows=base.rows), rate=rate)
        mean.note()
    return mean.arrays()


@dataclass(frozen=True, kw_only=True)
class DPVae(TrainedModel):
    """An autoencoder on public groups; synthetic rows come from its decoder at fresh latent draws.

    ``steps``: each over a Poisson sample of ``rate`` of the rows, gradients clipped to ``clip``. ``oneway_share``: part
    of mu**2 for one-way counts, which give the row count, groups (at most about ``groups`` a column) and starting
    point. ``hidden``: units of each layer; ``latent``: numbers of a latent draw; ``splines``: between normal draws and
    latent ones, a flow trained with all else; ``learning_rate``: of Adam.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Kingma and Welling, arXiv 1312.6114; DP-SGD: Abadi et al., arXiv 1607.00133, Algorithm 1; a flow of
    latent draws: Jiang and Sun, DP-LFlow (2023), whose encoder is trained first.
    """

    name = "dp_vae"
    barrier = "at the generator, in its gradients"
    summary = "variational autoencoder; encoder and decoder are trained by DP-SGD"
    network = AUTOENCODER
    purpose = "autoencoder"
    steps: int = option(600, *STEPS)
    rate: float = option(0.02, 1e-6, 1)
    hidden: int = option(64, 1, 4096)
    latent: int = option(4, 1, 256)
    splines: int = option(0, 0, 8)
    learning_rate: float = option(6e-3, *RATE)

    def check_together(self) -> None:
        """Errors: UsageError for splines of a single number, which a flow cannot turn."""
        super().check_together()
        if self.splines:
            self.check_option("latent", Between(2, 256), where=" with splines")

    def shape(self, base: Baseline) -> dict[str, Any]:
        """The autoencoder, and the splines of its latent law."""
        return {**super().shape(base), "depth": self.splines}

    def begun(self, plan: Descent, base: Baseline) -> torch.nn.Module:
        """As every network, latent draws normal."""
        made = super().begun(plan, base)
        if self.splines:
            networks.straighten(made.splines)  # type: ignore[arg-type]
        return made

    def drawn(self, made: Any, plan: Descent, columns: Columns, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        """The decoder at many latent draws."""
        draws = torch.from_numpy(rng.standard_normal((RETAINED, plan.latent)).astype(np.float32))
        return made.distributions(draws).double().numpy()


@dataclass(frozen=True, kw_only=True)
class DPFlow(TrainedModel):
    """A neural spline flow between normal draws and rows, each group spread over its share of a normal law.

    ``steps``: each over a Poisson sample of ``rate`` of the rows, gradients clipped to ``clip``. ``oneway_share``: part
    of mu**2 for one-way counts, which give the row count, groups (at most about ``groups`` a column) and the law on
    which each column is spread, so that training begins at independent columns; with 0 groups are even. ``hidden``:
    units of the conditioners' layer; ``knots``: of each spline; ``learning_rate``: of Adam.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Waites and Cummings, arXiv 2103.14068; Durkan et al., arXiv 1906.04032 (the flow, by zuko); DP-SGD:
    Abadi et al., arXiv 1607.00133, Algorithm 1.
    """

    name = "dp_flow"
    barrier = "at the generator, in its gradients"
    summary = "normalizing flow between noise and rows, trained by DP-SGD"
    network = FLOW
    purpose = "flow"
    groups: int = option(12, 2, 1000)
    knots: int = option(6, 2, 64)

    def shape(self, base: Baseline) -> dict[str, Any]:
        """Groups without a share of their own have little, not nothing: rows may be in them all the same."""
        shares = np.maximum(base.shares, 1e-4)
        return {"hidden": self.hidden, "latent": len(base.bins), "depth": self.knots, "shares": shares}

    def begun(self, plan: Descent, base: Baseline) -> torch.nn.Module:  # noqa: ARG002
        """The identity: conditioners whose last layers are zero."""
        made = started(plan)
        networks.straighten(made.transform)
        return made

    def drawn(self, made: Any, plan: Descent, columns: Columns, rng: np.random.Generator) -> np.ndarray:
        """As many rows as make a table of any length; normal draws far out are cut off."""
        draws = rng.standard_normal((DRAWN, len(plan.bins))).clip(-4.0, 4.0).astype(np.float32)
        codes = made.codes(torch.from_numpy(draws))
        return columns.blurred(plan.bins, networks.one_hot(codes, plan.sizes).double().numpy(), blur=0.05)


@dataclass(frozen=True, kw_only=True)
class DPDiffusion(TrainedModel):
    """Diffusion for tables: columns are blanked at random, a network learns to fill them in, from blank rows at last.

    ``steps``: each over a Poisson sample of ``rate`` of the rows, gradients clipped to ``clip``; ``copies``: of each
    row, blanked differently, over which its gradient is averaged before it is clipped. ``oneway_share``: part of mu**2
    for one-way counts, which give the row count, groups (at most about ``groups`` a column) and starting point; with 0
    groups are even. ``hidden``: units of each layer; ``learning_rate``: of Adam.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Dockhorn et al., arXiv 2210.09929 (noise multiplicity); Austin et al., arXiv 2107.03006 (absorbing
    diffusion, for categories); DP-SGD: Abadi et al., arXiv 1607.00133, Algorithm 1.
    """

    name = "dp_diffusion"
    barrier = "at the generator, in its gradients"
    summary = "diffusion model that fills in blanked columns, trained by DP-SGD"
    network = DENOISER
    purpose = "denoiser"
    copies: int = option(8, 1, 256)
    groups: int = option(12, 2, 1000)

    def shape(self, base: Baseline) -> dict[str, Any]:
        """Each copy of a row draws a time and a number for each column."""
        return {"hidden": self.hidden, "depth": self.copies, "latent": self.copies * (len(base.bins) + 1)}

    def drawn(self, made: Any, plan: Descent, columns: Columns, rng: np.random.Generator) -> np.ndarray:
        """Blank rows filled in column by column, in an order of each row's own; its last stays a distribution."""
        ends = np.cumsum([0, *plan.sizes])
        rows = np.zeros((DRAWN, ends[-1]), dtype=np.float32)
        order = np.argsort(rng.random((DRAWN, len(plan.sizes))), axis=1)
        for turn in range(len(plan.sizes)):
            filled = made.filled(torch.from_numpy(rows)).double().numpy()
            for column, (start, end) in enumerate(pairwise(ends)):
                at = np.flatnonzero(order[:, turn] == column)
                chances = filled[at, start:end]
                if turn < len(plan.sizes) - 1:
                    chances = np.eye(end - start)[group_drawn(chances, rng)]
                rows[at, start:end] = chances
        return columns.blurred(plan.bins, rows.astype(float), blur=0.02)


def group_drawn(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A group for each line of chances (n, size), int64."""
    run = np.cumsum(chances, axis=1)
    return (rng.random((len(chances), 1)) * run[:, -1:] >= run[:, :-1]).sum(1)


# A generator against a critic


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
    network = CRITIC
    purpose = "critic"
    steps: int = option(600, *STEPS)
    rate: float = option(0.02, 1e-6, 1)
    clip_last: float = option(1.0, 1e-6, 1.0)
    moves: int = option(1, 1, 100)
    every: int = option(1, 1, 10_000)
    hidden: int = option(64, 1, 4096)
    critic_rate: float = option(2e-3, *RATE)
    generator_rate: float = option(1e-3, *RATE)
    decay: float = option(20.0, 0, 1e8)

    def shape(self, base: Baseline) -> dict[str, Any]:
        """The critic, and how its clip falls."""
        return {**super().shape(base), "last": self.clip_last}

    def check_together(self) -> None:
        """Errors: UsageError where the decay would overshoot zero."""
        super().check_together()
        self.check_option("decay", Between(0.0, 1 / self.critic_rate))

    def descend(self, run: Run, plan: Descent, base: Baseline) -> tuple[np.ndarray, ...]:
        """Weights of the generator, averaged over the last steps. Randomness here is public (``PUBLIC_SEED``)."""
        rng = np.random.default_rng(PUBLIC_SEED)
        made = network(base.sizes, rng=rng, start=base.shares, widths=WIDTHS)
        game: dict[str, Any] = {
            "generator_rate": self.generator_rate,
            "critic_rate": self.critic_rate,
            "decay": self.decay,
        }
        game |= {"moves": self.moves, "every": self.every}
        return played(run, plan, base, lambda: made, made.parameters, rng, **game).arrays()


def played(
    run: Run,
    plan: Descent,
    base: Baseline,
    made: Callable[[], Network],
    parameters: Sequence[torch.Tensor],
    rng: np.random.Generator,
    *,
    critic_rate: float,
    generator_rate: float,
    decay: float = 0.0,
    moves: int = 1,
    every: int = 1,
) -> Average:
    """The generator's ``parameters`` after its game against a critic that follows the plan's steps, averaged.

    ``made``: the generator with its parameters as they stand.
    """
    critic = networks.critic(base.sizes, hidden=plan.hidden)
    networks.start(critic, rng=rng)
    judge, maker, mean = Adam(list(critic.parameters())), Adam(parameters), Average(parameters)
    for number in range(plan.steps):
        real = mean_gradient(run, plan, number, critic, rows=base.rows)
        with torch.no_grad():
            drawn = made()
            fakes = drawn.drawn(drawn.hidden(BATCH), hard=True)
        false = torch.autograd.grad(torch.nn.functional.softplus(critic(fakes)).mean(), judge.parameters)
        with torch.no_grad():
            for p in judge.parameters:
                p.mul_(1 - decay * critic_rate)
        judge.move([r + f for r, f in zip(real, false, strict=True)], rate=critic_rate)
        for _ in range(moves if (number + 1) % every == 0 else 0):
            persuade(maker, critic, made(), rate=generator_rate)
        mean.note()
    return mean


LATENT_WIDTH = 128  # units of the layer between the hidden draw and the latent one
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
    network = CRITIC
    purpose = "critic of decoded rows"
    code_steps: int = option(300, *STEPS)
    steps: int = option(300, *STEPS)
    rate: float = option(0.02, 1e-6, 1)
    hidden: int = option(64, 1, 4096)
    latent: int = option(4, 1, 256)
    code_rate: float = option(6e-3, *RATE)
    critic_rate: float = option(2e-3, *RATE)
    generator_rate: float = option(1e-3, *RATE)

    def train(self, run: Run, base: Baseline) -> Release:
        """Both trainings, each step of either with the noise that all of them together leave room for."""
        code, plan = self._plans(base, run.setting)
        made = started(code)
        networks.load_one(list(made.parameters())[-1], np.log(np.maximum(base.shares, 1e-6)))
        first = replace(run, progress=part(run.progress, 0.0, 0.5))
        networks.load(made, averaged(first, code, made, base, rate=self.code_rate))
        second = replace(run, progress=part(run.progress, 0.5, 1.0))
        return DescentRelease(question=plan, weights=self._against(second, plan, base, made))

    def check(self, run: Run) -> None:
        """As every method's; it asks for the first step of either training, so that the price of both is rehearsed."""
        self.check_options()
        self.check_schema(run.setting.schema)
        with networks.one_thread():
            base = Baseline.asked(run, share=self.oneway_share, groups=self.groups)
            for plan in self._plans(base, run.setting) if base.bins else ():
                with suppress(Enough):
                    run.ask(Step(descent=plan, number=0, weights=networks.arrays(started(plan))))

    def _plans(self, base: Baseline, setting: Setting) -> tuple[Descent, Descent]:
        """The two trainings: of the autoencoder, and of the critic."""
        assert setting.step_sigma is not None
        together = self.code_steps + self.steps
        noise = setting.step_sigma(rate=whole_rate(self.rate), steps=together, mu_elsewhere=base.mu) * MARGIN
        code = {"purpose": "autoencoder", "network": AUTOENCODER, "steps": self.code_steps, "latent": self.latent}
        return (
            self.plan(base, noise, **{"hidden": self.hidden, **code}),
            self.plan(base, noise, hidden=self.hidden, latent=0),
        )

    def descend(self, run: Run, plan: Descent, base: Baseline) -> tuple[np.ndarray, ...]:
        """The critic's half, before a decoder that was never trained."""
        return self._against(run, plan, base, started(replace(plan, network=AUTOENCODER, latent=self.latent)))

    def _against(self, run: Run, plan: Descent, base: Baseline, code: Any) -> tuple[np.ndarray, ...]:
        """Weights of generator and decoder as one network, averaged over the last steps. Randomness is public.

        ``code``: the autoencoder, whose decoder is fixed from here on.
        """
        decoder = [p.detach().clone() for p in code.decoder.parameters()]
        rng, latent = np.random.default_rng(PUBLIC_SEED), decoder[0].shape[1]
        leaves = [rng.standard_normal(s) * sqrt(2 / s[0]) for s in ((HIDDEN, LATENT_WIDTH), (LATENT_WIDTH, latent))]
        arrays = (leaves[0], np.zeros(LATENT_WIDTH), leaves[1], np.zeros(latent))
        parameters = [torch.as_tensor(x, dtype=torch.float32).requires_grad_(True) for x in arrays]
        column, source = torch.as_tensor(np.repeat(np.arange(len(base.sizes)), base.sizes)), generator(rng, "cpu")

        def made() -> Network:
            return Network(sizes=tuple(base.sizes), layers=joined(parameters, decoder), column=column, source=source)

        rates: dict[str, Any] = {"critic_rate": self.critic_rate, "generator_rate": self.generator_rate}
        mean = [torch.from_numpy(a) for a in played(run, plan, base, made, parameters, rng, **rates).arrays()]
        return tuple(x.detach().numpy().copy() for layer in joined(mean, decoder) for x in layer)


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


# Generated rows that move


@dataclass(frozen=True, kw_only=True)
class DPSinkhorn(Descending):
    """A generator whose rows are moved to where a blurred transport plan takes the table's rows.

    ``steps``: each over a Poisson sample of ``rate`` of the rows; what each row pulls at generated rows and at their
    prices is clipped to ``clip``. ``rows``: generated, alike in number at every step. ``blur``: of the plan, in half
    squared distances of one-hot rows. ``oneway_share``: part of mu**2 for one-way counts, which give the row count,
    groups (at most about ``groups`` a column) and starting point; with 0 groups are even. ``generator_rate``: of Adam;
    ``price_rate``: of the prices, in parts of the blur.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Cao et al., arXiv 2111.01177; semi-dual: Genevay et al., arXiv 1605.08527.
    """

    name = "dp_sinkhorn"
    barrier = "between the loss and the generator, in the gradients on generated rows"
    summary = "generator moved by noisy gradients of an optimal transport cost on its own rows"
    network = TRANSPORT
    purpose = "transport"
    rows: int = option(64, 1, 4096)
    blur: float = option(0.3, 1e-3, 1e3)
    groups: int = option(12, 2, 1000)
    generator_rate: float = option(2e-3, *RATE)
    price_rate: float = option(0.5, 0, 10)

    def shape(self, base: Baseline) -> dict[str, Any]:  # noqa: ARG002
        """Weights are the generated rows and their prices."""
        return {"hidden": self.rows, "latent": 0, "scale": self.blur}

    def descend(self, run: Run, plan: Descent, base: Baseline) -> tuple[np.ndarray, ...]:
        """Weights of the generator, averaged over the last steps. Randomness here is public (``PUBLIC_SEED``).

        The hidden draws stay the same, so that prices belong to rows that move little from step to step.
        """
        made = network(base.sizes, rng=np.random.default_rng(PUBLIC_SEED), start=base.shares, widths=WIDTHS)
        maker, mean = Adam(made.parameters), Average(made.parameters)
        target: Any = networks.of(plan)
        z, even = made.hidden(self.rows), 1 / self.rows
        for number in range(plan.steps):
            soft = made.forward(z)
            with torch.no_grad():
                target.rows.copy_(soft)
            pull, owed = mean_gradient(run, plan, number, target, rows=base.rows)
            maker.move(torch.autograd.grad(soft, maker.parameters, grad_outputs=pull), rate=self.generator_rate)
            with torch.no_grad():  # a price falls where more than its part of the table comes: owed is less the mass
                target.prices.add_(owed + even, alpha=self.price_rate * self.blur / even)
            mean.note()
        return mean.arrays()


@dataclass(frozen=True, kw_only=True)
class PrivateSet(Descending):
    """A condensed set: soft rows on which a classifier of the target has the gradients that it has on the table.

    ``steps``: each over a Poisson sample of ``rate`` of the rows, the classifier's gradients clipped to ``clip``.
    ``rows``: of the set. ``hidden``: units of the classifier, whose weights begin anew after every ``lesson`` steps and
    follow the set in between, ``moves`` steps each time. ``set_rate``, ``classifier_rate``: of Adam. ``oneway_share``:
    part of mu**2 for one-way counts, which give the row count, groups (at most about ``groups`` a column) and starting
    point; with 0 groups are even. Without a target in the schema it is the last column.
    **Guarantee**: asks within the run's budget; ``fit`` sees releases only.
    **Source**: Chen, Kerkouche, Fritz, Private Set Generation with Discriminative Information, arXiv 2211.04446.
    """

    name = "private_set"
    barrier = "in the loss, in the gradients of a classifier"
    summary = "small set of rows that teaches a classifier of the target what the table would"
    network = CLASSIFIER
    purpose = "classifier"
    steps: int = option(300, *STEPS)
    clip: float = option(0.5, 1e-6, 1e6)
    rows: int = option(100, 1, 4096)
    hidden: int = option(32, 1, 4096)
    lesson: int = option(10, 1, 10_000)
    moves: int = option(5, 0, 1000)
    groups: int = option(12, 2, 1000)
    set_rate: float = option(0.05, *RATE)
    classifier_rate: float = option(0.01, *RATE)

    def shape(self, base: Baseline) -> dict[str, Any]:
        """The target's place: the schema's, or the last column with more than one group."""
        names = [b.column for b in base.bins]
        label = base.columns.label
        return {"hidden": self.hidden, "latent": 0, "depth": names.index(label) if label else len(names) - 1}

    def descend(self, run: Run, plan: Descent, base: Baseline) -> tuple[np.ndarray, ...]:
        """The set's scores (rows, groups), at first normal draws around the one-ways, from public randomness."""
        rng = np.random.default_rng(PUBLIC_SEED)
        start = np.log(np.maximum(base.shares, 1e-6)) + rng.standard_normal((self.rows, sum(plan.sizes)))
        scores = torch.from_numpy(start.astype(np.float32)).requires_grad_()
        held, judge = Adam([scores]), networks.of(plan)
        for number in range(plan.steps):
            if number % self.lesson == 0:
                networks.start(judge, rng=rng)
                taught = Adam(list(judge.parameters()))
            real = mean_gradient(run, plan, number, judge, rows=base.rows)
            seen = gradients(judge, soft(scores, plan.sizes), graph=True)
            held.move(torch.autograd.grad(apart(seen, real), [scores]), rate=self.set_rate)
            rows = soft(scores.detach(), plan.sizes)
            for _ in range(self.moves):
                taught.move(gradients(judge, rows), rate=self.classifier_rate)
        return (scores.detach().numpy().copy(),)

    def mixture(self, trained: Any, columns: Columns, rng: np.random.Generator) -> Product:  # noqa: ARG002
        """Each of the set's rows is a component."""
        plan = trained.question
        probs = soft(torch.from_numpy(np.array(trained.weights[0])), plan.sizes).double().numpy()
        return columns.product(plan.bins, probs)


def soft(scores: torch.Tensor, sizes: tuple[int, ...]) -> torch.Tensor:
    """Distributions (rows, groups) by scores."""
    return torch.cat([torch.softmax(part, dim=1) for part in scores.split(list(sizes), dim=1)], dim=1)


def gradients(judge: Any, rows: torch.Tensor, *, graph: bool = False) -> tuple[torch.Tensor, ...]:
    """Of the classifier's mean loss on rows, by its weights."""
    return torch.autograd.grad(judge.losses(rows, None).mean(), list(judge.parameters()), create_graph=graph)


def apart(one: tuple[torch.Tensor, ...], other: list[torch.Tensor]) -> torch.Tensor:
    """How differently two lists of gradients point: 1 - cosine, summed over each layer's units.

    **Source**: arXiv 2211.04446, equation 6.
    """
    pairs = [(a.reshape(len(a), -1), b.reshape(len(b), -1)) for a, b in zip(one, other, strict=True) if a.ndim > 1]
    return torch.stack([(1 - torch.cosine_similarity(a, b, dim=1)).sum() for a, b in pairs]).sum()
