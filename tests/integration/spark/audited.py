"""What the audit counts in a log that was dispatched: all but order and time, which a stream does not promise."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from agvent.spark.audits.audit import audit
from tests.stories import interpreted


class Counts(NamedTuple):
    """Durable deliveries."""

    expected: int
    delivered: int
    lost: int = 0
    duplicated: int = 0
    unexpected: int = 0


def counts(spark: SparkSession, log: Path) -> Counts:
    """What an audit of the log counts."""
    with interpreted(spark) as session:
        tally = audit(session, log).verdict.durable
    return Counts(*(getattr(tally, name) for name in Counts._fields))
