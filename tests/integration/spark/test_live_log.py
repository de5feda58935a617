"""Audit and analysis of a network that runs, from the log that is written meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from pyspark.sql import SparkSession

from agvent import connect
from agvent.net.fleet.fleet import free_ports
from agvent.net.fleet.follow import Follower
from agvent.net.fleet.local import local_broker
from agvent.net.link.address import address_of
from agvent.net.link.dial import ask
from agvent.spark.analysis.analyse import analyse
from agvent.spark.audits.audit import audit


def test_a_network_is_audited_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    """Every delivery that was due is there and no other, batch after batch; the analysis has the links that events
    went over."""
    first, second = free_ports(2)
    log, disks = tmp_path / "log", [tmp_path / "B1", tmp_path / "B2"]
    b1, b2 = address_of(f"127.0.0.1:{first}"), address_of(f"127.0.0.1:{second}")
    with (
        local_broker("B1", data=disks[0], port=first, neighbours={"B2": b2}) as one,
        local_broker("B2", data=disks[1], port=second, neighbours={"B1": b1}) as other,
        connect(one, name="ada") as ada,
        connect(other, name="ben") as ben,
        closing(Follower(log, disks)) as follower,
    ):
        while len(asyncio.run(ask(address_of(one), "status"))["brokers"]) < 2:
            pass
        dear = ben.subscribe("price > 4", id="dear")
        for price in range(10):
            ada.publish({"price": price})
            follower.step()
        for _ in range(5):
            delivery = dear.next(30)
            assert delivery is not None
            delivery.acknowledge()
        while not follower.log.heads["deliveries"].segments or _delivered(follower) < 5:
            follower.step()
        verdict = audit(spark, log).verdict
        counts = (verdict.durable.expected, verdict.durable.delivered, verdict.is_fine)
        links = analyse(spark, log).tables()["links"].collect()
    assert counts == (5, 5, True)
    assert [(row["from_broker"], row["to_broker"], row["copies"]) for row in links] == [("B1", "B2", 5)]


def _delivered(follower: Follower) -> int:
    return sum(segment.rows for segment in follower.log.heads["deliveries"].segments)
