"""A network trained so that its rows, sliced and noised as the real ones were, look like the release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.generators import mlp
from synth.generators.base import Progress
from synth.generators.micro_batches import Pieces, enough, summed
from synth.generators.mlp import Network
from synth.lazy import Lazy
from synth.numeric.disk_array import HELD, chunks
from synth.questions import SlicesRelease

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

SLICES = 200  # directions drawn a step where the release is a full rotation and the number is not given
MANY = 2000  # distributions that a trained network is evaluated at: the model's components
LAST = 0.1  # of the learning rate at the end of a training against its start
FREQUENCIES = 4096
AT_ONCE = 256  # frequencies of one step
AT_A_TIME = 1 << 12  # released rows whose waves are added together
NEAREST, FURTHEST = 0.3, 1.5  # lengths of frequencies, in units of 1 / sigma

Distance = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]


@dataclass(frozen=True, kw_only=True, eq=False)
class SliceTarget:
    """A release on a device. ``values`` (K, m); ``directions`` (d, m) or None; ``table`` (G, d): coordinates of every
    bin of every column; ``size``: mean rows of a group, 0 where a value is one record; ``retained``: the share of
    records that were sampled, the others being zero rows."""

    values: SliceValues
    directions: torch.Tensor | None
    table: torch.Tensor
    sigma: float
    size: float
    retained: float
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

    def wave(self, points: torch.Tensor) -> torch.Tensor:
        """Mean over all rows of exp(i x'w) for each of ``points`` (m, n), (n,) complex."""
        total = torch.zeros(points.shape[1], dtype=torch.complex128, device=self.device)
        for piece in chunks(self._values):
            for start in range(0, len(piece), AT_A_TIME):
                angles = self._real(piece[start : start + AT_A_TIME]) @ points
                total += torch.complex(torch.cos(angles).sum(0), torch.sin(angles).sum(0))
        return (total / len(self)).to(torch.complex64)

    def _real(self, x: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(x, dtype=np.float32), device=self.device)


def target(release: SlicesRelease, *, total: float, rng: np.random.Generator, device: str) -> SliceTarget:
    """The release as the training sees it."""

    def real(x: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(x), dtype=torch.float32, device=device)

    return SliceTarget(
        values=SliceValues(release.values, device=device),
        directions=None if release.directions is None else real(release.directions),
        table=real(wide(release.question.tables)),
        sigma=release.question.sigma,
        size=0.0 if release.question.groups is None else total * release.question.rate / len(release.values),
        retained=release.question.rate,
        rng=rng,
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


@dataclass(frozen=True, kw_only=True)
class Form:
    """How a network is trained. ``published``: as the text has it, from a random start, at a constant rate, on fixed
    groups of k directions, all of them in every step; else from the columns' shares on, at a falling rate, on groups
    of directions drawn in each step. ``hidden`` units in each of ``layers`` layers."""

    published: bool = False
    hidden: int = mlp.WIDTHS[0]
    layers: int = len(mlp.WIDTHS)


@enough("training on slices", fewer="rows a step (option batch) or groups")
def network(
    release: SlicesRelease,
    masses: Sequence[np.ndarray],
    *,
    total: float,
    loss: Distance | None,
    k: int,
    batch: int,
    steps: int,
    num_slices: int,
    rate: float,
    form: Form,
    rng: np.random.Generator,
    device: str,
    progress: Progress,
) -> Network:
    """A network trained by ``loss``; None: by characteristic functions. Its heads are the columns' bins.

    ``loss``: a mean over slices, so that it can be taken of some slices at a time where memory runs out.
    Errors: UsageError where the device's memory does not hold a single slice's step.
    """
    start = None if form.published else np.concatenate(masses)
    widths = [form.hidden] * form.layers
    made = mlp.network([len(m) for m in masses], rng=rng, device=device, start=start, widths=widths)
    goal = target(release, total=total, rng=rng, device=device)
    if loss is None:
        step = _characteristic(made, goal, batch)
    else:
        distance, held = loss, Pieces()
        how: dict[str, Any] = {"batch": batch, "k": k, "num_slices": num_slices, "shuffled": not form.published}

        def step() -> torch.Tensor:
            return apart(distance, held, *sliced(made, goal, **how))

    last = rate if form.published else rate * LAST
    if len(goal.values) >= 2:
        mlp.train(made.parameters, step, steps=steps, rate=rate, last_rate=last, progress=progress)
    return made


@enough("a network's evaluation", fewer="layers or hidden units")
def shares(made: Network, *, rng: np.random.Generator) -> list[np.ndarray]:
    """Each column's probabilities (``MANY``, bins) at so many draws of the network."""
    return np.split(mlp.components(made, MANY, rng=rng), np.cumsum(made.sizes)[:-1], axis=1)


def apart(distance: Distance, held: Pieces, real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
    """The distance of slices (S, batch, k), a mean over slices: of as many at a time as memory holds."""
    return summed(held, len(fake), fake, lambda x, some: distance(real[some], x[some]) * (len(x[some]) / len(x)))


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
        retained = max(values.shape[1] // k, 1) * k if values.shape[1] >= k else values.shape[1]
        places = goal.rng.permutation(values.shape[1]) if shuffled else np.arange(values.shape[1])
        order = torch.as_tensor(places[:retained], device=values.device)
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
    drawn = drawn / drawn.norm(dim=1, keepdim=True) if drawn.shape[2] == 1 else torch.linalg.qr(drawn)[0]
    return drawn.transpose(0, 1).reshape(dim, -1)


def summed_rows(made: Network, goal: SliceTarget, batch: int) -> torch.Tensor:
    """Encoded rows of the network (batch, d), or sums of groups of Poisson size."""
    if goal.size == 0:
        drawn = made.drawn(made.hidden(batch), hard=True) @ goal.table
        if goal.retained < 1:
            drawn = drawn * torch.as_tensor(goal.rng.random((batch, 1)) < goal.retained, device=drawn.device)
        return drawn
    owner = torch.as_tensor(np.repeat(np.arange(batch), goal.rng.poisson(goal.size, batch)), device=goal.table.device)
    drawn = made.drawn(made.hidden(len(owner)), hard=True)
    return drawn.new_zeros((batch, drawn.shape[1])).index_add(0, owner, drawn) @ goal.table


def _characteristic(made: Network, goal: SliceTarget, batch: int) -> Callable[[], torch.Tensor]:
    """A step's loss: squared distance of characteristic functions, the release's over all its rows, the model's exact
    given the network's distributions, the noise in closed form."""
    points = _frequencies(made, goal)
    with torch.no_grad():
        seen = goal.values.wave(points)
    hushed = torch.exp(-0.5 * goal.sigma**2 * (points**2).sum(0))
    turned = goal.table @ (points if goal.directions is None else goal.directions @ points)
    waves = torch.complex(torch.cos(turned), torch.sin(turned))

    def misfit(probs: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        wave = waves.index_select(1, chosen)
        whole: torch.Tensor | float = 1.0
        for p, w in zip(probs.split(made.sizes, 1), wave.split(made.sizes, 0), strict=True):
            whole = whole * torch.complex(p @ w.real, p @ w.imag)
        law = torch.as_tensor(whole).mean(0)
        law = torch.exp(goal.size * (law - 1)) if goal.size else 1 - goal.retained + goal.retained * law
        off = law * hushed[chosen] - seen[chosen]
        return (off.real**2 + off.imag**2).sum() * (len(goal.values) / AT_ONCE)

    held = Pieces()

    def step() -> torch.Tensor:
        chosen = torch.as_tensor(goal.rng.integers(0, points.shape[1], AT_ONCE), device=points.device)
        probs = made.forward(made.hidden(batch))
        return summed(held, AT_ONCE, probs, lambda x, some: misfit(x, chosen[some]))

    return step


def _frequencies(made: Network, goal: SliceTarget) -> torch.Tensor:
    """(m, ``FREQUENCIES``): of two columns' coordinates where these were released, else of two slices."""
    wide_ = goal.values.shape[1]
    points = torch.empty((wide_, FREQUENCIES), device=goal.values.device).normal_(generator=made.source)
    if goal.directions is None:
        column = np.repeat(np.arange(len(made.sizes)), made.sizes)
        owner = np.array([column[np.flatnonzero(c)[0]] if c.any() else -1 for c in goal.table.cpu().numpy().T])
        pairs = goal.rng.integers(0, len(made.sizes), (2, FREQUENCIES))
        mask = (owner[:, None] == pairs[0]) | (owner[:, None] == pairs[1])
    else:
        pairs = goal.rng.integers(0, wide_, (2, FREQUENCIES))
        mask = (np.arange(wide_)[:, None] == pairs[0]) | (np.arange(wide_)[:, None] == pairs[1])
    points = points * torch.as_tensor(mask, dtype=torch.float32, device=points.device)
    length = goal.rng.uniform(NEAREST, FURTHEST, FREQUENCIES) / goal.sigma
    scale = torch.as_tensor(length, dtype=torch.float32, device=points.device)
    return points * (scale / points.norm(dim=0).clamp_min(1e-12))
