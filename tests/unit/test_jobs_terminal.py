"""What a terminal shows of a job, and what memory is counted and given back."""

import os
import platform
import re
import signal
import subprocess
import sys

import pytest

from synth.evaluate import examination
from synth.jobs import Reporter, stage_in_words
from synth.jobs.reporter import BAR
from synth.pipeline import reporting


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
