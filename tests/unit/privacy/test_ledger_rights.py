"""A ledger on a server: who may do what, what no message tells, and how a file's ledger comes there."""

import json
import shutil
import time
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest

import synth
from synth.errors import InputError, LedgerLostError, UsageError
from synth.privacy.ledger import checkpoint, copies, entries, server, transactions
from synth.privacy.ledger import server as server_tables
from synth.privacy.ledger.copies import backup, restore, take_over
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.ledger.sqlite import File
from synth.release import chosen
from synth.release.chosen import Note
from tests.ledgers import PASSWORD, strike
from tests.unit.privacy.charges import charge

pytestmark = pytest.mark.xdist_group("ledgers")


@pytest.fixture
def address(on_server):
    return on_server()


def refused(attempt, kind=InputError) -> str:
    with pytest.raises(kind) as error:
        attempt()
    return str(error.value)


# -- rights


def test_a_role_without_rights_is_refused_before_the_spend_and_granted_ones_are_for_adding_alone(
    address, ledger_server, command
):
    clerk = ledger_server.clerk(address)
    assert "may not" in refused(lambda: Ledger(clerk)), "no tables, and no right to make them"
    Ledger(address).set_policy("census", max_epsilon=1.0)
    assert "may not" in refused(lambda: Ledger(clerk))
    with ledger_server.door(address) as db:
        db.execute("GRANT USAGE ON SCHEMA facsimile_ledger TO clerk")
        db.execute("GRANT SELECT ON ALL TABLES IN SCHEMA facsimile_ledger TO clerk")
    reader = Ledger(clerk)
    assert reader.summary("census")[0].remaining_epsilon == 1.0
    for attempt in (reader.check, reader.spend):  # the first before any row is looked at
        assert "may not add lines" in refused(lambda a=attempt: a(charge(0.1)))
    code, out, message = command("ledger", "grant", "clerk", "--ledger", address)
    assert code == 0, message
    assert "clerk may add lines" in out
    book = Ledger(clerk)
    book.check(charge(0.1))
    run = book.spend(charge(0.1)).run
    book.outcome(run, state="done", detail={})
    book.fingerprint(run, dataset="census", digest=b"rows")
    book.rebuild()
    assert book.verify().ok
    assert book.summary("census")[0].epsilon == 0.1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger SET epsilon = 0",
        "DELETE FROM ledger",
        "TRUNCATE ledger",
        "DROP TABLE ledger",
        "ALTER TABLE ledger DISABLE TRIGGER ALL",
        "CREATE TRIGGER x BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "DROP FUNCTION ledger_only_append CASCADE",
        "SET session_replication_role = replica",
        "UPDATE ledger_key SET digest = 'x'",
        "DELETE FROM ledger_note",
        "UPDATE ledger_version SET version = 0",
        "CREATE TABLE more (a int)",
    ],
)
def test_who_may_add_lines_may_change_none(address, ledger_server, statement):
    book = Ledger(address)
    book.spend(charge(0.1))
    book.grant("clerk")
    with psycopg.connect(ledger_server.clerk(address), password=PASSWORD, autocommit=True) as db:
        db.execute("SET search_path = facsimile_ledger")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute(statement)
    assert book.verify().ok


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger SET epsilon = 0 WHERE number = 2",
        "DELETE FROM ledger WHERE number = 2",
        "TRUNCATE ledger",
        "INSERT INTO ledger SELECT * FROM ledger WHERE number = 1",
        "INSERT INTO ledger SELECT number + 9, time, kind, run, dataset, actor, approved_by, relation, unit, epsilon,"
        " delta, engine, noise_source, question, previous, hash FROM ledger WHERE number = 2",
        "SET session_replication_role = replica; DELETE FROM ledger",
    ],
)
def test_the_guards_refuse_even_the_owner(address, ledger_server, statement):
    book = Ledger(address)
    for _ in range(3):
        book.spend(charge(0.1))
    with pytest.raises(psycopg.errors.RaiseException, match="a ledger line can"):
        strike(ledger_server, address, statement, guarded=True)
    assert book.verify().lines == 3


DAMAGES = {
    "line 2: altered": "UPDATE ledger SET epsilon = 0 WHERE number = 2",
    "line 2: removed": "DELETE FROM ledger WHERE number = 2",
    "line 3 of": "DELETE FROM ledger WHERE number = 3",
    "the accounts do not agree": "UPDATE account SET epsilon = '0'",
    "guard ledger_no_change": "DROP TRIGGER ledger_no_change ON ledger",
    "guard ledger_only_append": "CREATE OR REPLACE FUNCTION ledger_only_append() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RETURN NEW; END $$",
    "guard ledger_no_change ": "ALTER TABLE ledger DISABLE TRIGGER ledger_no_change",
    "a trigger, a rule or a policy": "CREATE RULE r AS ON INSERT TO ledger DO INSTEAD NOTHING",
    "a trigger, a rule or a policy ": "ALTER TABLE ledger ENABLE ROW LEVEL SECURITY",
    "guard ledger against": "ALTER TABLE ledger DROP CONSTRAINT ledger_pkey",
    "index ledger_by_run": "DROP INDEX ledger_by_run",
    "the table ledger is UNLOGGED": "ALTER TABLE ledger SET UNLOGGED",
    "the table account is UNLOGGED": "ALTER TABLE account SET UNLOGGED",
}


@pytest.mark.parametrize("problem", DAMAGES)
def test_what_an_owner_changes_is_detected(address, ledger_server, problem):
    book = Ledger(address)
    book.row_key()  # the key, without which no account is sealed
    for _ in range(3):
        book.spend(charge(0.1))
    strike(
        ledger_server, address, DAMAGES[problem], guarded=not DAMAGES[problem].startswith(("UPDATE ledger", "DELETE"))
    )
    result = book.verify()
    assert not result.ok
    assert problem.strip() in result.problem
    if "UNLOGGED" in problem:
        assert "UNLOGGED" in refused(lambda: Ledger(address))


@pytest.mark.parametrize("table", ["ledger", "account", "account_end"])
def test_a_removed_table_is_a_lost_ledger_or_derived_again(address, ledger_server, table):
    book = Ledger(address)
    book.set_policy("census", max_epsilon=0.5)
    book.spend(charge(0.3))
    strike(ledger_server, address, f"DROP TABLE {table} CASCADE", guarded=True)
    if table == "ledger":
        assert "not those of a ledger" in refused(lambda: book.spend(charge(0.1)), LedgerLostError)
        return
    assert "remaining 0.2" in refused(lambda: book.spend(charge(0.3)), synth.BudgetError)
    book.spend(charge(0.2))
    assert book.verify().ok


def test_a_database_emptied_and_made_anew_takes_no_spend(address, ledger_server):
    book = Ledger(address)
    book.spend(charge(0.3))
    strike(ledger_server, address, "DROP SCHEMA facsimile_ledger CASCADE", guarded=True)
    assert "not those of a ledger" in refused(lambda: book.spend(charge(0.1)), LedgerLostError)
    assert "older copy" in refused(lambda: Ledger(address).spend(charge(0.1)), LedgerLostError)


def test_a_newer_format_and_a_disk_that_is_not_waited_for_are_refused(address, ledger_server, monkeypatch):
    Ledger(address)
    strike(ledger_server, address, "UPDATE ledger_version SET version = 99", guarded=True)
    assert "newer version" in refused(lambda: Ledger(address))
    strike(ledger_server, address, "UPDATE ledger_version SET version = 1", guarded=True)
    monkeypatch.setattr(server.ServerConnection, "execute", unsynced(server.ServerConnection.execute))
    assert "fsync off" in refused(lambda: Ledger(address))
    monkeypatch.setenv("SYNTH_LEDGER_FSYNC", "allow")
    Ledger(address)


def unsynced(execute):
    return lambda self, sql, *values: execute(self, sql.replace("current_setting('fsync')", "'off'"), *values)


# -- what no message tells


def test_no_message_names_server_database_role_or_password(address, ledger_server, command, monkeypatch, tmp_path):
    Ledger(address)
    (tmp_path / "wrong").write_text("not-the-password")
    port, cases = str(ledger_server.port), []
    clerk, bare = ledger_server.clerk(address), address.replace("steward@", "")
    asked = [
        (clerk, {}),
        (address, {"SYNTH_LEDGER_PASSWORD_FILE": str(tmp_path / "wrong")}),
        (address, {"SYNTH_LEDGER_PASSWORD_FILE": str(tmp_path / "none")}),
        (address.replace(port, "1"), {}),
        (address + "_that_is_none", {}),
        (bare.replace("//", "//nobody@"), {}),
        (address.replace("127.0.0.1", "no-such-host.invalid"), {}),
        (address + "?sslmode=verify-full", {}),
        (address + "?nonsense=1", {}),
        (address.replace("steward@", f"steward:{PASSWORD}@"), {}),
        (f"{address}?password={PASSWORD}", {}),
        (address.replace("postgresql", "mysql"), {}),
        (str(Path(address)), {}),
    ]
    for place, more in asked:
        with monkeypatch.context() as patched:
            for name, value in more.items():
                patched.setenv(name, value)
            code, out, message = command("ledger", "show", "--ledger", place)
        assert code in (2, 3), (place, message)
        cases.append(out + message)
        assert message.count("\n") == 1
    secrets = ("secret_place", "clerk", "nobody", "steward", "127.0.0.1", "no-such-host", port, PASSWORD)
    assert not [(c, s) for c in cases for s in secrets if s in c]
    assert len({c.split(":", 1)[1] for c in cases}) >= 8, "each says what is wrong"


def test_what_is_shown_of_a_ledger_that_works_says_that_it_is_on_a_server(address, ledger_server, command):
    book = Ledger(address)
    book.set_policy("census", max_epsilon=1.0)
    code, out, _ = command("ledger", "show", "--ledger", address, "--json")
    assert (code, json.loads(out)["ledger"]) == (0, "on PostgreSQL")
    assert "secret_place" not in out + repr(book) + str(book.store.beside(".mark"))
    assert json.loads(command("ledger", "verify", "--ledger", address, "--json")[1])["ok"]
    assert "no ledger yet" in command("ledger", "show", "--ledger", ledger_server.new())[2]


def test_a_request_with_a_password_is_refused_before_it_is_stored():
    with pytest.raises(UsageError) as reported:
        synth.app_api.RunRequest(epsilon=1, delta=1e-5, ledger="postgresql://ann:hush@host/db")
    assert "hush" not in str(reported.value)
    assert "SYNTH_LEDGER_PASSWORD_FILE" in str(reported.value)


def test_one_server_has_one_mark_however_its_address_is_written():
    stems = {
        copies.at(a).stem
        for a in (
            "postgres://ann@localhost/db",
            "postgresql://bob@127.0.0.1:5432/db?sslmode=require",
            "postgresql://LOCALHOST/db",
        )
    }
    assert len(stems) == 1
    assert copies.at("postgresql://localhost/other").stem not in stems
    assert copies.at("postgresql://a:1,b:2/db").stem not in stems


def test_lines_have_the_servers_clock(address, ledger_server, monkeypatch):
    monkeypatch.setattr("synth.privacy.ledger.sqlite.datetime", None)  # ours, which files use
    with ledger_server.door(address) as db:
        before = db.execute("SELECT clock_timestamp()").fetchone()[0]
        line = Ledger(address).spend(charge(0.1))
        after = db.execute("SELECT clock_timestamp()").fetchone()[0]
    assert before - timedelta(milliseconds=1) <= datetime.fromisoformat(line.time) <= after
    assert line.time.endswith("+00:00")
    assert abs(Ledger(address).changed() - time.time()) < 60


# -- the key and the notes are one for all machines


def test_two_machines_with_unlike_keys_are_told_so_before_they_mark_rows(address, monkeypatch, tmp_path):
    book = Ledger(address)
    book.fingerprint("one", dataset="census", digest=b"rows")
    key = transactions.key_place(book.store)
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path / "another machine"))
    other = Ledger(address)
    assert "another key" in refused(other.row_key)
    monkeypatch.setenv("SYNTH_LEDGER_KEY", str(tmp_path / "ledger.key"))
    (tmp_path / "ledger.key").write_bytes(b"x" * 32)
    assert "another key" in refused(other.row_key)
    shutil.copy(key, tmp_path / "ledger.key")
    asked = {"dataset": "copy", "alike": lambda a, b: a == b}
    assert other.twins(b"rows", **asked) == ["census"]


def test_notes_of_looks_are_seen_by_all_machines(address, monkeypatch, tmp_path):
    note = Note(what="look", line="a", table="b", dataset="census", by="ann")
    chosen.add_note(Ledger(address).store, note)
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path / "another machine"))
    (seen,) = chosen.notes(copies.at(address))
    assert (seen.what, seen.by, seen.among) == ("look", "ann", ())


# -- from a file to a server and back


@pytest.fixture
def old(tmp_path):
    """A ledger's file with a key, a note and lines of every kind."""
    book = Ledger(tmp_path / "old" / "ledger.sqlite")
    book.set_policy("census", max_epsilon=1.0)
    run = book.spend(charge(0.1 + 0.2, question={"é": [1.5, None, "\u2028"]})).run
    book.fingerprint(run, dataset="census", digest=b"rows")
    book.outcome(run, state="done", detail={})
    with pytest.raises(synth.BudgetError):
        book.spend(charge(0.9))
    chosen.add_note(book.store, Note(what="look", line="a", table="b", dataset="census"))
    return book


def test_a_file_is_taken_over_whole_and_takes_no_spend_afterwards(old, address, command):
    lines, head, totals = old.entries(), old.head(), old.summary()
    code, out, message = command("ledger", "import", old.path, "--ledger", address, "--json")
    assert code == 0, message
    book = Ledger(address)
    assert (book.entries(), book.head(), book.summary()) == (lines, head, totals)
    assert book.verify(head).ok
    assert book.twins(b"rows", dataset="copy", alike=lambda a, b: a == b) == ["census"]
    assert len(chosen.notes(book.store)) == 1
    assert json.loads(out) == {"lines": len(lines)}
    assert book.spend(charge(0.1)).number == len(lines) + 1
    assert checkpoint.read(book.store).number == len(lines) + 1


@pytest.mark.parametrize("marked", ["beside it", "elsewhere", "elsewhere meanwhile", "nowhere"])
def test_no_name_of_a_file_that_was_taken_over_spends_again(old, address, monkeypatch, tmp_path, marked):
    """With its mark elsewhere, or lost, the old path began a new ledger, and so did the file under its other name."""
    if marked.startswith("elsewhere"):
        monkeypatch.setenv(checkpoint.ELSEWHERE, str(tmp_path / "mark"))
    still, head = Ledger(old.path), old.head()
    backup(old.path, tmp_path / "backup.sqlite")
    take_over(address, old.path)
    if marked == "elsewhere meanwhile":
        monkeypatch.delenv(checkpoint.ELSEWHERE)
    if marked == "nowhere":
        checkpoint.place(old.store).unlink()
    files = [p for p in old.path.parent.iterdir() if p.read_bytes()[:6] == b"SQLite"] + [old.path]
    shutil.copy(old.path, tmp_path / "a copy.sqlite")
    for path in (*files, tmp_path / "a copy.sqlite"):
        with pytest.raises(InputError, match="its lines are on a server"):
            Ledger(path).spend(charge(0.1))
    with pytest.raises(LedgerLostError, match="its lines are on a server"):
        still.spend(charge(0.1))  # opened before
    for again in (lambda: take_over(address, old.path), lambda: restore(old.path, tmp_path / "backup.sqlite")):
        with pytest.raises(UsageError, match="its lines are on a server"):
            again()
    assert Ledger(address).verify(head).ok


def test_a_taking_over_that_was_cut_short_goes_on(old, address, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(checkpoint.Follower, "place", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            take_over(address, old.path)
    old.spend(charge(0.1))
    assert take_over(address, old.path) == 6
    assert Ledger(address).summary("census")[0].epsilon == 0.4 + 1e-17
    assert len(chosen.notes(copies.at(address))) == 1


@pytest.mark.parametrize("fault", ["other lines", "more lines", "another key", "damaged", "a file", "none"])
def test_a_taking_over_that_would_lose_or_mix_lines_is_refused(old, address, fault, tmp_path):
    place, path = address, old.path
    if fault == "other lines":
        Ledger(address).spend(charge(0.1))
    if fault == "more lines":
        shutil.copytree(old.path.parent, tmp_path / "copy")
        take_over(address, tmp_path / "copy" / "ledger.sqlite")
        Ledger(address).spend(charge(0.1))
    if fault == "another key":
        Ledger(address).row_key()
    if fault == "damaged":
        with File(path).connection() as db:
            for guard in entries.GUARDS:
                db.execute(f"DROP TRIGGER {guard}")
    place = tmp_path / "new.sqlite" if fault == "a file" else address
    path = tmp_path / "nothing" if fault == "none" else path
    words = {
        "other lines": "another key|lines of its own",
        "more lines": "lines of its own",
        "another key": "not the key",
        "damaged": "does not verify",
        "a file": "name a server's",
        "none": "no such file",
    }
    with pytest.raises((InputError, UsageError), match=words[fault]):
        take_over(place, path)
    if fault not in ("damaged", "none"):
        old.check(charge(0.1))


def test_a_backup_of_a_server_is_a_ledgers_file(old, address, tmp_path):
    take_over(address, old.path)
    book, out = Ledger(address), tmp_path / "back.sqlite"
    assert backup(address, out) == len(book.entries())
    copy = Ledger(out)
    assert (copy.entries(), copy.summary()) == (book.entries(), book.summary())
    assert copy.verify(book.head()).ok
    assert Path(f"{out}.key").read_bytes() == transactions.key(book.store)
    with pytest.raises(UsageError, match="exists already"):
        backup(address, out)


def test_the_statements_of_a_server_hold_no_sign_of_a_place_for_a_value():
    assert not [s for s in server_tables.statements() if "?" in s or "%" in s]
