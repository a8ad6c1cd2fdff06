"""Values of options at, below and above their ends, and what a run says of them."""

from itertools import combinations
from math import inf, nan

import numpy as np

import synth
from synth.generators import GENERATORS
from synth.generators.base import Run
from synth.generators.method import OneOf, options_of, with_options
from synth.generators.papers.dp_sgd import Descending
from synth.generators.papers.training import Trained
from synth.pipeline import budget
from synth.pipeline.rehearsal import rehearse
from synth.privacy.accounting.gaussian import calibrate
from synth.privacy.curator import Grant
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.relation import Adjacency, Relation
from tests.conftest import small_frame
from tests.made import binary, codes, curator, facts_of, number, ran

TINY = facts_of(a=number(0, 3), b=binary("n", "y"), c=codes("u", "v", "w")) | {"target": "b"}
SCHEMA = synth.Schema.parse(TINY)
FRAME = small_frame(40)[[]].assign(a="1", b="y", c="u")
RELATIONS = [(n, r) for n in GENERATORS for r in GENERATORS[n].relations]
SAMPLED = [n for n, g in GENERATORS.items() if isinstance(g, Descending)]
TRAINED = [*(n for n, g in GENERATORS.items() if isinstance(g, Trained)), "aim", "mst"]
# Above their ends words are words nobody knows; numbers a step beyond, and those that are none.
SENSELESS = (nan, inf, -inf, "1e400", "nan", "", "x" * 6000, "9" * 5000, -1, 2.5)


def outside(name, option):
    """Values of an option that lie beyond its ends, or are no values at all."""
    allowed, usual = GENERATORS[name].ranges[option], options_of(GENERATORS[name])[option]
    if isinstance(allowed, OneOf):
        return ["", "magic", "0", "-1", str(allowed.most + 1), chr(0xD800)]
    step = 1 if isinstance(usual, int) else abs(allowed.least) * 1e-6 + 1e-12
    beyond = [allowed.least - step, allowed.most + max(step, allowed.most * 1e-9)]
    beyond = [int(np.ceil(b)) if isinstance(usual, int) else b for b in beyond]
    return [*beyond, *(v for v in SENSELESS if not (isinstance(v, float) and allowed.admits(v)))]


def inside(name, option):
    """The ends of an option, and each of its words."""
    allowed, usual = GENERATORS[name].ranges[option], options_of(GENERATORS[name])[option]
    if isinstance(allowed, OneOf):
        return [*allowed.words, *(["1", "7"] if allowed.most else [])]
    return [type(usual)(allowed.least), type(usual)(allowed.most)]


def grant(relation, epsilon=1.0):
    return Grant(
        epsilon=epsilon, delta=1e-5, adjacency=Adjacency(relation=Relation(relation)), mu=calibrate(epsilon, 1e-5)
    )


def verdict(name, relation, options):
    """The reason for a refusal, as a run gives it before the spend, or None."""
    try:
        rehearse(with_options(GENERATORS[name], options), SCHEMA, grant(relation))
    except synth.UsageError as error:
        return str(error)
    return None


def run(name, relation, options, book):
    return ran(FRAME, SCHEMA, method=name, relation=relation, options=options, ledger=book, num_rows=5)


def spends(book):
    return [e for e in Ledger(book).entries() if e.kind == "spend"]


def settled(name):
    """Methods whose rehearsal loads other libraries for seconds, or does real work: only with ``-m slow``."""
    return name not in TRAINED


def pairs(name, *, words):
    """Two options at once, at their ends and words; ``words``: only those in which one is a word."""
    ranges = GENERATORS[name].ranges
    for one, two in combinations(ranges, 2):
        if words and not (isinstance(ranges[one], OneOf) and isinstance(ranges[two], OneOf)):
            continue
        yield from ({one: a, two: b} for a in inside(name, one) for b in inside(name, two))


WORDED = [(n, r) for n, r in RELATIONS if any(isinstance(x, OneOf) for x in GENERATORS[n].ranges.values())]


def measured(name, relation, options):
    """The real curator's door, on real positions: 1 where all questions were answered."""
    rows = {n: np.zeros(40, dtype=np.int64) for n in SCHEMA.measured()}
    given = grant(relation)
    session = curator(rows, grant=given)
    public = 40 if given.adjacency.rows_are_public else None
    with_options(GENERATORS[name], quick(name, options)).measure(
        Run(session.ask, budget.setting(SCHEMA, given, public_rows=public))
    )
    return 1


def quick(name, options):
    small = {"anchors": 40, "steps": 2, "frequencies": 50, "features": 500, "ensembles": 1, "components": 4}
    return {**{n: v for n, v in small.items() if n in GENERATORS[name].ranges}, **options}


FREE = "rehearsed to the last question"


def reasons(name, relation):
    """What the rehearsal says of every two options at their ends, ``FREE`` where it lets them through."""
    yield from (verdict(name, relation, options) or FREE for options in pairs(name, words=False))


def charged_or(book, name, relation, options):
    """What came of a whole run that should be refused: the refusal's words, or what else."""
    try:
        run(name, relation, options, book)
    except synth.UsageError as error:
        return str(error)
    except synth.SynthError as error:
        return type(error).__name__
    return "ran"
