"""Rows of a mixture given some of their columns, row by row: the others are drawn from what the mixture says of them.

Of each row the component is drawn by how well it explains what is given; inside it the other columns are independent,
in even proportion as they are without anything given. Columns of logits are drawn last, given all others.

Privacy: released answers and public columns only.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synth.generators.base import Positions, Repair
from synth.generators.product_mixture.conditional_logit import draw_in_turn
from synth.generators.product_mixture.model import Product
from synth.generators.product_mixture.systematic_sampling import Inside, even_codes

TOGETHER = 1 << 23  # entries of a table of contexts by components that is held at a time
TINY = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """A model whose rows have the ``given`` columns, positions (n,) each, in their order."""

    model: Product
    given: Mapping[str, np.ndarray]

    def sample(self, start: int, size: int, *, rng: np.random.Generator, repair: Repair | None = None) -> Positions:
        """Rows ``start`` ... ``start + size`` - 1, not rearranged; ``repair`` changes no given column.

        Errors: KeyError for a given column that the model has not.
        """
        model = self.model
        given = {n: p[start : start + size] for n, p in self.given.items()}
        at = {a.column: j for j, a in enumerate(model.axes)}
        own = {n: _groups(model, at[n], p) for n, p in given.items()}
        component = self._components(np.stack([own[n] for n in given], axis=1), [at[n] for n in given], rng)
        order = np.argsort(component, kind="stable")
        probs = [a.probs.astype(float) for a in model.axes]
        probs = [p / np.maximum(p.sum(1, keepdims=True), TINY) for p in probs]
        codes = np.empty((size, len(model.axes)), dtype=np.int64)
        codes[order] = even_codes(np.bincount(component, minlength=len(model.weights)), probs, rng)
        for name, groups in own.items():
            codes[:, at[name]] = groups
        logits = tuple(c for c in model.conditionals if c.column not in given)
        draw_in_turn(logits, model.probs, component, codes, rng=rng)
        rows = {
            a.column: given[a.column]
            if a.column in given
            else a.draw(codes[:, j], a.within, Inside(starts=a.starts, counts=a.widths), rng)
            for j, a in enumerate(model.axes)
        }
        if repair is not None:
            rows = {n: p.copy() for n, p in rows.items()}
            repair(rows, model.redrawing(component, rng))
            rows |= given
        return rows

    def _components(self, groups: np.ndarray, axes: list[int], rng: np.random.Generator) -> np.ndarray:
        """A component for each row (n, given columns), in even proportion among rows that are alike."""
        contexts, which = np.unique(groups, axis=0, return_inverse=True)
        which = np.asarray(which).reshape(-1)
        weights = np.log(np.maximum(self.model.weights.astype(float), 1e-300))
        tables = [np.log(np.maximum(self.model.axes[j].probs.astype(float), 1e-30)) for j in axes]
        even = _evenly(which, len(contexts), rng)
        out = np.empty(len(groups), dtype=np.int64)
        by_context = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(contexts)))
        step = max(1, TOGETHER // len(weights))
        for first in range(0, len(contexts), step):
            part = contexts[first : first + step]
            logits = weights + sum(t[:, part[:, k]].T for k, t in enumerate(tables))
            law = np.exp(logits - logits.max(1, keepdims=True))
            run = np.cumsum(law, axis=1)
            run /= run[:, -1:]
            at = by_context[ends[first - 1] if first else 0 : ends[min(first + step, len(contexts)) - 1]]
            for block in np.array_split(at, max(1, len(at) * len(weights) // TOGETHER)):
                result = (run[which[block] - first] < even[block, None]).sum(1)
                out[block] = np.minimum(result, len(weights) - 1)
        return out


def _groups(model: Product, axis: int, positions: np.ndarray) -> np.ndarray:
    a = model.axes[axis]
    return a.groups[np.searchsorted(a.starts, positions, side="right") - 1]


def _evenly(which: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """A uniform number for each row; those of rows that are alike lie evenly, in random order."""
    order = np.lexsort((rng.random(len(which)), which))
    sizes = np.bincount(which, minlength=count)
    begins = np.cumsum(sizes) - sizes
    out = np.empty(len(which))
    out[order] = np.arange(len(which)) - begins[which[order]]
    return (out + rng.random(count)[which]) / sizes[which]
