"""`private_evolution`: candidates evolve by noisy counts of the rows that each is nearest to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synth.generators.base import Fit, Run, Setting
from synth.generators.core.columns import is_even
from synth.generators.core.mixture import SAFE
from synth.generators.core.product import Product
from synth.generators.core.votes import UNIT, Places
from synth.generators.method import NONE_OR_SHARE, option
from synth.generators.papers.columns import Baseline, Columns, OneWays, taken
from synth.generators.papers.mlp import PUBLIC_SEED
from synth.generators.papers.training import WithOneWays
from synth.questions import Bins, CountsRelease, NearestRelease, Release
from synth.schema.table import Schema

ABOVE = 0.5  # votes a kept candidate should have on average, in deviations of their noise: fewer are kept where fewer
FEWEST = 16  # candidates
PARTS = 64  # of a number's range, about
REMEMBERED = 0.7  # part of a candidate's votes that counts in the next round too
FALL = 0.2  # changes fall by the rounds' share that is done, to this power
LAST = 1 / 50  # of the first round's change, about, in the last one


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateEvolution(WithOneWays):
    """Public candidates, votes of rows for the nearest, and variations of those that most rows are near to.

    ``rounds``: of votes, each paid for; ``candidates``: that are kept of a round, at most, fewer where noise would
    drown them. ``variations``: of each that is kept. ``change``: how far a variation lies in the first round: a number
    at most by this part of its range, and this part of the categories drawn anew; it falls round after round. ``blur``:
    part of a category in the model's rows that is drawn from the single column, and the part of its range in which a
    number lies about the candidate's; the target is the candidate's own. ``oneway_share``: part of mu**2 for one-way
    counts, from which candidates and categories are drawn; with 0 they are even. ``groups``: of a category, about.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    **Source**: Lin et al., arXiv 2305.15560, Algorithm 1; for tables: Swanberg et al., arXiv 2502.06555, and Tab-PE,
    arXiv 2606.08259.
    """

    name = "private_evolution"
    barrier = "at the data, in each round's counts of votes"
    summary = "candidate rows evolve by noisy votes of the rows that are nearest to them"
    reads = (CountsRelease, NearestRelease)
    by_torch = False
    oneway_share: float = option(0.2, *NONE_OR_SHARE)
    rounds: int = option(20, 1, 1000)
    candidates: int = option(700, FEWEST, 1 << 16)
    variations: int = option(2, 1, 100)
    change: float = option(0.5, 0.01, 1)
    blur: float = option(0.05, 0, 1)
    groups: int = option(8, 2, 1000)

    def measure(self, run: Run) -> list[Release]:
        """One-ways, then a round of votes at a time; what candidates become is a function of the votes told."""
        base = Baseline.asked(run, share=self.oneway_share, groups=self.groups)
        base = replace(base, columns=cut(base.columns))
        releases: list[Release] = [*base.counts]
        if not base.bins:
            return releases
        sigma = run.setting.sigma((1 - taken(run.setting, share=self.oneway_share)) * SAFE / self.rounds)
        people, told = Population(base, run.setting), list[NearestRelease]()
        now = people.fresh((1 + self.variations) * self.kept(base.rows, sigma))
        for number in range(self.rounds):
            run.progress(number / self.rounds)
            told.append(run.ask(people.places.question(now, sigma)))
            parents = best(told, self.kept(base.rows, sigma))
            change = self.change * max(1 - (number / self.rounds) ** FALL, LAST)
            children = people.varied(np.repeat(parents, self.variations, axis=0), change)
            now = np.unique(np.concatenate([parents, children]), axis=0)
        run.progress(1.0)
        return [*releases, *told]

    def kept(self, rows: float, sigma: float) -> int:
        """How many candidates votes with this noise can tell apart."""
        return int(np.clip(rows / (ABOVE * sigma), FEWEST, self.candidates))

    def fit(self, releases: Sequence[Release], setting: Setting, how: Fit) -> Product:
        """The last round's best candidates, weighted by the released shares of the target's values, and blurred."""
        one_ways = OneWays.of(releases, setting)
        told = [r for r in releases if isinstance(r, NearestRelease)]
        if not told:
            return one_ways.independent()
        bins, columns = told[-1].question.bins, one_ways.asked(told[-1].question.bins)
        last = best(told, self.kept(columns.total, told[-1].question.sigma))
        weights, parts = np.ones(len(last)), []
        places = Places.on(bins, setting.schema).places
        for own, b, at in zip(last.T, bins, places, strict=True):
            share, of_number = columns.shares(b.column), values(b, setting.schema)
            near, blur = np.eye(b.size), self.blur
            if of_number.any():
                near[of_number] = of_number & (np.abs(at - at.T) <= UNIT * self.blur)[of_number]
                near /= near.sum(1, keepdims=True)
            if b.column == setting.schema.target:
                blur = 0.0
                if not is_even(columns.histograms[b.column]):
                    weights = (np.maximum(share, 1e-9) / np.maximum(np.bincount(own, minlength=b.size), 1))[own]
            near = (1 - blur) * near + blur * share / share.sum()
            parts.append(near[own])
        how.progress(1.0)
        return columns.product(bins, np.concatenate(parts, axis=1), weights)


def values(bins: Bins, schema: Schema) -> np.ndarray:
    """Which bins hold a number's values, (size,): none of the target or of categories, and no missing codes."""
    column, of_number = schema.columns[bins.column], np.zeros(bins.size, dtype=bool)
    if column.is_numeric and bins.column != schema.target:
        of_number[bins.groups[bins.starts < column.size]] = True
    return of_number


def cut(columns: Columns) -> Columns:
    """Numbers in ``PARTS`` even parts of their ranges, about, and a part for each missing code."""
    groups, schema = dict(columns.groups), columns.setting.schema
    for name, histogram in columns.histograms.items():
        size = schema.columns[name].size
        if schema.columns[name].is_numeric and name != schema.target:
            middles = histogram.starts + (histogram.widths - 1) // 2
            part = np.where(middles < size, middles * PARTS // size, PARTS + middles)
            groups[name] = np.unique(part, return_inverse=True)[1].reshape(-1)
    return columns.grouped(groups)


def best(told: Sequence[NearestRelease], count: int) -> np.ndarray:
    """So many of the last round's candidates, at most, those with the most votes, earlier ones remembered.

    Privacy: released answers only.
    """
    scores: dict[bytes, float] = {}
    for release in told:
        rows = release.question.candidates
        names = [row.tobytes() for row in rows]
        scores = {n: v + REMEMBERED * scores.get(n, 0.0) for n, v in zip(names, release.values, strict=True)}
    return rows[np.argsort(-np.array(list(scores.values())), kind="stable")[:count]]


class Population:
    """How candidates come about, all by public randomness and what was told of single columns.

    Privacy: released answers only.
    """

    def __init__(self, base: Baseline, setting: Setting) -> None:
        self.rng = np.random.default_rng(PUBLIC_SEED)
        self.places = Places.on(base.bins, setting.schema)
        self.shares = np.split(base.shares, np.cumsum(base.sizes)[:-1])
        self.values = [values(b, setting.schema) for b in base.bins]
        self.target = [b.column == setting.schema.target for b in base.bins]

    def fresh(self, count: int) -> np.ndarray:
        """Candidates (at most count, columns), columns independent, each once."""
        return np.unique(np.stack([self._drawn(s, count) for s in self.shares], axis=1), axis=0)

    def varied(self, parents: np.ndarray, change: float) -> np.ndarray:
        """Each with its numbers moved by at most ``change`` of their range, and that part of its categories drawn anew.

        The target's value stays.
        """
        children = parents.copy()
        for i, own in enumerate(parents.T):
            if self.target[i]:
                continue
            anew = self.rng.random(len(own)) < change
            children[:, i] = np.where(anew, self._drawn(self.shares[i], len(own)), own)
            if self.values[i].any():
                at, found = self.places.places[i][:, 0], np.flatnonzero(self.values[i])
                order = found[np.argsort(at[found], kind="stable")]
                moved = at[own] + UNIT * self.rng.uniform(-change, change, len(own))
                nearest = order[np.searchsorted((at[order][1:] + at[order][:-1]) / 2, moved)]
                children[:, i] = np.where(self.values[i][own], nearest, children[:, i])
        return children

    def _drawn(self, shares: np.ndarray, count: int) -> np.ndarray:
        return self.rng.choice(len(shares), size=count, p=shares / shares.sum())
