"""An executor of a cluster that is killed while it counts costs time and no count."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("unit", [[], ["persons"]], ids=["rows", "persons"])
def test_counts_of_a_cluster_that_lost_an_executor_are_those_of_one_that_did_not(unit):
    """Tables of one to four columns, in one pass over twelve partitions; and those of persons with bounded rows."""
    pytest.importorskip("ibis", reason="the extra `databases` is not installed")
    pytest.importorskip("pyspark", reason="the extra `spark` is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: apt-get install openjdk-17-jre-headless")
    retained, lost = (reported(how, *unit) for how in ("keep", "kill"))
    assert not retained["killed"]
    assert len(lost["killed"]) == 1, "no executor was killed while the stage ran"
    assert lost["killed"][0] in lost["of"]
    assert lost["counts"] == retained["counts"]
    assert sum(retained["counts"][0]) > 0


def reported(*how: str) -> dict:
    command = [sys.executable, str(ROOT / "tests" / "cluster.py"), *how]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=580, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])
