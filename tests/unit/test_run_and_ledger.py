"""A run and its ledger: refusals read nothing, races never overspend, a kill leaves the spend recorded."""

import json
import os
import sqlite3
import subprocess
import sys
import time

import pytest

import synth
from synth.privacy.ledger.ledger import Ledger
from tests.conftest import SMALL, small_frame

pytestmark = pytest.mark.xdist_group("processes")


def arguments(small, out, *more):
    table, schema = small
    return ["run", table, "--schema", schema, "--method", "independent", "--epsilon", "1", "--out", out, *more]


def worker(*command):
    """The command line as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "synth", *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_run_over_budget_reads_nothing_and_writes_nothing(command, small, tmp_path):
    """The table cannot even be opened: the refusal comes before anything is looked at."""
    assert command("ledger", "policy", small[0], "--max-epsilon", "1.5", "--new")[0] == 0
    assert command(*arguments(small, tmp_path / "one"))[0] == 0
    before = Ledger().summary()[0]
    small[0].write_bytes(b"\0 not a table any more")
    code, said, stderr = command(*arguments(small, tmp_path / "two", "--json"))
    assert code == 4
    assert said == ""
    assert "requested epsilon 1, remaining 0.5, short by 0.5" in stderr
    assert not (tmp_path / "two").exists()
    assert Ledger().summary()[0] == before


def test_a_release_is_written_over_only_where_that_is_said(command, small, tmp_path):
    """Found by doing so: the second run took the place of the first, which was paid for."""
    out = tmp_path / "one"
    assert command(*arguments(small, out))[0] == 0
    first = (out / "synthetic.csv").read_bytes()
    code, _, stderr = command(*arguments(small, out))
    assert code == 2
    assert "it holds a release, which was paid for; name another folder, or say --replace" in stderr
    assert (out / "synthetic.csv").read_bytes() == first
    assert Ledger().summary()[0].epsilon == 1.0, "refused before the spend"
    assert command(*arguments(small, out, "--replace"))[0] == 0
    assert (out / "synthetic.csv").read_bytes() != first
    charged = [e.run for e in Ledger().entries() if e.kind == "spend"]
    for run in (None, "another", *charged):  # whatever run is named
        with pytest.raises(synth.UsageError, match="it holds a release"):
            synth.run(small[0], schema=synth.Schema.load(small[1]), epsilon=1, delta=1e-5, out=out, run=run)


def test_a_smaller_run_still_fits(command, small, tmp_path):
    command("ledger", "policy", small[0], "--max-epsilon", "0.3", "--new")
    table, schema = small
    for i in range(3):
        command.done(f"run {table} --schema {schema} --method independent --epsilon 0.1 --out", tmp_path / str(i))
    assert Ledger().summary()[0].remaining_epsilon == 0.0


def test_without_a_policy_a_line_says_that_nothing_is_capped(command, small, tmp_path):
    _, _, stderr = command(*arguments(small, tmp_path / "o"))
    assert "nothing is capped" in stderr
    command("ledger", "policy", small[0], "--max-epsilon", "9", "--new")
    _, _, stderr = command(*arguments(small, tmp_path / "other"))
    assert "nothing is capped" not in stderr


def test_a_changed_file_keeps_its_name_and_budget(command, small, tmp_path):
    command("ledger", "policy", small[0], "--max-epsilon", "1", "--new")
    assert command(*arguments(small, tmp_path / "a"))[0] == 0
    small_frame(400).to_csv(small[0], index=False)
    assert command(*arguments(small, tmp_path / "b"))[0] == 4


def test_cancelling_after_the_spend_says_what_was_spent(small, tmp_path):
    """Exit code 5, the spend recorded, the job marked cancelled, no half-written release."""
    folder = tmp_path / "job"
    small_frame(200_000).to_csv(small[0], index=False)
    run = worker(*arguments(small, tmp_path / "o", "--job", folder))
    for _ in range(2000):
        if any(e.kind == "spend" for e in Ledger().entries()):
            break
        time.sleep(0.01)
    (folder / "cancel").touch()
    _, reported = run.communicate(timeout=120)
    assert run.returncode == 5, reported
    assert "cancelled; epsilon 1 is spent" in reported
    assert json.loads((folder / "status.json").read_text())["state"] == "cancelled"
    assert [e.question.get("state") for e in Ledger().entries() if e.kind == "outcome"] == ["cancelled"]
    assert not (tmp_path / "o" / "synthetic.csv").exists()


def test_cancelling_before_the_spend_costs_nothing(command, small, tmp_path):
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "request.json").write_text("{}")
    (folder / "cancel").touch()
    code, _, stderr = command(*arguments(small, tmp_path / "o", "--job", folder))
    assert code == 130
    assert "before anything was spent" in stderr
    assert all(e.kind != "spend" for e in Ledger().entries())


def test_a_failure_after_the_spend_is_exit_code_5_without_a_private_word(command, small, tmp_path, monkeypatch):
    from synth.generators import GENERATORS

    def broken(*_, **__):
        raise RuntimeError("SENTINEL_12 stands in a cell")

    monkeypatch.setattr(type(GENERATORS["independent"]), "fit", broken)
    code, said, stderr = command(*arguments(small, tmp_path / "o"))
    assert code == 5
    assert said == ""
    assert "internal error RuntimeError" in stderr
    assert "SENTINEL" not in stderr
    assert "epsilon 1 is spent" in stderr
    assert Ledger().summary()[0].epsilon == 1.0


def test_verify_finds_an_altered_line(command, small, tmp_path, own_state):
    command(*arguments(small, tmp_path / "o"))
    assert command("ledger", "verify")[0] == 0
    with sqlite3.connect(own_state / "ledger.sqlite") as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute("UPDATE ledger SET epsilon = 0.1 WHERE kind = 'spend'")
    code, _, stderr = command("ledger", "verify")
    assert code == 2
    assert "does not verify" in stderr


def test_the_ledger_line_names_what_an_auditor_asks_for(command, small, tmp_path):
    command(*arguments(small, tmp_path / "o", "--approved-by", "board"))
    line = next(e for e in Ledger().entries() if e.kind == "spend")
    assert line.dataset == "small"
    assert (line.epsilon, line.delta, line.relation, line.unit) == (1.0, 1e-5, "add_remove", "row")
    assert (line.engine, line.approved_by) == ("arrow", "board")
    assert "aes" in line.noise_source
    assert line.question["method"] == "independent"


def test_from_release_and_sample_cost_nothing(command, small, tmp_path):
    command(*arguments(small, tmp_path / "o"))
    spent = Ledger().summary()[0]
    release = tmp_path / "o" / "release.json"
    said, _ = command.done(f"run --from-release {release} --out {tmp_path}/again --num-rows 40 --json")
    assert json.loads(said)["epsilon_spent"] == 0.0
    card = json.loads((tmp_path / "again" / "card.json").read_text())
    assert (card["epsilon"], card["refitted"]) == (1.0, True)
    said, _ = command.done(
        f"sample {tmp_path}/o/model.json --num-rows 30 --where sex=f --where age=20..40 --out "
        f"{tmp_path}/more.parquet --json"
    )
    frame = synth.sample(tmp_path / "o", num_rows=10, where={"ill": "yes"})[0]
    assert set(frame["ill"]) == {"yes"}
    assert 0 < json.loads(said)["probability"] < 1
    assert Ledger().summary()[0] == spent


def test_json_figures_agree_with_card_and_ledger(command, small, tmp_path):
    said, _ = command.done(*arguments(small, tmp_path / "o", "--json"))
    answer = json.loads(said)
    card = json.loads((tmp_path / "o" / "card.json").read_text())
    assert answer["epsilon_spent"] == card["epsilon"] == Ledger().summary()[0].epsilon == 1.0
    assert 0.98 < answer["epsilon_derived"] == card["epsilon_derived"] <= 1.0
    assert answer["seconds"] <= answer["seconds_total"]
    assert answer["peak_mib"] > 50
    assert all(os.path.exists(p) for p in answer["paths"].values())


def test_a_frame_needs_a_name_to_be_charged_under():
    with pytest.raises(synth.UsageError, match="dataset"):
        synth.run(small_frame(50), schema=synth.Schema.parse(SMALL), epsilon=1.0, delta=1e-5)
