"""The jobs of a session from outside: how far they are, and their end. Asked from a thread beside the job's."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agvent.spark.runtime.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Tasks(NamedTuple):
    """The tasks of the stages that run now."""

    done: int
    running: int
    total: int


def tasks_now(spark: SparkSession) -> Tasks:
    """What runs now. A Connect session cannot be asked and says nothing; this is for display alone."""
    if is_connect(spark):
        return Tasks(0, 0, 0)
    tracker = spark.sparkContext.statusTracker()
    stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage))]
    return Tasks(
        done=sum(stage.numCompletedTasks for stage in stages),
        running=sum(stage.numActiveTasks for stage in stages),
        total=sum(stage.numTasks for stage in stages),
    )


def cancel_all(spark: SparkSession) -> None:
    """Ends every job and every stream of the session; a call that waits for one raises an error."""
    for query in spark.streams.active:
        query.stop()
    if is_connect(spark):
        spark.interruptAll()
    else:
        spark.sparkContext.cancelAllJobs()
