"""`private_evolution`: candidates evolve by noisy counts of the rows that each is nearest to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth.generators.base import Fit, Run, Setting
from synth.generators.gradients import common
from synth.generators.gradients.trained import WithOneWays
from synth.generators.marginals.mixture import SAFE
from synth.generators.method import NONE_OR_SHARE, option
from synth.generators.product_mixture.model import Product
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
    oneway_share: float = option(0.3, *NONE_OR_SHARE)
    groups: int = option(8, 2, 1000)

    def measure(self, run: Run) -> list[Release]:
        """One-ways, then a round of votes at a time; what candidates become is a function of the votes told."""
        ask, setting, progress = run.ask, run.setting, run.progress
        ground = common.begin(ask, setting, share=self.oneway_share, groups=self.groups)
        releases: list[Release] = [*ground.counts]
        if not ground.bins:
            return releases
        sigma = setting.sigma((1 - common.taken(setting, share=self.oneway_share)) * SAFE / self.rounds)
        most = int(np.clip(ground.rows / (ABOVE * sigma), FEWEST, self.candidates))
        people = Population(ground, rng=np.random.default_rng(common.PUBLIC_SEED))
        now = people.fresh(most)
        for number in range(self.rounds):
            progress(number / self.rounds)
            released = ask(
                Nearest(purpose=PURPOSE, bins=ground.bins, candidates=now, distances=people.distances, sigma=sigma)
            )
            releases.append(released)
            parents = people.chosen(released, max(most // (1 + self.variations), 1))
            change = self.change * (1 - 0.8 * number / self.rounds)
            children = people.varied(np.repeat(parents, self.variations, axis=0), change)
            now = np.unique(np.concatenate([parents, children]), axis=0)
        progress(1.0)
        return releases

    def fit(self, releases: Sequence[Release], setting: Setting, how: Fit) -> Product:
        """The last round's candidates, weighted by their votes, each column blurred by its one-way."""
        rng, progress = how.rng, how.progress
        del rng
        rounds = [r for r in releases if isinstance(r, NearestRelease)]
        if not rounds:
            return common.independent(releases, setting)
        released = rounds[-1]
        made = common.again(releases, setting, released.question.bins)
        weights = votes(released)
        retained, bins = weights > 0, released.question.bins
        rows = [np.eye(b.size)[codes] for b, codes in zip(bins, released.question.candidates[retained].T, strict=True)]
        progress(1.0)
        probs = common.blurred(made, bins, np.concatenate(rows, axis=1), blur=self.blur)
        return common.product(made, bins, probs, weights[retained])


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

    def __init__(self, ground: common.Ground, *, rng: np.random.Generator) -> None:
        self.rng, self.sizes = rng, ground.sizes
        self.shares = np.split(ground.shares, np.cumsum(ground.sizes)[:-1])
        names = [b.column for b in ground.bins]
        self.numbers = np.array([ground.columns.is_number(n) for n in names])
        ranks = [ground.columns.ranks(n) for n in names]
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
