"""Plans as the tasks of a Spark job, and their verdicts as its rows. Nothing here imports Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from agvent.sim.plan import Plan
from agvent.sim.run import Verdict
from agvent.sim.sweep import run_twice

TASK_PLANS: Final = 8
"""Plans in a task: some seconds of work."""

JOB_PLANS: Final = 1_024
"""Plans in a job, after which there is progress to show."""

SCHEMA: Final = "verdict binary"


class Judge:
    """Runs, in a task, the plans whose places it is given."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self.plans = plans

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                verdicts = [run_twice(plan) for plan in self.plans[task * TASK_PLANS : (task + 1) * TASK_PLANS]]
                encoded = pa.array([msgspec.msgpack.encode(one) for one in verdicts], pa.binary())
                yield pa.record_batch([encoded], ["verdict"])


def sweep_on(spark: Any, plans: Sequence[Plan]) -> Iterator[Verdict]:
    """The verdicts on plans, from the workers of a Spark session, in order."""
    for first in range(0, len(plans), JOB_PLANS):
        job = plans[first : first + JOB_PLANS]
        tasks = -(-len(job) // TASK_PLANS)
        rows = spark.range(0, tasks, 1, tasks).mapInArrow(Judge(job), SCHEMA).collect()
        found = [msgspec.msgpack.decode(row.verdict, type=Verdict) for row in rows]
        yield from sorted(found, key=lambda verdict: verdict.plan.seed)
