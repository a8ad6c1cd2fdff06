"""Hundreds of requests at once against one ledger: never an overspend, never a lost spend."""

import json

import pytest

from tests.conftest import ROOT
from tests.made import python

pytestmark = pytest.mark.xdist_group("processes")


def raced(tmp_path, *more: str) -> dict:
    out = tmp_path / "race.json"
    done = python(ROOT / "benchmarks" / "race.py", "--json", out, *more)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())


def check(result: dict) -> None:
    assert result["granted"] == result["fit"]
    assert result["granted"] + result["refused"] == result["requests"]
    assert (result["overspent"], result["lost"], result["verified"]) == (0.0, 0, True)


def test_a_hundred_and_twenty_requests_at_once_fill_the_budget_and_not_more(tmp_path):
    check(raced(tmp_path, "--processes", "3", "--threads", "40"))


@pytest.mark.slow
def test_a_thousand_requests_at_once(tmp_path):
    check(raced(tmp_path, "--processes", "20", "--threads", "50"))
