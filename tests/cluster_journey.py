"""`make cluster`: a whole run of `mixture` on a Spark cluster of processes, of which one dies, one limps, one returns.

    python -m tests.cluster_journey [--rows 120000] [--drawn 2000000] [--folder FOLDER]

A master and three workers of one core and little memory are started (standalone.py). `synth run` makes a release of a
Parquet table of 20 columns there; `synth sample` has the workers draw more rows into a folder with checksums. While the
run asks its questions the first worker is killed with all that it started, the second has a quarter of the time from
the beginning, the third is killed and started again. Then all that lies in the cluster's folder is read for cells of
the private table, and everything is stopped. The last line says what was done; the exit code is 1 where anything was
other than it should be.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests import standalone, whole_on_spark

WAIT = 400.0  # seconds for a command


def journey(folder: Path, *, rows: int, drawn: int, few: bool = False) -> dict[str, Any]:
    """What happened; ``few``: on a table of four columns."""
    whole_on_spark.prepared(folder, rows=rows, few=few)
    with standalone.Standalone(folder / "cluster") as cluster:
        cluster.slow(2)
        done = _run(cluster, folder)
        if drawn and not done["code"]:
            done["sample"] = _sample(cluster, folder, drawn)
        cluster.wait(2)  # one does not return
        done["alive"] = cluster.alive()
    time.sleep(0.5)
    done["left"] = standalone.holding(folder / "cluster", [whole_on_spark.PLANTED.encode()])
    done["looked"] = sum(1 for _ in standalone.files(folder / "cluster"))
    done["spends"] = _spends(folder / "ledger.sqlite")
    return done


def _run(cluster: standalone.Standalone, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "synth", "run", folder / "table", "--source", cluster.address]
    command += ["--schema", folder / "schema.json", "--epsilon", "1", "--delta", "1e-6", "--dataset", "people"]
    command += ["--out", folder / "out", "--ledger", folder / "ledger.sqlite", "--job", folder / "job"]
    command += ["--num-rows", "1000", "--json"]
    began, done = time.monotonic(), dict[str, Any]()
    with subprocess.Popen([str(c) for c in command], stderr=subprocess.PIPE, text=True, env=cluster.environment) as run:
        try:
            while run.poll() is None and time.monotonic() - began < WAIT:
                if "killed" not in done and _stage(folder / "job") == "measure":
                    done["killed"] = len(cluster.kill(1))
                    done["restarted"] = len(cluster.kill(3))
                    cluster.start(3)
                time.sleep(0.05)
        finally:
            run.kill()
        done["words"] = (run.stderr.read() if run.stderr else "")[-2000:]
    return done | {"code": run.returncode, "seconds": time.monotonic() - began}


def _sample(cluster: standalone.Standalone, folder: Path, drawn: int) -> dict[str, Any]:
    began = time.monotonic()
    command = [sys.executable, "-m", "synth", "sample", folder / "out", "--source", cluster.address]
    command += ["--num-rows", drawn, "--seed", 1, "--out", folder / "drawn"]
    run = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, timeout=WAIT, env=cluster.environment, check=False
    )
    seconds = time.monotonic() - began
    checked = subprocess.run(
        ["sha256sum", "--quiet", "-c", "_SHA256SUMS"], cwd=folder / "drawn", capture_output=True, check=False
    )
    parts = len(list((folder / "drawn").glob("*.parquet")))
    return {
        "code": run.returncode,
        "sums": checked.returncode,
        "parts": parts,
        "seconds": seconds,
        "words": run.stderr[-2000:],
    }


def _stage(job: Path) -> str:
    try:
        return str(json.loads((job / "status.json").read_text())["stage"])
    except (OSError, ValueError, KeyError):
        return ""


def _spends(path: Path) -> list[float]:
    from synth.privacy.ledger.ledger import Ledger

    with Ledger(path) as book:
        return [float(e.epsilon) for e in book.entries("people") if e.kind == "spend"]


def faults(done: dict[str, Any]) -> list[str]:
    """What was other than it should be."""
    sampled = done.get("sample", {"code": 0, "sums": 0})
    wrong = {
        f"the run ended with {done['code']}: {done['words']}": done["code"] != 0,
        "no worker was killed: the run was over before": "killed" not in done,
        f"the ledger holds {done['spends']}": done["spends"] != [1.0],
        f"drawing ended with {sampled['code']}: {sampled.get('words')}": sampled["code"] != 0,
        "checksums of the parts do not hold": sampled["sums"] != 0,
        f"private cells were left on disk: {done['left']}": bool(done["left"]),
        f"{done['alive']} workers were there at the end": done["alive"] != 2,
    }
    return [word for word, holds in wrong.items() if holds]


def main() -> int:
    """The journey, and a line about it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=120_000)
    parser.add_argument("--drawn", type=int, default=2_000_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        done = journey((given.folder or Path(name)) / str(os.getpid()), rows=given.rows, drawn=given.drawn)
    wrong = faults(done)
    for word in wrong:
        print(word, file=sys.stderr)
    sampled = done.get("sample")
    drew = f"; {given.drawn:,} rows drawn in {sampled['parts']} parts, {sampled['seconds']:.0f} s" if sampled else ""
    print(
        f"cluster: {'FAILED' if wrong else 'done'}; a run of mixture on {given.rows:,} rows of 20 columns by a master "
        f"and 3 workers of {standalone.MEMORY} MiB, {done['seconds']:.0f} s; while it asked, worker 1 was killed "
        f"({done.get('killed', 0)} processes) and worker 3 killed and started again, worker 2 had a quarter of the "
        f"time; spends in the ledger: {done['spends']}{drew}; cells of the table in {done['looked']} files left: "
        f"{len(done['left'])}; all stopped"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
