"""A network trained so that its rows, sliced and noised as the real ones were, look like the release.

Sets of slices are compared by f-divergences through density ratios, or by Wasserstein's distance; the published form's
rows come from the network itself, each from a draw of its own (``NetworkModel``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synth.generators.base import Fit, Positions, Repair
from synth.generators.core.product import Product
from synth.generators.micro_batches import Pieces, enough, summed
from synth.generators.papers import mlp
from synth.generators.papers.mlp import Network
from synth.lazy import torch
from synth.numeric.disk_array import HELD
from synth.questions import SlicesRelease

SLICES = 200  # directions drawn a step where the release is a full rotation and the number is not given
MANY = 2000  # distributions that a trained network is evaluated at: the model's components
LAST = 0.1  # of the learning rate at the end of a training against its start
WIDEST = 2.0  # of the kernels' widths, against the median distance of noisy slices; the others are 1 and 0.5
LEAST_RATIO, LEAST_LOG = 1e-6, 1e-3
AT_ONCE = 4096  # rows drawn together from a network, each from its own component
STEEPEST = 80.0  # scores further below the highest count as this

Distance = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]


@dataclass(frozen=True, kw_only=True)
class Training:
    """By ``distance``, a mean over slices, ``k`` at a time, on ``batch`` rows, for ``steps`` at Adam's ``rate``.

    ``published``: as the text has it, from a random start, at a constant rate, on fixed groups of k directions, all of
    them in every step; else from the columns' shares on, at a falling rate, on groups of directions drawn in each step.
    ``hidden`` units in each of ``layers`` layers.
    """

    distance: Distance
    k: int
    batch: int
    steps: int
    num_slices: int
    rate: float
    published: bool = False
    hidden: int = mlp.WIDTHS[0]
    layers: int = len(mlp.WIDTHS)


@enough("training on slices", fewer="rows a step (option batch) or groups")
def network(release: SlicesRelease, masses: Sequence[np.ndarray], total: float, by: Training, how: Fit) -> Network:
    """A network whose heads are the columns' bins.

    Where memory runs out, fewer slices are taken at a time. Errors: UsageError where it does not hold one's step.
    """
    start, widths = None if by.published else np.concatenate(masses), [by.hidden] * by.layers
    made = mlp.network([len(m) for m in masses], rng=how.rng, device=how.device, start=start, widths=widths)
    goal, pieces = target(release, total=total, how=how), Pieces()

    def step() -> torch.Tensor:
        both = sliced(made, goal, batch=by.batch, k=by.k, num_slices=by.num_slices, shuffled=not by.published)
        return apart(by.distance, pieces, *both)

    last = by.rate if by.published else by.rate * LAST
    if len(goal.values) >= 2:
        mlp.train(made.parameters, step, steps=by.steps, rate=by.rate, last_rate=last, progress=how.progress)
    return made


@enough("a network's evaluation", fewer="layers or hidden units")
def shares(made: Network, *, rng: np.random.Generator) -> list[np.ndarray]:
    """Each column's probabilities (``MANY``, bins) at so many draws of the network."""
    return np.split(mlp.components(made, MANY, rng=rng), np.cumsum(made.sizes)[:-1], axis=1)


def apart(distance: Distance, pieces: Pieces, real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
    """The distance of slices (S, batch, k), a mean over slices: of as many at a time as memory holds."""
    return summed(pieces, len(fake), fake, lambda x, some: distance(real[some], x[some]) * (len(x[some]) / len(x)))


def sliced(
    made: Network, goal: SliceTarget, *, batch: int, k: int, num_slices: int, shuffled: bool = True
) -> tuple[torch.Tensor, torch.Tensor]:
    """(released, generated) slices, each (S, batch, k): the same directions, k at a time, and the same noise.

    Where a full rotation was released, fresh random k-frames are drawn each step, free of charge (uniform on the
    Stiefel manifold: arXiv 2410.19941, Definition 4). ``shuffled``: else directions stay in the groups of k in which
    they stand, as in Definition 5.
    """
    values, rows = goal.values.rows(goal.rng.integers(0, len(goal.values), batch)), summed_rows(made, goal, batch)
    noise = torch.empty((batch, values.shape[1]), device=values.device).normal_(generator=made.source) * goal.sigma
    if goal.directions is None:
        turn = frames(values.shape[1], k, max((num_slices or SLICES) // k, 1), made.source)
        real, fake = values @ turn, (rows + noise) @ turn
    else:
        dealt = max(values.shape[1] // k, 1) * k if values.shape[1] >= k else values.shape[1]
        places = goal.rng.permutation(values.shape[1]) if shuffled else np.arange(values.shape[1])
        order = torch.as_tensor(places[:dealt], device=values.device)
        real, fake = values.index_select(1, order), (rows @ goal.directions + noise).index_select(1, order)
    width = min(k, real.shape[1])
    return real.reshape(batch, -1, width).transpose(0, 1), fake.reshape(batch, -1, width).transpose(0, 1)


def frames(dim: int, k: int, count: int, source: torch.Generator) -> torch.Tensor:
    """``count`` uniform frames of min(k, dim) orthonormal columns, side by side (dim, count min(k, dim)).

    >>> f = frames(5, 2, 3, torch.Generator().manual_seed(0))
    >>> f.shape, bool(torch.allclose(f[:, :2].T @ f[:, :2], torch.eye(2), atol=1e-5))
    (torch.Size([5, 6]), True)
    """
    drawn = torch.empty((count, dim, min(k, dim)), device=source.device).normal_(generator=source)
    if drawn.shape[2] == 1:
        turn = drawn / drawn.norm(dim=1, keepdim=True)
    else:
        turn, upper = torch.linalg.qr(drawn)
        turn = turn * upper.diagonal(dim1=1, dim2=2).sign()[:, None]  # else the first number is never positive
    return turn.transpose(0, 1).reshape(dim, -1)


def summed_rows(made: Network, goal: SliceTarget, batch: int) -> torch.Tensor:
    """Encoded rows of the network (batch, d), or sums of groups of Poisson size."""
    if goal.size == 0:
        drawn = made.drawn(made.hidden(batch), hard=True) @ goal.table
        if goal.rate < 1:
            drawn = drawn * torch.as_tensor(goal.rng.random((batch, 1)) < goal.rate, device=drawn.device)
        return drawn
    owner = torch.as_tensor(np.repeat(np.arange(batch), goal.rng.poisson(goal.size, batch)), device=goal.table.device)
    drawn = made.drawn(made.hidden(len(owner)), hard=True)
    return drawn.new_zeros((batch, drawn.shape[1])).index_add(0, owner, drawn) @ goal.table


@dataclass(frozen=True, kw_only=True, eq=False)
class SliceTarget:
    """A release on a device. ``values`` (K, m); ``directions`` (d, m) or None; ``table`` (G, d): coordinates of every
    bin of every column; ``size``: mean rows of a group, 0 where a value is one record; ``rate``: the share of
    records that were sampled, the others being zero rows."""

    values: SliceValues
    directions: torch.Tensor | None
    table: torch.Tensor
    sigma: float
    size: float
    rate: float
    rng: np.random.Generator


class SliceValues:
    """Released values (K, m): on the device, or, where they are long, fetched from where they lie."""

    def __init__(self, values: np.ndarray, *, device: str) -> None:
        self.shape, self.device, self._values = values.shape, device, values
        self._whole = self._real(values) if values.nbytes <= HELD else None

    def __len__(self) -> int:
        """K."""
        return self.shape[0]

    def rows(self, chosen: np.ndarray) -> torch.Tensor:
        """Some of the rows, (n, m)."""
        if self._whole is not None:
            return self._whole.index_select(0, torch.as_tensor(chosen, device=self.device))
        return self._real(self._values[chosen])

    def _real(self, x: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(x, dtype=np.float32), device=self.device)


def target(release: SlicesRelease, *, total: float, how: Fit) -> SliceTarget:
    """The release as the training sees it."""

    def real(x: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(x), dtype=torch.float32, device=how.device)

    return SliceTarget(
        values=SliceValues(release.values, device=how.device),
        directions=None if release.directions is None else real(release.directions),
        table=real(wide(release.question.tables)),
        sigma=release.question.sigma,
        size=0.0 if release.question.groups is None else total * release.question.rate / len(release.values),
        rate=release.question.rate,
        rng=how.rng,
    )


def wide(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Tables (bins, width) of the columns along the diagonal of one, (G, d).

    >>> wide([np.ones((2, 1)), np.ones((1, 1))]).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    out = np.zeros((sum(len(t) for t in tables), sum(t.shape[1] for t in tables)))
    row = column = 0
    for table in tables:
        out[row : row + len(table), column : column + table.shape[1]] = table
        row, column = row + len(table), column + table.shape[1]
    return out


# D_f(P || Q) = E_Q[f(dP/dQ)]; each f has its minimum, 0, at 1 (adding a multiple of t - 1 leaves a divergence as it
# is), so that an estimated ratio whose mean is not quite one does not lead away from the real points
DIVERGENCES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "kl": lambda r: r * torch.log(r.clamp_min(LEAST_RATIO)) - r + 1,
    "reverse_kl": lambda r: r - 1 - torch.log(r.clamp_min(LEAST_LOG)),
    "js": lambda r: r * torch.log(r.clamp_min(LEAST_RATIO)) - (r + 1) * torch.log((r + 1) / 2),
    "chi2": lambda r: (r - 1) ** 2,
    "hellinger": lambda r: (torch.sqrt(r + LEAST_RATIO) - 1) ** 2,
}


def divergence(real: torch.Tensor, made: torch.Tensor, *, kind: str, ridge: float) -> torch.Tensor:
    """D_f(made || real), estimated: mean over slices and real points of f at the densities' ratio.

    Both (slices, batch, k), gradients through ``made``. **Source**: arXiv 2410.19941, Equation 5.

    >>> import torch
    >>> x = torch.linspace(-1, 1, 50).reshape(1, 50, 1)
    >>> near, far = (float(divergence(x, x + s, kind="chi2", ridge=0.1)) for s in (0.0, 1.5))
    >>> near < far
    True
    """
    return DIVERGENCES[kind](ratio(real, made, ridge=ridge)).mean()


def ratio(real: torch.Tensor, made: torch.Tensor, *, ridge: float) -> torch.Tensor:
    """Density ratio made / real at the points ``real``, (slices, batch), negative estimates set to zero.

    r = mean over widths b of (K_b(real, real) + ridge I)^-1 K_b(real, made) 1 times batches' sizes n / m, K_b Gaussian
    kernels of half, once and twice the median distance of the real, noisy points. What is inverted has no gradient.
    **Source**: arXiv 2410.19941, Equation 5; mean matching, Huang et al., NIPS 2006.
    """
    share, half = real.shape[1] / made.shape[1], real.shape[1] // 2
    with torch.no_grad():
        apart = ((real[:, :half] - real[:, half : 2 * half]) ** 2).sum(2)
        scale = apart.median(dim=1).values.clamp_min(1e-12)[:, None, None]  # median squared distance in each slice
        ridges = ridge * torch.eye(real.shape[1], device=real.device, dtype=real.dtype)
        factors = [torch.linalg.cholesky(k + ridges, upper=True) for k in _kernels(real, real, scale)]
    sums = [share * k.sum(2, keepdim=True) for k in _kernels(real, made, scale)]
    result = sum(torch.cholesky_solve(s, f, upper=True) for s, f in zip(sums, factors, strict=True))
    return torch.as_tensor(result).squeeze(2).clamp_min(0.0) / len(sums)


def wasserstein(real: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """Mean over slices of the squared 2-Wasserstein distance of points (slices, batch, 1), by sorting."""
    return ((real.sort(dim=1).values - made.sort(dim=1).values) ** 2).mean()


def _kernels(a: torch.Tensor, b: torch.Tensor, scale: torch.Tensor) -> list[torch.Tensor]:
    """Gaussian kernels of twice, once and half the median distance: powers of the widest."""
    apart = (a**2).sum(2)[:, :, None] + (b**2).sum(2)[:, None, :] - 2 * a @ b.transpose(1, 2)  # no room for differences
    widest = torch.exp(apart.clamp_min(0.0) * (-1 / (2 * WIDEST**2) / scale))
    middle = _fourth(widest)
    return [widest, middle, _fourth(middle)]


def _fourth(x: torch.Tensor) -> torch.Tensor:
    """x to the fourth, by products: the gradient of torch's square takes x to the first by a general power."""
    twice = x * x
    return twice * twice


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkModel(Product):
    """A mixture over the network's infinitely many draws z; ``weights`` and ``axes`` are a fixed sample of them.

    Rows are drawn from fresh draws; probabilities are the fixed sample's. ``layers``: weights (in, out) and biases
    (out,) of rectified units, the last one's outputs in turn the scores of ``columns``' groups.
    """

    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    columns: tuple[str, ...]

    @staticmethod
    def of(sample: Product, layers: Sequence[tuple[np.ndarray, np.ndarray]], columns: Sequence[str]) -> NetworkModel:
        """The model of a network, of which ``sample`` holds fixed draws; axes in the order of the network's heads."""
        return NetworkModel(
            total=sample.total,
            weights=sample.weights,
            axes=sample.axes,
            layers=tuple(layers),
            columns=tuple(columns),
        )

    def sample(
        self,
        num_rows: int,
        *,
        rng: np.random.Generator,
        where: Mapping[str, np.ndarray] | None = None,
        repair: Repair | None = None,
    ) -> Positions:
        """Rows (num_rows,) in random order, each from its own draw, or under a condition from draws that meet it."""
        sizes = [min(AT_ONCE, num_rows - at) for at in range(0, num_rows, AT_ONCE)] or [0]
        parts = [self.fresh(max(n, 1), rng).sample(n, rng=rng, where=where, repair=repair) for n in sizes]
        return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}

    def fresh(self, count: int, rng: np.random.Generator) -> Product:
        """The mixture of ``count`` fresh draws."""
        x = rng.standard_normal((count, len(self.layers[0][0])))
        for weight, bias in self.layers[:-1]:
            x = np.maximum(x @ weight + bias, 0.0)
        scores = x @ self.layers[-1][0] + self.layers[-1][1]
        axes, at = [], 0
        for axis in self.axes:
            probs = np.repeat(axis.probs[:1], count, axis=0)
            if axis.column in self.columns:
                probs = softmax(scores[:, at : at + probs.shape[1]])
                at += probs.shape[1]
            axes.append(replace(axis, probs=probs.astype(np.float32)))
        return Product(total=self.total, weights=np.full(count, 1 / count), axes=tuple(axes))

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """A JSON-able description and the arrays that together rebuild the model."""
        about, arrays = super().state()
        about["network"] = {"columns": list(self.columns), "layers": len(self.layers)}
        for i, (weight, bias) in enumerate(self.layers):
            arrays |= {f"layer{i}.weight": weight, f"layer{i}.bias": bias}
        return about, arrays

    @staticmethod
    def from_state(about: Mapping, arrays: Mapping[str, np.ndarray]) -> NetworkModel:
        """The model that ``state`` described."""
        layers = [
            (np.asarray(arrays[f"layer{i}.weight"]), np.asarray(arrays[f"layer{i}.bias"]))
            for i in range(int(about["network"]["layers"]))
        ]
        return NetworkModel.of(Product.from_state(about, arrays), layers, about["network"]["columns"])


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities (n, groups) of scores.

    >>> softmax(np.zeros((1, 2))).tolist()
    [[0.5, 0.5]]
    """
    grown = np.exp(np.maximum(scores - scores.max(1, keepdims=True), -STEEPEST))
    return grown / grown.sum(1, keepdims=True)
