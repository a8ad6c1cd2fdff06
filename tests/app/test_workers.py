"""Work beside the server: each task in a process of its own, with a deadline, in the home that is told."""

import os
import subprocess
import sys
import time

import pytest

import synth
from app.session import tasks, workers
from tests.app.elements import SCHEMA
from tests.conftest import ROOT

pytestmark = pytest.mark.xdist_group("app")


def test_a_task_answers_from_another_process_which_is_gone_afterwards():
    number = workers.ask(os.getpid, seconds=60)
    assert number != os.getpid()
    with pytest.raises(OSError, match="No such process"):
        os.kill(number, 0)


def test_a_task_that_takes_too_long_is_ended_and_said_to_be_late():
    began = time.monotonic()
    with pytest.raises(workers.TooLongError):
        workers.ask(time.sleep, 60, seconds=0.3)
    with pytest.raises(synth.InputError, match="later"):
        workers.ask(time.sleep, 60, seconds=0.3, late="try it later")
    assert time.monotonic() - began < 50
    assert workers.begun("somebody", time.sleep, 60, seconds=0.3).result(timeout=50) is None


def test_errors_arrive_as_they_were_raised_and_foreign_ones_by_their_kind_alone():
    with pytest.raises(synth.InputError, match="no such file"):
        workers.ask(tasks.draft, "/nowhere/table.csv", None, {}, {}, seconds=60)
    with pytest.raises(RuntimeError, match=r"^ZeroDivisionError$"):
        workers.ask(divmod, 1, 0, seconds=60)
    with pytest.raises(synth.InputError, match="more memory"):
        workers.ask(os._exit, 1, seconds=60)


def test_a_task_looks_into_the_ledger_that_it_is_asked_in(people, tmp_path, monkeypatch):
    """What the process that is copied was started with does not matter; told nothing, the home's own is meant."""
    (tmp_path / "t.csv").write_bytes(people)
    schema, results = synth.Schema.parse(SCHEMA), []
    asked = (tasks.charged_before, str(tmp_path / "t.csv"), schema.to_json(), "")
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path / "home"))
    for name in ("one", "two", "one"):
        monkeypatch.setenv("SYNTH_LEDGER", str(tmp_path / f"{name}.sqlite"))
        if not results:
            synth.run(tmp_path / "t.csv", schema=schema, epsilon=1.0, delta=1e-5, method="independent", num_rows=1)
        results.append(workers.ask(*asked, seconds=60.0, dataset="copy"))
    monkeypatch.delenv("SYNTH_LEDGER")
    results.append(workers.ask(*asked, seconds=60.0, dataset="copy"))
    assert results == [["club"], [], ["club"], []]


UNPACKED = """
import sys
from app.session import frame, tasks, workers
if __name__ == "__main__":
    asked = dict(rows=20_000, delta=1e-5, method="independent", relation="add_remove", options={})
    text = frame.SAMPLE_SCHEMA.read_text()
    (found,) = workers.ask(tasks.forecasts, text, [1.0], seconds=120, within=1, **asked)
    print(found.epsilon, *(name in sys.modules for name in ("torch", "synth.generators")))
"""


def test_a_forecast_does_not_load_what_made_it():
    done = subprocess.run([sys.executable, "-c", UNPACKED], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.0", "False", "False"], "the server would hold torch, 180 MiB, for nothing"


def test_what_is_copied_has_no_threads():
    """A copy would find their locks closed for ever."""
    assert workers.ask(_threads_of_the_parent, seconds=60) == 1


def _threads_of_the_parent() -> int:
    return len(os.listdir(f"/proc/{os.getppid()}/task"))


def test_what_failed_is_not_tried_anew_by_the_page_that_waited_for_it(monkeypatch):
    """Such a page draws itself again at the end: with an epsilon of 0 it did so for ever, each time with a new try."""
    tries = []

    def fails(*_, **__):
        tries.append(1)
        raise synth.UsageError("epsilon must be above 0")

    monkeypatch.setattr(workers, "ask", fails)
    first = workers.begun("somebody", tasks.forecasts, "of a test", seconds=1.0)
    assert workers.over([first], patience=10.0)
    assert workers.begun("somebody", tasks.forecasts, "of a test", seconds=1.0) is first
    monkeypatch.setattr(workers, "RETRIED", -1.0)
    second = workers.begun("somebody", tasks.forecasts, "of a test", seconds=1.0)
    assert second is not first
    assert workers.over([second], patience=10.0)
    assert len(tries) == 2
