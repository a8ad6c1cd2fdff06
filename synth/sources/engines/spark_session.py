"""Spark's session of this process: on which cluster, with what it writes down, and given up where nobody works for it.

Spark writes more than it answers: rows and counts on the way lie in files of the executors, exact numbers of rows in
its event log, and an error of a task quotes the cell. A session that is made here has the first encrypted with a key
that dies with it, and the others switched off. One that the caller made has the settings that it was made with.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from synth.errors import InputError
from synth.sources.rows import block_counts
from synth.sources.rows.block_counts import CountPlan

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # an error of a task quotes the cell
    "spark.executor.syncLogLevel.enabled": "true",
    "spark.eventLog.enabled": "false",  # it holds how many rows each step had, exactly
    "spark.io.encryption.enabled": "true",  # what a killed executor leaves on its disk nobody can read
    "spark.io.encryption.keySizeBits": "256",
    "spark.sql.codegen.hugeMethodLimit": "8000",  # Java compiles no longer method, and a table's encoding is longer
}
ANSWER = "k bigint, n binary"  # what workers' own code answers: numbers, and what is packed
PACKED, HELD, MOST_PACKED = 10_000, 1 << 22, 1 << 26  # most rows, cells and bytes that an executor packs at a time
_with_python: dict[str, bool] = {}  # by Spark's application
PATIENCE = "spark.network.timeout"  # Spark's own word for how long somebody may be silent
POLL = 0.5  # seconds


def session(master: str | None) -> Any:
    """The process's session, made where there is none. ``master``: ``spark://host:port``; None as Spark is set up.

    Errors: InputError where it works for another cluster; whatever Spark raises where none can be made.

    Privacy: public only.
    """
    from pyspark.sql import SparkSession

    made = SparkSession.getActiveSession()
    if made is None:
        builder = SparkSession.builder.appName("facsimile")
        for name, value in (SETTINGS | ({"spark.master": master} if master else {})).items():
            builder = builder.config(name, value)
        made = builder.getOrCreate()
    if master and made.sparkContext.master != master:
        raise InputError(
            "source {}: this process works on another cluster already; ask in a process of its own", master
        )
    made.conf.set("spark.sql.session.timeZone", "UTC")
    if has_executors(made):
        with attended(made):  # found now, when nothing is spent yet
            made.range(1).collect()
    return made


def has_executors(made: Any) -> bool:
    """Whether the session's executors are processes of their own.

    Privacy: public only.
    """
    master = str(made.sparkContext.master)
    return master.startswith("local-cluster") or not master.startswith("local")


def has_python(made: Any) -> bool:
    """Whether the session's executors can run Python on Arrow's batches: asked once, of one row that is nobody's.

    Errors: InputError where no executor is there. Privacy: public only.
    """
    application = made.sparkContext.applicationId
    if application not in _with_python:
        try:
            with attended(made):
                made.range(1).mapInArrow(sent(block_counts.worker(CountPlan((), ()))), ANSWER).collect()
            _with_python[application] = True
        except InputError:
            raise
        except Exception:  # no interpreter, or one without numpy or pyarrow
            _with_python[application] = False
    return _with_python[application]


def sent(work: Any) -> Any:
    """A worker's task with its code, since workers need not have this package. Privacy: public only."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(block_counts)
    return work


def fetched(made: Any, frame: Any) -> Iterator[pa.RecordBatch]:
    """The rows of one of Spark's data frames, of which the driver holds one partition at a time.

    Executors pack them as Arrow's bytes, in less than half the time of row by row. Privacy: reads rows, exact.
    """
    rows = max(min(PACKED, HELD // max(len(frame.columns), 1)), 1)
    made.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(rows))
    made.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(MOST_PACKED))
    packed = frame.mapInArrow(sent(block_counts.packer()), ANSWER)
    for _, content in packed.toLocalIterator(prefetchPartitions=False):
        yield from pa.ipc.open_stream(content)


@contextmanager
def attended(made: Any) -> Iterator[None]:
    """While Spark is asked: its jobs are ended where for ``spark.network.timeout`` no executor is there.

    Spark itself would wait for one forever. Errors: InputError then.

    Privacy: public only.
    """
    if not has_executors(made):
        yield
        return
    done, alone = threading.Event(), threading.Event()
    patience = int(made.sparkContext._jsc.sc().conf().getTimeAsSeconds(PATIENCE, "120s"))
    watcher = threading.Thread(target=_watch, args=(made.sparkContext, patience, done, alone), daemon=True)
    watcher.start()
    try:
        yield
    except Exception:
        if alone.is_set():
            raise InputError(
                "source spark: no executor was there for {} s ({}); look whether the cluster's workers run, and "
                "have room for an executor",
                patience,
                PATIENCE,
            ) from None
        raise
    finally:
        done.set()
        watcher.join()


def _watch(context: Any, patience: int, done: threading.Event, alone: threading.Event) -> None:
    since = time.monotonic()
    try:
        while not done.wait(POLL):
            if context._jsc.sc().getExecutorMemoryStatus().size() > 1:  # the driver is one
                since = time.monotonic()
            elif time.monotonic() - since > patience:
                alone.set()
                context.cancelAllJobs()
                since = time.monotonic()  # a job that begins afterwards ends likewise
    except Exception:  # the session was stopped: whoever asks hears of it
        return
