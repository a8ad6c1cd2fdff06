"""Sample paths: no neighbour moves the whitened sum further than stated, whatever points are asked, in any batches."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import norm

from synth.errors import UsageError
from synth.generators.papers.dp_kernel import DPKernel
from synth.mechanisms import functional
from synth.mechanisms.functional import Functional
from synth.privacy.accounting.events import total_mu
from synth.privacy.accounting.gaussian import calibrate, derived_epsilon
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Block, FunctionalQuery, FunctionalRelease, GaussianKernel, ProductKernel
from synth.questions.kernels import INVERSE, MOST_EXCESS, PITCH, TRUNCATED
from tests.evil_twins import Silent
from tests.laws.tiny_tables import by_one_row
from tests.shifts import gaussian_delta
from tests.unit.generators.embedding_helpers import chain, measured
from tests.unit.privacy import published_bounds

ADD = Adjacency(relation=Relation.ADD_REMOVE)
BINS = (Bins.each("a", 2), Bins(column="b", cells=4, starts=[0, 1, 2, 3], groups=[0, 1, 2, -1]), Bins.each("c", 3))
ROWS = list(product(range(2), range(4), range(3)))
POINTS = np.array(list(product(range(2), range(3), range(3))))
PLACES = Block(bins=BINS[2], table=np.array([[0.0, 0.0], [1.0, 0.3], [0.2, -0.7]]))


def near_table(size, rho):
    return rho ** np.abs(np.subtract.outer(np.arange(size), np.arange(size)))


def kernel(rho=0.6):
    """A conditional kernel: the identity on the first column, so that rows of two classes are orthogonal."""
    return ProductKernel(bins=BINS, tables=(np.eye(2), near_table(3, rho), near_table(3, 0.9)))


def path(points=POINTS, *, name="p", sigma=2.0, nugget=1e-3, k=None, gradients=False):
    return FunctionalQuery(
        name=name, purpose="test", kernel=k or kernel(), sigma=sigma, nugget=nugget, points=points, gradients=gradients
    )


def columns(rows):
    retained = [r for r in rows if r is not None]
    return {n: np.array([r[j] for r in retained], dtype=np.int64) for j, n in enumerate("abc")}


def reported(question, batches, rows, noise=None):
    """(the path's state after these batches, the releases' values)."""
    mechanism = Functional()
    parts = [FunctionalQuery(**{**vars_of(question), "points": b}) for b in batches]
    values = [mechanism.answer(p, columns(rows), noise or Silent()).values for p in parts]
    return mechanism._paths[question.key], np.concatenate(values)


def vars_of(question):
    return {n: getattr(question, n) for n in ("name", "purpose", "kernel", "sigma", "nugget", "gradients")}


def whitened(question, rows, state):
    """The whitened sums, in whole numbers, at the points of a path that is open."""
    return functional.whitened(state.whiten, functional.sums(question, state.points, columns(rows)))


CLASSES = GaussianKernel(blocks=(PLACES,), lengthscale=0.8, widths=3, label=BINS[0])
PLACED = np.column_stack([np.tile(PLACES.table, (2, 1)), np.repeat([0, 1], 3)])  # every row of either class
CASES = {
    "codes": (path(), [POINTS[:5], POINTS[5:7], POINTS[7:]]),
    "few": (path(POINTS[:3]), [POINTS[:3]]),
    "vectors": (path(PLACES.table, k=GaussianKernel(blocks=(PLACES,), lengthscale=0.8)), [PLACES.table]),
    "gradients": (
        path(PLACES.table, k=GaussianKernel(blocks=(PLACES,), lengthscale=0.8), gradients=True, nugget=1e-2),
        [PLACES.table[:1], PLACES.table[1:] + 0.05],
    ),
    "classes": (path(PLACED, k=CLASSES), [PLACED[:2], PLACED[2:]]),
    "gradients of classes": (
        path(PLACED, k=CLASSES, gradients=True, nugget=1e-2),
        [PLACED[:4], PLACED[4:] + np.array([0.05, 0.05, 0])],
    ),
}


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("case", CASES)
def test_no_neighbour_moves_the_whitened_sum_by_more_than_stated(case, relation):
    question, batches = CASES[case]
    state, _ = reported(question, batches, [])
    bound = functional.sensitivity(Adjacency(relation=relation)) * (1 + question.excess)
    moves = [
        whitened(question, x, state) - whitened(question, y, state) for x, y in by_one_row(ROWS, ROWS[5], relation)
    ]
    largest = max(np.linalg.norm(m * PITCH) for m in moves)
    assert largest <= bound
    if case in ("codes", "classes"):
        assert largest > 0.998 * bound, "with a row's own point asked, all but the nugget's share is reached"


class Known(Silent):
    """Noise of known numbers, STEPS of its deviation."""

    def gaussian_counts(self, shape, *, sigma):
        return np.rint(sigma * STEPS[: shape[0]]).astype(np.int64)


STEPS = np.linspace(-40, 40, 60)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("case", CASES)
def test_both_definitions_of_privacy_hold_at_any_finite_set_of_points(case, relation):
    """(1, 1e-5) and Renyi's alpha / 2 sigma^2, by noise and sums as they are; a move is no longer than in k's space.

    On points that are added one after the other, by which the divergence only grows. What is told is the factor of the
    covariance times whitened sums with noise of the stated size; it is charged as such.
    """
    question, batches = CASES[case]
    size = functional.sensitivity(Adjacency(relation=relation))
    facts = vars_of(question) | {"sigma": size / calibrate(1.0, 1e-5)}
    every = np.random.default_rng(0).permutation(np.concatenate(batches))
    pairs = [(x[1], y[1] if len(y) > 1 else None) for x, y in by_one_row(ROWS, ROWS[5], relation)]
    lengths, before = np.array([apart(question.kernel, x, y) for x, y in pairs]), 0.0
    assert lengths.max() <= size + 1e-12
    for count in range(1, len(every) + 1):
        asked = FunctionalQuery(**facts, points=every[:count])
        state, _ = reported(asked, [asked.points], [])
        sums = {r: functional.sums(asked, state.points, columns([r])) * TRUNCATED for r in {*ROWS, None}}
        moves = np.linalg.solve(state.factor, np.stack([sums[x] - sums[y] for x, y in pairs], axis=1))
        mu = np.linalg.norm(moves, axis=0) / asked.deviation
        assert np.all(mu * asked.sigma <= lengths + 1e-9)
        assert np.all(mu >= before - 1e-6)
        before = mu
    plain, noised = (reported(asked, [asked.points], ROWS, noise)[0] for noise in (Silent(), Known()))
    whole = np.linalg.solve(plain.factor, functional.sums(asked, plain.points, columns(ROWS)) * TRUNCATED)
    assert plain.noisy == pytest.approx(whole, abs=asked.grain)
    assert noised.noisy - plain.noisy == pytest.approx(STEPS[: len(whole)] * asked.deviation, abs=2 * asked.grain)
    assert noised.values.ravel() == pytest.approx(noised.factor @ noised.noisy)
    covariance = asked.kernel.gram(plain.points, plain.points, gradients=asked.gradients) + asked.nugget * np.eye(
        len(whole)
    )
    assert plain.factor @ plain.factor.T == pytest.approx(covariance, abs=1e-9)
    assert total_mu(Functional().events(asked, Adjacency(relation=relation))) == pytest.approx(calibrate(1.0, 1e-5))
    printed = (e / np.sqrt(2 * np.log(1.25e5)) for e in (8.4, 8.5))  # the text's noise, which it has for every epsilon
    assert gaussian_delta(8.4, next(printed)) <= 1e-5 < gaussian_delta(8.5, next(printed))
    assert gaussian_delta(1.0, mu.max()) <= 1e-5
    z, orders = np.linspace(-30, 30, 6001), (1.5, 4.0, 30.0)
    stated = published_bounds.gaussian(sensitivity=size, sigma=asked.sigma, orders=orders).values
    for order, bound in zip(orders, stated, strict=True):
        moment = np.trapezoid(np.exp(order * norm.logpdf(z, mu.max()) + (1 - order) * norm.logpdf(z)), z)
        assert np.log(moment) / (order - 1) <= bound
        assert case not in ("codes", "classes") or np.log(moment) / (order - 1) > 0.97 * bound
    if case in ("codes", "classes"):
        assert gaussian_delta(1.0, mu.max()) > 0.9e-5


def apart(kernel, row, other):
    """The distance of two rows' functions in the kernel's space; an absent row, and one in no bin, is the zero."""

    def inner(x, y):
        places = columns([y])
        if x is None or y is None or kernel.coded(places).min() < 0:
            return 0.0
        return float(kernel.seen(kernel.coded(columns([x])), kernel.points(places))[0, 0])

    return np.sqrt(max(inner(row, row) - 2 * inner(row, other) + inner(other, other), 0.0))


def test_a_row_moves_its_own_labels_part_alone_and_a_replaced_label_two():
    """Squares of parts add up to the whole's: at most the dearest part's, also where a row changes its part.

    Such a kernel is what variant=parallel asks about.
    """
    releases, setting, _ = measured(DPKernel(form="gaussian", variant="parallel", anchors=40), chain(300))
    asked = next(r.question.kernel for r in releases if isinstance(r, FunctionalRelease))
    assert asked.label.column == setting.schema.target
    question, batches = CASES["classes"]
    points = np.concatenate(batches)
    sets = [points, points[points[:, -1] == 0], points[points[:, -1] == 1]]
    states = [reported(question, [p], [])[0] for p in sets]
    assert not question.kernel.gram(*sets[1:]).any(), "a block of covariance a label"

    def squares(rows, instead):
        moves = [whitened(question, rows, s) - whitened(question, instead, s) for s in states]
        return [float(np.sum((m * PITCH) ** 2)) for m in moves]

    most = []
    for row in ROWS:
        whole, *parts = squares([row], [])
        assert whole == pytest.approx(parts[row[0]], abs=1e-6)
        assert parts[1 - row[0]] == 0
        most.append(whole)
        for other in ROWS:
            whole, *parts = squares([row], [other])
            assert whole == pytest.approx(sum(parts), abs=1e-6)
            assert (min(parts) > 0.9) == (row[0] != other[0])
            assert whole <= 2 * (1 + question.excess) ** 2
    assert 0.99 < max(most) <= (1 + question.excess) ** 2


def test_a_path_chosen_by_another_adds_its_mu_in_squares():
    """Two paths: both events are charged, no row moves the two by more, and less than sums of Renyi bounds is paid."""
    mechanism, rows, noise = Functional(), columns(ROWS), SystemNoise()
    events = mechanism.events(path(), ADD)
    first = mechanism.answer(path(), rows, noise).values
    later = path(POINTS[np.argsort(first)[-6:]], name="q", sigma=3.0)
    events += mechanism.events(later, ADD)
    second = mechanism.answer(later, rows, noise).values
    assert not np.array_equal(second, first[np.argsort(first)[-6:]]), "noise of its own"
    mu = total_mu(events)
    assert mu == pytest.approx(np.sqrt(1 / 2**2 + 1 / 3**2))
    for row in ROWS:
        both = [whitened(q, [row], mechanism._paths[q.key]) * PITCH / q.deviation for q in (path(), later)]
        assert np.linalg.norm(np.concatenate(both)) <= mu * (1 + 1e-6)
    curves = [published_bounds.gaussian(sensitivity=1, sigma=s) for s in (2.0, 3.0)]
    assert derived_epsilon(mu, 1e-5) < published_bounds.sequential(curves).epsilon(1e-5)
    assert 0.97e-5 < gaussian_delta(derived_epsilon(mu, 1e-5), mu) <= 1e-5


def test_a_persons_rows_add_up():
    state, _ = reported(path(), [POINTS], [])
    move = whitened(path(), [ROWS[0]] * 3, state) - whitened(path(), [], state)
    size = functional.sensitivity(Adjacency(relation=Relation.ADD_REMOVE, unit="person", max_rows=3))
    assert 0.998 * size < np.linalg.norm(move * PITCH) <= size * (1 + path().excess)


def test_without_noise_the_values_are_the_sums_of_the_kernel():
    rng = np.random.default_rng(0)
    rows = [ROWS[i] for i in rng.integers(0, len(ROWS), 300)]
    for case, (question, batches) in CASES.items():
        _, values = reported(question, batches, rows)
        x = question.kernel.coded(columns(rows))
        points = np.concatenate(batches)
        truth = question.kernel.seen(x, points, gradients=question.gradients).sum(0)
        if question.gradients:
            truth = truth.reshape(-1, 3) / [1.0, question.kernel.unit, question.kernel.unit]
        finest = getattr(question.kernel, "unit", 1.0)  # told to sigma / 32, times the factor's rows
        assert np.abs(values - truth).max() < 0.05 / min(finest, 1.0), case


@pytest.mark.parametrize("widths", [1, 3])
def test_gradients_are_those_of_the_values(widths):
    k = GaussianKernel(blocks=(PLACES,), lengthscale=0.8, widths=widths)
    w, step = np.array([[0.3, 0.1]]), 1e-5
    each = np.arange(3)[:, None]
    analytic = k.seen(each, w, gradients=True).reshape(3, 3)[:, 1:] / k.unit
    for j in range(2):
        shift = step * np.eye(2)[j]
        slope = (k.seen(each, w + shift) - k.seen(each, w - shift))[:, 0] / (2 * step)
        assert np.allclose(slope, analytic[:, j], atol=1e-8)
    gram = k.gram(PLACES.table, w, gradients=True)
    for j in range(2):  # the covariance of values with gradients, and of gradients with each other, by differences
        shift = step * np.eye(2)[j]
        above, below = (k.gram(PLACES.table + s, w, gradients=True) for s in (shift, -shift))
        slope = (above - below).reshape(3, 3, 3)[:, 0] / (2 * step)
        assert np.allclose(gram.reshape(3, 3, 3)[:, 1 + j], k.unit * slope, atol=1e-8)


def test_a_point_told_keeps_its_value_and_a_path_is_paid_once():
    mechanism, rows, noise = Functional(), columns(ROWS), SystemNoise()
    assert [e.sigma for e in mechanism.events(path(), ADD)] == [2.0]
    first = mechanism.answer(path(POINTS[[3, 1, 3]]), rows, noise).values
    assert first[0] == first[2]
    assert mechanism.events(path(), ADD) == []
    later = mechanism.answer(path(), columns(ROWS[:4]), noise).values  # even were the rows to change
    assert np.array_equal(later[[3, 1]], first[:2])


@pytest.mark.parametrize("other", [{"name": "q"}, {"sigma": 2.5}, {"nugget": 2e-3}, {"k": kernel(0.5)}])
def test_another_path_is_another_price(other):
    mechanism = Functional()
    mechanism.answer(path(), columns(ROWS), SystemNoise())
    assert len(mechanism.events(path(**other), ADD)) == 1


def test_more_points_than_were_paid_for_are_refused_before_anything_is_spent(monkeypatch):
    monkeypatch.setattr(functional, "MAX_POINTS", 10)
    mechanism = Functional()
    mechanism.answer(path(POINTS[:8]), columns(ROWS), SystemNoise())
    mechanism.events(path(POINTS[:10]), ADD)
    with pytest.raises(UsageError, match="more than 10"):
        mechanism.events(path(POINTS[:11]), ADD)


def test_sums_know_no_order_and_no_chunks():
    rng = np.random.default_rng(2)
    rows = [ROWS[i] for i in rng.integers(0, len(ROWS), 400)]
    whole = functional.sums(path(), POINTS, columns(rows))
    assert np.array_equal(whole, functional.sums(path(), POINTS, columns(rows[::-1]), chunk=(7, 5)))


def test_whitening_is_exact_where_floats_would_not_be():
    """Against whole numbers of any length; sums of 2**62 and weights of 2**47, of either sign."""
    rng = np.random.default_rng(3)
    weights = rng.integers(-(2**46), 2**46, (40, 40))
    sums = rng.integers(-(2**62), 2**62, 40)
    sums[:20] >>= 40
    weights >>= 20
    exact = [sum(int(w) * int(s) for w, s in zip(row, sums, strict=True)) >> 44 for row in weights]
    assert functional.whitened(weights.astype(float), sums).tolist() == exact


@pytest.mark.parametrize("batches", [1, 7])
def test_arithmetic_stays_within_the_excess(batches):
    """W K W^T differs from the identity by far less than the noise was raised for; sums differ by nothing at all."""
    rng = np.random.default_rng(4)
    sizes = (60, 30, 40, 9)
    bins = tuple(Bins.each(f"c{j}", s) for j, s in enumerate(sizes))
    k = ProductKernel(bins=bins, tables=tuple(near_table(s, 0.97) for s in sizes))
    points = np.unique(np.column_stack([rng.integers(0, s, 700) for s in sizes]), axis=0)
    cuts = np.linspace(0, len(points), batches + 1).astype(int)
    mechanism, rows = Functional(), {f"c{j}": np.zeros(0, dtype=np.int64) for j in range(len(sizes))}
    for a, b in pairwise(cuts):
        question = path(points[a:b], k=k, nugget=1e-4)
        mechanism.answer(question, rows, Silent())
    state = mechanism._paths[question.key]
    whiten = state.whiten * INVERSE
    covariance = k.gram(points, points) + 1e-4 * np.eye(len(points))
    off = np.abs(np.linalg.eigvalsh(whiten @ covariance @ whiten.T) - 1).max()
    assert off < question.excess
    assert question.excess <= MOST_EXCESS


def test_kernels_that_break_the_proof_are_refused():
    for table in ([[1, 0.5], [0.4, 1]], [[1, -0.1], [-0.1, 1]], [[1.1, 0], [0, 1]]):
        with pytest.raises(ValueError, match="kernel"):
            ProductKernel(bins=BINS[:1], tables=(np.array(table),))
    broken = np.array([[1, 0.9, 0], [0.9, 1, 0.9], [0, 0.9, 1]])
    with pytest.raises(ValueError, match="semi-definite"):
        ProductKernel(bins=BINS[2:], tables=(broken,))
    with pytest.raises(ValueError, match="nugget"):
        path(nugget=1e-7)
    with pytest.raises(ValueError, match="codes"):
        path(np.array([[0, 3, 0]]))
    for bad, what in (([[0.0, 0.0, 2.0]], "label"), ([[0.0, np.inf, 1.0]], "finite")):
        with pytest.raises(ValueError, match=what):
            path(np.array(bad), k=CLASSES)
    for more in ({"lengthscale": 0.0}, {"lengthscale": 1.0, "widths": 9}):
        with pytest.raises(ValueError, match="lengthscale"):
            GaussianKernel(blocks=(PLACES,), **more)


def test_no_rows_are_well():
    _, values = reported(path(), [POINTS], [], SystemNoise())
    assert np.isfinite(values).all()
