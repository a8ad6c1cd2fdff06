"""Columns drawn again, each from a logit of others, in place of a mixture's component: a model's conditionals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from synth.generators.product_mixture.bulk_logits import draw_many
from synth.generators.product_mixture.bulk_sampling import side_by_side

BASE = 0.75  # power of the component's own probabilities that the logit of a target starts from
ROWS_AT_A_TIME = 1 << 16  # rows at a time
MANY = 200_000  # rows that need not be sorted for even proportions
LEAST_PROBABILITY = 1e-6  # a component's smallest probability of a class


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionalLogit:
    """P(class | row) ~ p(class | component)**base exp(start_class + sum of the pulls of the row's groups).

    ``start`` (C,); ``pulls``: (G, C) of each group of the axes, by number, that tell of the class; ``joint``:
    (G, H, ..., C) of the groups of several axes together.
    """

    column: str
    start: np.ndarray
    pulls: Mapping[int, np.ndarray]
    base: float = BASE
    joint: Mapping[tuple[int, ...], np.ndarray] = field(default_factory=dict)

    @property
    def read(self) -> frozenset[int]:
        """The axes that tell of the class."""
        return frozenset(self.pulls).union(*self.joint)

    def probabilities(self, codes: np.ndarray, own: np.ndarray) -> np.ndarray:
        """(n, C) of rows with group ``codes`` (n, J), whose components give the classes ``own`` (n, C)."""
        logits = self.base * np.log(np.maximum(own, LEAST_PROBABILITY)) + self.start
        logits -= logits[:, :1]  # all relative to the first class
        for c in range(1, own.shape[1]):
            for j, pull in self.pulls.items():
                logits[:, c] += (pull[:, c] - pull[:, 0])[codes[:, j]]
            for axes, pull in self.joint.items():
                logits[:, c] += (pull[..., c] - pull[..., 0])[tuple(codes[:, axes].T)]
        grown = np.exp(logits - logits.max(1, keepdims=True))
        return grown / grown.sum(1, keepdims=True)

    def order(self, codes: np.ndarray) -> np.ndarray:
        """Rows (n,) sorted by their group on the axis that tells most of the class, then on the next one, and so on."""
        released = sorted(
            self.pulls, key=lambda j: float((self.pulls[j] - self.pulls[j].mean(1, keepdims=True)).var(0).sum())
        )
        return np.lexsort([codes[:, j] for j in released or sorted(self.read)])


def draw_in_turn(
    conditionals: Sequence[ConditionalLogit],
    probs: Mapping[str, tuple[int, np.ndarray]],
    component: np.ndarray,
    codes: np.ndarray,
    *,
    rng: np.random.Generator,
    allowed: Mapping[str, np.ndarray] | None = None,
) -> np.ndarray:
    """Draws each logit's column in ``codes`` (n, J) anew, given those drawn before; the chances (n,) of the condition.

    ``probs``: each column's axis and probabilities (B, C) by component. ``allowed``: under a condition on a logit's
    column the part (C,) of each class that meets it; classes are drawn within it, and the chance is that of meeting it.
    """
    limits = allowed or {}

    def block(given: tuple[slice, np.random.Generator]) -> np.ndarray:
        part, own = given
        chance = np.ones(len(component[part]))
        for conditional in conditionals:
            at, table = probs[conditional.column]
            law = conditional.probabilities(codes[part], table[component[part]])
            if conditional.column in limits:
                law *= limits[conditional.column]
                met = law.sum(1)
                chance *= met
                law /= np.maximum(met, 1e-300)[:, None]
            order = conditional.order(codes[part]) if len(codes) < MANY else None
            codes[part, at] = draw(law, own, order=order)
        return chance

    if len(codes) < MANY:
        return block((slice(None), rng))
    if not limits:
        draw_many(conditionals, probs, component, codes, rng=rng, least=LEAST_PROBABILITY)
        return np.ones(len(codes))
    parts = [slice(at, at + ROWS_AT_A_TIME) for at in range(0, len(codes), ROWS_AT_A_TIME)]
    return np.concatenate(side_by_side(block, zip(parts, rng.spawn(len(parts)), strict=True)))


def draw(probs: np.ndarray, rng: np.random.Generator, *, order: np.ndarray | None = None) -> np.ndarray:
    """A class for each row of ``probs`` (n, C), (n,); with an ``order`` (n,) in even proportion along it.

    Evenly: class after class, systematic samples of the rows that are left.
    """
    drawn = np.zeros(len(probs), dtype=np.int64)
    if order is None:
        run, even = np.zeros(len(probs)), rng.random(len(probs))
        for c in range(probs.shape[1] - 1):
            run += probs[:, c]
            drawn += even > run
        return drawn
    rows, rest = order, np.ones(len(probs))
    for c in range(probs.shape[1] - 1):
        chance = probs[rows, c] / np.maximum(rest[rows], 1e-12)
        taken = np.diff(np.floor(np.cumsum(np.minimum(chance, 1.0)) + rng.random()), prepend=0.0) > 0
        drawn[rows[taken]] = c
        rows = rows[~taken]
        rest -= probs[:, c]
    drawn[rows] = probs.shape[1] - 1
    return drawn
