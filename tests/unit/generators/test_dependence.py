"""Where noise is much, tables of two columns get as much of the budget as can be seen in them, and as much belief."""

from dataclasses import replace

import numpy as np
import pytest

from synth.generators import GENERATORS
from synth.generators.base import Fit, Run
from synth.generators.core.columns import estimate_columns
from synth.generators.core.planning import TABLES
from synth.generators.core.tables import independence_targets, tables_of
from synth.schema.table import Schema
from tests.made import codes
from tests.unit.generators.alike_columns import NAMES, drawn, setting_of
from tests.unit.generators.helpers import OpenSession


def tables_asked(rows, mu):
    """How many tables of two columns were asked for, and the part of the budget that was spent."""
    setting = setting_of(len(rows["c0"]), mu)
    session = OpenSession(rows, setting)
    GENERATORS["mixture"].measure(Run(session, setting))
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
    replace(GENERATORS["mixture"], order=order, rounds=rounds).measure(Run(session, setting))
    assert 0.99 < session.spent / 0.05**2 <= 1


def test_a_release_without_visible_dependence_is_fitted_as_independent_columns():
    rows, setting = drawn(5000, 0, shuffled=True), setting_of(5000, 0.07)
    method = GENERATORS["mixture"]
    releases = method.measure(Run(OpenSession(rows, setting), setting))
    model = method.fit(releases, setting, Fit(np.random.default_rng(0)))
    assert len(model.weights) == 1


def skewed(num_rows: int, part: float) -> dict[str, np.ndarray]:
    """Six columns of thirty values, few of them frequent, which follow a hidden one in a part of the rows."""
    rng, odds = np.random.default_rng(0), 0.8 ** np.arange(30)
    hidden, *own = rng.choice(30, (7, num_rows), p=odds / odds.sum())
    return {n: np.where(rng.random(num_rows) < part, hidden, v) for n, v in zip(NAMES, own, strict=True)}


SKEWED = Schema.parse({"columns": {n: codes(*[f"v{j}" for j in range(30)]) for n in NAMES}})


@pytest.mark.parametrize(("mu", "part"), [(0.05, 0.7), (0.07, 0.6)])
def test_what_is_left_is_divided_where_dependence_is_hardly_seen(mu, part):
    """Tables, then single columns again, and all of it is spent. All groupings of a column are unions of its finest:
    a fit that combines them failed once, after the spend."""
    setting = replace(setting_of(5000, mu), schema=SKEWED)
    session = OpenSession(skewed(5000, part), setting)
    method = GENERATORS["mixture"]
    releases = method.measure(Run(session, setting))
    purposes = [getattr(q, "purpose", "") for q in session.asked]
    assert purposes.count(TABLES) > 1
    assert purposes[-1] == "one-way, again"
    assert 0.99 < session.spent / mu**2 <= 1
    groupings: dict[str, list[np.ndarray]] = {}
    for bins in (b for q in session.asked for m in getattr(q, "marginals", ()) if len(m.bins) > 1 for b in m.bins):
        groupings.setdefault(bins.column, []).append(bins.groups)
    for own in groupings.values():
        finest = max(own, key=lambda g: g.max())
        assert all(len(np.unique(np.stack([finest, g]), axis=1).T) == finest.max() + 1 for g in own)
    assert method.fit(releases, setting, Fit(np.random.default_rng(0))).total > 0


def test_independence_is_believed_of_each_faint_table_as_far_as_its_counts_bear_it_out():
    """One pair of fifteen depends; where noise is little, nothing is said."""
    rows, setting = drawn(5000, 0, shuffled=True), setting_of(5000, 0.07)
    rows["c1"] = np.where(np.random.default_rng(1).random(5000) < 0.9, rows["c0"], rows["c1"])
    method = GENERATORS["mixture"]
    releases = method.measure(Run(OpenSession(rows, setting), setting))
    tables = tables_of(r for r in releases if r.question.purpose == TABLES)
    columns = estimate_columns(releases, setting)
    weights = {t.marginal.columns: t.weight for t in independence_targets(tables, columns)}
    depends = weights.pop(("c0", "c1"))
    assert depends < 0.3 < 0.7 < min(weights.values())
    assert independence_targets(tables, replace(columns, setting=setting_of(5000, 5.0))) == []
