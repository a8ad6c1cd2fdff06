"""`dp_hp`: Hermite features of numbers, one-hot ones of categories, their sums and products, noised once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np

from synth.generators.base import Setting
from synth.generators.embeddings import embedding
from synth.generators.embeddings.embedding import ColumnEstimates, public_rng
from synth.generators.embeddings.fit import Loss
from synth.generators.embeddings.one_embedding import COMPONENTS, ENSEMBLES, OneEmbedding
from synth.generators.embeddings.tensor import TensorLoss
from synth.generators.marginals.histogram import Histogram
from synth.generators.method import SHARE, STEPS, option
from synth.lazy import Lazy
from synth.questions import Bins, Block, CountsRelease, EmbeddingRelease, Tensors, Term

special = Lazy("scipy.special")

BIN_NOISE = 1.5  # a bin of a category holds this many times the noise of the cells that it adds to a table
NUMBER_BINS = 200.0  # a number has at most this many bins; the polynomials make it smooth
POWER = 2 / 3


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
    reads = (CountsRelease, EmbeddingRelease)
    degree: int = option(8, 1, 64)
    decay: float = option(0.8, 1e-3, 0.999)
    pairs: int = option(400, 1, 100_000)
    sum_share: float = option(0.3, *SHARE)
    oneway_share: float = option(0.33, *SHARE)
    components: int = option(64, *COMPONENTS)
    ensembles: int = option(4, *ENSEMBLES)
    steps: int = option(300, *STEPS)
    back_end: str = option("mixture", *embedding.BACK_ENDS)

    def asked(self, total: float, histograms: Mapping[str, Histogram], setting: Setting, left: float) -> Tensors | None:
        """Features of the sum kernel and of the product kernel."""
        made = self._columns(total, histograms, setting, left)
        return self._features(made) if len(made.names) > 1 else None

    def bins_of(self, release: EmbeddingRelease) -> Sequence[Bins]:
        """Those of all terms."""
        return [b.bins for t in embedding.features_of(release, Tensors).terms for b in t.blocks]

    def distance(self, made: ColumnEstimates, release: EmbeddingRelease, *, device: str) -> Loss:
        """Squares over the noise's variance, term by term."""
        return TensorLoss(made, release, device=device)

    def _columns(
        self, total: float, histograms: Mapping[str, Histogram], setting: Setting, left: float
    ) -> ColumnEstimates:
        """Bins of categories by the noise of a table; numbers finer."""
        names = [n for n, h in histograms.items() if len(h.mass) > 1]
        tables = min(len(names) * (len(names) - 1) / 2, self.pairs) or 1.0
        noise = setting.sigma(left, signed=True) * sqrt(tables / (1 - self.sum_share))
        made = embedding.balanced(total, histograms, setting, noise=noise, least=BIN_NOISE)
        fine = embedding.columns(total, histograms, setting, least=total / NUMBER_BINS)
        groups = {
            n: fine.groups[n] if made.is_number(n) and n != setting.schema.target else g for n, g in made.groups.items()
        }
        return ColumnEstimates(total=total, histograms=histograms, groups=groups, setting=setting)

    def _features(self, made: ColumnEstimates) -> Tensors:
        """Terms of the sum kernel (columns, times the label) and of the product kernel (pairs)."""
        blocks = {n: self._block(made, n) for n in made.names}
        label = () if made.label is None else (made.label,)
        singles = [(n, *label) for n in made.others]
        doubles = list(combinations(made.others, 2))
        if len(doubles) > self.pairs:
            chosen = public_rng().permutation(len(doubles))[: self.pairs]
            doubles = [doubles[i] for i in sorted(chosen)]
        share = self.sum_share if doubles else 1.0
        return Tensors(terms=(*_terms(blocks, singles, share), *_terms(blocks, doubles, 1 - share)))

    def _block(self, made: ColumnEstimates, name: str) -> Block:
        """One-hot for categories and the label; Hermite features for numbers, at the normal scores of their bins."""
        if name == made.label or not made.is_number(name):
            return Block.one_hot(made.bins(name), weight=1.0)
        values = hermite(special.ndtri(made.ranks(name)), degree=self.degree, decay=self.decay)
        return Block(bins=made.bins(name), table=values)


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


def _terms(blocks: Mapping[str, Block], tables: Sequence[tuple[str, ...]], share: float) -> list[Term]:
    """Tensor products whose squared weights sum to ``share``; tables of more features weigh more."""
    weight = np.array([np.prod([blocks[n].width for n in t]) ** POWER for t in tables])
    weight = np.sqrt(share * (1 - 1e-9) * weight / weight.sum()) if len(tables) else weight
    return [Term(blocks=tuple(blocks[n] for n in t), weight=float(w)) for t, w in zip(tables, weight, strict=True)]
