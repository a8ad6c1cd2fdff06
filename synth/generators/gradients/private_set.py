"""`private_set`: a small set of soft rows that teaches a classifier what the table would, by noisy gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.generators.base import Ask, Progress
from synth.generators.gradients import common
from synth.generators.gradients.trained import Descending, mean_gradient
from synth.generators.method import NONE_OR_SHARE, RATE, STEPS, option
from synth.generators.mlp import Adam
from synth.generators.product_mixture.model import Product
from synth.lazy import Lazy
from synth.questions import CountsRelease, Descent, DescentRelease, TaughtRelease
from synth.questions.gradients import CLASSIFIER

if TYPE_CHECKING:
    import torch

    from synth.numeric import networks
else:
    torch, networks = Lazy("torch"), Lazy("synth.numeric.networks")

PURPOSE = "classifier"
SPREAD = 1.0  # deviation of the set's first scores around the one-ways


@dataclass(frozen=True, kw_only=True, eq=False)
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
    reads = (CountsRelease, DescentRelease)
    steps: int = option(300, *STEPS)
    rate: float = option(0.03, 1e-6, 1)
    clip: float = option(0.5, 1e-6, 1e6)
    rows: int = option(100, 1, 4096)
    hidden: int = option(32, 1, 4096)
    lesson: int = option(10, 1, 10_000)
    moves: int = option(5, 0, 1000)
    oneway_share: float = option(0.3, *NONE_OR_SHARE)
    groups: int = option(12, 2, 1000)
    set_rate: float = option(0.05, *RATE)
    classifier_rate: float = option(0.01, *RATE)

    network = CLASSIFIER
    purpose = PURPOSE

    def shape(self, ground: common.Ground) -> dict[str, Any]:
        """The target's place: the schema's, or the last column with more than one group."""
        names = [b.column for b in ground.bins]
        label = ground.columns.label
        return {"hidden": self.hidden, "latent": 0, "depth": names.index(label) if label else len(names) - 1}

    def descend(self, ask: Ask, plan: Descent, ground: common.Ground, progress: Progress) -> tuple[np.ndarray, ...]:
        """The set's scores (rows, groups). Randomness here is public (``PUBLIC_SEED``)."""
        rng = np.random.default_rng(common.PUBLIC_SEED)
        start = np.log(np.maximum(ground.shares, 1e-6)) + SPREAD * rng.standard_normal((self.rows, sum(plan.sizes)))
        scores = torch.from_numpy(start.astype(np.float32)).requires_grad_()
        held, judge = Adam([scores]), networks.of(plan)
        for number in range(plan.steps):
            progress(number / plan.steps)
            if number % self.lesson == 0:
                networks.start(judge, rng=rng)
                taught = Adam(list(judge.parameters()))
            real = mean_gradient(ask, plan, number, judge, rows=ground.rows)
            seen = gradients(judge, soft(scores, plan.sizes), graph=True)
            held.move(torch.autograd.grad(apart(seen, real), [scores]), rate=self.set_rate)
            rows = soft(scores.detach(), plan.sizes)
            for _ in range(self.moves):
                taught.move(gradients(judge, rows), rate=self.classifier_rate)
        return (scores.detach().numpy().copy(),)

    def mixture(
        self, trained: DescentRelease | TaughtRelease, made: common.embedding.ColumnEstimates, rng: np.random.Generator
    ) -> Product:
        """Each of the set's rows is a component. Errors: UsageError for the release of another training."""
        del rng
        plan = self.own(trained)
        probs = soft(torch.from_numpy(np.array(trained.weights[0])), plan.sizes).double().numpy()
        return common.product(made, plan.bins, probs)


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
