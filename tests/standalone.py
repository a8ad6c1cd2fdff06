"""A Spark cluster on this machine: a master and workers, processes of their own that write into one folder alone.

Spark's own standalone mode, from the jars that pyspark brings. Each worker has one core and little memory. Workers can
be killed with all that they started, as when a machine is lost, slowed, and started again.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

ROOT = Path(__file__).resolve().parent.parent
MEMORY = 640  # MiB of each worker's one executor
START = 180.0  # seconds in which master and workers must be there
QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # for Java that lives a minute


def check() -> None:
    """Skips the test where no cluster can be started."""
    pytest.importorskip("ibis", reason="the extra `databases` is not installed")
    pytest.importorskip("pyspark", reason="the extra `spark` is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: apt-get install openjdk-17-jre-headless")


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Standalone:
    """A master and its workers; a context manager. ``settings``: of Spark, for whoever works on the cluster."""

    def __init__(self, folder: Path, *, workers: int = 3, settings: Mapping[str, str] | None = None) -> None:
        self.folder, self._count = folder, workers
        self.port, self._page = free_port(), free_port()
        self.settings = {
            "spark.executor.memory": f"{MEMORY}m",
            "spark.executor.cores": "1",
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.extraJavaOptions": QUICK,
            "spark.driver.extraJavaOptions": QUICK,
            "spark.sql.shuffle.partitions": "3",
            "spark.executor.heartbeatInterval": "2s",
            "spark.network.timeout": "20s",
            "spark.network.timeoutInterval": "5s",
            "spark.rpc.askTimeout": "20s",
            "spark.local.dir": str(folder / "driver"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.speculation": "true",
            "spark.speculation.interval": "200ms",
            "spark.speculation.minTaskRuntime": "1s",
            "spark.speculation.quantile": "0.5",
            "spark.speculation.multiplier": "1.5",
            "spark.sql.files.openCostInBytes": str(1 << 28),  # each file of a small table is a task
            **(settings or {}),
        }
        self._master: subprocess.Popen | None = None
        self._workers: dict[int, subprocess.Popen] = {}
        self._slowed: dict[int, threading.Event] = {}

    @property
    def address(self) -> str:
        """What ``--source`` is given."""
        return f"spark://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """Of a process that works on the cluster."""
        import pyspark

        return {
            **os.environ,
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "TMPDIR": str(self.folder / "tmp"),
        }

    def __enter__(self) -> Self:
        for name in ("conf", "driver", "tmp"):
            (self.folder / name).mkdir(parents=True)
        lines = "".join(f"{n} {v}\n" for n, v in self.settings.items())
        (self.folder / "conf" / "spark-defaults.conf").write_text(lines)
        try:
            self._master = self._started(
                "master", "Master", "--host", "127.0.0.1", "--port", self.port, "--webui-port", self._page
            )
            self._until(lambda: self.state() is not None, "the master")
            for number in range(1, self._count + 1):
                self.start(number)
            self.wait(self._count)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, number: int) -> None:
        """Starts a worker, again where it was killed."""
        own = self.folder / f"worker{number}"
        (own / "local").mkdir(parents=True, exist_ok=True)
        self._workers[number] = self._started(
            own.name,
            "Worker",
            *("--host", f"127.0.0.{number + 1}", "--cores", 1, "--memory", f"{MEMORY}m", "--work-dir", own / "work"),
            *("--webui-port", 0, self.address),
            local=own / "local",
            host=f"127.0.0.{number + 1}",  # Spark speculates on another host alone
        )

    def kill(self, number: int) -> list[int]:
        """Ends a worker and all that it started at once, as a lost machine does; their process ids."""
        ended = []
        for process in self.processes(number):
            with suppress(psutil.NoSuchProcess):
                process.kill()
                ended.append(process.pid)
        self._workers[number].wait()
        return ended

    def slow(self, number: int, *, share: float = 0.25) -> None:
        """From now on what a worker started has only this share of the time."""
        stop = self._slowed[number] = threading.Event()

        def work() -> None:
            while not stop.is_set():
                asleep = self.processes(number)[1:]  # the worker itself answers
                _all(asleep, signal.SIGSTOP)
                stop.wait(0.4 * (1 - share))
                _all(asleep, signal.SIGCONT)
                stop.wait(0.4 * share)

        threading.Thread(target=work, daemon=True).start()

    def processes(self, number: int) -> list[psutil.Process]:
        """A worker and what it started: executors, and their Python."""
        try:
            worker = psutil.Process(self._workers[number].pid)
            return [worker, *worker.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def executors(self) -> int:
        """How many executors run."""
        return sum(
            "CoarseGrainedExecutorBackend" in " ".join(_words(p)) for n in self._workers for p in self.processes(n)
        )

    def state(self) -> dict[str, Any] | None:
        """What the master says of itself; None before it is there."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self._page}/json/", timeout=5) as page:
                return dict(json.loads(page.read()))
        except (OSError, ValueError):
            return None

    def alive(self) -> int:
        """Workers that the master counts on."""
        return int((self.state() or {}).get("aliveworkers", 0))

    def wait(self, workers: int) -> None:
        """Until the master counts on so many workers. Errors: RuntimeError where it does not in time."""
        self._until(lambda: self.alive() == workers, f"{workers} workers")

    def stop(self) -> None:
        """Ends every process; the folder stays."""
        for stop in self._slowed.values():
            stop.set()
        for number in list(self._workers):
            self.kill(number)
        if self._master is not None:
            self._master.kill()
            self._master.wait()

    def _started(
        self, name: str, what: str, *words: Any, local: Path | None = None, host: str = "127.0.0.1"
    ) -> subprocess.Popen:
        environment = self.environment | {
            "SPARK_DAEMON_MEMORY": "192m",
            "SPARK_DAEMON_JAVA_OPTS": QUICK,
            "SPARK_LOCAL_DIRS": str(local or self.folder / "driver"),
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_LOCAL_IP": host,
        }
        del environment["SPARK_CONF_DIR"]  # settings of those who work on the cluster
        command = [
            Path(environment["SPARK_HOME"]) / "bin" / "spark-class",
            f"org.apache.spark.deploy.{what.lower()}.{what}",
            *words,
        ]
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [str(c) for c in command], stdout=log, stderr=log, env=environment, cwd=self.folder, text=True
            )

    def _until(self, there: Any, what: str) -> None:
        end = time.monotonic() + START
        while not there():
            if time.monotonic() > end:
                raise RuntimeError(f"{what} did not start within {START:g} s")
            time.sleep(0.2)


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def _all(processes: list[psutil.Process], sign: int) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            process.send_signal(sign)


def files(folder: Path) -> Iterator[Path]:
    """Every file below a folder."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path


def holding(folder: Path, words: list[bytes]) -> dict[str, list[str]]:
    """The files that hold one of the words, plain or packed as Spark packs what it writes down, by the words."""
    matches: dict[str, list[str]] = {}
    for path in files(folder):
        held = path.read_bytes()
        for word in words:
            if word in held:
                matches.setdefault(word.decode(), []).append(str(path.relative_to(folder)))
    return matches
