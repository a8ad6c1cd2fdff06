"""Engines that tests start for themselves: a PostgreSQL cluster in a folder, a Spark in this process's Java."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from synth.sources.engines.engine import Engine

PASSWORD = "s3cr&t-of-the-steward"
QUOTED = PASSWORD.replace("&", "%26")


def programs() -> Path:
    """The folder of PostgreSQL's programs. Skips the test where there is none."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    result = shutil.which("initdb")
    if result is None and not homes:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return Path(result).resolve().parent if result else homes[-1]


def user() -> list[str]:
    """How to run a program that refuses to run as root."""
    if os.getuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("PostgreSQL refuses to run as root and there is no user postgres")
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]


@contextmanager
def postgres() -> Iterator[Engine]:
    """A server of its own on a free port, asked for a password; gone at the end. Tests ask for ``cluster``."""
    pytest.importorskip("ibis", reason="the extra `databases` is not installed")
    with postgres_server(Path("/tmp") / f"facsimile-pg-{os.getpid()}", "-c fsync=off") as (port, _):
        yield Engine(f"postgres://steward:{QUOTED}@127.0.0.1:{port}/postgres", writing=True)


@contextmanager
def postgres_server(folder: Path, settings: str) -> Iterator[tuple[int, Callable[..., None]]]:
    """A server in a new folder: its port, and ``pg_ctl`` for it. The user postgres may not enter pytest's folders."""
    pytest.importorskip("psycopg", reason="the extra `databases` is not installed")
    home, run = programs(), user()
    folder.mkdir()
    (folder / "pw").write_text(PASSWORD)
    if run:
        shutil.chown(folder, "postgres")
        shutil.chown(folder / "pw", "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = str(folder / "data")
    options = f"-k {folder} -p {port} -c listen_addresses=127.0.0.1 {settings}"
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
    try:
        subprocess.run(
            [
                *run,
                home / "initdb",
                "-D",
                data,
                "-U",
                "steward",
                "-A",
                "scram-sha-256",
                "-N",
                "-E",
                "UTF8",
                "--locale=C",
                f"--pwfile={folder / 'pw'}",
            ],
            **quiet,
        )

        def control(*words: str) -> None:
            more = ["-o", options, "-l", folder / "log"] if words[0] == "start" else []
            subprocess.run([*run, home / "pg_ctl", "-D", data, "-w", *more, *words], **quiet)

        control("start")
        try:
            yield port, control
        finally:
            control("stop", "-m", "immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def database(server: Engine, name: str) -> Engine:
    """A new database of a server, by the same user."""
    server.backend.con.autocommit = True  # no transaction makes a database
    server.backend.con.execute(f'CREATE DATABASE "{name}"')
    return Engine(f"{server.address.rpartition('/')[0]}/{name}", writing=True)


def fill(engine: Engine, name: str, table: pa.Table, types: dict[str, str]) -> None:
    """The table in PostgreSQL, replaced."""
    con = engine.backend.con
    with con.cursor() as cursor:
        cursor.execute(f'DROP TABLE IF EXISTS "{name}"')
        cursor.execute(f'CREATE TABLE "{name}" ({", ".join(f"{n} {types[n]}" for n in table.column_names)})')
        with cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
            for row in zip(*(table.column(n).to_pylist() for n in table.column_names), strict=True):
                copy.write_row(row)
    con.commit()


# One Java for all who ask it; it takes seconds to start.
SPARK = pytest.param("spark", marks=[pytest.mark.xdist_group("spark"), pytest.mark.long])


def spark() -> Engine:
    """Spark in one process with two cores. Skips the test where it cannot be."""
    pytest.importorskip("ibis", reason="the extra `databases` is not installed")
    sql = pytest.importorskip("pyspark.sql", reason="the extra `spark` is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: apt-get install openjdk-17-jre-headless")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else one without numpy, and another way of counting
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="facsimile-"),
        # small tables: compiling a question costs more than answering it
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
    }
    builder = sql.SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    builder.getOrCreate()
    return Engine("spark")
