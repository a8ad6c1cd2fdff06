"""`mst` and `aim` without OpenDP: bins, a question within the budget, the model of a release that stands in."""

from dataclasses import replace

import numpy as np
import pytest

import synth
from synth.errors import UsageError
from synth.generators.base import Fit, Run, Setting
from synth.generators.papers.opendp import Aim, Mst
from synth.questions import Counts, ExternalRelease
from synth.release import store
from tests.unit.generators.helpers import OpenSession

SCHEMA = synth.Schema.parse(
    {
        "columns": {
            "sex": {"type": "categorical", "categories": ["f", "m"]},
            "pay": {"type": "integer", "min": 0, "max": 99_999},
            "age": {"type": "integer", "min": 0, "max": 19},
            "one": {"type": "categorical", "categories": ["x"]},
        }
    }
)
SETTING = Setting(schema=SCHEMA, mu=1.0, sensitivity=1.0, signed=1.0, rho=0.4)


class StandIn(OpenSession):
    """Answers the external question with tables of all columns and of the first two, as OpenDP might."""

    def __call__(self, question):
        if isinstance(question, Counts):
            return super().__call__(question)
        self.question = question
        bins, cliques = question.bins, [*[(i,) for i in range(len(question.bins))], (0, 1)]
        codes = [b.groups[np.searchsorted(b.starts, self.positions[b.column], side="right") - 1] for b in bins]
        values = []
        for clique in cliques:
            shape = [bins[i].size for i in clique]
            at = np.ravel_multi_index([codes[i] for i in clique], shape)
            values.append(np.bincount(at, minlength=int(np.prod(shape))).reshape(shape))
        return ExternalRelease(
            question=question, cliques=tuple(cliques), values=tuple(values), sigmas=(5.0,) * len(values)
        )


def places(rows=5000):
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, rows)
    pay = np.where(rng.random(rows) < 0.3, 0, (2000 * np.exp(rng.normal(0, 0.5, rows))).astype(int) + 20_000 * sex)
    return {"sex": sex, "pay": np.minimum(pay, 99_999), "age": rng.integers(0, 20, rows), "one": np.zeros(rows, int)}


@pytest.fixture(scope="module")
def asked():
    session = StandIn(places(), SETTING)
    return Mst(bins=12).measure(Run(session, SETTING)), session


def test_the_question_takes_what_the_bins_left(asked):
    releases, session = asked
    counted = sum((1 / m.sigma) ** 2 for r in releases[:-1] for m in r.question.marginals)
    assert counted <= 0.1 * 2 * 0.4
    assert 0.999 * 0.4 < counted / 2 + session.question.rho <= 0.4
    assert session.question.columns == ("sex", "pay", "age")


def test_numbers_are_cut_into_even_bins_and_a_heavy_value_stays_alone(asked):
    pay = asked[1].question.bins[1]
    assert 6 <= pay.size <= 12
    at = pay.groups[np.searchsorted(pay.starts, places()["pay"], side="right") - 1]
    weights = np.bincount(at, minlength=pay.size) / 5000
    assert weights.max() < 0.35
    assert np.sort(weights)[-2] < 0.2


def test_the_model_keeps_the_measured_pair_after_a_trip_to_the_store(asked):
    releases = store.unpack(*store.pack(asked[0]))
    model = Mst().fit(releases, SETTING, Fit(np.random.default_rng(0)))
    drawn = model.sample(4000, rng=np.random.default_rng(1))
    real = places()
    rich = [np.mean((p["pay"] > 15_000)[p["sex"] == 1]) for p in (drawn, real)]
    poor = [np.mean((p["pay"] > 15_000)[p["sex"] == 0]) for p in (drawn, real)]
    assert rich[0] == pytest.approx(rich[1], abs=0.05)
    assert poor[0] == pytest.approx(poor[1], abs=0.05)
    assert np.mean(drawn["pay"] == 0) == pytest.approx(0.3, abs=0.05)
    assert model.total == pytest.approx(5000, rel=0.02)
    assert (model.sample(50, rng=np.random.default_rng(2), where={"sex": np.array([1])})["sex"] == 1).all()


def test_one_column_alone_is_counted_with_the_whole_budget():
    schema = synth.Schema.parse({"columns": {"age": {"type": "integer", "min": 0, "max": 19}}})
    setting = replace(SETTING, schema=schema)
    session = OpenSession({"age": places()["age"]}, setting)
    releases = Aim().measure(Run(session, setting))
    assert session.spent == pytest.approx(1.0, rel=1e-6)
    model = Aim().fit(releases, setting, Fit(np.random.default_rng(0)))
    assert model.sample(10, rng=np.random.default_rng(0))["age"].max() < 20


@pytest.mark.parametrize("wrong", [Mst(bins=1), Mst(numbers=0.0), Aim(rounds=-1), Aim(max_size=0.0)])
def test_options_out_of_range_are_refused(wrong):
    with pytest.raises(UsageError, match="`options"):
        wrong.check_options()
