"""The ledger cannot be changed unnoticed: guards refuse, the chain tells."""

import sqlite3
from contextlib import closing

import pytest

from synth.errors import InputError, LedgerLostError, UsageError
from synth.privacy.ledger import accounts, checkpoint, entries
from synth.privacy.ledger.ledger import Ledger, Spend

FACTS = {"delta": 1e-5, "relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system"}


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for number in range(1, 6):
        ledger.spend(Spend(dataset="census", epsilon=float(number), question={"number": number}, **FACTS))
    return ledger


def tamper(ledger, *statements, guarded=False):
    """Does as a person with write access would: drops the guards, changes lines, sets the guards again."""
    with closing(sqlite3.connect(ledger.path)) as db, db:
        guards = {} if guarded else entries.GUARDS
        for name in guards:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
        for sql in guards.values():
            db.execute(sql)


def test_an_untouched_ledger_verifies(ledger):
    outcome = ledger.verify(ledger.head())
    assert (outcome.ok, outcome.lines, outcome.head, outcome.problem) == (True, 5, ledger.head(), None)


def test_an_empty_ledger_verifies(tmp_path):
    outcome = Ledger(tmp_path / "new.sqlite").verify()
    assert (outcome.ok, outcome.lines, outcome.head) == (True, 0, "0" * 64)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger SET epsilon = 0 WHERE number = 2",
        "UPDATE OR REPLACE ledger SET number = 1 WHERE number = 2",
        "DELETE FROM ledger WHERE number = 2",
        "DELETE FROM ledger",
        "INSERT OR REPLACE INTO ledger SELECT * FROM ledger WHERE number = 2",
        "REPLACE INTO ledger SELECT * FROM ledger WHERE number = 5",
        "INSERT INTO ledger SELECT number + 9, time, kind, run, dataset, actor, approved_by, relation, unit,"
        " epsilon, delta, engine, noise_source, question, previous, hash FROM ledger WHERE number = 5",
    ],
)
def test_the_guards_refuse_any_program_a_change(ledger, statement):
    with pytest.raises(sqlite3.IntegrityError, match="a ledger line"):
        tamper(ledger, statement, guarded=True)
    assert ledger.verify().ok


def test_a_line_that_continues_the_chain_cannot_take_the_place_of_another(ledger):
    columns = ", ".join(entries.FIELDS[1:-1])
    values = f"{columns}, '{ledger.head()}', hash"
    for number in (2, 5, 7):
        statement = f"INSERT OR REPLACE INTO ledger SELECT {number}, {values} FROM ledger WHERE number = 2"
        with pytest.raises(sqlite3.IntegrityError, match="only be added at the end"):
            tamper(ledger, statement, guarded=True)
    assert ledger.verify().lines == 5


@pytest.mark.parametrize("column", [*entries.FIELDS[1:], "hash"])
def test_a_change_of_any_column_names_the_line(ledger, column):
    value = "0.5" if column in ("epsilon", "delta") else "'refusal'" if column == "kind" else "'x'"
    also = ", epsilon = 0, delta = 0" if column == "kind" else ""
    tamper(ledger, f"UPDATE ledger SET {column} = {value}{also} WHERE number = 3")
    outcome = ledger.verify()
    assert not outcome.ok
    assert outcome.problem == "line 3: altered"


def test_values_that_no_line_can_hold_are_an_alteration(ledger):
    tamper(ledger, "UPDATE ledger SET epsilon = 9e999 WHERE number = 2")
    assert ledger.verify().problem == "line 2: altered"
    tamper(ledger, "UPDATE ledger SET epsilon = 2.0, question = x'ff00' WHERE number = 2")
    assert ledger.verify().problem == "line 2: altered"


def test_a_line_altered_with_its_hash_breaks_the_next_link(ledger):
    line = {name: getattr(ledger.entries()[2], name) for name in entries.FIELDS}
    line |= {"epsilon": 0.0, "question": entries.canonical_json(line["question"])}
    tamper(ledger, f"UPDATE ledger SET epsilon = 0, hash = '{entries.digest(line)}' WHERE number = 3")
    assert ledger.verify().problem.startswith("line 4: does not continue line 3")


def test_a_removed_line_is_named(ledger):
    tamper(ledger, "DELETE FROM ledger WHERE number = 3")
    assert ledger.verify().problem == "line 3: removed"


def test_a_removed_line_is_found_when_the_others_close_the_gap(ledger):
    tamper(
        ledger,
        "DELETE FROM ledger WHERE number = 3",
        "UPDATE ledger SET number = 3 WHERE number = 4",
        "UPDATE ledger SET number = 4 WHERE number = 5",
    )
    assert ledger.verify().problem == "line 3: removed"


def test_two_swapped_lines_are_named(ledger):
    moves = [(2, 99), (4, 2), (99, 4)]
    tamper(ledger, *(f"UPDATE ledger SET number = {new} WHERE number = {old}" for old, new in moves))
    assert ledger.verify().problem == "line 2: reordered (written as line 4)"


def test_truncation_is_found_by_mark_and_accounts_and_without_them_by_the_exported_head_alone(ledger):
    head = ledger.head()
    tamper(ledger, "DELETE FROM ledger WHERE number >= 4")
    assert "it was cut short" in ledger.verify().problem
    checkpoint.place(ledger.store).unlink()
    assert "the last lines were removed" in ledger.verify().problem
    with pytest.raises(LedgerLostError, match="restore"):
        ledger.spend(Spend(dataset="census", epsilon=1, question={}, **FACTS))
    tamper(ledger, *(f"DROP TABLE {name}" for name in accounts.TABLES))
    assert ledger.verify().ok
    assert "head differs" in ledger.verify(head).problem
    ledger.spend(Spend(dataset="census", epsilon=1, question={}, **FACTS))
    assert "head differs" in ledger.verify(head).problem


def test_growth_after_the_export_is_no_fault(ledger):
    head = ledger.head()
    ledger.spend(Spend(dataset="census", epsilon=1, question={}, **FACTS))
    assert ledger.verify(head.upper() + "\n").ok
    with pytest.raises(UsageError, match="64 hexadecimal"):
        ledger.verify("abc")


@pytest.mark.parametrize("guard", entries.GUARDS)
def test_a_missing_or_hollow_guard_is_named(ledger, guard):
    tamper(ledger, f"DROP TRIGGER {guard}", guarded=True)
    assert ledger.verify().problem == f"the guard {guard} against changes was removed"
    hollow = f"CREATE TRIGGER {guard} BEFORE UPDATE ON ledger BEGIN SELECT 1; END"
    tamper(ledger, hollow, guarded=True)
    assert ledger.verify().problem == f"the guard {guard} against changes was altered"


def test_a_lost_table_is_a_finding_not_a_crash(ledger):
    tamper(ledger, "DROP TABLE ledger", guarded=True)
    assert "cannot be read" in ledger.verify().problem


def test_a_dataset_whose_name_became_another_type_is_named_as_damage(ledger):
    tamper(ledger, "UPDATE ledger SET dataset = CAST('census' AS BLOB) WHERE number = 2")
    assert ledger.summary()[0].epsilon == 15.0, "the account stands on what was written"
    assert not ledger.verify().ok
    for look in (ledger.entries, ledger.page):
        with pytest.raises(InputError, match="damaged or altered"):
            look()
    tamper(ledger, "DROP TABLE account", guarded=True)
    with pytest.raises(InputError, match="damaged or altered"):
        ledger.summary()
