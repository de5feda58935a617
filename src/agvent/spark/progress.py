"""How far the jobs of a session are, as tasks: for a bar on a terminal. Asked from a thread beside the job's."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agvent.spark.session import is_connect

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
