"""Nothing is spent in vain: every method, relation and option at, below and above its ends, and conflicting pairs.

A refusal leaves the ledger untouched, also of a place that cannot be written to; what is accepted has had all its
questions put to a real curator.
"""

import json
import os
from collections import Counter

import pytest

import synth
from synth.errors import UsageError
from synth.generators import GENERATORS
from synth.generators.method import Between, OneOf, options_of
from synth.pipeline.methods import generator_named
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.relation import relation_named
from tests.conformance.refusing import (
    FRAME,
    FREE,
    RELATIONS,
    SAMPLED,
    SCHEMA,
    TINY,
    WORDED,
    charged_or,
    inside,
    measured,
    outside,
    pairs,
    reasons,
    run,
    settled,
    spends,
    verdict,
)
from tests.conftest import SMALL
from tests.made import ran


@pytest.mark.parametrize("name", GENERATORS)
def test_every_option_has_a_range_that_holds_its_default(name):
    options, ranges = options_of(GENERATORS[name]), GENERATORS[name].ranges
    assert options.keys() == ranges.keys()
    assert all(ranges[n].admits(v) for n, v in options.items())
    assert all(isinstance(r, Between | OneOf) for r in ranges.values())


@pytest.mark.parametrize("name", GENERATORS)
def test_an_option_beyond_its_ends_makes_no_method(name):
    """Before any run, and of every method; below by whole runs."""
    for option in GENERATORS[name].ranges:
        for value in outside(name, option):
            with pytest.raises(UsageError, match=option):
                generator_named(name, relation_named(GENERATORS[name].relations[0]), {option: value})


@pytest.mark.parametrize(
    ("name", "relation"),
    [
        pytest.param(n, r, marks=[] if r == GENERATORS[n].relations[0] and n not in SAMPLED[2:] else pytest.mark.slow)
        for n, r in RELATIONS
    ],
)
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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "relation"), RELATIONS)
def test_any_two_options_at_their_ends_are_rehearsed_or_refused(name, relation):
    result = Counter(reasons(name, relation))
    vague = [reason for reason in result if "cannot ask its questions" in reason]
    assert vague == []
    assert result[FREE] or len(GENERATORS[name].ranges) < 2


@pytest.mark.parametrize(("name", "relation"), [x for x in RELATIONS if x[0] in SAMPLED[:2]])
def test_a_training_that_hardly_anybody_enters_is_refused_by_the_names_of_its_options(name, relation):
    """Its noise could be nothing: the accountant divided by it, or listed a terabyte of losses."""
    once = {n: 1 for n in ("steps", "code_steps") if n in GENERATORS[name].ranges}  # all its trainings are composed
    reason = verdict(name, relation, {**once, "rate": 1e-6})
    assert reason is not None
    assert "options rate and steps" in reason


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


def test_a_method_for_small_tables_does_not_learn_how_large_a_table_is(tmp_path):
    schema = synth.Schema.parse({"columns": {"a": {"type": "categorical"}, "b": TINY["columns"]["b"]}}, complete=False)
    with pytest.raises(synth.UsageError, match=r"synth\.learn_schema"):
        ran(FRAME[["a", "b"]], schema, method="mwem", learn_share=0.2, ledger=tmp_path / "ledger.sqlite")
    assert spends(tmp_path / "ledger.sqlite") == []


OPTIONS = [
    ("--seed", "-1"),
    ("--seed", str(2**63)),
    ("--num-rows", "999999999999"),
    ("--num-rows", "0"),
    ("--option", "oneway_share=nan"),
    ("--option", "oneway_share=1e400"),
    ("--epsilon", "1e308"),
    ("--delta", "1e-300"),
    ("--epsilon", "1e-300"),
    ("--out", "/proc/no/such"),
    ("--out", "/dev/null/x"),
    ("--out", "a\0b"),
    ("--out", "x" * 300),
    ("--dataset", "\ud800"),
    ("--max-rows", "0"),
]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda o: o[0] + "=" + o[1][:12].encode("ascii", "replace").decode())
def test_the_command_line_refuses_before_the_spend(command, small, option):
    code, said, stderr = command("run", small[0], "--schema", small[1], "--epsilon", 1, *option)
    assert code == 2, stderr
    assert (said, stderr.count("synth: "), "Traceback" in stderr) == ("", 1, False)
    assert [e for e in Ledger().entries() if e.kind == "spend"] == []


def test_a_category_that_no_file_can_hold_is_refused_before_the_spend(command, small, tmp_path):
    schema = tmp_path / "half.json"
    plain = json.loads(json.dumps(SMALL))
    plain["columns"]["region"]["categories"][0] = chr(0xD800)
    schema.write_text(json.dumps(plain))  # as an escape, which is valid JSON
    code, _, stderr = command("run", small[0], "--schema", schema, "--epsilon", 1)
    assert code == 2, stderr
    assert "region" in stderr
    assert [e for e in Ledger().entries() if e.kind == "spend"] == []


@pytest.mark.parametrize("name", ["no/such/folder/log.json", "", "a\0b", "pipe"])
def test_a_stewards_log_that_cannot_be_written_is_refused_before_the_spend(name, tmp_path):
    os.mkfifo(tmp_path / "pipe")  # which nobody reads
    log, book = f"{tmp_path}/{name}", tmp_path / "ledger.sqlite"
    with pytest.raises(synth.UsageError, match="steward log"):
        ran(FRAME, SCHEMA, method="independent", ledger=book, steward_log=log)
    assert spends(book) == []
