"""What runs inside a task of a replay: the matcher's word on the rows that Spark's part of the filter let through.

A verifier is pickled with the job: the subscription, and what the columns are. It gives the rows that match, whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec
import pyarrow as pa

from agvent.errors import EventError
from agvent.filters.subscription import Subscription
from agvent.filters.tree import Attribute, Condition, IsA, XPath, walk
from agvent.matching.columns.column_batch import Unanswered
from agvent.matching.subscriptions import Subscriptions
from agvent.spark.matches.admission import wanting
from agvent.store.event_batches import match_rows
from agvent.types import AgventType


@lru_cache(4)
def index_of(subscription: Subscription) -> Subscriptions:
    """A worker takes many batches; the index is made for the first."""
    return Subscriptions([subscription])


def names_read(condition: Condition) -> set[str]:
    """The attributes and headers that a condition looks at."""
    found: set[str] = set()
    for node in walk(condition):
        match node:
            case Attribute(path):
                found.add(str(path[0]))
            case IsA():
                found.add("$type")
            case XPath():
                found.add("$xml")
    return found


class FrameVerifier:
    """Rows of a DataFrame whose columns have these names, of which only those in `read` are looked at."""

    def __init__(self, subscription: Subscription, names: Sequence[str], read: set[str]) -> None:
        self.subscription = subscription
        self.places = {name: at for at, name in enumerate(names) if name in read}

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        index = index_of(self.subscription)
        for batch in batches:
            columns = {name: batch.column(at) for name, at in self.places.items()}
            events = pa.record_batch(columns or {"": pa.nulls(batch.num_rows)})
            matches = index.match_batch(events)
            refuse(matches.unanswered)
            yield batch.take(pa.array(matches.events))


class LogVerifier:
    """Rows of one version of a type in an event log; `name` is the type's, None for events without one."""

    def __init__(self, subscription: Subscription, type_: AgventType, name: str | None) -> None:
        self.subscription = msgspec.structs.replace(subscription, context=None)
        self.context = dict(subscription.context or {})
        self.type = type_
        self.name = name

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        index = index_of(self.subscription)
        for batch in batches:
            for found in match_rows(index, pa.Table.from_batches([batch]), self.type, self.name):
                refuse(found.unanswered)
                yield wanting(batch.take(found.rows), self.context)


def refuse(unanswered: Sequence[Unanswered]) -> None:
    """Nothing stands in silently for an answer."""
    if unanswered:
        raise EventError(f"the filter is not answered for an event: {unanswered[0].message}")
