"""Random Fourier features of a table's columns: which kernel they sample, and the distance they make."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from synth.generators.embeddings.embedding import ColumnEstimates, features_of, public_rng
from synth.generators.embeddings.loss import FourierLoss
from synth.questions import Bins, Block, EmbeddingRelease, Fourier

SINGLES = 8  # frequencies of each column alone with the label, up to a quarter of all
WIDTHS = (0.03, 0.1, 0.3)  # of the Gaussian kernel of a number, in ranks: several bandwidths at once


def fourier(
    made: ColumnEstimates,
    names: Sequence[str],
    *,
    count: int,
    order: int,
    label: str | None,
    favoured: str | None = None,
) -> Fourier:
    """``count`` frequencies, each on a random set of ``order`` of the columns ``names``, times the label.

    A frequency gives every category a phase of its own, uniform on the circle: two rows' phases agree in
    expectation just where their categories do. A number's phase is its rank times a Gaussian frequency. So the
    features sample the kernel that averages, over sets of columns, products of delta and Gaussian kernels. With a
    label some frequencies look at one column only: in wide tables random sets would miss some columns' own relation.
    ``favoured``: a column that every second set holds.
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
        phases = _number(made.ranks(name), count, rng) if made.is_number(name) else _category(made, name, count, rng)
        blocks.append(Block(bins=made.bins(name), table=np.where(used, phases, 0.0)))
    by = None if label is None else Block.one_hot(made.bins(label), weight=1.0)
    return Fourier(blocks=tuple(blocks), label=by)


def _category(made: ColumnEstimates, name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.0, 2 * np.pi, (made.size(name), count))


def _number(ranks: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Frequencies of a mixture of Gaussian kernels; missing codes are ranked behind all numbers."""
    frequency = rng.standard_normal(count) / rng.choice(WIDTHS, count)
    return ranks[:, None] * frequency


def bins(release: EmbeddingRelease) -> list[Bins]:
    """The bins of all columns that a released embedding reads."""
    features = features_of(release, Fourier)
    return [b.bins for b in (*features.blocks, *([features.label] if features.label else []))]


def loss(made: ColumnEstimates, release: EmbeddingRelease, *, device: str) -> FourierLoss:
    """The whitened distance to a released embedding."""
    features = features_of(release, Fourier)
    width = features.blocks[0].width
    scale = sqrt(width) / made.total
    label = None if features.label is None else (made.at(features.label.bins.column), features.label.table)
    return FourierLoss(
        [made.at(b.bins.column) for b in features.blocks],
        [b.table for b in features.blocks],
        label,
        values(release) * scale,
        release.question.sigma * scale,
        device=device,
    )


def values(release: EmbeddingRelease) -> np.ndarray:
    """Released sums by label, cos or sin, and frequency, (L, 2, D)."""
    features = features_of(release, Fourier)
    labels = 1 if features.label is None else features.label.width
    return release.values.reshape(labels, 2, features.blocks[0].width)
