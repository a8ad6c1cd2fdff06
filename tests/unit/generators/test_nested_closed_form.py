"""The tables that a nested mixture implies, against sums over all its trees, one by one."""

from itertools import product

import numpy as np
import pytest
import torch

from synth.generators.core.related_fit import told_by_components
from synth.generators.core.related_levels import Columns, Logits, across, levels
from synth.schema import dataset as datasets

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
    return datasets.parse_related({"tables": tables, "keys": keys})


SIZES = {"p": {"x": 2, "number of c": MOST + 1}, "c": {"y": 2, "number of g": 3}, "g": {"z": 2}}
PARENTS = {"p": 1, "c": 2, "g": 3}
OWN = {"p": 2, "c": 3, "g": 2}  # components


def setting(order, *, placed=True):
    facts = schema(order)
    columns = {}
    for table, sizes in SIZES.items():
        ends = np.cumsum([0, *sizes.values()])
        slices = {n: slice(int(a), int(b)) for n, a, b in zip(sizes, ends, ends[1:], strict=False)}
        columns[table] = Columns(slices=slices, size=int(ends[-1]))
    rng = np.random.default_rng(3)

    def drawn(*shape):
        return torch.as_tensor(rng.standard_normal(shape))

    def logit(t):
        ordered = order and t == "c"
        later = drawn(MOST - 2, PARENTS[t], OWN[t]) if placed and t == "c" else None
        last = drawn(PARENTS[t], OWN[t]) if ordered else None
        many = len(columns[t].slices)
        more = {"direct": drawn(PARENTS[t], columns[t].size), "lean": drawn(many), "shared": drawn(many)}
        more = more if t != "p" else {}
        return Logits(
            columns=drawn(OWN[t], columns[t].size), state=drawn(PARENTS[t], OWN[t]), later=later, last=last, **more
        )

    return facts, columns, levels(facts, columns, {t: logit(t) for t in SIZES})


def walks(level, z, many):
    """Every sequence of children's components of root component z, with its chance; the last row may have its own."""
    ranks = [level.state.numpy()[z]]
    ranks += [ranks[0]] if level.later is None else [one[z] for one in level.later.numpy()]
    places = [ranks[min(t, len(ranks) - 1)] for t in range(many)]
    if level.last is not None:
        places[-1] = level.last.numpy()[z]
    for states in product(range(len(ranks[0])), repeat=many):
        yield np.prod([one[s] for one, s in zip(places, states, strict=True)]), states


def row(level, z, u):
    """Columns of a row with component u whose parent has component z."""
    return (level.theirs[z] + level.ours[u]).numpy()


def two_rows(level, slices, z, u, v):
    """Columns of two rows, with components u and v, of one parent: the sum over all values that they may share."""
    out, direct = np.zeros((5, 5)), level.direct[z].numpy()
    alone, shared = (part.numpy() for part in (level.lean * (1 - level.shared), level.lean * level.shared))
    for values in product(*(range(s.start, s.stop) for s in slices)):
        at = np.isin(np.arange(5), values)
        first, second = (level.ours[x].numpy() + alone * direct + shared * at for x in (u, v))
        out += np.prod(direct[at]) * np.outer(first, second)
    return out


@pytest.mark.parametrize(
    ("order", "placed"), [(None, False), (None, True), ("cid", True)], ids=["siblings", "placed siblings", "events"]
)
def test_tables_of_children_are_sums_over_all_trees(order, placed):
    facts, columns, result = setting(order, placed=placed)
    p = result["p"].probs.numpy()
    number = p[:, columns["p"].slices["number of c"]]
    below = result["c"].probs.numpy()[:, columns["c"].slices["number of g"]]
    rows, pairs, first = np.zeros((5, 5)), np.zeros((5, 5)), np.zeros(5)
    upper, lower, deep = np.zeros((5, 6)), np.zeros((2, 5)), np.zeros((2, 6))
    plain_rows, plain_pairs, plain_upper = np.zeros((5, 5)), np.zeros((5, 5)), np.zeros((5, 6))
    near, far = np.zeros((5, MOST + 1)), np.zeros((5, MOST + 1))
    for z, weight in enumerate(result["p"].weights.numpy()):
        for many in range(1, MOST + 1):
            alone = np.concatenate([p[z, :2], np.eye(MOST + 1)[many]])  # the root's columns, given its children
            for chance, states in walks(result["c"], z, many):
                mass = weight * number[z, many] * chance
                c = [row(result["c"], z, u) for u in range(OWN["c"])]
                both = {
                    (u, v): two_rows(result["c"], columns["c"].slices.values(), z, u, v)
                    for u, v in product(range(OWN["c"]), repeat=2)
                }
                first += mass * c[states[0]]
                for s in states:
                    rows += mass / many * np.outer(c[s], c[s])
                    upper += mass / many * np.outer(c[s], alone)
                    plain_rows += mass * np.outer(c[s], c[s])
                    plain_upper += mass * np.outer(c[s], alone)
                    for m in (1, 2):
                        for v, share in enumerate(result["g"].state.numpy()[s]):
                            part = mass / many * below[s, m] * share
                            middle = np.concatenate([c[s][:2], np.eye(3)[m]])
                            lower += part * np.outer(row(result["g"], s, v), middle)
                            deep += part * np.outer(row(result["g"], s, v), alone)
                ordered = range(many - 1)
                if order:
                    for t in ordered:
                        pairs += mass / (many - 1) * both[states[t], states[t + 1]]
                        plain_pairs += mass * both[states[t], states[t + 1]]
                        near[:, many] += mass / (many - 1) * c[states[t]]
                        far[:, many] += mass / (many - 1) * c[states[t + 1]]
                elif many > 1:
                    for a, b in product(range(many), repeat=2):
                        pairs += mass / (many * (many - 1)) * both[states[a], states[b]] * (a != b)
                        plain_pairs += mass * both[states[a], states[b]] * (a != b)
    close = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(result["c"].own.numpy(), rows, **close)
    np.testing.assert_allclose(result["c"].paired().numpy(), pairs, **close)
    np.testing.assert_allclose(across(facts, columns, result, "c", "p").numpy(), upper, **close)
    np.testing.assert_allclose(across(facts, columns, result, "g", "c").numpy(), lower, **close)
    np.testing.assert_allclose(across(facts, columns, result, "g", "p").numpy(), deep, **close)
    np.testing.assert_allclose(result["c"].first.numpy(), first, **close)
    np.testing.assert_allclose(result["c"].as_counted.own.numpy(), plain_rows, **close)
    np.testing.assert_allclose(result["c"].paired(counted=True).numpy(), plain_pairs, **close)
    np.testing.assert_allclose(across(facts, columns, result, "c", "p", counted=True).numpy(), plain_upper, **close)
    if order:
        np.testing.assert_allclose(result["c"].paired_numbers(far=False).numpy(), near, **close)
        np.testing.assert_allclose(result["c"].paired_numbers(far=True).numpy(), far, **close)
    np.testing.assert_allclose(result["c"].one_way.numpy(), rows[:2].sum(0), **close)
    fold = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1], [0, 1]], dtype=torch.float64)
    joined = fold.numpy().T @ pairs @ fold.numpy()
    np.testing.assert_allclose(result["c"].paired(fold).numpy(), joined, **close)


@pytest.mark.parametrize("order", ["cid", None])
def test_what_components_tell_is_the_mutual_information_of_rows_and_components(order):
    _, columns, result = setting(order)
    middle = {t: (level.one_way / level.weights.sum()).log() for t, level in result.items()}
    root, half = result["p"], 0.5

    def bent(reported):
        return half * np.log1p(reported / half)

    x = columns["p"].slices["x"]
    joint = (root.weights[:, None] * root.probs)[:, x].numpy()  # component by column
    whole = np.outer(joint.sum(1), joint.sum(0))
    alone = {"p": root}
    number = root.weights[:, None] * root.probs
    others = [
        (number[:, s] * (number[:, s] / torch.outer(number[:, s].sum(1), number[:, s].sum(0))).log()).sum().item()
        for s in columns["p"].slices.values()
    ]
    assert others[0] == pytest.approx((joint * np.log(joint / whole)).sum())
    assert told_by_components(alone, columns, middle, half=half).item() == pytest.approx(sum(bent(o) for o in others))
    assert told_by_components(result, columns, middle, half=half) > told_by_components(
        alone, columns, middle, half=half
    )


def test_columns_that_do_not_depend_on_their_components_tell_nothing():
    facts, columns, _ = setting("cid")

    def flat(t):
        size, more = columns[t].size, {}
        if t != "p":
            more = {
                "direct": torch.zeros(PARENTS[t], size),
                "lean": torch.zeros(len(columns[t].slices)),
                "shared": torch.zeros(len(columns[t].slices)),
            }
        return Logits(columns=torch.zeros(OWN[t], size), state=torch.zeros(PARENTS[t], OWN[t]), **more)

    result = levels(facts, columns, {t: flat(t) for t in SIZES})
    middle = {t: (level.one_way / level.weights.sum()).log() for t, level in result.items()}
    assert told_by_components(result, columns, middle, half=1.0).item() == pytest.approx(0, abs=1e-5)
