"""The range test, for every one-shot generator: noise reaches what a unit moves, and is as large as stated.

A Gaussian answer of covariance C whose mean moves by h between neighbours has mu^2 = h^T C^+ h if h lies in the range
of C, and no guarantee otherwise. Every question that a generator asks is asked again many times, its groups the same on
both tables; C is estimated, h exact. Then: what a generator makes of its answers does not depend on the door, open or
closed.
"""

import numpy as np
import pytest
from scipy.stats import chi2

from synth.evaluate.audit.neighbours import worst_pair
from synth.evaluate.audit.runs import RunParts, measure
from synth.generators import GENERATORS
from synth.generators.base import Fit, Run
from synth.generators.method import with_options
from synth.pipeline.budget import mechanisms, setting
from synth.pipeline.methods import granted
from synth.privacy.curator import Curator
from synth.privacy.noise import SystemNoise
from synth.questions import Counts, Embedding, FunctionalQuery, Slices
from tests.evil_twins import Silent
from tests.shifts import mu_of

DRAWS, MOST, ALARM = 400, 24, 1e-7  # answers; numbers of one that are looked at; chance of a false alarm for each
QUICK = {
    "slice_wasserstein": {"steps": 2, "batch": 32},
    "pearl": {"steps": 3, "frequencies": 100, "ensembles": 1},
    "dp_merf": {"steps": 3, "frequencies": 100, "ensembles": 1},
    "dp_ntk": {"steps": 3, "features": 500},
    "aim": {"rounds": 2, "bins": 4},
    "mst": {"bins": 4},
    "mwem": {"rounds": 2},
}
OTHERS = ("aim", "mst")  # OpenDP's noise is its own: only what follows the answers is looked at, in `make test-slow`
PURE = ("small_db", "online_weights")  # not Gaussian: test_selection.py, test_pure.py
ONE_SHOT = [n for n, g in GENERATORS.items() if g.barrier == "before the fit" and n not in PURE]
LISTED = [pytest.param(n, marks=[pytest.mark.slow] if n in OTHERS else []) for n in ONE_SHOT]
PAIR = worst_pair("add_remove")
GRANT = granted(5.0, 1e-5, PAIR.adjacency, learning=False)


class OneGroup(SystemNoise):
    """Our noise, with every row in the first group: on both tables, since neighbours are coupled on these draws."""

    def uniform_codes(self, size, *, high):  # noqa: ARG002
        return np.zeros(size, dtype=np.int64)


class Exact(Silent, OneGroup):
    """No noise at all, so that exact answers can be compared."""


class Shared(OneGroup):
    """An evil twin: one draw for all cells, as large as it should be in each."""

    def gaussian_counts(self, shape, *, sigma):
        return np.full(shape, super().gaussian_counts((1,), sigma=sigma)[0])


class Half(OneGroup):
    """An evil twin: half the noise."""

    def gaussian_counts(self, shape, *, sigma):
        return super().gaussian_counts(shape, sigma=sigma / 2)


def generator(name):
    return with_options(GENERATORS[name], QUICK.get(name, {}))


def numbers(question, rows, noise):
    """An answer's numbers by a mechanism that was never asked before, each in units of its noise."""
    release = mechanisms()[type(question)].answer(question, rows, noise)
    if isinstance(question, Counts):
        return np.concatenate([v.ravel() / m.sigma for m, v in zip(question.marginals, release.values, strict=True)])
    return np.ravel(release.values) / question.sigma


def questions(name):
    """All Gaussian questions of one run whose answers have noise of a fixed law."""
    run = measure(PAIR, PAIR.one, RunParts(generator=generator(name), grant=GRANT))
    asked = [r.question for r in run.releases]
    return [
        q for q in asked if isinstance(q, Counts | Embedding | FunctionalQuery) or (isinstance(q, Slices) and q.whole)
    ]


def mu2(question, noise):
    """(h^T C^+ h, bounded from below; mu^2 by the events) on the numbers that move most."""
    shift = numbers(question, PAIR.one, Exact()) - numbers(question, PAIR.other, Exact())
    at = np.argsort(-np.abs(shift), kind="stable")[:MOST]
    draws = np.array([numbers(question, PAIR.one, noise)[at] for _ in range(DRAWS)])
    result = mu_of(np.atleast_2d(np.cov(draws, rowvar=False)), shift[at]) ** 2
    sure = result * chi2.ppf(ALARM, DRAWS - len(at)) / (DRAWS - 1)
    claimed = sum(e.mu2 for e in mechanisms()[type(question)].events(question, PAIR.adjacency))
    return sure, claimed


@pytest.mark.parametrize("name", [p for p in LISTED if p.values[0] not in OTHERS])
def test_noise_reaches_what_a_unit_moves(name):
    asked = questions(name)
    assert asked
    for question in asked:
        sure, claimed = mu2(question, OneGroup())
        assert 0 < sure <= claimed


@pytest.mark.parametrize("name", ["independent", "dp_kernel", "slicing"])
def test_noise_that_is_shared_or_halved_fails_the_test(name):
    question = questions(name)[-1]
    claimed = mu2(question, Shared())[1]
    assert mu2(question, Shared())[0] > 10 * claimed  # not infinite: rounding adds a little noise of its own
    assert mu2(question, Half())[0] > claimed


@pytest.mark.parametrize("name", LISTED)
def test_closing_the_door_after_the_release_changes_nothing(name):
    """No row is read after the last answer: with the door open or closed the same model is fitted."""
    asked = []

    class Watched(Curator):
        def ask(self, question):
            asked.append(question)
            return super().ask(question)

    session = Watched(
        grant=GRANT, commit=lambda: None, read=lambda: PAIR.one, mechanisms=mechanisms(), noise=SystemNoise()
    )
    circumstances, method = setting(PAIR.schema, GRANT, public_rows=None), generator(name)
    releases = method.measure(Run(session.ask, circumstances))
    before, states = len(asked), []
    for close in (False, True):
        if close:
            session.close()
        rng = np.random.default_rng(4)
        model = method.fit(releases, circumstances, Fit(rng))
        states.append(model.sample(50, rng=rng))
    assert len(asked) == before
    assert all(np.array_equal(states[0][n], states[1][n]) for n in states[0])
