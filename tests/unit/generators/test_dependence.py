"""Where noise hides whether columns depend, the budget goes to single columns; where they are seen to, to tables."""

from dataclasses import replace

import numpy as np
import pytest

from synth.generators import GENERATORS
from tests.unit.generators.alike_columns import NAMES, drawn, setting_of
from tests.unit.generators.helpers import OpenSession, quiet


def tables_asked(rows, mu):
    """How many tables of two columns were asked for, and the part of the budget that was spent."""
    setting = setting_of(len(rows["c0"]), mu)
    session = OpenSession(rows, setting)
    GENERATORS["mixture"].measure(session, setting, progress=quiet)
    asked = [m for q in session.asked for m in getattr(q, "marginals", ()) if len(m.bins) == 2]
    return len(asked), session.spent / mu**2


PAIRS = len(NAMES) * (len(NAMES) - 1) // 2


@pytest.mark.parametrize(
    ("mu", "shuffled", "questions"),
    [(0.005, False, 0), (0.05, True, 1), (0.05, False, 2)],
    ids=["noise hides all", "independent columns: a look at all pairs", "dependent columns: all pairs again"],
)
def test_what_is_asked_follows_what_can_be_seen(mu, shuffled, questions):
    asked, spent = tables_asked(drawn(5000, 0, shuffled=shuffled), mu)
    assert (asked >= 2 * PAIRS) if questions == 2 else (asked == questions * PAIRS)
    assert 0.99 < spent <= 1


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("rounds", [0, 1, 12])
def test_no_option_asks_for_more_than_there_is_once_a_look_was_paid_for(order, rounds):
    """A run whose questions exceed its budget fails after its spend; a rehearsal on even rows does not get there."""
    rows, setting = drawn(5000, 0, shuffled=False), setting_of(5000, 0.05)
    session = OpenSession(rows, setting)
    replace(GENERATORS["mixture"], order=order, rounds=rounds).measure(session, setting, progress=quiet)
    assert 0.99 < session.spent / 0.05**2 <= 1


def test_a_release_without_visible_dependence_is_fitted_as_independent_columns():
    rows, setting = drawn(5000, 0, shuffled=True), setting_of(5000, 0.05)
    method = GENERATORS["mixture"]
    releases = method.measure(OpenSession(rows, setting), setting, progress=quiet)
    model = method.fit(releases, setting, rng=np.random.default_rng(0), device="cpu", progress=quiet)
    assert len(model.weights) == 1
