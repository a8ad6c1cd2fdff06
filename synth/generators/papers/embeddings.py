"""Methods of one noisy mean embedding: DP-MERF and PEARL by random waves, DP-HP by polynomials, DP-NTK by gradients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import ClassVar, TypeVar

import numpy as np

from synth import questions
from synth.errors import UsageError
from synth.generators.base import Fit, Run, Setting
from synth.generators.core.mixture import SAFE
from synth.generators.core.oneways import ask_columns, spent_share
from synth.generators.core.product import Product
from synth.generators.method import SHARE, STEPS, Method, option
from synth.generators.papers.columns import Columns, OneWays, is_alone
from synth.generators.papers.descent import Distance, Options, Parts, fitted, real
from synth.lazy import special, torch

PURPOSE = "mean embedding"
PUBLIC_SEED = 20230925  # random features are public: anybody can draw them again
COMPONENTS, ENSEMBLES, FREQUENCIES, ORDER = (1, 2000), (1, 32), (1, 100_000), (1, 16)
POWER = 2 / 3  # tables of more features weigh more, by this power of their number

Features = questions.Tensors | questions.Fourier | questions.Gradients
Kind = TypeVar("Kind", bound=Features)


def public_rng() -> np.random.Generator:
    """Randomness that anybody can repeat: for features and points that are public."""
    return np.random.default_rng(PUBLIC_SEED)


def features_of(release: questions.EmbeddingRelease, kind: type[Kind]) -> Kind:
    """The feature map of a release, which must be of this kind. Errors: UsageError where another method made it."""
    features = release.question.features
    if not isinstance(features, kind):
        raise UsageError("the release's features are of another kind; fit it with the method that asked for it")
    return features


@dataclass(frozen=True, kw_only=True)
class OneEmbedding(Method):
    """One-way counts within ``oneway_share`` of mu**2, then one embedding of the rows with all the rest.

    ``components``, ``ensembles``, ``steps``: of the fit.
    """

    kind: ClassVar[type[Features]]
    reads: ClassVar[tuple[type, ...]] = (questions.CountsRelease, questions.EmbeddingRelease)
    oneway_share: float = option(0.3, *SHARE)
    components: int = option(100, *COMPONENTS)
    ensembles: int = option(1, *ENSEMBLES)
    steps: int = option(300, *STEPS)

    @abstractmethod
    def feature_map(self, one_ways: OneWays, left: float) -> Features | None:
        """The public feature map, from one-ways and the share ``left``; None where nothing is to be learnt."""

    @abstractmethod
    def distance(self, columns: Columns, release: questions.EmbeddingRelease, *, device: str) -> Distance:
        """How far a model's mean features are from the released ones."""

    def first(self, run: Run) -> tuple[list[questions.CountsRelease], float]:
        """One-way counts of all columns; what they leave of the budget, 0 where there is one column to learn."""
        alone = is_alone(run.setting.schema)
        share = SAFE if alone else SAFE * self.oneway_share
        counts = ask_columns(run.ask, run.setting, share=share, whole=alone)
        return counts, 0.0 if alone else SAFE * (1 - spent_share(counts, run.setting))

    def measure(self, run: Run) -> list[questions.Release]:
        """One-way counts, then the embedding with the rest of the budget. Errors: UsageError for a bad option."""
        self.check_options()
        run.progress(0.0)
        counts, left = self.first(run)
        releases: list[questions.Release] = [*counts]
        run.progress(0.3)
        made = self.feature_map(OneWays.of(counts, run.setting), left) if left > 0 else None
        if made is not None:
            sigma = run.setting.sigma(left, signed=not made.non_negative_inner)
            releases.append(run.ask(questions.Embedding(purpose=PURPOSE, features=made, sigma=sigma)))
        run.progress(1.0)
        return releases

    def fit(self, releases: Sequence[questions.Release], setting: Setting, how: Fit) -> Product:
        """The model whose mean features come closest to the released ones, up to their noise."""
        asked = next((r for r in releases if isinstance(r, questions.EmbeddingRelease)), None)
        one_ways = OneWays.of(releases, setting)
        if asked is None:
            return one_ways.independent()
        columns = one_ways.asked([b.bins for b in features_of(asked, self.kind).read])
        return fitted(columns, self.distance(columns, asked, device=how.device), self.fitting, how)

    @property
    def fitting(self) -> Options:
        """The options of the fit."""
        return Options(components=self.components, ensembles=self.ensembles, steps=self.steps)


# Random waves


SINGLES = 8  # frequencies of each column alone with the label, up to a quarter of all
WIDTHS = (0.03, 0.1, 0.3)  # of the Gaussian kernel of a number, in ranks: several bandwidths at once
WAVE_NOISE = 25.0  # a bin holds at least this many deviations of the embedding's noise
MAX_WEIGHT = 4.0  # no frequency weighs more than this many times the mean


@dataclass(frozen=True, kw_only=True)
class RandomWaves(OneEmbedding):
    """Random Fourier features: ``frequencies`` of them, each on ``order`` columns."""

    kind = questions.Fourier
    frequencies: int = option(2000, *FREQUENCIES)
    order: int = option(3, *ORDER)
    ensembles: int = option(2, *ENSEMBLES)

    def feature_map(self, one_ways: OneWays, left: float) -> questions.Fourier | None:
        """On bins that stand out of the noise."""
        columns = one_ways.merged(least=WAVE_NOISE * one_ways.setting.sigma(left, signed=True))
        return self.waves(columns) if len(columns.names) > 1 else None

    @abstractmethod
    def waves(self, columns: Columns) -> questions.Fourier:
        """The feature map on these columns."""

    def distance(self, columns: Columns, release: questions.EmbeddingRelease, *, device: str) -> Distance:
        """Squares over the noise's variance."""
        return FourierDistance(columns, release, device=device)


@dataclass(frozen=True, kw_only=True)
class DPMerf(RandomWaves):
    """DP-MERF (arXiv 2002.11603): class-conditional random Fourier embedding, released once.

    ``frequencies``: their number; ``order``: how many columns each one joins, besides the label. ``oneway_share``:
    part of mu**2 for one-way counts, which also give class weights and bins.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only; features are public or follow releases.
    """

    name = "dp_merf"
    summary = "random Fourier features of rows, class by class, noised once"

    def waves(self, columns: Columns) -> questions.Fourier:
        """Of all columns but the label, class by class."""
        return fourier(columns, columns.others, count=self.frequencies, order=self.order, label=columns.label)


@dataclass(frozen=True, kw_only=True)
class Pearl(RandomWaves):
    """PEARL (arXiv 2106.04590): characteristic function distance with adversarially weighted frequencies.

    ``frequencies``: their number; ``order``: how many columns each one joins, the target in every second.
    ``adversary``: how fast the adversary shifts weight to frequencies that the model misses by more than noise does;
    0 leaves all alike. ``oneway_share``: part of mu**2 for one-way counts.
    **Guarantee**: asks within ``setting.mu``; the adversary sees released values only, as ``fit`` does.
    """

    name = "pearl"
    summary = "characteristic function at random frequencies, noised once, weighed by an adversary"
    frequencies: int = option(3000, *FREQUENCIES)
    adversary: float = option(0.1, 0, 1)

    def waves(self, columns: Columns) -> questions.Fourier:
        """Of all columns alike, the label in every second."""
        names, label = columns.names, columns.label
        return fourier(columns, names, count=self.frequencies, order=self.order, label=None, favoured=label)

    def distance(self, columns: Columns, release: questions.EmbeddingRelease, *, device: str) -> Distance:
        """The distance at the frequencies that an adversary chooses."""
        return FourierDistance(columns, release, device=device, speed=self.adversary)


def fourier(
    columns: Columns,
    names: Sequence[str],
    *,
    count: int,
    order: int,
    label: str | None,
    favoured: str | None = None,
) -> questions.Fourier:
    """``count`` frequencies, each on a random set of ``order`` of the columns ``names``, times the label.

    A frequency gives every category a phase of its own, uniform on the circle: two rows' phases agree in
    expectation just where their categories do. A number's phase is its rank times a frequency of a mixture of Gaussian
    kernels; missing codes are ranked behind all numbers. So the features sample the kernel that averages, over sets of
    columns, products of delta and Gaussian kernels. With a label some frequencies look at one column only: in wide
    tables random sets would miss some columns' own relation. ``favoured``: a column that every second set holds.
    **Source**: random features, Rahimi and Recht 2007, Theorem 1 (Bochner); drawn with a public seed.
    """
    rng = public_rng()
    single = 0 if label is None else min(SINGLES * len(names), count // 4)
    sizes = np.where(np.arange(count) < single, 1, order)
    lot = rng.random((len(names), count))
    if favoured is not None:
        lot[list(names).index(favoured), ::2] = -1.0
    active = lot.argsort(0).argsort(0) < sizes
    blocks = []
    for name, used in zip(names, active, strict=True):
        if columns.is_number(name):
            phases = columns.ranks(name)[:, None] * (rng.standard_normal(count) / rng.choice(WIDTHS, count))
        else:
            phases = rng.uniform(0.0, 2 * np.pi, (columns.size(name), count))
        blocks.append(questions.Block(bins=columns.bins(name), table=np.where(used, phases, 0.0)))
    by = None if label is None else questions.Block.one_hot(columns.bins(label), weight=1.0)
    return questions.Fourier(blocks=tuple(blocks), label=by)


class FourierDistance(Distance):
    """Squared distance of random Fourier features: means of cos and sin of a row's phase, apart for each label.

    A component's expectation is a product over columns of sums p_j(g) exp(i phase_j(g)): exact and noiseless. Only
    columns in which a frequency has a phase are multiplied. With a ``speed`` an adversary moves the weights of
    frequencies, step by step, to where the misfit exceeds the noise: multiplicative weights, its best answers in the
    long run, within ``MAX_WEIGHT`` times the mean so that no frequency's noise is fitted. A misfit is a chi-squared of
    two degrees for the truth: twice its mean, four its variance.
    **Source**: min over models of max over weights, PEARL eq. 8; Freund and Schapire 1999 for the weights.
    """

    def __init__(
        self, columns: Columns, release: questions.EmbeddingRelease, *, device: str, speed: float = 0.0
    ) -> None:
        features = features_of(release, questions.Fourier)
        blocks, label = features.blocks, features.label
        self.columns, phases = [columns.at(b.bins.column) for b in blocks], [b.table for b in blocks]
        self.label = None if label is None else columns.at(label.bins.column)
        self.member = None if label is None else real(label.table, device)
        active = np.stack([np.any(p != 0, axis=0) for p in phases])
        used = [p[:, a] for p, a in zip(phases, active, strict=True)]
        self.cos, self.sin = [real(np.cos(p), device) for p in used], [real(np.sin(p), device) for p in used]
        # where each frequency's columns stand among all columns' active frequencies laid end to end, (slots, D); one
        # with fewer columns finds the place behind the last
        place = np.full(active.shape, active.sum())
        place[active] = np.arange(active.sum())
        place.sort(axis=0)
        self.slots = torch.as_tensor(place[: max(int(active.sum(0).max()), 1)], device=device)
        scale = sqrt(blocks[0].width) / columns.total
        values = release.values.reshape(features.labels, 2, blocks[0].width) * scale
        self.values, self.scale = real(values, device), 1 / (release.question.sigma * scale)
        self.weight, self.speed = torch.ones_like(self.values[0, 0]), speed
        self.score = torch.zeros_like(self.weight)

    @property
    def goal(self) -> float:
        """The number of released values, weighted: what noise alone makes."""
        return float(self.weight.sum()) * 2 * len(self.values)

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """One: means of the model's features, (E, L, 2, D)."""
        cos = self._factors(parts, self.cos, 1.0)
        sin = self._factors(parts, self.sin, 0.0)
        a, b = cos[0], sin[0]
        for c, d in zip(cos[1:], sin[1:], strict=True):
            a, b = a * c - b * d, a * d + b * c
        joint = share[..., None] * (1.0 if self.member is None else parts[self.label or 0] @ self.member)
        weighted = joint.transpose(1, 2)
        return [torch.stack([weighted @ a, weighted @ b], 2)]

    def _factors(self, parts: Parts, tables: Sequence[torch.Tensor], spare: float) -> list[torch.Tensor]:
        """For each slot the means (E, B, D) in the column that a frequency has there; ``spare`` where it has none."""
        means = [parts[j] @ table for j, table in zip(self.columns, tables, strict=True)]
        none = means[0].new_full((*means[0].shape[:2], 1), spare)
        whole = torch.cat([*means, none], -1)
        return [whole.index_select(-1, at) for at in self.slots]

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """Weighted squared errors of all frequencies, after the adversary's move: called once a step."""
        off = (means[0] - self.values) * self.scale
        misfits = off.square().sum((1, 2))  # of each frequency over noise variance, summed over its values, (E, D)
        if self.speed > 0:
            with torch.no_grad():
                self.score += self.speed * ((misfits.mean(0) - 2.0) / 2.0).clamp(-1.0, MAX_WEIGHT)
                self.score.mul_(1 - self.speed)
                grown = torch.exp(self.score.clamp(-MAX_WEIGHT, MAX_WEIGHT))
                self.weight = (grown * (len(grown) / grown.sum())).clamp_max(MAX_WEIGHT)
        return (misfits * self.weight).sum() / len(means[0])


# Tensor products


TABLE_NOISE = 1.5  # a bin of a category holds this many times the noise of the cells that it adds to a table
NUMBER_BINS = 200.0  # a number has at most this many bins; the polynomials make it smooth


@dataclass(frozen=True, kw_only=True)
class DPHP(OneEmbedding):
    """DP-HP (arXiv 2106.05042): Mehler's kernel by its Hermite features, released once.

    Sum kernel: every column times the label. Product kernel: ``pairs`` random pairs of columns (all where there are
    no more). ``degree``: of the polynomials; ``decay``: of Mehler's kernel, in (0, 1), its eigenvalues' ratio.
    ``sum_share``: part of the squared norm for the sum kernel. ``oneway_share``: part of mu**2 for one-way counts.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    """

    name = "dp_hp"
    summary = "Hermite polynomial features, sum and product kernels, noised once"
    kind = questions.Tensors
    degree: int = option(8, 1, 64)
    decay: float = option(0.8, 1e-3, 0.999)
    pairs: int = option(400, 1, 100_000)
    sum_share: float = option(0.3, *SHARE)
    oneway_share: float = option(0.33, *SHARE)
    components: int = option(64, *COMPONENTS)
    ensembles: int = option(4, *ENSEMBLES)

    def feature_map(self, one_ways: OneWays, left: float) -> questions.Tensors | None:
        """Terms of the sum kernel (columns, times the label) and of the product kernel (pairs)."""
        columns = self._columns(one_ways, left)
        if len(columns.names) < 2:
            return None
        blocks = {n: self._block(columns, n) for n in columns.names}
        label = () if columns.label is None else (columns.label,)
        singles = [(n, *label) for n in columns.others]
        doubles = some(list(combinations(columns.others, 2)), self.pairs)
        share = self.sum_share if doubles else 1.0
        return questions.Tensors(terms=(*terms(blocks, singles, share, 1e-9), *terms(blocks, doubles, 1 - share, 1e-9)))

    def distance(self, columns: Columns, release: questions.EmbeddingRelease, *, device: str) -> Distance:
        """Squares over the noise's variance, term by term."""
        return TensorDistance(columns, release, device=device)

    def _columns(self, one_ways: OneWays, left: float) -> Columns:
        """Bins of categories by the noise of a table; numbers finer."""
        setting, names = one_ways.setting, [n for n, h in one_ways.histograms.items() if len(h.mass) > 1]
        tables = min(len(names) * (len(names) - 1) / 2, self.pairs) or 1.0
        noise = setting.sigma(left, signed=True) * sqrt(tables / (1 - self.sum_share))
        made, fine = (
            one_ways.balanced(noise=noise, least=TABLE_NOISE),
            one_ways.merged(least=one_ways.total / NUMBER_BINS),
        )
        return one_ways.grouped(
            {
                n: fine.groups[n] if made.is_number(n) and n != setting.schema.target else g
                for n, g in made.groups.items()
            }
        )

    def _block(self, columns: Columns, name: str) -> questions.Block:
        """One-hot for categories and the label; Hermite features for numbers, at the normal scores of their bins."""
        if name == columns.label or not columns.is_number(name):
            return questions.Block.one_hot(columns.bins(name), weight=1.0)
        values = hermite(special.ndtri(columns.ranks(name)), degree=self.degree, decay=self.decay)
        return questions.Block(bins=columns.bins(name), table=values)


def hermite(x: np.ndarray, *, degree: int, decay: float) -> np.ndarray:
    """Features (n, degree + 1) of Mehler's kernel at x (n,): sqrt(decay^c) He_c(x) / sqrt(c!), norm at most one.

    The largest norm over the given points scales all of them: a public bound, since the points are.
    **Source**: Mehler's formula; DP-HP, arXiv 2106.05042, section 3.

    >>> hermite(np.array([0.0, 1.0]), degree=2, decay=0.5).shape
    (2, 3)
    """
    values = [np.ones_like(x), x]
    for c in range(1, degree):
        values.append((x * values[c] - sqrt(c) * values[c - 1]) / sqrt(c + 1))  # normalised polynomials
    table = np.stack(values[: degree + 1], 1) * decay ** (np.arange(degree + 1) / 2)
    return table / np.linalg.norm(table, axis=1).max()


def some(tables: list[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """All tables, or a public random choice of them where there are more."""
    if len(tables) <= most:
        return tables
    chosen = public_rng().permutation(len(tables))[:most]
    return [tables[i] for i in sorted(chosen)]


def terms(
    blocks: Mapping[str, questions.Block], tables: Sequence[tuple[str, ...]], share: float, spare: float
) -> list[questions.Term]:
    """Tensor products whose squared weights sum to ``share``, less a ``spare`` part; more features weigh more."""
    weight = np.array([np.prod([blocks[n].width for n in t]) ** POWER for t in tables])
    weight = np.sqrt(share * (1 - spare) * weight / weight.sum()) if len(tables) else weight
    return [
        questions.Term(blocks=tuple(blocks[n] for n in t), weight=float(w)) for t, w in zip(tables, weight, strict=True)
    ]


class TensorDistance(Distance):
    """Squared errors of all features over the noise's variance.

    A component's expected coordinates of a block are p_j @ table, those of a term the tensor product of its blocks'.
    Terms with the same first block are laid side by side: one matrix product for all of them.
    """

    def __init__(self, columns: Columns, release: questions.EmbeddingRelease, *, device: str):
        features, sigma = features_of(release, questions.Tensors), release.question.sigma
        self.count = features.dim
        self.tables: dict[int, tuple[int, torch.Tensor]] = {}
        sides: dict[int, list[tuple[questions.Term, np.ndarray]]] = {}
        for term, part in zip(features.terms, features.parts, strict=True):
            sides.setdefault(id(term.blocks[0]), []).append((term, release.values[part]))
            for block in term.blocks:
                name = block.bins.column
                first = np.unique(columns.groups[name], return_index=True)[1]
                table = real(block.table[block.bins.groups[first]], device)
                self.tables[id(block)] = columns.at(name), table
        self.sides = [[[id(b) for b in t.blocks] for t, _ in side] for side in sides.values()]
        self.values, self.scales = [], []
        for side in sides.values():
            tall = side[0][0].blocks[0].width
            self.values.append(real(np.hstack([v.reshape(tall, -1) for _, v in side]) / sigma, device))
            scale = [np.full(t.dim // tall, t.weight * columns.total / sigma) for t, _ in side]
            self.scales.append(real(np.concatenate(scale), device))

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """For each side its terms' expected features, (E, rows, others' columns)."""
        views = {key: parts[at] @ table for key, (at, table) in self.tables.items()}
        means = []
        for side in self.sides:
            right = torch.cat([_joint([views[k] for k in keys[1:]], share) for keys in side], -1)
            means.append((views[side[0][0]] * share[..., None]).transpose(1, 2) @ right)
        return means

    def errors(self, means: list[torch.Tensor]) -> list[torch.Tensor]:
        """Of all sides."""
        return [m * s - v for m, s, v in zip(means, self.scales, self.values, strict=True)]


def _joint(factors: list[torch.Tensor], share: torch.Tensor) -> torch.Tensor:
    """The tensor product (E, B, width) of no, one or two views."""
    if not factors:
        return torch.ones_like(share)[..., None]
    out = factors[0]
    for factor in factors[1:]:
        out = (out[..., :, None] * factor[..., None, :]).flatten(2)
    return out


# Gradients of a network


TINY = 1e-3  # size of the network's weights: its second layer's gradients, of that size, leave a row's norm alone
WAVES = (1.0, 8.0)  # least and greatest number of sign changes over the range of a number


@dataclass(frozen=True, kw_only=True)
class DPNTK(OneEmbedding):
    """DP-NTK (arXiv 2303.01687): features are a network's gradients at its random start, released once.

    The network has two layers; every hidden unit looks at ``order`` columns (odd) through weights of one size, so that
    it is active where most of them vote for it, and has a mirror that is active elsewhere. Then every row's gradient
    has the same norm, and a model's expected gradient is in closed form. ``features``: about how many numbers are
    released. ``least``: a bin holds this many deviations of their noise. ``oneway_share``: part of mu**2 for one-way
    counts.
    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only; the network is public.
    """

    name = "dp_ntk"
    summary = "gradients of a public random network (neural tangent features), noised once"
    kind = questions.Gradients
    features: int = option(20_000, 1, 1_000_000)
    order: int = option(3, *ORDER)
    least: float = option(50.0, 0, 1e6)

    def check_together(self) -> None:
        """Errors: UsageError where an even number of columns could be undecided."""
        if self.order % 2 == 0:
            raise UsageError(
                "`options.order={}`: {} needs an odd number, so that votes cannot tie", self.order, self.name
            )

    def feature_map(self, one_ways: OneWays, left: float) -> questions.Gradients | None:
        """Gradients of the public network: half of its units, then their mirrors."""
        columns = one_ways.merged(least=self.least * one_ways.setting.sigma(left))
        names, rng = columns.others, public_rng()
        if len(columns.names) < 2:
            return None
        label = None if columns.label is None else questions.Block.one_hot(columns.bins(columns.label), weight=1.0)
        blocks = [questions.Block.one_hot(columns.bins(n), weight=1 / sqrt(len(names))) for n in names]
        wide = sum(b.width for b in blocks) * (label.width if label else 1)
        half = max(self.features // (2 * wide), 1)
        order = self.order if len(names) >= self.order else 1
        active = rng.random((len(names), half)).argsort(0) < order
        parts = [used * _votes(columns, n, half, rng) for n, used in zip(names, active, strict=True)]
        weights = TINY * np.concatenate(parts)
        weights = np.concatenate([weights, -weights], axis=1).T
        return questions.Gradients(blocks=tuple(blocks), weights=weights, signs=np.ones(2 * half), label=label)

    def distance(self, columns: Columns, release: questions.EmbeddingRelease, *, device: str) -> Distance:
        """Squares over the noise's variance."""
        return GradientDistance(columns, release, device=device)


def _votes(columns: Columns, name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """A vote of 1 or -1 for each bin and unit, (G_j, count): free for categories, waves over a number's ranks."""
    if not columns.is_number(name):
        return rng.choice([-1.0, 1.0], (columns.size(name), count))
    waves = rng.uniform(*WAVES, count) * np.pi
    turn = np.cos(columns.ranks(name)[:, None] * waves + rng.uniform(0, 2 * np.pi, count))
    return np.where(turn > 0, 1.0, -1.0)


class GradientDistance(Distance):
    """Squared errors of the first layer's mean gradients over the noise's variance.

    A row's gradient at unit i is x 1[unit i active] over the constant norm. Given a component the columns are
    independent, so that P(active) and P(active | column in this bin) follow from the chances of its few votes.
    """

    def __init__(self, columns: Columns, release: questions.EmbeddingRelease, *, device: str):
        question = features_of(release, questions.Gradients)
        self.columns = [columns.at(b.bins.column) for b in question.blocks]
        self.label = None if question.label is None else columns.at(question.label.bins.column)
        labels, units = (question.label.width if question.label else 1), len(question.signs)
        cut = np.cumsum([b.width for b in question.blocks])[:-1]
        votes = np.split(question.weights, cut, axis=1)  # for each column (h, G_j)
        # Half of the units are active whatever the row, so that all rows' gradients have the same norm.
        norm = sqrt(units / 2 * sum(b.square for b in question.blocks))
        self.height = [sqrt(b.square) / norm * columns.total / release.question.sigma for b in question.blocks]
        wide = question.weights.shape[1]
        first = release.values.reshape(labels, -1)[:, : units * wide].reshape(labels, units, wide)
        self.values = [real(p, device) for p in np.split(first / release.question.sigma, cut, axis=2)]
        self.yes = [real((v > 0).T, device) for v in votes]  # (G_j, h)
        active = np.stack([np.any(v != 0, axis=1) for v in votes])  # (J, h)
        self.order = int(active.sum(0).max())
        self.slot = np.argsort(~active, axis=0, kind="stable")[: self.order]  # (order, h): columns of a unit
        self.at = torch.as_tensor(self.slot, device=device)
        self.count = sum(v.numel() for v in self.values)

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """For each column the units' expected gradients, (E, L, h, G_j), before their common norm."""
        chance = torch.stack([parts[j] @ yes for j, yes in zip(self.columns, self.yes, strict=True)])  # (J, E, B, h)
        votes = [torch.gather(chance, 0, at.expand(1, *chance.shape[1:]))[0] for at in self.at]
        alone = _majority(votes, 0, like=votes[0])
        joint = share[..., None] * (1.0 if self.label is None else parts[self.label])  # (E, B, L)
        results = []
        for place, j in enumerate(self.columns):
            expected = torch.einsum("ebl,ebh,ebg->elhg", joint, alone, parts[j])
            results.append(self._own(expected, place, joint, votes, parts[j]))
        return results

    def errors(self, means: list[torch.Tensor]) -> list[torch.Tensor]:
        """Of all columns."""
        return [m * height - v for m, height, v in zip(means, self.height, self.values, strict=True)]

    def _own(
        self, expected: torch.Tensor, place: int, joint: torch.Tensor, votes: list[torch.Tensor], part: torch.Tensor
    ) -> torch.Tensor:
        """The expectations at those units that this column votes in: given its bin, its vote is known."""
        for s in range(self.order):
            units = torch.as_tensor(np.flatnonzero(self.slot[s] == place), device=part.device)
            if len(units) == 0:
                continue
            others = [v.index_select(-1, units) for i, v in enumerate(votes) if i != s]
            yes = self.yes[place].index_select(1, units).T  # (u, g)
            like = votes[s].index_select(-1, units)
            chances = [_majority(others, vote, like=like) for vote in (1, -1)]
            both = [torch.einsum("ebl,ebu,ebg->elug", joint, chance, part) for chance in chances]
            expected = expected.index_copy(2, units, both[0] * yes + both[1] * (1 - yes))
        return expected


def _majority(votes: list[torch.Tensor], ahead: int, *, like: torch.Tensor) -> torch.Tensor:
    """The chance that more votes say yes than no, where ``ahead`` more have said yes already.

    ``votes``: each one's chance of a yes, independent of the others, shaped as ``like``.

    >>> half = torch.tensor(0.5)
    >>> float(_majority([half, half], 1, like=half)), float(_majority([], -1, like=half))
    (0.75, 0.0)
    """
    none = torch.zeros_like(like)
    law = {ahead: torch.ones_like(like)}
    for chance in votes:
        grown: dict[int, torch.Tensor] = {}
        for lead, mass in law.items():
            grown[lead + 1] = grown.get(lead + 1, none) + mass * chance
            grown[lead - 1] = grown.get(lead - 1, none) + mass * (1 - chance)
        law = grown
    return torch.stack([mass if lead > 0 else none for lead, mass in law.items()]).sum(0)
