"""`slicing`: noisy projections of rows, or of sums of random groups of rows, and a model fitted to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from synth.errors import UsageError
from synth.generators import mlp
from synth.generators.base import Ask, Fit, Run, Setting
from synth.generators.marginals import oneway_queries
from synth.generators.marginals.histogram import Histogram, estimate
from synth.generators.marginals.mixture import SAFE, axis, rake
from synth.generators.method import RATE, Method, option
from synth.generators.product_mixture.model import Product
from synth.generators.slices import encoding as slicing_encoding
from synth.generators.slices import moments as slicing_moments
from synth.generators.slices import network_model, training
from synth.generators.slices import oneway as slicing_oneway
from synth.generators.slices.divergence import DIVERGENCES, divergence
from synth.questions import Counts, CountsRelease, Encoding, Marginal, Release, Slices, SlicesRelease
from synth.questions.slices import DIRECTIONS, stretch
from synth.questions.slices import swap as swap_of
from synth.schema.table import Schema

PURPOSE = "slices"
ROWS = "rows"
ROWS_SHARE = 0.01  # of mu**2 for the row count, where it is private and nothing else tells it
LOSSES = ("moments", "characteristic", *DIVERGENCES)
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

    ``loss``: ``moments`` (second moments of the sums, fitted by a mixture), ``characteristic``, or an f-divergence of
    slices compared ``k`` at a time, by which a network is trained for ``steps`` (or ``epochs``, passes over the
    released rows, where that is above zero) with ``batch`` rows, Adam's ``learning_rate``, and ``ridge`` in the
    density ratio. ``groups``: ``auto``, ``records`` (the paper's: a sum for each record), or a number. ``rate``: each
    row enters with this probability, else as a zero row; with ``sample`` ``fixed``, so many rows are drawn without
    replacement, and the others leave nothing (the paper's Lemma 1, in the two forms that have a proof).
    ``form``: ``published``, training and model as the text has them (training.Form), by networks of ``hidden`` units
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

    def measure(self, run: Run) -> list[Release]:
        """One-ways and then sums of groups, on bins that these choose; or, with another encoding, slices alone."""
        ask, setting, progress = run.ask, run.setting, run.progress
        self.check_options()
        progress(0.0)
        releases = self._two(ask, setting) if self._encoding == "merged" else self._one(ask, setting)
        progress(1.0)
        return releases

    def fit(self, releases: Sequence[Release], setting: Setting, how: Fit) -> Product:
        """A mixture by moments, or a network's distributions, from any release of slices."""
        rng, device, progress = how.rng, how.device, how.progress
        self.check_options()
        counts = [r for r in releases if isinstance(r, CountsRelease)]
        slices = next((r for r in releases if isinstance(r, SlicesRelease)), None)
        total, histograms = _alone(counts, slices, setting)
        if slices is None:
            return _product(total, histograms, {}, np.ones(1))
        masses = masses_of(slices, histograms)
        if self.loss == "moments":
            weights, probs = self._moments(slices, masses, total, setting, rng=rng, device=device, progress=progress)
        else:
            made = self._network(slices, masses, total, rng=rng, device=device, progress=progress)
            probs = training.shares(made, rng=rng)
            weights = np.full(len(probs[0]), 1 / len(probs[0]))
        if any(r.question.purpose != ROWS for r in counts):
            probs = [rake(weights, p, m) for p, m in zip(probs, masses, strict=True)]
        progress(1.0)
        blocks = slices.question.encoding.blocks
        learnt = {b.bins.column: (b.bins.groups, p) for b, p in zip(blocks, probs, strict=True)}
        model = _product(total, histograms, learnt, weights)
        if self.form != "published":
            return model
        layers = [(w.detach().cpu().numpy(), b.detach().cpu().numpy()) for w, b in made.layers]
        return network_model.of(model, layers, list(learnt))

    def check_together(self) -> None:
        """Errors: UsageError for options that do not fit each other."""
        if self.loss == "moments" and self.directions != "rotation":
            raise UsageError(
                "option loss=moments: needs slices on a full rotation; leave directions alone, or choose "
                "loss characteristic or kl"
            )
        if self._encoding == "merged" and (self.groups == "records" or self.directions != "rotation"):
            raise UsageError("option encoding=merged: needs groups and a rotation; leave groups and directions alone")
        if self.rate < 1 and (self.loss == "moments" or self._encoding == "merged"):
            raise UsageError("option rate: sampled rows are for losses that train a network; choose loss kl, or rate 1")

        if self.oneway_share and self._encoding != "scaled":
            raise UsageError("option oneway_share: goes with encoding=scaled; encoding merged asks for one-ways itself")
        if self.oneway_share and self.rate < 1:
            raise UsageError("option rate: sampled rows need the whole budget; set oneway_share to 0, or rate to 1")
        if self.directions == "fixed" and self.rate < 1:
            raise UsageError("option directions=fixed: goes with all rows; set rate to 1, or directions to gaussian")
        self._check_published()

    def _check_published(self) -> None:
        """Errors: UsageError for what does not go with the published form, or its accounting."""
        if self.form == "published" and (
            self.loss in ("moments", "characteristic") or self.directions == "rotation" or self.oneway_share
        ):
            raise UsageError(
                "option form=published: trains on few directions and slices alone; choose loss kl and directions "
                "gaussian, and leave oneway_share alone"
            )
        if self.accounting != "exact" and self.directions != "gaussian":
            raise UsageError(
                f"option accounting={self.accounting}: is about Gaussian directions; set directions to gaussian"
            )

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
        return "binned" if self.loss in ("moments", "characteristic") else "scaled"

    def _two(self, ask: Ask, setting: Setting) -> list[Release]:
        """One-ways, then slices with what they leave of the budget."""
        alone = sum(c.cells > 1 for c in setting.schema.measured().values()) < 2
        share = SAFE if alone else float(np.clip(FIRST / setting.mu, LEAST_FIRST, MOST_FIRST))
        counts = oneway_queries.measure(ask, setting, share=share, whole=alone)
        if alone:
            return [*counts]
        total, histograms = estimate(counts, setting)
        left = SAFE * (1 - oneway_queries.spent(counts, setting))
        sigma = setting.sigma(left)
        encoding = slicing_encoding.merged(histograms, total, setting, sigma=sigma)
        masses = [np.bincount(b.bins.groups, weights=histograms[b.bins.column].mass) / total for b in encoding.blocks]
        signed = not encoding.non_negative
        sigma = setting.sigma(left, signed=signed)
        groups = self._number(total, encoding, masses, sigma)
        return [*counts, ask(Slices(purpose=PURPOSE, encoding=encoding, sigma=sigma, groups=groups))]

    def _one(self, ask: Ask, setting: Setting) -> list[Release]:
        """Slices of records or groups on public bins; a noisy row count first where none is public."""
        known = setting.public_rows
        records = self.needs_public_rows or (self.groups == "auto" and self.loss != "moments" and known is not None)
        if known is None and (records or not self.gaussian):
            raise UsageError(
                "options groups=records, directions=gaussian, rate and sample need a public row count: "
                "choose relation zero_out or replace_one"
            )
        counts, rows, result = self._first(ask, setting)
        spent = oneway_queries.spent(counts, setting)
        encoding = self._public(setting.schema, result)
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
        return [*counts, ask(question)]

    def _first(self, ask: Ask, setting: Setting) -> tuple[list[CountsRelease], float, Mapping[str, Histogram] | None]:
        """What is asked before the slices: one-ways where the options want them, a row count where none is public."""
        if self.oneway_share:
            counts = oneway_queries.measure(ask, setting, share=SAFE * self.oneway_share, whole=True)
            return counts, *estimate(counts, setting)
        if setting.public_rows is not None:
            return [], float(setting.public_rows), None
        count = ask(_rows(setting))
        return [count], float(count.values[0].sum()), None

    def _public(self, schema: Schema, histograms: Mapping[str, Histogram] | None) -> Encoding:
        """The encoding of one stage: on public bins, or on those of one-ways that were asked."""
        if self._encoding == "scaled":
            return slicing_encoding.scaled(schema, histograms)
        return slicing_encoding.binned(schema)

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
                f"`options.rate={self.rate:g}`: {error}; say `learn_share=0` or `options.rate=1`"
            ) from None

    def _number(self, rows: float, encoding: Encoding, masses: Sequence[np.ndarray], sigma: float) -> int:
        """Number of groups, from public quantities and noisy releases."""
        most = max(MOST_VALUES // encoding.dim, 1)
        if self.groups.isdecimal():
            if int(self.groups) > most:
                raise UsageError(f"`options.groups={self.groups}`: at most {most} for {encoding.dim} coordinates")
            return int(self.groups)
        size = SMALL_GROUP
        if self.loss == "moments":
            tables = [b.table for b in encoding.blocks]
            varies = sum(float(m @ (t**2).sum(1) - ((m @ t) ** 2).sum()) for t, m in zip(tables, masses, strict=True))
            size = GROWTH * sigma**2 * encoding.dim / max(varies, 1e-12)
        return int(np.clip(rows / max(size, 1.0), 1, most))

    def _moments(self, slices, masses, total, setting: Setting, *, rng, device, progress):
        """Whitened covariances, drawn to independence, and a mixture that has them."""
        if slices.directions is not None:
            raise UsageError("option loss 'moments': needs slices on a full rotation; choose characteristic or kl")
        if slices.question.rate < 1:
            raise UsageError("option loss 'moments': needs slices of all rows, not of a sample; choose kl")
        if len(slices.values) < slicing_moments.FEWEST:
            return np.ones(1), [m[None, :] for m in masses]
        result = slicing_moments.moments(slices, masses, total=total)
        if slices.question.groups is None:
            matrix = slicing_moments.thinned(result)
        else:
            held = np.array([b.bins.column == setting.schema.target for b in slices.question.encoding.blocks])
            matrix = slicing_moments.shrunk(result, (held[:, None] | held).astype(int))
        return slicing_moments.mixture(result, matrix, masses, rng=rng, device=device, progress=progress)

    def _network(self, slices, masses, total, *, rng, device, progress) -> mlp.Network:
        """A trained network."""
        return training.network(
            slices,
            masses,
            total=total,
            loss=self._loss(),
            k=self.k,
            batch=self.batch,
            steps=self._steps(slices),
            num_slices=self.num_slices,
            rate=self.learning_rate,
            form=training.Form(published=self.form == "published", hidden=int(self.hidden), layers=int(self.layers)),
            rng=rng,
            device=device,
            progress=progress,
        )

    def _loss(self) -> training.Distance | None:
        """What two sets of slices are compared by; None for characteristic functions."""
        if self.loss == "characteristic":
            return None
        return lambda real, made: divergence(real, made, kind=self.loss, ridge=self.ridge)

    def _steps(self, slices: SlicesRelease) -> int:
        """Steps of the training: as said, or those of ``epochs`` passes over the rows that were sampled."""
        if not self.epochs:
            return self.steps
        return self.epochs * ceil(slices.question.rate * len(slices.values) / self.batch)


def masses_of(slices: SlicesRelease, histograms: Mapping[str, Histogram]) -> list[np.ndarray]:
    """Estimated share of each bin, column by column."""
    out = []
    for block in slices.question.encoding.blocks:
        mass = np.bincount(block.bins.groups, weights=histograms[block.bins.column].mass, minlength=block.bins.size)
        out.append(mass / mass.sum())
    return out


def _rows(setting: Setting) -> Counts:
    """The number of rows: one column's positions in one bin."""
    name, column = next(iter(setting.schema.measured().items()))
    bins = slicing_oneway.one_bin(name, column.cells)
    return Counts(purpose=ROWS, marginals=(Marginal(bins=(bins,), sigma=setting.sigma(SAFE * ROWS_SHARE)),))


def _alone(
    counts: Sequence[CountsRelease], slices: SlicesRelease | None, setting: Setting
) -> tuple[float, dict[str, Histogram]]:
    """Row count and one-ways: from counts where these were asked, else from the slices."""
    if slices is None or any(r.question.purpose != ROWS for r in counts):
        return estimate(counts, setting)
    rows = float(setting.public_rows or len(slices.values))
    if counts:
        rows = float(counts[0].values[0].sum())
    return slicing_oneway.rows_and_histograms(slices, setting.schema, rows=rows)


def _product(total: float, histograms: Mapping[str, Histogram], learnt: Mapping, weights: np.ndarray) -> Product:
    """The mixture; columns that no slice shows are drawn by their one-ways."""
    axes = []
    for name, histogram in histograms.items():
        leaves = np.arange(len(histogram.mass))
        alone = np.repeat(histogram.mass[None, :] / histogram.mass.sum(), len(weights), 0)
        axes.append(axis(histogram, *learnt.get(name, (leaves, alone))))
    return Product(total=total, weights=weights, axes=tuple(axes))
