"""Use and abuse for half an hour: runs, queued runs, cancels, kills, restarts, damaged files, visits, one ledger.

    python -m tests.soak [--minutes 30] [--seed 0]

At the end: no spend lost, none unpaid, no overspend, no traceback, the ledger verifies, and the application's memory
is flat. Prints one JSON object; exit code 1 where something of this does not hold.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from synth.app_api import jobs
from synth.errors import SynthError
from synth.privacy.ledger.ledger import Ledger
from tests.conftest import ROOT
from tests.standalone import free_port

TABLE, SCHEMA = ROOT / "data" / "town_survey.csv.gz", ROOT / "data" / "town_survey.schema.json"
SYNTH = (sys.executable, "-m", "synth")
CAP, COST, AT_ONCE = 5.0, 0.01, 2
TOKEN = "token-of-the-soak"
MIB = 2**20


class Soak:
    """One soak in a folder of its own."""

    def __init__(self, folder: Path, *, seed: int) -> None:
        self.folder, self.rng = folder, random.Random(seed)
        self.ledger = Ledger(folder / "ledger.sqlite")
        self.ledger.set_policy("soak", max_epsilon=CAP)
        os.environ |= {
            "SYNTH_HOME": str(folder / "home"),
            "SYNTH_LEDGER": str(self.ledger.path),
            "OMP_NUM_THREADS": "1",
        }
        self.done: Counter[str] = Counter()
        self.faults: list[str] = []
        self.running: list[tuple[jobs.Job, subprocess.Popen[bytes] | None, Path]] = []
        self.releases: list[Path] = []
        self.memory: list[tuple[float, float]] = []
        self.started = 0
        self.app = self.start_app()

    def start_app(self) -> subprocess.Popen[bytes]:
        """A server on a free port, healthy."""
        self.port = free_port()
        log = open(self.folder / "app.log", "ab")  # noqa: SIM115 - the server's for its life
        command = [*SYNTH, "app", "--port", str(self.port), "--headless"]
        env = {**os.environ, "SYNTH_TOKEN": TOKEN}
        app = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=env)
        self.born = time.monotonic()
        for _ in range(240):
            with contextlib.suppress(OSError):
                if self.get("/_stcore/health") == b"ok":
                    return app
            time.sleep(0.5)
        raise RuntimeError("the application did not answer")

    def get(self, path: str) -> bytes:
        address, cookie = f"http://127.0.0.1:{self.port}{path}", {"Cookie": f"facsimile-{self.port}={TOKEN}"}
        with urllib.request.urlopen(urllib.request.Request(address, headers=cookie), timeout=20) as answer:
            return answer.read()

    # -- what may happen

    def run(self) -> None:
        """A run, straight or through the queue that the application uses."""
        if len(self.running) >= AT_ONCE:
            return
        self.started += 1
        out = self.folder / "out" / str(self.started)
        job = jobs.create({"dataset": "soak"}, folder=self.folder / "home" / "jobs" / f"{self.started:06d}")
        arguments = ["run", str(TABLE), "--schema", str(SCHEMA), "--method", "independent", "--epsilon", str(COST)]
        arguments += ["--dataset", "soak", "--out", str(out), "--num-rows", "200"]
        if self.rng.random() < 0.5:
            job.start(arguments, program=jobs.QUEUED)
            self.running.append((job, None, out))
            self.done["queued runs"] += 1
            return
        with open(job.path / "log.txt", "wb") as log:
            command = [*SYNTH, *arguments, "--job", str(job.path)]
            self.running.append((job, subprocess.Popen(command, stdout=log, stderr=log), out))
        self.done["runs"] += 1

    def cancel(self) -> None:
        if self.running:
            self.rng.choice(self.running)[0].cancel()
            self.done["cancels"] += 1

    def kill(self) -> None:
        """SIGKILL to a worker, wherever it is."""
        job, process, _ = self.rng.choice(self.running or [(None, None, None)])
        pid = process.pid if process else job and job.status().pid
        with contextlib.suppress(OSError):
            if pid:
                os.kill(pid, signal.SIGKILL)
                self.done["kills"] += 1

    def restart(self) -> None:
        """The application is killed and started again; nothing is cleaned up between."""
        os.killpg(self.app.pid, signal.SIGKILL)
        self.app.wait()
        self.app = self.start_app()
        self.done["restarts of the application"] += 1

    def visit(self) -> None:
        """A browser's session: the page's script runs to its end."""
        asyncio.run(asyncio.wait_for(self._visit(), 60))
        self.done["visits"] += 1

    async def _visit(self) -> None:
        import websockets
        from streamlit.proto.BackMsg_pb2 import BackMsg
        from streamlit.proto.ClientState_pb2 import ClientState
        from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

        place = f"127.0.0.1:{self.port}"
        async with websockets.connect(f"ws://{place}/_stcore/stream", origin=f"http://{place}", max_size=None) as line:  # type: ignore[arg-type]
            await line.send(BackMsg(rerun_script=ClientState()).SerializeToString())
            elements = 0
            while True:
                reported = ForwardMsg()
                reported.ParseFromString(await line.recv())  # type: ignore[arg-type]
                if reported.WhichOneof("type") == "script_finished":
                    break
                if reported.WhichOneof("type") == "delta":
                    elements += 1
                    if reported.delta.new_element.WhichOneof("type") == "exception":
                        self.faults.append("an exception on a page")
        if elements < 5:
            self.faults.append(f"a visit that showed {elements} elements")

    def refused(self) -> None:
        """What must be refused: too much budget, or a damaged file."""
        code, table, epsilon = 4, TABLE, "9"
        if self.rng.random() < 0.5:
            code, table, epsilon = 3, self.folder / "cut.csv.gz", "0.01"
            table.write_bytes(TABLE.read_bytes()[: self.rng.randrange(1, 20_000)])
        where = ("--epsilon", epsilon, "--dataset", "soak", "--out", self.folder / "no")
        self.command(code, "run", table, "--schema", SCHEMA, *where)

    def reuse(self) -> None:
        """What costs nothing: rows from a model, a bundle."""
        if self.releases:
            place = self.rng.choice(self.releases)
            self.command(0, "sample", place, "--num-rows", "50", "--out", self.folder / "more.csv")
            self.command(0, "bundle", place, "--out", self.folder / "r.zip")

    def verify(self) -> None:
        result = self.ledger.verify()
        if not result.ok:
            self.faults.append(f"the ledger does not verify: {result.problem}")
        self.done["verifications"] += 1

    def command(self, code: int, *arguments: object) -> None:
        """A command that must end with this exit code, in one line."""
        done = subprocess.run([*SYNTH, *map(str, arguments)], capture_output=True, text=True, check=False)
        lines = [line for line in done.stderr.splitlines() if line.startswith("synth: ")]
        if done.returncode != code or "Traceback" in done.stderr or len(lines) != (code != 0):
            self.faults.append(f"{arguments[0]}: exit code {done.returncode}, {done.stderr[-300:]!r}")
        self.done[f"commands with exit code {code}"] += 1

    # -- what is kept an eye on

    def gather(self) -> None:
        """Takes note of runs that have ended."""
        for one in list(self.running):
            job, process, out = one
            if process is not None and process.poll() is None:
                continue
            status = job.status()
            if not status.final and process is None:
                continue
            self.running.remove(one)
            self.done[f"ended {status.state}" if status.final else "killed before a word"] += 1
            if "Traceback" in (job.path / "log.txt").read_text(errors="replace"):
                self.faults.append(f"a traceback in {job.path.name}")
            if status.state == "done":
                self.releases.append(out)
                for old in self.releases[:-5]:
                    shutil.rmtree(old, ignore_errors=True)
                self.releases = self.releases[-5:]
                if not any((e.question or {}) and e.kind == "spend" for e in self.ledger.entries()[-40:]):
                    self.faults.append(f"{job.path.name} ended well and no spend is recorded")

    def look(self) -> None:
        """The application's memory."""
        with contextlib.suppress(psutil.Error):
            self.memory.append((time.monotonic() - self.born, psutil.Process(self.app.pid).memory_info().rss / MIB))

    def go(self, seconds: float) -> dict[str, Any]:
        deeds = [self.run] * 6 + [self.visit] * 6 + [self.cancel, self.kill, self.refused, self.reuse, self.verify]
        began = time.monotonic()
        restarts = began + seconds / 3
        while time.monotonic() < began + seconds:
            if time.monotonic() > restarts and time.monotonic() < began + 0.5 * seconds:
                self.restart()
                restarts = began + seconds  # once, so that what follows shows whether memory grows
            self.rng.choice(deeds)()
            self.gather()
            self.look()
            time.sleep(self.rng.uniform(0, 0.5))
        return self.end(time.monotonic() - began)

    def end(self, seconds: float) -> dict[str, Any]:
        for job, process, _ in self.running:
            job.wait(timeout=300) if process is None else process.wait()
        self.gather()
        self.verify()
        os.killpg(self.app.pid, signal.SIGTERM)
        log = (self.folder / "app.log").read_text(errors="replace")
        spent = self.ledger.summary("soak")[0]
        lines = self.ledger.entries("soak")
        paid = {e.run for e in lines if e.kind == "spend"}
        well = {e.run for e in lines if e.kind == "outcome" and e.question["state"] == "done"}
        about = {"minutes": round(seconds / 60, 1), "did": dict(sorted(self.done.items())), "faults": self.faults}
        about |= {"tracebacks of the application": log.count("Traceback"), "spends": spent.runs}
        return about | {
            "epsilon": spent.epsilon,
            "overspent": max(0.0, spent.epsilon - CAP),
            "runs done": self.done["ended done"],
            "lost": max(0, self.done["ended done"] - len(well & paid)),
            "unpaid": len(well - paid),
            "verified": self.ledger.verify().ok,
            "memory of the application, MiB": self._flat(),
        }

    def _flat(self) -> dict[str, float]:
        """Median memory early and late in the life of the server that was there at the end."""
        life = []
        for age, mib in reversed(self.memory):
            if life and age > life[-1][0]:
                break
            life.append((age, mib))
        life.reverse()
        settled = [mib for _, mib in life[len(life) // 5 :]] or [0.0]
        third = max(len(settled) // 3, 1)
        early, late = (round(statistics.median(part), 1) for part in (settled[:third], settled[-third:]))
        return {"early": early, "late": late, "most": round(max(settled), 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        soak = Soak(Path(name), seed=given.seed)
        try:
            result = soak.go(given.minutes * 60)
        finally:
            with contextlib.suppress(OSError, SynthError):
                os.killpg(soak.app.pid, signal.SIGKILL)
    print(json.dumps(result, indent=1))
    memory = result["memory of the application, MiB"]
    wrong = [result[k] for k in ("faults", "overspent", "lost", "unpaid", "tracebacks of the application")]
    return int(any(wrong) or not result["verified"] or memory["late"] >= 1.15 * memory["early"] + 20)


if __name__ == "__main__":
    sys.exit(main())
