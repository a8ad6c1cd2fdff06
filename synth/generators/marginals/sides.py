"""One side of a table's matrix: views of columns, or products of two columns' views, in runs that need no index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from synth.lazy import Lazy

if TYPE_CHECKING:
    import torch
else:
    torch = Lazy("torch")

MOST_RUNS = 32  # runs of plain views, above which an index is cheaper


class Buffers:
    """Memory that is used again at every step: fresh pages cost more than the products that fill them."""

    def __init__(self) -> None:
        self.held: dict[str, torch.Tensor] = {}

    def get(self, name: str, like: torch.Tensor, *shape: int) -> torch.Tensor:
        """Uninitialised numbers of this shape, valid until the name is asked for again."""
        count = prod(shape)
        held = self.held.get(name)
        if held is None or held.numel() < count:
            held = self.held[name] = like.new_empty(count)
        return held[:count].view(shape)


@dataclass(frozen=True)
class RowSpan:
    """Rows ``start`` to ``end`` of a side: views from ``left`` on, each times all ``many`` from ``right`` on."""

    start: int
    end: int
    left: int
    right: int = -1
    many: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """How many views of the left column, and of the right one."""
        return (self.end - self.start) // self.many, self.many


class Side:
    """The views that a matrix's rows, or columns, stand for. Numbers are (E, views, B): ensembles, components.

    ``index`` (R,): views; from ``plain`` on the joint ones, products of views ``joint[0]`` and ``joint[1]``.
    Privacy: public only.
    """

    def __init__(self, index: np.ndarray, plain: int, joint: np.ndarray, device: str):
        self.size, self.joint = len(index), bool((index >= plain).any())
        runs = list(_runs(index, plain, joint))
        loose = not self.joint and len(runs) > MOST_RUNS
        self.runs = [] if loose else runs
        self.index = torch.as_tensor(np.ascontiguousarray(index), device=device) if loose else None

    def of(self, first: torch.Tensor, second: torch.Tensor, name: str, buffers: Buffers) -> torch.Tensor:
        """The side's numbers (E, R, B), from those of the plain views (E, V, B): ``first``, of joint ones times
        ``second``. Not to be written to: they may be the views themselves.
        """
        if self.index is None and len(self.runs) == 1 and self.runs[0].right < 0:
            return first[:, self.runs[0].left : self.runs[0].left + self.size]
        out = buffers.get(name, first, len(first), self.size, first.shape[2])
        if self.index is not None:
            return torch.index_select(first, 1, self.index, out=out)
        for run in self.runs:
            rows, (left, right) = out[:, run.start : run.end], run.shape
            own = first[:, run.left : run.left + left]
            if run.right < 0:
                rows.copy_(own)
            else:
                other = second[:, run.right : run.right + right]
                torch.mul(own[:, :, None], other[:, None], out=rows.unflatten(1, run.shape))
        return out

    def back(
        self,
        gradient: torch.Tensor,
        first: torch.Tensor,
        second: torch.Tensor,
        by_first: torch.Tensor,
        by_second: torch.Tensor,
        buffers: Buffers,
    ) -> None:
        """Adds to the gradients by the plain views of ``of`` what follows from the one by this side's numbers."""
        if self.index is not None:
            by_first.index_add_(1, self.index, gradient)
            return
        for run in self.runs:
            rows, (left, right) = gradient[:, run.start : run.end], run.shape
            one = slice(run.left, run.left + left)
            if run.right < 0:
                by_first[:, one] += rows
                continue
            other = slice(run.right, run.right + right)
            rows = rows.unflatten(1, run.shape)
            product = buffers.get("product", rows, *rows.shape)
            by_first[:, one] += torch.mul(rows, second[:, None, other], out=product).sum(2)
            by_second[:, other] += torch.mul(rows, first[:, one, None], out=product).sum(1)


def _runs(index: np.ndarray, plain: int, joint: np.ndarray) -> Iterator[RowSpan]:
    """The fewest runs, from the first row on.

    >>> joint = np.array([[0, 0, 1, 1], [2, 3, 2, 3]])
    >>> [(r.start, r.end, r.left, r.right, r.many) for r in _runs(np.array([1, 2, 4, 5, 6, 7]), 4, joint)]
    [(0, 2, 1, -1, 1), (2, 6, 0, 2, 2)]
    """
    left = np.where(index < plain, index, joint[0, np.maximum(index - plain, 0)] if joint.size else index)
    right = np.where(index < plain, -1, joint[1, np.maximum(index - plain, 0)] if joint.size else index)
    start = 0
    while start < len(index):
        if right[start] < 0:
            end = start + _agreeing((right[start:] < 0) & (left[start:] == left[start] + np.arange(len(left) - start)))
            yield RowSpan(start, end, int(left[start]))
            start = end
            continue
        steps = np.arange(len(index) - start)
        many = _agreeing((left[start:] == left[start]) & (right[start:] == right[start] + steps))
        same = (left[start:] == left[start] + steps // many) & (right[start:] == right[start] + steps % many)
        whole = _agreeing(same) // many * many
        yield RowSpan(start, start + whole, int(left[start]), int(right[start]), many)
        start += whole


def _agreeing(same: np.ndarray) -> int:
    """How many are true before the first that is not."""
    return int(np.argmin(same)) if not same.all() else len(same)
