"""Questions about one table and about related ones: no neighbour, of a row, a person or a tree of all small ones, moves
what is asked by more than is charged; intervals cover where the release hides that a root's rows are equal."""

from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest

from synth.generators.base import Run, Setting
from synth.mechanisms import embeddings
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Embedding, EmbeddingRelease
from synth.verified import language
from synth.verified.law import Law
from synth.verified.plan import Cut, Planned, VerifiedQuestions, answer, measured
from tests.laws.small_forests import MOST, forest, trees, two
from tests.laws.tiny_tables import by_one_row
from tests.made import a_schema, codes, number

ASKED = {
    "count": {"kind": "count", "where": {"y": "1"}},
    "share": {"kind": "share", "of": {"y": "1"}, "where": {"p.x": "0"}},
    "mean": {"kind": "mean", "column": "t"},
    "quantile": {"kind": "quantile", "column": "t", "level": 0.3},
    "difference": {"kind": "difference", "of": {"y": "1"}, "by": "p.x", "groups": ["0", "1"]},
    "linear": {"kind": "linear", "formula": "t ~ y + `p.x`"},
    "logistic": {"kind": "logistic", "formula": "y ~ t + `p.number of c`", "positive": "1"},
    "poisson": {"kind": "poisson", "formula": "t ~ C(y)"},
}
SCHEMA = two("t")
SIGMA = 2.0


def sums(kind, length):
    """The question, cut so far: its rows at most one long, its roots at most ``length``."""
    (question,) = language.read({"table": "c", **ASKED[kind]}, SCHEMA)
    link = question.score.link
    clip = 1.0 if link == "count" else 0.7 if link == "quantile" else 1.5
    return Embedding(purpose="x", features=Cut(clip, length).of(question.score), sigma=SIGMA)


def total(asked, roots):
    return embeddings.sums(asked, forest(SCHEMA, roots))


@pytest.mark.parametrize("length", [1.0, 1.7, float(MOST)])
@pytest.mark.parametrize("kind", ASKED)
def test_no_tree_moves_a_question_by_more_than_is_charged(kind, length):
    """Every root with up to two children more than are retained; one alone is what its coming or going moves."""
    asked, one = sums(kind, length), round(1 / sums(kind, length).pitch)
    moves = [[int(v) for v in total(asked, [("k", x, 1, below)])] for x, below in trees()]
    squares = [sum(v * v for v in move) for move in moves]
    assert max(squares) <= one**2, "in whole numbers, not in floats"
    assert max(squares) >= (one * (0.999 if length == 1 else 0.3)) ** 2, "no more is charged than is there"
    for relation, bound in ((Relation.ADD_REMOVE, 1.0), (Relation.ZERO_OUT, 1.0), (Relation.REPLACE_ONE, 2.0)):
        (event,) = embeddings.events(asked, Adjacency(relation=relation, unit="p"))
        assert event.sensitivity == (2**0.5 if kind == "count" and bound == 2.0 else bound)
        if relation is Relation.REPLACE_ONE:
            array = np.array(moves, dtype=float) / one
            apart = np.sqrt(max(((a - array) ** 2).sum(1).max() for a in array))
            assert apart <= event.sensitivity * (1 + 1e-12)


@pytest.mark.parametrize("kind", ASKED)
def test_trees_add_up_whatever_stands_beside_them_and_in_whatever_order_rows_come(kind):
    asked, rng, every = sums(kind, 1.3), np.random.default_rng(7), list(trees())
    for _ in range(10):
        roots = [
            (f"k{i}", x, int(rng.integers(1 << 40)), [(y, t, int(rng.integers(1 << 40))) for y, t, _ in below])
            for i, (x, below) in enumerate(every[j] for j in rng.integers(len(every), size=3))
        ]
        parts = [total(asked, [r]) for r in roots]
        assert np.array_equal(total(asked, roots), sum(parts))
        for order in permutations(roots):
            assert np.array_equal(total(asked, list(order)), sum(parts))


def test_a_roots_rows_are_shortened_together_and_no_single_row_is():
    """Of a count: one row alone weighs one part of the length, all of them together never more than one."""
    asked = sums("count", 2.0)
    weights = [total(asked, [("k", 0, 1, [(1, t, t) for t in range(n)])])[0] * asked.pitch for n in range(MOST + 1)]
    assert np.allclose(weights, [0.0, 0.5, 1.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("length", [1.0, 1.7, float(MOST)])
@pytest.mark.parametrize("kind", ASKED)
def test_how_long_a_roots_sum_is_moves_by_no_more_than_is_charged(kind, length):
    """One number from 0 to 1 of each tree; trees add up."""
    asked, one = sums(kind, length), round(1 / sums(kind, length).pitch)
    asked = replace(asked, features=replace(asked.features, squared=True))
    roots = [("k", x, 1, below) for x, below in trees()]
    moves = [int(total(asked, [r])[0]) for r in roots]
    assert min(moves) == 0
    assert one * (0.999 if length == 1 else 0.05) <= max(moves) <= one
    some = [(f"k{i}", *r[1:]) for i, r in enumerate(roots[::7])]
    assert int(total(asked, some)[0]) == sum(moves[::7])
    for relation, bound in ((Relation.ADD_REMOVE, 1.0), (Relation.ZERO_OUT, 1.0), (Relation.REPLACE_ONE, 2.0)):
        (event,) = embeddings.events(asked, Adjacency(relation=relation, unit="p"))
        assert event.sensitivity == (2**0.5 if kind == "count" and bound == 2.0 else bound)


MANY = 800


def drawn(seed):
    """Rows of roots, each alone, and to which root each belongs; x is the root's."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(MANY), rng.integers(1, MOST + 1, MANY))
    t, x = np.minimum(rng.geometric(0.3, len(unit)) - 1, 9), rng.integers(0, 2, MANY)[unit]
    return {"t": t, "y": (rng.random(len(unit)) < 0.2 + 0.05 * t).astype(int), "x": x}, unit


def plan(kind):
    (question,) = language.read({"table": "c", **ASKED[kind]}, SCHEMA)
    rows, unit = drawn(0)
    positions = {"y": rows["y"], "t": rows["t"], "p.x": rows["x"], "p.number of c": np.bincount(unit)[unit]}
    return Planned.of(
        question, {n: positions[n] for n in question.score.columns}, float(len(unit)), unit=unit, units=float(MANY)
    )


@pytest.mark.parametrize("kind", sorted({*ASKED} - {"quantile"}))
def test_predicted_sums_move_as_they_say(kind):
    """Also where roots' sums are shortened: noise would be taken for less than it is, which happened."""
    planned = plan(kind)
    law, none = planned.law, np.zeros_like(planned.law.beta)
    for length in (1.0, 1.7, float(MOST)):
        score = Cut(1.0 if kind == "count" else 2.0, length).of(planned._asked)
        stated, step = law.predicted(score, none)[1], 1e-5 * max(1.0, float(np.abs(law.beta).max()))
        ends = [[law.predicted(score, sign * step * e)[0] for e in np.eye(len(none))] for sign in (1, -1)]
        shifted = (np.array(ends[0]) - np.array(ends[1])).T / (2 * step)
        assert np.allclose(stated, shifted, rtol=0.02, atol=0.02 * np.abs(shifted).max()), (kind, length)


def equal(seed, template):
    """Private roots whose rows are equal, and what the plainest analysis of them says."""
    rows, unit = drawn(seed)
    ends = np.searchsorted(unit, np.arange(MANY + 1))
    first = ends[:-1][unit]
    y, t = rows["y"][first], rows["t"][first]
    roots = [
        (str(i), int(rows["x"][a]), i, [(int(y[a]), int(t[a]), j) for j in range(b - a)])
        for i, (a, b) in enumerate(pairwise(ends))
    ]
    whole = Law.of(template, {"y": y, "t": t, "p.x": rows["x"]}, float(len(unit)), bent=False)
    return forest(SCHEMA, roots), float(whole.coefficients(np.zeros(len(whole.beta)))[0])


def covers(planned, private, own, noise):
    """Whether the interval for the table's own value has it, at epsilon 0.5."""
    setting = Setting(schema=None, mu=calibrate(0.5, 1e-5), sensitivity=1.0, signed=1.0)
    asked = VerifiedQuestions(planned=(planned,))
    releases = asked.measure(Run(lambda q: embeddings.answer(q, private, noise), setting))
    (term,) = answer(planned, releases, {})["terms"].values()
    return term["estimate"] is not None and term["table_low"] <= own <= term["table_high"]


@pytest.mark.parametrize("kind", ["count", "share"])
def test_intervals_cover_where_the_release_hides_that_a_roots_rows_are_equal(kind):
    """Ten tables, six answers each: 18 misses are chance less than once in 10**8; by the release alone most are."""
    planned = plan(kind)
    ways, misses = {"asked": planned, "release": replace(planned, rebuilt=None)}, {"asked": 0, "release": 0}
    for seed in range(1, 11):
        private, own = equal(seed, planned.law.template)
        noise = SeededNoise(seed)
        for way, of in ways.items():
            misses[way] += sum(not covers(of, private, own, noise) for _ in range(6))
    assert misses["asked"] < 18 < misses["release"]


VERIFIED_SCHEMA = a_schema(t=number(0, 5, nullable=True), g=codes("a", "b", missing=["?"]), d=codes("0", "1"))
VERIFIED_ASKED = {
    "count": {"kind": "count", "where": {"g": "a"}},
    "share": {"kind": "share", "of": {"d": "1"}, "where": {"t": "1..4"}},
    "mean": {"kind": "mean", "column": "t"},
    "quantile": {"kind": "quantile", "column": "t", "level": 0.3},
    "difference": {"kind": "difference", "column": "t", "by": "g", "groups": ["a", "b"]},
    "linear": {"kind": "linear", "formula": "t ~ g * d"},
    "logistic": {"kind": "logistic", "formula": "d ~ t + I(t ** 2) + C(g)", "positive": "1"},
    "poisson": {"kind": "poisson", "formula": "t ~ C(g) + d"},
    "survival": {"kind": "survival", "time": "t", "event": {"d": "1"}, "at": [1, 3]},
    "within": {"kind": "within", "question": {"kind": "mean", "column": "t"}, "mine": 2, "by": 1},
}
CELLS = {n: c.cells for n, c in VERIFIED_SCHEMA.columns.items()}
ROWS = [(t, g, d) for t in range(CELLS["t"]) for g in range(CELLS["g"]) for d in range(CELLS["d"])]


def columns(rows):
    retained = [r for r in rows if r is not None]
    return {n: np.array([r[i] for r in retained], dtype=np.int64) for i, n in enumerate(CELLS)}


def steps(kind):
    """The sums of both steps: at the synthetic rows' coefficients, and where a first answer far from them points."""
    rng = np.random.default_rng(5)
    public = {n: rng.integers(0, c, 4000) for n, c in CELLS.items()}
    (question,) = language.read(VERIFIED_ASKED[kind], VERIFIED_SCHEMA)
    planned, done, sums = Planned.of(question, public, 4000.0), [], []
    for step in range(len(planned.shares())):
        sums.append(planned.next_question([measured(r) for r in done], 2.0, step, "x"))
        done.append(EmbeddingRelease(question=sums[-1], values=np.full(sums[-1].features.dim, 500.0)))
    return planned, sums, done


def test_every_kind_is_here():
    assert set(VERIFIED_ASKED) == set(language.FIELDS)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("kind", VERIFIED_ASKED)
def test_no_neighbour_moves_a_question_by_more_than_is_charged(kind, relation):
    adjacency = Adjacency(relation=relation)
    for asked in steps(kind)[1]:
        bound = embeddings.sensitivity(asked, adjacency)
        sums = [
            embeddings.sums(asked, columns(x)) - embeddings.sums(asked, columns(y))
            for x, y in by_one_row(ROWS, ROWS[4], relation)
        ]
        squares = [sum(int(v) ** 2 for v in move) for move in sums]
        assert max(squares) <= round(bound**2) * round(1 / asked.pitch) ** 2
        assert max(squares) > 0


@pytest.mark.parametrize("kind", VERIFIED_ASKED)
def test_a_persons_rows_count_as_many_times_as_there_may_be(kind):
    """The farthest row, three times: bounded by three times one row's bound, in the ledger's events too."""
    for asked in steps(kind)[1]:
        own = [embeddings.sums(asked, columns([r])) for r in ROWS]
        farthest = ROWS[int(np.argmax([sum(int(v) ** 2 for v in s) for s in own]))]
        move = embeddings.sums(asked, columns([farthest] * 3))
        adjacency = Adjacency(relation=Relation.ADD_REMOVE, unit="person", max_rows=3)
        (event,) = embeddings.events(asked, adjacency)
        assert np.linalg.norm(move.astype(float)) * asked.pitch <= event.sensitivity == 3.0


@pytest.mark.parametrize("kind", VERIFIED_ASKED)
def test_an_answer_depends_on_the_sums_alone_and_has_one_form(kind):
    """Whatever came back, nothing raises, and the fields are the same: what rows are missing or odd is not seen."""
    planned, _, done = steps(kind)
    forms = set()
    for size in (0.0, 1.0, -1e3, 1e6, 1e12, -1e12):
        releases = [replace(r, values=np.full_like(r.values, size)) for r in done]
        result = answer(planned, releases, {})
        for term in result["terms"].values():
            low, high = planned.question.ends
            values = [term[n] for n in ("low", "estimate", "high") if term[n] is not None]
            assert values == sorted(values)
            assert all(low <= v <= high for v in values)
        forms.add((tuple(result), *(tuple(result["terms"]))))
    assert len(forms) == 1
