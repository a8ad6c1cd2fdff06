"""Nothing is spent in vain: every method, relation and option at, below and above its ends, and conflicting pairs.

A refusal leaves the ledger untouched; what is accepted has had all its questions put to a real curator. The figures of
docs/reliability.md are kept by ``python -m tests.conformance.test_refusals`` in benchmarks/results.
"""

import json
import os
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from itertools import combinations
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

import synth
from synth.generators import GENERATORS
from synth.generators.gradients.trained import Descending, Trained
from synth.generators.options import options_of, with_options
from synth.generators.ranges import Between, OneOf
from synth.pipeline import budget
from synth.pipeline.rehearsal import rehearse
from synth.privacy.accounting.composition import calibrate
from synth.privacy.curator import Curator, Grant
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation
from synth.questions import Counts
from tests.conftest import SMALL, small_frame

TINY = {"target": "b", "columns": {"a": {"type": "integer", "min": 0, "max": 3},
                                   "b": {"type": "boolean", "categories": ["n", "y"]},
                                   "c": {"type": "categorical", "categories": ["u", "v", "w"]}}}  # fmt: skip
SCHEMA = synth.parse(TINY)
FRAME = small_frame(40)[[]].assign(a="1", b="y", c="u")
KEPT = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "refusals.json"
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
    return Grant(epsilon=epsilon, delta=1e-5, adjacency=Adjacency(relation=Relation(relation)),
                 mu=calibrate(epsilon, 1e-5))  # fmt: skip


def verdict(name, relation, options):
    """The reason for a refusal, as a run gives it before the spend, or None."""
    try:
        rehearse(with_options(GENERATORS[name], options), SCHEMA, grant(relation))
    except synth.UsageError as error:
        return str(error)
    return None


def run(name, relation, options, book):
    return synth.run(FRAME, schema=SCHEMA, epsilon=1.0, delta=1e-5, method=name, relation=relation, dataset="d",
                     options=options, ledger=book, num_rows=5)  # fmt: skip


def spends(book):
    return [e for e in Ledger(book).entries() if e.kind == "spend"]


@pytest.mark.parametrize("name", GENERATORS)
def test_every_option_has_a_range_that_holds_its_default(name):
    options, ranges = options_of(GENERATORS[name]), GENERATORS[name].ranges
    assert options.keys() == ranges.keys()
    assert all(ranges[n].admits(v) for n, v in options.items())
    assert all(isinstance(r, Between | OneOf) for r in ranges.values())


@pytest.mark.parametrize(
    ("name", "relation"),
    [pytest.param(n, r, marks=[] if r == GENERATORS[n].relations[0] and n not in SAMPLED[2:] else pytest.mark.slow)
     for n, r in RELATIONS],
)  # fmt: skip
def test_an_option_beyond_its_ends_is_refused_with_the_ledger_untouched(name, relation, tmp_path):
    """By whole runs, on a ledger of their own, and each time in one line that names the option."""
    book, tried, wrong = tmp_path / "ledger.sqlite", 0, []
    for option in GENERATORS[name].ranges:
        for value in outside(name, option):
            said = charged_or(book, name, relation, {option: value})
            wrong += [] if option in said and len(said) < 2100 and "\n" not in said else [(option, value, said[:200])]
            tried += 1
    assert wrong == []
    assert spends(book) == []
    assert tried >= 6 * len(GENERATORS[name].ranges)


def settled(name):
    """Methods whose rehearsal loads other libraries for seconds, or does real work: only with ``-m slow``."""
    return name not in TRAINED


@pytest.mark.parametrize(
    ("name", "relation"),
    [pytest.param(n, r, marks=[] if settled(n) and r == "add_remove" else pytest.mark.slow) for n, r in RELATIONS],
)
def test_an_option_at_its_ends_is_rehearsed_to_its_last_question_or_refused_by_name(name, relation):
    wrong = []
    for option in GENERATORS[name].ranges:
        for value in inside(name, option):
            reason = verdict(name, relation, {option: value})
            named = reason is None or option in reason or "options" in reason or "decay" in reason
            by_chance = reason is not None and "cannot ask its questions" in reason
            wrong += [] if named and not by_chance else [(option, value, reason)]
    assert wrong == []


def pairs(name, *, words):
    """Two options at once, at their ends and words; ``words``: only those in which one is a word."""
    ranges = GENERATORS[name].ranges
    for one, two in combinations(ranges, 2):
        if words and not (isinstance(ranges[one], OneOf) and isinstance(ranges[two], OneOf)):
            continue
        yield from ({one: a, two: b} for a in inside(name, one) for b in inside(name, two))


WORDED = [(n, r) for n, r in RELATIONS if any(isinstance(x, OneOf) for x in GENERATORS[n].ranges.values())]


@pytest.mark.parametrize(("name", "relation"), WORDED)
def test_words_that_conflict_are_refused_before_the_spend_and_others_measure_to_the_end(name, relation, tmp_path):
    """What the rehearsal lets through the real curator answers, and what it refuses no run has paid for."""
    book, refused, answered, wrong = tmp_path / "ledger.sqlite", 0, 0, []
    for options in pairs(name, words=True):
        if verdict(name, relation, options) is None:
            answered += measured(name, relation, options)
        else:
            refused += 1
            said = charged_or(book, name, relation, options)
            wrong += [] if said not in ("ran", "BudgetError") and spends(book) == [] else [(options, said)]
    assert wrong == []
    assert spends(book) == []
    assert answered or refused or not list(pairs(name, words=True))


def measured(name, relation, options):
    """The real curator's door, on real positions: 1 where all questions were answered."""
    rows = {n: np.zeros(40, dtype=np.int64) for n in SCHEMA.measured()}
    given = grant(relation)
    session = Curator(grant=given, commit=lambda: None, read=lambda: rows, mechanisms=budget.mechanisms(),
                   noise=SystemNoise())  # fmt: skip
    public = 40 if given.adjacency.rows_are_public else None
    with_options(GENERATORS[name], quick(name, options)).measure(
        session.ask, budget.setting(SCHEMA, given, public_rows=public), progress=lambda _: None
    )
    return 1


def quick(name, options):
    small = {"anchors": 40, "steps": 2, "frequencies": 50, "features": 500, "ensembles": 1, "components": 4}
    return {**{n: v for n, v in small.items() if n in GENERATORS[name].ranges}, **options}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "relation"), RELATIONS)
def test_any_two_options_at_their_ends_are_rehearsed_or_refused(name, relation):
    found = Counter(reasons(name, relation))
    vague = [reason for reason in found if "cannot ask its questions" in reason]
    assert vague == []
    assert found[FREE] or len(GENERATORS[name].ranges) < 2


@pytest.mark.parametrize(("name", "relation"), [x for x in RELATIONS if x[0] in SAMPLED[:2]])
def test_a_training_that_hardly_anybody_enters_is_refused_by_the_names_of_its_options(name, relation):
    """Its noise could be nothing: the accountant divided by it, or listed a terabyte of losses."""
    reason = verdict(name, relation, {"steps": 1, "rate": 1e-6})
    assert reason is not None
    assert "options rate and steps" in reason


FREE = "rehearsed to the last question"


def reasons(name, relation):
    """What the rehearsal says of every two options at their ends, ``FREE`` where it lets them through."""
    yield from (verdict(name, relation, options) or FREE for options in pairs(name, words=False))


# Each of these was charged before it was refused.
CHARGED = [
    ("slicing", "zero_out", {"directions": "gaussian"}),
    ("slicing", "add_remove", {"directions": "gaussian", "loss": "kl"}),
    ("slice_wasserstein", "add_remove", {"directions": "gaussian"}),
    ("dp_kernel", "add_remove", {"form": "path", "anchors": 9000}),
    ("dp_kernel", "add_remove", {"form": "gaussian", "gradients": "joint", "anchors": 2}),
    ("mixture", "add_remove", {"oneway_share": "nan"}),
    ("mixture", "add_remove", {"oneway_share": "1e400"}),
    ("dp_ntk", "add_remove", {"order": 2}),
    ("slicing", "add_remove", {"groups": str(1 << 26)}),
    ("dp_ctgan", "add_remove", {"hidden": 4096}),  # its gradients took 30 GB and more, so the system killed the run
]


@pytest.mark.parametrize(("name", "relation", "options"), CHARGED)
def test_what_was_once_charged_is_refused_before(name, relation, options, tmp_path):
    with pytest.raises(synth.UsageError, match=r"option|needs|groups"):
        run(name, relation, options, tmp_path / "ledger.sqlite")
    assert spends(tmp_path / "ledger.sqlite") == []


def test_the_rehearsal_sees_what_the_noise_is_not_precise_enough_for():
    """Of whole numbers' noise no reserve is too small, of noise on a finer lattice some are."""
    scarce = replace(grant("add_remove"), float_slack=1e-9)
    with pytest.raises(synth.UsageError, match=r"3 columns.*precise"):
        rehearse(GENERATORS["dp_merf"], SCHEMA, scarce)
    rehearse(GENERATORS["mixture"], SCHEMA, scarce)


def test_an_epsilon_beyond_the_noises_precision_is_refused_before_the_spend(tmp_path):
    with pytest.raises(synth.UsageError, match=r"3 columns.*precise"):
        synth.run(FRAME, schema=SCHEMA, epsilon=50.0, delta=1e-5, method="dp_merf", dataset="d",
                  ledger=tmp_path / "ledger.sqlite")  # fmt: skip
    assert spends(tmp_path / "ledger.sqlite") == []


def test_a_method_for_small_tables_does_not_learn_how_large_a_table_is(tmp_path):
    schema = synth.parse({"columns": {"a": {"type": "categorical"}, "b": TINY["columns"]["b"]}}, complete=False)
    with pytest.raises(synth.UsageError, match="synth schema learn"):
        synth.run(FRAME[["a", "b"]], schema=schema, epsilon=1.0, delta=1e-5, method="mwem", learn_share=0.2,
                  dataset="d", ledger=tmp_path / "ledger.sqlite")  # fmt: skip
    assert spends(tmp_path / "ledger.sqlite") == []


def test_the_rehearsals_curator_refuses_what_the_real_one_would():
    """The evil twin: a method that asks for more than its budget is refused by the rehearsal, not by chance."""
    greedy = GENERATORS["independent"]
    wide = replace(grant("add_remove"), mu=grant("add_remove").mu / 2)

    class Greedy(type(greedy)):
        def measure(self, ask, setting, *, progress):
            return super().measure(ask, replace(setting, mu=2 * setting.mu), progress=progress)

    with pytest.raises(synth.UsageError, match="remaining"):
        rehearse(Greedy(), SCHEMA, wide)


TINIEST = [1e-6, 1e-9, 1e-12, 5e-324]


@pytest.mark.parametrize("name", GENERATORS)
def test_an_epsilon_beyond_what_is_computed_is_refused_by_every_method(name, tmp_path):
    book = tmp_path / "ledger.sqlite"
    for epsilon in TINIEST:
        with pytest.raises(synth.UsageError, match=r"below 0\.0001"):
            synth.run(FRAME, schema=SCHEMA, epsilon=epsilon, delta=1e-5, method=name, dataset="d", ledger=book)
    assert spends(book) == []


# The ends of what may be asked for; the trained methods, whose accounting takes seconds, are tried with -m slow.
FAR = [(1e-4, 1e-20), (1e-4, 0.99), (1e6, 1e-20), (1e6, 0.99)]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in TRAINED else []) for n in GENERATORS])
def test_the_ends_of_epsilon_and_delta_are_refused_before_the_spend_or_run_to_the_end(name, tmp_path, recwarn):
    said, spent = [], []
    for i, (epsilon, delta) in enumerate(FAR):
        book = tmp_path / f"{i}.sqlite"
        try:
            synth.run(FRAME, schema=SCHEMA, epsilon=epsilon, delta=delta, method=name, dataset="d", ledger=book,
                      options=quick(name, {}), num_rows=5)  # fmt: skip
        except synth.UsageError as refused:
            said.append(str(refused))
            spent += spends(book)
    assert spent == []
    assert [s for s in said if "precise" not in s and "option" not in s and "raise epsilon" not in s] == []
    assert [w for w in recwarn if w.category is RuntimeWarning] == []


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-4, 1e-20), (1.0, 1e-20)])
def test_tables_of_counts_are_never_charged_and_then_refused(epsilon, delta, tmp_path):
    """What a run asks follows from its answers: here no answer leads to a question that precision refuses."""
    for i in range(3):
        synth.run(FRAME, schema=SCHEMA, epsilon=epsilon, delta=delta, method="mixture", dataset="d",
                  ledger=tmp_path / f"{i}.sqlite", num_rows=5)  # fmt: skip


def test_precision_is_left_for_more_tables_than_were_rehearsed():
    """The evil twin: answers that lead to ten times as many tables are no reason to refuse after the spend."""
    asked = rehearse(GENERATORS["mixture"], SCHEMA, grant("add_remove"))
    tables = [q for q, _ in asked if isinstance(q, Counts)]
    given, most = grant("add_remove", 49.0), []
    for epsilon in np.arange(45.0, 56.0, 0.25):
        given = grant("add_remove", float(epsilon))
        try:
            rehearse(GENERATORS["mixture"], SCHEMA, given)
        except synth.UsageError:
            break
        most.append(epsilon)
    number = 10 * sum(len(t.marginals) for t in tables)
    taken = number * 2.0**-100 * (1 + np.exp(most[-1])) / (given.left_delta * 0.02)
    assert 0.05 < taken < 1.0


OPTIONS = [
    ("--seed", "-1"), ("--seed", str(2**63)), ("--num-rows", "999999999999"), ("--num-rows", "0"),
    ("--option", "oneway_share=nan"), ("--option", "oneway_share=1e400"), ("--epsilon", "1e308"), ("--delta", "1e-300"),
    ("--epsilon", "1e-300"), ("--out", "/proc/no/such"), ("--out", "/dev/null/x"), ("--out", "a\0b"),
    ("--out", "x" * 300), ("--dataset", "\ud800"), ("--max-rows", "0"),
]  # fmt: skip


@pytest.mark.parametrize("option", OPTIONS, ids=lambda o: o[0] + "=" + o[1][:12].encode("ascii", "replace").decode())
def test_the_command_line_refuses_before_the_spend(command, small, option):
    code, said, told = command("run", small[0], "--schema", small[1], "--epsilon", 1, *option)
    assert code == 2, told
    assert (said, told.count("synth: "), "Traceback" in told) == ("", 1, False)
    assert [e for e in Ledger().entries() if e.kind == "spend"] == []


def test_a_category_that_no_file_can_hold_is_refused_before_the_spend(command, small, tmp_path):
    schema = tmp_path / "half.json"
    plain = json.loads(json.dumps(SMALL))
    plain["columns"]["region"]["categories"][0] = chr(0xD800)
    schema.write_text(json.dumps(plain))  # as an escape, which is valid JSON
    code, _, told = command("run", small[0], "--schema", schema, "--epsilon", 1)
    assert code == 2, told
    assert "region" in told
    assert [e for e in Ledger().entries() if e.kind == "spend"] == []


@pytest.mark.parametrize("name", ["no/such/folder/log.json", "", "a\0b", "pipe"])
def test_a_stewards_log_that_cannot_be_written_is_refused_before_the_spend(name, tmp_path):
    os.mkfifo(tmp_path / "pipe")  # which nobody reads
    log, book = f"{tmp_path}/{name}", tmp_path / "ledger.sqlite"
    with pytest.raises(synth.UsageError, match="steward log"):
        synth.run(FRAME, schema=SCHEMA, epsilon=1.0, delta=1e-5, method="independent", dataset="d", ledger=book,
                  steward_log=log)  # fmt: skip
    assert spends(book) == []


def charged_or(book, name, relation, options):
    """What came of a whole run that should be refused: the refusal's words, or what else."""
    try:
        run(name, relation, options, book)
    except synth.UsageError as error:
        return str(error)
    except synth.SynthError as error:
        return type(error).__name__
    return "ran"


def outcome(said):
    """In a word what ``charged_or`` says."""
    return said if said in ("ran", "BudgetError", "InputError", "SynthError") else "refused"


def main(book: str) -> None:
    """Tries what the quick tests try and keeps what came of it: a table of docs/reliability.md."""
    quick_ones = [(n, r) for n, r in RELATIONS if settled(n) and r == "add_remove"]
    beyond = Counter(
        outcome(charged_or(book, n, r, {o: v}))
        for n, r in RELATIONS
        for o in GENERATORS[n].ranges
        for v in outside(n, o)
    )
    ends = Counter(
        "refused" if verdict(n, r, {o: v}) else "rehearsed"
        for n, r in quick_ones
        for o in GENERATORS[n].ranges
        for v in inside(n, o)
    )
    words: Counter[str] = Counter()
    for name, relation in WORDED:
        for options in pairs(name, words=True):
            free = verdict(name, relation, options) is None
            words["measured" if free else outcome(charged_or(book, name, relation, options))] += (
                measured(name, relation, options) if free else 1
            )
    named = {"beyond their ends": beyond, "at their ends": ends, "pairs of words": words}
    kept = {"methods": len(GENERATORS), "with a relation": len(RELATIONS), "options": listed_options(),
            "rehearsed methods": len(quick_ones), "spends": len(spends(book)), **named}  # fmt: skip
    print(json.dumps(kept, indent=1))
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")


def listed_options() -> int:
    """Options of all methods together."""
    return sum(len(g.ranges) for g in GENERATORS.values())


def slow(methods: list[str]) -> None:
    """Tries what the slow tests try, of these methods or of all; prints a line for each with a relation, then sums."""
    total: Counter[str] = Counter()
    for name, relation in [(n, r) for n, r in RELATIONS if n in methods or not methods]:
        ends = Counter(
            verdict(name, relation, {o: v}) or FREE for o in GENERATORS[name].ranges for v in inside(name, o)
        )
        both = Counter(reasons(name, relation))
        for what, found in (("ends", ends), ("pairs", both)):
            refused = found.total() - found[FREE]
            chance = sum(n for reason, n in found.items() if "cannot ask its questions" in reason)
            total += Counter(
                {f"{what} rehearsed": found[FREE], f"{what} refused": refused, f"{what} by chance": chance}
            )
            print(name, relation, what, found.total(), f"refused {refused}", f"by chance {chance}", flush=True)
            for reason in found:
                if "cannot ask its questions" in reason:
                    print("   ", reason, flush=True)
    print(dict(total))
    if not methods:
        KEPT.with_name("refusals_slow.json").write_text(json.dumps(total, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--slow"]:
        slow(sys.argv[2:])
        sys.exit()
    with tempfile.TemporaryDirectory() as folder:
        main(f"{folder}/ledger.sqlite")
