"""Votes for the nearest candidate: a row has one vote, whoever else is there, and ties are broken by public order."""

import json

import numpy as np
import pytest

from synth.mechanisms import nearest
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Nearest, NearestRelease
from synth.release import store
from tests.laws.tiny_tables import columns, neighbours

BINS = Bins.each("a", 2), Bins.each("b", 2)
APART = tuple(5 * (1 - np.eye(2, dtype=np.int64)) for _ in BINS)


def question(candidates=((0, 0), (1, 1), (0, 1)), *, distances=APART, sigma=3.0):
    return Nearest(purpose="n", bins=BINS, candidates=np.array(candidates), distances=distances, sigma=sigma)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("most", [1, 2])
def test_a_unit_moves_the_votes_by_the_stated_length_and_no_less(relation, most):
    """All neighbours of tiny tables; with two rows a unit both votes may move alike."""
    adjacency = Adjacency(relation=relation, unit="person", max_rows=most)
    shifted, cells = 0.0, 0
    for x, y in neighbours(relation, most):
        change = nearest.votes(question(), columns(x)) - nearest.votes(question(), columns(y))
        shifted, cells = max(shifted, float(np.linalg.norm(change))), max(cells, np.count_nonzero(change))
    assert shifted == pytest.approx(nearest.sensitivity(adjacency), rel=1e-12)
    assert cells <= nearest.changed_cells(question(), adjacency)


def test_a_row_votes_for_the_first_of_the_nearest():
    """(1, 0) is as far from all three candidates' best: the first has it, wherever the row stands."""
    votes = nearest.votes(question(), columns([(1, 0), (0, 0), (1, 1), (0, 1)]))
    assert votes.tolist() == [2, 1, 1]
    assert nearest.votes(question(((1, 1), (0, 0))), columns([(1, 0)])).tolist() == [1, 0]


def test_votes_are_those_of_a_plain_search():
    """Rows read a few at a time, distances of many sizes: as by a loop over rows and candidates."""
    rng = np.random.default_rng(0)
    bins = Bins.each("a", 7), Bins(column="b", cells=5, starts=np.arange(5), groups=np.array([0, 1, -1, 2, 2]))
    distances = tuple(rng.integers(0, 1000, (b.size, b.size)) for b in bins)
    candidates = np.stack([rng.integers(0, b.size, 12) for b in bins], axis=1)
    asked = Nearest(purpose="n", bins=bins, candidates=candidates, distances=distances, sigma=1.0)
    rows = {"a": rng.integers(0, 7, 50), "b": rng.integers(0, 5, 50)}
    wanted = np.zeros(12, dtype=np.int64)
    for a, b in zip(rows["a"], bins[1].groups[rows["b"]], strict=True):
        far = [distances[0][a, c] + (distances[1][b, d] if b >= 0 else 0) for c, d in candidates]
        wanted[int(np.argmin(far))] += 1
    assert nearest.votes(asked, rows, held=40).tolist() == wanted.tolist()


def test_an_answer_comes_back_from_disk():
    reported = NearestRelease(question=question(), values=np.array([4, -1, 2]))
    about, arrays = store.pack([reported])
    (again,) = store.unpack(json.loads(json.dumps(about)), arrays)
    assert again.values.tolist() == [4, -1, 2]
    assert np.array_equal(again.question.candidates, reported.question.candidates)
    assert all(np.array_equal(a, b) for a, b in zip(again.question.distances, APART, strict=True))


@pytest.mark.parametrize(
    "change",
    [
        {"candidates": [(0, 2)]},
        {"candidates": [(0,)]},
        {"candidates": np.zeros((0, 2), dtype=int)},
        {"distances": APART[:1]},
        {"distances": (APART[0], -APART[1])},
        {"sigma": 0.0},
    ],
)
def test_candidates_without_sense_are_no_question(change):
    with pytest.raises(ValueError, match=r"needed|among"):
        question(**change)
