"""Several nested mixtures as one: a root is drawn from one of them, and all below it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synth.generators.nested_mixture.model import NestedMixture
from synth.generators.product_mixture.model import Product


def joined(models: Sequence[NestedMixture]) -> NestedMixture:
    """The mixture in equal parts of models of the same tables and columns, each with as many components.

    Components of the first model's tables come first, then the second's. Privacy: released answers only.
    """
    first, many = models[0], len(models)
    if many == 1:
        return first
    return replace(
        first,
        tables={t: _product([m.tables[t] for m in models]) for t in first.tables},
        states={t: np.concatenate([m.states[t] for m in models]) for t in first.states},
        later={t: np.concatenate([m.later[t] for m in models], axis=1) for t in first.later},
        last={t: np.concatenate([m.last[t] for m in models]) for t in first.last},
        direct={t: _product([m.direct[t] for m in models]) for t in first.direct},
        lean={t: np.repeat([m.lean[t] for m in models], len(first.states[t]), axis=0) for t in first.lean},
        keep={t: np.concatenate([m.keep[t] for m in models]) for t in first.keep},
        again={t: np.repeat([m.again[t] for m in models], len(first.states[t]), axis=0) for t in first.again},
        lasting={t: np.repeat([m.lasting[t] for m in models], len(first.states[t]), axis=0) for t in first.lasting},
        shared={t: np.repeat([m.shared[t] for m in models], len(first.states[t]), axis=0) for t in first.shared},
    )


def _product(products: Sequence[Product]) -> Product:
    """The mixture in equal parts."""
    axes = tuple(
        replace(a, probs=np.concatenate([p.axes[j].probs for p in products])) for j, a in enumerate(products[0].axes)
    )
    total = float(np.mean([p.total for p in products]))
    return Product(total=total, weights=np.concatenate([p.weights for p in products]) / len(products), axes=axes)
