"""The tables that a nested mixture implies, against sums over all its trees, one by one."""

from itertools import product

import numpy as np
import pytest
import torch

from synth.generators.nested_mixture.closed_form import Columns, Logits, across, levels, own, paired
from synth.schema import related

FLAG = {"type": "boolean", "categories": ["0", "1"]}
MOST = 3


def schema(order):
    key = {"parent": "c", "child": "g", "columns": ["cid"], "most_children": 2}
    keys = [{"parent": "p", "child": "c", "columns": ["id"], "most_children": MOST, "order": order}, key]
    tables = {
        "p": {"columns": {"id": {"type": "identifier"}, "x": FLAG}},
        "c": {"columns": {"id": {"type": "identifier"}, "cid": {"type": "identifier"}, "y": FLAG}},
        "g": {"columns": {"cid": {"type": "identifier"}, "z": FLAG}},
    }
    return related.parse({"tables": tables, "keys": keys})


SIZES = {"p": {"x": 2, "number of c": MOST + 1}, "c": {"y": 2, "number of g": 3}, "g": {"z": 2}}
PARENTS = {"p": 1, "c": 2, "g": 4}


def setting(order):
    facts = schema(order)
    columns = {}
    for table, sizes in SIZES.items():
        ends = np.cumsum([0, *sizes.values()])
        slices = {n: slice(int(a), int(b)) for n, a, b in zip(sizes, ends, ends[1:], strict=False)}
        columns[table] = Columns(slices=slices, size=int(ends[-1]))
    rng = np.random.default_rng(3)

    def drawn(*shape):
        return torch.as_tensor(rng.standard_normal(shape))

    logits = {
        t: Logits(columns=drawn(PARENTS[t] * 2, columns[t].size), state=drawn(PARENTS[t], 2),
                  turn=drawn(2, 2, 2) if order and t == "c" else None)
        for t in SIZES
    }  # fmt: skip
    return facts, columns, levels(facts, columns, logits)


def walks(level, z, many):
    """Every sequence of children's components of root component z, with its chance."""
    state = level.state.numpy()[z]
    for states in product(range(2), repeat=many):
        chance = 1.0
        for t, s in enumerate(states):
            free = level.turn is None or t == 0
            chance *= state[s] if free else level.turn.numpy()[z, states[t - 1], s]
        yield chance, [z * 2 + s for s in states]


@pytest.mark.parametrize("order", [None, "cid"], ids=["siblings", "events"])
def test_tables_of_children_are_sums_over_all_trees(order):
    facts, columns, found = setting(order)
    p, c, g = (found[t].probs.numpy() for t in "pcg")
    number = p[:, columns["p"].slices["number of c"]]
    below = c[:, columns["c"].slices["number of g"]]
    rows, pairs, first = np.zeros((5, 5)), np.zeros((5, 5)), np.zeros(5)
    upper, lower, deep = np.zeros((5, 6)), np.zeros((2, 5)), np.zeros((2, 6))
    for z, weight in enumerate(found["p"].weights.numpy()):
        for many in range(1, MOST + 1):
            alone = np.concatenate([p[z, :2], np.eye(MOST + 1)[many]])  # the root's columns, given its children
            for chance, states in walks(found["c"], z, many):
                mass = weight * number[z, many] * chance
                first += mass * c[states[0]]
                for s in states:
                    rows += mass / many * np.outer(c[s], c[s])
                    upper += mass / many * np.outer(c[s], alone)
                    for m in (1, 2):
                        for v, share in enumerate(found["g"].state.numpy()[s]):
                            part = mass / many * below[s, m] * share
                            middle = np.concatenate([c[s, :2], np.eye(3)[m]])
                            lower += part * np.outer(g[2 * s + v], middle)
                            deep += part * np.outer(g[2 * s + v], alone)
                ordered = range(many - 1)
                if order:
                    for t in ordered:
                        pairs += mass / (many - 1) * np.outer(c[states[t]], c[states[t + 1]])
                elif many > 1:
                    for a, b in product(range(many), repeat=2):
                        pairs += mass / (many * (many - 1)) * np.outer(c[states[a]], c[states[b]]) * (a != b)
    close = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(own(found["c"]).numpy(), rows, **close)
    np.testing.assert_allclose(paired(found["c"]).numpy(), pairs, **close)
    np.testing.assert_allclose(across(facts, columns, found, "c", "p").numpy(), upper, **close)
    np.testing.assert_allclose(across(facts, columns, found, "g", "c").numpy(), lower, **close)
    np.testing.assert_allclose(across(facts, columns, found, "g", "p").numpy(), deep, **close)
    np.testing.assert_allclose((found["c"].first @ found["c"].probs).numpy(), first, **close)
