"""Rows of the event log that belong together, and how they are written: first what others need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from agvent.store.event_columns import LoggedEvent
from agvent.store.log_writer import Batch
from agvent.types import Advertisement

Row = dict[str, Any]


class LogStreams(Protocol):
    """A log that rows are appended to, each call one commit of a stream. A batch that the stream has is not taken."""

    def append_catalogue(
        self,
        *,
        advertisements: Iterable[Advertisement] = (),
        withdrawn: Iterable[Advertisement] = (),
        subscriptions: Any = (),
        changes: Any = (),
        epochs: Any = (),
        programs: Any = (),
        batch: Batch | None = None,
    ) -> object:
        """Advertisements, subscriptions and what was in force."""

    def append_events(self, records: Iterable[LoggedEvent], *, batch: Batch | None = None) -> object:
        """Events."""

    def append_tables(self, stream: str, tables: Any, *, batch: Batch | None = None) -> object:
        """Rows of another stream."""


class LogRows(msgspec.Struct):
    """Rows by table, in the order they came."""

    advertisements: list[Advertisement] = []
    withdrawn: list[Advertisement] = []
    subscriptions: list[Row] = []
    changes: list[Row] = []
    epochs: list[Row] = []
    programs: list[Row] = []
    events: list[LoggedEvent] = []
    behaviours: list[Row] = []
    cargoes: list[Row] = []
    deliveries: list[Row] = []
    gaps: list[Row] = []
    traces: list[Row] = []
    documents: list[Row] = []
    left_out: list[str] = []  # events that the log cannot hold, and why

    def extend(self, other: LogRows) -> None:
        for name in self.__struct_fields__:
            getattr(self, name).extend(getattr(other, name))

    def write(self, log: LogStreams, *, batch: Batch | None = None) -> None:
        """Appends them to a log: the catalogue and the answers, then the events that need them, then what became of
        these. So nobody reads an event before what it is judged by. A stream that has the batch does not take it."""
        catalogue = self._some("advertisements", "withdrawn", "subscriptions", "changes", "epochs", "programs")
        if catalogue:
            log.append_catalogue(**catalogue, batch=batch)
        self._append(log, "behaviours", ("behaviours", "cargoes"), batch)
        if self.events:
            log.append_events(self.events, batch=batch)
        self._append(log, "deliveries", ("deliveries", "gaps"), batch)
        self._append(log, "traces", ("traces",), batch)
        self._append(log, "documents", ("documents",), batch)

    def counts(self) -> dict[str, int]:
        """How many there are of each."""
        return {name: len(getattr(self, name)) for name in self.__struct_fields__}

    def _append(self, log: LogStreams, stream: str, tables: Iterable[str], batch: Batch | None) -> None:
        rows = self._some(*tables)
        if rows:
            log.append_tables(stream, rows, batch=batch)

    def _some(self, *tables: str) -> dict[str, Any]:
        """Those of these tables that have rows."""
        return {name: getattr(self, name) for name in tables if getattr(self, name)}


def empty_rows() -> LogRows:
    return LogRows(
        advertisements=[],
        withdrawn=[],
        subscriptions=[],
        changes=[],
        epochs=[],
        programs=[],
        events=[],
        behaviours=[],
        cargoes=[],
        deliveries=[],
        gaps=[],
        traces=[],
        documents=[],
        left_out=[],
    )
