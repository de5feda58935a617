"""Simulated networks under the audit: a second judge, over the log alone, with the matcher instead of the evaluator."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from agvent.broker.broker import Broker
from agvent.chronicle.log_rows import LogRows, empty_rows
from agvent.sim import chronicler
from agvent.sim.event_log import write_log
from agvent.sim.log_audit import LogAudit
from agvent.sim.memory_log import MemoryLog
from agvent.sim.run import judged, simulated
from agvent.sim.scenario import Scenario, scenario_of
from agvent.sim.spark_sweep import sweep_on
from agvent.spark.analysis.analyse import analyse
from agvent.spark.audits.audit import audit
from agvent.store.log_reader import create_log
from agvent.store.log_writer import LogWriter
from tests.sim import broken
from tests.sim.test_log_audit import HOME, NEXT, Tale


def logged(plan: Scenario, path: Path, make: type[Broker] = Broker) -> Path:
    world = simulated(plan, make=make)
    if make is Broker:
        assert judged(plan, world).violations == ()
    write_log(world, path)
    return path


@pytest.mark.parametrize(
    "plan",
    [
        scenario_of(31, faults="partitions"),
        scenario_of(39, faults="all"),
        scenario_of(47, faults="disks"),
        scenario_of(3, faults="moves"),
        scenario_of(11, faults="moves"),
        scenario_of(38, faults="all", couriers=True),
    ],
    ids=lambda plan: f"{plan.faults}{' couriers' if plan.workload.couriers else ''}",
)
def test_the_audit_finds_nothing_in_a_good_run(spark: SparkSession, tmp_path: Path, plan: Scenario) -> None:
    """Partitions, crashes, lost disks, moves: everything due was delivered or declared, each once and in order."""
    found = audit(spark, logged(plan, tmp_path / "log")).verdict
    assert found.is_fine
    assert found.durable.delivered > 0
    assert (found.durable.lost, found.durable.duplicated, found.durable.unexpected) == (0, 0, 0)


@pytest.mark.parametrize(
    ("make", "defect", "plan"),
    [
        (broken.DropsCustodyOnLinkLoss, "lost", Scenario(seed=26, topology="line", faults="partitions")),
        (broken.DoesNotDeduplicate, "duplicated", Scenario(seed=0, topology="ring", faults="none")),
        (broken.DeliversToEverybody, "unexpected", Scenario(seed=0, topology="star", faults="none")),
    ],
)
def test_the_audit_finds_what_a_broken_broker_did(
    spark: SparkSession, tmp_path: Path, make: type[Broker], defect: str, plan: Scenario
) -> None:
    """The log of a broker with a deliberate mistake has that defect, and the audit names it."""
    found = audit(spark, logged(plan, tmp_path / "log", make))
    assert not found.verdict.is_fine
    assert defect in {row.defect for row in found.defects.select("defect").distinct().collect()}


def rows_of(log: MemoryLog) -> LogRows:
    """What a world's process wrote, as rows of a log on disk."""
    rows = empty_rows()
    rows.advertisements += [one for _, change, one in log.types if change == "advertise"]
    rows.withdrawn += [one for _, change, one in log.types if change == "unadvertise"]
    rows.events += [one for _, one in log.events]
    for table in log.rows:
        getattr(rows, table).extend(log.of(table))
    return rows


@pytest.mark.parametrize(
    ("make", "plan"),
    [
        (Broker, scenario_of(31, faults="partitions")),
        (Broker, scenario_of(13)),
        (Broker, scenario_of(69)),
        (broken.DropsCustodyOnLinkLoss, Scenario(seed=26, topology="line", faults="partitions")),
        (broken.DoesNotDeduplicate, Scenario(seed=0, topology="ring", faults="none")),
        (broken.DeliversToEverybody, Scenario(seed=0, topology="star", faults="none")),
    ],
)
def test_the_audit_agrees_with_that_of_the_simulator(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: type[Broker], plan: Scenario
) -> None:
    """The log that is written beside a simulated network has the same defects by Spark's rules and by those of sim."""
    monkeypatch.setattr(chronicler, "LOGGED", 1.0)
    world = simulated(plan, make=make)
    assert world.chronicler is not None
    create_log(tmp_path / "log")
    with LogWriter(tmp_path / "log") as log:
        rows_of(world.chronicler.log).write(log)
    counts = Counter(one.kind for one in LogAudit(world.chronicler.log).defects())
    found = audit(spark, tmp_path / "log").verdict.durable
    kinds = ("lost", "duplicated", "unexpected", "out_of_order")
    assert {kind: getattr(found, kind) for kind in kinds} == {kind: counts[kind] for kind in kinds}
    assert bool(counts) == (make is not Broker)


@pytest.mark.parametrize("seed", [40175, 40185])
def test_a_late_copy_is_judged_as_moves_promise(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Late copies met subscribers that had moved: the home before answers for what entered before they came."""
    monkeypatch.setattr(chronicler, "LOGGED", 1.0)
    world = simulated(scenario_of(seed))
    assert world.chronicler is not None
    create_log(tmp_path / "log")
    with LogWriter(tmp_path / "log") as log:
        rows_of(world.chronicler.log).write(log)
    found = audit(spark, tmp_path / "log").verdict
    assert (found.durable.lost, found.durable.unexpected, found.durable.out_of_order) == (0, 0, 0)


def test_a_version_that_was_left_is_still_owed_a_late_copy(spark: SparkSession, tmp_path: Path) -> None:
    """The subscriber is back at a home, with another version; what came late was for the one that it had left there."""
    tale = Tale()
    tale.opens(HOME, 1)
    tale.opens(NEXT, 2)
    tale.closes(HOME, 1)
    tale.opens(HOME, 3, "price > 4")
    tale.comes_late(HOME)
    tale.delivers(HOME, 1)
    create_log(tmp_path / "log")
    with LogWriter(tmp_path / "log") as log:
        rows_of(tale.log).write(log)
    found = audit(spark, tmp_path / "log").verdict.durable
    assert (found.expected, found.delivered, found.lost, found.unexpected, found.duplicated) == (2, 2, 0, 0, 0)


def test_a_run_can_be_analysed(spark: SparkSession, tmp_path: Path) -> None:
    """Copies, hops and links of a run are in the analysis."""
    tables = analyse(spark, logged(scenario_of(7), tmp_path / "log")).tables()
    assert min(tables[name].count() for name in ("types", "brokers", "hops", "links", "subscriptions")) > 0


def test_seeds_run_on_spark(spark: SparkSession) -> None:
    """The verdicts of Spark's workers are those of this process."""
    plans = [scenario_of(seed) for seed in (3, 4, 39)]
    assert [(one.scenario, one.violations) for one in sweep_on(spark, plans)] == [(plan, ()) for plan in plans]
