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
from scipy.linalg.lapack import dtrtri
from torch import nn

from synth.questions.gradients import Descent

NUGGET = 1e-4  # of a gradient's variance, on the diagonal: points may coincide


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Points of one label: their ``places`` among all, an orthogonal ``turn`` of which the first ``inner`` columns span
    their differences, lower factors of the covariance inside (m inner) and outside (m), and the factors' inverses."""

    places: np.ndarray
    turn: "Turn"
    inner: int
    inside: np.ndarray
    outside: np.ndarray
    inverses: tuple[torch.Tensor, torch.Tensor]


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

    def back(self, x: np.ndarray) -> np.ndarray:
        """x Q', of rows x (n, d)."""
        v, t = self.v.numpy(), self.t.numpy()
        return x - ((x @ v) @ t.T) @ v.T


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
        whole, labels = self.points.detach().double().numpy(), self.labels()
        self.blocks = [
            self._factorised(whole, np.flatnonzero(labels == c)) for c in range(self.classes) if (labels == c).any()
        ]

    def _factorised(self, whole: np.ndarray, places: np.ndarray) -> Block:
        points = whole[places]
        count, dim = points.shape
        inner = min(count - 1, dim)
        turn = Turn.along((points[1:] - points[0]).T if inner == count - 1 else np.eye(dim))
        apart = turn.forward(torch.from_numpy(points[:, None] - points)).numpy()[..., :inner]
        square = ((points[:, None] - points) ** 2).sum(2)
        slope, bend = (sum(np.exp(-square / (2 * s**2)) / s**p for s in self.scales) / len(self.scales) for p in (2, 4))
        joint = slope[:, None, :, None] * np.eye(inner)[:, None, :]
        joint = joint - (bend[..., None, None] * apart[..., :, None] * apart[..., None, :]).transpose(0, 2, 1, 3)
        factors = [_factor(c, self.variance) for c in (joint.reshape(count * inner, count * inner), slope)]
        inverses = [torch.from_numpy(np.ascontiguousarray(dtrtri(f, lower=1)[0])) for f in factors]
        return Block(
            places=places,
            turn=turn,
            inner=inner,
            inside=factors[0],
            outside=factors[1],
            inverses=(inverses[0], inverses[1]),
        )

    @property
    def variance(self) -> float:
        """Of one coordinate of the path's gradient."""
        return sum(1 / s**2 for s in self.scales) / len(self.scales)

    def numbers(self, rows: torch.Tensor) -> torch.Tensor:
        """What one-hot rows (n, G) add, whitened, float64 (n, count * d): of length at most one, but for rounding."""
        x = rows.double() @ self.coordinates
        return torch.cat([self._whitened(b, self._pull(b, x, rows)) for b in self.blocks], dim=1)

    def _pull(self, block: Block, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Gradients (n, m, d) of the rows' kernels at a block's points."""
        apart = x[:, None] - self.points.detach().double()[block.places]
        square = apart.square().sum(2)
        slope = sum(torch.exp(-square / (2 * s**2)) / s**2 for s in self.scales) / len(self.scales)
        if self.label is not None:
            slope = slope * rows[:, self.start + int(block.places[0]) % self.classes, None].double()
        return torch.as_tensor(slope)[..., None] * apart

    def _whitened(self, block: Block, pull: torch.Tensor) -> torch.Tensor:
        turned = block.turn.forward(pull)
        inside, outside = turned[..., : block.inner].flatten(1), turned[..., block.inner :].transpose(1, 2)
        parts = [inside @ block.inverses[0].T, (outside @ block.inverses[1].T).flatten(1)]
        return torch.cat(parts, dim=1)

    def gradients(self, values: np.ndarray) -> np.ndarray:
        """Whitened numbers (count * d,) back as gradients (count, d) at the points."""
        out, at = np.empty(tuple(self.points.shape)), 0
        for block in self.blocks:
            count, dim = len(block.places), out.shape[1]
            part = values[at : at + count * dim]
            at += count * dim
            turned = np.empty((count, dim))
            turned[:, : block.inner] = (block.inside @ part[: count * block.inner]).reshape(count, -1)
            turned[:, block.inner :] = (part[count * block.inner :].reshape(-1, count) @ block.outside.T).T
            out[block.places] = block.turn.back(turned)
        return out


def _factor(covariance: np.ndarray, variance: float) -> np.ndarray:
    return np.linalg.cholesky(covariance + NUGGET * variance * np.eye(len(covariance)))
