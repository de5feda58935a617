"""Rows of the event log that belong together, and how they are written: first what others need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agvent.store.event_columns import LoggedEvent
from agvent.store.log_writer import LogWriter
from agvent.types import Advertisement

Row = dict[str, Any]


class Rows(msgspec.Struct):
    """Rows by table, in the order they came."""

    advertisements: list[Advertisement] = []
    withdrawn: list[Advertisement] = []
    subscriptions: list[Row] = []
    changes: list[Row] = []
    epochs: list[Row] = []
    events: list[LoggedEvent] = []
    behaviours: list[Row] = []
    deliveries: list[Row] = []
    gaps: list[Row] = []
    traces: list[Row] = []

    def extend(self, other: Rows) -> None:
        for name in self.__struct_fields__:
            getattr(self, name).extend(getattr(other, name))

    def write(self, log: LogWriter) -> None:
        """Appends them to a log: the catalogue and the answers, then the events that need them, then what became of
        these. So nobody reads an event before what it is judged by."""
        catalogue: dict[str, Iterable[Any]] = {
            name: getattr(self, name)
            for name in ("advertisements", "withdrawn", "subscriptions", "changes", "epochs")
            if getattr(self, name)
        }
        if catalogue:
            log.append_catalogue(**catalogue)
        self._append(log, ("behaviours",))
        if self.events:
            log.append_events(self.events)
        self._append(log, ("deliveries", "gaps", "traces"))

    def _append(self, log: LogWriter, tables: Iterable[str]) -> None:
        for table in tables:
            if getattr(self, table):
                log.append(table, getattr(self, table))


def empty_rows() -> Rows:
    return Rows([], [], [], [], [], [], [], [], [], [])
