"""A ledger on a server under kills, races and lost connections: as a file, it loses no spend and gives none twice."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter

import psycopg
import pytest

import synth
from synth.errors import COMMITTED, InputError, LedgerLostError, UnsettledError
from synth.privacy.ledger import server, transactions
from synth.privacy.ledger.ledger import Ledger
from synth.release import chosen
from tests.conftest import SMALL, small_frame
from tests.faults.deeds import charge, said
from tests.ledgers import strike
from tests.made import ran

pytestmark = pytest.mark.xdist_group("ledgers")
SERVERS, THREADS = 4, 25


CROWD = """
import json, sys, threading
from synth.privacy.ledger.ledger import Ledger, Spend
from synth.errors import BudgetError

book, said, gate = Ledger(sys.argv[1]), [], threading.Barrier(int(sys.argv[2]))
def ask():
    gate.wait()
    try:
        said.append(book.spend(Spend(dataset="census", epsilon=0.1, delta=1e-9, relation="add_remove", unit="row",
                                     engine="gdp", noise_source="system", question={})).run)
    except BudgetError:
        said.append("refused")
crowd = [threading.Thread(target=ask) for _ in range(int(sys.argv[2]))]
[one.start() for one in crowd], [one.join() for one in crowd]
print(json.dumps(said))
"""


def test_servers_that_race_for_one_budget_spend_all_of_it_and_no_more(on_server):
    address, fit = on_server(), SERVERS * THREADS // 2
    Ledger(address).set_policy("census", max_epsilon=fit / 10)
    command = [sys.executable, "-c", CROWD, address, str(THREADS)]
    crowd = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(SERVERS)]
    result = [run for one in crowd for run in json.loads(one.communicate()[0])]
    book = Ledger(address)
    recorded = [e.run for e in book.entries() if e.kind == "spend"]
    assert len(result) == SERVERS * THREADS
    assert sorted(run for run in result if run != "refused") == sorted(recorded)
    assert len(recorded) == fit
    assert (book.summary()[0].epsilon, book.summary()[0].remaining_epsilon) == (fit / 10, 0.0)
    assert Counter(e.kind for e in book.entries()) == {"policy": 1, "spend": fit, "refusal": fit}
    assert book.verify().ok


def statements(monkeypatch, before) -> None:
    """``before(number, connection, statement)`` for each statement of this process."""
    seen, run, execute = [0], server.ServerConnection.run, server.ServerConnection.execute

    def counted(original):
        def call(self, sql, *values):
            seen[0] += 1
            before(seen[0], self._plain, sql)
            return original(self, sql, *values)

        return call

    monkeypatch.setattr(server.ServerConnection, "run", counted(run))
    monkeypatch.setattr(server.ServerConnection, "execute", counted(execute))


@pytest.fixture
def book(on_server):
    """A ledger on a server, with a cap that leaves room, and a spend."""
    book = Ledger(on_server())
    book.set_policy("census", max_epsilon=100, max_delta=0.5)
    book.spend(charge())
    return book


def spend(book: Ledger) -> str:
    return said(lambda: "ok " + Ledger(book.store).spend(charge()).run)


def runs(book: Ledger) -> list[str]:
    """The runs of all spends; the chain and the sums hold."""
    assert book.verify().ok, book.verify()
    lines = [e for e in book.entries() if e.kind == "spend"]
    total = book.summary("census")[0]
    assert (total.runs, round(total.epsilon / 0.3)) == (len(lines), len(lines))
    return [e.run for e in lines]


@pytest.fixture
def steps(book, monkeypatch):
    """The statements of a spend: by the second commit it has seen, from a new connection, that its line is there."""
    met: list[str] = []
    with monkeypatch.context() as patched:
        statements(patched, lambda _, __, sql: met.append(sql))
        assert spend(book).startswith("ok ")
    assert len(met) > 20
    assert met.count("COMMIT") == 2
    return met


STRIDE = pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])


def struck(steps: list[str], stride: int) -> list[int]:
    """Every n-th statement, and those on both sides of the commit."""
    end = steps.index("COMMIT") + 1
    return sorted({*range(1, len(steps) + 1, stride), end - 1, end, end + 1})


@STRIDE
def test_a_client_killed_at_any_statement_leaves_all_or_nothing(book, monkeypatch, steps, stride):
    ends, strikes = Counter(), struck(steps, stride)
    for number in strikes:
        before = runs(book)
        if (child := os.fork()) == 0:
            statements(monkeypatch, lambda n, *_, k=number: n == k and os.kill(os.getpid(), signal.SIGKILL))
            spend(book)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL, steps[number - 1]
        after = runs(book)
        assert after[: len(before)] == before
        ends[len(after) - len(before)] += 1
        assert spend(book)[3:] == runs(book)[-1], "the next needs no repair"
    assert ends.keys() == {0, 1}
    assert ends[1] == sum(n > steps.index("COMMIT") + 1 for n in strikes), "from the commit on it is there"


@STRIDE
@pytest.mark.parametrize("how", ["ended by the server", "cut off"])
def test_a_connection_lost_at_any_statement_reports_what_is_true(book, monkeypatch, steps, how, stride):
    ends = Counter()
    for number in struck(steps, stride):

        def lose(n, plain, _, k=number):
            if n == k and how == "cut off":
                with socket.socket(fileno=os.dup(plain.fileno())) as wire:
                    wire.shutdown(socket.SHUT_RDWR)  # no word comes or goes; the server ends the transaction
            elif n == k:
                with psycopg.connect(plain.info.dsn, password=plain.info.password) as other:
                    other.execute("SELECT pg_terminate_backend(%s, 5000)", (plain.info.backend_pid,))

        before = runs(book)
        with monkeypatch.context() as patched:
            statements(patched, lose)
            message = spend(book)
        after = runs(book)
        assert message.startswith(("ok ", "refused ")), message
        assert after == [*before, *([message[3:]] if message.startswith("ok ") else [])], steps[number - 1]
        ends[message[:3]] += 1
    assert ends.keys() == {"ok ", "ref"}


def test_a_commit_that_was_done_and_not_answered_is_looked_up_and_counts_once(book, monkeypatch):
    lost = []

    def commit(self, sql, run=server.ServerConnection.run):
        result = run(self, sql)
        if sql == "COMMIT" and not lost:
            lost.append(self._plain.close())
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return result

    monkeypatch.setattr(server.ServerConnection, "run", commit)
    before = runs(book)
    message = spend(book)
    assert lost
    assert runs(book) == [*before, message[3:]]


@pytest.fixture
def down(ledger_server):
    """Stops the server as a power cut would; it is there again afterwards."""
    stopped = []

    def stop() -> None:
        stopped.append(ledger_server.control("stop", "-m", "immediate"))

    yield stop
    if stopped:
        ledger_server.control("start")


@pytest.fixture
def table(tmp_path):
    frame = small_frame(200)
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.json").write_text(json.dumps(SMALL))
    return tmp_path / "t.csv", tmp_path / "s.json"


def run(book, table, tmp_path) -> tuple[object, ...]:
    frame, schema = table
    more = ("--method", "independent", "--epsilon", "0.3", "--dataset", "census", "--out", tmp_path / "out")
    return ("run", frame, "--schema", schema, *more, "--ledger", book.store._address)


def test_a_server_lost_at_the_commit_for_good_counts_as_spent(book, monkeypatch, down, table, tmp_path, command):
    """Whether the line is there nobody can say: exit code 5, no row was read, nothing was written."""
    reads = []
    monkeypatch.setattr(transactions, "PATIENCE", (0.0, 0.0))
    monkeypatch.setattr("synth.pipeline.charge.ChargedRun._rows", lambda _: reads.append(1))  # after the spend

    met: list[str] = []

    def strike_at(_, __, sql):
        if sql == "COMMIT" and [s for s in met if s.startswith("INSERT INTO ledger ")]:
            down()
        met.append(sql)

    statements(monkeypatch, strike_at)
    code, _, message = command(*run(book, table, tmp_path))
    assert code == 5, message
    assert "counts as spent" in message
    assert not reads
    assert not (tmp_path / "out").exists()
    COMMITTED.clear()
    with pytest.raises(InputError):
        book.spend(charge())


def test_a_server_that_is_absent_refuses_before_the_spend(book, down, table, tmp_path, command):
    down()
    code, _, message = command(*run(book, table, tmp_path))
    assert code == 3, message
    assert "the server does not answer" in message
    assert not (tmp_path / "out").exists()


def test_a_server_that_loses_power_keeps_every_line_that_was_reported(book, ledger_server):
    reported = [spend(book) for _ in range(5)]
    ledger_server.control("restart", "-m", "immediate")
    assert runs(book)[-5:] == [m[3:] for m in reported]


def test_a_backend_killed_by_the_system_takes_no_line_with_it(book, monkeypatch):
    """The server then ends all its backends, and plays its journal back."""
    before = runs(book)

    def kill(_, plain, sql, done=[]):  # noqa: B006
        if sql.startswith("INSERT INTO ledger ") and not done:
            done.append(os.kill(plain.info.backend_pid, signal.SIGKILL))

    with monkeypatch.context() as patched:
        statements(patched, kill)
        message = spend(book)
    assert message.startswith("refused ")
    end = time.monotonic() + 60
    while not (again := spend(book)).startswith("ok ") and time.monotonic() < end:
        time.sleep(0.1)  # its journal is played back
    assert runs(book) == [*before, again[3:]]


def test_an_older_state_of_the_database_is_noticed_and_what_it_lacks_is_charged(book, ledger_server, tmp_path, command):
    address = book.store._address
    assert command("ledger", "backup", tmp_path / "old.sqlite", "--ledger", address)[0] == 0
    spend(book)
    again = ("DELETE FROM ledger WHERE number > 2", "DELETE FROM account", "DELETE FROM account_end")
    strike(
        ledger_server, address, *again, "INSERT INTO account_end SELECT number, hash, 0 FROM ledger WHERE number = 2"
    )
    assert "older copy" in book.verify().problem
    with pytest.raises(LedgerLostError, match="restore"):
        book.spend(charge())
    out, _ = command.done("ledger", "restore", tmp_path / "old.sqlite", "--ledger", address, "--json")
    assert json.loads(out)["charged"] == {"census": [0.3, 1e-6]}
    assert book.summary("census")[0].epsilon == 0.6
    assert book.verify().ok


def test_marks_of_several_machines_together_know_what_was_spent(book, ledger_server, tmp_path, command, monkeypatch):
    """Put back to 0.3 after 0.6 by one machine and 0.9 by another: each brings its part, new spends beside it."""
    address = book.store._address
    assert command("ledger", "backup", tmp_path / "old.sqlite", "--ledger", address)[0] == 0
    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        monkeypatch.setenv("SYNTH_HOME", str(home))
        Ledger(address).spend(charge())
    again = ("DELETE FROM ledger WHERE number > 2", "DELETE FROM account", "DELETE FROM account_end")
    strike(
        ledger_server, address, *again, "INSERT INTO account_end SELECT number, hash, 0 FROM ledger WHERE number = 2"
    )
    line = book.spend(charge())  # by a machine that has seen no more
    assert line.number == 3
    for home, sum_then in zip(homes, (0.9, 1.2), strict=True):
        monkeypatch.setenv("SYNTH_HOME", str(home))
        with pytest.raises(LedgerLostError, match="older copy"):
            Ledger(address).spend(charge())
        assert command("ledger", "restore", tmp_path / "old.sqlite", "--ledger", address)[0] == 0
        assert Ledger(address).summary("census")[0].epsilon == sum_then
    Ledger(address).spend(charge())
    assert Ledger(address).verify().ok


def test_a_lost_database_is_filled_from_a_backup_in_another(book, on_server, tmp_path, command, monkeypatch):
    monkeypatch.setenv("SYNTH_LEDGER_MARK", str(tmp_path / "mark"))
    spend(book)
    assert command("ledger", "backup", tmp_path / "old.sqlite", "--ledger", book.store._address)[0] == 0
    spend(book)
    place = on_server()
    assert command("ledger", "restore", tmp_path / "old.sqlite", "--ledger", place)[0] == 0
    new = Ledger(place)
    assert new.summary("census")[0].epsilon == book.summary("census")[0].epsilon == 0.9
    assert new.entries()[:3] == book.entries()[:3]
    assert new.verify().ok
    code, _, message = command("ledger", "restore", tmp_path / "old.sqlite", "--ledger", place)
    assert (code, "nothing to restore" in message) == (2, True)


def test_a_run_its_card_its_looks_and_its_bundle_rest_on_a_server_as_on_a_file(book, table, tmp_path, command):
    before = len(runs(book))
    (frame, schema), address, out = table, book.store._address, tmp_path / "out"
    asked = {"epsilon": 0.3, "delta": 1e-6, "method": "independent", "dataset": "census"}
    result = ran(frame, schema, ledger=address, out=out, **asked)
    lines = book.entries()
    assert result.card["ledger_entry"]["hash"] in {e.hash for e in lines}
    assert [e.kind for e in lines[-3:]] == ["spend", "fingerprint", "outcome"]
    assert len(runs(book)) == before + 1
    assert command("card", "check", out, "--ledger", address)[0] == 0
    synth.app_api.note_look(out, ledger=address)
    (note,) = chosen.notes(book.store)
    assert (note.what, note.dataset) == ("look", "census")
    said, _ = command.done("bundle", out, "--out", tmp_path / "r.zip", "--ledger", address, "--json")
    assert round(json.loads(said)["epsilon"], 9) == 0.6, "with the earlier spend"
    _, said, _ = command("ledger", "composition", "--ledger", address, "--json")
    assert json.loads(said)["ledger"] == "on PostgreSQL"
    files = [p.read_bytes() for p in out.rglob("*") if p.is_file()]
    assert not [t for t in files for s in (b"secret_place", b"127.0.0.1", b"steward@") if s in t]


def test_an_error_of_a_lost_commit_is_one_that_denies_nothing():
    assert issubclass(UnsettledError, LedgerLostError)
