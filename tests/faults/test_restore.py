"""No restore, rollback or cut gives budget back: the mark beside the ledger tells, and what is lost is charged."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal

import pytest

from synth.errors import BudgetError, InputError, LedgerLostError, UnsettledError, UsageError
from synth.privacy.ledger import checkpoint, entries, sqlite, transactions
from synth.privacy.ledger.copies import backup, restore
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.ledger.sqlite import File
from synth.privacy.ledger.transactions import writing
from tests.faults.deeds import charge


@pytest.fixture
def place(tmp_path):
    """A ledger with a cap of 1, one spend of 0.3, a backup, and 0.3 more spent since."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.set_policy("census", max_epsilon=1.0)
    ledger.spend(charge())
    shutil.copy(ledger.path, tmp_path / "backup.sqlite")
    ledger.spend(charge())
    ledger.spend(charge("other", 0.7))
    return tmp_path


def sums(place) -> dict[str, float]:
    return {t.dataset: t.epsilon for t in Ledger(place / "ledger.sqlite").summary()}


def test_an_older_copy_put_back_is_noticed_and_takes_no_spend(place):
    shutil.copy(place / "backup.sqlite", place / "ledger.sqlite")
    ledger = Ledger(place / "ledger.sqlite")
    assert "older copy" in ledger.verify().problem
    for attempt in (lambda: ledger.spend(charge()), lambda: ledger.set_policy("census", max_epsilon=9)):
        with pytest.raises(InputError, match="synth ledger restore"):
            attempt()
    assert len(ledger.entries()) == 2


def test_a_removed_ledger_does_not_start_anew(place):
    (place / "ledger.sqlite").unlink()
    with pytest.raises(InputError, match="older copy"):
        Ledger(place / "ledger.sqlite").spend(charge())


LOSSES = {
    "an older copy": lambda p: shutil.copy(p / "backup.sqlite", p / "ledger.sqlite"),
    "removed": lambda p: (p / "ledger.sqlite").unlink(),
    "emptied": lambda p: (p / "ledger.sqlite").write_bytes(b""),
    "overwritten": lambda p: (p / "ledger.sqlite").write_bytes(b"no ledger at all" * 999),
    "half": lambda p: (p / "ledger.sqlite").write_bytes((p / "ledger.sqlite").read_bytes()[:5000]),
    "the mark lost too": lambda p: (checkpoint.place(File(p / "ledger.sqlite")).unlink(), altered(p)),
}


def altered(place) -> None:
    with closing(sqlite3.connect(place / "ledger.sqlite")) as db, db:
        for name in entries.GUARDS:
            db.execute(f"DROP TRIGGER {name}")


@pytest.mark.parametrize("loss", LOSSES)
def test_a_restore_charges_what_the_backup_does_not_hold(place, loss, command):
    LOSSES[loss](place)
    out, _ = command.done(f"ledger restore {place}/backup.sqlite --ledger {place}/ledger.sqlite --json")
    assert json.loads(out)["charged"] == {"census": [0.3, 1e-6], "other": [0.7, 1e-6]}
    assert sums(place) == {"census": 0.6, "other": 0.7}
    ledger = Ledger(place / "ledger.sqlite")
    assert ledger.verify().ok
    assert ledger.summary("census")[0].remaining_epsilon == 0.4
    with pytest.raises(BudgetError):
        ledger.spend(charge(epsilon=0.5))
    ledger.spend(charge(epsilon=0.4))
    assert ledger.verify().ok


def test_a_restore_never_lowers_a_sum_whatever_happened_before(tmp_path):
    rng = random.Random(3)
    for case in range(25):
        here = tmp_path / str(case)
        path = here / "ledger.sqlite"
        copies, spent = [], {}
        for step in range(rng.randint(2, 8)):
            name, epsilon = rng.choice("abc"), rng.choice([0.1, 0.25, 1e-9, 3.0])
            Ledger(path).spend(charge(name, epsilon))
            spent[name] = spent.get(name, Decimal(0)) + Decimal(str(epsilon))
            copies.append(shutil.copy(path, here / f"copy{step}"))
        shutil.copy(rng.choice(copies), path)
        if rng.random() < 0.4:
            path.unlink()
        before = {n: float(e) for n, e in spent.items()}
        with contextlib.suppress(UsageError):  # the newest copy was put back: nothing is lost
            restore(path, rng.choice(copies))
        assert sums(here) == pytest.approx(before, rel=1e-15)
        assert all(sums(here)[n] >= e for n, e in before.items())
        assert Ledger(path).verify().ok


def test_a_restore_over_a_whole_ledger_is_refused(place):
    with pytest.raises(UsageError, match="nothing to restore"):
        restore(place / "ledger.sqlite", place / "backup.sqlite")
    assert sums(place) == {"census": 0.6, "other": 0.7}


@pytest.mark.parametrize("content", [b"", b"text", None])
def test_a_backup_that_is_none_is_refused_and_changes_nothing(place, content):
    (place / "ledger.sqlite").unlink()
    bad = place / "bad.sqlite"
    if content is not None:
        bad.write_bytes(content)
    with pytest.raises(InputError, match=r"backup|ledger"):
        restore(place / "ledger.sqlite", bad)
    assert not (place / "ledger.sqlite").exists()


def test_a_restore_cut_short_can_be_done_again(place, monkeypatch):
    from synth.privacy.ledger import copies as ledger_restore

    shutil.copy(place / "backup.sqlite", place / "ledger.sqlite")
    monkeypatch.setattr(ledger_restore, "_charge", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        restore(place / "ledger.sqlite", place / "backup.sqlite")
    monkeypatch.undo()
    with pytest.raises(InputError, match="cut short"):
        Ledger(place / "ledger.sqlite").spend(charge())
    restore(place / "ledger.sqlite", place / "backup.sqlite")
    assert sums(place) == {"census": 0.6, "other": 0.7}


def test_a_ledger_replaced_while_a_line_is_added_does_not_let_rows_be_read(place):
    ledger = Ledger(place / "ledger.sqlite")

    def replaced() -> None:
        with writing(ledger.store) as db:
            entries.append(db, kind="spend", question={}, run="r", dataset="census", epsilon=0.1)
            os.replace(place / "backup.sqlite", ledger.path)

    with pytest.raises(InputError, match="was replaced"):
        replaced()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"number": 1}',
        '{"number": 9, "hash": "x", "spent": {"a": 1}}',
        '{"number": 1, "hash": "x", "spent": {"a": {"epsilon": "NaN", "delta": "0"}}}',
    ],
)
def test_a_damaged_mark_is_a_damaged_ledger_until_a_restore(place, content):
    mark = checkpoint.place(File(place / "ledger.sqlite"))
    mark.write_text(content)
    ledger = Ledger(place / "ledger.sqlite")
    assert "damaged" in ledger.verify().problem
    for attempt in (ledger.spend, ledger.check):
        with pytest.raises(LedgerLostError, match=r"mark .* is damaged"):
            attempt(charge("other", 0.1))
    shutil.copy(ledger.path, place / "same.sqlite")
    assert restore(ledger.path, place / "same.sqlite").mark_lost
    assert sums(place) == {"census": 0.6, "other": 0.7}
    ledger.spend(charge("other", 0.1))
    assert json.loads(mark.read_text())["spent"]["other"]["epsilon"] == "0.8"
    assert ledger.verify().ok


def test_a_garbled_mark_does_not_let_an_older_copy_spend_again(tmp_path):
    """0.1, 0.8 and, after the file of before, 0.8 again went through under a cap of 1."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.set_policy("census", max_epsilon=1.0)
    ledger.spend(charge(epsilon=0.1))
    shutil.copy(ledger.path, tmp_path / "older.sqlite")
    ledger.spend(charge(epsilon=0.8))
    shutil.copy(tmp_path / "older.sqlite", ledger.path)
    mark = checkpoint.place(ledger.store)
    reported = bytearray(mark.read_bytes())
    reported[len(reported) // 2] ^= 0xFF
    mark.write_bytes(reported)
    with pytest.raises(LedgerLostError):
        ledger.spend(charge(epsilon=0.8))


@pytest.mark.parametrize("link", ["file", "folder"])
def test_an_alias_by_symbolic_link_is_the_same_ledger_with_the_same_mark(place, link):
    (place / "elsewhere").mkdir()
    alias = place / "elsewhere" / "alias.sqlite"
    if link == "file":
        alias.symlink_to(place / "ledger.sqlite")
    else:
        alias = place / "elsewhere" / "here" / "ledger.sqlite"
        alias.parent.symlink_to(place, target_is_directory=True)
    Ledger(alias).spend(charge(epsilon=0.4))
    assert sums(place)["census"] == 1.0
    assert (
        json.loads(checkpoint.place(File(place / "ledger.sqlite")).read_text())["spent"]["census"]["epsilon"] == "1.0"
    )
    assert not list((place / "elsewhere").glob("*.mark"))
    shutil.copy(place / "backup.sqlite", place / "ledger.sqlite")
    with pytest.raises(LedgerLostError, match="older copy"):
        Ledger(alias).spend(charge(epsilon=0.1))


def test_a_ledger_with_two_names_by_hard_link_is_refused(place):
    ledger = Ledger(place / "ledger.sqlite")
    os.link(ledger.path, place / "alias.sqlite")
    for attempt in (lambda: Ledger(place / "alias.sqlite"), lambda: ledger.spend(charge())):
        with pytest.raises(LedgerLostError, match="hard links"):
            attempt()
    (place / "alias.sqlite").unlink()
    ledger.spend(charge())


def test_the_mark_can_lie_elsewhere(place, monkeypatch):
    monkeypatch.setenv(checkpoint.ELSEWHERE, str(place / "far.mark"))
    Ledger(place / "ledger.sqlite").spend(charge("other", 0.1))
    shutil.rmtree(place / "no", ignore_errors=True)
    shutil.copy(place / "backup.sqlite", place / "ledger.sqlite")
    assert "far.mark" in Ledger(place / "ledger.sqlite").verify().problem
    assert restore(place / "ledger.sqlite", place / "backup.sqlite").charged.keys() == {"census", "other"}
    assert sums(place) == {"census": 0.6, "other": 0.8}


def test_a_backup_is_the_ledger_of_one_moment_and_can_be_restored(place, command):
    """Taken while a writer holds the lock; with the key; readable by its owner alone; never over another file."""
    path, out = place / "ledger.sqlite", place / "copies.sqlite"
    transactions.key(File(path))
    with sqlite.connection(path) as db:
        db.execute("BEGIN IMMEDIATE")
        assert backup(path, out) == len(list(Ledger(path).entries()))
        db.execute("ROLLBACK")
    assert Ledger(out).verify().problem is None or "mark" in Ledger(out).verify().problem
    assert (place / "copies.sqlite.key").read_bytes() == (place / "ledger.sqlite.key").read_bytes()
    assert {p.stat().st_mode & 0o777 for p in (out, place / "copies.sqlite.key")} == {0o600}
    spent = sums(place)
    path.unlink()
    assert command("ledger", "restore", out, "--ledger", path)[0] == 0
    assert sums(place) == spent
    code, _, stderr = command("ledger", "backup", out, "--ledger", path)
    assert code == 2
    assert "exists already" in stderr
    assert command("ledger", "backup", place / "no" / "where", "--ledger", path)[0] == 2
    assert command("ledger", "backup", place / "new", "--ledger", place / "none.sqlite")[0] == 2


UNWRITABLE = {
    "no such folder": lambda _: "/proc/none/mark",
    "a folder that takes no file": lambda _: "/proc/mark",
    "a folder in its place": lambda p: str(p / "folder"),
    "a file for a folder": lambda p: str(p / "backup.sqlite" / "mark"),
}


@pytest.mark.parametrize("where", UNWRITABLE)
def test_where_no_mark_can_be_written_nothing_is_spent(tmp_path, monkeypatch, where):
    """Three spends went through without one, and a restore of the first line's backup made them one."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.spend(charge())
    shutil.copy(ledger.path, tmp_path / "backup.sqlite")
    (tmp_path / "folder").mkdir()
    monkeypatch.setenv(checkpoint.ELSEWHERE, UNWRITABLE[where](tmp_path))
    for attempt in (lambda: ledger.spend(charge()), lambda: ledger.set_policy("census", max_epsilon=1.0)):
        with pytest.raises(InputError, match=r"its mark .* (cannot be written|is damaged)"):
            attempt()
    assert len(ledger.entries()) == 1
    (tmp_path / "ledger.sqlite").unlink()
    if where != "a folder in its place":  # which is put aside, as a damaged mark is
        with pytest.raises(InputError, match="its mark"):
            restore(tmp_path / "ledger.sqlite", tmp_path / "backup.sqlite")


def test_a_spend_whose_mark_did_not_follow_is_not_reported(tmp_path, monkeypatch):
    """The line is there and counts; nothing may be read for it, so that losing the ledger gives nothing back."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.spend(charge())
    moved = os.replace

    def broken(source, target):
        if str(target).endswith(".mark"):
            raise OSError(5, "Input/output error")
        moved(source, target)

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(UnsettledError, match="counts as spent and no row was read"):
        ledger.spend(charge())
    monkeypatch.undo()
    assert (ledger.summary()[0].epsilon, ledger.verify().ok) == (0.6, True)
    ledger.spend(charge())
    assert checkpoint.read(ledger.store).spent["census"].epsilon == Decimal("0.9")
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize("behind", [0, 1, 2])
def test_a_restore_killed_between_filling_and_charging_leaves_no_ledger_that_spends(place, monkeypatch, behind):
    """With a mark that had stayed behind, the filled ledger verified, and what was lost was free."""
    from synth.privacy.ledger import copies as ledger_restore

    mark = checkpoint.read(File(place / "ledger.sqlite"))
    with sqlite.connection(place / "ledger.sqlite") as db:
        line = db.execute("SELECT hash FROM ledger WHERE number = ?", (behind,)).fetchone()
    checkpoint.write(File(place / "ledger.sqlite"), replace(mark, number=behind, hash=line["hash"] if line else ""))
    (place / "ledger.sqlite").unlink()
    monkeypatch.setattr(ledger_restore, "_charge", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        restore(place / "ledger.sqlite", place / "backup.sqlite")
    monkeypatch.undo()
    assert not Ledger(place / "ledger.sqlite").verify().ok
    with pytest.raises(LedgerLostError, match="cut short"):
        Ledger(place / "ledger.sqlite").spend(charge("other", 0.1))
    restore(place / "ledger.sqlite", place / "backup.sqlite")
    assert sums(place) == {"census": 0.6, "other": 0.7}
