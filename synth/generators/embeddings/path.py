"""The functional release: one sample path of a Gaussian process around the rows' kernel sum, told at chosen points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Ask, Progress
from synth.generators.embeddings import embedding, gaussian
from synth.generators.embeddings.embedding import ColumnEstimates, public_rng
from synth.generators.embeddings.fit import Distance, Loss, Movable, OneWays, Options, Parts, Sum, descend, real
from synth.generators.product_mixture.model import Product
from synth.lazy import Lazy
from synth.questions import FunctionalQuery, FunctionalRelease, GaussianKernel, ProductKernel

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")
linalg = Lazy("scipy.linalg")

NAME = "kernel sum"
NUGGET = 1e-3
WIDTH = 0.1  # of a number's Gaussian kernel, in ranks
ROUNDS = 4  # of asking: first public points, then points drawn from the model of the moment
ROUND_STEPS = 100


def kernel(made: ColumnEstimates, *, rho: float, label_rho: float) -> ProductKernel:
    """Product over columns of rho + (1 - rho) kappa: delta for categories, half of it Gaussian in rank for numbers.

    The nearer rho is to one the more the kernel looks at few columns at a time. ``label_rho``: the label's own; at
    zero the kernel is conditional, k(x, w) 1[same label].
    """
    bins, tables = [], []
    for name in made.names:
        same = np.eye(made.size(name))
        if made.is_number(name):
            apart = made.ranks(name)[:, None] - made.ranks(name)
            same = 0.5 * same + 0.5 * np.exp(-((apart / WIDTH) ** 2) / 2)
        floor = label_rho if name == made.label else rho
        table = floor + (1 - floor) * same
        np.fill_diagonal(table, 1.0)
        bins.append(made.bins(name))
        tables.append((table + table.T) / 2)
    return ProductKernel(bins=tuple(bins), tables=tuple(tables))


def measure(
    ask: Ask,
    made: ColumnEstimates,
    *,
    sigma: float,
    asks: ProductKernel | GaussianKernel,
    anchors: int,
    options: Options,
    progress: Progress,
    gradients: bool = False,
) -> list[FunctionalRelease]:
    """Asks for ``anchors`` numbers of the path in rounds; after the first each round's points come from a model.

    A number is a value, or with ``gradients`` a coordinate of the gradient at the point, too.

    **Guarantee**: the whole path costs one Gaussian mechanism; points are public or follow earlier answers; all
    randomness of this phase comes from a public seed.
    """
    rng = public_rng()
    model = embedding.alone(made)
    state = None
    releases: list[FunctionalRelease] = []
    each = 1 + asks.smooth * gradients
    seen: np.ndarray | None = None
    for step in range(min(ROUNDS, max(anchors // each, 1))):
        count = max(anchors // ROUNDS // each, 1)
        points = _first(asks, model, count, rng) if seen is None else _fresh(asks, model, seen, count, rng)
        if not len(points):
            break
        seen = points if seen is None else np.vstack([seen, points])
        query = FunctionalQuery(
            name=NAME,
            purpose=embedding.PURPOSE,
            kernel=asks,
            sigma=sigma,
            nugget=NUGGET,
            points=points,
            gradients=gradients,
        )
        releases.append(ask(query))
        progress((step + 0.5) / ROUNDS)
        if step < ROUNDS - 1:
            state = state or embedding.start(made, options, back_end="mixture", rng=rng, device="cpu")
            _move(state, made, distance(made, releases, device="cpu"), options)
            model = embedding.model(made, *state.arrays())
    return releases


def _move(state: Movable, made: ColumnEstimates, loss: Loss, options: Options) -> None:
    whole = Sum(loss, OneWays(made.mass, made.precision, device="cpu"))
    descend(state, whole, options, progress=lambda _: None)


def distance(made: ColumnEstimates, releases: Sequence[FunctionalRelease], *, device: str) -> Loss:
    """The loss that goes with the path's kernel."""
    smooth = isinstance(releases[0].question.kernel, GaussianKernel)
    return (gaussian.GaussianLoss if smooth else FunctionalLoss)(made, releases, device=device)


def _first(asks: ProductKernel | GaussianKernel, model: Product, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points of the first round, each once: of codes uniform ones, of vectors rows of independent columns.

    Classes take turns, so that each is told as much of as any other.
    """
    if isinstance(asks, GaussianKernel):
        drawn = asks.points(model.sample(count, rng=rng))
        if asks.label is not None:
            drawn[:, -1] = np.arange(count) % asks.label.size
        return np.unique(drawn, axis=0)
    drawn = np.column_stack([rng.integers(0, b.size, count) for b in asks.bins])
    return np.unique(drawn, axis=0)


def _fresh(
    asks: ProductKernel | GaussianKernel, model: Product, seen: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Points drawn from the model that were not asked yet."""
    drawn = np.unique(asks.points(model.sample(2 * count, rng=rng)), axis=0)
    known = {p.tobytes() for p in seen}
    new = [p for p in drawn[rng.permutation(len(drawn))] if p.tobytes() not in known]
    return np.array(new[:count], dtype=drawn.dtype).reshape(-1, asks.dim)


def kernel_of(releases: Sequence[FunctionalRelease]) -> ProductKernel:
    """The kernel of a path of codes. Errors: UsageError where it is of vectors."""
    result = releases[0].question.kernel
    if not isinstance(result, ProductKernel):
        raise UsageError("the release's kernel is of another kind; fit it with the method that asked for it")
    return result


class FunctionalLoss(Distance):
    """e' (K + nugget)^-1 e / sigma^2, e the model's expected kernel sum less the released path, at all points.

    The maximum mean discrepancy within the span of the points, in the metric of the noise. A component's expectation
    is a product over columns of p_j' table_j[:, w_j]: exact.
    """

    def __init__(self, made: ColumnEstimates, releases: Sequence[FunctionalRelease], *, device: str):
        question, asks = releases[0].question, kernel_of(releases)
        points = np.concatenate([r.question.points for r in releases])
        values = np.concatenate([r.values for r in releases])
        gram = asks.gram(points, points) + question.nugget * np.eye(len(points))
        root = np.linalg.cholesky(gram)
        inverse = linalg.solve_triangular(root, np.eye(len(points)), lower=True) / question.deviation
        self.places = [made.at(b.column) for b in asks.bins]
        self.tables = [real(t[:, w], device) for t, w in zip(asks.tables, points.T, strict=True)]
        self.whiten = real(made.total * inverse, device)
        self.goal_values = real(inverse @ values, device)

    @property
    def goal(self) -> float:
        """The number of points: each whitened error has unit variance."""
        return float(len(self.goal_values))

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """One: the expected kernel at each point, (E, m)."""
        product = share.new_ones(())
        for j, table in zip(self.places, self.tables, strict=True):
            product = product * (parts[j] @ table)
        return [torch.einsum("eb,ebm->em", share, product)]

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """Squared whitened errors."""
        return (means[0] @ self.whiten.T - self.goal_values).square().sum() / len(means[0])
