"""Every number that a mechanism tells lies on a lattice that the question alone decides, the same for neighbours.

Low bits of a float are a channel of their own (Mironov 2012): what stands on one lattice under every table has none.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from synth.mechanisms.functional import Functional
from synth.numeric import networks
from synth.pipeline.budget import mechanisms
from synth.privacy.noise import SystemNoise
from synth.questions import (
    Above,
    Bins,
    Block,
    Choice,
    Counts,
    Descent,
    Embedding,
    Encoding,
    External,
    Fourier,
    FunctionalQuery,
    Laplace,
    Linked,
    Marginal,
    Nearest,
    ProductKernel,
    Pulls,
    Search,
    Slices,
    Step,
    Teachers,
    Tensors,
    Term,
    Values,
    Votes,
    WeightedCounts,
)
from synth.questions.linked import grain, place
from synth.questions.slices import DIRECTION_BITS
from synth.sources.rows.forest import Branch, Forest

A, B = Bins.each("a", 40), Bins.each("b", 3)
HALF = 0.5**0.5 * (1 - 1e-9)
RNG = np.random.default_rng(1)
ENCODING = Encoding(blocks=(Block.one_hot(A, weight=HALF), Block.one_hot(B, weight=HALF)))
TABLES = Tensors(
    terms=(
        Term(blocks=(Block.one_hot(A, weight=1.0),), weight=0.6),
        Term(blocks=(Block.one_hot(A, weight=1.0), Block.one_hot(B, weight=1.0)), weight=0.8),
    )
)
WAVES = Fourier(blocks=tuple(Block(bins=b, table=RNG.normal(size=(b.size, 60))) for b in (A, B)))
KERNEL = ProductKernel(bins=(A, B), tables=(0.9 ** np.abs(np.subtract.outer(range(40), range(40))), np.eye(3)))
POINTS = np.array(list(product(range(40), range(3))))


class Words:
    """A text column as learning hands it over."""

    def __init__(self, texts):
        self.values, self.codes = np.unique(np.array(texts, dtype=object), return_inverse=True)


def rows(count):
    result = {"a": RNG.integers(0, 40, count), "b": RNG.integers(0, 3, count)}
    return {**result, "words": Words([f"w{i % 60}" for i in range(count)])}


LARGE = rows(3001)
SMALL = {"a": LARGE["a"][:-1], "b": LARGE["b"][:-1], "words": Words([f"w{i % 60}" for i in range(3000)])}
SHIFTED = {"a": np.append(LARGE["a"][:-1], 7), "b": np.append(LARGE["b"][:-1], 2), "words": LARGE["words"]}
NEIGHBOURS = {
    "one row less": SMALL,
    "one row replaced": SHIFTED,
    "no row at all": {n: v[:0] for n, v in (("a", LARGE["a"]), ("b", LARGE["b"]))} | {"words": Words(["w0"])},
}

TEACHERS = Teachers(purpose="t", bins=(A, B), table=RNG.normal(size=(43, 12)), teachers=30, most_rows=40, sigma=9.0)
GENERATED = np.column_stack([np.arange(40), np.arange(40) % 3])
DESCENT = Descent(
    purpose="t", network="critic", bins=(A, B), hidden=4, latent=0, clip=1.0, sigma=2.0, rate=0.25, steps=1
)


LINKED = Linked(
    purpose="t",
    table="c",
    view="rows",
    most=3,
    marginals=tuple(
        Marginal(bins=(Bins.each(place("c", "a"), 40), Bins.each(place("p", "b"), 3)), sigma=s) for s in (9.0, 13.7)
    ),
)


def forest(table) -> Forest:
    """The rows as children, three of a parent but for the last ones, whose column is that of the first of them."""
    size, parents = len(table["a"]), -(-len(table["a"]) // 3)
    parent = np.arange(size) // 3
    many = np.bincount(parent, minlength=parents)[parent]
    none = np.zeros(parents, dtype=np.int64)
    root = Branch(columns={"b": table["b"][::3]}, parent=none, siblings=none + 1, rank=none, parts=none + 1)
    child = Branch(columns={"a": table["a"]}, parent=parent, siblings=many, rank=np.arange(size) % 3, parts=many)
    return Forest({"p": root, "c": child}, {"p": None, "c": "p"})


def start() -> tuple[np.ndarray, ...]:
    """Weights at which a descent begins, from a public seed."""
    made = networks.critic(DESCENT.sizes, hidden=4)
    networks.start(made, rng=np.random.default_rng(0))
    return networks.arrays(made)


SLICES = Slices(purpose="t", encoding=ENCODING, sigma=2.0, groups=30)
QUESTIONS = {
    "counts": Counts(purpose="t", marginals=(Marginal(bins=(A,), sigma=9.0), Marginal(bins=(A, B), sigma=13.7))),
    "laplace": Laplace(purpose="t", tables=((A,), (A, B)), scale=40.0),
    "weighted": WeightedCounts(
        purpose="t", marginals=(Marginal(bins=(A,), sigma=13.7),), by=B, units=np.array([0, 7, 1 << 20])
    ),
    "linked": LINKED,
    "values": Values(purpose="t", column="words", sigma=8.0, threshold=0.0),
    "slices, whole": replace(SLICES, num_slices=None, directions="rotation"),
    "slices, gaussian": replace(SLICES, num_slices=20, directions="gaussian"),
    "slices, rotation": replace(SLICES, num_slices=20, directions="rotation"),
    "embedding, tables": Embedding(purpose="t", features=TABLES, sigma=3.3),
    "embedding, waves": Embedding(purpose="t", features=WAVES, sigma=0.7),
    "votes": Votes(teachers=TEACHERS, lessons=GENERATED, asked=GENERATED, moves=2),
    **{
        f"pulls, {form}": Pulls(teachers=TEACHERS, lessons=GENERATED, asked=GENERATED, moves=2, form=form, **more)
        for form, more in (
            ("clipped", {"unit": 0.05}),
            ("signs", {"kept": 3}),
            ("ballots", {"kept": 3, "projection": np.eye(43)[:, :4]}),
        )
    },
    "nearest": Nearest(
        purpose="t",
        bins=(A, B),
        candidates=GENERATED,
        sigma=9.0,
        distances=tuple(1 - np.eye(b.size, dtype=np.int64) for b in (A, B)),
    ),
    "gradients": Step(descent=DESCENT, number=0, weights=start()),
    "path": FunctionalQuery(name="p", purpose="t", kernel=KERNEL, sigma=2.0, nugget=1e-2, points=POINTS),
}


def reported(question, table, noise=None) -> list[tuple[np.ndarray, float]]:
    """What a mechanism tells, each part with the step of its lattice, which the question alone states."""
    noise = noise or SystemNoise()
    result = mechanisms()
    if isinstance(question, FunctionalQuery):  # values follow from the whitened ones, which alone carry the rows
        session = Functional()
        session.answer(question, table, noise)
        return [(session._paths[question.key].noisy, question.grain)]
    if isinstance(question, Linked):
        linked = result[Linked].answer(question, forest(table), noise)
        return [(v, grain(m.sigma)) for m, v in zip(question.marginals, linked.values, strict=True)]
    release = result[type(question)].answer(question, table, noise)
    if isinstance(question, Counts | WeightedCounts | Laplace):
        return [(v, 1.0) for v in release.values]
    if isinstance(question, Values):
        return [(release.counts, 1.0)]
    if isinstance(question, Pulls | Nearest):
        return [(release.values, getattr(question, "lattice", 1.0))]
    if isinstance(question, Votes):
        return [(release.values, 1.0)]
    if isinstance(question, Step):
        return [(release.values, question.descent.lattice)]
    if isinstance(question, Slices):
        parts = [(release.values, question.grain)]
        return parts if release.directions is None else [*parts, (release.directions, 2.0**-DIRECTION_BITS)]
    return [(release.values, question.grain)]


def whole(values, step) -> bool:
    exact = np.asarray(values, dtype=np.float64)
    return bool((np.rint(exact / step) * step == exact).all())


@pytest.mark.parametrize("table", ["the table", *NEIGHBOURS])
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_number_lies_on_the_questions_lattice(name, table):
    for values, step in reported(QUESTIONS[name], NEIGHBOURS.get(table, LARGE)):
        assert whole(values, step)


def residues(question, table, times=12) -> np.ndarray:
    """How often each of the lattice's eight lowest places is met."""
    results = [
        np.rint(np.asarray(v) / s).astype(np.int64).ravel() & 7
        for _ in range(times)
        for v, s in reported(question, table)[:1]
    ]
    return np.bincount(np.concatenate(results), minlength=8)


@pytest.mark.parametrize("name", [n for n in QUESTIONS if n != "values"])  # a threshold cuts its counts off
def test_the_lowest_bits_have_one_law_under_neighbours(name):
    """Noise is much wider than eight steps: the lowest three bits are even, whatever the table."""
    for table in (LARGE, SMALL):
        assert stats.chisquare(residues(QUESTIONS[name], table)).pvalue > 1e-8


def test_a_float_sum_with_float_noise_would_be_caught():
    """The evil twin: noise added in floating point stands on no lattice."""
    exact = np.bincount(LARGE["a"], minlength=40)
    assert not whole(exact + np.random.default_rng(0).normal(size=40) * 9.0, 2.0**-20)


def test_a_choice_tells_a_number_among_the_public_candidates():
    tables = ((A,), (A, B), (B,))
    expected = (np.full(40, 75.0), np.full((40, 3), 25.0), np.full(3, 1000.0))
    asked = Choice(purpose="t", goal="worst", tables=tables, expected=expected, scale=50.0)
    for table in (LARGE, SMALL):
        index = mechanisms()[Choice].answer(asked, table, SystemNoise()).index
        assert isinstance(index, int)
        assert 0 <= index < 3


def test_a_search_tells_numbers_of_the_public_candidates():
    asked = Search(
        purpose="t",
        bins=(A, B),
        tables=np.array([[0, -1], [0, 1], [1, -1]]),
        scale=50.0,
        picks=2,
        expected=np.full(163, 25),
        handicap=np.zeros(3, dtype=np.int64),
    )
    for table in (LARGE, SMALL):
        chosen = mechanisms()[Search].answer(asked, table, SystemNoise()).chosen
        assert len(set(chosen)) == 2
        assert all(isinstance(i, int) and 0 <= i < 3 for i in chosen)


@pytest.mark.slow
def test_opendps_tables_are_whole_numbers():
    pytest.importorskip("mbi", reason="the extra [mbi] is not installed")
    asked = External(purpose="t", algorithm="mst", bins=(A, B), rho=0.1)
    for table in (LARGE, SMALL):
        release = mechanisms()[External].answer(asked, table, SystemNoise())
        assert all(v.dtype == np.int64 for v in release.values)


def test_every_mechanism_is_looked_at_here():
    assert set(mechanisms()) == {type(q) for q in QUESTIONS.values()} | {Above, Choice, External, Search}


def test_a_comparison_tells_one_of_two_words():
    one = np.where(np.arange(40) == 7, 0, -1)
    box = (Bins(column="a", cells=40, starts=np.arange(40), groups=one),)
    asked = Above(purpose="t", number=0, box=box, expected=75, threshold=20, scale=9.0)
    for table in (LARGE, SMALL):
        assert mechanisms()[Above].answer(asked, table, SystemNoise()).above in (True, False)


@pytest.mark.slow
def test_a_choice_is_not_refused_for_the_number_of_rows():
    """2^25 rows and one more: a refusal would tell neighbours apart."""
    many = {"a": np.broadcast_to(np.int8(3), (2**25 + 1,))}
    asked = Choice(
        purpose="t", goal="worst", tables=((A,), (A,)), expected=(np.zeros(40), np.full(40, 2.0**25)), scale=1.0
    )
    assert mechanisms()[Choice].answer(asked, many, SystemNoise()).index == 1
