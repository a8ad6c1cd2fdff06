"""Uses are public: they move the budget about and spend no more of it, and nothing of a question depends on a row."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest

from synth.generators import GENERATORS
from synth.generators.base import PAIR, Run, Setting
from synth.generators.papers.opendp import weighted
from synth.mechanisms import counts, search
from synth.pipeline.methods import granted
from synth.pipeline.rehearsal import rehearse
from synth.pipeline.uses import with_uses, workload
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Bins, Counts
from synth.schema.table import parse

NAMES = ["a", "b", "c", "d", "e"]
USES = [
    ["a by b by c"],
    ["a by b by c by d (weight 3)", "b by c by e"],
    ["a ~ b*c + I(n > 10) + n", "compare n across a, b"],
    ["predict b, c", "columns d", "correlations of n, a, b"],
    [" by ".join(t) for t in combinations([*NAMES, "n"], 3)],
]
ROWS = 6000


def schema(lines=()):
    few = {n: {"type": "categorical", "categories": ["x", "y", "z"][: 2 + (n > "a")]} for n in NAMES}
    return with_uses(parse({"columns": {**few, "n": {"type": "integer", "min": 0, "max": 40}}}), lines)


def rows(seed=0, size=ROWS):
    rng = np.random.default_rng(seed)
    made = {n: rng.integers(0, c.cells, size) for n, c in schema().measured().items()}
    made["a"] = np.where(rng.random(size) < 0.1, made["a"], (made["b"] + made["c"]) % 2)
    return made


def setting(facts):
    grant = granted(1.0, 1e-5, Adjacency(relation=Relation.ADD_REMOVE), learning=False)
    return Setting(schema=facts, mu=grant.mu, sensitivity=1.0, signed=1.0, workload=workload(facts)), grant


def answered(question, table, noise):
    return (counts if isinstance(question, Counts) else search).answer(question, table, noise)


def asked(facts, answer):
    """All questions of a run, and their answers."""
    made = []

    def ask(question):
        made.append((question, answer(question)))
        return made[-1][1]

    circumstances, _ = setting(facts)
    GENERATORS["mixture"].measure(Run(ask, circumstances))
    return made


def tables(question):
    """What a question says of its tables, to compare."""
    if not isinstance(question, Counts):
        return question.purpose, question.scale, question.picks, question.expected.tobytes(), question.tables.tobytes()
    return question.purpose, [(m.columns, m.sigma, [b.groups.tobytes() for b in m.bins]) for m in question.marginals]


@pytest.mark.parametrize("lines", USES, ids=lambda u: u[0])
@pytest.mark.parametrize("method", ["mixture", "independent", "aim"])
def test_uses_spend_the_same(lines, method):
    if method == "aim":
        pytest.importorskip("mbi")
    facts = schema(lines)
    _, grant = setting(facts)
    spent = [
        epsilon_of(rehearse(GENERATORS[method], s, grant, rows=ROWS)[1], grant.left_delta) for s in (schema(), facts)
    ]
    assert spent[1] <= 1.0
    assert spent[1] == pytest.approx(spent[0], rel=0.02)


@pytest.mark.parametrize("lines", USES[:3], ids=lambda u: u[0])
def test_neighbouring_tables_that_give_the_same_answers_see_the_same_questions(lines):
    facts, noise = schema(lines), SeededNoise(1)
    first = asked(facts, lambda q: answered(q, rows(), noise))
    replies = iter([a for _, a in first])
    again = asked(facts, lambda _: next(replies))
    assert [tables(q) for q, _ in first] == [tables(q) for q, _ in again]


def test_what_is_asked_of_a_neighbour_costs_what_is_asked_of_the_table():
    """With the rows of a neighbour and noise of its own, a run asks within the same budget, whatever it sees."""
    facts = schema(USES[1])
    circumstances, grant = setting(facts)
    for seed in (1, 2):
        table = {n: np.append(p, 0)[seed - 1 :] for n, p in rows().items()}
        made = asked(facts, partial(answered, table=table, noise=SeededNoise(seed)))
        events = [e for q, _ in made for e in (counts if isinstance(q, Counts) else search).events(q, grant.adjacency)]
        assert epsilon_of(events, grant.left_delta) <= 1.0
        named = {frozenset(m.columns) for q, _ in made if isinstance(q, Counts) for m in q.marginals}
        assert {frozenset("abcd"), frozenset("bce")} <= named
    assert circumstances.workload.larger


def test_a_named_table_is_told_better_and_weights_say_how_much():
    circumstances, _ = setting(schema(["a by b by c (weight 9)", "b by c by d"]))
    made = []
    GENERATORS["mixture"].check(Run(lambda q: made.append(q) or uniform(q), replace(circumstances, public_rows=None)))
    sigma = {frozenset(m.columns): m.sigma for q in made if isinstance(q, Counts) for m in q.marginals}
    assert sigma[frozenset("abc")] < sigma[frozenset("bcd")]


def uniform(question):
    """The answer of a uniform table."""
    table = {
        n: np.random.default_rng(i).integers(0, c.cells, ROWS) for i, (n, c) in enumerate(schema().measured().items())
    }
    return answered(question, table, SeededNoise(0))


def test_aims_workload_follows_from_uses_and_bins_alone():
    """Named tables and all pairs, each once; a table of more cells than it could hold is left to its pairs."""
    facts = schema(["a by b by c (weight 2)", "predict d", "n by b"])
    bins = [Bins.each(n, 100 if n == "n" else 3) for n in [*NAMES, "n"]]
    asked = dict(weighted(workload(facts), bins))
    assert asked[0, 1, 2] == 2 * PAIR
    assert asked[1, 5] == asked[0, 3] == PAIR
    assert asked[4, 5] == 1.0
    assert len(asked) == 15 + 1
    assert not weighted(workload(schema()), bins)
    wide = [Bins.each(n, 300) for n in NAMES]
    assert max(map(len, dict(weighted(workload(schema(["a by b by c"])), wide)))) == 2
