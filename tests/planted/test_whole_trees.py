"""The audit of the whole way with related tables: planted faults are found, sound runs are not."""

import numpy as np
import pytest

from synth.errors import UsageError
from synth.evaluate.audit.canaries import one_run
from synth.evaluate.audit.whole import audit_whole
from synth.evaluate.audit.whole_canaries import chosen, persons_canaries, trees
from synth.generators.core.related import Nested
from synth.generators.core.related_fit import TreeOptions
from synth.mechanisms import linked
from synth.pipeline import charge
from synth.privacy.relation import Relation
from synth.schema.dataset import PERSONS
from synth.sources.rows import forest
from synth.sources.rows.forest import link
from tests.planted.suspects import swapped
from tests.planted.walks import once, reported_alike, uncovered

COUNTED, RANKED = linked.exact, forest.ranked


@pytest.fixture(autouse=True)
def smallest_fit(monkeypatch):
    """What is told here is told before the fit, which is past all rows."""
    smallest = Nested(options=TreeOptions(fits=1, roots=2, children=2, steps=3))
    monkeypatch.setattr("synth.evaluate.audit.observed_runs.SMALL", smallest)


@pytest.mark.parametrize("canary", trees(), ids=lambda c: c.name)
def test_what_no_noise_covers_is_equal_on_neighbouring_folders(canary):
    reported_alike(canary, least=100)


@pytest.mark.parametrize("canary", persons_canaries(), ids=lambda c: c.name)
def test_what_no_noise_covers_is_equal_where_a_person_with_all_rows_is_added(canary):
    reported_alike(canary, least=60)


def heavy(question, rows):
    """Children weigh one each, whatever their root has: a root with five moves a table by five."""
    return [total * 40 for total in COUNTED(question, rows)]


@pytest.mark.parametrize("name", ["a root with all its children", "a person with many rows"])
def test_noise_that_is_too_small_for_what_a_unit_moves_is_found(name):
    """The stated noise is a fortieth of what such counts need: every run tells it."""
    with swapped(linked, "exact", heavy):
        result = audit_whole("mixture", draws=24, confidence=0.9, canaries=chosen([name], related=True))
    assert result.violated, result.in_words()


def test_a_word_about_persons_whose_own_values_differ_is_noticed():
    """Planted: a message that says how many values of the persons' own column there are."""

    def reported(schema, rows, noise):
        print(f"{len(np.unique(rows[PERSONS].positions['group']))} values")
        return link(schema, rows, noise)

    canary = chosen(["a person whose own values differ"], related=True)[0]
    with swapped(charge, "link", reported):
        one, other = (once(canary, tables) for tables in canary.tables(Relation.ADD_REMOVE))
    assert uncovered(one) != uncovered(other)


@pytest.mark.parametrize("method", ["mixture", "independent"])
def test_one_run_with_planted_roots_finds_it_and_not_a_sound_product(method):
    """Each root and its children are there by a toss; counts of a fortieth of the noise give nearly all away."""
    how = {"epsilon": 1.0, "delta": 1e-5, "canaries": 60, "confidence": 0.999, "seed": 3, "related": True}
    sound = one_run(method, **how)
    assert sound.epsilon < 1.0
    with swapped(linked, "exact", heavy):
        leak = one_run(method, **how)
    assert leak.right > sound.right
    assert leak.epsilon > 1.0


def test_planted_roots_count_for_the_verdict_and_need_coins():
    one = chosen(["a root alone"], related=True)
    with pytest.raises(UsageError, match="add_remove"):
        audit_whole("mixture", relation="replace_one", canaries=one, planted=20)
    result = audit_whole("mixture", draws=24, confidence=0.9, canaries=one, planted=20)
    assert result.planted.canaries == 20
    assert "planted in one run" in "\n".join(result.in_words())
    assert not result.violated


def test_a_word_about_rows_without_a_parent_is_noticed():
    """Planted: a warning that says how many children have no parent."""

    def reported(codes, draws):
        print(f"{(codes < 0).sum()} rows have no key")
        return RANKED(codes, draws)

    canary = chosen(["cells and keys that cannot be read"], related=True)[0]
    with swapped(forest, "ranked", reported):
        one, other = (once(canary, tables) for tables in canary.tables(Relation.ADD_REMOVE))
    assert uncovered(one) != uncovered(other)


def test_an_audit_of_trees_is_of_the_whole_way(command):
    with pytest.raises(UsageError, match="no such canary"):
        chosen(["nobody"], related=True)
    code, _, stderr = command("audit", "--related")
    assert (code, "add --whole" in stderr) == (2, True)
    code, _, stderr = command("audit", "--whole", "--related", "--method", "aim")
    assert (code, "made by mixture without options" in stderr) == (2, True), stderr
