"""`slicing` and `slice_wasserstein`: noisy projections of rows, or of sums of random groups of rows, and a model fitted
to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Fit, Run, Setting
from synth.generators.core.columns import Histogram, estimate_columns, merge
from synth.generators.core.mixture import SAFE, axis, rake
from synth.generators.core.oneways import ask_columns, spent_share, varying
from synth.generators.core.product import Product
from synth.generators.method import RATE, Method, option
from synth.generators.papers import slice_moments, slice_training
from synth.generators.papers.columns import is_alone, whole
from synth.generators.papers.slice_training import DIVERGENCES, NetworkModel, divergence, wasserstein
from synth.questions import Bins, Block, Counts, CountsRelease, Encoding, Marginal, Release, Slices, SlicesRelease
from synth.questions.slices import DIRECTIONS, stretch
from synth.questions.slices import swap as swap_of
from synth.schema.table import Column, Schema

if TYPE_CHECKING:
    import torch

PURPOSE = "slices"
ROWS = "rows"
ROWS_SHARE = 0.01  # of mu**2 for the row count, where it is private and nothing else tells it
LOSSES = ("moments", *DIVERGENCES)
SAMPLES, ACCOUNTINGS = ("zeros", "fixed"), ("exact", "theorem_1", "swd")
ENCODINGS = ("auto", "merged", "binned", "scaled")
FIRST, LEAST_FIRST, MOST_FIRST = 0.12, 0.1, 0.5  # share of the one-ways: FIRST / mu, within bounds
GROWTH = 0.25  # a group's rows against what makes the second moments' noise least; below it, sums are less alike
SMALL_GROUP = 8.0  # rows of a group whose sums a network imitates
LEAST_RATE = 0.01  # of sampled rows
MOST_VALUES = 1 << 26  # of one release: more groups than fit are not asked for


@dataclass(frozen=True, kw_only=True)
class Slicing(Method):
    """The slicing mechanism of arXiv 2410.19941, with grouped rows and two stages by default.

    ``loss``: ``moments`` (second moments of the sums, fitted by a mixture), or an f-divergence of
    slices compared ``k`` at a time, by which a network is trained for ``steps`` (or ``epochs``, passes over the
    released rows, where that is above zero) with ``batch`` rows, Adam's ``learning_rate``, and ``ridge`` in the
    density ratio. ``groups``: ``auto``, ``records`` (the paper's: a sum for each record), or a number. ``rate``: each
    row enters with this probability, else as a zero row; with ``sample`` ``fixed``, so many rows are drawn without
    replacement, and the others leave nothing (the paper's Lemma 1, in the two forms that have a proof).
    ``form``: ``published``, training and model as the text has them (``Training``), by networks of ``hidden`` units
    in ``layers`` layers. ``accounting``: ``theorem_1``, the noise that the published bound asks for, or ``swd``,
    DP-SWD's by its smooth sensitivity, where more.
    ``oneway_share``: part of the budget for counts of single columns beside slices of the ``scaled`` encoding, which
    then has these counts' bins; none by default (``merged`` asks for its own).
    ``directions``: ``rotation``; ``gaussian`` with ``num_slices`` (the text's m' = m k) of them; ``fixed``, public
    frames of k (its Proposition 3). ``encoding``: ``merged``, bins by noisy
    one-ways; ``binned``, one-hot on public bins; ``scaled``, the paper's; ``auto``, what suits loss and groups.
    **Guarantee**: asks within ``setting.mu``, or within its ``slice_sigma``; ``fit`` sees releases only.
    **Source**: arXiv 2410.19941: mechanism, Equation 3; losses, Equation 5; training, Algorithm 1.
    """

    name = "slicing"
    summary = "noisy random projections of rows or of sums of random groups; moments or a trained network"
    reads = (CountsRelease, SlicesRelease)
    loss: str = option("moments", *LOSSES)
    groups: str = option("auto", "auto", "records", most=MOST_VALUES)
    encoding: str = option("auto", *ENCODINGS)
    directions: str = option("rotation", *DIRECTIONS)
    num_slices: int = option(200, 1, 100_000)
    k: int = option(2, 1, 64)
    batch: int = option(128, 2, 1_000_000)
    steps: int = option(800, 0, 1_000_000)
    epochs: int = option(0, 0, 1_000_000)
    rate: float = option(1.0, LEAST_RATE, 1)
    sample: str = option("zeros", *SAMPLES)
    form: str = option("library", "library", "published")
    accounting: str = option("exact", *ACCOUNTINGS)
    hidden: int = option(256, 1, 4096)
    layers: int = option(2, 1, 16)
    oneway_share: float = option(0.0, 0, 0.99)
    ridge: float = option(1.0, 1e-9, 1e9)
    learning_rate: float = option(1e-3, *RATE)

    def check_together(self) -> None:
        """Errors: UsageError for options that do not fit each other."""
        turned, merging = self.directions == "rotation", self._encoding == "merged"
        if self.loss == "moments" and not turned:
            raise UsageError(
                "option loss=moments: needs slices on a full rotation; leave directions alone, or choose loss kl"
            )
        if merging and (self.groups == "records" or not turned):
            raise UsageError("option encoding=merged: needs groups and a rotation; leave groups and directions alone")
        if self.rate < 1 and (self.loss == "moments" or merging):
            raise UsageError("option rate: sampled rows are for losses that train a network; choose loss kl, or rate 1")
        if self.oneway_share and self._encoding != "scaled":
            raise UsageError(
                "option oneway_share: goes with encoding=scaled; encoding merged asks for single columns itself"
            )
        if self.oneway_share and self.rate < 1:
            raise UsageError("option rate: sampled rows need the whole budget; set oneway_share to 0, or rate to 1")
        if self.directions == "fixed" and self.rate < 1:
            raise UsageError("option directions=fixed: goes with all rows; set rate to 1, or directions to gaussian")
        if self.form == "published" and (self.loss == "moments" or turned or self.oneway_share):
            raise UsageError(
                "option form=published: trains on few directions and slices alone; choose loss kl and directions "
                "gaussian, and leave oneway_share alone"
            )
        if self.accounting != "exact" and self.directions != "gaussian":
            raise UsageError(
                "option accounting={}: is about Gaussian directions; set directions to gaussian", self.accounting
            )

    def measure(self, run: Run) -> list[Release]:
        """One-ways and then sums of groups, on bins that these choose; or, with another encoding, slices alone."""
        self.check_options()
        run.progress(0.0)
        releases = self._two(run) if self._encoding == "merged" else self._one(run)
        run.progress(1.0)
        return releases

    def fit(self, releases: Sequence[Release], setting: Setting, how: Fit) -> Product:
        """A mixture by moments, or a network's distributions, from any release of slices."""
        self.check_options()
        counts = [r for r in releases if isinstance(r, CountsRelease)]
        slices = next((r for r in releases if isinstance(r, SlicesRelease)), None)
        total, histograms = _alone(counts, slices, setting)
        if slices is None:
            return _product(total, histograms, {}, np.ones(1))
        blocks, made = slices.question.encoding.blocks, None
        shares = [np.bincount(b.bins.groups, histograms[b.bins.column].mass, minlength=b.bins.size) for b in blocks]
        masses = [m / m.sum() for m in shares]
        if self.loss == "moments":
            weights, probs = self._moments(slices, masses, total, setting, how)
        else:
            made = slice_training.network(slices, masses, total, self._training(slices), how)
            probs = slice_training.shares(made, rng=how.rng)
            weights = np.full(len(probs[0]), 1 / len(probs[0]))
        if any(r.question.purpose != ROWS for r in counts):
            probs = [rake(weights, p, m) for p, m in zip(probs, masses, strict=True)]
        how.progress(1.0)
        learnt = {b.bins.column: (b.bins.groups, p) for b, p in zip(blocks, probs, strict=True)}
        model = _product(total, histograms, learnt, weights)
        if made is None or self.form != "published":
            return model
        layers = [(w.detach().cpu().numpy(), b.detach().cpu().numpy()) for w, b in made.layers]
        return NetworkModel.of(model, layers, list(learnt))

    @property
    def needs_public_rows(self) -> bool:
        """Whether the options ask for one sum for each record, which tells how many there are."""
        return self.groups == "records" or self._drawn

    @property
    def gaussian(self) -> bool:
        """Whether all questions are Gaussian, so that the run has a mu."""
        return self.directions != "gaussian" and self.rate == 1

    @property
    def _drawn(self) -> bool:
        """Whether rows are drawn without replacement."""
        return self.sample == "fixed" and self.rate < 1

    @property
    def _encoding(self) -> str:
        if self.encoding != "auto":
            return self.encoding
        if self.loss == "moments" and self.groups != "records" and self.directions == "rotation":
            return "merged"
        return "binned" if self.loss == "moments" else "scaled"

    def _two(self, run: Run) -> list[Release]:
        """One-ways, then slices with what they leave of the budget."""
        ask, setting, alone = run.ask, run.setting, is_alone(run.setting.schema)
        share = SAFE if alone else float(np.clip(FIRST / setting.mu, LEAST_FIRST, MOST_FIRST))
        counts = ask_columns(ask, setting, share=share, whole=alone)
        if alone:
            return [*counts]
        columns = estimate_columns(counts, setting)
        total, histograms = columns.total, columns.histograms
        left = SAFE * (1 - spent_share(counts, setting))
        sigma = setting.sigma(left)
        encoding = merged(histograms, total, setting, sigma=sigma)
        masses = [np.bincount(b.bins.groups, weights=histograms[b.bins.column].mass) / total for b in encoding.blocks]
        signed = not encoding.non_negative
        sigma = setting.sigma(left, signed=signed)
        groups = self._number(total, encoding, masses, sigma)
        return [*counts, ask(Slices(purpose=PURPOSE, encoding=encoding, sigma=sigma, groups=groups))]

    def _one(self, run: Run) -> list[Release]:
        """Slices of records or groups on public bins; a noisy row count first where none is public."""
        setting, known = run.setting, run.setting.public_rows
        records = self.needs_public_rows or (self.groups == "auto" and self.loss != "moments" and known is not None)
        if known is None and (records or not self.gaussian):
            raise UsageError(
                "options groups=records, directions=gaussian, rate and sample need a public row count: "
                "choose relation zero_out or replace_one"
            )
        counts, rows, histograms = self._first(run)
        spent = spent_share(counts, setting)
        encoding = binned(setting.schema)
        if self._encoding == "scaled":
            encoding = scaled(setting.schema, histograms)
        drawn = (max(round(self.rate * known), 1), known) if self._drawn and known else None
        sampled = {"rate": self.rate, "swap": 0.0}
        if drawn:
            sampled = {"rate": drawn[0] / drawn[1], "swap": swap_of(encoding) / setting.sensitivity}
        number = self.num_slices if self.directions != "rotation" else None
        sigma = self._sigma(setting, encoding, spent, **sampled)
        masses = [np.full(b.bins.size, 1 / b.bins.size) for b in encoding.blocks]
        question = Slices(
            purpose=PURPOSE,
            encoding=encoding,
            sigma=sigma,
            directions=self.directions,
            rate=1.0 if drawn else self.rate,
            drawn=drawn,
            k=self.k if self.directions == "fixed" else 1,
            groups=None if records else self._number(max(rows, 1.0), encoding, masses, sigma),
            num_slices=number,
        )
        return [*counts, run.ask(question)]

    def _first(self, run: Run) -> tuple[list[CountsRelease], float, Mapping[str, Histogram] | None]:
        """What is asked before the slices: one-ways where the options want them, a row count where none is public."""
        setting = run.setting
        if self.oneway_share:
            counts = ask_columns(run.ask, setting, share=SAFE * self.oneway_share, whole=True)
            columns = estimate_columns(counts, setting)
            return counts, columns.total, columns.histograms
        if setting.public_rows is not None:
            return [], float(setting.public_rows), None
        rows = Marginal(bins=(whole(setting.schema),), sigma=setting.sigma(SAFE * ROWS_SHARE))
        count = run.ask(Counts(purpose=ROWS, marginals=(rows,)))
        return [count], float(count.values[0].sum()), None

    def _sigma(self, setting: Setting, encoding: Encoding, spent: float, *, rate: float, swap: float) -> float:
        """Noise of slices that with ``spent``, the share of mu squared that counts took, take the whole budget."""
        if self.gaussian:
            turned = self.directions == "fixed"
            return setting.sigma(SAFE * (1 - spent)) * (stretch(encoding.dim, self.num_slices, self.k) if turned else 1)
        if setting.slice_sigma is None:
            raise UsageError("options directions=gaussian and rate need the whole budget of a run; say `learn_share=0`")
        drawn = self.num_slices if self.directions == "gaussian" else encoding.dim
        try:
            return setting.slice_sigma(
                dim=encoding.dim,
                num_slices=drawn,
                directions=self.directions,
                rate=rate,
                swap=swap,
                accounting=self.accounting,
                mu_elsewhere=setting.mu * sqrt(spent),
            )
        except ValueError as error:
            raise UsageError(
                "`options.rate={:g}`: {}; say `learn_share=0` or `options.rate=1`", self.rate, error
            ) from None

    def _number(self, rows: float, encoding: Encoding, masses: Sequence[np.ndarray], sigma: float) -> int:
        """Number of groups, from public quantities and noisy releases."""
        most = max(MOST_VALUES // encoding.dim, 1)
        if self.groups.isdecimal():
            if int(self.groups) > most:
                raise UsageError("`options.groups={}`: at most {} for {} coordinates", self.groups, most, encoding.dim)
            return int(self.groups)
        size = SMALL_GROUP
        if self.loss == "moments":
            tables = [b.table for b in encoding.blocks]
            varies = sum(float(m @ (t**2).sum(1) - ((m @ t) ** 2).sum()) for t, m in zip(tables, masses, strict=True))
            size = GROWTH * sigma**2 * encoding.dim / max(varies, 1e-12)
        return int(np.clip(rows / max(size, 1.0), 1, most))

    def _moments(
        self, slices: SlicesRelease, masses: list[np.ndarray], total: float, setting: Setting, how: Fit
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Whitened covariances, drawn to independence, and a mixture that has them."""
        if slices.directions is not None:
            raise UsageError("option loss 'moments': needs slices on a full rotation; choose kl")
        if slices.question.rate < 1:
            raise UsageError("option loss 'moments': needs slices of all rows, not of a sample; choose kl")
        if len(slices.values) < slice_moments.FEWEST:
            return np.ones(1), [m[None, :] for m in masses]
        result = slice_moments.moments(slices, masses, total=total)
        if slices.question.groups is None:
            matrix = slice_moments.thinned(result)
        else:
            target = np.array([b.bins.column == setting.schema.target for b in slices.question.encoding.blocks])
            matrix = slice_moments.shrunk(result, (target[:, None] | target).astype(int))
        return slice_moments.mixture(result, matrix, masses, how)

    def _training(self, slices: SlicesRelease) -> slice_training.Training:
        """How a network is trained: as many steps as said, or those of ``epochs`` passes over the sampled rows."""
        steps = self.epochs * ceil(slices.question.rate * len(slices.values) / self.batch)
        return slice_training.Training(
            distance=self._distance,
            k=self.k,
            batch=self.batch,
            steps=steps if self.epochs else self.steps,
            num_slices=self.num_slices,
            rate=self.learning_rate,
            published=self.form == "published",
            hidden=int(self.hidden),
            layers=int(self.layers),
        )

    def _distance(self, real: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
        """What two sets of slices are compared by."""
        return divergence(real, made, kind=self.loss, ridge=self.ridge)


@dataclass(frozen=True, kw_only=True)
class SliceWasserstein(Slicing):
    """As `slicing` with a network, one slice at a time, compared by sorting.

    **Guarantee**: asks within ``setting.mu``; ``fit`` sees releases only.
    **Source**: arXiv 2410.19941 (its baseline SliceWass); DP-SWD, arXiv 2107.01848.
    """

    name = "slice_wasserstein"
    summary = "noisy random projections, a network trained by their sorted one-dimensional distances"
    loss: str = option("wasserstein", "wasserstein")
    k: int = option(1, 1, 1)

    def _distance(self, real: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
        return wasserstein(real, made)


def _alone(
    counts: Sequence[CountsRelease], slices: SlicesRelease | None, setting: Setting
) -> tuple[float, Mapping[str, Histogram]]:
    """Row count and one-ways: from counts where these were asked, else from the slices."""
    if slices is None or any(r.question.purpose != ROWS for r in counts):
        columns = estimate_columns(counts, setting)
        return columns.total, columns.histograms
    rows = float(setting.public_rows or len(slices.values))
    if counts:
        rows = float(counts[0].values[0].sum())
    return slice_moments.rows_and_histograms(slices, setting.schema, rows=rows)


def _product(total: float, histograms: Mapping[str, Histogram], learnt: Mapping, weights: np.ndarray) -> Product:
    """The mixture; columns that no slice shows are drawn by their one-ways."""
    axes = []
    for name, histogram in histograms.items():
        leaves = np.arange(len(histogram.mass))
        alone = np.repeat(histogram.mass[None, :] / histogram.mass.sum(), len(weights), 0)
        axes.append(axis(histogram, *learnt.get(name, (leaves, alone))))
    return Product(total=total, weights=weights, axes=tuple(axes))


# What is sliced: rows as vectors, on bins chosen from public facts or from earlier releases


TARGET = 2.0  # weight of the target's coordinates, against 1
COARSE, COARSEST = 1.4, 0.45  # a bin's least share of the rows grows with the root of the noise, up to a half
FEW = 4  # a column of so many bins is encoded by the corners of a simplex, which lie further apart than axes do
MOST_BINS = 24  # public bins of a column where nothing has been measured yet
MOST_STEPS = 100  # public bins of a number that has one coordinate
EMPTY = 1e-9


def weights(names: list[str], target: str | None, *, boost: float = TARGET) -> dict[str, float]:
    """Norm of each column's coordinates; their squares sum to one, but for rounding downwards."""
    plain = np.array([boost if n == target else 1.0 for n in names])
    return dict(zip(names, (plain / sqrt(float(plain @ plain)) * (1 - EMPTY)).tolist(), strict=True))


def merged(histograms: Mapping[str, Histogram], total: float, setting: Setting, *, sigma: float) -> Encoding:
    """Bins merged by the noisy one-ways until they stand out of noise of ``sigma``: the encoding of two stages."""
    names = [n for n, h in histograms.items() if len(h.mass) > 1]
    weight = weights(names, setting.schema.target)
    noise = sigma * sqrt(len(names)) / sqrt(total)
    least = min(COARSE * sqrt(noise), COARSEST) * total
    simplex = 0 < setting.signed <= setting.sensitivity
    blocks = []
    for name in names:
        groups = _halved(histograms[name].mass, merge(histograms[name].mass, least=least))
        bins = Bins(column=name, cells=histograms[name].cells, starts=histograms[name].starts, groups=groups)
        corners = simplex and bins.size <= FEW
        blocks.append(Block(bins=bins, table=weight[name] * (_simplex(bins.size) if corners else np.eye(bins.size))))
    return Encoding(blocks=tuple(blocks))


def _halved(mass: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The groups, or two halves where all leaves had fallen into one."""
    if groups.max() > 0:
        return groups
    below = np.cumsum(mass) <= mass.sum() / 2
    return (~below).astype(np.int64) if 0 < below.sum() < len(mass) else (np.arange(len(mass)) > 0).astype(np.int64)


def _simplex(corners: int) -> np.ndarray:
    """Corners of a regular simplex around zero, (b, b - 1), each of norm one: sqrt(b/(b-1)) times further apart than
    the ends of unit axes.

    >>> _simplex(2).round(6).ravel().tolist() in ([1.0, -1.0], [-1.0, 1.0])
    True
    """
    centred = np.eye(corners) - 1 / corners
    basis = np.linalg.svd(centred)[0][:, : corners - 1]
    return centred @ basis / sqrt(1 - 1 / corners) * (1 - EMPTY)


def binned(schema: Schema) -> Encoding:
    """One-hot on public bins: values in order, cut into at most ``MOST_BINS`` equal parts; missing codes alone."""
    columns = varying(schema)
    weight = weights(list(columns), schema.target)
    blocks = [Block.one_hot(_parts(n, c, MOST_BINS), weight=weight[n]) for n, c in columns.items()]
    return Encoding(blocks=tuple(blocks))


def scaled(schema: Schema, histograms: Mapping[str, Histogram] | None = None) -> Encoding:
    """As the published algorithm has it: categories one-hot, a number one coordinate in [0, 1], equal weights.

    ``histograms``: one-ways that were asked before; bins are then their leaves.
    """
    columns = varying(schema)
    weight = weights(list(columns), None)
    blocks = []
    for name, column in columns.items():
        if histograms is not None:
            starts = histograms[name].starts
            bins = Bins(column=name, cells=column.cells, starts=starts, groups=np.arange(len(starts)))
        else:
            bins = _parts(name, column, MOST_STEPS if column.is_numeric else column.cells)
        table = _line(bins, column) if column.is_numeric else np.eye(bins.size)
        blocks.append(Block(bins=bins, table=weight[name] * table))
    return Encoding(blocks=tuple(blocks))


def _parts(name: str, column: Column, most: int) -> Bins:
    starts = np.arange(min(most, column.size)) * column.size // min(most, column.size)
    starts = np.concatenate([starts, np.arange(column.size, column.cells)])
    return Bins(column=name, cells=column.cells, starts=starts, groups=np.arange(len(starts)))


def _line(bins: Bins, column: Column) -> np.ndarray:
    """The bins' places on [0, 1], and a coordinate for each missing code."""
    inner = int((bins.starts < column.size).sum())
    codes = bins.size - inner
    table = np.zeros((bins.size, 1 + codes))
    middle = bins.starts[:inner] + (bins.widths[:inner] - 1) / 2
    table[:inner, 0] = middle / max(column.size - 1, 1)
    table[inner:, 1:] = np.eye(codes)
    return table
