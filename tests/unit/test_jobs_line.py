"""One run at a time: the line, who leaves it, and what a killed process leaves behind."""

import fcntl
import os
import signal
import time
from pathlib import Path

import pytest

import synth
from synth import jobs

DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path))
    jobs.home().mkdir(parents=True)
    return jobs.home()


@pytest.fixture
def taken(home):
    """The lock, held by somebody else until it is closed."""
    handle = os.open(home / ".turn", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    yield handle
    os.close(handle)


def queued(**asked) -> jobs.Job:
    """A job in line that ends soon after its turn has come: its table is not there."""
    job = jobs.create(
        synth.app_api.RunRequest(**{"table": "absent.csv", "epsilon": 1, "delta": 1e-5, **asked}).stored()
    )
    (job.path / jobs.DESCRIPTION).write_text('{"columns": {"a": {"type": "integer", "min": 0, "max": 9}}}')
    job.start(jobs.AS_ASKED, program=jobs.QUEUED)
    return job


def waited(job, *states: str) -> jobs.Status:
    limit = time.monotonic() + 30
    while (status := job.status()).state not in states:
        assert time.monotonic() < limit, status
        time.sleep(0.05)
    return status


def test_runs_wait_for_the_one_before_and_then_take_their_turn(taken):
    first, second = queued(), queued()
    assert (jobs.ahead(first), jobs.ahead(second)) == (0, 1)
    time.sleep(1.5)
    assert {first.status().state, second.status().state} == {"queued"}
    fcntl.flock(taken, fcntl.LOCK_UN)
    assert waited(first, "done", "failed").exit_code == 2
    assert waited(second, "done", "failed").exit_code == 2
    assert jobs.ahead(second) == 0
    assert first.status().updated < second.status().updated


def test_leaving_the_line_spends_nothing(taken):  # noqa: ARG001
    job = queued()
    job.cancel()
    status = waited(job, "cancelled")
    assert "nothing was spent" in status.message
    assert not (job.path / "result.json").read_bytes()


def test_a_process_killed_while_it_waits_says_that_nothing_was_spent(taken):  # noqa: ARG001
    job = queued()
    os.kill(job.status().pid, signal.SIGKILL)
    status = waited(job, "failed")
    assert "nothing was spent" in status.message


def test_the_lock_of_a_killed_worker_is_free_again(home):  # noqa: ARG001
    schema = DATA / "town_survey.schema.json"
    first = queued(table=str(DATA / "town_survey.csv.gz"), schema=str(schema))  # of seconds, stopped in its first
    waited(first, "running")
    os.kill(first.status().pid, signal.SIGSTOP)
    second = queued()
    time.sleep(0.7)
    assert second.status().state == "queued"
    os.kill(first.status().pid, signal.SIGKILL)
    assert waited(second, "done", "failed").exit_code == 2
    assert first.status().state == "failed"


def test_a_failure_is_told_in_its_words(home):  # noqa: ARG001
    job = queued()
    status = waited(job, "failed")
    assert status.exit_code == 2
    assert "absent.csv" in job.why()
    assert status.message == jobs.UNSAID
    assert "Traceback" not in (job.path / "log.txt").read_text()


def test_losses_are_kept_and_thinned(tmp_path):
    job = jobs.create({}, folder=tmp_path / "job")
    with jobs.Reporter(job, stages={"fit": 1}, bar=False) as report:
        report.stage("fit")
        for i in range(1000):
            report.progress(i / 1000, loss=1.0 / (i + 1))
        report.finish("done", "done", 0)
    losses = job.status().losses
    assert 50 < len(losses) <= 200
    assert losses[0][1] == 1.0
    assert losses[-1][1] < 0.01
