"""Kernels of a functional release, points of its path, and the distance of a model to what was told of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synth.errors import UsageError
from synth.generators.base import Fit, Setting
from synth.generators.core.product import Product
from synth.generators.papers.columns import Columns
from synth.generators.papers.descent import Distance, Options, Parts, State, real
from synth.generators.papers.embeddings import public_rng
from synth.lazy import linalg, torch
from synth.questions import Block, FunctionalRelease, GaussianKernel, ProductKernel

WIDTH = 0.1  # of a number's Gaussian kernel, in ranks
LABEL = 2.0  # height of the label's coordinates against other columns', where it is one of them
MOST_COORDINATES = 100_000
SPREAD = 400  # rows of independent columns whose distances set the kernel's width

Kernel = ProductKernel | GaussianKernel


def product_kernel(columns: Columns, *, rho: float, label_rho: float) -> ProductKernel:
    """Product over columns of rho + (1 - rho) kappa: delta for categories, half of it Gaussian in rank for numbers.

    The nearer rho is to one the more the kernel looks at few columns at a time. ``label_rho``: the label's own; at
    zero the kernel is conditional, k(x, w) 1[same label].
    """
    bins, tables = [], []
    for name in columns.names:
        same = np.eye(columns.size(name))
        if columns.is_number(name):
            apart = columns.ranks(name)[:, None] - columns.ranks(name)
            same = 0.5 * same + 0.5 * np.exp(-((apart / WIDTH) ** 2) / 2)
        floor = label_rho if name == columns.label else rho
        table = floor + (1 - floor) * same
        np.fill_diagonal(table, 1.0)
        bins.append(columns.bins(name))
        tables.append((table + table.T) / 2)
    return ProductKernel(bins=tuple(bins), tables=tuple(tables))


def gaussian_kernel(columns: Columns, *, lengthscale: float, widths: int, labelled: bool) -> GaussianKernel:
    """exp(-|x - w|^2 / 2 width^2), averaged over ``widths`` widths, on rows of norm at most one.

    ``lengthscale``: the widest, in units of the median distance of rows of independent columns, which earlier answers
    tell. ``labelled``: the label is no coordinate; the kernel is multiplied by 1[same label].
    """
    names = columns.others if labelled and columns.label else columns.names
    heights = np.array([LABEL if n == columns.label else 1.0 for n in names])
    heights *= (1 - 1e-9) / np.linalg.norm(heights)
    places = zip(names, heights, strict=True)
    blocks = tuple(Block(bins=columns.bins(n), table=h * _places(columns, n)) for n, h in places)
    label = columns.bins(columns.label) if labelled and columns.label else None
    drawn = columns.independent().sample(SPREAD, rng=public_rng())
    rows = GaussianKernel(blocks=blocks, lengthscale=1.0).points(drawn)
    apart = np.sqrt(((rows[: SPREAD // 2] - rows[SPREAD // 2 :]) ** 2).sum(1))
    middle = max(float(np.median(apart)), float(heights.min()) / 2)
    return GaussianKernel(blocks=blocks, lengthscale=lengthscale * middle, widths=widths, label=label)


def _places(columns: Columns, name: str) -> np.ndarray:
    """Coordinates of a column's bins within the unit ball, (bins, width): no two of them further apart than one.

    Categories are one-hot at height sqrt(1/2); a number is its rank, and its missing codes have axes of their own.
    """
    if not columns.is_number(name):
        return np.eye(columns.size(name)) * np.sqrt(0.5)
    bins, ranks = columns.bins(name), columns.ranks(name)
    codes = np.bincount(bins.groups, weights=bins.starts < columns.setting.schema.columns[name].size) == 0
    table = np.zeros((bins.size, 1 + codes.sum()))
    table[:, 0] = np.where(codes, 0.5, ranks)
    table[codes, 1:] = np.eye(codes.sum()) * np.sqrt(0.5)
    return table


def check_coordinates(setting: Setting, *, anchors: int, gradients: bool) -> None:
    """Errors: UsageError for a table of more coordinates than the path's arithmetic, or its numbers, are enough for."""
    known = setting.schema.measured().values()
    most = sum(1 + c.cells - c.size if c.is_numeric else c.cells for c in known)
    if most > MOST_COORDINATES:
        raise UsageError(
            "option form=gaussian: rows of this schema have up to {:,} coordinates, and {:,} is the most; take "
            "form=path or form=anova",
            most,
            MOST_COORDINATES,
        )
    if gradients and 1 + most > anchors:
        raise UsageError(
            "option gradients=joint: a point of this table takes up to {:,} numbers, and anchors is {:,}; raise it, "
            "or leave gradients out",
            1 + most,
            anchors,
        )


def first_points(kernel: Kernel, model: Product, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points of the first round, each once: of codes uniform ones, of vectors rows of independent columns.

    Classes take turns, so that each is told as much of as any other.
    """
    if isinstance(kernel, GaussianKernel):
        drawn = kernel.points(model.sample(count, rng=rng))
        if kernel.label is not None:
            drawn[:, -1] = np.arange(count) % kernel.label.size
        return np.unique(drawn, axis=0)
    drawn = np.column_stack([rng.integers(0, b.size, count) for b in kernel.bins])
    return np.unique(drawn, axis=0)


def fresh_points(kernel: Kernel, model: Product, seen: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points drawn from the model that were not asked yet."""
    drawn = np.unique(kernel.points(model.sample(2 * count, rng=rng)), axis=0)
    known = {p.tobytes() for p in seen}
    new = [p for p in drawn[rng.permutation(len(drawn))] if p.tobytes() not in known]
    return np.array(new[:count], dtype=drawn.dtype).reshape(-1, kernel.dim)


def path_distance(columns: Columns, releases: Sequence[FunctionalRelease], *, device: str) -> Distance:
    """The distance that goes with the path's kernel."""
    kernel = releases[0].question.kernel
    if isinstance(kernel, GaussianKernel):
        return GaussianDistance(columns, releases, kernel, device=device)
    return PathDistance(columns, releases, kernel, device=device)


class PathDistance(Distance):
    """e' (K + nugget)^-1 e over the noise's variance, e the model's expected kernel sum less the released path, at all
    points.

    The maximum mean discrepancy within the span of the points, in the metric of the noise. A component's expectation
    is a product over columns of p_j' table_j[:, w_j]: exact.
    """

    def __init__(
        self, columns: Columns, releases: Sequence[FunctionalRelease], kernel: ProductKernel, *, device: str
    ) -> None:
        points = np.concatenate([r.question.points for r in releases])
        values = np.concatenate([r.values for r in releases])
        self._whiten(kernel.gram(points, points), values, releases, columns.total, device)
        self.places = [columns.at(b.column) for b in kernel.bins]
        self.tables = [real(t[:, w], device) for t, w in zip(kernel.tables, points.T, strict=True)]

    def _whiten(
        self, gram: np.ndarray, values: np.ndarray, releases: Sequence[FunctionalRelease], total: float, device: str
    ) -> None:
        """What turns errors, of which ``total`` makes sums, into independent ones of unit variance."""
        gram[np.diag_indices_from(gram)] += releases[0].question.nugget
        root = np.linalg.cholesky(gram)
        inverse = linalg.solve_triangular(root, np.eye(len(gram)), lower=True) / releases[0].question.deviation
        self.whiten, self.values = real(total * inverse, device), real(inverse @ values, device)
        self.count = len(values)

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """One: the expected kernel at each point, (E, m)."""
        product = share.new_ones(())
        for j, table in zip(self.places, self.tables, strict=True):
            product = product * (parts[j] @ table)
        return [torch.einsum("eb,ebm->em", share, product)]

    def misfit(self, means: list[torch.Tensor]) -> torch.Tensor:
        """Squared whitened errors."""
        return (means[0] @ self.whiten.T - self.values).square().sum() / len(means[0])


class GaussianDistance(PathDistance):
    """The published distance, |m - f|^2 in the kernel's space, within the span of what was told of the noisy f.

    m is the model's expected kernel sum, e = m - f at the points told (and their gradients). Given a component columns
    are independent, and a Gaussian is a product over them: values and gradients are exact. ``within``: one class, whose
    numbers have nothing in common with others'. **Source**: NeurIPS 2023, Equation 7, f released as it stands in
    functional.md rather than detached.
    """

    def __init__(
        self,
        columns: Columns,
        releases: Sequence[FunctionalRelease],
        kernel: GaussianKernel,
        *,
        device: str,
        within: int | None = None,
    ) -> None:
        points = np.concatenate([r.question.points for r in releases])
        values = np.concatenate([r.values.reshape(len(r.values), -1) for r in releases])
        values[:, 1:] *= kernel.unit
        inside = np.ones(len(points), bool) if within is None else points[:, -1] == within
        points, values, gradients = points[inside], values[inside].ravel(), releases[0].question.gradients
        share = 1.0 if within is None else float(columns.shares(kernel.bins[-1].column)[within])
        gram = kernel.gram(points, points, gradients=gradients)
        self._whiten(gram, values, releases, max(columns.total * share, 1.0), device)
        self.kernel = kernel
        self.places = [columns.at(b.bins.column) for b in kernel.blocks]
        self.factors = [[real(t, device) for t in _factors(kernel, points, s)] for s in kernel.scales]
        self.coordinates = [real(b.table, device) for b in kernel.blocks] if gradients else []
        self.points = real(points[:, : kernel.smooth], device)
        self.label, self.same = None, None
        if kernel.label is not None and within is None:
            self.label = columns.at(kernel.label.column)
            self.same = real(np.eye(kernel.label.size)[:, points[:, -1].astype(int)], device)

    def means(self, share: torch.Tensor, parts: Parts) -> list[torch.Tensor]:
        """One: the expected kernel at each point, followed by its gradient where that was told, (E, numbers)."""
        result = share.new_zeros(())
        for scale, factors in zip(self.kernel.scales, self.factors, strict=True):
            seen = [parts[j] @ t for j, t in zip(self.places, factors, strict=True)]
            value = share[:, :, None] / len(self.factors)
            for s in seen:
                value = value * s
            if self.label is not None and self.same is not None:
                value = value * (parts[self.label] @ self.same)
            result = result + (
                self._with_gradients(value, seen, parts, factors, scale) if self.coordinates else value.sum(1)
            )
        return [result]

    def _with_gradients(
        self, value: torch.Tensor, seen: Parts, parts: Parts, factors: Parts, scale: float
    ) -> torch.Tensor:
        """Expected (value, gradient in the kernel's unit) of components' (E, B, m) values, (E, m * (1 + d))."""
        middles = []
        for j, s, t, x in zip(self.places, seen, factors, self.coordinates, strict=True):
            weighted = (t[:, :, None] * x[:, None, :]).flatten(1)  # (G, m * width)
            middles.append((parts[j] @ weighted).unflatten(2, (s.shape[2], x.shape[1])) / s[..., None].clamp_min(1e-30))
        apart = torch.cat(middles, 3) - self.points
        slope = torch.einsum("ebm,ebmd->emd", value, apart) * (self.kernel.unit / scale**2)
        return torch.cat([value.sum(1)[:, :, None], slope], 2).flatten(1)


def _factors(kernel: GaussianKernel, points: np.ndarray, scale: float) -> list[np.ndarray]:
    """For each block the Gaussian's factor of every bin at every point, (G, m)."""
    out, at = [], 0
    for block in kernel.blocks:
        near = points[:, at : at + block.width]
        apart = (block.table**2).sum(1)[:, None] + (near**2).sum(1) - 2 * block.table @ near.T
        out.append(np.exp(-np.maximum(apart, 0.0) / (2 * scale**2)))
        at += block.width
    return out


def path_of_classes(
    columns: Columns, releases: Sequence[FunctionalRelease], label: str, options: Options, how: Fit
) -> Product:
    """A model for each class, fitted to its own part of the path alone; classes weighted by paid counts."""
    kernel, shares = releases[0].question.kernel, np.maximum(columns.shares(label), 0.0)
    assert isinstance(kernel, GaussianKernel)
    seen = {float(c) for r in releases for c in r.question.points[:, -1]}
    weights, probs = [], []
    for c in range(len(shares)):
        state = State(columns, options, how)
        if c in seen:
            distance = GaussianDistance(columns, releases, kernel, device=how.device, within=c)
            state.descend(distance, steps=options.steps, progress=lambda _: None)
        share, tables = state.arrays()
        tables[columns.at(label)] = np.broadcast_to(np.eye(len(shares))[c], (len(share), len(shares)))
        weights.append(shares[c] * share)
        probs.append(tables)
        how.progress((c + 1) / len(shares))
    whole = np.concatenate(weights)
    return columns.model(whole / whole.sum(), [np.concatenate(t) for t in zip(*probs, strict=True)])
