"""The ledger's arithmetic, policies and records, on real files."""

import math
import stat
from base64 import b64encode
from hashlib import shake_256

import numpy as np
import pytest

from synth.errors import BudgetError, InputError, UsageError
from synth.privacy.accounting import guarantee
from synth.privacy.ledger import entries, transactions
from synth.privacy.ledger.ledger import Ledger, Spend
from synth.privacy.ledger.row_marks import Audience
from synth.privacy.ledger.transactions import reading
from tests.unit.privacy.charges import charge

pytestmark = pytest.mark.xdist_group("ledgers")


@pytest.fixture
def ledger(anywhere):
    return Ledger(anywhere)


def test_three_tenths_fit_a_cap_of_three_tenths_and_nothing_more_does(ledger):
    ledger.set_policy("census", max_epsilon=0.3)
    for _ in range(3):
        ledger.spend(charge(0.1))
    assert ledger.summary()[0].remaining_epsilon == 0.0
    with pytest.raises(BudgetError):
        ledger.spend(charge(1e-12))


def test_sums_stay_exact_far_beyond_the_digits_of_a_float(ledger):
    ledger.set_policy("census", max_epsilon=1e22, max_delta=0.5)
    ledger.spend(charge(1e-20, delta=0))
    with pytest.raises(BudgetError, match="short by 1e-20"):
        ledger.spend(charge(1e22, delta=0))


def test_refusal_says_requested_remaining_and_short_by(ledger):
    ledger.set_policy("X", max_epsilon=2.0)
    ledger.spend(charge(1.6, dataset="X"))
    with pytest.raises(BudgetError) as refused:
        ledger.spend(charge(1, dataset="X"))
    assert str(refused.value) == (
        "dataset 'X': requested epsilon 1, remaining 0.4, short by 0.6 (policy 2.0, spent 1.6);"
        " lower `epsilon=` or have the policy raised"
    )


def test_delta_is_capped_as_epsilon_is(ledger):
    ledger.set_policy("census", max_epsilon=100, max_delta=2e-5)
    ledger.spend(charge(delta=1e-5))
    with pytest.raises(BudgetError, match=r"requested delta 1\.5e-5, remaining 1e-5, short by 5e-6.*lower `delta=`"):
        ledger.spend(charge(delta=1.5e-5))
    ledger.spend(charge(delta=1e-5))


def test_default_delta_cap_is_one_in_a_thousand(ledger):
    assert ledger.set_policy("census", max_epsilon=1).max_delta == 1e-3


def test_a_refusal_is_recorded_and_charges_nothing(ledger):
    ledger.set_policy("census", max_epsilon=1)
    with pytest.raises(BudgetError):
        ledger.spend(charge(1.5))
    line = ledger.entries()[-1]
    assert (line.kind, line.epsilon, line.delta) == ("refusal", 0.0, 0.0)
    assert line.question["requested"] == {"epsilon": 1.5, "delta": 1e-5}
    assert ledger.summary()[0].remaining_epsilon == 1.0


def test_check_raises_what_spend_would_and_records_nothing(ledger):
    ledger.set_policy("census", max_epsilon=1)
    ledger.check(charge(1))
    before = ledger.head()
    with pytest.raises(BudgetError, match=r"short by 0\.5"):
        ledger.check(charge(1.5))
    assert ledger.head() == before


def test_without_a_policy_every_spend_is_recorded(ledger):
    ledger.spend(charge(50))
    total = ledger.summary("census")[0]
    assert (total.runs, total.epsilon, total.policy, total.remaining_epsilon) == (1, 50.0, None, None)


def test_a_policy_counts_the_spends_before_it_and_the_newest_one_holds(ledger):
    ledger.spend(charge(1.5))
    ledger.set_policy("census", max_epsilon=1)
    assert ledger.summary()[0].remaining_epsilon == 0.0
    with pytest.raises(BudgetError, match=r"remaining 0, short by 0.6 \(policy 1.0, spent 1.5\)"):
        ledger.spend(charge(0.1))
    ledger.set_policy("census", max_epsilon=2, approved_by="board")
    ledger.spend(charge(0.5))
    assert ledger.policy("census").approved_by == "board"


def test_datasets_have_budgets_of_their_own(ledger):
    ledger.set_policy("a", max_epsilon=1)
    ledger.spend(charge(1, dataset="a"))
    ledger.spend(charge(1, dataset="b"))
    assert [(t.dataset, t.remaining_epsilon) for t in ledger.summary()] == [("a", 0.0), ("b", None)]
    assert ledger.summary("c") == []


def test_one_name_in_two_unicode_forms_has_one_budget(ledger):
    ledger.set_policy("caf\u00e9", max_epsilon=1)
    ledger.spend(charge(1, dataset="cafe\u0301"))
    assert ledger.summary("cafe\u0301")[0].remaining_epsilon == 0.0


@pytest.mark.parametrize(("what", "other"), [("relation", "replace_one"), ("unit", "PERSON")])
def test_under_a_policy_all_spends_share_relation_and_unit(ledger, what, other):
    ledger.set_policy("stated", max_epsilon=9, **{what: other})
    ledger.set_policy("unstated", max_epsilon=9)
    with pytest.raises(BudgetError, match=f"ask with {what} '{other}'"):
        ledger.spend(charge(dataset="stated"))
    ledger.spend(charge(dataset="unstated"))
    with pytest.raises(BudgetError, match="do not add up"):
        ledger.spend(charge(dataset="unstated", **{what: other}))


def test_a_policy_cannot_contradict_recorded_spends(ledger):
    ledger.spend(charge())
    with pytest.raises(UsageError, match="line 1 spent under relation 'add_remove'"):
        ledger.set_policy("census", max_epsilon=1, relation="replace_one")
    assert ledger.policy("census") is None


@pytest.mark.parametrize("cap", [0, -1, math.inf, math.nan])
def test_a_cap_is_positive_and_finite(ledger, cap):
    with pytest.raises(UsageError, match="max_epsilon"):
        ledger.set_policy("census", max_epsilon=cap)


def test_no_cap_is_a_decision_that_is_recorded_and_can_be_taken_back(ledger):
    chosen = ledger.set_policy("census", max_epsilon=None, actor="ann")
    assert (chosen.uncapped, chosen.actor, chosen.max_delta) == (True, "ann", None)
    ledger.spend(charge(50))
    ledger.spend(charge(50, relation="zero_out"))  # as without a policy
    total = ledger.summary("census")[0]
    assert (total.policy, total.remaining_epsilon, total.remaining_delta) == (chosen, None, None)
    assert ledger.entries()[0].question == {"max_epsilon": None, "max_delta": None}
    ledger.set_policy("census", max_epsilon=100.5)
    with pytest.raises(BudgetError, match=r"short by 0\.5"):
        ledger.spend(charge(1))
    assert ledger.verify().ok


@pytest.mark.parametrize("figure", [10**400, -(10**400), 1e308, "0.1x", None, 1j])
def test_a_figure_beyond_any_float_or_no_figure_is_refused_in_one_line(ledger, figure):
    for attempt in (lambda: charge(figure), lambda: charge(delta=figure)):
        with pytest.raises(UsageError, match="must be a finite number from 0 and below 1"):
            attempt()
    if figure is not None:
        with pytest.raises(UsageError, match="max_epsilon"):
            ledger.set_policy("census", max_epsilon=figure)
    assert ledger.entries() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": -1},
        {"epsilon": math.inf},
        {"epsilon": math.nan},
        {"delta": -1e-9},
        {"delta": 1},
        {"dataset": ""},
        {"dataset": " a"},
        {"dataset": "a\nb"},
        {"dataset": "\ud800"},
        {"relation": ""},
    ],
)
def test_a_spend_that_no_line_may_carry_cannot_be_made(wrong):
    with pytest.raises(UsageError) as refused:
        charge(**wrong)
    assert "\n" not in str(refused.value)


def test_a_question_that_is_no_json_is_refused_before_anything_is_recorded(ledger):
    with pytest.raises(UsageError, match="JSON"):
        ledger.spend(charge(question={"rows": object()}))
    assert ledger.entries() == []


def test_figures_that_a_database_might_rewrite_keep_the_chain_whole(ledger):
    for epsilon in (-0.0, 1, 1e-300, 0.1 + 0.2, 1e15, 12345678901234567):
        ledger.spend(charge(epsilon, question={"é": [1.5, None, "\u2028"]}))
    assert ledger.verify().ok


def test_outcome_follows_its_run_and_charges_nothing(ledger):
    run = ledger.spend(charge(1)).run
    line = ledger.outcome(run, state="failed", detail={"stage": "train"})
    assert (line.dataset, line.epsilon, line.question["detail"]) == ("census", 0.0, {"stage": "train"})
    assert ledger.summary()[0].epsilon == 1.0
    with pytest.raises(UsageError, match="not charged"):
        ledger.outcome("no-such-run", state="done", detail={})


def test_entries_come_back_as_written(ledger):
    with ledger as same:
        same.spend(charge(0.5, question={"columns": ["AGE"]}, actor="ana", approved_by="bo"))
    again = Ledger(ledger.store).entries("census")[0]
    assert (again.number, again.kind, again.epsilon, again.delta) == (1, "spend", 0.5, 1e-5)
    assert (again.actor, again.approved_by, again.question) == ("ana", "bo", {"columns": ["AGE"]})
    assert again.time.endswith("+00:00")


def same(one: bytes, other: bytes) -> bool:
    return one == other


def test_the_same_rows_under_another_name_are_found_among_the_datasets_that_are_asked_about(ledger):
    for run, (dataset, rows) in enumerate({"census": b"rows", "more": b"rows", "other": b"none"}.items()):
        ledger.fingerprint(f"run-{run}", dataset=dataset, digest=rows)
    asked = {"dataset": "copy", "alike": same}
    assert ledger.marked() == ["census", "more", "other"]
    assert ledger.twins(b"rows", **asked) == ["census", "more"]
    assert ledger.twins(b"rows", audience=Audience(spends=["more", "other"].__contains__), **asked) == ["more"]
    assert ledger.twins(b"rows", audience=Audience(spends=["other"].__contains__), **asked) == []
    ledger.fingerprint("run-4", dataset="copy", digest=b"rows", apart=True)
    assert ledger.twins(b"rows", **asked) == []


def other_key(ledger, secret: bytes) -> None:
    """The key was lost and drawn anew; a server is told so by whoever owns its tables."""
    transactions.key_place(ledger.store).write_bytes(secret)
    if ledger.store.shares:
        with ledger.store.connection() as db, db.locked():
            db.execute("DELETE FROM ledger_key")


def test_looking_for_the_same_rows_takes_as_many_lines_as_rows_have_changed(ledger):
    """Not as many as there were runs; and no line shows which runs read the same rows."""
    rows = [b"first"] * 6 + [b"other"] + [b"first"] * 5 + [b"later"] * 9
    for i, mark in enumerate(rows):
        ledger.fingerprint(f"run-{i}", dataset="census", digest=mark)
    met: list[bytes] = []
    asked = {"dataset": "copy", "audience": Audience(spends=["census"].__contains__)}
    assert ledger.twins(b"none", alike=lambda one, _: met.append(one), **asked) == []
    assert met == [b"later", b"first", b"other", b"first"]
    assert ledger.twins(b"other", alike=same, **asked) == ["census"]
    reported = [e.question["fingerprint"] for e in ledger.entries()]
    assert len({len(t) for t in reported}) == 1
    assert len(set(reported)) == len(rows)

    key = transactions.key(ledger.store)
    other_key(ledger, b"y" * 32)
    ledger.fingerprint("new", dataset="census", digest=b"later")
    other_key(ledger, key)
    assert ledger.twins(b"other", alike=same, **asked) == ["census"]  # noise leads to the line before


def test_marks_of_the_second_form_are_still_compared(ledger):
    key, salt, plain = transactions.key(ledger.store), b"s" * 16, b"\0old rows"
    hidden = shake_256(b"rows of a run" + (32).to_bytes(2, "big") + key + salt).digest(len(plain))
    reported = b64encode(salt + bytes(a ^ b for a, b in zip(plain, hidden, strict=True))).decode()
    with transactions.writing(ledger.store) as db:
        entries.append(db, kind="fingerprint", question={"form": 2, "fingerprint": reported}, run="r", dataset="old")
    ledger.fingerprint("next", dataset="old", digest=b"rows of today")
    for rows in (b"old rows", b"rows of today"):
        assert ledger.twins(rows, dataset="copy", audience=Audience(spends=["old"].__contains__), alike=same) == ["old"]


def test_a_fingerprint_cannot_be_guessed_without_the_key_nor_compared_with_another(ledger):
    for run in ("one", "two"):
        ledger.fingerprint(run, dataset="census", digest=b"rows")
    marks = [e.question["fingerprint"] for e in ledger.entries()]
    assert marks[0] != marks[1]
    other_key(ledger, b"x" * 32)
    assert ledger.twins(b"rows", dataset="copy", audience=Audience(spends=["census"].__contains__), alike=same) == []


def test_the_key_is_secret_lasting_and_never_in_the_ledger(ledger):
    ledger.fingerprint("run", dataset="census", digest=b"rows")
    place = transactions.key_place(ledger.store)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert len(place.read_bytes()) == 32
    assert ledger.row_key() == Ledger(ledger.store).row_key()
    assert len(ledger.row_key()) == 16
    with reading(ledger.store) as db:
        tables = ["ledger", "account", *(["ledger_key", "ledger_note"] if ledger.store.shares else [])]
        content = repr([tuple(row) for t in tables for row in db.execute(f"SELECT * FROM {t}")])
    content += "" if ledger.store.shares else ledger.path.read_bytes().decode("latin-1")
    for secret in (place.read_bytes(), ledger.row_key()):
        assert not any(form in content for form in (secret.decode("latin-1"), secret.hex(), repr(secret)))


def test_a_damaged_key_is_named(ledger):
    place = transactions.key_place(ledger.store)
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(b"short")
    with pytest.raises(InputError, match="not 32 bytes"):
        ledger.row_key()


def test_answers_have_the_reserve_and_all_else_what_it_leaves_however_they_come_and_are_spelt(ledger):
    """Forty spends of tenths in any order: each is allowed if and only if its own part of the cap has room for it."""
    ledger.set_policy("census", max_epsilon=2.0, max_delta=0.5, reserve=0.7)
    rng, spent = np.random.default_rng(0), {True: 0, False: 0}
    for tenths in rng.integers(1, 4, 40):
        answer, spelling = bool(rng.integers(2)), ("census", "Census")[rng.integers(2)]
        asked = charge(tenths / 10, dataset=spelling, question={"method": "verified" if answer else "mixture"})
        if spent[answer] + tenths <= (7 if answer else 13):
            ledger.spend(asked)
            spent[answer] += tenths
        else:
            with pytest.raises(BudgetError, match="reserve for questions"):
                ledger.spend(asked)
    (total,) = ledger.summary("census")
    assert spent == {True: 7, False: 13}, "both parts were used up"
    assert (total.epsilon, total.remaining_epsilon, total.remaining_reserve) == (2.0, 0.0, 0.0)


@pytest.mark.parametrize("no_number", [True, "1", b"1", None, [0.5], float("nan"), 10**400])
def test_a_figure_of_privacy_is_a_number_however_it_is_given(no_number, tmp_path):
    """True counted as epsilon 1, and "1" as a cap."""
    book = Ledger(tmp_path / "ledger.sqlite")
    figures = {"epsilon": 0.1, "delta": 1e-6}
    facts = {"relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system"}
    for what in figures:
        with pytest.raises(UsageError):
            Spend(dataset="d", question={}, **(facts | figures | {what: no_number}))
        with pytest.raises(UsageError):
            guarantee.check(**figures | {what: no_number}, pure=True)
    for what in ("max_epsilon", "max_delta", "reserve"):
        if no_number is not None:
            with pytest.raises(UsageError):
                book.set_policy("d", **({"max_epsilon": 1.0} | {what: no_number}))
    assert not book.entries()
