"""`private_evolution`: candidates evolve by noisy counts of the rows that each is nearest to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth.generators.base import Fit, Run, Setting
from synth.generators.core.mixture import SAFE
from synth.generators.core.product import Product
from synth.generators.method import option
from synth.generators.papers.columns import Baseline, OneWays, taken
from synth.generators.papers.mlp import PUBLIC_SEED
from synth.generators.papers.training import WithOneWays
from synth.questions import CountsRelease, Nearest, NearestRelease, Release

PURPOSE = "nearest candidates"
UNIT = 1 << 12  # between two categories, and between the least and the greatest rank of a number
ABOVE = 2.0  # votes a candidate should have on average, in deviations of their noise: fewer candidates where fewer
FEWEST = 16  # candidates
NEIGHBOUR = 0.5  # of the changes of a number's group that go to the next one


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateEvolution(WithOneWays):
    """Public candidates, votes of rows for the nearest, and variations of those that many rows are near to.

    ``rounds``: of votes, each paid for; ``candidates``: in a round, at most, fewer where noise would drown them.
    ``variations``: of each that is kept. ``change``: part of a variation's columns that are drawn anew, in the first
    round; it falls to a fifth of that. ``blur``: part of a column in the model's rows that is drawn from the single
    column instead of the candidate. ``oneway_share``: part of mu**2 for one-way counts, from which candidates and
    changes are drawn; with 0 they are even. ``groups``: of a column, about.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    **Source**: Lin et al., arXiv 2305.15560, Algorithm 1; for tables: Swanberg et al., arXiv 2502.06555 (Tab-PE).
    """

    name = "private_evolution"
    barrier = "at the data, in each round's counts of votes"
    summary = "candidate rows evolve by noisy votes of the rows that are nearest to them"
    reads = (CountsRelease, NearestRelease)
    by_torch = False
    rounds: int = option(6, 1, 1000)
    candidates: int = option(3000, FEWEST, 1 << 16)
    variations: int = option(2, 1, 100)
    change: float = option(0.4, 0.01, 1)
    blur: float = option(0.1, 0, 1)
    groups: int = option(8, 2, 1000)

    def measure(self, run: Run) -> list[Release]:
        """One-ways, then a round of votes at a time; what candidates become is a function of the votes told."""
        base = Baseline.asked(run, share=self.oneway_share, groups=self.groups)
        releases: list[Release] = [*base.counts]
        if not base.bins:
            return releases
        sigma = run.setting.sigma((1 - taken(run.setting, share=self.oneway_share)) * SAFE / self.rounds)
        most = int(np.clip(base.rows / (ABOVE * sigma), FEWEST, self.candidates))
        people = Population(base, rng=np.random.default_rng(PUBLIC_SEED))
        now = people.fresh(most)
        for number in range(self.rounds):
            run.progress(number / self.rounds)
            asked = Nearest(purpose=PURPOSE, bins=base.bins, candidates=now, distances=people.distances, sigma=sigma)
            releases.append(released := run.ask(asked))
            parents = people.chosen(released, max(most // (1 + self.variations), 1))
            change = self.change * (1 - 0.8 * number / self.rounds)
            children = people.varied(np.repeat(parents, self.variations, axis=0), change)
            now = np.unique(np.concatenate([parents, children]), axis=0)
        run.progress(1.0)
        return releases

    def fit(self, releases: Sequence[Release], setting: Setting, how: Fit) -> Product:
        """The last round's candidates, weighted by their votes, each column blurred by its one-way."""
        one_ways = OneWays.of(releases, setting)
        released = next((r for r in reversed(releases) if isinstance(r, NearestRelease)), None)
        if released is None:
            return one_ways.independent()
        bins, weights = released.question.bins, votes(released)
        columns, voted = one_ways.asked(bins), weights > 0
        rows = [np.eye(b.size)[codes] for b, codes in zip(bins, released.question.candidates[voted].T, strict=True)]
        how.progress(1.0)
        probs = columns.blurred(bins, np.concatenate(rows, axis=1), blur=self.blur)
        return columns.product(bins, probs, weights[voted])


def votes(release: NearestRelease) -> np.ndarray:
    """Votes that stand out of their noise, the others zero; alike where none does.

    Privacy: released answers only.
    """
    estimates = np.where(release.values > release.question.sigma, release.values, 0).astype(float)
    return estimates if estimates.any() else np.ones(len(estimates))


class Population:
    """How candidates come about, all by public randomness and what was told of single columns.

    Privacy: released answers only.
    """

    def __init__(self, base: Baseline, *, rng: np.random.Generator) -> None:
        self.rng, self.sizes = rng, base.sizes
        self.shares = np.split(base.shares, np.cumsum(base.sizes)[:-1])
        names = [b.column for b in base.bins]
        self.numbers = np.array([base.columns.is_number(n) for n in names])
        ranks = [base.columns.ranks(n) for n in names]
        self.distances = tuple(
            np.rint(UNIT * np.abs(r[:, None] - r[None, :])).astype(np.int64)
            if number
            else UNIT * (1 - np.eye(len(r), dtype=np.int64))
            for r, number in zip(ranks, self.numbers, strict=True)
        )

    def fresh(self, count: int) -> np.ndarray:
        """Candidates (at most count, columns), columns independent, each once."""
        return np.unique(self._drawn(count), axis=0)

    def chosen(self, release: NearestRelease, count: int) -> np.ndarray:
        """Parents, as often as their votes deserve, each once."""
        weights = votes(release)
        picked = self.rng.choice(len(weights), size=count, p=weights / weights.sum())
        return release.question.candidates[np.unique(picked)]

    def varied(self, parents: np.ndarray, change: float) -> np.ndarray:
        """Each with this part of its columns drawn anew, a number's often to a neighbouring group; one at least."""
        places = self.rng.random(parents.shape)
        moves = (places < change) | (places == places.min(1, keepdims=True))
        step = parents + self.rng.choice([-1, 1], size=parents.shape)
        near = np.clip(step, 0, np.array(self.sizes) - 1)
        aside = self.numbers & (self.rng.random(parents.shape) < NEIGHBOUR)
        return np.where(moves, np.where(aside, near, self._drawn(len(parents))), parents)

    def _drawn(self, count: int) -> np.ndarray:
        return np.stack([self.rng.choice(len(s), size=count, p=s / s.sum()) for s in self.shares], axis=1)
