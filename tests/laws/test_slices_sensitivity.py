"""The stated sensitivity of slices is an upper bound over neighbours and groups of tiny tables, and reached.

Sums are exact whole numbers: neither the order of rows nor their number in a chunk changes them.
"""

from dataclasses import replace
from itertools import product
from math import isclose, log, sqrt

import numpy as np
import pytest
from scipy import stats

from synth.errors import UsageError
from synth.mechanisms import slices
from synth.privacy.accounting.events import event as slice_event
from synth.privacy.accounting.gaussian import derived_epsilon
from synth.privacy.accounting.slice_profile import Shift
from synth.privacy.noise import SeededNoise, SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Block, Encoding, Slices
from synth.questions.slices import DIRECTION_BITS
from tests.evil_twins import Silent
from tests.shifts import gaussian_delta

A = Bins.each("a", 2)
B = Bins(column="b", cells=3, starts=[0, 1, 2], groups=[0, -1, 1])  # position 1 is in no bin
HALF = sqrt(0.5) * (1 - 1e-9)
POSITIVE = Encoding(blocks=(Block.one_hot(A, weight=HALF), Block.one_hot(B, weight=HALF)))
SIGNED = Encoding(blocks=(Block(bins=A, table=[[HALF, 0], [-HALF, 0]]), Block(bins=B, table=[[HALF], [-HALF]])))
ROWS = [(a, b) for a in range(2) for b in range(3)]
FINE = 2 * 2.0**-20  # what the lattice may take off a norm


class Given(Silent):
    """No noise, and groups as they are given."""

    def __init__(self, groups=()):
        super().__init__()
        self.groups = np.array(groups, dtype=np.int64)

    def uniform_codes(self, size, *, high):  # noqa: ARG002
        return self.groups[:size]


def table(rows):
    return {n: np.array([r[i] for r in rows], dtype=np.int64) for i, n in enumerate("ab")}


def question(encoding, groups, **facts):
    return Slices(purpose="test", encoding=encoding, sigma=1.0, groups=groups, **facts)


def exact(encoding, rows, groups, count):
    """The sums of each group, in units of norm; an absent row (None) adds nothing but keeps its group."""
    retained = [(r, g) for r, g in zip(rows, groups, strict=True) if r is not None]
    asked = question(encoding, count)
    result = slices.sums(asked, table([r for r, _ in retained]), Given([g for _, g in retained]))
    return result * asked.pitch


def neighbours(relation, most):
    """Pairs of tables in which one unit has up to ``most`` rows, beside one other row; None is an absent row."""
    some = ROWS if most == 1 else [(0, 0), (1, 2), (0, 1)]
    mine = [list(rows) for k in range(most + 1) for rows in product(some, repeat=k)]
    for rows in mine:
        padded = rows + [None] * (most - len(rows))
        if relation is Relation.REPLACE_ONE:
            for other in mine:
                yield [(1, 0), *padded], [(1, 0), *other, *[None] * (most - len(other))]
        else:
            yield [(1, 0), *padded], [(1, 0)] + [None] * most


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("encoding", [POSITIVE, SIGNED], ids=["positive", "signed"])
@pytest.mark.parametrize("most", [1, 2])
def test_stated_sensitivity_is_the_largest_move(relation, encoding, most):
    adjacency = Adjacency(relation=relation, unit="row" if most == 1 else "p", max_rows=most)
    bound = slices.sensitivity(question(encoding, 2), adjacency)
    largest = apart = 0.0
    for x, y in neighbours(relation, most):
        for groups in product(range(2), repeat=len(x)):
            move = float(np.linalg.norm(exact(encoding, x, groups, 2) - exact(encoding, y, groups, 2)))
            largest = max(largest, move)
            apart = max(apart, move if len(set(groups[1:])) > 1 else 0.0)
    replaced = 2.0 if encoding is SIGNED else sqrt(2.0)
    assert bound == pytest.approx(most * (replaced if relation is Relation.REPLACE_ONE else 1.0))
    assert largest <= bound
    assert isclose(largest, bound, abs_tol=most * FINE)
    assert apart <= bound / sqrt(most) + 1e-12, "rows in different groups move less"


@pytest.mark.parametrize("relation", [Relation.ZERO_OUT, Relation.REPLACE_ONE])
def test_a_slice_for_each_record_moves_no_more(relation):
    adjacency = Adjacency(relation=relation)
    asked = question(SIGNED, None)
    bound, cells = slices.sensitivity(asked, adjacency), slices.changed_cells(asked, adjacency)
    zero = np.zeros((2, asked.encoding.dim))
    for row in ROWS:
        for other in ROWS if relation is Relation.REPLACE_ONE else [None]:
            one = slices.sums(asked, table([(1, 0), row]), Given()) * asked.pitch
            two = zero if other is None else slices.sums(asked, table([(1, 0), other]), Given()) * asked.pitch
            two = np.vstack([one[:1], two[1:]])
            assert np.linalg.norm(one - two) <= bound
            assert np.count_nonzero(one - two) <= cells


@pytest.mark.parametrize("relation", list(Relation))
def test_changed_cells_is_the_largest_number(relation):
    adjacency = Adjacency(relation=relation, unit="p", max_rows=2)
    most = 0
    for x, y in neighbours(relation, 2):
        for groups in product(range(2), repeat=len(x)):
            most = max(most, np.count_nonzero(exact(POSITIVE, x, groups, 2) - exact(POSITIVE, y, groups, 2)))
    assert most == slices.changed_cells(question(POSITIVE, 2), adjacency)


def random_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return {"a": rng.integers(0, 2, n), "b": rng.integers(0, 3, n)}


@pytest.mark.parametrize("encoding", [POSITIVE, SIGNED], ids=["positive", "signed"])
def test_the_order_of_rows_does_not_matter(encoding):
    rows, order = random_rows(5000), np.random.default_rng(1).permutation(5000)
    groups = np.random.default_rng(2).integers(0, 3, 5000)
    one = slices.sums(question(encoding, 3), rows, Given(groups))
    two = slices.sums(question(encoding, 3), {n: v[order] for n, v in rows.items()}, Given(groups[order]))
    assert one.dtype == np.int64
    assert np.array_equal(one, two)


@pytest.mark.parametrize("count", [None, 3, 400])
@pytest.mark.parametrize("encoding", [POSITIVE, SIGNED], ids=["positive", "signed"])
def test_sums_are_the_rows_own_numbers(encoding, count):
    """Against one row at a time, in Python; chunks and the two ways of adding make no difference."""
    rows, asked = random_rows(300), question(encoding, count)
    groups = np.arange(300) if count is None else np.random.default_rng(2).integers(0, count, 300)
    wanted = np.zeros((300 if count is None else count, encoding.dim))
    for i, g in enumerate(groups):
        at = 0
        for block, reported in zip(encoding.blocks, asked.tables, strict=True):
            where = block.bins.groups[rows[block.bins.column][i]]
            if where >= 0:
                wanted[g, at : at + block.width] += reported[where]
            at += block.width
    assert np.array_equal(slices.sums(asked, rows, Given(groups)) * asked.pitch, wanted)

    class Feed(Given):
        def uniform_codes(self, size, *, high):  # noqa: ARG002
            first, self.groups = self.groups[:size], self.groups[size:]
            return first

    assert np.array_equal(slices.sums(asked, rows, Feed(groups), chunk=7) * asked.pitch, wanted)


@pytest.mark.parametrize("encoding", [POSITIVE, SIGNED], ids=["positive", "signed"])
@pytest.mark.parametrize("relation", [Relation.ZERO_OUT, Relation.REPLACE_ONE])
def test_drawn_records_are_charged_for_what_stands_in_their_place(encoding, relation):
    """The event's two distances: a row against its neighbour, and against any other row, on all pairs of rows."""
    adjacency, asked = Adjacency(relation=relation), question(encoding, None, drawn=(2, 9))
    (event,) = slices.events(asked, adjacency)
    vectors = slices.sums(question(encoding, None), table(ROWS), Given()) * asked.pitch
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2).max()
    shifted = apart if relation is Relation.REPLACE_ONE else np.linalg.norm(vectors, axis=1).max()
    assert shifted <= event.sensitivity
    assert apart <= event.swap * event.sensitivity * (1 + 1e-12)
    assert isclose(apart, event.swap * event.sensitivity, abs_tol=FINE)
    assert event.rate == 2 / 9
    assert slice_event(event.plain()) == event


@pytest.mark.parametrize(
    "adjacency", [Adjacency(relation=Relation.ADD_REMOVE), Adjacency(relation=Relation.ZERO_OUT, unit="p", max_rows=2)]
)
def test_drawn_records_are_refused_where_nothing_is_proved(adjacency):
    with pytest.raises(UsageError):
        slices.events(question(POSITIVE, None, drawn=(1, 3)), adjacency)


def test_drawn_records_of_another_table_are_refused():
    with pytest.raises(UsageError, match="another number of rows"):
        slices.answer(question(POSITIVE, None, drawn=(1, 3)), random_rows(4), SystemNoise())


def test_drawn_records_are_the_tables_own():
    asked = question(POSITIVE, None, drawn=(40, 100))
    rows, own = random_rows(100), slices.sums(question(POSITIVE, None), random_rows(100), Given())
    result = slices.answer(replace(asked, sigma=2.0**-10), rows, SystemNoise()).values
    assert result.shape == (40, 4)
    near = np.abs(result[:, None] - own * asked.pitch).max(2).argmin(1)
    assert np.abs(result - own[near] * asked.pitch).max() < 0.01


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("relation", Relation)
def test_fixed_directions_lengthen_a_row_by_no_more_than_is_charged(relation, k):
    """The longest vector is the first singular one; frames after frames make it the root of their number at most."""
    asked = question(POSITIVE, 2, directions="fixed", num_slices=8, k=k)
    adjacency = Adjacency(relation=relation)
    (event,) = slices.events(asked, adjacency)
    turn = slices._directions(asked, Silent()) * 2.0**-26
    assert np.array_equal(turn, slices._directions(asked, SystemNoise()) * 2.0**-26), "the same for everybody"
    longest = np.linalg.svd(turn)[1][0]
    assert longest * slices.sensitivity(asked, adjacency) < event.sensitivity
    assert event.sensitivity < longest * slices.sensitivity(asked, adjacency) * (1 + 1e-6)
    assert longest <= np.sqrt(8 / k) + 1e-6
    for sigma in (0.5, 4.0) if relation is not Relation.REPLACE_ONE else ():  # Proposition 3's m = 8 / k, a move of 1
        printed = min(a * 8 / k / (2 * sigma**2) + log(1e5) / (a - 1) for a in 1 + np.geomspace(1e-2, 1e3, 400))
        exact = derived_epsilon(event.sensitivity / sigma, 1e-5)
        assert exact < 0.99 * printed
        assert 0.97e-5 < gaussian_delta(exact, event.sensitivity / sigma) <= 1e-5
    for at in range(0, 8, k):
        assert np.allclose(turn[:, at : at + k].T @ turn[:, at : at + k], np.eye(k), atol=1e-6)


def test_rows_that_are_not_sampled_are_zero_rows():
    class Coin(Given):
        def uniform_codes(self, size, *, high):
            return np.where(np.arange(size) % 2 == 0, 0, high - 1)

    result = slices.sums(question(POSITIVE, None, rate=0.5), random_rows(10), Coin())
    assert result.shape == (10, 4)
    assert not result[1::2].any()
    assert result[::2].any(axis=1).all()


def test_products_are_exact_to_the_last_bit():
    """Against Python's whole numbers, at the largest sums that 2**30 rows can reach, of either sign."""
    rng = np.random.default_rng(3)
    total = rng.integers(-(2**49), 2**49, size=(6, 5))
    total[0] = [2**50, 0, 0, 0, -1]
    directions = rng.integers(-(2**27), 2**27, size=(5, 4))
    wanted = [
        [sum(int(s) * int(u) for s, u in zip(row, col, strict=True)) >> 16 for col in directions.T] for row in total
    ]
    assert slices._projected(total, directions, limbs=3).tolist() == wanted
    small = rng.integers(-(2**20), 2**20, size=(6, 5))
    assert np.array_equal(slices._projected(small, directions, limbs=2), slices._projected(small, directions, limbs=3))


@pytest.mark.parametrize("directions", ["gaussian", "rotation"])
def test_a_projected_move_is_within_the_law_of_its_shift(directions):
    """Moves of told slices, whole numbers, against ||zU|| of unrounded directions, slack included."""
    asked = question(SIGNED, 1, directions=directions, num_slices=2)
    law, unit = Shift(SIGNED.dim, 2, directions), 2.0 ** (16 - DIRECTION_BITS) * asked.pitch
    for seed in range(50):
        reported = slices._directions(asked, SeededNoise(seed))
        for x, y in neighbours(Relation.REPLACE_ONE, 1):
            one, two = (exact(SIGNED, t, [0] * len(t), 1) for t in (x, y))
            shifted = [slices._projected((s / asked.pitch).astype(np.int64), reported, limbs=3) for s in (one, two)]
            move = np.linalg.norm((shifted[0] - shifted[1]) * unit)
            ideal = np.linalg.norm((one - two) @ (reported * 2.0**-DIRECTION_BITS))
            assert abs(move - ideal) <= sqrt(2) * unit
            assert move <= ideal + law.slack


def test_directions_are_orthonormal_or_gaussian():
    asked = question(SIGNED, 1, directions="rotation", num_slices=2)
    u = slices._directions(asked, SeededNoise(0)) * 2.0**-DIRECTION_BITS
    assert np.abs(u.T @ u - np.eye(2)).max() < 2.0**-DIRECTION_BITS * 8
    wide = question(SIGNED, 1, directions="gaussian", num_slices=2000)
    entries = slices._directions(wide, SeededNoise(0)).ravel() * 2.0**-DIRECTION_BITS * sqrt(SIGNED.dim)
    assert stats.kstest(entries, "norm").pvalue > 1e-3, "N(0, 1 / d)"


@pytest.mark.parametrize("directions", ["gaussian", "rotation", "fixed"])
def test_what_is_published_are_the_directions_that_were_used(directions):
    """The sums along them are the values, but for the noise: within six deviations, and not along others."""
    groups = np.arange(50) % 4
    asked = question(SIGNED, 4, directions=directions, num_slices=2)
    exact_sums = slices.sums(asked, random_rows(50), Given(groups)) * asked.pitch

    class Dealt(SeededNoise):
        def uniform_codes(self, size, *, high):  # noqa: ARG002
            return groups[:size]

    reported = slices.answer(replace(asked, sigma=2.0**-10), random_rows(50), Dealt(1))
    assert np.abs(exact_sums @ reported.directions - reported.values).max() < 6 * 2.0**-10
    assert np.abs(exact_sums @ reported.directions[::-1] - reported.values).max() > 0.1


@pytest.mark.parametrize("sigma", [2.0**-10, 0.3, 4.0, 1000.0])
@pytest.mark.parametrize("facts", [{}, {"directions": "gaussian", "num_slices": 3}])
def test_values_lie_on_the_grain(sigma, facts):
    asked = Slices(purpose="t", encoding=POSITIVE, sigma=sigma, groups=4, **facts)
    values = slices.answer(asked, random_rows(50), SeededNoise(1)).values
    assert np.array_equal(values / asked.grain, np.rint(values / asked.grain))
    assert sigma / 2048 < asked.grain <= sigma / 1024


def test_empty_and_single_tables_are_answered():
    for n in (0, 1):
        for groups in (None, 3):
            asked = question(POSITIVE, groups, directions="gaussian", num_slices=2)
            reported = slices.answer(asked, random_rows(n), SeededNoise(1))
            assert reported.values.shape == (n if groups is None else 3, 2)
