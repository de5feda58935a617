"""A batch: events as the columns the kernel reads. Made from Python events, JSON lines or Arrow; read by one kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from agvent.event import Event
from agvent.matching.columns.arrays import F64, I64, U8
from agvent.matching.columns.distinct import make_distinct

Grid = tuple[F64, I64, I64]
"""What has one row for each event: values, texts, lists."""

ABSENT = -1
"""The size of a text or list an event does not have; an empty one has size 0."""


class Rejected:
    """An event that could not be read: its index in the batch, and why."""

    __slots__ = ("event", "message")

    def __init__(self, event: int, message: str) -> None:
        self.event = event
        self.message = message

    def __repr__(self) -> str:
        return f"Rejected({self.event}, {self.message!r})"


class Unanswered:
    """A question that was not put to an event, because it could cost more than its bound: the subscription's id, and
    why. It counts as unknown: the subscription does not match by it."""

    __slots__ = ("event", "message", "subscription")

    def __init__(self, event: int, subscription: str, message: str) -> None:
        self.event = event
        self.subscription = subscription
        self.message = message

    def __repr__(self) -> str:
        return f"Unanswered({self.event}, {self.subscription!r}, {self.message!r})"


@dataclass(slots=True)
class ColumnBatch:
    """`values[e, slot]`; `texts[e, column] = (start, size)` into `data`; `lists[e, column] = (start, size)` into
    `elements`, each element once. `live[e]` is 0 for what is no event (a blank or rejected line): nothing matches it,
    though negative tests accept missing values. `event(e)` makes the event itself again, for what only the oracle can
    decide."""

    values: F64
    texts: I64
    lists: I64
    data: U8
    elements: F64
    live: U8
    event: Callable[[int], Event]
    rejected: list[Rejected] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.elements) > 1:
            make_distinct(self.lists, self.elements)

    def __len__(self) -> int:
        return len(self.values)


def empty_columns(count: int, values: int, texts: int, lists: int) -> Grid:
    """Columns in which no event has anything yet."""
    text_columns = np.zeros((count, texts, 2), np.int64)
    list_columns = np.zeros((count, lists, 2), np.int64)
    text_columns[:, :, 1] = ABSENT
    list_columns[:, :, 1] = ABSENT
    return np.full((count, values), np.nan), text_columns, list_columns
