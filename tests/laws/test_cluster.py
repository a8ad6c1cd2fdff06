"""A whole run on a Spark cluster of processes: one answer whatever becomes of workers and tasks; nothing is left.

The law is that of one machine: with seeded noise a run on the cluster releases, to the byte, what a run here does.
"""

import json
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.privacy.ledger.ledger import Ledger
from tests import cluster_journey, engines, spark_work, standalone, whole_on_spark

ROWS = 60_000
PASSES = 2  # of a table of so few rows: one that counts begin from, one for the mark that it is known again by


class Ran:
    """A program that has run: how it ended, what it answered, its ledger's lines."""

    def __init__(self, folder: Path, code: int, said: dict) -> None:
        self.code, self.said = code, said
        self.lines = []
        if (folder / "ledger.sqlite").exists():
            with Ledger(folder / "ledger.sqlite") as book:
                self.lines = [e for e in book.entries("people") if e.kind in ("spend", "outcome")]

    @property
    def spends(self) -> int:
        return sum(e.kind == "spend" for e in self.lines)


def ran(
    home: Path, name: str, source: str, *options: str, cluster=None, of: str = "rows", at: str = "", do=None
) -> Ran:
    """The program of whole_on_spark.py in a folder of its own; ``do()`` once the stage ``at`` has begun.

    ``of``: which table: rows of few columns, persons', or of 20 columns (wide).
    """
    folder = home / name
    folder.mkdir()
    for given in ("table", "schema.json"):
        (folder / given).symlink_to(home / of / given)
    command = [sys.executable, "-m", "tests.whole_on_spark", str(folder), source, *options]
    environment = cluster.environment if cluster else None
    with (
        (folder / "words").open("w") as words,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=words, text=True, cwd=standalone.ROOT, env=environment
        ) as process,
    ):
        lines, waits = [], []
        for line in process.stdout:
            lines.append(line)
            if do is not None and line.strip() == f"stage {at}":
                waits.append(threading.Timer(1.0, do))
                waits[-1].start()
        for wait in waits:
            wait.join()
    assert lines, (folder / "words").read_text()[-3000:]
    said = json.loads(lines[-1]) if lines[-1].startswith("{") else {}
    assert said, (folder / "words").read_text()[-3000:]
    return Ran(folder, process.returncode, said)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The tables, of rows and of persons, and what a run without a cluster answers."""
    standalone.check()
    home = tmp_path_factory.mktemp("whole")
    whole_on_spark.prepared(home / "rows", rows=ROWS, few=True)
    whole_on_spark.prepared(home / "wide", rows=ROWS)
    whole_on_spark.prepared(home / "persons", rows=ROWS, persons=True, few=True)
    return home


@pytest.fixture(scope="module")
def here(home):
    result = ran(home, "here", "here")
    assert result.code == 0
    return result.said["answer"]


@pytest.fixture(scope="module")
def cluster(home):
    with standalone.Standalone(home / "cluster") as result:
        yield result


@pytest.mark.xdist_group("spark")
@pytest.mark.long
def test_make_cluster_does_what_its_last_line_says(tmp_path):
    """A run while one worker dies, one limps and one returns; a small table."""
    standalone.check()
    done = cluster_journey.journey(tmp_path, rows=24_000, drawn=0, few=True)
    assert not cluster_journey.faults(done)


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_a_run_of_20_columns_reads_the_table_once_or_twice(home, cluster):
    """However many questions it asks: rows of 20 columns, some thousand tables."""
    result = ran(home, "wide20", cluster.address, cluster=cluster, of="wide")
    assert (result.code, result.spends) == (0, 1)
    assert spark_work.passes(result.said["stages_done"], ROWS) < PASSES + 0.5


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_tasks_that_run_twice_change_no_answer(home, here, cluster):
    """Tasks that fail after they have answered are tried again; no task reads rows before the ledger's line."""
    plain = ran(home, "plain", cluster.address, cluster=cluster)
    faulty = ran(home, "faulty", cluster.address, "--faults", cluster=cluster)
    for result in (plain, faulty):
        assert (result.code, result.spends, result.said["answer"]) == (0, 1, here)
        reading = [s for s in result.said["stages_done"] if s["records"] >= ROWS / 2]
        assert min(s["began"] for s in reading) >= datetime.fromisoformat(result.lines[0].time).timestamp()
    assert spark_work.passes(plain.said["stages_done"], ROWS) < PASSES + 0.5
    assert sum(s["failed"] for s in faulty.said["stages_done"]) >= 6
    assert sum(s["killed"] for s in faulty.said["stages_done"]) >= 1, "no speculated task lost its race"


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("stage", ["check", "read", "measure", "fit"])
def test_a_worker_killed_at_a_stage_changes_no_answer(home, here, cluster, stage):
    result = ran(home, stage, cluster.address, cluster=cluster, at=stage, do=lambda: cluster.kill(1))
    cluster.start(1)
    assert (result.code, result.spends) == (0, 1)
    assert result.said["answer"] == here


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_a_cluster_that_is_lost_ends_the_run_with_the_spend_said(home, tmp_path):
    """All workers are killed while questions are asked, and none returns: code 5, one line, nothing released."""
    with standalone.Standalone(tmp_path / "lost", workers=2) as cluster:
        both = lambda: [cluster.kill(n) for n in (1, 2)]  # noqa: E731
        result = ran(home, "lost", cluster.address, cluster=cluster, at="measure", do=both)
        assert result.code == 5
        assert "no executor was there" in result.said["failed"]
        assert "epsilon 1 is spent" in result.said["failed"]
        assert result.spends == 1
        assert not (home / "lost" / "out").exists()
        before = time.monotonic()
        refused = ran(home, "refused", cluster.address, cluster=cluster)
        assert (refused.code, refused.spends) == (2, 0)  # no worker: said before the spend
        assert time.monotonic() - before < 90


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_nothing_private_is_left_on_disk(home, tmp_path):
    """Event log, logs of driver and executors, spills and shuffles, with a worker killed; persons' names are shuffled.

    The same without encryption, so that it is seen that the search would find them.
    """
    words = [w.encode() for w in (whole_on_spark.PLANTED, whole_on_spark.PERSON)]
    plain = {"spark.shuffle.compress": "false", "spark.shuffle.spill.compress": "false"}
    for name, settings in (("sealed", plain), ("open", {**plain, "spark.io.encryption.enabled": "false"})):
        with standalone.Standalone(tmp_path / name, settings=settings) as cluster:
            kill = lambda: cluster.kill(1)  # noqa: E731
            options = ["--observed", *(["--unsealed"] if name == "open" else [])]
            result = ran(home, name, cluster.address, *options, cluster=cluster, of="persons", at="measure", do=kill)
        assert (result.code, result.spends) == (0, 1)
        left = standalone.holding(tmp_path / name, words) | standalone.holding(home / name, words)
        assert list((home / name / "events").rglob("*"))
        if name == "sealed":
            assert not left
        else:
            assert left, "the search finds nothing where there is something"


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_a_table_of_postgresql_is_read_over_jdbc(home, here, tmp_path):
    """As a catalogue of Spark's own: three words name the table, executors read it, the answer is that of the files."""
    driver = Path("/usr/share/java/postgresql.jar")
    if not driver.exists():
        pytest.skip("the driver is not installed: apt-get install libpostgresql-jdbc-java")
    with engines.postgres() as server:
        parts = [pq.read_table(p) for p in sorted((home / "rows" / "table").iterdir())]
        types = {"c": "smallint", "t": "text", "n": "integer", "x": "double precision", "d": "date"}
        table = pa.concat_tables(parts)
        engines.fill(server, "people", table, {n: types[n[0]] for n in table.column_names})
        catalogue = "spark.sql.catalog.census"
        parsed = urlsplit(server.address)
        settings = {
            "spark.jars": str(driver),
            catalogue: "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
            f"{catalogue}.url": f"jdbc:postgresql://127.0.0.1:{parsed.port}/postgres",
            f"{catalogue}.driver": "org.postgresql.Driver",
            f"{catalogue}.user": "steward",
            f"{catalogue}.password": engines.PASSWORD,
        }
        with standalone.Standalone(tmp_path / "jdbc", workers=1, settings=settings) as cluster:
            result = ran(home, "jdbc", cluster.address, "--table", "census.public.people", cluster=cluster)
    assert (result.code, result.spends, result.said["answer"]) == (0, 1, here)
    assert not standalone.holding(tmp_path / "jdbc" / "worker1", [engines.PASSWORD.encode()])
