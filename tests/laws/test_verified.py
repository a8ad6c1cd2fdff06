"""Every kind of question: no neighbour, of a row or of a person, moves what is asked of it by more than is charged."""

from dataclasses import replace

import numpy as np
import pytest

from synth.mechanisms import embeddings
from synth.privacy.relation import Adjacency, Relation
from synth.questions import EmbeddingRelease
from synth.verified import language
from synth.verified.plan import Planned, answer, measured
from tests.laws.tiny_tables import by_one_row
from tests.made import a_schema, codes, number

SCHEMA = a_schema(t=number(0, 5, nullable=True), g=codes("a", "b", missing=["?"]), d=codes("0", "1"))
ASKED = {
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
CELLS = {n: c.cells for n, c in SCHEMA.columns.items()}
ROWS = [(t, g, d) for t in range(CELLS["t"]) for g in range(CELLS["g"]) for d in range(CELLS["d"])]


def columns(rows):
    retained = [r for r in rows if r is not None]
    return {n: np.array([r[i] for r in retained], dtype=np.int64) for i, n in enumerate(CELLS)}


def steps(kind):
    """The sums of both steps: at the synthetic rows' coefficients, and where a first answer far from them points."""
    rng = np.random.default_rng(5)
    public = {n: rng.integers(0, c, 4000) for n, c in CELLS.items()}
    (question,) = language.read(ASKED[kind], SCHEMA)
    planned, done, sums = Planned.of(question, public, 4000.0), [], []
    for step in range(len(planned.shares())):
        sums.append(planned.next_question([measured(r) for r in done], 2.0, step, "x"))
        done.append(EmbeddingRelease(question=sums[-1], values=np.full(sums[-1].features.dim, 500.0)))
    return planned, sums, done


def test_every_kind_is_here():
    assert set(ASKED) == set(language.FIELDS)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("kind", ASKED)
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


@pytest.mark.parametrize("kind", ASKED)
def test_a_persons_rows_count_as_many_times_as_there_may_be(kind):
    """The farthest row, three times: bounded by three times one row's bound, in the ledger's events too."""
    for asked in steps(kind)[1]:
        own = [embeddings.sums(asked, columns([r])) for r in ROWS]
        farthest = ROWS[int(np.argmax([sum(int(v) ** 2 for v in s) for s in own]))]
        move = embeddings.sums(asked, columns([farthest] * 3))
        adjacency = Adjacency(relation=Relation.ADD_REMOVE, unit="person", max_rows=3)
        (event,) = embeddings.events(asked, adjacency)
        assert np.linalg.norm(move.astype(float)) * asked.pitch <= event.sensitivity == 3.0


@pytest.mark.parametrize("kind", ASKED)
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
