"""What trained methods have in common: one-ways, then a training that asks at every step; the rest is free."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from synth.errors import UsageError
from synth.generators.base import Fit, Run, Setting
from synth.generators.core.product import Product
from synth.generators.method import NONE_OR_SHARE, SHARE, Between, Method, option
from synth.generators.papers.columns import Baseline, Columns, OneWays
from synth.generators.papers.mlp import RETAINED, Adam, Network, components
from synth.lazy import torch
from synth.numeric import networks
from synth.questions import DescentRelease, Release, TaughtRelease

if TYPE_CHECKING:
    import numpy as np

BATCH = 500  # generated rows of a generator's step


@dataclass(frozen=True, kw_only=True)
class WithOneWays(Method):
    """One-ways with ``oneway_share`` of mu**2, none where it is 0, in groups of which a column has about ``groups``."""

    oneway_share: float = option(0.3, *NONE_OR_SHARE)
    groups: int = option(20, 2, 1000)

    def check_together(self) -> None:
        """Errors: UsageError for a share too small to count anything by."""
        if self.oneway_share:
            self.check_option("oneway_share", Between(*SHARE), where="; 0 asks for no single columns")


class Trained(WithOneWays):
    """One-ways, then a training whose steps ask.

    ``outcome``: the kind of release that holds the trained weights; ``purpose``: of its question.
    """

    outcome: ClassVar[type[DescentRelease | TaughtRelease]]
    purpose: ClassVar[str]

    @property
    def takes_device(self) -> bool:
        """No: the curator sums rows' gradients exactly, which it can on a processor alone."""
        return False

    @abstractmethod
    def train(self, run: Run, base: Baseline) -> Release:
        """The whole training, whose steps ask. Randomness in it is public (``mlp.PUBLIC_SEED``)."""

    def measure(self, run: Run) -> list[Release]:
        """One-ways, then the whole training: each of its steps asks, what follows from the answers is free."""
        run.progress(0.0)
        base = Baseline.asked(run, share=self.oneway_share, groups=self.groups)
        releases: list[Release] = [*base.counts]
        if base.bins:
            with networks.one_thread():
                releases.append(self.train(run, base))
        run.progress(1.0)
        return releases

    def fit(self, releases: Sequence[Release], setting: Setting, how: Fit) -> Product:
        """The trained network at many draws of what it starts from, as a mixture.

        Errors: UsageError for the release of another training.
        """
        one_ways = OneWays.of(releases, setting)
        trained = next((r for r in releases if isinstance(r, self.outcome)), None)
        if trained is None:
            return one_ways.independent()
        if not self.own(trained.question):
            raise UsageError("the release is of another training; fit it with the method that asked for it")
        made = self.mixture(trained, one_ways.asked(trained.question.bins), how.rng)
        how.progress(1.0)
        return made

    @abstractmethod
    def own(self, question: Any) -> bool:
        """Whether a release's question is of this training."""

    def mixture(self, trained: Any, columns: Columns, rng: np.random.Generator) -> Product:
        """The trained generator's distributions at many hidden draws."""
        bins = trained.question.bins
        drawn = Network.of(trained.weights, [b.size for b in bins], rng=rng)
        return columns.product(bins, components(drawn, RETAINED, rng=rng))


def persuade(maker: Adam, critic: Any, drawn: Network, *, rate: float) -> None:
    """A step of the generator towards rows that the critic takes for real."""
    loss = torch.nn.functional.softplus(-critic(drawn.drawn(drawn.hidden(BATCH), hard=True))).mean()
    maker.move(torch.autograd.grad(loss, maker.parameters), rate=rate)
