"""Match: events × subscriptions -> a row for each pair that matches.

The index is built once, on the driver, and mapped by the workers; the kernel runs inside `mapInArrow`. Only the columns
that some filter reads reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agvent.spark.event_source import Events, events_of
from agvent.spark.matcher import COMPLAINT, EVENT, Matcher
from agvent.spark.roster import Roster
from agvent.spark.session import session_of
from agvent.spark.shipment import ship
from agvent.spark.subscription_source import roster_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def match(
    events: Any,
    subscriptions: Any,
    *,
    event: str | None = None,
    keep: Sequence[str] = (),
    in_force: Any = None,
    language: str = "sql",
    shared: str | None = None,
    complaints: bool = False,
) -> DataFrame:
    """Which subscriptions each event matches: the columns `event` and `subscription`, a row for each pair.

    `events` is any DataFrame: its columns are attributes, a struct's fields the steps of a dotted name, and `$type`,
    `$topic`, `$channel`, `$time` and `$xml` the headers. The column `event`, or the one that is given, names each
    event; those in `keep` are carried into the result. Or `events` is the path of Parquet files, which the tasks then
    read themselves; without `event`, an event's name is its row's number over all files.

    `subscriptions` is whatever `roster_of` takes: a DataFrame, a list of Subscription, a path, an index. With
    `in_force`, a table of intervals (`Roster.of_versions`), events have the columns `entry_broker` and `epoch`, pairs
    are only those in force there and then, and the result has the column `version` too.

    An XPath that could cost more than its bound on a document is not answered. Then the job fails, unless `complaints`
    is true: the result has a column `complaint`, null for a match, and a row for each question not answered.

    `shared` is a folder that every machine of the cluster sees, for the index; without it, Spark carries the file.
    """
    spark = session_of(events)
    roster = roster_of(subscriptions, in_force=in_force, language=language)
    found = events_of(events, spark, roster, event=event, keep=keep)
    shipment = ship(spark, roster, shared=shared)
    matcher = Matcher(shipment, found.layout, found.read, complaints=complaints)
    return found.frame.mapInArrow(matcher, result_schema(found, roster, complaints=complaints))


def result_schema(events: Events, roster: Roster, *, complaints: bool) -> StructType:
    """The event's columns with the types they have, and the subscription's names."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StringType, StructField, StructType

    layout = events.layout
    result = [StructField(EVENT, events.fields[layout.event].dataType)]
    result += [StructField(layout.names[at], events.fields[at].dataType) for at in layout.kept]
    result += from_arrow_schema(roster.names.schema).fields
    return StructType([*result, *([StructField(COMPLAINT, StringType())] if complaints else [])])
