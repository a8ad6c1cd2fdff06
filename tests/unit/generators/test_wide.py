"""Tables of so many columns that all pairs are asked in one question."""

from dataclasses import replace
from math import sqrt

import numpy as np

from synth.generators.base import Fit, NamedTable, Run, Setting, Workload
from synth.generators.core import logits
from synth.generators.core.columns import estimate_columns
from synth.generators.core.logits import Limits, _made, farthest
from synth.generators.core.mixture import Mixture
from synth.generators.core.planning import TABLES, PairPlan, many_pairs
from synth.generators.core.search import LOOK, STRONGEST, Strongest
from synth.generators.core.solver import Options
from synth.schema.table import Schema
from tests.unit.generators.helpers import OpenSession

ROWS, COLUMNS = 5000, 12
FEW = PairPlan(together=20)  # as if twelve columns were hundreds
SOUGHT = Mixture(plan=FEW, options=Options(components=8, ensembles=4, steps=60))
WIDE = replace(SOUGHT, strongest=Strongest(pairs=0))


def setting(target=None, mu=1.0):
    facts = {"type": "categorical", "categories": [str(i) for i in range(6)]}
    columns = {f"c{j}": facts for j in range(COLUMNS)} | {"x": {"type": "integer", "min": 0, "max": 999}}
    return Setting(schema=Schema.model_validate({"columns": columns, "target": target}), mu=mu, sensitivity=1.0)


def people():
    """Every column follows one hidden cause."""
    rng = np.random.default_rng(0)
    cause = rng.random(ROWS)
    mixed = {f"c{j}": np.where(rng.random(ROWS) < 0.7, cause, rng.random(ROWS)) for j in range(COLUMNS)}
    return {n: (v * 6).astype(np.int64) for n, v in mixed.items()} | {"x": (cause * 1000).astype(np.int64)}


def measured(target=None, mu=1.0):
    session = OpenSession(people(), setting(target, mu))
    return WIDE.measure(Run(session, session.setting)), session


def test_all_pairs_are_one_question_that_takes_the_whole_budget():
    releases, session = measured()
    assert 0.9999 * session.setting.mu < sqrt(session.spent) <= session.setting.mu
    (pairs,) = (q for q in session.asked if q.purpose == TABLES)
    assert len(pairs.marginals) == (COLUMNS + 1) * COLUMNS // 2 == len({m.columns for m in pairs.marginals})
    assert len({m.sigma for m in pairs.marginals}) == 1
    assert len({id(b) for m in pairs.marginals for b in m.bins}) == COLUMNS + 1  # one grouping a column
    assert releases[-1].question is pairs


def test_the_target_is_told_better_for_the_same_budget():
    _, session = measured(target="c3")
    pairs = next(q for q in session.asked if q.purpose == TABLES)
    own, others = ({m.sigma for m in pairs.marginals if ("c3" in m.columns) is held} for held in (True, False))
    assert len(own) == len(others) == 1
    assert others.pop() > 2 * own.pop()
    assert 0.9999 * session.setting.mu < sqrt(session.spent) <= session.setting.mu


def test_below_the_threshold_nothing_is_asked_in_that_way():
    session = OpenSession(people(), setting())
    releases = Mixture(rounds=0).measure(Run(session, session.setting))
    assert not many_pairs(estimate_columns(releases[:1], session.setting), PairPlan())
    assert many_pairs(estimate_columns(releases[:1], session.setting), FEW)


def test_the_bins_of_all_columns_are_as_few_as_the_plan_says():
    """Hardly any noise: as many as there are values, unless ``widest`` says fewer."""
    for widest, least, most in ((3000, 60, 200), (40, 13, 40)):
        method = replace(WIDE, plan=replace(FEW, widest=widest))
        session = OpenSession(people(), setting(mu=100.0))
        pairs = method.measure(Run(session, session.setting))[-1].question.marginals
        bins = {b.column: b.size for m in pairs for b in m.bins}
        assert least <= sum(bins.values()) <= most


def off(model):
    """Mean total variation of all pairs of categories."""
    rows, goal = model.sample(ROWS, rng=np.random.default_rng(1)), people()
    names = [n for n in goal if n != "x"]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    tables = [[np.bincount(t[a] * 6 + t[b], minlength=36) / ROWS for t in (rows, goal)] for a, b in pairs]
    return float(np.mean([np.abs(x - y).sum() / 2 for x, y in tables]))


def test_what_columns_share_is_learnt_and_noise_is_not(monkeypatch):
    """Against columns drawn independently; the tables the fit is farthest from are looked at, not all of them."""
    releases, session = measured(target="c3", mu=2.0)
    few = replace(WIDE, limits=Limits(many=20, farthest=5))
    looked: list[int] = []
    misses = logits.misses
    monkeypatch.setattr(logits, "misses", lambda a, *m, **s: looked.append(len(a)) or misses(a, *m, **s))
    how = Fit(np.random.default_rng(0))
    model = few.fit(releases, session.setting, how)
    alone = few.fit(releases[:-1], session.setting, how)
    assert looked[0] == COLUMNS + 5
    assert off(model) < 0.4 * off(alone)


def test_the_farthest_tables_are_those_the_model_misses():
    """The model's own tables as answers, but for two that are far from it."""
    releases, session = measured()
    how = Fit(np.random.default_rng(0))
    poor = replace(WIDE, options=Options(components=2, ensembles=2, steps=5))
    model = poor.fit(releases, session.setting, how)
    pairs = releases[-1].question.marginals
    groups = {b.column: b.groups for m in pairs for b in m.bins}
    answers = [(m, np.rint(_made(model, groups, m) * model.total)) for m in pairs]
    for i in (7, 31):
        answers[i] = (pairs[i], answers[i][1] + 9 * pairs[i].sigma)
    retained = farthest(model, groups, answers, None, most=2)
    assert [m.columns for m, _ in retained] == [pairs[7].columns, pairs[31].columns]
    retained = farthest(model, groups, answers, "c5", most=2)
    assert sum("c5" in m.columns for m, _ in retained) == COLUMNS


def test_uses_of_a_wide_table_are_asked_and_other_columns_stand_alone():
    """So much noise that all pairs tell little: of 8 seeds of noise the worst has 0.55 of the error without uses."""
    workload = Workload(
        tables=(NamedTable(columns=("c0", "c1", "c2")), NamedTable(columns=("c5", "x"), weight=2.0)), targets=()
    )
    named, plain = replace(setting(mu=0.05), workload=workload), setting(mu=0.05)
    session = OpenSession(people(), named)
    releases = WIDE.measure(Run(session, named))
    assert session.spent <= named.mu**2
    pairs = {frozenset(m.columns) for q in session.asked if q.purpose == TABLES for m in q.marginals}
    assert pairs == {frozenset(p) for p in [("c0", "c1"), ("c0", "c2"), ("c1", "c2"), ("c0", "c1", "c2"), ("c5", "x")]}
    models = [WIDE.fit(releases, named, Fit(np.random.default_rng(0)))]
    other = OpenSession(people(), plain)
    asked = WIDE.measure(Run(other, plain))
    models.append(WIDE.fit(asked, plain, Fit(np.random.default_rng(0))))
    off = [_triple_error(m.sample(ROWS, rng=np.random.default_rng(1))) for m in models]
    assert off[0] < 0.65 * off[1]


def _triple_error(made):
    def table(rows):
        return np.bincount(rows["c0"] * 36 + rows["c1"] * 6 + rows["c2"], minlength=216) / ROWS

    return np.abs(table(made) - table(people())).sum() / 2


def alone():
    """Columns without a common cause, of which each second one of the first eight follows the one before."""
    rng = np.random.default_rng(0)
    rows = {f"c{j}": rng.integers(0, 6, ROWS) for j in range(COLUMNS)} | {"x": rng.integers(0, 1000, ROWS)}
    for j in range(1, 8, 2):
        rows[f"c{j}"] = np.where(rng.random(ROWS) < 0.8, 5 - rows[f"c{j - 1}"], rows[f"c{j}"])
    return rows


PAIRED = {frozenset((f"c{j - 1}", f"c{j}")) for j in range(1, 8, 2)}


def paired(strongest, mu=1.0):
    session = OpenSession(alone(), setting(mu=mu))
    method = replace(SOUGHT, strongest=strongest)
    releases = method.measure(Run(session, session.setting))
    return method, releases, session


def test_the_pairs_that_depend_alone_are_found_and_drawn():
    """Four pairs among 78 that no common cause explains: each of them at a quarter of independence's error."""
    method, releases, session = paired(Strongest(pairs=6))
    assert 0.999 * session.setting.mu < sqrt(session.spent) <= session.setting.mu
    counted = next(q for q in session.asked if q.purpose == TABLES)
    assert {frozenset(m.columns) for m in counted.marginals} >= PAIRED
    model = method.fit(releases, session.setting, Fit(np.random.default_rng(0)))
    made, real = model.sample(ROWS, rng=np.random.default_rng(1)), alone()
    for a, b in PAIRED:
        tables = [np.bincount(t[a] * 6 + t[b], minlength=36).reshape(6, 6) / ROWS for t in (made, real)]
        lost = np.outer(tables[1].sum(1), tables[1].sum(0))
        assert np.abs(tables[0] - tables[1]).sum() < 0.25 * np.abs(lost - tables[1]).sum()


def test_nothing_is_sought_where_noise_would_decide():
    _, _, session = paired(Strongest(pairs=6), mu=0.02)
    assert not [q for q in session.asked if q.purpose == STRONGEST]


def test_independent_columns_are_no_further_off_than_drawn_alone():
    """All picks are chance: no column is drawn again, and what is drawn is as good as independent."""
    session = OpenSession(
        {n: np.random.default_rng(i).permutation(v) for i, (n, v) in enumerate(alone().items())}, setting()
    )
    method = replace(SOUGHT, strongest=Strongest(pairs=6))
    releases = method.measure(Run(session, session.setting))
    model = method.fit(releases, session.setting, Fit(np.random.default_rng(0)))
    assert len(model.conditionals) <= 1


def test_where_nothing_else_depends_the_rest_counts_single_columns_again():
    """By a look at half of the columns: independent ones beside the pairs, or all of one cause."""
    method = replace(SOUGHT, strongest=Strongest(pairs=6, looked=6, look=0.3))
    for people_, depend in ((alone(), False), (people(), True)):
        session = OpenSession(people_, setting(mu=1.0))
        releases = method.measure(Run(session, session.setting))
        assert 0.999 < sqrt(session.spent) <= 1.0
        asked = [q.purpose for q in session.asked]
        assert asked.count(LOOK) == 1
        assert (asked[-1] == TABLES) is depend
        model = method.fit(releases, session.setting, Fit(np.random.default_rng(0)))
        assert depend or len(model.weights) == 1
        assert depend or len(model.conditionals) >= 4
