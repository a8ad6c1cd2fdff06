"""A model whose rows come from a network itself, each from a draw of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from synth.generators.base import Positions, Repair
from synth.generators.product_mixture.column import Axis
from synth.generators.product_mixture.model import Product

AT_ONCE = 4096  # rows drawn together, each from its own component
STEEPEST = 80.0  # scores further below the highest count as this


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkModel(Product):
    """A mixture over the network's infinitely many draws z; ``weights`` and ``axes`` are a fixed sample of them.

    Rows are drawn from fresh draws; probabilities are the fixed sample's. ``layers``: weights (in, out) and biases
    (out,) of rectified units, the last one's outputs in turn the scores of ``columns``' groups.
    """

    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    columns: tuple[str, ...]

    def sample(
        self,
        num_rows: int,
        *,
        rng: np.random.Generator,
        where: Mapping[str, np.ndarray] | None = None,
        repair: Repair | None = None,
    ) -> Positions:
        """Rows (num_rows,) in random order, each from its own draw, or under a condition from draws that meet it."""
        sizes = [min(AT_ONCE, num_rows - at) for at in range(0, num_rows, AT_ONCE)] or [0]
        parts = [self.fresh(max(n, 1), rng).sample(n, rng=rng, where=where, repair=repair) for n in sizes]
        return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}

    def fresh(self, count: int, rng: np.random.Generator) -> Product:
        """The mixture of ``count`` fresh draws."""
        x = rng.standard_normal((count, len(self.layers[0][0])))
        for weight, bias in self.layers[:-1]:
            x = np.maximum(x @ weight + bias, 0.0)
        scores = x @ self.layers[-1][0] + self.layers[-1][1]
        axes, at = [], 0
        for axis in self.axes:
            probs = np.repeat(axis.probs[:1], count, axis=0)
            if axis.column in self.columns:
                probs = softmax(scores[:, at : at + probs.shape[1]])
                at += probs.shape[1]
            axes.append(replace(axis, probs=probs.astype(np.float32)))
        return Product(total=self.total, weights=np.full(count, 1 / count), axes=tuple(axes))

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """A JSON-able description and the arrays that together rebuild the model."""
        about, arrays = super().state()
        about["network"] = {"columns": list(self.columns), "layers": len(self.layers)}
        for i, (weight, bias) in enumerate(self.layers):
            arrays |= {f"layer{i}.weight": weight, f"layer{i}.bias": bias}
        return about, arrays

    @staticmethod
    def from_state(about: Mapping, arrays: Mapping[str, np.ndarray]) -> "NetworkModel":
        """The model that ``state`` described."""
        layers = [
            (np.asarray(arrays[f"layer{i}.weight"]), np.asarray(arrays[f"layer{i}.bias"]))
            for i in range(int(about["network"]["layers"]))
        ]
        return of(Product.from_state(about, arrays), layers, about["network"]["columns"])


def of(sample: Product, layers, columns) -> NetworkModel:
    """The model of a network, of which ``sample`` holds the fixed draws; axes in the order of the network's heads."""
    axes: tuple[Axis, ...] = sample.axes
    return NetworkModel(
        total=sample.total, weights=sample.weights, axes=axes, layers=tuple(layers), columns=tuple(columns)
    )


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities (n, groups) of scores.

    >>> softmax(np.zeros((1, 2))).tolist()
    [[0.5, 0.5]]
    """
    grown = np.exp(np.maximum(scores - scores.max(1, keepdims=True), -STEEPEST))
    return grown / grown.sum(1, keepdims=True)
