"""What a nested mixture is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from synth.generators.product_mixture.model import Product
from synth.schema.dataset import Dataset


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """A mixture over roots as arrays; ``tables``: each table's components and columns.

    ``states`` (C_parent, C): chances of a child's component, the first one's; ``later`` (R, C_parent, C), of the
    second, the third, ..., one for all after it; where rows are in no order, these are dealt by chance; ``last``
    (C_parent, C), of the last event or the only one, where it has chances of its own. Of several mixtures in one
    (``joined.py``) these are (C_parent, C / several): chances of the components of the parent's own mixture.
    ``direct``: columns as the parent's components have them; ``lean`` (J,) or (C_parent, J): the part of each column
    drawn from these; ``shared``, as ``lean``: of that part what is one value for all rows of a parent.
    ``keep`` (C_parent,): of long histories in order the chance that a row has the component of the row before, as far
    as both places' chances allow; ``again``, as ``lean``: then a column that follows the row's own component repeats
    its value; ``lasting``, as ``lean``: the chance that a value shared by rows lasts to the next one, else all of them
    have it; where it is stated a column follows ``direct`` in all rows of a parent or in none.
    Models of before components were shared are of as many mixtures as the parent has components, with ``turns``
    (C_parent, S, S), from one event to the next.
    """

    schema: Dataset
    tables: Mapping[str, Product]
    states: Mapping[str, np.ndarray]
    later: Mapping[str, np.ndarray] = field(default_factory=dict)
    last: Mapping[str, np.ndarray] = field(default_factory=dict)
    direct: Mapping[str, Product] = field(default_factory=dict)
    lean: Mapping[str, np.ndarray] = field(default_factory=dict)
    shared: Mapping[str, np.ndarray] = field(default_factory=dict)
    keep: Mapping[str, np.ndarray] = field(default_factory=dict)
    again: Mapping[str, np.ndarray] = field(default_factory=dict)
    lasting: Mapping[str, np.ndarray] = field(default_factory=dict)
    turns: Mapping[str, np.ndarray] = field(default_factory=dict)
