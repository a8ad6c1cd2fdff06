"""Many requests at once for one budget: processes times threads, all released by one signal, one ledger.

    .venv/bin/python benchmarks/race.py --processes 20 --threads 50
    .venv/bin/python benchmarks/race.py --processes 4 --threads 250 --server      (on a PostgreSQL of its own)

Half of the requests fit the cap. Prints how many were granted and refused, how long the crowd took, and whether the
ledger holds exactly the spends that were reported.
"""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ledger import placed
from runner import start, tell

from synth.errors import BudgetError
from synth.privacy.ledger.ledger import Ledger, Spend

COST = 0.1


def request(ledger: Ledger) -> str:
    """One spend: its run, or ``refused``."""
    try:
        about = {"relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system"}
        return ledger.spend(Spend(dataset="census", epsilon=COST, delta=1e-7, question={}, **about)).run
    except BudgetError:
        return "refused"


def worker(path: str, threads: int) -> None:
    """A process: waits for the signal on stdin, then asks from all its threads at once."""
    ledger, said = Ledger(path), []
    gate = threading.Barrier(threads)

    def ask() -> None:
        gate.wait()
        said.append(request(ledger))

    crowd = [threading.Thread(target=ask) for _ in range(threads)]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    print(json.dumps(said))


def race(place: str | Path, *, processes: int, threads: int) -> dict[str, Any]:
    """One race for a ledger; its figures as JSON data."""
    ledger, requests = Ledger(place), processes * threads
    fit = requests // 2
    cap = round(fit * COST, 6)
    ledger.set_policy("census", max_epsilon=cap)
    command = [sys.executable, __file__, "--worker", str(place), "--threads", str(threads)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    crowd = [subprocess.Popen(command, **pipes) for _ in range(processes)]
    for one in crowd:
        one.stdout.readline()
    began = time.perf_counter()
    for one in crowd:
        one.stdin.write("go\n")
        one.stdin.flush()
    said = [run for one in crowd for run in json.loads(one.communicate()[0])]
    seconds = time.perf_counter() - began
    recorded = {e.run for e in ledger.entries() if e.kind == "spend"}
    total = ledger.summary("census")[0]
    granted = {run for run in said if run != "refused"}
    return {"requests": requests, "processes": processes, "threads": threads, "fit": fit} | {
        "granted": sum(run != "refused" for run in said),
        "refused": said.count("refused"),
        "lost": len(granted ^ recorded),
        "overspent": max(0.0, round(total.epsilon - cap, 12)),
        "verified": ledger.verify().ok,
        "seconds": round(seconds, 2),
        "a second": round(requests / seconds, 1),
    }


def main(given) -> None:
    if given.worker:
        worker(given.worker, given.threads)
        return
    with placed(given.server) as place:
        about = {"server": "PostgreSQL, fsync on, its files in memory"} if given.server else {}
        tell(given.json, about | race(place, processes=given.processes, threads=given.threads))


if __name__ == "__main__":
    start(main, processes=20, threads=50, worker="", server=False)
