"""Gradients of a kernel's sum at public points, in coordinates in which one Gaussian path's gradients are independent.

A row x adds grad k(x, w) at each point w, k the mean over widths s of exp(-|x - w|^2 / 2 s^2) times 1[same label]. A
path G of covariance k has gradients of covariance k (I / s^2 - (v - w) (v - w)' / s^4) at points v and w. With V the
span of the differences of one label's points, only the coordinates in V are joint; each coordinate orthogonal to V has
the points' covariance k / s^2 and is independent of all others; labels are blocks.

Proof note: synth/mechanisms/gradients.md.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from synth.questions.gradients import Descent

NUGGET = 1e-4  # of a gradient's variance, on the diagonal: points may coincide


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Points of one label: their ``places`` among all, ``span`` of their numbers, an orthogonal ``turn`` of which the
    first ``inner`` columns span their differences, the ``points`` (m, d) turned, lower factors of the covariance inside
    (m inner) and outside (m)."""

    places: np.ndarray
    span: slice
    turn: "Turn"
    points: torch.Tensor
    inner: int
    inside: torch.Tensor
    outside: torch.Tensor


class Turn:
    """An orthogonal matrix Q (d, d), I - V T V' of a few Householder reflections: no d by d numbers are needed."""

    def __init__(self, reflectors: np.ndarray, scales: np.ndarray) -> None:
        """``reflectors`` (d, r), unit lower trapezoidal; ``scales`` (r,): LAPACK's tau."""
        count = len(scales)
        self.v, self.t = torch.from_numpy(reflectors), torch.zeros((count, count), dtype=torch.float64)
        for i, scale in enumerate(scales):
            self.t[:i, i] = -scale * self.t[:i, :i] @ (self.v[:, :i].T @ self.v[:, i])
            self.t[i, i] = scale

    @staticmethod
    def along(columns: np.ndarray) -> "Turn":
        """The turn whose first columns span those of ``columns`` (d, r), r <= d.

        >>> q = Turn.along(np.array([[3.0], [4.0]])).forward(torch.eye(2, dtype=torch.float64))
        >>> q.abs().numpy().round(3).tolist()
        [[0.6, 0.8], [0.8, 0.6]]
        """
        packed, scales = np.linalg.qr(columns, mode="raw")
        lower = np.tril(packed.T, -1)
        lower[np.arange(len(scales)), np.arange(len(scales))] = 1.0
        return Turn(np.ascontiguousarray(lower), scales)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x Q, of rows x (..., d)."""
        return x - ((x @ self.v) @ self.t) @ self.v.T

    def back(self, x: torch.Tensor) -> torch.Tensor:
        """x Q', of rows x (n, d)."""
        return x - ((x @ self.v) @ self.t.T) @ self.v.T


class KernelField(nn.Module):
    """Public points (count, d), and what rows add there. ``load`` the points, then ``prepare``."""

    def __init__(self, plan: Descent) -> None:
        super().__init__()
        self.points = nn.Parameter(torch.zeros(plan.hidden, plan.coordinates.shape[1]))
        self.coordinates = torch.from_numpy(np.array(plan.coordinates, dtype=np.float64))
        self.scales, self.label = plan.scales, plan.label
        self.start = sum(plan.sizes[: self.label]) if self.label is not None else 0
        self.classes = 1 if self.label is None else plan.sizes[self.label]
        self.blocks: list[Block] = []

    def labels(self) -> np.ndarray:
        """The label's group of each point: each as often as any other, up to one."""
        return np.arange(len(self.points)) % self.classes

    def prepare(self) -> None:
        """Factorises the covariance at the points as they stand."""
        labels, at = self.labels(), 0
        self.blocks = []
        for label in range(min(self.classes, len(labels))):
            self.blocks.append(self._factorised(np.flatnonzero(labels == label), at))
            at = self.blocks[-1].span.stop

    def _factorised(self, places: np.ndarray, start: int) -> Block:
        points = self.points.detach().double()[places]
        count, dim = points.shape
        inner = min(count - 1, dim)
        turn = Turn.along((points[1:] - points[0]).T.numpy() if inner == count - 1 else np.eye(dim))
        points = turn.forward(points)
        apart = points[:, None, :inner] - points[:, :inner]
        square = apart.square().sum(2)
        slope, bend = (
            sum(torch.exp(-square / (2 * s**2)) / s**p for s in self.scales) / len(self.scales) for p in (2, 4)
        )
        joint = torch.einsum("abi,abj->aibj", -torch.as_tensor(bend)[..., None] * apart, apart).contiguous()
        joint.diagonal(dim1=1, dim2=3).add_(torch.as_tensor(slope)[..., None])
        inside, outside = (
            self._factor(c) for c in (joint.reshape(count * inner, count * inner), torch.as_tensor(slope))
        )
        span = slice(start, start + count * dim)
        return Block(places=places, span=span, turn=turn, points=points, inner=inner, inside=inside, outside=outside)

    def _factor(self, covariance: torch.Tensor) -> torch.Tensor:
        return torch.linalg.cholesky(
            covariance + NUGGET * self.variance * torch.eye(len(covariance), dtype=torch.float64)
        )

    @property
    def variance(self) -> float:
        """Of one coordinate of the path's gradient."""
        return sum(1 / s**2 for s in self.scales) / len(self.scales)

    def shares(self, codes: np.ndarray) -> list[tuple[np.ndarray, slice]]:
        """Rows (n, columns) of each label, and the span of numbers that they add to; all rows where there is none."""
        if self.label is None:
            return [(codes, self.blocks[0].span)]
        return [(codes[codes[:, self.label] == c], block.span) for c, block in enumerate(self.blocks)]

    def numbers(self, rows: torch.Tensor) -> torch.Tensor:
        """What one-hot rows (n, G) of one label add in its span, whitened, float64: of length at most one, but for
        rounding. A row without a group adds nothing."""
        own = rows[:, self.start : self.start + self.classes].double() if self.label is not None else None
        block = self.blocks[0 if own is None else int(own.sum(0).argmax())]
        x, inner = block.turn.forward(rows.double() @ self.coordinates), block.inner
        inside, outside = x[:, None, :inner] - block.points[:, :inner], x[:, inner:] - block.points[0, inner:]
        square = inside.square().sum(2) + outside.square().sum(1, keepdim=True)
        slope = torch.as_tensor(sum(torch.exp(-square / (2 * s**2)) / s**2 for s in self.scales) / len(self.scales))
        if own is not None:
            slope = slope * own.sum(1, keepdim=True)
        within = _solved(block.inside, (slope[..., None] * inside).flatten(1))
        beyond = outside[:, :, None] * _solved(block.outside, slope)[:, None]  # the points agree in these coordinates
        return torch.cat([within, beyond.flatten(1)], dim=1)

    def gradients(self, values: np.ndarray) -> np.ndarray:
        """Whitened numbers (count * d,) back as gradients (count, d) at the points."""
        out = torch.empty(tuple(self.points.shape), dtype=torch.float64)
        for block in self.blocks:
            part, count = torch.from_numpy(values[block.span]), len(block.places)
            within, beyond = part[: count * block.inner], part[count * block.inner :].reshape(-1, count)
            turned = torch.hstack([(block.inside @ within).reshape(count, -1), block.outside @ beyond.T])
            out[block.places] = block.turn.back(turned)
        return out.numpy()


def _solved(factor: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Rows (n, m) times the inverse of the factor's transpose; from the left, where a row's place changes no bit."""
    return torch.linalg.solve_triangular(factor, rows.T, upper=False).T
