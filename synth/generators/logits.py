"""Classes of many rows from sums of tables: what a model's heads are drawn with where rows are many."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import torch

from synth.generators.bulk import side_by_side

BLOCK = 1 << 14  # rows at a time: their logits stay in the processor's cache
FLOAT = np.float32  # a probability is then off by a millionth of itself
TAME = 60.0  # sums of tables that stay below it in size: their exponentials neither overflow nor vanish


class Logit(Protocol):
    """P(class | row) ~ own**base exp(start_class + the pulls of the row's groups), as ``head.Head`` has it."""

    @property
    def column(self) -> str: ...

    @property
    def start(self) -> np.ndarray: ...

    @property
    def pulls(self) -> Mapping[int, np.ndarray]: ...

    @property
    def base(self) -> float: ...


def draw_many(
    heads: Sequence[Logit],
    probs: Mapping[str, tuple[int, np.ndarray]],
    component: np.ndarray,
    codes: np.ndarray,
    *,
    rng: np.random.Generator,
    least: float,
) -> None:
    """Draws the heads' columns of ``codes`` (n, J) in place, each given those before it; on all processors."""
    laid = Logits(heads, probs, axes=codes.shape[1], least=least)
    parts = [slice(at, at + BLOCK) for at in range(0, len(codes), BLOCK)]
    work = list(zip(parts, rng.spawn(len(parts)), strict=True))
    side_by_side(lambda given: laid.draw(component[given[0]], codes[given[0]], given[1]), work)


class Logits:
    """The tables of ``heads``, laid under each other so that a row's logits are one sum of their rows.

    ``probs``: each head's axis and probabilities (B, C) by component, at least ``least``; ``sizes`` (J,): groups of
    each axis, of those that some head reads.
    """

    def __init__(
        self, heads: Sequence[Logit], probs: Mapping[str, tuple[int, np.ndarray]], *, axes: int, least: float
    ) -> None:
        sizes = np.zeros(axes, dtype=np.int64)
        for head in heads:
            sizes[probs[head.column][0]] = len(head.start)
            for axis, pull in head.pulls.items():
                sizes[axis] = len(pull)
        self._axes = np.flatnonzero(sizes)
        self._ends = np.append(0, np.cumsum(sizes[self._axes]))
        place = {int(axis): slice(a, b) for axis, a, b in zip(self._axes, self._ends[:-1], self._ends[1:], strict=True)}
        self._heads = []
        for head in heads:
            axis, own = probs[head.column]
            table = np.zeros((self._ends[-1] + len(own), len(head.start)), dtype=FLOAT)
            for other, pull in head.pulls.items():
                table[place[other]] = pull
            table[self._ends[-1] :] = head.base * np.log(np.maximum(own, least)) + head.start
            most = np.abs(np.maximum.reduceat(np.abs(table).max(1), self._ends)).sum()
            at = int(np.flatnonzero(self._axes == axis)[0])
            self._heads.append((axis, at, torch.from_numpy(table), bool(most < TAME)))

    def draw(self, component: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> None:
        """Draws the heads' columns of ``codes`` (n, J), in place, each given those before; ``component`` (n,)."""
        where = np.empty((len(codes), len(self._axes) + 1), dtype=np.int32)
        for place, axis in enumerate(self._axes.tolist()):
            np.add(codes[:, axis], int(self._ends[place]), out=where[:, place], casting="unsafe")
        np.add(component, int(self._ends[-1]), out=where[:, -1], casting="unsafe")
        for axis, at, table, tame in self._heads:
            logits = torch.nn.functional.embedding_bag(torch.from_numpy(where), table, mode="sum")
            drawn = _drawn(logits if tame else logits - logits.amax(1, keepdim=True), rng)
            codes[:, axis] = drawn
            where[:, at] = drawn + int(self._ends[at])


def _drawn(logits: torch.Tensor, rng: np.random.Generator) -> np.ndarray:
    """A class for each row (n, C)."""
    run = logits.exp_().cumsum(1)
    even = torch.from_numpy(rng.random(len(run), dtype=FLOAT)) * run[:, -1]
    return torch.searchsorted(run, even[:, None], out_int32=True)[:, 0].numpy()
