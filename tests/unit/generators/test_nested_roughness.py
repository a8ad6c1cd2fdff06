"""Smooth components of related tables: which bins are neighbours, and what uneven ones cost."""

import numpy as np
import pytest
import torch

from synth.generators.core.columns import Histogram
from synth.generators.core.related_fit import Roughness, TreeFit
from synth.generators.core.related_levels import Logits, levels
from synth.generators.core.related_tables import Known
from synth.schema.dataset import number_of
from tests.unit.generators.helpers import related

SCHEMA = related({"y": {"type": "integer", "min": 0, "max": 15}}, most=7)
GROUPS = np.repeat(np.arange(8), 2)  # of the sixteen numbers


def reported(column, mass, groups):
    result = Histogram(column=column, cells=len(mass), starts=np.arange(len(mass)), mass=mass, sigma=1.0)
    return {column: result}, {column: groups}


def known():
    """The root: a flag and the number of children; the child: a number in bins of two."""
    flag, number = reported("x", np.ones(2), np.arange(2)), reported(number_of("c"), np.ones(8), np.arange(8))
    own = reported("y", 1.0 + np.arange(16) % 5, GROUPS)
    return {
        "p": Known(total=16.0, histograms=flag[0] | number[0], groups=flag[1] | number[1]),
        "c": Known(total=16.0, histograms=own[0], groups=own[1]),
    }


def laid(ours, theirs):
    """The roughness of a model of which the child's components (C, 8) are told, as densities over the column's."""
    facts = known()
    trees = TreeFit(schema=SCHEMA, known=facts)
    columns = trees.columns
    real = {t: trees.real(trees.centre(t)) for t in facts}
    wide, narrow = (real["c"] + torch.as_tensor(x, dtype=torch.float32) for x in (ours, theirs))
    state = torch.tensor([[0.0, 1.0, -1.0], [0.5, 0.0, 0.0]])
    logits = {
        "p": Logits(columns=real["p"].repeat(2, 1), state=torch.tensor([[0.3, 0.0]])),
        "c": Logits(columns=wide, state=state, direct=narrow, lean=torch.zeros(1), shared=torch.zeros(1)),
    }
    result = levels(SCHEMA, columns, logits)
    uneven = Roughness.of(SCHEMA, facts, columns, "cpu")
    return uneven, result, float(uneven(result, real))


def test_numbers_have_neighbours_and_counted_children_and_flags_have_none():
    """The number of children has eight bins, each a value of its own; a flag's two are no scale."""
    uneven, _, _ = laid(np.zeros((3, 8)), np.zeros((2, 8)))
    assert set(uneven.three) == {"c"}
    assert uneven.three["c"].tolist() == [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6], [2, 3, 4, 5, 6, 7]]


def test_components_that_rise_or_fall_evenly_cost_nothing():
    """Whatever the column's own bins are: only what a component has beside them must be even."""
    slopes = np.array([[-0.5], [0.0], [0.3]]) * np.arange(8)
    _, _, cost = laid(slopes, slopes[:2])
    assert cost == pytest.approx(0, abs=1e-5)


def test_bends_cost_as_much_as_the_components_weigh():
    """Against the same sum written as a loop."""
    rng = np.random.default_rng(3)
    ours, theirs = rng.standard_normal((3, 8)), rng.standard_normal((2, 8))
    _, result, cost = laid(ours, theirs)
    share = np.bincount(GROUPS, weights=known()["c"].histograms["y"].mass)
    share, whole = share / share.sum(), 0.0
    for bends, weights in ((ours, result["c"].weights), (theirs, result["c"].mass.sum(1))):
        for component, weight in zip(bends, weights.tolist(), strict=True):
            for k in range(6):
                low, middle, high = component[k : k + 3]
                whole += weight * np.prod(share[k : k + 3]) ** (1 / 3) * (low + high - 2 * middle) ** 2 / 2
    assert cost == pytest.approx(whole, rel=1e-4)
