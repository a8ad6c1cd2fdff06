"""The ledger's file: kills, crowds, leftovers and files that are no ledger."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections import Counter
from contextlib import closing

import pytest

from synth.errors import InputError
from synth.privacy.ledger.ledger import Ledger
from tests.unit.privacy.charges import charge

SPENDER = textwrap.dedent("""
    import sys
    from synth.errors import BudgetError
    from synth.privacy.ledger.ledger import Ledger, Spend

    ledger = Ledger(sys.argv[1])
    for _ in range(int(sys.argv[2])):
        try:
            run = ledger.spend(Spend(dataset="census", epsilon=0.1, delta=1e-6, relation="add_remove",
                                     unit="row", engine="gdp", noise_source="system", question={})).run
            print(run, flush=True)
        except BudgetError:
            print("refused", flush=True)
""")


def spender(path, times):
    return subprocess.Popen([sys.executable, "-c", SPENDER, path, str(times)], stdout=subprocess.PIPE, text=True)


def test_a_kill_at_any_moment_loses_no_spend_that_was_reported(tmp_path):
    rng, path, reported = random.Random(5), tmp_path / "ledger.sqlite", []
    for _ in range(20):
        worker = spender(path, 10**6)
        for _ in range(rng.randint(1, 3)):
            reported.append(worker.stdout.readline().strip())
        try:
            worker.wait(timeout=rng.uniform(0, 0.01))
        except subprocess.TimeoutExpired:
            worker.send_signal(signal.SIGKILL)
        rest = worker.communicate()[0]
        reported += [line for line in rest.splitlines() if len(line) == 36]
    ledger = Ledger(path)
    assert set(reported) <= {line.run for line in ledger.entries()}
    assert len(reported) >= 20
    assert ledger.verify().ok
    assert ledger.spend(charge(1)).number == len(ledger.entries())


def test_a_crowd_neither_overspends_nor_loses_a_spend(tmp_path):
    path = tmp_path / "ledger.sqlite"
    Ledger(path).set_policy("census", max_epsilon=10)
    workers = [spender(path, 15) for _ in range(8)]
    said = Counter(line for worker in workers for line in worker.communicate()[0].splitlines())
    ledger = Ledger(path)
    kinds = Counter(line.kind for line in ledger.entries())
    assert kinds == {"policy": 1, "spend": 100, "refusal": 20}
    assert said.pop("refused") == 20
    assert set(said) == {line.run for line in ledger.entries() if line.kind == "spend"}
    assert ledger.summary()[0].remaining_epsilon == 0.0
    assert ledger.verify().ok


def test_processes_that_start_together_make_one_ledger(tmp_path):
    path = tmp_path / "new" / "ledger.sqlite"
    workers = [spender(path, 1) for _ in range(6)]
    runs = {worker.communicate()[0].strip() for worker in workers}
    assert {line.run for line in Ledger(path).entries()} == runs
    assert len(runs) == 6


def test_a_process_killed_inside_a_transaction_leaves_the_old_state(tmp_path):
    path = tmp_path / "ledger.sqlite"
    Ledger(path).spend(charge(1))
    code = f"""if True:
        import os, sqlite3
        db = sqlite3.connect({str(path)!r}, isolation_level=None)
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN IMMEDIATE")
        db.execute("DROP TRIGGER ledger_no_update")
        db.execute("CREATE TABLE filler (x)")
        db.executemany("INSERT INTO filler VALUES (?)", [("x" * 4000,) for _ in range(50)])
        os.kill(os.getpid(), 9)
    """
    subprocess.run([sys.executable, "-c", code], check=False)
    assert os.path.getsize(f"{path}-journal") > 0, "the crash must leave a journal to be played back"
    ledger = Ledger(path)
    assert ledger.verify().ok
    assert len(ledger.entries()) == 1
    ledger.spend(charge(1))
    assert not os.path.exists(f"{path}-journal")


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("content", [b"", b"left over from another file" * 300])
def test_leftovers_beside_the_file_do_no_harm(tmp_path, suffix, content):
    path = tmp_path / "ledger.sqlite"
    Ledger(path).spend(charge(1))
    (tmp_path / f"ledger.sqlite{suffix}").write_bytes(content)
    ledger = Ledger(path)
    ledger.spend(charge(1))
    assert Ledger(path).summary()[0].epsilon == 2.0
    assert ledger.verify().ok


def test_an_empty_file_left_by_a_kill_becomes_a_ledger(tmp_path):
    (tmp_path / "ledger.sqlite").touch()
    assert Ledger(tmp_path / "ledger.sqlite").spend(charge(1)).number == 1


def test_missing_folders_are_made(tmp_path):
    assert Ledger(tmp_path / "a" / "b c?#%" / "ledger.sqlite").spend(charge(1)).number == 1
    assert (tmp_path / "a" / "b c?#%" / "ledger.sqlite").exists()


def test_a_ledger_that_vanishes_between_two_calls_does_not_start_anew(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.path.unlink()
    with pytest.raises(InputError, match="cannot be opened"):
        ledger.spend(charge(1))
    assert not ledger.path.exists()


def test_files_that_are_no_ledger_are_refused_untouched_in_one_line(tmp_path):
    text = tmp_path / "table.csv"
    text.write_text("AGE,SEX\n" * 500)
    folder = tmp_path / "folder"
    folder.mkdir()
    foreign = tmp_path / "foreign.sqlite"
    with closing(sqlite3.connect(foreign)) as db, db:
        db.execute("CREATE TABLE persons (name)")
    before = {file: file.read_bytes() for file in (text, foreign)}
    for path in (text, folder, foreign, text / "below" / "ledger.sqlite"):
        with pytest.raises(InputError) as refused:
            Ledger(path)
        assert str(path) in str(refused.value)
        assert "\n" not in str(refused.value)
        assert ";" in str(refused.value)
    assert before == {file: file.read_bytes() for file in (text, foreign)}


def test_a_newer_format_is_refused(tmp_path):
    path = Ledger(tmp_path / "ledger.sqlite").path
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="newer version"):
        Ledger(path)


def test_a_read_only_ledger_can_be_read_and_not_charged(tmp_path):
    path = Ledger(tmp_path / "ledger.sqlite").path
    Ledger(path).spend(charge(1))
    path.chmod(0o444)
    for folder in (tmp_path, *tmp_path.parents):  # somebody else must get here
        if not folder.stat().st_mode & 0o001:
            folder.chmod(0o755)
    tmp_path.chmod(0o555)
    code = f"""if True:
        import os
        import synth.privacy.ledger.ledger as module, synth.errors as errors
        if os.geteuid() == 0:
            os.setuid(65534)
        ledger = module.Ledger({str(path)!r})
        print(ledger.verify().lines)
        try:
            ledger.spend(module.Spend(dataset="a", epsilon=1, delta=0, relation="r", unit="row", engine="e",
                                      noise_source="s", question={{}}))
        except errors.InputError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    tmp_path.chmod(0o755)
    assert done.stdout.splitlines()[0] == "1", done.stderr
    assert "cannot be written; give write permission" in done.stdout.splitlines()[1]
    assert len(Ledger(path).entries()) == 1


def test_a_damaged_file_is_a_one_line_fault(tmp_path):
    path = Ledger(tmp_path / "ledger.sqlite").path
    for _ in range(60):
        Ledger(path).spend(charge(1))
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = bytes(len(content) - 4096 * 2)
    path.write_bytes(content)
    assert not Ledger(path).verify().ok
    with pytest.raises(InputError, match="restore it from a backup"):
        Ledger(path).entries()
