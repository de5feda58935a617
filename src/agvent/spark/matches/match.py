"""Match: events and subscriptions to a row for each pair that matches.

The index is built once, on the driver, and mapped by the workers; the kernel runs inside `mapInArrow`. Only the columns
that some filter reads reach it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agvent.errors import CallerError
from agvent.spark.matches.event_source import EventSource, event_source
from agvent.spark.matches.log_events import LogEvents
from agvent.spark.matches.match_options import MatchOptions
from agvent.spark.rosters.roster import Roster
from agvent.spark.rosters.subscription_source import log_roster, roster_of
from agvent.spark.runtime.session import session_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def match(
    events: Any,
    subscriptions: Any = None,
    *,
    event: str | None = None,
    keep: Sequence[str] = (),
    in_force: Any = None,
    language: str = "sql",
    complaints: bool = False,
    skip_rejected: bool = False,
    hosts_key: str | os.PathLike[str] | None = None,
    shared: str | None = None,
) -> DataFrame:
    """Find the subscriptions that each event matches: a DataFrame with `event` and `subscription`, a row for each pair.

    `events` is one of:

    - a DataFrame. Its columns are attributes, a struct's fields the steps of a dotted name; `$type`, `$topic`,
      `$channel`, `$time` and `$xml` are the headers. The column `event`, or the one that the option `event` names,
      names each event.
    - the path of a file or folder of Parquet, with the same columns. Without the option `event`, the name of an event
      is its row's number over all files, from 0.
    - the path of a file or folder of JSON Lines, as `agvent match` reads them. The name of an event is its line's
      number over all files, from 0.
    - an event log, by its path or as a `LogReader`. The name of an event is `publisher:sequence`. An event that two
      entry brokers accepted is one event.

    `subscriptions` is a DataFrame, an Arrow table, a list of Subscription, an index, or the path of JSON Lines, of
    Parquet, of a saved index or of an event log. For an event log they may be left out: then they are the log's own.

    Subscriptions with versions match only where and when they were in force, and the result has the column `version`.
    Those of a log have versions; for others, `in_force` is the table of their intervals (`Roster.of_versions`). Events
    then have an entry broker and an epoch: a log's have, others in the columns `entry_broker` and `epoch`.

    Options:

    - `keep`: columns of the event to carry into the result; of a log publisher, sequence, quality, entry_broker, epoch
      and accepted_at.
    - `language`: the language of subscriptions that name none.
    - `complaints`: an XPath that could cost more than its bound is not answered, and the job fails. With this option
      the result has a column `complaint`, null for a match, and a row for each question that was not answered.
    - `skip_rejected`: a line that is not an event fails the job. With this option it is a row with a complaint and
      without a subscription.
    - `hosts_key`: the key file of the network's sandbox hosts. Behaviours of a log's agvents have the answers that the
      log recorded; with the key, the workers run the agvents and ask them.
    - `shared`: a folder that every machine of the cluster sees, for the index. Without it, Spark copies the index.

    >>> from agvent import Subscription
    >>> from agvent.spark import match, session
    >>> spark = session("local[1]")
    >>> ticks = spark.createDataFrame([(1, 99.5), (2, 150.0)], "event long, price double")
    >>> [tuple(row) for row in match(ticks, [Subscription(id="ada", filter="price < 100")]).collect()]
    [(1, 'ada')]
    """
    source = event_source(events)
    options = MatchOptions(
        event=event,
        keep=tuple(keep),
        complaints=complaints,
        skip_rejected=skip_rejected,
        hosts_key=None if hosts_key is None else os.fspath(hosts_key),
        shared=shared,
    )
    source.check(options)
    roster = roster_for(source, subscriptions, in_force=in_force, language=language)
    return source.pairs(session_of(events), roster, options)


def roster_for(source: EventSource, subscriptions: Any, *, in_force: Any, language: str) -> Roster:
    """The roster of the subscriptions; without any, that of the log."""
    if subscriptions is not None:
        return roster_of(subscriptions, in_force=in_force, language=language)
    if not isinstance(source, LogEvents):
        raise CallerError("subscriptions are missing", hint="only an event log has subscriptions of its own")
    return log_roster(source.log)
