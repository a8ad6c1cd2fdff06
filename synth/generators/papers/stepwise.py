"""`dp_kernel`'s training step by step: each step asks for noisy gradients of a kernel's sum at generated points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Ask, Fit, Progress, Run, Setting
from synth.generators.core.product import Product
from synth.generators.papers.columns import Baseline, OneWays
from synth.generators.papers.kernels import gaussian_kernel
from synth.generators.papers.mlp import HIDDEN, PUBLIC_SEED, RETAINED, Average, Network, components, network
from synth.generators.papers.slice_training import wide
from synth.lazy import torch
from synth.numeric import networks
from synth.questions import Descent, DescentRelease, Release, Step
from synth.questions.gradients import KERNEL, whole_rate

PURPOSE = "kernel"
GROUPS = 24  # of a column, about
WIDTHS = (128, 128)
TEMPERATURE = 0.5  # of drawn rows: lower is nearer to one-hot, and steeper
SPREAD = 0.2  # of the first logits around the one-ways: a wide start is a relation between columns by chance
CODE = HIDDEN // 2  # of a hidden draw's numbers, a label's code
FORGETS, LEAST = 0.99, 1e-8  # of RMSprop


@dataclass(frozen=True, kw_only=True)
class Stepwise:
    """``steps``, each over a Poisson sample of ``rate`` of the rows, at ``points`` generated rows.

    ``variant``: ``joint``, the label a column like others; ``conditional``, one generator that is given the label;
    ``parallel``, one for each. ``learning_rate``: of RMSprop.
    **Source**: NeurIPS 2023, section 4.3, each step's answer with its gradients, under their joint noise.
    """

    steps: int
    rate: float
    points: int
    variant: str
    lengthscale: float
    widths: int
    learning_rate: float
    oneway_share: float

    def measure(self, run: Run) -> list[Release]:
        """One-ways, then the whole training."""
        base = Baseline.asked(run, share=self.oneway_share, groups=GROUPS)
        releases: list[Release] = [*base.counts]
        if base.bins:
            with networks.one_thread():
                plan = self.plan(base, run.setting)
                makers, shares = self.makers(plan, base), _shares(plan, base)
                weights = self.descend(run.ask, plan, makers, shares=shares, rows=base.rows, progress=run.progress)
                releases.append(DescentRelease(question=plan, weights=weights))
        run.progress(1.0)
        return releases

    def plan(self, base: Baseline, setting: Setting) -> Descent:
        """The training, with the noise that its steps leave room for."""
        assert setting.step_sigma is not None
        columns = base.columns
        labelled = self.variant != "joint" and columns.label is not None and bool(columns.others)
        kernel = gaussian_kernel(columns, lengthscale=self.lengthscale, widths=int(self.widths), labelled=labelled)
        rate, steps = whole_rate(self.rate), int(self.steps)
        return Descent(
            purpose=PURPOSE,
            network=KERNEL,
            bins=kernel.bins,
            hidden=max(int(self.points), kernel.bins[-1].size if labelled else 1),
            latent=0,
            clip=1.0,
            sigma=setting.step_sigma(rate=rate, steps=steps, mu_elsewhere=base.mu),
            rate=rate,
            steps=steps,
            coordinates=np.pad(
                wide([b.table for b in kernel.blocks]), ((0, kernel.bins[-1].size if labelled else 0), (0, 0))
            ),  # a label's are zero
            scales=kernel.scales,
            label=len(kernel.blocks) if labelled else None,
        )

    def descend(
        self, ask: Ask, plan: Descent, makers: Sequence[Any], *, shares: np.ndarray, rows: float, progress: Progress
    ) -> tuple[np.ndarray, ...]:
        """Weights of the generator, or of each label's, averaged over the last steps. Randomness here is public.

        ``shares`` (classes,): of the labels in the table; ``rows``: its length.
        """
        field: Any = networks.of(plan)
        labels = field.labels()
        count = np.bincount(labels, minlength=field.classes)
        weight = torch.from_numpy(shares[labels] / count[labels])
        optimisers = [Rmsprop(m.parameters, rate=self.learning_rate) for m in makers]
        means = [Average(m.parameters) for m in makers]
        mine = [labels == c for c in range(len(makers))] if len(makers) > 1 else [np.ones(len(labels), bool)]
        for number in range(plan.steps):
            progress(number / plan.steps)
            made = [m.places(labels[own]) for m, own in zip(makers, mine, strict=True)]
            with torch.no_grad():
                for own, places in zip(mine, made, strict=True):
                    field.points[torch.from_numpy(own)] = places
            field.prepare()
            released = ask(Step(descent=plan, number=number, weights=networks.arrays(field)))
            pulled = torch.from_numpy(field.gradients(released.values)) / max(plan.rate * rows, 1.0)
            slope = 2 * weight[:, None] * (repulsion(field, weight) - pulled)
            for maker, mean, own, places in zip(optimisers, means, mine, made, strict=True):
                given = slope[torch.from_numpy(own)].float()
                maker.move(torch.autograd.grad(places, maker.parameters, grad_outputs=given))
                mean.note()
        return tuple(w for mean in means for w in mean.arrays())

    def makers(self, plan: Descent, base: Baseline) -> list[Maker]:
        """One generator, or one for each label: networks of rows, from public randomness, around the one-ways."""
        rng = np.random.default_rng(PUBLIC_SEED)
        bins = plan.bins if plan.label is None else plan.bins[:-1]
        mass = [base.columns.shares(b.column) for b in bins]
        start = np.concatenate([m / m.sum() for m in mass])
        classes = 1 if plan.label is None else plan.bins[-1].size
        count, sizes = classes if self.variant == "parallel" else 1, [b.size for b in bins]
        made = [network(sizes, rng=rng, start=start, widths=WIDTHS, spread=SPREAD) for _ in range(count)]
        table = torch.from_numpy(plan.coordinates[: sum(sizes)]).float()
        return [Maker(network=m, table=table, codes=_codes(classes) if classes > 1 else None) for m in made]

    def fit(self, trained: DescentRelease, releases: Sequence[Release], setting: Setting, how: Fit) -> Product:
        """The generator's distributions at many hidden draws, label by label, as a mixture."""
        plan, rng = trained.question, how.rng
        if plan.network != KERNEL:
            raise UsageError("the release is of another training; fit it with the method that asked for it")
        columns = OneWays.of(releases, setting).asked(plan.bins)
        if plan.label is None:
            drawn = Network.of(trained.weights, [b.size for b in plan.bins], rng=rng)
            return columns.product(plan.bins, components(drawn, RETAINED, rng=rng))
        sizes, classes = [b.size for b in plan.bins[:-1]], plan.bins[-1].size
        each = len(trained.weights) // (2 * (1 + len(WIDTHS)))
        shares = columns.shares(plan.bins[-1].column)
        probs, weights, parts = [], [], np.array_split(np.arange(len(trained.weights)), each)
        for c in range(classes):
            drawn = Network.of([trained.weights[i] for i in parts[c if each > 1 else 0]], sizes, rng=rng)
            count = max(RETAINED // classes, 1)
            z = rng.standard_normal((count, HIDDEN))
            z[:, :CODE] = _codes(classes)[c]
            with torch.no_grad():
                rows = drawn.forward(torch.as_tensor(z, dtype=torch.float32)).double().numpy()
            probs.append(np.hstack([rows, np.tile(np.eye(classes)[c], (count, 1))]))
            weights.append(np.full(count, max(shares[c], 1e-9) / count))
        return columns.product(plan.bins, np.concatenate(probs), np.concatenate(weights))


@dataclass(frozen=True, kw_only=True, eq=False)
class Maker:
    """A network of rows as points: drawn rows times the groups' coordinates. ``codes``: of the labels, or None.

    Rows are nearly one-hot. Heads themselves are means of rows, and lie between real ones: where such points are
    nearest in the kernel's distance, rows drawn of them scatter further apart than the table's.
    """

    network: Network
    table: torch.Tensor
    codes: np.ndarray | None

    @property
    def parameters(self) -> list[torch.Tensor]:
        """What is trained."""
        return self.network.parameters

    def places(self, labels: np.ndarray) -> torch.Tensor:
        """Fresh points (n, d) of these labels, which stand as codes in the first numbers of the hidden draws."""
        z = self.network.hidden(len(labels))
        if self.codes is not None:
            z[:, :CODE] = torch.from_numpy(self.codes[labels]).float()
        return self.network.drawn(z, temperature=TEMPERATURE) @ self.table


def repulsion(field: Any, weight: torch.Tensor) -> torch.Tensor:
    """Gradient by each point of half the generated points' own kernel sums, ``weight`` (M,) each, (M, d)."""
    points, labels = field.points.detach().double(), field.labels()
    apart = points[:, None] - points
    square = apart.square().sum(2)
    slope = sum(torch.exp(-square / (2 * s**2)) / s**2 for s in field.scales) / len(field.scales)
    same = torch.from_numpy((labels[:, None] == labels).astype(float))
    return -((slope * same * weight)[..., None] * apart).sum(1)


class Rmsprop:
    """Hinton's running root mean square, in place."""

    def __init__(self, parameters: Sequence[torch.Tensor], *, rate: float) -> None:
        self.parameters, self.rate = list(parameters), rate
        self.squares = [torch.zeros_like(p) for p in self.parameters]

    def move(self, gradients: Sequence[torch.Tensor]) -> None:
        """One step against the gradients."""
        with torch.no_grad():
            for x, square, gradient in zip(self.parameters, self.squares, gradients, strict=True):
                square.mul_(FORGETS).addcmul_(gradient, gradient, value=1 - FORGETS)
                x.addcdiv_(gradient, square.sqrt().add_(LEAST), value=-self.rate)


def _shares(plan: Descent, base: Baseline) -> np.ndarray:
    """Released shares of the label's groups, (classes,); one where there is no label."""
    if plan.label is None:
        return np.ones(1)
    mass = np.maximum(base.columns.shares(plan.bins[-1].column), 1e-9)
    return mass / mass.sum()


def _codes(classes: int) -> np.ndarray:
    """A public code for each label, (classes, ``CODE``)."""
    rng = np.random.default_rng(PUBLIC_SEED)
    return rng.standard_normal((classes, CODE))
