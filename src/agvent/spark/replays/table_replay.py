"""Replay: the events that one new subscription would have received since a time.

The filter becomes a column (pushdown/to_column.py), which Spark pushes down to Parquet. The matcher verifies the rest
on the rows that pass. So a replay is exactly what the matcher says, and costs what the filter selects.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from agvent.errors import CallerError
from agvent.event import Kind
from agvent.filters.subscription import Subscription
from agvent.filters.tree import And, Attribute, Compare, Condition, Literal
from agvent.spark.pushdown.operands import Operand, columns_of
from agvent.spark.pushdown.reach import ALL
from agvent.spark.pushdown.to_column import Pushdown, pushed_down
from agvent.spark.replays.verifiers import FrameVerifier, names_read
from agvent.store.history import condition_of

TIME = "$time"


class Window(NamedTuple):
    """From `since`, included, to `until`, not included; None is no bound.

    >>> from datetime import UTC, datetime
    >>> str(Window(since=datetime(2026, 3, 1, tzinfo=UTC)))
    'since 2026-03-01T00:00:00+00:00'
    """

    since: datetime | None = None
    until: datetime | None = None

    def tests(self, attribute: Attribute) -> tuple[Condition, ...]:
        """The window as conditions on a time."""
        bounds = ((">=", self.since), ("<", self.until))
        return tuple(Compare(op, attribute, Literal(bound)) for op, bound in bounds if bound is not None)

    def __str__(self) -> str:
        since = f"since {self.since.isoformat()}" if self.since else "since the beginning"
        return f"{since} until {self.until.isoformat()}" if self.until else since


class Replayed(NamedTuple):
    """The events, and how the filter was divided between Spark and the matcher."""

    frame: DataFrame
    pushdown: Pushdown


def replay(
    events: DataFrame,
    subscription: Subscription,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    time: str = TIME,
) -> DataFrame:
    """Find the rows of a DataFrame that a subscription would have received, with their columns as they are.

    Columns are attributes and headers, as in `match`. `since`, included, and `until`, not included, bound the column
    `time`. If there are columns `publisher` and `sequence`, the rows of a publisher come in the order of their
    sequence; otherwise rows come in the order of their time.

    >>> from datetime import UTC, datetime
    >>> from agvent import Subscription
    >>> from agvent.spark import replay, session
    >>> rows = [(99.5, datetime(2026, 3, 1, 9, tzinfo=UTC)), (80.0, datetime(2026, 3, 2, 9, tzinfo=UTC))]
    >>> ticks = session("local[1]").createDataFrame(rows, "price double, at timestamp")
    >>> cheap = Subscription(id="ada", filter="price < 100")
    >>> [row.price for row in replay(ticks, cheap, since=datetime(2026, 3, 2, tzinfo=UTC), time="at").collect()]
    [80.0]
    """
    return replayed(events, subscription, Window(since, until), time=time).frame


def replayed(events: DataFrame, subscription: Subscription, window: Window, *, time: str = TIME) -> Replayed:
    """The same, with what Spark and the matcher each have to do for it."""
    names = events.columns
    # Spark finds columns by name without regard to case, Agvent does not: they are renamed by position.
    frame = events.toDF(*(f"c{at}" for at in range(len(names))))
    fields = [(name, sf.col(f"c{at}"), frame.schema[at].dataType) for at, name in enumerate(names)]
    columns = columns_of(fields)
    timed = columns.at((time,))
    if (window.since or window.until) and not (isinstance(timed, Operand) and timed.kind is Kind.TIME):
        raise CallerError(f"the events have no time in the column {time!r}", hint=f"they have {', '.join(names)}")
    condition = condition_of(subscription)
    pushdown = pushed_down(_within(condition, window.tests(Attribute((time,)))), [(ALL, columns)])
    frame = frame.where(pushdown.column)
    if pushdown.residual is not None:
        frame = frame.mapInArrow(FrameVerifier(subscription, names, names_read(condition)), frame.schema)
    return Replayed(_in_order(frame, names, time).toDF(*names), pushdown)


def _within(condition: Condition, tests: tuple[Condition, ...]) -> Condition:
    return And((*tests, *(condition.parts if isinstance(condition, And) else (condition,))))


def _in_order(frame: DataFrame, names: list[str], time: str) -> DataFrame:
    if "publisher" in names and "sequence" in names:
        publisher, sequence = (sf.col(f"c{names.index(name)}") for name in ("publisher", "sequence"))
        return frame.repartition(publisher).sortWithinPartitions(publisher, sequence)
    return frame.sort(f"c{names.index(time)}") if time in names else frame
