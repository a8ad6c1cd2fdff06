"""Jobs as folders, with real worker processes; the reporter and what a terminal shows of it; the gauge of peak memory;
Ctrl-C in the middle of a commit strikes after it, not within it."""

import json
import os
import platform
import re
import signal
import subprocess
import sys
import textwrap
import time
from itertools import pairwise

import psutil
import pytest

from synth import jobs
from synth.errors import InputError, UsageError
from synth.evaluate import examination
from synth.jobs import Cancelled, Job, Reporter, Status, create, home, listing, stage_in_words, uninterrupted
from synth.jobs.job import identity
from synth.jobs.reporter import BAR, PAUSE
from synth.pipeline import reporting

WORKER = textwrap.dedent("""
    import json, sys, time
    from synth.jobs import Cancelled, Job, Reporter

    steps, job = int(sys.argv[1]), Job(sys.argv[sys.argv.index("--job") + 1])
    with Reporter(job, stages={"count": 1, "train": 4}, bar=True) as report:
        try:
            report.stage("count")
            report.stage("train")
            for step in range(steps):
                time.sleep(0.01)
                report.progress(step / steps)
            print(json.dumps({"rows": 7}), flush=True)
            report.finish("done", "7 rows", 0)
        except Cancelled:
            report.finish("cancelled", "stopped on request", 5)
""")
TO_THE_END, FOR_LONG = "5", "100000"


@pytest.fixture
def job(tmp_path):
    made = create({"epsilon": 1.0}, folder=tmp_path / "job")
    yield made
    if made.path.exists():
        (made.path / "cancel").touch()  # a failed test must not leave a worker behind


@pytest.fixture
def program(tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    start = f"import sys, runpy; sys.path.insert(0, {root!r}); sys.argv[:1] = []; runpy.run_path(sys.argv[0])"
    return [sys.executable, "-c", start, str(script)]


def until(condition, seconds=20):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.01)


def test_a_worker_runs_to_its_end_and_hands_back_its_result(job, program):
    job.start([TO_THE_END], program=program)
    status = job.wait(20)
    assert (status.state, status.fraction, status.exit_code, status.message) == ("done", 1.0, 0, "7 rows")
    assert status.stage == "train"
    assert status.seconds > 0.04
    assert status.seconds_left is None
    assert job.result() == {"rows": 7}
    assert (job.path / "log.txt").read_text() == "count\ntrain\n"


def test_a_worker_is_on_its_own(job, program):
    job.start([FOR_LONG], program=program)
    until(lambda: job.status().state == "running")
    pid = job.status().pid
    assert os.getsid(pid) == pid != os.getsid(0)
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    job.cancel()
    assert job.wait(20).state == "cancelled"


def test_cancel_is_heeded_and_told_with_its_exit_code(job, program):
    job.start([FOR_LONG], program=program)
    until(lambda: job.status().stage == "train")
    job.cancel()
    status = job.wait(20)
    assert (status.state, status.exit_code, status.message) == ("cancelled", 5, "stopped on request")
    assert status.fraction < 1


def test_a_killed_worker_reads_as_failed(job, program):
    job.start([FOR_LONG], program=program)
    until(lambda: job.status().state == "running")
    os.kill(job.status().pid, signal.SIGKILL)
    until(lambda: job.status().final)
    status = job.status()
    assert status.state == "failed"
    assert "without finishing" in status.message
    assert "ledger keeps what it spent" in status.message


@pytest.mark.parametrize("state", ["queued", "held"])
def test_a_job_whose_maker_was_killed_before_it_began_reads_as_failed(tmp_path, state):
    """Else it stands in line for ever, and the question that it answers with it; a held one waits."""
    made = f"""
from synth.jobs import Status, create
job = create({{}}, folder={str(tmp_path / "job")!r})
job.write(Status(state={state!r}))
"""
    subprocess.run([sys.executable, "-c", made], check=True)
    status = Job(tmp_path / "job").status()
    assert (status.state, "nothing was spent" in status.message) == (
        ("failed", True) if state == "queued" else (state, False)
    )


def test_a_worker_that_never_reported_reads_as_failed_and_its_words_are_kept(job):
    job.start([], program=[sys.executable, "-c", "import sys; sys.exit('no such option')"])
    assert job.wait(20).state == "failed"
    assert job.path.joinpath("log.txt").read_text() == "no such option\n"
    with pytest.raises(InputError, match="no result"):
        job.result()


def test_a_later_process_with_the_same_number_is_not_taken_for_the_worker(job):
    job.write(Status(state="running", pid=os.getpid(), pid_started=f"{identity()}0"))
    assert job.status().state == "failed"


def test_an_unreaped_worker_counts_as_gone(job):
    child = subprocess.Popen([sys.executable, "-c", ""])
    job.write(Status(state="running", pid=child.pid, pid_started=identity(child.pid)))
    until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
    assert job.status().state == "failed"
    child.wait()


def test_a_last_word_between_the_two_looks_is_heard(job):
    code = f"""if True:
        import sys
        from synth.jobs import Job, Reporter
        report = Reporter(Job({str(job.path)!r}), stages={{"train": 1}}, bar=False)
        print(flush=True)
        sys.stdin.readline()
        report.finish("done", "in time", 0)
    """
    worker = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    worker.stdout.readline()

    class EndsAfterTheFirstLook(Job):
        def _status(self):
            seen = super()._status()
            if worker.poll() is None:
                worker.communicate(b"\n")
            return seen

    assert EndsAfterTheFirstLook(job.path).status().message == "in time"


def test_cancelling_before_the_start_ends_the_job(job, program):
    job.cancel()
    assert job.status().state == "cancelled"
    with pytest.raises(UsageError, match="create a new one"):
        job.start([TO_THE_END], program=program)


def test_a_job_starts_once(job, program):
    job.start([TO_THE_END], program=program)
    with pytest.raises(UsageError, match="already started"):
        job.start([TO_THE_END], program=program)
    job.wait(20)


def test_wait_gives_up_in_time(job):
    began = time.monotonic()
    assert job.wait(0.2).state == "queued"
    assert time.monotonic() - began > 0.15


def test_a_reader_never_meets_half_a_status(job):
    code = f"""if True:
        from synth.jobs import Job, Status
        job = Job({str(job.path)!r})
        for number in range(3000):
            job.write(Status(state="held", message="x" * (number % 50) * 100))
    """
    writer = subprocess.Popen([sys.executable, "-c", code])
    reads = 0
    while writer.poll() is None:
        assert job.status().state in ("queued", "held")
        reads += 1
    assert writer.returncode == 0
    assert reads > 100


def test_jobs_are_listed_newest_first(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path / "home"))
    assert listing() == []
    made = []
    for number in range(3):
        made.append(create({"number": number}))
        time.sleep(0.02)
    (home() / "stray").mkdir()
    assert [job.request()["number"] for job in listing()] == [2, 1, 0]
    assert [job.path for job in listing()] == [job.path for job in reversed(made)]


def test_a_job_that_is_gone_when_it_is_looked_at_is_left_out_and_none_is_read_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_HOME", str(tmp_path))
    here, gone = jobs.create({"a": 1}), jobs.create({"a": 2})
    (gone.path / "status.json").unlink()
    assert [(job.path, status.state) for job, status in jobs.each(jobs.Job.status)] == [(here.path, "queued")]


def test_a_folder_holds_one_job_and_no_job_is_an_input_error(job, tmp_path):
    with pytest.raises(UsageError, match="holds a job already"):
        create({}, folder=job.path)
    with pytest.raises(InputError, match="no job here"):
        Job(tmp_path / "nothing").status()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="SYNTH_HOME"):
        create({}, folder=tmp_path / "file" / "job")


def test_a_request_must_be_json(tmp_path):
    with pytest.raises(UsageError, match=r"request\.json must be JSON"):
        create({"rows": object()}, folder=tmp_path / "job")


def test_progress_weighs_stages_and_never_falls(job):
    report = Reporter(job, stages={"count": 1, "train": 3}, bar=False)
    report.stage("count")
    report.progress(0.5)
    assert report.fraction == 0.125
    report.progress(0.1)
    assert report.fraction == 0.125
    report.stage("train")
    assert report.fraction == job.status().fraction == 0.25
    report.progress(7)
    assert report.fraction == 1.0
    with pytest.raises(KeyError):
        report.stage("tea")


class Clock:
    """A clock that stands still until it is told otherwise."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_progress_writes_five_times_a_second_at_most(job, monkeypatch):
    clock, writes = Clock(), []
    report, write = Reporter(job, stages={"train": 1}, bar=False, clock=clock), Job.write
    report.stage("train")
    monkeypatch.setattr(Job, "write", lambda self, status: (writes.append(clock.now), write(self, status)))
    for step in range(1, 1001):
        clock.now = 100 + step / 500  # two seconds
        report.progress(step / 1000)
    assert len(writes) in (9, 10)
    assert min(b - a for a, b in pairwise(writes)) >= PAUSE
    assert 0.9 < job.status().fraction <= 1.0


def test_time_left_follows_the_pace(job):
    clock = Clock()
    report = Reporter(job, stages={"train": 1}, bar=False, clock=clock)
    report.stage("train")
    clock.now += 0.6
    report.progress(0.25)
    status = job.status()
    assert (status.seconds, status.seconds_left) == (pytest.approx(0.6), pytest.approx(1.8))


def test_a_reporter_raises_when_asked_to_stop_and_not_before(job):
    report = Reporter(job, stages={"train": 1}, bar=False)
    report.stage("train")
    (job.path / "cancel").touch()
    with pytest.raises(Cancelled):
        report.progress(0.1)
    with pytest.raises(Cancelled):
        report.stage("train")
    report.finish("cancelled", "stopped", 5)
    assert Job(job.path).status().exit_code == 5


def test_a_reporter_outlives_its_folder(job, tmp_path):
    report = Reporter(job, stages={"train": 1}, bar=False)
    job.path.rename(tmp_path / "elsewhere")
    report.stage("train")
    report.finish("done", "", 0)


def test_the_request_and_status_are_plain_json_files(job):
    assert json.loads((job.path / "request.json").read_text()) == {"epsilon": 1.0}
    names = {"state", "stage", "fraction", "seconds_left", "seconds", "pid"}
    names |= {"pid_started", "message", "exit_code", "updated", "losses"}
    assert set(json.loads((job.path / "status.json").read_text())) == names | {"writer", "writer_started"}
    assert sorted(os.listdir(job.path)) == ["request.json", "run", "status.json"]


def test_without_a_terminal_a_stage_is_one_plain_line_and_without_a_bar_nothing(capsys):
    for bar, said in ((True, "count\ntrain\n"), (False, "")):
        with Reporter(None, stages={"count": 1, "train": 1}, bar=bar) as report:
            report.stage("count")
            report.stage("train")
            report.progress(0.5)
        assert capsys.readouterr() == ("", said)


def test_every_stage_of_a_run_and_of_a_report_is_told_in_words_that_a_terminal_has_room_for(capsys):
    stages = {**reporting.STAGES, **examination.STAGES, "shadow": 1.0}
    said = {name: stage_in_words(name) for name in stages}
    assert not [name for name, words in said.items() if " " not in words]
    assert max(map(len, said.values())) + len(" 100% 0:00:00 ") + BAR <= 80
    with Reporter(None, stages=stages, bar=True) as report:
        for name in stages:
            report.stage(name)
    assert capsys.readouterr().err.splitlines() == list(said.values())


def test_a_note_is_told_with_and_without_a_bar(capsys):
    for bar in (True, False):
        Reporter(None, stages={"count": 1}, bar=bar).note("warning: [bold] 5 columns")
    assert capsys.readouterr() == ("", "warning: [bold] 5 columns\n" * 2)


def test_on_a_terminal_ctrl_c_ends_the_bar_and_shows_the_cursor_again():
    import pty

    code = """if True:
        import signal, time
        from synth.jobs import Reporter
        signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
        try:
            with Reporter(None, stages={"train": 1}, bar=True) as report:
                report.stage("train")
                report.note("a [note] " + "z" * 100 + " of one line")
                for _ in range(6000):
                    report.progress(0.5)
                    time.sleep(0.01)
        except KeyboardInterrupt:
            raise SystemExit(7)
    """
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    worker = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, stdout=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while b"50%" not in shown:
        shown += os.read(ours, 10_000)
    worker.send_signal(signal.SIGINT)
    while True:
        try:
            shown += os.read(ours, 10_000)
        except OSError:
            break
    assert worker.wait(20) == 7
    assert b"train" in shown
    assert b"\x1b[?25l" in shown
    assert re.search(rb"\x1b\[\?25h", shown[shown.rindex(b"\x1b[?25l") :]), "the cursor stays hidden"
    assert b"Traceback" not in shown
    assert b"a [note] " + b"z" * 100 + b" of one line" in shown


PEAK = """if True:
    import subprocess, sys, time
    from synth.jobs import PeakMemory
    with PeakMemory(interval={interval}) as quiet:
        pass
    with PeakMemory(interval={interval}) as peak:
        {work}
    with PeakMemory(interval={interval}) as after:
        pass
    print(quiet.mib, peak.mib, after.mib)
"""
CHILD = "b = b'x' * (200 * 2**20); import time; time.sleep(0.3)"


@pytest.mark.parametrize(
    ("interval", "work"),
    [
        (0.05, "block = bytearray(b'x') * (200 * 2**20); time.sleep(0.2); del block"),
        (60, "block = bytearray(b'x') * (200 * 2**20); del block"),  # too short for a sample
        (0.05, f"subprocess.run([sys.executable, '-c', {CHILD!r}])"),
    ],
)
def test_peak_memory_counts_what_the_block_took_and_no_more(interval, work):
    code = PEAK.format(interval=interval, work=work)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    quiet, peak, after = map(float, done.stdout.split())
    assert 195 < peak - quiet < 230
    assert after - quiet < 15, "an earlier peak must not count again"


FREED = """
import numpy as np, psutil
from synth.jobs import give_back
held = [np.ones(60_000, dtype=np.uint8) for _ in range(4_000)]  # too small for pages of their own: from the heap
last = np.ones(60_000, dtype=np.uint8)  # the heap's end stays in use, so that freeing alone gives nothing back
del held
before = psutil.Process().memory_info().rss
give_back()
print((before - psutil.Process().memory_info().rss) / 2**20, last.sum())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library gives back as it likes")
def test_what_was_freed_is_given_back_to_the_system():
    reported = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True).stdout
    assert float(reported.split()[0]) > 150, "of 229 MiB freed"


def test_an_interrupt_waits_for_the_block():
    done = []

    def commit():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("committed")

    with pytest.raises(KeyboardInterrupt):
        commit()
    assert done == ["committed"]


def test_without_an_interrupt_nothing_is_raised():
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        pass
    assert signal.getsignal(signal.SIGINT) is before
