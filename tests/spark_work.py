"""What Spark did in this process's session, by its own books: jobs, stages, records read, bytes moved."""

from collections.abc import Iterator
from typing import Any


def done() -> dict[str, Any]:
    """Jobs, and of each stage the records and bytes that it read and moved; ``began`` in seconds since 1970."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    return {"jobs": _jobs(session), "stages_done": list(_stages(session))}


def passes(stages: list[dict[str, Any]], rows: int) -> float:
    """How often the table was read: records that tasks read, in whole tables; what executors hold is not the table,
    and is counted in batches of ten thousand rows."""
    return sum(s["records"] for s in stages) / rows


def _jobs(session: Any) -> int:
    return int(session.sparkContext._jsc.sc().statusStore().jobsList(None).size())


def _stages(session: Any) -> Iterator[dict[str, Any]]:
    context = session.sparkContext
    none = context._gateway.new_array(context._jvm.double, 0)
    lists = context._jvm.java.util
    listed = context._jsc.sc().statusStore().stageList(None, False, False, none, lists.ArrayList())
    for at in range(listed.size()):
        stage = listed.apply(at)
        submitted = stage.submissionTime()
        yield {
            "stage": stage.stageId(),
            "began": submitted.get().getTime() / 1000 if submitted.isDefined() else None,
            "records": stage.inputRecords(),
            "bytes": stage.inputBytes(),
            "shuffled": stage.shuffleWriteBytes(),
            "answered": stage.resultSize(),
            "spilled": stage.diskBytesSpilled(),
            "failed": stage.numFailedTasks(),
            "killed": stage.numKilledTasks(),
            "tasks": stage.numCompleteTasks(),
        }
