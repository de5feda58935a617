"""A sweep on Spark: scenarios are the tasks of a job, verdicts its rows. Nothing here imports Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from agvent.sim.run import Verdict
from agvent.sim.scenario import Scenario
from agvent.sim.sweep import run_twice

TASK_SCENARIOS: Final = 8
"""Scenarios in a task: some seconds of work."""

JOB_SCENARIOS: Final = 1_024
"""Scenarios in a job, after which there is progress to show."""

SCHEMA: Final = "verdict binary"


class Judge:
    """Runs the scenarios of a task: a batch has the numbers of the tasks."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self.scenarios = scenarios

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                part = self.scenarios[task * TASK_SCENARIOS : (task + 1) * TASK_SCENARIOS]
                verdicts = [run_twice(scenario) for scenario in part]
                encoded = pa.array([msgspec.msgpack.encode(one) for one in verdicts], pa.binary())
                yield pa.record_batch([encoded], ["verdict"])


def sweep_on(spark: Any, scenarios: Sequence[Scenario]) -> Iterator[Verdict]:
    """The verdicts on scenarios, from the workers of a Spark session, in order."""
    for first in range(0, len(scenarios), JOB_SCENARIOS):
        job = scenarios[first : first + JOB_SCENARIOS]
        tasks = -(-len(job) // TASK_SCENARIOS)
        rows = spark.range(0, tasks, 1, tasks).mapInArrow(Judge(job), SCHEMA).collect()
        found = [msgspec.msgpack.decode(row.verdict, type=Verdict) for row in rows]
        yield from sorted(found, key=lambda verdict: verdict.scenario.seed)
