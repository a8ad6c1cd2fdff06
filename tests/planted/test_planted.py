"""The auditor flags each planted fault at 95 %, and the sound run that it replaces not at all."""

from pathlib import Path

import pytest

from tests.planted.suspects import findings, listed

ROOT = Path(__file__).resolve().parents[2]
SURE = 1 - 1e-7  # of sound runs: a false alarm once in 1e7
# Seen for certain, or by margins of eight deviations and more at these draws; the rest in `make test-slow`.
FAST = {
    "noise halved": 1200,
    "un-noised row count": 80,
    "bounds from data": 80,
    "categories from data": 80,
    "groups filled by row position": 600,
    "subsampling claimed but not done": 300,
    "detached noise": 1600,
    "release picked by the steward's score": 80,
}

# whose sound runs take long, or are the run of another
SLOW = (
    "detached noise",
    "subsampling claimed but not done",
    "noise halved",
    "un-noised row count",
    "categories from data",
    "release picked by the steward's score",
)


def test_those_that_take_no_time_are_listed():
    assert set(FAST) < set(listed())


@pytest.mark.parametrize("name", FAST)
def test_a_planted_fault_is_flagged(name):
    result = findings(name, faulty=True, confidence=0.95, draws=FAST[name])
    assert result.violated, result


@pytest.mark.parametrize("name", [n for n in FAST if n not in SLOW])
def test_the_sound_run_is_not(name):
    assert not findings(name, faulty=False, confidence=SURE, draws=FAST[name]).violated


@pytest.mark.slow
@pytest.mark.parametrize("name", listed())
def test_each_fault_is_flagged_and_its_sound_run_is_not(name):
    assert findings(name, faulty=True, confidence=0.95).violated
    assert not findings(name, faulty=False, confidence=SURE).violated
