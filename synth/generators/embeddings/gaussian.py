"""The published DP-kernel's kernel on tables: a Gaussian on rows of bounded norm, times the label's; its distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Progress, Setting
from synth.generators.embeddings import embedding
from synth.generators.embeddings.embedding import ColumnEstimates, public_rng
from synth.generators.embeddings.fit import Distance, Options, Parts, descend, real
from synth.generators.product_mixture.model import Product
from synth.lazy import Lazy
from synth.questions import Block, FunctionalRelease, GaussianKernel

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")
linalg = Lazy("scipy.linalg")

LABEL = 2.0  # height of the label's coordinates against other columns', where it is one of them
MOST_COORDINATES = 100_000
SPREAD = 400  # rows of independent columns whose distances set the kernel's width


def kernel(made: ColumnEstimates, *, lengthscale: float, widths: int, labelled: bool) -> GaussianKernel:
    """exp(-|x - w|^2 / 2 width^2), averaged over ``widths`` widths, on rows of norm at most one.

    ``lengthscale``: the widest, in units of the median distance of rows of independent columns, which earlier answers
    tell. ``labelled``: the label is no coordinate; the kernel is multiplied by 1[same label].
    """
    names = made.others if labelled and made.label else made.names
    heights = np.array([LABEL if n == made.label else 1.0 for n in names])
    heights *= (1 - 1e-9) / np.linalg.norm(heights)
    blocks = tuple(Block(bins=made.bins(n), table=h * _places(made, n)) for n, h in zip(names, heights, strict=True))
    label = made.bins(made.label) if labelled and made.label else None
    drawn = embedding.alone(made).sample(SPREAD, rng=public_rng())
    rows = GaussianKernel(blocks=blocks, lengthscale=1.0).points(drawn)
    apart = np.sqrt(((rows[: SPREAD // 2] - rows[SPREAD // 2 :]) ** 2).sum(1))
    middle = max(float(np.median(apart)), float(heights.min()) / 2)
    return GaussianKernel(blocks=blocks, lengthscale=lengthscale * middle, widths=widths, label=label)


def _places(made: ColumnEstimates, name: str) -> np.ndarray:
    """Coordinates of a column's bins within the unit ball, (bins, width): no two of them further apart than one.

    Categories are one-hot at height sqrt(1/2); a number is its rank, and its missing codes have axes of their own.
    """
    if not made.is_number(name):
        return np.eye(made.size(name)) * np.sqrt(0.5)
    bins, ranks = made.bins(name), made.ranks(name)
    codes = np.bincount(bins.groups, weights=bins.starts < made.setting.schema.columns[name].size) == 0
    table = np.zeros((bins.size, 1 + codes.sum()))
    table[:, 0] = np.where(codes, 0.5, ranks)
    table[codes, 1:] = np.eye(codes.sum()) * np.sqrt(0.5)
    return table


def coordinates(setting: Setting) -> int:
    """The most coordinates that ``kernel`` can have, from the schema alone."""
    known = setting.schema.measured().values()
    return sum(1 + c.cells - c.size if c.is_numeric else c.cells for c in known)


def check(setting: Setting, *, anchors: int, gradients: bool) -> None:
    """Errors: UsageError for a table of more coordinates than the path's arithmetic, or its numbers, are enough for."""
    most = coordinates(setting)
    if most > MOST_COORDINATES:
        raise UsageError(
            f"option form=gaussian: rows of this schema have up to {most:,} coordinates, and "
            f"{MOST_COORDINATES:,} is the most; take form=path or form=anova"
        )
    if gradients and 1 + most > anchors:
        raise UsageError(
            f"option gradients=joint: a point of this table takes up to {1 + most:,} numbers, and anchors "
            f"is {anchors:,}; raise it, or leave gradients out"
        )


@dataclass(frozen=True, kw_only=True)
class Released:
    """Numbers of a path: ``points`` (m, dim), ``values`` (m * each,) in the units of the kernel's gram."""

    asks: GaussianKernel
    points: np.ndarray
    values: np.ndarray
    gradients: bool

    @staticmethod
    def of(releases: Sequence[FunctionalRelease], *, within: int | None = None) -> Released:
        """All releases of one path; ``within``: one class, whose numbers have nothing in common with others'."""
        question = releases[0].question
        assert isinstance(question.kernel, GaussianKernel)
        points = np.concatenate([r.question.points for r in releases])
        values = np.concatenate([r.values.reshape(len(r.values), -1) for r in releases])
        values[:, 1:] *= question.kernel.unit
        retained = np.ones(len(points), bool) if within is None else points[:, -1] == within
        return Released(
            asks=question.kernel, points=points[retained], values=values[retained].ravel(), gradients=question.gradients
        )


class GaussianLoss(Distance):
    """The published distance, |m - f|^2 in the kernel's space, within the span of what was told of the noisy f.

    m is the model's expected kernel sum. With e = m - f at the points told (and their gradients), it is
    e' (K + nugget)^-1 e, here over the noise's variance. Given a component columns are independent, and a Gaussian is a
    product over them: values and gradients are exact. **Source**: NeurIPS 2023, Equation 7, f released as it stands in
    functional.md rather than detached.
    """

    def __init__(
        self, made: ColumnEstimates, releases: Sequence[FunctionalRelease], *, device: str, within: int | None = None
    ):
        self.released = released = Released.of(releases, within=within)
        question, asks = releases[0].question, released.asks
        share = 1.0 if within is None else float(made.mass[made.at(asks.bins[-1].column)][within])
        self.asks, self.total = asks, max(made.total * share, 1.0)
        gram = asks.gram(released.points, released.points, gradients=released.gradients)
        gram[np.diag_indices_from(gram)] += question.nugget
        root = np.linalg.cholesky(gram)
        inverse = linalg.solve_triangular(root, np.eye(len(gram)), lower=True) / question.deviation
        self.whiten = real(self.total * inverse, device)
        self.goal_values = real(inverse @ released.values, device)
        self.places = [made.at(b.bins.column) for b in asks.blocks]
        self.tables = [[real(t, device) for t in self._tables(s)] for s in asks.scales]
        self.coordinates = [real(b.table, device) for b in asks.blocks] if released.gradients else []
        self.points = real(released.points[:, : asks.smooth], device)
        self.label, self.same = None, None
        if asks.label is not None and within is None:
            self.label = made.at(asks.label.column)
            self.same = real(np.eye(asks.label.size)[:, released.points[:, -1].astype(int)], device)

    @property
    def goal(self) -> float:
        """How many numbers were told: each whitened error has unit variance."""
        return float(len(self.goal_values))

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """One: the expected kernel at each point, followed by its gradient where that was told, (E, numbers)."""
        result = share.new_zeros(())
        for scale, tables in zip(self.asks.scales, self.tables, strict=True):
            seen = [parts[j] @ t for j, t in zip(self.places, tables, strict=True)]
            value = share[:, :, None] / len(self.tables)
            for s in seen:
                value = value * s
            if self.label is not None and self.same is not None:
                value = value * (parts[self.label] @ self.same)
            result = result + (
                self._with_gradients(value, seen, parts, tables, scale) if self.coordinates else value.sum(1)
            )
        return [result]

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """Squared whitened errors."""
        return (means[0] @ self.whiten.T - self.goal_values).square().sum() / len(means[0])

    def _with_gradients(
        self, value: torch.Tensor, seen: Parts, parts: Parts, tables: Parts, scale: float
    ) -> torch.Tensor:
        """Expected (value, gradient in the kernel's unit) of components' (E, B, m) values, (E, m * (1 + d))."""
        shifted = []
        for j, s, t, x in zip(self.places, seen, tables, self.coordinates, strict=True):
            pulled = (t[:, :, None] * x[:, None, :]).flatten(1)  # (G, m * width)
            mean = (parts[j] @ pulled).unflatten(2, (s.shape[2], x.shape[1])) / s[..., None].clamp_min(1e-30)
            shifted.append(mean)
        apart = torch.cat(shifted, 3) - self.points
        slope = torch.einsum("ebm,ebmd->emd", value, apart) * (self.asks.unit / scale**2)
        return torch.cat([value.sum(1)[:, :, None], slope], 2).flatten(1)

    def _tables(self, scale: float) -> list[np.ndarray]:
        """For each block the Gaussian's factor of every bin at every point, (G, m)."""
        out, at = [], 0
        for block in self.asks.blocks:
            near = self.released.points[:, at : at + block.width]
            apart = (block.table**2).sum(1)[:, None] + (near**2).sum(1) - 2 * block.table @ near.T
            out.append(np.exp(-np.maximum(apart, 0.0) / (2 * scale**2)))
            at += block.width
        return out


def fit_parallel(
    made: ColumnEstimates,
    releases: Sequence[FunctionalRelease],
    options: Options,
    *,
    back_end: str,
    rng: np.random.Generator,
    device: str,
    progress: Progress,
) -> Product:
    """A model for each class, fitted to its own part of the path alone; classes weighted by paid counts."""
    label = Released.of(releases).asks.bins[-1].column
    shares = np.maximum(made.mass[made.at(label)], 0.0)
    weights, probs = [], []
    for c in range(len(shares)):
        state = embedding.start(made, options, back_end=back_end, rng=rng, device=device)
        if len(Released.of(releases, within=c).points):
            descend(
                state, GaussianLoss(made, releases, device=device, within=c), state.options, progress=lambda _: None
            )
        share, tables = state.arrays()
        tables[made.at(label)] = np.broadcast_to(np.eye(len(shares))[c], (len(share), len(shares)))
        weights.append(shares[c] * share)
        probs.append(tables)
        progress((c + 1) / len(shares))
    whole = np.concatenate(weights)
    return embedding.model(made, whole / whole.sum(), [np.concatenate(t) for t in zip(*probs, strict=True)])
