"""Whether a stored model's arrays fit together: their shapes, their order, their numbers.

The hash in model.json finds damage; a file without one, or made by another program, is found here, before a row is
drawn from it.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from synth.errors import InputError
from synth.generators.product_mixture.column import Axis
from synth.generators.product_mixture.conditional_logit import ConditionalLogit
from synth.generators.product_mixture.model import Product
from synth.numeric.disk_array import chunks


def check(model: Product) -> None:
    """Errors: InputError naming the column and the array that is at fault; no number of it."""
    for problem in problems(model):
        raise InputError(f"the model is damaged: {problem}; make it again or use another copy")


def check_numbers(arrays: Mapping[str, np.ndarray], *, what: str) -> None:
    """Refuses arrays that hold NaN, which no answer is. Errors: InputError."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and any(bool(np.isnan(piece).any()) for piece in chunks(array)):
            raise InputError(f"the {what} is damaged: its array {name} holds NaN; make it again or use another copy")


def problems(model: Product) -> Iterator[str]:
    """Yields a sentence for each part that does not fit; ``state`` in generators/model.py tells the shapes."""
    if model.weights.ndim != 1 or not len(model.weights) or not _finite(model.weights):
        yield "its weights must be a list of finite numbers"
    if not np.isfinite(model.total):
        yield "its total must be a finite number"
    for axis in model.axes:
        for problem in _axis(axis, len(model.weights)):
            yield f"column {axis.column}: {problem}"
    for (i, j), never in model.barred.items():
        if never.shape != (model.axes[i].probs.shape[1], model.axes[j].probs.shape[1]):
            yield f"column {model.axes[i].column}: its barred pairs do not have the shape of its groups"
    for conditional in model.conditionals:
        for problem in _conditional(conditional, model):
            yield f"column {conditional.column}: {problem}"


def _axis(axis: Axis, components: int) -> Iterator[str]:
    leaves = len(axis.starts) if axis.starts.ndim == 1 else 0
    for name in ("starts", "groups", "within"):
        if not leaves or getattr(axis, name).shape != (leaves,):
            yield f"{name} must have an entry for each leaf"
            return
    if axis.probs.ndim != 2 or len(axis.probs) != components:
        yield "probs must have a line for each of the model's weights"
    elif not (_finite(axis.probs) and _finite(axis.within)):
        yield "probs and within must be finite numbers"
    elif axis.starts.dtype.kind not in "iu" or axis.groups.dtype.kind not in "iu":
        yield "starts and groups must be whole numbers"
    elif axis.starts[0] != 0 or axis.starts[-1] >= axis.cells or bool((axis.starts[1:] <= axis.starts[:-1]).any()):
        yield "starts must rise from 0 and stay below its cells"
    elif axis.groups.min() < 0 or axis.groups.max() >= axis.probs.shape[1]:
        yield "groups must be columns of probs"


def _conditional(conditional: ConditionalLogit, model: Product) -> Iterator[str]:
    groups = {i: a.probs.shape[-1] for i, a in enumerate(model.axes)}
    classes = next((groups[i] for i, a in enumerate(model.axes) if a.column == conditional.column), None)
    pulls = {(i,): pull for i, pull in conditional.pulls.items()} | dict(conditional.joint)
    shaped = conditional.start.shape == (classes,) and all(
        groups.keys() >= set(axes) and pull.shape == (*(groups[i] for i in axes), classes)
        for axes, pull in pulls.items()
    )
    if not shaped:
        yield "the arrays of its conditional do not have the shapes of its classes and groups"
    elif not (_finite(conditional.start) and all(_finite(p) for p in pulls.values()) and np.isfinite(conditional.base)):
        yield "its conditional must be of finite numbers"


def _finite(array: np.ndarray) -> bool:
    return array.dtype.kind in "fiu" and bool(np.isfinite(array).all())
