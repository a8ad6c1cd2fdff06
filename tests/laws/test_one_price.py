"""At the curator's door an embedding and a path cost one Gaussian each, and come back from disk as they were."""

import json

import numpy as np
import pytest

from synth.errors import BudgetError, UsageError
from synth.mechanisms import embeddings
from synth.mechanisms.functional import Functional
from synth.privacy.accounting.gaussian import calibrate
from synth.questions import (
    Bins,
    Block,
    Embedding,
    Fourier,
    FunctionalQuery,
    GaussianKernel,
    Gradients,
    ProductKernel,
    Tensors,
    Term,
)
from synth.release import store
from tests.made import curator

X, MU = Bins.each("x", 3), calibrate(1.0, 1e-5)
KERNEL = ProductKernel(bins=(X,), tables=(np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]),))
SMOOTH = GaussianKernel(blocks=(Block.one_hot(X, weight=1.0),), lengthscale=1.5, widths=2, label=X)
WAVES = Fourier(blocks=(Block(bins=X, table=np.arange(6.0).reshape(3, 2)),), label=Block.one_hot(X, weight=1.0))
TABLE = Tensors(terms=(Term(blocks=(Block.one_hot(X, weight=1.0),), weight=1.0),))
NETWORK = Gradients(blocks=(Block.one_hot(X, weight=1.0),), weights=np.eye(3), signs=np.array([1.0, -1, 1]))


def session():
    return curator({"x": np.array([0, 1, 1])}, mechanisms={Embedding: embeddings, FunctionalQuery: Functional()})


def path(points, *, name="p", share=0.5):
    return FunctionalQuery(
        name=name, purpose="path", kernel=KERNEL, sigma=1 / (MU * share**0.5), nugget=0.01, points=points
    )


def test_a_path_and_an_embedding_share_the_grant_and_a_path_stays_open():
    door = session()
    door.ask(path([[0]]))
    door.ask(Embedding(purpose="e", features=WAVES, sigma=1 / (MU * 0.5**0.5)))
    door.ask(path([[1], [0], [2]]))
    assert door.epsilon_derived == pytest.approx(1.0, rel=1e-4)
    with pytest.raises(BudgetError):
        door.ask(path([[0]], name="another", share=1e-3))
    door.close()
    with pytest.raises(BudgetError):
        door.ask(path([[1]]))


def test_a_refused_path_is_not_open(monkeypatch):
    door = session()
    with pytest.raises(BudgetError):
        door.ask(path([[0]], share=2.0))
    with pytest.raises(BudgetError):
        door.ask(path([[0]], share=2.0))
    monkeypatch.setattr("synth.mechanisms.functional.MAX_POINTS", 1)
    with pytest.raises(UsageError):
        door.ask(path([[0], [1]]))
    assert door.events == ()


@pytest.mark.parametrize(
    "question",
    [
        path([[0], [2]]),
        FunctionalQuery(
            name="g", purpose="p", kernel=SMOOTH, sigma=9.0, nugget=0.01, points=np.eye(3, 4), gradients=True
        ),
        *(Embedding(purpose="e", features=f, sigma=9.0) for f in (WAVES, TABLE, NETWORK)),
    ],
    ids=lambda q: type(getattr(q, "features", getattr(q, "kernel", None))).__name__,
)
def test_a_stored_release_is_the_same_question_and_answer(question):
    release = session().ask(question)
    about, arrays = store.pack([release])
    (again,) = store.unpack(json.loads(json.dumps(about)), arrays)
    assert np.array_equal(again.values, release.values)
    if isinstance(question, FunctionalQuery):
        assert again.question.key == question.key
        assert np.array_equal(again.question.points, question.points)
    else:
        rows = {"x": np.arange(3)}
        assert np.array_equal(again.question.features.of(rows), question.features.of(rows))
        assert again.question.grain == question.grain
