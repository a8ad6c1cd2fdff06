"""Accounts beside the lines: quick, derived again from the lines whenever they are doubtful, never lower than these."""

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from synth.errors import BudgetError, InputError, UsageError
from synth.privacy.ledger import accounts, entries, sqlite, transactions
from synth.privacy.ledger.ledger import Ledger, Spend
from synth.privacy.ledger.transactions import writing
from synth.schema import names

OLD = Path(__file__).parents[2] / "data" / "ledgers" / "before_accounts.sqlite"
FACTS = {"delta": 1e-9, "relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system"}


def charge(epsilon=0.3, dataset="census", **changed):
    return Spend(dataset=dataset, epsilon=epsilon, **(FACTS | {"question": {"mu": 0.1}} | changed))


@pytest.fixture
def ledger(tmp_path):
    return filled(tmp_path / "ledger.sqlite")


def filled(place):
    book = Ledger(place)
    book.set_policy("census", max_epsilon=1.0)
    for _ in range(3):
        book.spend(charge())
    book.spend(charge(dataset="other"))
    return book


def strike(ledger, *statements):
    with closing(sqlite3.connect(ledger.path)) as db, db:
        for statement in statements:
            db.execute(statement)


DAMAGES = {
    "a lower sum": "UPDATE account SET epsilon = '0' WHERE name = 'census'",
    "a lower sum and fewer runs": "UPDATE account SET epsilon = '0.3', runs = 1 WHERE name = 'census'",
    "another type": "UPDATE account SET epsilon = x'00', spellings = 7 WHERE name = 'census'",
    "a number that is none": "UPDATE account SET epsilon = 'NaN' WHERE name = 'census'",
    "another's account": "UPDATE account SET name = 'x' WHERE name = 'census'",
    "an account removed": "DELETE FROM account WHERE name = 'census'",
    "all accounts removed": "DELETE FROM account",
    "one removed, one made up": "UPDATE account SET name = 'made up', spellings = '[]' WHERE name = 'census'",
    "a line forgotten": "UPDATE account SET last = 3 WHERE name = 'census'",
    "no end": "DELETE FROM account_end",
    "a table removed": "DROP TABLE account",
    "both tables removed": ("DROP TABLE account", "DROP TABLE account_end"),
    "an index removed": "DROP INDEX ledger_by_dataset",
    "indexes removed": ("DROP INDEX ledger_by_kind", "DROP INDEX ledger_by_run"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("first", ["a check", "a line of another dataset", "a line of the same dataset"])
def test_no_damage_to_the_accounts_gives_budget_back(ledger, damage, first):
    statements = (DAMAGES[damage],) if isinstance(DAMAGES[damage], str) else DAMAGES[damage]
    strike(ledger, *statements)
    if damage == "no end":
        with pytest.raises(Exception, match="were written are not there"):
            ledger.spend(charge(0.2))
        return
    if first == "a line of another dataset":
        ledger.spend(charge(dataset="third"))
    if first == "a line of the same dataset":
        ledger.set_policy("census", max_epsilon=1.0)
    for attempt in (ledger.check, ledger.spend):
        with pytest.raises(BudgetError, match=r"remaining 0\.1, short by 0\.1"):
            attempt(charge(0.2))
    assert ledger.summary("census")[0].epsilon == 0.9
    assert {t.dataset: t.runs for t in ledger.summary()}["census"] == 3
    ledger.spend(charge(0.1))


@pytest.mark.xdist_group("ledgers")
@pytest.mark.parametrize("forged", ["as before there was a key", "with another key"])
def test_who_may_write_the_accounts_and_has_no_key_makes_no_budget(anywhere, forged):
    """One UPDATE with a seal that anybody could compute gave 0.5 beyond a cap of 1."""
    book = filled(anywhere)
    book.row_key()
    book.spend(charge(0.1))
    with book.store.connection() as db, db.locked():
        row = db.execute("SELECT * FROM account WHERE name = 'census'").fetchone()
        plain = {name: row[name] for name in accounts.COLUMNS} | {"epsilon": "0.5"}
        last = db.execute("SELECT hash FROM ledger WHERE number = ?", (plain["last"],)).fetchone()
        seal = hashlib.sha256(json.dumps([*plain.values(), last["hash"]]).encode()).hexdigest()
        if forged == "with another key":
            db.secret = b"x" * 32
            seal = accounts._seal(db, plain)
        db.execute("UPDATE account SET epsilon = '0.5', seal = ? WHERE name = 'census'", (seal,))
    assert "do not agree" in book.verify().problem
    for attempt in (book.check, book.spend):
        with pytest.raises(BudgetError, match=r"requested epsilon 0\.5, remaining 0,"):
            attempt(charge(0.5))
    assert book.summary("census")[0].epsilon == 1.0


@pytest.mark.xdist_group("ledgers")
def test_a_machine_without_the_key_derives_every_sum(anywhere, tmp_path):
    book = filled(anywhere)
    book.row_key()
    book.set_policy("third", max_epsilon=1.0)
    key = transactions.key_place(book.store)
    key.rename(tmp_path / "away")
    assert (book.summary("census")[0].epsilon, book.verify().ok) == (0.9, True)
    assert [t.dataset for t in book.summary()] == ["census", "other", "third"]
    if book.store.shares:
        book.spend(charge(0.05))
        assert (book.summary("census")[0].epsilon, book.verify().ok) == (0.95, True)
        with pytest.raises(InputError, match="another key"):
            book.row_key()
    (tmp_path / "away").replace(key)
    book.spend(charge(0.05))
    assert book.verify().ok


def test_verify_tells_of_a_damaged_account_and_a_rebuild_mends_it(ledger, command):
    strike(ledger, DAMAGES["a lower sum"])
    assert "do not agree" in ledger.verify().problem
    code, out, stderr = command("ledger", "verify", "--ledger", ledger.path, "--rebuild")
    assert code == 0, stderr
    assert "the chain holds" in out
    assert ledger.verify().ok


def test_a_rebuild_is_refused_where_the_lines_themselves_are_damaged(ledger, command):
    strike(ledger, "DROP TRIGGER ledger_no_update", "UPDATE ledger SET epsilon = 0 WHERE number = 2")
    code, _, stderr = command("ledger", "verify", "--ledger", ledger.path, "--rebuild")
    assert code == 3
    assert "line 2: altered" in stderr


def test_lines_that_an_older_program_adds_are_counted(ledger):
    """It knows the table and its guards, and nothing of accounts."""
    original = accounts.follow
    try:
        accounts.follow = lambda _: None
        with sqlite.connection(ledger.path) as db, db.locked():
            line = {"run": "old", "dataset": "Census", "relation": "add_remove", "unit": "row", "actor": "a"}
            entries.append(db, kind="spend", question={}, epsilon=0.05, delta=0.0, **line)
    finally:
        accounts.follow = original
    total = ledger.summary("census")[0]
    assert (total.runs, total.epsilon, total.spellings) == (4, 0.95, ("census", "Census"))
    with pytest.raises(BudgetError, match=r"remaining 0\.05"):
        ledger.spend(charge(0.1))
    assert ledger.verify().ok


def test_a_check_reads_no_more_lines_the_longer_the_ledger_is(tmp_path):
    """Counted are the steps of SQLite's machine, not seconds."""
    costs = []
    for number in (20, 2000):
        book = Ledger(tmp_path / f"{number}.sqlite")
        book.set_policy("census", max_epsilon=1e6, max_delta=0.5)
        with writing(book.store) as db:
            for i in range(number):
                entries.append(
                    db,
                    kind="spend",
                    question={},
                    run=f"r{i}",
                    dataset="census",
                    epsilon=0.1,
                    relation="add_remove",
                    unit="row",
                )
        costs.append([])
        for act in (
            lambda b: b.check(charge()),
            lambda b: b.spend(charge()),
            lambda b: b.page(size=20),
            lambda b, n=number: b.page(size=20, number=n // 20),
            lambda b: b.charge("r7"),
            lambda b: b.summary(),
        ):
            costs[-1].append(steps(book, act))
    for few, many in zip(*costs, strict=True):
        assert many < few + 60, costs


def steps(book, act) -> int:
    """Hundreds of steps that SQLite took."""
    taken, connection = [0], sqlite.sqlite3.connect

    def counting(*args, **options):
        db = connection(*args, **options)
        db.set_progress_handler(lambda: taken.__setitem__(0, taken[0] + 1) or 0, 100)
        return db

    sqlite.sqlite3.connect = counting
    try:
        act(book)
    finally:
        sqlite.sqlite3.connect = connection
    return taken[0]


@pytest.mark.xdist_group("ledgers")
def test_pages_are_the_lines_newest_first(anywhere):
    ledger = filled(anywhere)
    lines = ledger.entries()
    results = [ledger.page(size=2, number=n) for n in (1, 2, 3, 4)]
    assert [e for page, _ in results for e in page] == lines[::-1]
    assert {count for _, count in results} == {5}
    spends, count = ledger.page("CENSUS", kind="spend", size=2)
    assert ([e.number for e in spends], count) == ([4, 3], 3)
    ledger.spend(charge(0.05, dataset="more"))
    ledger.spend(charge(0.05, dataset="third"))
    every = ledger.entries()[::-1]
    several = ["census"], ["more", "census"], ["more", "third"], ["census", "more", "third", "other"]
    for some in (None, "census", "none", [], *several):
        for kind in (None, "spend"):
            asked = (
                {"census", "more", "third", "other"} if some is None else {some} if isinstance(some, str) else {*some}
            )
            right = [e for e in every if names.canonical(e.dataset) in asked and kind in (None, e.kind)]
            for size in (1, 2, 3):
                pages = [ledger.page(some, kind=kind, size=size, number=n) for n in range(1, 9)]
                assert [e for page, _ in pages for e in page] == right[: 8 * size], (some, kind, size)
                assert {count for _, count in pages} == {len(right)}
    for wrong in ({"size": 0}, {"number": 0}, {"number": 10**30}):
        with pytest.raises(UsageError):
            ledger.page(**wrong)


@pytest.mark.xdist_group("ledgers")
def test_a_run_is_found_by_its_id_and_charged_once(anywhere):
    ledger = filled(anywhere)
    mine = ledger.spend(charge(0.05, run="job-1"))
    same = ledger.spend(charge(0.05))
    assert ledger.charge("job-1") == mine != same
    assert ledger.charge("job-2") is None
    for attempt in (ledger.check, ledger.spend):
        with pytest.raises(UsageError, match="run job-1: charged already, in line 6"):
            attempt(charge(0.01, run="job-1"))
    assert ledger.summary("census")[0].runs == 5


@pytest.fixture
def old(tmp_path):
    """A ledger of the version before accounts: census and Census, with a cap each, free, and a capped name."""
    return Ledger(shutil.copy(OLD, tmp_path / "ledger.sqlite"))


def test_an_older_ledger_opens_and_two_spellings_of_a_name_are_one_account(old):
    for written in (False, True):
        assert old.verify().ok
        census = old.summary("CENSUS")[0]
        assert (census.dataset, census.spellings) == ("census", ("census", "Census"))
        assert (census.runs, census.epsilon) == (3, 0.6)
        assert (census.policy.max_epsilon, census.policy.max_delta) == (0.9, 1e-4), "the strictest of both"
        assert {t.dataset: t.runs for t in old.summary()} == {"census": 3, "free": 1 + written, "caf\u00e9": 1}
        for attempt in (old.check, old.spend) if written else (old.check,):
            with pytest.raises(BudgetError, match=r"remaining 0\.3, short by 0\.1"):
                attempt(charge(0.4, dataset="Census"))
        if not written:
            old.spend(charge(0.01, dataset="free"))
            with sqlite.connection(old.path) as db:
                assert db.execute("SELECT count(*) FROM account").fetchone()[0] == 3
            assert old.summary("free")[0].runs == 2
            old.set_policy("free", max_epsilon=9)


def test_a_new_cap_on_an_older_ledger_holds_for_all_spellings(old):
    old.set_policy("CENSUS", max_epsilon=1.5)
    with pytest.raises(BudgetError, match=r"remaining 0\.9, short by 0\.1"):
        old.spend(charge(1.0))
    line = old.spend(charge(0.9, dataset="cEnSuS"))
    assert line.dataset == "census", "a new line carries the name's first spelling"
    assert old.verify().ok
