"""Uses of related tables: the same price, more for what is named, the same questions for neighbours, the same words."""

import json

import numpy as np
import pytest

import synth
from synth.errors import UsageError
from synth.generators import TREES
from synth.generators.base import Run
from synth.generators.core.related import Nested
from synth.generators.core.related_fit import TreeOptions
from synth.mechanisms import linked
from synth.pipeline.budget import setting
from synth.pipeline.methods import granted
from synth.pipeline.rehearsal import made_up
from synth.pipeline.uses import tables_of, with_uses, workload
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions.linked import placed
from synth.release.card.verify import problems
from synth.release.folder import load_release
from synth.report import publish
from synth.schema.dataset import taken
from tests.laws.related_trees import SCHEMA
from tests.made import ID, codes, facts_of, number
from tests.unit.reporting.related_homes import PLAIN, homes

PERSONS = facts_of(pid=ID, sex=codes("f", "m", of="unit"), ward=codes("a", "b", "c"), day=number(0, 9)) | {
    "dataset": "visits",
    "unit": "pid",
    "max_rows": 3,
}
WITHIN, ABOVE, NUMBER = "events.n by events.day", "parts.f by roots.x", "events.n by `events.number of parts`"
GRANT = granted(1.0, 1e-6, Adjacency(relation=Relation.ADD_REMOVE), learning=False)


def asked(*lines, seed=0, roots=4000):
    """The questions on made-up trees, and the least deviation of the tables of two columns about rows, by columns."""
    facts = with_uses(SCHEMA, lines)
    forest, noise, made = made_up(facts, roots), SeededNoise(seed), []

    def ask(question):
        made.append(question)
        return linked.answer(question, forest, noise)

    TREES["mixture"].measure(Run(ask, setting(facts, GRANT, public_rows=None)))
    rows = [m for q in made if q.view == "rows" and q.purpose == "tables" for m in q.marginals]
    return made, {frozenset(".".join(placed(c)[:2]) for c in m.columns): m.sigma for m in rows if len(m.bins) == 2}


def names(line):
    return frozenset(n.strip("`") for n in line.split(" by "))


@pytest.mark.parametrize("line", [WITHIN, ABOVE, NUMBER])
def test_what_is_named_is_told_better_for_the_same_price(line):
    questions, sigma = asked(line)
    _, before = asked()
    assert sigma[names(line)] < 0.8 * before[names(line)]
    assert np.median([sigma[t] / before[t] for t in sigma.keys() & before.keys()]) < 1.5
    events = [e for q in questions for e in linked.events(q, GRANT.adjacency)]
    assert 0.99 < epsilon_of(events, GRANT.left_delta) <= 1.0


REGRESSION = "parts.f ~ roots.x + log1p(events.n)"


def test_a_regression_asks_for_its_outcome_with_each_term_and_for_terms_together():
    """Of rows and of those above, for the price of any run; outcome by term before terms by each other."""
    questions, sigma = asked(REGRESSION)
    _, before = asked()
    outcome, other, terms = (
        sigma[names(line)] / before[names(line)] for line in (ABOVE, "parts.f by events.n", "events.n by roots.x")
    )
    assert max(outcome, other) < terms < 1.0
    events = [e for q in questions for e in linked.events(q, GRANT.adjacency)]
    assert 0.99 < epsilon_of(events, GRANT.left_delta) <= 1.0


def test_a_named_table_is_counted_though_nothing_is_seen_of_it():
    """Of few units a first question finds no relation in even rows; tables that nobody named are then left out."""
    line = "parts.f by roots.x"
    named, plain = (asked(*lines, roots=400) for lines in ((line,), ()))
    assert [names(line) in sigma for _, sigma in (named, plain)] == [True, False]
    shapes = {m.shape for q in named[0] for m in q.marginals if {*m.columns} == {"parts/f", "roots/x"}}
    assert shapes == {(12, 4)}, "value by value, however few units there are"


@pytest.mark.parametrize("line", ["ward by sex", "day ~ sex + ward", "predict ward", "columns sex, day"])
def test_where_persons_repeat_uses_have_the_names_of_the_one_table(line):
    """They are counted across persons and rows, and said as they were written."""
    facts = taken(with_uses(synth.Schema.parse(PERSONS), [line]))
    ((words, tables),) = tables_of(facts)
    assert words == line
    known = {"persons.sex", "rows.ward", "rows.day", "persons.number of rows"}
    assert tables
    assert {n for t in tables for n in t} <= known
    plan = synth.plan(synth.Schema.parse(PERSONS), rows=5000, epsilon=1.0, delta=1e-6, uses=[line], error=0.1)
    (one,) = plan.uses
    assert one.use == line
    assert 0 < one.error < 1
    assert 0.01 < plan.least_epsilon[line] < 20


def test_uses_are_tables_on_one_way_up_the_tree():
    facts = with_uses(SCHEMA, [ABOVE, "predict parts.f", "columns events.n"])
    assert workload(facts).tables[0].columns == ("parts.f", "roots.x")
    tables = dict(tables_of(facts))
    assert ("parts.f", "roots.x") in tables["predict parts.f"]
    assert tables["columns events.n"] == [("events.n",)]
    for wrong, said in {
        "roots.x by roots.id": "is an identifier",
        "roots.x by n": "'n' is not among the columns",
        "events.n ~ roots.y": "'roots.y' is not among the columns",
        "events.n ~ x": "'x' is not among the columns",
        "events.n ~ roots.id": "must be of one measured column",
        "events.n ~ events.n": "on both sides",
        "nothing": "is none that is understood",
    }.items():
        with pytest.raises(UsageError, match=said):
            with_uses(SCHEMA, [wrong])
    stored = synth.app_api.parse_related(json.loads(facts.to_json()))
    assert stored.uses == facts.uses


def test_the_forecast_speaks_of_each_use():
    plain, named = (synth.plan(SCHEMA, rows=50_000, epsilon=1.0, delta=1e-6, uses=u) for u in ((), [ABOVE]))
    assert not plain.uses
    (one,) = named.uses
    assert one.use == ABOVE
    assert 0 < one.error < 1
    assert ABOVE in named.in_words()


def test_a_run_stores_what_its_tables_are_for(tmp_path, monkeypatch):
    quick = Nested(options=TreeOptions(fits=1, roots=8, children=8, steps=5))
    monkeypatch.setitem(TREES, "mixture", quick)
    how = {"schema": synth.app_api.parse_related(PLAIN), "epsilon": 2.0, "delta": 1e-5, "ledger": tmp_path / "l.sqlite"}
    line = "people.work by people.sex by homes.region"
    with pytest.raises(UsageError, match="not among the columns"):
        synth.run(homes(100), uses=["work by sex"], **how)
    result = synth.run(homes(100), uses=[line], out=tmp_path / "r", **how)
    assert result.epsilon_spent == 2.0
    stored = load_release(tmp_path / "r", tree=True)
    assert [u.words for u in stored.schema.uses] == [line]
    assert not [*problems(result.card)]
    publish.gather(tmp_path / "r")
