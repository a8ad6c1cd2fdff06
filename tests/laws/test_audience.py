"""Whatever a check of private rows finds: whoever may not open the table is told one sentence, the same for all."""

import json

import pytest

import synth
from app.run import runs
from app.session import access
from app.table import stored
from synth.app_api import jobs
from synth.errors import InputError
from synth.jobs.roles import Visitor
from synth.pipeline.charge import ChargedRun
from synth.privacy.ledger.ledger import Ledger
from tests.conftest import SMALL, small_frame

ANN, BOB, DORA, EVE = (f"{n}@example.org" for n in ("ann", "bob", "dora", "eve"))
ROLES = f"""[roles]
steward = ["{ANN}", "{EVE}"]
reviewer = ["{BOB}"]
asker = ["{DORA}"]
"""
TASKS = {
    "run": {"method": "independent", "num_rows": 5},
    "learn": {"task": "learn", "learn_share": 1.0},
    "answer": {"task": "verified", "questions": {"kind": "count"}},
    "statistics": {"task": "statistics", "ask": ["mean:age"]},
}


def ragged(table, _):
    table.write_text(table.read_text() + "1,2,3,4,5,6,7,8,9\n")


def empty(table, _):
    table.write_text(table.read_text().splitlines()[0] + "\n")


def known(table, command):
    schema = table.with_name("s.json")
    schema.write_text(json.dumps(SMALL))
    said = ("--schema", schema, "--epsilon", 1, "--method", "independent", "--num-rows", 5, "--dataset", "before")
    assert command("run", table, *said, "--job", job("before", table, ANN), "--out", table.with_name("out"))[0] == 0


def capped(_, __):
    Ledger().set_policy("club", max_epsilon=0.2513)


REFUSALS = {  # what is done to the table, and words of the reason that nobody else may read
    "a ragged row": (ragged, "fields"),
    "no row": (empty, "row"),
    "the same rows": (known, "'before'"),
    "a cap": (capped, "0.2513"),
}


def job(name, table, owner, **asked):
    made = jobs.create({"table": str(table), "owner": owner, **asked}, folder=jobs.home() / name)
    facts = SMALL
    if asked.get("task") == "learn":
        facts = {"columns": {n: {"type": f["type"]} for n, f in SMALL["columns"].items()}}
    (made.path / jobs.DESCRIPTION).write_text(json.dumps(facts))
    return made.path


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table that ann sent to the server of a shared installation."""
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path / "home"))
    (tmp_path / "roles.toml").write_text(ROLES)
    monkeypatch.setenv("SYNTH_ROLES", str(tmp_path / "roles.toml"))
    made = stored.new_place(ANN) / "people.csv"
    small_frame(300).to_csv(made, index=False)
    return made


def told(path, monkeypatch):
    """What each visitor's pages say of it."""
    said = {}
    for person in (ANN, EVE, BOB, DORA):
        monkeypatch.setattr(access, "visitor", lambda person=person: access.rules().visitor(person))
        said[person] = runs.why(jobs.Job(path))
    return said


def released(table):
    """A release about which a question is asked, of other rows."""
    made = table.with_name("released")
    if not made.exists():
        said = {"epsilon": 1.0, "delta": 1e-5, "method": "independent", "num_rows": 5, "dataset": "released"}
        rows = small_frame(900).tail(300)
        synth.run(rows, schema=synth.Schema.parse(SMALL), out=made, separate=True, **said)
    return made


def carried_out(command, table, monkeypatch, task, **more):
    """The job as a worker carries it out: exit code, what is left in status and log, and what its owner may read."""
    asked = {"dataset": "club", "epsilon": 1.0, "delta": 1e-5, "relation": "add_remove", **TASKS[task], **more}
    if task == "answer":
        asked["release"] = str(released(table))
    path = job(task, table, ANN, **asked)
    with monkeypatch.context() as worker:
        worker.setenv(jobs.FOLDER, str(path))
        code, _, log = command("run", "--json", "--job", path)
    return path, code, log


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_is_told_to_whoever_may_open_the_table(command, table, monkeypatch, task, refusal):
    strike, words = REFUSALS[refusal]
    strike(table, command)
    path, code, log = carried_out(command, table, monkeypatch, task)
    status = (path / "status.json").read_text()
    assert code == (4 if refusal == "a cap" else 2), (path / "why.json").read_text()
    assert json.loads(status)["message"] == jobs.UNSAID
    assert log.splitlines()[-1] == f"synth: {jobs.UNSAID}"
    assert words in (path / "why.json").read_text()
    for text in (status, log):
        assert words not in text
        assert str(table.parent) not in text
    said = told(path, monkeypatch)
    assert words in said[ANN]
    assert str(table.parent) not in said[ANN]
    assert len({said[p] for p in (EVE, BOB, DORA)}) == 1
    assert said[BOB] == "It did not succeed. Whoever may open its table is told why"


def test_that_a_prior_holds_the_rows_is_told_to_whoever_may_open_the_table(command, table, monkeypatch):
    prior = table.with_name("prior.csv")
    prior.write_text(table.read_text())
    said = {"method": "mixture", "prior": [str(prior)], "prior_reason": "a statistics office published it"}
    path, code, log = carried_out(command, table, monkeypatch, "run", **said)
    assert code == 2
    for text in ((path / "status.json").read_text(), log):
        assert "holds the private table" not in text
        assert str(table.parent) not in text
    told_to = told(path, monkeypatch)
    assert "holds the private table's rows" in told_to[ANN]
    assert {told_to[p] for p in (EVE, BOB, DORA)} == {"It did not succeed. Whoever may open its table is told why"}


@pytest.mark.parametrize("task", TASKS)
def test_what_goes_wrong_after_the_spend_is_told_to_nobody_else_either(command, table, monkeypatch, task):
    released(table)

    def stumbles(*_):
        raise InputError(f"{table}: row 203 has 3 fields; write it again")

    monkeypatch.setattr(ChargedRun, "_rows", stumbles)
    monkeypatch.setattr(ChargedRun, "_rows_to_learn", stumbles)
    path, code, log = carried_out(command, table, monkeypatch, task)
    assert code == 5
    assert "row 203" in jobs.Job(path).why()
    for text in (
        (path / "status.json").read_text(),
        log,
        *(said for p, said in told(path, monkeypatch).items() if p != ANN),
    ):
        assert "203" not in text
        assert str(table.parent) not in text


def test_a_steward_who_may_not_open_the_table_any_more_is_told_no_more_than_others(command, table, monkeypatch):
    ragged(table, command)
    path, *_ = carried_out(command, table, monkeypatch, "run")
    (table.parent / "maker.json").write_text(json.dumps({"owner": EVE}))
    assert "fields" not in told(path, monkeypatch)[ANN]


def test_the_only_user_reads_all(command, table, monkeypatch):
    monkeypatch.delenv("SYNTH_ROLES")
    ragged(table, command)
    path, *_ = carried_out(command, table, monkeypatch, "run")
    monkeypatch.setattr(access, "visitor", Visitor)
    assert "fields" in runs.why(jobs.Job(path))
