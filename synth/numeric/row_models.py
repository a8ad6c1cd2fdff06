"""What the survey's families train on rows, one loss a row: a flow, a denoiser, a transport plan, a classifier.

Torch modules as those of networks.py: weights in the order of ``parameters()``, ``losses`` of one-hot rows (n, G).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from synth.errors import need
from synth.questions.gradients import TRANSFORMS

SLOPE = 0.2  # of rectified units below zero: no unit is ever dead
EDGE = 1e-4  # of the unit interval: the flow's normal scores stay within 3.8


@contextmanager
def undrawn() -> Iterator[None]:
    """Layers draw weights, which are never used, from torch's global generator: it is left as it was."""
    before = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(before)


def spline(features: int, *, hidden: int, knots: int, transforms: int) -> nn.Module:
    """Neural splines from numbers (..., features) to normal scores, one transform after the other.

    Privacy: public only.
    """
    need("a flow of splines", "papers", "zuko")
    import zuko

    with undrawn():
        return zuko.flows.NSF(features, bins=knots, transforms=transforms, hidden_features=(hidden,)).transform


class Flow(nn.Module):
    """A neural spline flow on normal scores: a row's groups are spread over their shares by draws of its own.

    A column whose groups have these very shares is standard normal, so that a flow of weights zero (the identity) is
    the table of independent columns.
    **Source**: Durkan et al., arXiv 1906.04032; under DP-SGD: Waites and Cummings, arXiv 2103.14068 (DP-HFlow).
    """

    places: torch.Tensor

    def __init__(self, sizes: Sequence[int], *, hidden: int, knots: int, shares: np.ndarray) -> None:
        super().__init__()
        self.transform = spline(len(sizes), hidden=hidden, knots=knots, transforms=TRANSFORMS)
        parts = [s / s.sum() for s in np.split(np.asarray(shares, dtype=float), np.cumsum(sizes)[:-1])]
        self.ends = [np.cumsum(p) for p in parts]
        low = np.concatenate([e - p for e, p in zip(self.ends, parts, strict=True)])
        column = np.repeat(np.arange(len(sizes)), sizes)
        places = np.zeros((2, len(column), len(sizes)))
        places[0, np.arange(len(column)), column] = low
        places[1, np.arange(len(column)), column] = np.concatenate(parts)
        self.register_buffer("places", torch.from_numpy(places.astype(np.float32)))

    def forward(self, rows: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
        """Each row's negative log density, but for a constant. Sums over groups have one term: exact."""
        low, wide = rows @ self.places[0], rows @ self.places[1]
        scores = torch.special.ndtri((low + wide * torch.special.ndtr(draws)).clamp(EDGE, 1 - EDGE))
        out, volume = self.transform().call_and_ladj(scores)
        return 0.5 * out.square().sum(-1) - volume

    losses = forward

    def codes(self, draws: torch.Tensor) -> np.ndarray:
        """Groups (n, columns) of rows drawn at standard normal ``draws`` (n, columns)."""
        with torch.no_grad():
            places = torch.special.ndtr(self.transform().inv(draws)).double().numpy()
        results = [np.searchsorted(e[:-1], u, side="right") for e, u in zip(self.ends, places.T, strict=True)]
        return np.stack(results, axis=1)


class Denoiser(nn.Module):
    """From a row with some columns blanked to a distribution for each column: diffusion that absorbs into blanks.

    Each of ``copies`` of a row is blanked at a time of its own, a column with that time as its chance; its loss is that
    of the blanked columns over the time; the copies' mean is the row's, taken before its gradient is clipped.
    **Source**: Austin et al., arXiv 2107.03006, section 3.1 (absorbing); copies: Dockhorn et al., arXiv 2210.09929,
    equation 8 (noise multiplicity).
    """

    def __init__(self, sizes: Sequence[int], *, hidden: int, copies: int) -> None:
        super().__init__()
        groups = sum(sizes)
        self.sizes, self.copies = list(sizes), copies
        self.layers = nn.Sequential(
            nn.Linear(groups, hidden),
            nn.LeakyReLU(SLOPE),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(SLOPE),
            nn.Linear(hidden, groups),
        )
        self.register_buffer("column", torch.as_tensor(np.repeat(np.arange(len(sizes)), sizes)))

    def losses(self, rows: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
        """Each row's mean loss over its copies; ``draws`` (n, copies * (columns + 1)), standard normal."""
        chances = torch.special.ndtr(draws).reshape(len(rows), self.copies, len(self.sizes) + 1)
        time = chances[:, :, :1].clamp(min=1 / len(self.sizes))
        blank = (chances[:, :, 1:] < time).to(rows.dtype)
        whole = rows[:, None, :].expand(-1, self.copies, -1)
        seen = whole * (1 - blank.index_select(2, self.column))
        misfit = torch.stack(
            [
                -(w * nn.functional.log_softmax(head, dim=2)).sum(2)
                for head, w in zip(
                    self.layers(seen).split(self.sizes, dim=2), whole.split(self.sizes, dim=2), strict=True
                )
            ],
            dim=2,
        )
        return (misfit * blank / time).sum(2).mean(1)

    def filled(self, rows: torch.Tensor) -> torch.Tensor:
        """Distributions (n, G) of every column, given rows with blanks."""
        return torch.cat([torch.softmax(h, dim=1) for h in self.layers(rows).split(self.sizes, dim=1)], dim=1)


class Transport(nn.Module):
    """Public generated rows and their prices: a row's cost of getting to them, by entropic optimal transport.

    Weights: ``rows`` (count, G), soft, and ``prices`` (count,), the dual potential on the generated side. Given both, a
    row's plan and cost are its own: the Sinkhorn loss, minimised over the rows' side, is a sum over rows.
    **Source**: Cao et al., arXiv 2111.01177 (DP-Sinkhorn); semi-dual: Genevay et al., arXiv 1605.08527, equation 7.
    """

    def __init__(self, groups: int, *, count: int, blur: float) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.empty(count, groups))
        self.prices = nn.Parameter(torch.empty(count))
        self.blur = blur

    def forward(self, rows: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        """Each row's cost, blurred: half squared distances less prices."""
        apart = 0.5 * (rows[..., None, :] - self.rows).square().sum(-1)
        return -self.blur * torch.logsumexp((self.prices - apart) / self.blur, dim=-1)

    losses = forward


class Classifier(nn.Module):
    """From all columns but the target to a distribution of the target."""

    def __init__(self, sizes: Sequence[int], *, hidden: int, target: int) -> None:
        super().__init__()
        start = sum(sizes[:target])
        self.where = slice(start, start + sizes[target])
        self.layers = nn.Sequential(
            nn.Linear(sum(sizes) - sizes[target], hidden), nn.LeakyReLU(SLOPE), nn.Linear(hidden, sizes[target])
        )

    def losses(self, rows: torch.Tensor, draws: torch.Tensor | None) -> torch.Tensor:  # noqa: ARG002
        """Each row's cross-entropy; soft rows have soft targets."""
        others = torch.cat([rows[:, : self.where.start], rows[:, self.where.stop :]], dim=1)
        return -(rows[:, self.where] * nn.functional.log_softmax(self.layers(others), dim=1)).sum(1)
