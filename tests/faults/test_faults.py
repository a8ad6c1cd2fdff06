"""A fault at any system call of a spend, a first start, a run or a bundle loses no spend and leaves no half thing."""

import ctypes
import json
import shutil
import sys

import pytest

from tests.faults import injecting
from tests.made import python

pytestmark = [
    pytest.mark.xdist_group("processes"),
    pytest.mark.skipif(shutil.which("cc") is None or not sys.platform.startswith("linux"), reason="no C compiler here"),
]

# deed, every n-th system call, fewest calls that it must have made for the count to mean something
FEW = {"spend": (5, 15), "restore": (5, 20), "first": (41, 50), "job": (151, 80), "bundle": (71, 20)}


@pytest.mark.parametrize("deed", FEW)
def test_a_fault_at_some_system_calls_loses_nothing(deed, tmp_path):
    stride, least = FEW[deed]
    result = injecting.run(deed, stride=stride, folder=tmp_path)
    assert result["calls"] >= least
    assert result["by kind"].keys() == injecting.KINDS.keys()
    assert result["ends"].get("killed", 0) > 0


@pytest.mark.slow
@pytest.mark.parametrize("deed", FEW)
def test_a_fault_at_any_system_call_loses_nothing(deed, tmp_path):
    result = injecting.run(deed, folder=tmp_path)
    assert result["faults"] == result["calls"] * len(injecting.KINDS)


def test_the_judge_finds_a_spend_that_was_reported_and_lost(tmp_path):
    """The evil twin: a deed that reports a spend it never made."""
    from tests.faults import deeds

    deeds.with_two(tmp_path)
    with pytest.raises(AssertionError):
        deeds.judge_spend(tmp_path, "ok 0000", "none")


CLOCK = """
import ctypes, json, os, sys, time
from synth.jobs import Job, Reporter, Status, create
from synth.jobs.job import identity
from synth.privacy.ledger.ledger import Ledger
from tests.faults.deeds import book, charge, with_two
from pathlib import Path

place, shift = Path(sys.argv[1]), ctypes.CDLL(os.environ["FAULT_SHIM"]).fault_clock
with_two(place)
job = create({}, folder=place / "job")
report = Reporter(job, stages={"a": 1}, bar=False)
shift(ctypes.c_long(-7 * 86400))
report.stage("a")
line = book(place).spend(charge())
early = [e.time for e in book(place).entries()]
other = create({}, folder=place / "later")
print(json.dumps({"sorted": early == sorted(early), "number": line.number, "ok": book(place).verify().ok,
                  "left": book(place).summary()[0].remaining_epsilon, "state": job.status().state,
                  "seconds": job.status().seconds, "other": other.status().state}))
"""


def test_a_clock_that_goes_back_a_week_changes_no_sum_no_order_and_no_job(tmp_path):
    done = python("-c", CLOCK, tmp_path, env=injecting.struck_environment(injecting.shim(tmp_path)))
    assert done.returncode == 0, done.stderr
    parsed = json.loads(done.stdout)
    assert not parsed["sorted"], "the clock must have gone back for the test to mean something"
    assert (parsed["number"], parsed["ok"], parsed["left"]) == (4, True, 0.1)
    assert (parsed["state"], parsed["other"]) == ("running", "queued")
    assert 0 <= parsed["seconds"] < 60


def test_the_shim_strikes_where_it_is_told_to(tmp_path):
    code = (
        "import ctypes, os, sys; from pathlib import Path; lib = ctypes.CDLL(os.environ['FAULT_SHIM'])\n"
        f"lib.fault_arm(os.fsencode('{tmp_path}'), ctypes.c_long(2), 3)\n"
        "Path('/dev/null').write_text('x')\n"
        f"f = os.open('{tmp_path}/a', os.O_CREAT | os.O_WRONLY)\n"
        "try:\n os.write(f, b'hello')\nexcept OSError as e:\n print(e.errno)"
    )
    done = python("-c", code, env=injecting.struck_environment(injecting.shim(tmp_path)), check=True)
    assert done.stdout == "28\n"
    assert ctypes.sizeof(ctypes.c_long) == 8
